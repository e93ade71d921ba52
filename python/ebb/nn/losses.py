# python/ebb/nn/losses.py -- losses as modules.
"""Each holds its options and calls its function in ``nn.functional``."""

from __future__ import annotations

from ebb import _C
from ebb._C import Tensor
from ebb.nn import functional as F
from ebb.nn.module import Module

_REDUCTIONS = ("none", "mean", "sum")


class _Loss(Module):
    """A loss with a reduction: "mean", "sum" or "none"."""

    _reductions = _REDUCTIONS

    def __init__(self, reduction: str = "mean"):
        super().__init__()
        if reduction not in self._reductions:
            raise _C.ValueError(
                f"{type(self).__name__}: reduction must be one of "
                f"{', '.join(self._reductions)}, got {reduction!r}"
            )
        self.reduction = reduction


class MSELoss(_Loss):
    """The squared difference.

    Args:
        reduction: "mean", "sum" or "none".
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.mse_loss(input, target, self.reduction)


class L1Loss(_Loss):
    """The absolute difference.

    Args:
        reduction: "mean", "sum" or "none".
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.l1_loss(input, target, self.reduction)


class SmoothL1Loss(_Loss):
    """The difference: squared, over ``2 beta``, below ``beta``, and absolute above.

    Args:
        reduction: "mean", "sum" or "none".
        beta: Where the two meet.
    """

    def __init__(self, reduction: str = "mean", beta: float = 1.0):
        super().__init__(reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.smooth_l1_loss(input, target, self.reduction, self.beta)


class HuberLoss(_Loss):
    """The difference: squared, over 2, below ``delta``, and ``delta`` times absolute above.

    Args:
        reduction: "mean", "sum" or "none".
        delta: Where the two meet.
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0):
        super().__init__(reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.huber_loss(input, target, self.reduction, self.delta)


class BCELoss(_Loss):
    """The cross entropy of the target with a probability.

    Args:
        weight: A factor per element; it broadcasts.
        reduction: "mean", "sum" or "none".
    """

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean"):
        super().__init__(reduction)
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.binary_cross_entropy(input, target, self.weight, self.reduction)


class BCEWithLogitsLoss(_Loss):
    """The cross entropy of the target with ``sigmoid(input)``.

    Args:
        weight: A factor per element; it broadcasts.
        reduction: "mean", "sum" or "none".
        pos_weight: A factor for the part of the target that is 1.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ):
        super().__init__(reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, self.reduction, self.pos_weight
        )


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence of log-probabilities from the target.

    Args:
        reduction: "batchmean", "mean", "sum" or "none".
        log_target: Whether the target holds logarithms too.
    """

    _reductions = (*_REDUCTIONS, "batchmean")

    def __init__(self, reduction: str = "mean", log_target: bool = False):
        super().__init__(reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.kl_div(input, target, self.reduction, self.log_target)


class NLLLoss(_Loss):
    """The negative log-probability of the target class.

    Args:
        weight: One factor per class.
        ignore_index: Targets of this value count for nothing.
        reduction: "mean", "sum" or "none".
    """

    def __init__(
        self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
    ):
        super().__init__(reduction)
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.nll_loss(input, target, self.weight, self.ignore_index, self.reduction)


class GaussianNLLLoss(_Loss):
    """The negative log-likelihood of the target under a normal distribution.

    Args:
        full: Whether to add the constant ``log(2 pi) / 2``.
        eps: The least variance.
        reduction: "mean", "sum" or "none".
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"):
        super().__init__(reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:
        """Return the loss."""
        return F.gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)


class PoissonNLLLoss(_Loss):
    """The negative log-likelihood of counts under a Poisson distribution.

    Args:
        log_input: Whether the input holds logarithms of rates.
        full: Whether to add Stirling's approximation of ``log(target!)``.
        eps: Added to a rate before its logarithm is taken.
        reduction: "mean", "sum" or "none".
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        eps: float = 1e-8,
        reduction: str = "mean",
    ):
        super().__init__(reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.poisson_nll_loss(
            input, target, self.log_input, self.full, self.eps, self.reduction
        )


class _MarginLoss(_Loss):
    """A loss with a margin."""

    def __init__(self, margin: float, reduction: str):
        super().__init__(reduction)
        self.margin = margin


class HingeEmbeddingLoss(_MarginLoss):
    """The input where the target is 1, ``max(0, margin - input)`` where it is -1."""

    def __init__(self, margin: float = 1.0, reduction: str = "mean"):
        super().__init__(margin, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.hinge_embedding_loss(input, target, self.margin, self.reduction)


class MarginRankingLoss(_MarginLoss):
    """``max(0, margin - target * (input1 - input2))``."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        super().__init__(margin, reduction)

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class CosineEmbeddingLoss(_MarginLoss):
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        super().__init__(margin, reduction)

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.cosine_embedding_loss(input1, input2, target, self.margin, self.reduction)


class SoftMarginLoss(_Loss):
    """``log(1 + exp(-target * input))``."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return F.soft_margin_loss(input, target, self.reduction)


class TripletMarginLoss(_MarginLoss):
    """``max(0, distance(anchor, positive) - distance(anchor, negative) + margin)``.

    Args:
        p: Which norm measures distances.
        eps: Added to each difference.
        swap: Take the distance of positive from negative where it is the smaller one.
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        reduction: str = "mean",
    ):
        super().__init__(margin, reduction)
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Return the loss."""
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            self.margin,
            self.p,
            self.eps,
            self.swap,
            self.reduction,
        )


class CosineSimilarity(Module):
    """The cosine of the angle between two tensors along ``dim``."""

    def __init__(self, dim: int = 1, eps: float = 1e-8):
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Return the cosines."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of a difference along the last dim."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False):
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Return the distances."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
