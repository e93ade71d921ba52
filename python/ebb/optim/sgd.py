# python/ebb/optim/sgd.py -- SGD: stochastic gradient descent with momentum.
"""The step is ebb/optim/sgd.cpp."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ebb import _C
from ebb.optim.optimizer import Group, Optimizer


class SGD(Optimizer):
    """Stochastic gradient descent.

    Args:
        params: Parameters, or groups of them.
        lr: Step size.
        momentum: Share of the last step that is kept.
        dampening: Share of the gradient that momentum leaves out.
        weight_decay: Factor of the parameter that is added to its gradient.
        nesterov: Look ahead along the momentum.
        maximize: Go up instead of down.
    """

    def __init__(
        self,
        params: Iterable[_C.Tensor] | Iterable[Group],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ):
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _make(self, params: tuple) -> Any:
        return _C._sgd(params)

    def _configure(self, handle: Any, group: Group) -> None:
        _C._set_sgd_options(handle, *_options(group))

    def _run(self, handle: Any, group: Group) -> None:
        _C._sgd_step(
            handle,
            group["lr"],
            group["momentum"],
            group["dampening"],
            group["weight_decay"],
            group["nesterov"],
            group["maximize"],
        )

    def _read_state(self, handle: Any, index: int) -> dict[str, Any]:
        buffer = _C._sgd_state(handle, index)
        return {} if buffer is None else {"momentum_buffer": buffer}

    def _write_state(self, handle: Any, index: int, state: Mapping[str, Any]) -> None:
        _C._set_sgd_state(handle, index, state.get("momentum_buffer"))


def _options(group: Group) -> tuple:
    names = ("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")
    return tuple(group[name] for name in names)
