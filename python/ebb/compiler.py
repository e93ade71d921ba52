# python/ebb/compiler.py -- the names around compile(), which leave programs as they are.
"""``ebb.compiler``: there is none. ebb runs every operation at once.

>>> ebb.compiler.is_compiling()
False
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ebb._modes import compile

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "reset",
    "set_stance",
]

Run = TypeVar("Run", bound=Callable[..., Any])


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Return a function as it is, or a decorator that does."""
    del recursive, reason
    return disable if fn is None else fn


def allow_in_graph(fn: Run) -> Run:
    """Return a function as it is."""
    return fn


def assume_constant_result(fn: Run) -> Run:
    """Return a function as it is."""
    return fn


def cudagraph_mark_step_begin() -> None:
    """Do nothing: no graph of CUDA is recorded."""


def is_compiling() -> bool:
    """Return False."""
    return False


def is_dynamo_compiling() -> bool:
    """Return False."""
    return False


def is_exporting() -> bool:
    """Return False."""
    return False


def reset() -> None:
    """Do nothing: nothing was compiled."""


def set_stance(stance: str = "default", **options: Any) -> None:
    """Do nothing: nothing is compiled."""
    del stance, options
