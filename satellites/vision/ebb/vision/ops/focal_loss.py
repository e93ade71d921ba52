# satellites/vision/ebb/vision/ops/focal_loss.py -- a loss of detectors that easy examples add
# little to.
"""``sigmoid_focal_loss``."""

from __future__ import annotations

from ebb import _C
from ebb._C import Tensor
from ebb.nn import functional

__all__ = ["sigmoid_focal_loss"]


def sigmoid_focal_loss(
    inputs: Tensor,
    targets: Tensor,
    alpha: float = 0.25,
    gamma: float = 2,
    reduction: str = "none",
) -> Tensor:
    """Return binary cross entropy, each term times ``(1 - p) ** gamma`` of its probability.

    Args:
        inputs: Logits of any shape.
        targets: 0 or 1, of the same shape.
        alpha: Weight of the targets 1, and 1 - alpha of the others; negative for none.
        gamma: How much less sure predictions count.
        reduction: "none", "mean" or "sum".
    Raises:
        ValueError: If there is no such reduction, or alpha is above 1.
    Example:
        >>> from ebb.vision import ops
        >>> ops.sigmoid_focal_loss(ebb.tensor([0.0, 5.0]), ebb.tensor([1.0, 1.0])) < 0.1
        tensor([True, True])
    """
    if reduction not in ("none", "mean", "sum"):
        raise _C.ValueError(
            f"sigmoid_focal_loss: needs reduction none, mean or sum, got {reduction!r}"
        )
    if alpha > 1:
        raise _C.ValueError(f"sigmoid_focal_loss: needs alpha of at most 1, got {alpha}")
    p = _C.sigmoid(inputs)
    entropy = functional.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    loss = entropy * (1 - (p * targets + (1 - p) * (1 - targets))) ** gamma
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    return loss if reduction == "none" else getattr(loss, reduction)()
