# python/ebb/optim/adam.py -- Adam and AdamW.
"""The step of both is ebb/optim/adam.cpp."""

from __future__ import annotations

from typing import Any

from ebb import _C
from ebb._C import Tensor
from ebb.optim.fused import FusedOptimizer, options_of
from ebb.optim.optimizer import Group, Params, distinct


class Adam(FusedOptimizer):
    """Steps scaled by running moments of the gradient; weight decay is added to the gradient.

    Args:
        params: Parameters, or groups of them.
        lr: Step size.
        betas: Decay of the running mean and of the running mean square.
        eps: Added to the root, so that nothing is divided by zero.
        weight_decay: Factor of the parameter that is added to its gradient.
        amsgrad: Divide by the largest mean square so far.
        maximize: Go up instead of down.
        decoupled_weight_decay: Let decay shrink the parameter directly, as ``AdamW`` does.
        master_weights: Keep float32 values of parameters of half types, which make the steps.
        foreach, fused, capturable: Taken for PyTorch's sake; every step is fused.
        differentiable: Refused if True: a step is not recorded.

    Example:
        >>> x = ebb.tensor([4.0], requires_grad=True)
        >>> optimizer = ebb.optim.Adam([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 4.0)
        True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        master_weights: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
        capturable: bool = False,
        decoupled_weight_decay: bool = False,
        differentiable: bool = False,
    ):
        super().__init__(params, options_of(locals()), differentiable=differentiable)

    def _make(self, group: Group) -> Any:
        kind = "AdamW" if group["decoupled_weight_decay"] else "Adam"
        return _C._optimizer(kind, distinct(group["params"]), group)


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
        master_weights: Keep float32 values of parameters of half types, which make the steps.
        foreach, fused, capturable: Taken for PyTorch's sake; every step is fused.
        differentiable: Refused if True: a step is not recorded.

    Example:
        >>> x = ebb.tensor([4.0], requires_grad=True)
        >>> optimizer = ebb.optim.AdamW([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 4.0)
        True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        master_weights: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
    ):
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            maximize=maximize,
            master_weights=master_weights,
            decoupled_weight_decay=True,
            differentiable=differentiable,
        )
