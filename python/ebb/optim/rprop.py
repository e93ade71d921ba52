# python/ebb/optim/rprop.py -- Rprop.
"""The step is ebb/optim/rprop.cpp."""

from __future__ import annotations

from ebb._C import Tensor
from ebb.optim.fused import FusedOptimizer, options_of
from ebb.optim.optimizer import Params


class Rprop(FusedOptimizer):
    """Steps that the gradient's sign alone decides (Riedmiller and Braun, 1993).

    Args:
        params: Parameters, or groups of them.
        lr: Step size at first.
        etas: Factors of an element's step size when its gradient turns, and when it does not.
        step_sizes: Smallest and largest step size.
        maximize: Go up instead of down.
        master_weights: Keep float32 values of parameters of half types, which make the steps.
        foreach, capturable: Taken for PyTorch's sake; every step is fused.
        differentiable: Refused if True: a step is not recorded.

    Example:
        >>> x = ebb.tensor([4.0], requires_grad=True)
        >>> optimizer = ebb.optim.Rprop([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 4.0)
        True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        *,
        maximize: bool = False,
        master_weights: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
    ):
        super().__init__(params, options_of(locals()), differentiable=differentiable)
