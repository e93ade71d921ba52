# python/ebb/_base/nothing.py -- functions that have nothing to do where nothing is compiled.
"""``unchanged`` makes those that return what they are given, ``never`` those that say no."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

Same = TypeVar("Same")


class Unchanged(Protocol):
    """Returns what it is given."""

    def __call__(self, fn: Same) -> Same: ...


def unchanged(name: str, kind: str = "function") -> Unchanged:
    """Return a function of that name, such as ``jit.export``, that returns what it is given."""

    def same(fn: Same) -> Same:
        return fn

    sample = {"function": "len", "class": "dict"}[kind]
    text = f"Return a {kind} as it is."
    return _named(same, name, text, f">>> ebb.{name}({sample}) is {sample}\n        True")


def never(name: str) -> Callable[[], bool]:
    """Return a function of that name that returns False."""

    def false() -> bool:
        return False

    return _named(false, name, "Return False.", f">>> ebb.{name}()\n        False")


def _named(function: Any, name: str, text: str, example: str) -> Any:
    space, _, function.__name__ = name.rpartition(".")
    function.__qualname__, function.__module__ = function.__name__, f"ebb.{space}"
    function.__doc__ = f"{text}\n\n    Example:\n        {example}\n    "
    return function
