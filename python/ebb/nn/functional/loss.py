# python/ebb/nn/functional/loss.py -- the part of nn.functional that measures errors.
"""Ops of the table under PyTorch's signatures."""

from __future__ import annotations

from ebb import _C
from ebb._C import (
    Tensor,
    _ops,
    binary_cross_entropy,
    cosine_embedding_loss,
    cosine_similarity,
    cross_entropy,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    nll_loss,
    pairwise_distance,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
)

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "margin_ranking_loss",
    "mse_loss",
    "nll_loss",
    "pairwise_distance",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
]


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return the cross entropy of ``target`` with the probability ``sigmoid(input)``.

    Args:
        weight: A factor per element; it broadcasts.
        pos_weight: A factor for the part of the target that is 1; it broadcasts.
    """
    return _C.binary_cross_entropy_with_logits(
        input, target, weight, pos_weight, reduction=reduction
    )


def kl_div(
    input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """Return the Kullback-Leibler divergence of ``input``, log-probabilities, from ``target``.

    Args:
        reduction: "batchmean" divides the sum by the size of dim 0; "mean" by all elements.
        log_target: Whether ``target`` holds logarithms too.
    """
    if reduction != "batchmean":
        return _ops.kl_div(input, target, reduction, log_target=log_target)
    total = _ops.kl_div(input, target, "sum", log_target=log_target)
    return total / (input.shape[0] if input.ndim > 0 else 1)
