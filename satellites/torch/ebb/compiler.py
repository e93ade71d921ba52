# satellites/torch/ebb/compiler.py -- ebb.compiler: the names around torch.compile(), which change
# nothing.
"""``ebb.compiler``: there is none. ebb runs every operation at once.

>>> ebb.compiler.is_compiling()
False
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ebb._base.nothing import Unchanged, never, unchanged
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


allow_in_graph: Unchanged = unchanged("compiler.allow_in_graph")
assume_constant_result: Unchanged = unchanged("compiler.assume_constant_result")


def cudagraph_mark_step_begin() -> None:
    """Do nothing: no graph of CUDA is recorded.

    Example:
        >>> ebb.compiler.cudagraph_mark_step_begin()
    """


is_compiling: Callable[[], bool] = never("compiler.is_compiling")
is_dynamo_compiling: Callable[[], bool] = never("compiler.is_dynamo_compiling")
is_exporting: Callable[[], bool] = never("compiler.is_exporting")


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
