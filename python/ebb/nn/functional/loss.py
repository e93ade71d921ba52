# python/ebb/nn/functional/loss.py -- the part of nn.functional that measures errors.
"""Losses under PyTorch's names. Where one is not an op of its own, it is made of others here."""

from __future__ import annotations

import math

from ebb import _C
from ebb._C import (
    Tensor,
    _ops,
    binary_cross_entropy,
    cross_entropy,
    exp,
    huber_loss,
    l1_loss,
    log,
    mse_loss,
    nll_loss,
    relu,
    smooth_l1_loss,
    sqrt,
    where,
)
from ebb.nn.functional.norm import widened

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


def _reduced(op: str, losses: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    if reduction != "mean":
        raise _C.ValueError(f"{op}: reduction must be 'none', 'mean' or 'sum', got '{reduction}'")
    return losses.mean()


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


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log-likelihood of ``target`` under a normal distribution.

    Args:
        input: The means.
        var: The variances; those below ``eps`` count as ``eps``, with the gradient of their own.
        full: Whether to add the constant ``log(2 pi) / 2``.
    """
    least = -(-var.detach()).max().item() if var.numel() > 0 else 0.0
    if least < 0:
        raise _C.ValueError(f"gaussian_nll_loss: var must not be negative, got {least:g}")
    if tuple(var.shape) == tuple(input.shape[:-1]):
        var = var.unsqueeze(-1)
    raised = where(var < eps, eps, var).detach()
    var = var + (raised - var.detach())
    difference = input - target
    losses = 0.5 * (log(var) + difference * difference / var)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return _reduced("gaussian_nll_loss", losses, reduction)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log-likelihood of counts under a Poisson distribution.

    Args:
        input: The rates, or with ``log_input`` their logarithms.
        full: Whether to add Stirling's approximation of ``log(target!)``.
        eps: Added to a rate before its logarithm is taken.
    """
    if log_input:
        losses = exp(input) - target * input
    else:
        losses = input - target * log(widened(input) + eps).to(input.dtype)
    if full:
        safe = where(target > 1, target, 1)
        stirling = target * log(safe) - target + 0.5 * log(2 * math.pi * safe)
        losses = losses + where(target > 1, stirling, 0)
    return _reduced("poisson_nll_loss", losses, reduction)


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """Return ``input`` where ``target`` is 1, and ``max(0, margin - input)`` where it is -1."""
    apart = where(target == 1, 0, relu(margin - input))
    together = where(target == -1, 0, input)
    return _reduced("hinge_embedding_loss", apart + together, reduction)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """Return ``max(0, margin - target * (input1 - input2))``."""
    losses = relu(margin - target * (input1 - input2))
    return _reduced("margin_ranking_loss", losses, reduction)


def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return ``log(1 + exp(-target * input))``, for targets of 1 and -1."""
    margin = target * input
    losses = _ops.logistic_loss(margin, _C.ones((), dtype=margin.dtype))
    return _reduced("soft_margin_loss", losses, reduction)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return the cosine of the angle between ``x1`` and ``x2`` along ``dim``.

    Args:
        eps: The least length that each vector counts as.
    """
    for one in (x1, x2):
        if one.dtype.is_complex:
            raise _C.DTypeError(f"cosine_similarity: needs real tensors, got {one.dtype}")
    if x1.shape != x2.shape:  # a length counts what is repeated along dim
        x1, x2 = _ops.broadcast_tensors([x1, x2])
    dtype = x1.dtype if x1.dtype == x2.dtype else None
    x1, x2 = widened(x1), widened(x2)
    product = (x1 * x2).sum(dim)
    length1, length2 = (sqrt((one * one).sum(dim)) for one in (x1, x2))
    length1, length2 = (where(one > eps, one, eps) for one in (length1, length2))
    cosine = product / (length1 * length2)
    return cosine if dtype is None or not dtype.is_floating_point else cosine.to(dtype)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """Return ``1 - cos`` where ``target`` is 1, and ``max(0, cos - margin)`` where it is -1."""
    cosine = cosine_similarity(input1, input2, dim=-1)
    together = where(target == 1, 1 - cosine, 0)
    apart = where(target == -1, relu(cosine - margin), 0)
    return _reduced("cosine_embedding_loss", together + apart, reduction)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """Return the p-norm of ``x1 - x2 + eps`` along the last dim."""
    difference = x1 - x2 + eps
    if difference.dtype.is_complex:
        difference = difference.abs()
    return difference.norm(p, -1, keepdim)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Return ``max(0, distance(anchor, positive) - distance(anchor, negative) + margin)``.

    Args:
        swap: Take the distance of ``positive`` from ``negative`` where it is the smaller one.
    """
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        other = pairwise_distance(positive, negative, p, eps)
        far = where(other < far, other, far)
    return _reduced("triplet_margin_loss", relu(near - far + margin), reduction)
