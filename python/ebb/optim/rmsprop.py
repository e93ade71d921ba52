# python/ebb/optim/rmsprop.py -- RMSprop.
"""The step is ebb/optim/rmsprop.cpp."""

from __future__ import annotations

from ebb._C import Tensor
from ebb.optim.fused import FusedOptimizer, options_of
from ebb.optim.optimizer import Params


class RMSprop(FusedOptimizer):
    """Steps scaled by a running mean of squared gradients.

    Args:
        params: Parameters, or groups of them.
        lr: Step size.
        alpha: Decay of the running mean square.
        eps: Added to the root, so that nothing is divided by zero.
        weight_decay: Factor of the parameter that is added to its gradient.
        momentum: Share of the last step that is kept.
        centered: Take the square of the running mean off the mean square.
        maximize: Go up instead of down.
        master_weights: Keep float32 values of parameters of half types, which make the steps.
        foreach, fused, capturable: Taken for PyTorch's sake; every step is fused.
        differentiable: Refused if True: a step is not recorded.

    Example:
        >>> x = ebb.tensor([4.0], requires_grad=True)
        >>> optimizer = ebb.optim.RMSprop([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 4.0)
        True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        *,
        master_weights: bool = False,
        fused: bool | None = None,
    ):
        super().__init__(params, options_of(locals()), differentiable=differentiable)
