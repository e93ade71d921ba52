# python/ebb/optim/adadelta.py -- Adadelta.
"""The step is ebb/optim/adadelta.cpp."""

from __future__ import annotations

from ebb._C import Tensor
from ebb.optim.fused import FusedOptimizer, options_of
from ebb.optim.optimizer import Params


class Adadelta(FusedOptimizer):
    """Steps as large as the steps before, relative to the gradients (Zeiler, 2012).

    Args:
        params: Parameters, or groups of them.
        lr: Step size.
        rho: Decay of the running mean squares of gradients and steps.
        eps: Added under both roots.
        weight_decay: Factor of the parameter that is added to its gradient.
        maximize: Go up instead of down.
        master_weights: Keep float32 values of parameters of half types, which make the steps.
        foreach, capturable: Taken for PyTorch's sake; every step is fused.
        differentiable: Refused if True: a step is not recorded.

    Example:
        >>> x = ebb.tensor([4.0], requires_grad=True)
        >>> optimizer = ebb.optim.Adadelta([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 4.0)
        True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        master_weights: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ):
        super().__init__(params, options_of(locals()), differentiable=differentiable)
