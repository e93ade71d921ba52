# python/ebb/precision/state.py -- puts back what running a step changes.
"""``KeptState``: random numbers, values and gradients as they were before a step."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, NamedTuple

from ebb import _C
from ebb._C import Tensor
from ebb.nn.global_hooks import register_module_forward_pre_hook
from ebb.nn.module import Module


class _Kept(NamedTuple):
    tensor: Tensor
    values: Tensor
    version: int
    grad: Tensor | None
    grad_values: Tensor | None
    grad_version: int


class KeptState:
    """A block after which values are as before: of each module called, and whatever is kept.

    Args:
        others: Modules, and what has ``state_dict()`` and ``load_state_dict()``.
    """

    def __init__(self, others: Iterable[Any]) -> None:
        self._kept: dict[int, _Kept] = {}
        self._modules: set[int] = set()
        self.is_busy: bool = False  # with copies of its own
        self.names: dict[int, str] = {}  # of parameters, by the id of their object
        self._others: list[tuple[Any, Any]] = []
        for one in others:
            if isinstance(one, Module):
                self._see_module(one, None)
                continue
            self._others.append((one, copy.deepcopy(one.state_dict())))
            for group in getattr(one, "param_groups", ()):
                for parameter in group["params"]:
                    self.keep(parameter)

    def __enter__(self) -> KeptState:
        self._numbers = _C.get_rng_state()
        self._hook = register_module_forward_pre_hook(self._see_module)
        return self

    def __exit__(self, *error: object) -> None:
        self._hook.remove()
        self.restore()

    def _see_module(self, module: Module, _: Any) -> None:
        if id(module) in self._modules:
            return
        self._modules |= {id(one) for one in module.modules()}
        for name, parameter in module.named_parameters():
            self.names.setdefault(id(parameter), name)
            self.keep(parameter)
        for buffer in module.buffers():
            self.keep(buffer)

    def keep(self, tensor: Tensor) -> None:
        """Keep the values and the gradient of a tensor, unless that was done."""
        if id(tensor) in self._kept:
            return
        self.is_busy = True
        try:
            grad = tensor.grad if tensor.is_leaf else None
            grad_values = None if grad is None else grad.detach().clone()
            values = tensor.detach().clone()
        finally:
            self.is_busy = False
        grad_version = 0 if grad is None else grad._version
        self._kept[id(tensor)] = _Kept(
            tensor, values, tensor._version, grad, grad_values, grad_version
        )

    def restore(self) -> None:
        """Put everything back, for another run too."""
        _C.set_rng_state(self._numbers)
        with _C.no_grad():
            self._kept = {key: _put_back(one) for key, one in self._kept.items()}
        for other, state in self._others:
            other.load_state_dict(copy.deepcopy(state))


def _put_back(one: _Kept) -> _Kept:
    """Write what was changed; return what holds from then on."""
    if one.tensor._version != one.version:
        one.tensor.copy_(one.values)
    if one.tensor.is_leaf and one.tensor.requires_grad:
        one.tensor.grad = one.grad
    if one.grad is not None and one.grad._version != one.grad_version:
        one.grad.copy_(one.grad_values)
    grad_version = 0 if one.grad is None else one.grad._version
    return one._replace(version=one.tensor._version, grad_version=grad_version)
