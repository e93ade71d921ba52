# python/ebb/_base/signature.py -- one signature for several functions.
"""Functions that take the same arguments say so once: see ``takes``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
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
    signature = inspect.signature(arguments)

    def decorate(compute: Callable[..., Result]) -> Callable[P, Result]:
        def call(*args: P.args, **kwargs: P.kwargs) -> Result:
            try:
                given = arguments(*args, **kwargs)
            except TypeError as error:
                text = str(error).partition("() ")[2]
                raise DTypeError(f"{compute.__name__}(): {text}") from None
            return compute(*given)

        made: Any = call
        made.__name__ = made.__qualname__ = compute.__name__
        made.__module__, made.__doc__ = compute.__module__, compute.__doc__
        result = compute.__annotations__.get("return", signature.return_annotation)
        made.__signature__ = signature.replace(return_annotation=result)
        made.__annotations__ = arguments.__annotations__ | {"return": result}
        return call

    return decorate
