# satellites/torch/ebb/compiler.py -- ebb.compiler: the names around torch.compile(), which change
# nothing.
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
    """Return a function as it is, or a decorator that does.

    Example:
        >>> @ebb.compiler.disable
        ... def double(x):
        ...     return 2 * x
        >>> double(ebb.ones(2))
        tensor([2., 2.])
    """
    del recursive, reason
    return disable if fn is None else fn


def allow_in_graph(fn: Run) -> Run:
    """Return a function as it is.

    Example:
        >>> ebb.compiler.allow_in_graph(len) is len
        True
    """
    return fn


def assume_constant_result(fn: Run) -> Run:
    """Return a function as it is.

    Example:
        >>> ebb.compiler.assume_constant_result(len) is len
        True
    """
    return fn


def cudagraph_mark_step_begin() -> None:
    """Do nothing: no graph of CUDA is recorded.

    Example:
        >>> ebb.compiler.cudagraph_mark_step_begin()
    """


def is_compiling() -> bool:
    """Return False.

    Example:
        >>> ebb.compiler.is_compiling()
        False
    """
    return False


def is_dynamo_compiling() -> bool:
    """Return False.

    Example:
        >>> ebb.compiler.is_dynamo_compiling()
        False
    """
    return False


def is_exporting() -> bool:
    """Return False.

    Example:
        >>> ebb.compiler.is_exporting()
        False
    """
    return False


def reset() -> None:
    """Do nothing: nothing was compiled.

    Example:
        >>> ebb.compiler.reset()
    """


def set_stance(stance: str = "default", **options: Any) -> None:
    """Do nothing: nothing is compiled.

    Example:
        >>> ebb.compiler.set_stance("force_eager")
    """
    del stance, options
