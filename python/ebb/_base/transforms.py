# python/ebb/_base/transforms.py -- which transforms of functions run on this thread.
#
# ebb.func enters levels here; parts below it ask whether there are any.
"""Levels of ``vmap`` that run, and whether tensors may carry more than their values."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ebb import _C

_active = threading.local()


def active_levels() -> list[Any]:
    """The levels of vmap that run on this thread, the outermost first."""
    if not hasattr(_active, "levels"):
        _active.levels = []
    return _active.levels


def without_levels(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that no level is active in, also when it is called again within some."""

    def call(*args: Any, **kwargs: Any) -> Any:
        before = active_levels()
        if not before:
            return function(*args, **kwargs)
        _active.levels = []
        try:
            return function(*args, **kwargs)
        finally:
            _active.levels = before

    return call


def is_sample(value: Any) -> bool:
    """Whether a value is a tensor as a sample of vmap sees it (``func.batched``)."""
    return hasattr(value, "_levels")


def refuse_samples(call: str, other: str, *values: Any) -> None:
    """Refuse tensors of which a call would see the memory of all samples."""
    if any(is_sample(one) for one in values):
        raise _C.NotImplementedError(
            f"{call}: needs a tensor that is no sample of vmap, got one that is\n"
            f"hint: use ebb.func.{other}() within vmap"
        )


def is_in_transform() -> bool:
    """Whether a tensor may be a sample of vmap, or carry a tangent."""
    return bool(active_levels()) or _C._current_dual_level() > 0
