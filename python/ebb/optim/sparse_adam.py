# python/ebb/optim/sparse_adam.py -- SparseAdam.
"""The step is ebb/optim/sparse_adam.cpp."""

from __future__ import annotations

from ebb._C import Tensor
from ebb.optim.fused import FusedOptimizer, options_of
from ebb.optim.optimizer import Params


class SparseAdam(FusedOptimizer):
    """Adam for sparse gradients: moments and parameters change in the stored rows only.

    Args:
        params: Parameters, or groups of them, whose gradients are sparse.
        lr: Step size.
        betas: Decay of the running mean and of the running mean square.
        eps: Added to the root, so that nothing is divided by zero.
        maximize: Go up instead of down.
        master_weights: Keep float32 values of parameters of half types, which make the steps.

    Example:
        >>> layer = ebb.nn.Embedding(5, 2, sparse=True)
        >>> optimizer = ebb.optim.SparseAdam(layer.parameters(), lr=0.1)
        >>> layer(ebb.tensor([1])).sum().backward()
        >>> optimizer.step()
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
        *,
        master_weights: bool = False,
    ):
        super().__init__(params, options_of(locals()))
