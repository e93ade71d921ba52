# python/ebb/nn/conversion.py -- to(): moves a module's tensors to another dtype or device.
"""Tensors keep their identity, so optimizers and ties between modules stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebb import _C

if TYPE_CHECKING:
    from ebb.nn.module import Module


def wanted(args: tuple, kwargs: dict[str, Any]) -> tuple[_C.dtype | None, _C.device | None]:
    """Return the dtype and the device that arguments of ``to`` ask for."""
    unknown = kwargs.keys() - {"device", "dtype", "non_blocking", "tensor"}
    if unknown:
        raise _C.DTypeError(
            "to: needs device, dtype, tensor or non_blocking as keywords, "
            f"got {', '.join(sorted(unknown))}"
        )
    dtype = kwargs.get("dtype")
    device = _checked_device(kwargs.get("device"))
    for given in (*args, kwargs.get("tensor")):
        if isinstance(given, _C.Tensor):
            dtype, device = given.dtype, given.device
        elif isinstance(given, _C.dtype):
            dtype = given
        elif given is not None and not isinstance(given, bool):  # non_blocking may come last
            device = _checked_device(given)
    if dtype is not None and not _is_differentiable(dtype):
        raise _C.DTypeError(f"to: needs a floating or complex dtype, got {dtype!r}")
    return dtype, device


def convert(module: Module, dtype: _C.dtype | None, device: _C.device | None) -> None:
    """Give floating tensors of a module, and their gradients, another dtype; all another device."""
    with _C.no_grad():
        for tensor in (*module.parameters(), *module.buffers()):
            target = dtype if _is_differentiable(tensor.dtype) and dtype else tensor.dtype
            place = device or tensor.device
            if tensor.dtype is not target or tensor.device != place:
                grad, tensor.grad = tensor.grad, None
                tensor.data = tensor.detach().to(place, target)
                tensor.grad = None if grad is None else grad.detach().to(place, tensor.grad_dtype)


def _is_differentiable(dtype: object) -> bool:
    return isinstance(dtype, _C.dtype) and (dtype.is_floating_point or dtype.is_complex)


def _checked_device(device: object) -> _C.device | None:
    """Refuse what is no device, and devices that are not there."""
    return None if device is None else _C.empty((0,), device=device).device
