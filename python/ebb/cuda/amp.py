# python/ebb/cuda/amp.py -- ebb.amp for NVIDIA's GPUs, under the names of torch.cuda.amp.
"""Mixed precision on NVIDIA's GPUs: ``ebb.amp`` with ``device_type="cuda"``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ebb import _C, amp
from ebb.amp import devices

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(devices.autocast):  # noqa: N801 -- used like a function
    """``ebb.autocast("cuda")``, which see.

    Example:
        >>> x = ebb.ones(2, 2)
        >>> with ebb.cuda.amp.autocast(enabled=ebb.cuda.is_available()):
        ...     (x @ x).dtype  # the processor's tensors stay as they are
        ebb.float32
    """

    of_type = "cuda"


class GradScaler(devices.GradScaler):
    """``ebb.amp.GradScaler("cuda")``, which see.

    Example:
        >>> x = ebb.tensor([1.0, 2.0], requires_grad=True)
        >>> optimizer = ebb.optim.SGD([x], lr=0.5)
        >>> scaler = ebb.cuda.amp.GradScaler(enabled=ebb.cuda.is_available())
        >>> scaler.scale(x.sum()).backward()
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> x.detach()
        tensor([0.5000, 1.5000])
    """

    of_type = "cuda"


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, cast_inputs: _C.dtype | None = None
) -> Callable[..., Any]:
    """``ebb.amp.custom_fwd(device_type="cuda")``, which see.

    Example:
        >>> class Square(ebb.autograd.Function):
        ...     @staticmethod
        ...     @ebb.cuda.amp.custom_fwd
        ...     def forward(ctx, x):
        ...         return x * x
        >>> Square.apply(ebb.tensor([3.0]))
        tensor([9.])
    """
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """``ebb.amp.custom_bwd(device_type="cuda")``, which see.

    Example:
        >>> class Square(ebb.autograd.Function):
        ...     @staticmethod
        ...     @ebb.cuda.amp.custom_fwd
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     @ebb.cuda.amp.custom_bwd
        ...     def backward(ctx, grad):
        ...         return 2 * ctx.saved_tensors[0] * grad
        >>> x = ebb.tensor([3.0], requires_grad=True)
        >>> Square.apply(x).backward()
        >>> x.grad
        tensor([6.])
    """
    return amp.custom_bwd(bwd, device_type="cuda")
