# python/ebb/_base/signature.py -- one signature for several functions.
"""Functions that take the same arguments say so once: see ``takes``."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

from ebb.errors import DTypeError

P = ParamSpec("P")
Result = TypeVar("Result")


def takes(
    arguments: Callable[P, tuple[Any, ...]],
) -> Callable[[Callable[..., Result]], Callable[P, Result]]:
    """Give a function the signature of ``arguments``, which says what it gets of them.

    Example:
        >>> def _two(x: float, y: float = 2.0):
        ...     return x, y
        >>> @takes(_two)
        ... def times(x, y):
        ...     return x * y
        >>> times(y=3.0, x=1.0)
        3.0
    """

    def decorate(compute: Callable[..., Result]) -> Callable[P, Result]:
        def call(*args: P.args, **kwargs: P.kwargs) -> Result:
            try:
                given = arguments(*args, **kwargs)
            except TypeError as error:
                if error.__traceback__.tb_next is not None:  # it was called, and failed inside
                    raise
                text = str(error).partition("() ")[2]
                raise DTypeError(f"{compute.__name__}(): {text}") from None
            return compute(*given)

        made: Any = call
        made.__name__ = made.__qualname__ = compute.__name__
        made.__module__, made.__doc__ = compute.__module__, compute.__doc__
        made.__wrapped__ = shown = _as_inspect_shows(arguments, compute)
        made.__annotations__ = shown.__annotations__
        return call

    return decorate


def _as_inspect_shows(arguments: Any, compute: Callable[..., Any]) -> FunctionType:
    """A copy of ``arguments`` that returns what ``compute`` does: inspect, which takes a while to
    import, follows ``__wrapped__`` to it."""
    shown = FunctionType(
        arguments.__code__,
        arguments.__globals__,
        compute.__name__,
        arguments.__defaults__,
        arguments.__closure__,
    )
    shown.__kwdefaults__ = arguments.__kwdefaults__
    returned = [one for one in compute.__annotations__.items() if one[0] == "return"]
    shown.__annotations__ = arguments.__annotations__ | dict(returned)
    return shown
