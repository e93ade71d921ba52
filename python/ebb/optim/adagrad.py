# python/ebb/optim/adagrad.py -- Adagrad.
"""The step is ebb/optim/adagrad.cpp."""

from __future__ import annotations

from ebb._C import Tensor
from ebb.optim.fused import FusedOptimizer, options_of
from ebb.optim.optimizer import Params


class Adagrad(FusedOptimizer):
    """Steps scaled by the sum of all squared gradients so far.

    Args:
        params: Parameters, or groups of them.
        lr: Step size.
        lr_decay: How fast the step size falls: ``lr / (1 + steps * lr_decay)``.
        weight_decay: Factor of the parameter that is added to its gradient.
        initial_accumulator_value: What the sum of squares begins with.
        eps: Added to the root, so that nothing is divided by zero.
        maximize: Go up instead of down.
        master_weights: Keep float32 values of parameters of half types, which make the steps.
        foreach, fused, capturable: Taken for PyTorch's sake; every step is fused.
        differentiable: Refused if True: a step is not recorded.

    Example:
        >>> x = ebb.tensor([4.0], requires_grad=True)
        >>> optimizer = ebb.optim.Adagrad([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 4.0)
        True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        master_weights: bool = False,
        fused: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
    ):
        super().__init__(params, options_of(locals()), differentiable=differentiable)
