# python/ebb/optim/adam.py -- Adam and AdamW.
"""The step of both is ebb/optim/adam.cpp."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ebb import _C
from ebb.optim.optimizer import Group, Optimizer

_MOMENTS = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")


class Adam(Optimizer):
    """Steps scaled by running moments of the gradient; weight decay is added to the gradient.

    Args:
        params: Parameters, or groups of them.
        lr: Step size.
        betas: Decay of the running mean and of the running mean square.
        eps: Added to the root, so that nothing is divided by zero.
        weight_decay: Factor of the parameter that is added to its gradient.
        amsgrad: Divide by the largest mean square so far.
        maximize: Go up instead of down.
    """

    def __init__(
        self,
        params: Iterable[_C.Tensor] | Iterable[Group],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ):
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _make(self, params: tuple) -> Any:
        return _C._adam(params)

    def _configure(self, handle: Any, group: Group) -> None:
        _C._set_adam_options(handle, *_options(group))

    def _run(self, handle: Any, group: Group) -> None:
        _C._adam_step(handle, *_options(group))

    def _read_state(self, handle: Any, index: int) -> dict[str, Any]:
        step, *moments = _C._adam_state(handle, index)
        kept = {
            name: tensor
            for name, tensor in zip(_MOMENTS, moments, strict=True)
            if tensor is not None
        }
        return {"step": step, **kept} if kept else {}

    def _write_state(self, handle: Any, index: int, state: Mapping[str, Any]) -> None:
        moments = [state.get(name) for name in _MOMENTS]
        _C._set_adam_state(handle, index, int(state.get("step", 0)), *moments)


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameter directly: ``p *= 1 - lr * weight_decay``.

    Args:
        params: Parameters, or groups of them.
        lr: Step size.
        betas: Decay of the running mean and of the running mean square.
        eps: Added to the root, so that nothing is divided by zero.
        weight_decay: How strongly parameters shrink.
        amsgrad: Divide by the largest mean square so far.
        maximize: Go up instead of down.
    """

    def __init__(
        self,
        params: Iterable[_C.Tensor] | Iterable[Group],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)

    def _make(self, params: tuple) -> Any:
        return _C._adamw(params)


def _options(group: Group) -> tuple:
    try:
        beta1, beta2 = group["betas"]
    except (TypeError, ValueError):
        raise _C.ValueError(f"Adam: needs two betas, got {group['betas']!r}") from None
    return (
        group["lr"],
        beta1,
        beta2,
        group["eps"],
        group["weight_decay"],
        group["amsgrad"],
        group["maximize"],
    )
