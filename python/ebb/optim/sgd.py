# python/ebb/optim/sgd.py -- SGD: stochastic gradient descent with momentum.
"""The step is ebb/optim/sgd.cpp."""

from __future__ import annotations

from ebb._C import Tensor
from ebb.optim.fused import FusedOptimizer, options_of
from ebb.optim.optimizer import Params


class SGD(FusedOptimizer):
    """Stochastic gradient descent.

    Args:
        params: Parameters, or groups of them.
        lr: Step size.
        momentum: Share of the last step that is kept.
        dampening: Share of the gradient that momentum leaves out.
        weight_decay: Factor of the parameter that is added to its gradient.
        nesterov: Look ahead along the momentum.
        maximize: Go up instead of down.
        master_weights: Keep float32 values of parameters of half types, which make the steps.
        foreach, fused, capturable: Taken for PyTorch's sake; every step is fused.
        differentiable: Refused if True: a step is not recorded.

    Example:
        >>> x = ebb.tensor([4.0], requires_grad=True)
        >>> optimizer = ebb.optim.SGD([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 4.0)
        True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float | Tensor = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        master_weights: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
    ):
        super().__init__(params, options_of(locals()), differentiable=differentiable)
