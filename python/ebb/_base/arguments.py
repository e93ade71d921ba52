# python/ebb/_base/arguments.py -- what is refused at once: what is no function, and deep nesting;
# functions that take arguments by further names, and losses that take them in two orders.
#
# A list that holds itself has no last level, so whoever walks nested containers counts levels and
# asks check_depth(): at most MAX_DEPTH. Counting finds a cycle after as many steps, without
# remembering what was seen.
"""``check_callable``, for whoever keeps a user's function; ``check_depth`` and ``map_leaves``;
``spelled`` and ``takes_older_places``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from ebb import _C

MAX_DEPTH = 100
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def check_depth(call: str, depth: int) -> None:
    """Refuse a container ``depth`` levels down, 0 for the outermost, that lies too deep."""
    if depth > MAX_DEPTH:
        raise _C.ValueError(
            f"{call}: needs at most {MAX_DEPTH} levels, got a deeper nesting or a cycle"
        )


def map_leaves(call: str, value: Any, function: Callable[[Any], Any], depth: int = 0) -> Any:
    """Return ``value`` with ``function`` of all that is no list, tuple or dict in it."""
    if not isinstance(value, list | tuple | Mapping):
        return function(value)
    check_depth(call, depth)
    if isinstance(value, Mapping):
        return {key: map_leaves(call, one, function, depth + 1) for key, one in value.items()}
    values = [map_leaves(call, one, function, depth + 1) for one in value]
    if hasattr(value, "_fields"):  # a named tuple
        return type(value)(*values)
    return tuple(values) if isinstance(value, tuple) else values


def check_callable(*functions: object) -> None:
    """Refuse what is not callable.

    The public function whose call this ends names itself and the argument (``_naming.py``).
    """
    for function in functions:
        if not callable(function):
            raise TypeError(f"needs a callable, got {type(function).__name__}")


def spelled(**others: str) -> Callable[..., Any]:
    """Decorate a function whose parameters go by further keywords: ``spelled(input="A")``.

    ``satellites/torch/compare`` reads them from the function, as ``spellings`` of the op table.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            for other, name in others.items():
                if other in kwargs and name not in kwargs:
                    kwargs[name] = kwargs.pop(other)
            return function(*args, **kwargs)

        called._spellings = others  # type: ignore[attr-defined]
        return called

    return decorate


def takes_older_places(
    function: Callable[_Parameters, _Result],
) -> Callable[_Parameters, _Result]:
    """Let a loss be called with or without ``size_average`` and ``reduce`` in their places.

    Where the first of them stands is a bool or None, or else the option that follows them.
    """
    names = function.__code__.co_varnames
    first, second = names.index("size_average"), names.index("reduce")

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> _Result:
        if len(args) > first and args[first] is not None and not isinstance(args[first], bool):
            args = (*args[:first], None, *args[first : second - 1], None, *args[second - 1 :])
        return function(*args, **kwargs)

    return called
