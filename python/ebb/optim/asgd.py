# python/ebb/optim/asgd.py -- ASGD.
"""The step is ebb/optim/asgd.cpp."""

from __future__ import annotations

from typing import Any

from ebb import _C
from ebb._C import Tensor
from ebb.optim.fused import FusedOptimizer, options_of
from ebb.optim.optimizer import Group, Params


class ASGD(FusedOptimizer):
    """Gradient descent whose steps shrink, with the average of its path as ``ax`` in the state.

    Args:
        params: Parameters, or groups of them.
        lr: Step size.
        lambd: Decay of the parameter and of the step size.
        alpha: Power by which the step size falls.
        t0: The step from which on the path is averaged.
        weight_decay: Factor of the parameter that is added to its gradient.
        maximize: Go up instead of down.
        master_weights: Keep float32 values of parameters of half types, which make the steps.
        foreach, capturable: Taken for PyTorch's sake; every step is fused.
        differentiable: Refused if True: a step is not recorded.

    Example:
        >>> x = ebb.tensor([4.0], requires_grad=True)
        >>> optimizer = ebb.optim.ASGD([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 4.0)
        True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
        *,
        master_weights: bool = False,
    ):
        super().__init__(params, options_of(locals()), differentiable=differentiable)

    def _following(self, group: Group, steps: int) -> dict[str, Any]:
        lr = float(group["lr"])
        eta = lr / (1 + group["lambd"] * lr * steps) ** group["alpha"]
        return {"eta": _C.tensor(eta), "mu": _C.tensor(1 / max(1.0, steps - group["t0"]))}
