# python/ebb/autograd/function.py -- custom functions: what is easier said in Python than in C++.
"""Function, its ctx, and the decorator that forbids second derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ebb._base.arguments import check_callable
from ebb._C import Function, FunctionCtx, is_grad_enabled, no_grad

if TYPE_CHECKING:
    import inspect

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``backward`` that is not recorded; differentiating it again is an error.

    Put it below ``@staticmethod``, for a ``backward`` that leaves ebb (NumPy, a library) or writes
    in place. Unlike in PyTorch the error also comes if only a saved tensor depends on an input.

    Example:
        >>> class Double(ebb.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     @ebb.autograd.once_differentiable
        ...     def backward(ctx, grad_out):
        ...         return grad_out * 2
        >>> x = ebb.ones(1, requires_grad=True)
        >>> Double.apply(x).backward()
        >>> x.grad
        tensor([2.])
    """
    check_callable(backward)

    @functools.wraps(backward)
    def wrapper(ctx: FunctionCtx, *grads: Any) -> Any:
        with no_grad():
            results = backward(ctx, *grads)
        if not is_grad_enabled():
            return results
        return ctx._refuse_second(tuple(results) if isinstance(results, list) else results, grads)

    return wrapper


@functools.lru_cache(maxsize=256)
def _signature(forward: Callable[..., Any]) -> inspect.Signature:
    import inspect  # takes 4 ms

    return inspect.signature(forward)


def bind_arguments(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """Return all arguments of ``forward`` by position, defaults included."""
    try:
        signature = _signature(forward)
    except ValueError:  # of a function that was written in C, nobody may know
        signature = None
    if signature is None:
        if kwargs:
            raise TypeError(f"apply: needs a forward() with a signature, got {forward!r}")
        return args
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        names = ", ".join(bound.kwargs)
        raise TypeError(f"apply: needs a forward() without keyword-only arguments, got {names}")
    return bound.args
