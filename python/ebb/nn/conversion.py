# python/ebb/nn/conversion.py -- to(): moves a module's tensors to another dtype.
"""Tensors keep their identity, so optimizers and ties between modules stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebb import _C

if TYPE_CHECKING:
    from ebb.nn.module import Module


def wanted_dtype(args: tuple, kwargs: dict[str, Any]) -> _C.dtype | None:
    """Return the dtype that arguments of ``to`` ask for: a dtype, a device, both or a tensor."""
    unknown = kwargs.keys() - {"device", "dtype", "non_blocking", "tensor"}
    if unknown:
        raise _C.DTypeError(
            "to: needs device, dtype, tensor or non_blocking as keywords, "
            f"got {', '.join(sorted(unknown))}"
        )
    dtype = kwargs.get("dtype")
    _check_device(kwargs.get("device"))
    for given in (*args, kwargs.get("tensor")):
        if isinstance(given, _C.Tensor):
            dtype = given.dtype
        elif isinstance(given, _C.dtype):
            dtype = given
        elif not isinstance(given, bool):  # non_blocking may come last
            _check_device(given)
    if dtype is not None and not _is_differentiable(dtype):
        raise _C.DTypeError(f"to: needs a floating or complex dtype, got {dtype!r}")
    return dtype


def convert(module: Module, dtype: _C.dtype) -> None:
    """Give all floating parameters and buffers, and their gradients, another dtype."""
    with _C.no_grad():
        for tensor in (*module.parameters(), *module.buffers()):
            if _is_differentiable(tensor.dtype) and tensor.dtype is not dtype:
                grad, tensor.grad = tensor.grad, None
                tensor.data = tensor.detach().to(dtype)
                tensor.grad = None if grad is None else grad.detach().to(dtype)


def _is_differentiable(dtype: object) -> bool:
    return isinstance(dtype, _C.dtype) and (dtype.is_floating_point or dtype.is_complex)


def _check_device(device: object) -> None:
    """Refuse what is no device, and devices that are not there."""
    if device is not None:
        _C.empty((0,), device=device)
