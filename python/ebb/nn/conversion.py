# python/ebb/nn/conversion.py -- Module.to() and what it calls: tensors of a module converted.
"""Tensors keep their identity, so optimizers and ties between modules stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ebb import _C
from ebb.nn.module_base import ModuleBase

Convert = Callable[[_C.Tensor], _C.Tensor]


def wanted(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[_C.dtype | None, _C.device | None, bool]:
    """Return the dtype and the device that arguments of ``to`` ask for, and ``non_blocking``."""
    unknown = kwargs.keys() - {"device", "dtype", "memory_format", "non_blocking", "tensor"}
    if unknown:
        raise _C.DTypeError(
            "to: needs device, dtype, tensor, memory_format or non_blocking as keywords, "
            f"got {', '.join(sorted(unknown))}"
        )
    dtype = kwargs.get("dtype")
    device = checked_device(kwargs.get("device"))
    is_late = bool(kwargs.get("non_blocking", False))
    for given in (*args, kwargs.get("tensor")):
        if isinstance(given, _C.Tensor):
            dtype, device = given.dtype, given.device
        elif isinstance(given, _C.dtype):
            dtype = given
        elif isinstance(given, bool):  # non_blocking may come last
            is_late = given
        elif given is not None:
            device = checked_device(given)
    if dtype is not None and not _is_differentiable(dtype):
        raise _C.DTypeError(f"to: needs a floating or complex dtype, got {dtype!r}")
    return dtype, device, is_late


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """Return the keywords of a module that say where and of which dtype its tensors are.

    Args:
        kwargs: ``device``, ``dtype``, ``memory_format``, and ``factory_kwargs``, a dict of these
            where the module has parameters of the same names.

    Raises:
        DTypeError: For other keywords, or one that is given twice.
    Example:
        >>> ebb.nn.factory_kwargs({"dtype": ebb.float64})
        {'dtype': ebb.float64}
    """
    known = ("device", "dtype", "memory_format")
    given = kwargs or {}
    found = dict(given.get("factory_kwargs", {}))
    for name, value in given.items():
        if name == "factory_kwargs":
            continue
        if name not in known:
            raise _C.DTypeError(f"factory_kwargs: needs {', '.join(known)}, got {name!r}")
        if name in found:
            raise _C.DTypeError(f"factory_kwargs: got two values for {name!r}")
        found[name] = value
    return found


def conversion(dtype: _C.dtype | None, device: _C.device | None, is_late: bool = False) -> Convert:
    """Return what gives a floating tensor another dtype, and any another device.

    Args:
        is_late: Whether copies may read pinned memory after they return, as ``non_blocking=True``.
    """

    def convert(tensor: _C.Tensor) -> _C.Tensor:
        target = dtype if _is_differentiable(tensor.dtype) and dtype else tensor.dtype
        place = device or tensor.device
        is_done = tensor.dtype is target and tensor.device == place
        return tensor if is_done else tensor.to(place, target, is_late)

    return convert


def arrangement(memory_format: str) -> Convert:
    """Return what lays tensors of the dims that a memory format takes out in its order."""
    ndim = {"channels_last": 4, "channels_last_3d": 5}.get(memory_format)

    def convert(tensor: _C.Tensor) -> _C.Tensor:
        return tensor.to(memory_format=memory_format) if ndim in (None, tensor.ndim) else tensor

    return convert


def apply(root: ModuleBase, fn: Convert, recurse: bool, usual: object) -> None:
    """Give tensors of a module, and their gradients, the memory of what ``fn`` returns.

    Args:
        usual: ``Module._apply``; a part whose own is another is left to that.
    """
    done: set[int] = set()  # by identity; some are shared
    stack = [root]
    while stack:
        module = stack.pop()
        for tensor in (*module._parameters.values(), *module._buffers.values()):
            if tensor is not None and id(tensor) not in done:
                exchange(tensor, fn)
                done.add(id(tensor))
        for child in reversed(list(module._modules.values() if recurse else ())):
            if child is None:
                continue
            if type(child)._apply is not usual:
                child._apply(fn)
            elif id(child) not in done:
                stack.append(child)
                done.add(id(child))


def exchange(tensor: _C.Tensor, fn: Convert) -> None:
    """Give a tensor, and its gradient, the memory of what ``fn`` returns."""
    with _C.no_grad():
        data = tensor.detach()
        made = fn(data)
        if made is data:
            return
        grad, tensor.grad = tensor.grad, None
        tensor.data = made
        tensor.grad = None if grad is None else fn(grad.detach()).to(tensor.grad_dtype)


def _is_differentiable(dtype: object) -> bool:
    return isinstance(dtype, _C.dtype) and (dtype.is_floating_point or dtype.is_complex)


def checked_device(device: object) -> _C.device | None:
    """Refuse what is no device, and devices that are not there."""
    return None if device is None else _C.empty((0,), device=device).device
