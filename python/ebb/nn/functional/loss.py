# python/ebb/nn/functional/loss.py -- the part of nn.functional that measures errors.
"""Ops of the table under PyTorch's signatures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ebb import _C
from ebb._base.arguments import takes_older_places
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
    pdist,
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
    "ctc_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "linear_cross_entropy",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "pairwise_distance",
    "pdist",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]

multi_margin_loss = _ops.multi_margin_loss
multilabel_margin_loss = _ops.multilabel_margin_loss
multilabel_soft_margin_loss = _ops.multilabel_soft_margin_loss


@takes_older_places
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return the cross entropy of ``target`` with the probability ``sigmoid(input)``.

    Args:
        weight: A factor per element; it broadcasts.
        pos_weight: A factor for the part of the target that is 1; it broadcasts.
        size_average, reduce: Old: False for ``reduction="sum"`` and for ``reduction="none"``.

    Example:
        >>> ebb.nn.functional.binary_cross_entropy_with_logits(ebb.zeros(2), ebb.tensor([0.0, 1.0]))
        tensor(0.6931)
    """
    return _C.binary_cross_entropy_with_logits(
        input,
        target,
        weight,
        pos_weight,
        reduction=reduction,
        size_average=size_average,
        reduce=reduce,
    )


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Return how far ``log_probs`` are from spelling the targets, whatever the timing.

    Args:
        log_probs: Logarithms of probabilities, [T, N, C] or [T, C].
        targets: Classes, [N, S], [S], or those of all samples one behind the other.
        input_lengths: How many steps of each sample count.
        target_lengths: How many labels each target has.
        blank: The class that spells nothing.
        reduction: "mean" divides each loss by the length of its target first.
        zero_infinity: Whether targets too long for their input cost nothing.

    Example:
        >>> log_probs = ebb.zeros(4, 1, 3).log_softmax(2)
        >>> from ebb.nn import functional as F
        >>> F.ctc_loss(log_probs, ebb.tensor([[1, 2]]), ebb.tensor([4]), ebb.tensor([2]))
        tensor(0.8432)
    """
    return _ops.ctc_loss(
        log_probs,
        targets,
        _lengths(input_lengths),
        _lengths(target_lengths),
        blank,
        reduction,
        zero_infinity,
    )


def _lengths(lengths: Tensor | Sequence[int]) -> Tensor:
    return lengths if isinstance(lengths, Tensor) else _C.tensor(lengths, dtype=_C.int64)


@takes_older_places
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Return the Kullback-Leibler divergence of ``input``, log-probabilities, from ``target``.

    Args:
        reduction: "batchmean" divides the sum by the size of dim 0; "mean" by all elements.
        log_target: Whether ``target`` holds logarithms too.
        size_average, reduce: Old: False for ``reduction="sum"`` and for ``reduction="none"``.

    Example:
        >>> p = ebb.tensor([0.5, 0.5])
        >>> ebb.nn.functional.kl_div(ebb.tensor([0.25, 0.75]).log(), p, reduction="sum")
        tensor(0.1438)
    """
    if reduction != "batchmean" or size_average is not None or reduce is not None:
        return _ops.kl_div(
            input,
            target,
            reduction,
            log_target=log_target,
            size_average=size_average,
            reduce=reduce,
        )
    total = _ops.kl_div(input, target, "sum", log_target=log_target)
    return total / (input.shape[0] if input.ndim > 0 else 1)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Return how far ``positive`` is from being nearer to ``anchor`` than ``negative``.

    Args:
        distance_function: What measures; pairwise_distance() unless given.
        margin: By how much it should be nearer; above 0.
        swap: Whether the distance of ``positive`` to ``negative`` counts where it is less.

    Example:
        >>> from ebb.nn import functional as F
        >>> x = ebb.zeros(1, 2)
        >>> F.triplet_margin_with_distance_loss(x, x, ebb.ones(1, 2)).shape
        ebb.Size([])
    """
    if not margin > 0:
        raise _C.ValueError(
            f"triplet_margin_with_distance_loss: margin must be above 0, got {margin}"
        )
    measure = pairwise_distance if distance_function is None else distance_function
    near, far = measure(anchor, positive), measure(anchor, negative)
    if swap:
        far = _C.minimum(far, measure(positive, negative))
    losses = (near - far + margin).relu()
    if reduction == "none":
        return losses
    if reduction in ("mean", "sum"):
        return losses.mean() if reduction == "mean" else losses.sum()
    raise _C.ValueError(
        "triplet_margin_with_distance_loss: reduction must be 'none', 'mean' or 'sum', got "
        f"{reduction!r}"
    )


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """Return the cross entropy of ``target`` with a linear map of ``input``.

    Args:
        input: [..., features].
        linear_weight: [classes, features], or [classes, *dims, features] beside an ``input``
            [N, features].
        target: Classes, in the shape of ``input`` without its last dim, and with ``dims``; or
            probabilities, with the classes' dim before ``dims``.
        linear_bias: In the shape of ``linear_weight`` without its last dim.
        weight: The factor of each class.
        ignore_index: Targets of this value count for nothing; None stands for -100.
        label_smoothing: Share of the target that is spread over all classes.
        options: What PyTorch is told of its chunks; it changes nothing here.

    Example:
        >>> x, weight, target = ebb.ones(2, 4), ebb.ones(10, 4), ebb.tensor([1, 8])
        >>> ebb.nn.functional.linear_cross_entropy(x, weight, target)
        tensor(2.3026)
    """
    del options
    dims = linear_weight.shape[:-1]
    if len(dims) > 1:
        scores = _scores_of_dims(input, linear_weight, linear_bias)
    else:
        scores = _C.linear(input, linear_weight, linear_bias)
        scores = scores.movedim(-1, 1) if scores.ndim > 2 else scores
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(scores, target, weight, ignored, reduction, label_smoothing)


def _scores_of_dims(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    dims = weight.shape[:-1]
    if input.ndim != 2:
        raise _C.ShapeError(
            "linear_cross_entropy: linear_weight of several dims needs an input [N, features], got "
            f"{list(input.shape)}"
        )
    if bias is not None and bias.shape != dims:
        raise _C.ShapeError(
            "linear_cross_entropy: linear_bias needs the shape of linear_weight without its last "
            f"dim, got {list(bias.shape)} for {list(weight.shape)}"
        )
    flat = weight.reshape(-1, weight.shape[-1])
    scores = _C.linear(input, flat, None if bias is None else bias.reshape(-1))
    return scores.reshape(len(input), *dims)
