# python/ebb/amp/decorate.py -- models in a narrow dtype, whose optimizers keep float32 weights.
"""What levels O2 and O3 want of models and optimizers, under Paddle's names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ebb import _C
from ebb.nn import _bases
from ebb.nn.conversion import conversion, exchange
from ebb.nn.module import Module
from ebb.optim.fused import FusedOptimizer

_LEVELS = ("O0", "O1", "O2", "O3")
_DTYPES = {"bfloat16": _C.bfloat16, "float16": _C.float16, "float32": _C.float32}
_NO_DTYPE = "needs 'bfloat16' or 'float16'"


def decorate(
    models: Any,
    optimizers: Any = None,
    level: str = "O2",
    dtype: str | _C.dtype = "bfloat16",
    master_weight: bool | None = None,
    save_dtype: str | _C.dtype | None = None,
    master_grad: bool | None = None,
    excluded_layers: Any = None,
) -> Any:
    """Convert models for level O2 or O3, and let their optimizers keep float32 master weights.

    Parameters and buffers of float32 become ``dtype``, except those of norms and of
    ``excluded_layers``. Masters begin as the float32 values there were. Both stay the same objects.

    Args:
        models: A module, or a list of them.
        optimizers: Their optimizer, or a list of them; optional.
        level: With O0 and O1 nothing is changed.
        dtype: bfloat16 or float16.
        master_weight: Whether optimizers keep masters. Default: yes.
        save_dtype: What ``state_dict()`` of the models casts floating tensors to.
        master_grad: Whether gradients arrive in float32 (``grad_dtype``). Default: for float16,
            whose gradients ``GradScaler`` could not divide.
        excluded_layers: Modules or classes of modules that stay as they are, with all below.

    Returns:
        ``models``, or with optimizers ``(models, optimizers)``.

    Raises:
        ValueError: For an unknown level.
        DTypeError: For another dtype, or an optimizer that cannot keep masters.

    Example:
        >>> net = ebb.nn.Linear(2, 1)
        >>> optimizer = ebb.optim.SGD(net.parameters(), lr=0.1)
        >>> net, optimizer = ebb.amp.decorate(net, optimizer)
        >>> with ebb.autocast("cpu", level="O2"):
        ...     net(ebb.ones(1, 2)).sum().backward()
        >>> optimizer.step()
        >>> net.weight.dtype, optimizer.state[net.weight]["master_weight"].dtype
        (ebb.bfloat16, ebb.float32)
    """
    if level not in _LEVELS:
        raise _C.ValueError(f"decorate: 'level' needs O0, O1, O2 or O3, got {level!r}")
    narrow = _checked_dtype("dtype", dtype)
    if narrow is _C.float32:
        raise _C.DTypeError(f"decorate: 'dtype' {_NO_DTYPE}, got {dtype!r}")
    saved = None if save_dtype is None else _checked_dtype("save_dtype", save_dtype)
    all_models = _listed("models", models, Module)
    all_optimizers = [] if optimizers is None else _listed("optimizers", optimizers, object)
    has_masters = master_weight is None or bool(master_weight)
    if has_masters:
        for one in all_optimizers:
            _check_keeps_masters(one)
    if level in ("O2", "O3"):
        wants_wide = narrow is _C.float16 if master_grad is None else bool(master_grad)
        whole = _convert(all_models, narrow, excluded_layers, wants_wide)
        if has_masters:
            for one in all_optimizers:
                _give_masters(one, whole)
        if saved is not None:
            for module in _all_modules(all_models):
                module._save_dtype = saved
    return models if optimizers is None else (models, optimizers)


def convert(models: Any, dtype: str | _C.dtype = "bfloat16", excluded_layers: Any = None) -> Any:
    """Convert models alone, as ``decorate`` does, to compute with them.

    Example:
        >>> net = ebb.amp.convert(ebb.nn.Sequential(ebb.nn.Linear(2, 2), ebb.nn.LayerNorm(2)))
        >>> net[0].weight.dtype, net[1].weight.dtype
        (ebb.bfloat16, ebb.float32)
    """
    return decorate(models, dtype=dtype, master_grad=False, excluded_layers=excluded_layers)


def _convert(
    models: list[Module], dtype: _C.dtype, excluded_layers: Any, wants_wide: bool
) -> dict[_C.Tensor, _C.Tensor]:
    """Convert all tensors of float32; return each with its old values."""
    stays = _excluded(excluded_layers)
    kept: set[int] = set()  # tensors of modules that stay, which others may share
    for module in _all_modules(models):
        if isinstance(module, stays[0]) or module in stays[1]:
            kept.update(id(tensor) for tensor in (*module.parameters(), *module.buffers()))
    whole = {}
    for module in _all_modules(models):
        for tensor in (*module.parameters(recurse=False), *module.buffers(recurse=False)):
            if tensor.dtype is _C.float32 and id(tensor) not in kept:
                whole[tensor] = tensor.detach()
                exchange(tensor, conversion(dtype, tensor.device))
                if wants_wide and tensor.requires_grad:
                    grad, tensor.grad = tensor.grad, None
                    tensor.grad_dtype = _C.float32
                    tensor.grad = None if grad is None else grad.float()
    return whole


def _all_modules(models: list[Module]) -> Iterable[Module]:
    return (module for model in models for module in model.modules())


def _excluded(layers: Any) -> tuple[tuple[type, ...], list[Module]]:
    """Classes and modules that stay; norms are among them."""
    listed = [] if layers is None else _listed("excluded_layers", layers, (Module, type))
    classes = [one for one in listed if isinstance(one, type)]
    for one in classes:
        if not issubclass(one, Module):
            raise _C.DTypeError(
                f"decorate: 'excluded_layers' needs classes of modules, got {one.__name__}"
            )
    modules = [one for one in listed if not isinstance(one, type)]
    return (_bases.Norm, *classes), modules


def _give_masters(optimizer: FusedOptimizer, whole: dict[_C.Tensor, _C.Tensor]) -> None:
    states = {
        key: dict(kept) if isinstance(kept, dict) else kept for key, kept in optimizer.state.items()
    }
    for group in (optimizer.defaults, *optimizer.param_groups):
        group["master_weights"] = True
        for tensor in group.get("params", ()):
            if tensor in whole:
                states.setdefault(tensor, {})["master_weight"] = whole[tensor]
    optimizer._take_over(optimizer.param_groups, states)


def _check_keeps_masters(optimizer: Any) -> None:
    if not isinstance(optimizer, FusedOptimizer):
        raise _C.DTypeError(
            "decorate: needs optimizers of ebb.optim, which keep master weights, "
            f"got {type(optimizer).__name__}\n"
            "hint: pass master_weight=False"
        )


def _checked_dtype(argument: str, dtype: Any) -> _C.dtype:
    found = _DTYPES.get(dtype) if isinstance(dtype, str) else dtype
    if not isinstance(found, _C.dtype) or found not in _DTYPES.values():
        raise _C.DTypeError(f"decorate: {argument!r} {_NO_DTYPE}, got {dtype!r}")
    return found


def _listed(argument: str, given: Any, wanted: type | tuple[type, ...]) -> list[Any]:
    listed = list(given) if isinstance(given, list | tuple) else [given]
    for one in listed:
        if not isinstance(one, wanted):
            raise _C.DTypeError(
                f"decorate: {argument!r} needs one or a list of them, got {type(one).__name__}"
            )
    return listed
