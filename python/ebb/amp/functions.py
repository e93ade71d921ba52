# python/ebb/amp/functions.py -- custom functions that know of autocast.
"""Decorators for ``forward`` and ``backward`` of an ``ebb.autograd.Function``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ebb import _C
from ebb._base.arguments import check_callable, map_leaves
from ebb.amp.autocast import autocast
from ebb.amp.state import get_autocast_dtype, is_autocast_enabled

_CASTABLE = (_C.float16, _C.bfloat16, _C.float32)


def custom_fwd(
    fwd: Callable[..., Any] | None = None,
    *,
    device_type: str,
    cast_inputs: _C.dtype | None = None,
) -> Callable[..., Any]:
    """Decorate ``forward``: it notes the autocast mode, which ``custom_bwd`` brings back.

    Args:
        fwd: The function; without it, a decorator is returned.
        device_type: The block that it belongs to, such as ``"cpu"``.
        cast_inputs: Cast floating point inputs to this dtype and run without autocast; only where
            ``forward`` is called inside such a block.

    Example:
        >>> class Square(ebb.autograd.Function):
        ...     @staticmethod
        ...     @ebb.amp.custom_fwd(device_type="cpu", cast_inputs=ebb.float32)
        ...     def forward(ctx, x):
        ...         return x * x
        >>> with ebb.autocast("cpu"):
        ...     Square.apply(ebb.ones(1, dtype=ebb.bfloat16)).dtype
        ebb.float32
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    check_callable(fwd)
    _C.device(device_type)  # an unknown one is told of now

    @functools.wraps(fwd)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        is_inside = is_autocast_enabled(device_type)
        ctx._autocast_dtype = get_autocast_dtype(device_type)
        ctx._was_autocast = is_inside and cast_inputs is None
        if cast_inputs is None or not is_inside:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_cast(args, cast_inputs), **_cast(kwargs, cast_inputs))

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorate ``backward``: it runs in the autocast mode of ``forward``, which has ``custom_fwd``.

    Args:
        bwd: The function; without it, a decorator is returned.
        device_type: As given to ``custom_fwd``.

    Example:
        >>> class Twice(ebb.autograd.Function):
        ...     @staticmethod
        ...     @ebb.amp.custom_fwd(device_type="cpu")
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     @ebb.amp.custom_bwd(device_type="cpu")
        ...     def backward(ctx, grad):
        ...         return grad * 2
        >>> x = ebb.ones(1, requires_grad=True)
        >>> Twice.apply(x).backward()
        >>> x.grad
        tensor([2.])
    """
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    check_callable(bwd)
    _C.device(device_type)

    @functools.wraps(bwd)
    def backward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(ctx, "_was_autocast"):
            raise _C.AutogradError("custom_bwd: needs a forward() with custom_fwd, got one without")
        with autocast(device_type, dtype=ctx._autocast_dtype, enabled=ctx._was_autocast):
            return bwd(ctx, *args, **kwargs)

    return backward


def _cast(value: Any, dtype: _C.dtype) -> Any:
    def cast(leaf: Any) -> Any:
        is_cast = isinstance(leaf, _C.Tensor) and leaf.dtype in _CASTABLE
        return leaf.to(dtype) if is_cast else leaf

    return map_leaves("custom_fwd", value, cast)
