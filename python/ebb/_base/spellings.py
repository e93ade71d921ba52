# python/ebb/_base/spellings.py -- functions that take their arguments in more ways than their
# signature shows: by further names, and losses in two orders.
"""``spelled`` and ``takes_older_places``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def spelled(**others: str) -> Callable[..., Any]:
    """Decorate a function whose parameters go by further keywords: ``spelled(input="A")``.

    ``tools/compare_torch`` reads them from the function, as it reads ``spellings`` of the op table.
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
