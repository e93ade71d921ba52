# python/ebb/optim/sparse_adam.py -- SparseAdam.
"""The step is ebb/optim/sparse_adam.cpp."""

from __future__ import annotations

from ebb.optim.fused import FusedOptimizer
from ebb.optim.optimizer import Params


class SparseAdam(FusedOptimizer):
    """Adam for sparse gradients: moments and parameters change in the stored rows only.

    Args:
        params: Parameters, or groups of them, whose gradients are sparse.
        lr: Step size.
        betas: Decay of the running mean and of the running mean square.
        eps: Added to the root, so that nothing is divided by zero.
        maximize: Go up instead of down.
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
