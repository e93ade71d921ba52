# satellites/vision/ebb/vision/ops/boxes.py -- areas and overlaps of boxes, and which of them to
# keep.
#
# A box is [x1, y1, x2, y2] with x1 <= x2 and y1 <= y2. What compares boxes is made of ops and has
# gradients; what chooses some gives their indices.
"""Boxes ``[N, 4]``: ``box_iou``, ``nms``, ``box_convert`` and others."""

from __future__ import annotations

import numpy as np

from ebb import _C
from ebb._C import Tensor

__all__ = [
    "batched_nms",
    "box_area",
    "box_convert",
    "box_iou",
    "clip_boxes_to_image",
    "generalized_box_iou",
    "masks_to_boxes",
    "nms",
    "remove_small_boxes",
]

FORMATS = ("xyxy", "xywh", "cxcywh")


def _check(op: str, *all_boxes: Tensor) -> None:
    for boxes in all_boxes:
        if boxes.ndim < 1 or boxes.shape[-1] != 4:
            raise _C.ShapeError(f"{op}: needs boxes [..., 4], got {list(boxes.shape)}")


def _for_arithmetic(boxes: Tensor) -> Tensor:
    """Return boxes in a dtype in which products of sides do not overflow."""
    if boxes.dtype.is_floating_point:
        return boxes if boxes.dtype.itemsize >= 4 else boxes.float()
    return boxes if boxes.dtype.itemsize >= 4 else boxes.int()


def box_area(boxes: Tensor) -> Tensor:
    """Return the area of each box.

    Args:
        boxes: [N, 4] of x1, y1, x2, y2.
    Raises:
        ShapeError: If the last dim is not 4.
    Example:
        >>> from ebb.vision import ops
        >>> ops.box_area(ebb.tensor([[0.0, 0.0, 2.0, 3.0]]))
        tensor([6.])
    """
    _check("box_area", boxes)
    boxes = _for_arithmetic(boxes)
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def _shared_and_union(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor]:
    area1, area2 = box_area(boxes1), box_area(boxes2)
    low = _C.maximum(boxes1[..., None, :2], boxes2[..., None, :, :2])
    high = _C.minimum(boxes1[..., None, 2:], boxes2[..., None, :, 2:])
    sides = _for_arithmetic(high - low).clamp(min=0)
    shared = sides[..., 0] * sides[..., 1]
    return shared, area1[..., None] + area2[..., None, :] - shared


def box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Return the shared area over the joint one, of each of N boxes with each of M.

    Args:
        boxes1: [N, 4] of x1, y1, x2, y2.
        boxes2: [M, 4].
    Returns:
        [N, M] of numbers from 0 to 1.
    Raises:
        ShapeError: If a last dim is not 4.
    Example:
        >>> from ebb.vision import ops
        >>> boxes = ebb.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.0]])
        >>> ops.box_iou(boxes, boxes)
        tensor([[1.0000, 0.5000],
                [0.5000, 1.0000]])
    """
    _check("box_iou", boxes1, boxes2)
    shared, union = _shared_and_union(boxes1, boxes2)
    return shared / union


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Return ``box_iou`` less the part of the enclosing box that neither covers.

    Args:
        boxes1: [N, 4] of x1, y1, x2, y2.
        boxes2: [M, 4].
    Returns:
        [N, M] of numbers from -1 to 1.
    Raises:
        ShapeError: If a last dim is not 4.
    Example:
        >>> from ebb.vision import ops
        >>> boxes = ebb.tensor([[0.0, 0.0, 1.0, 1.0], [3.0, 0.0, 4.0, 1.0]])
        >>> ops.generalized_box_iou(boxes[:1], boxes)
        tensor([[ 1.0000, -0.5000]])
    """
    _check("generalized_box_iou", boxes1, boxes2)
    shared, union = _shared_and_union(boxes1, boxes2)
    low = _C.minimum(boxes1[..., None, :2], boxes2[..., None, :, :2])
    high = _C.maximum(boxes1[..., None, 2:], boxes2[..., None, :, 2:])
    sides = _for_arithmetic(high - low).clamp(min=0)
    hull = sides[..., 0] * sides[..., 1]
    return shared / union - (hull - union) / hull


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Return boxes in another format.

    Args:
        boxes: [N, 4].
        in_fmt: "xyxy" of two corners, "xywh" of a corner and the sides, "cxcywh" of the centre
            and the sides.
        out_fmt: Likewise.
    Raises:
        ShapeError: If the last dim is not 4.
        ValueError: If there is no such format.
    Example:
        >>> from ebb.vision import ops
        >>> ops.box_convert(ebb.tensor([[0.0, 0.0, 2.0, 4.0]]), "xyxy", "cxcywh")
        tensor([[1., 2., 2., 4.]])
    """
    _check("box_convert", boxes)
    for wanted in (in_fmt, out_fmt):
        if wanted not in FORMATS:
            raise _C.ValueError(f"box_convert: needs one of {', '.join(FORMATS)}, got {wanted!r}")
    if in_fmt == out_fmt:
        return boxes.clone()
    first, second = boxes[..., :2], boxes[..., 2:]
    if in_fmt == "xywh":
        first, second = first, first + second
    elif in_fmt == "cxcywh":
        first, second = first - 0.5 * second, first + 0.5 * second
    if out_fmt == "xywh":
        second = second - first
    elif out_fmt == "cxcywh":
        first, second = (first + second) / 2, second - first
    return _C.cat([first, second], -1)


def clip_boxes_to_image(boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """Return boxes cut off at the borders of an image.

    Args:
        boxes: [N, 4] of x1, y1, x2, y2.
        size: Height and width of the image.
    Raises:
        ShapeError: If the last dim is not 4.
    Example:
        >>> from ebb.vision import ops
        >>> ops.clip_boxes_to_image(ebb.tensor([[-1.0, 2.0, 9.0, 9.0]]), (4, 8))
        tensor([[0., 2., 8., 4.]])
    """
    _check("clip_boxes_to_image", boxes)
    height, width = size
    x, y = boxes[..., 0::2].clamp(0, width), boxes[..., 1::2].clamp(0, height)
    return _C.stack([x, y], -1).reshape(boxes.shape)


def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """Return the indices of the boxes whose sides are both at least ``min_size``.

    Args:
        boxes: [N, 4] of x1, y1, x2, y2.
        min_size: Of a side.
    Raises:
        ShapeError: If the last dim is not 4.
    Example:
        >>> from ebb.vision import ops
        >>> ops.remove_small_boxes(ebb.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 9.0, 1.0]]), 2)
        tensor([0])
    """
    _check("remove_small_boxes", boxes)
    sides = boxes[:, 2:] - boxes[:, :2]
    return (sides >= min_size).all(-1).nonzero().flatten()


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Return the indices of the boxes that no better one covers, best first.

    From the best score on, each box that is left drops all with which its IoU is above the
    threshold. Boxes are compared on the CPU, in memory of their number.

    Args:
        boxes: [N, 4] of x1, y1, x2, y2.
        scores: [N].
        iou_threshold: The greatest overlap that is kept.
    Raises:
        ShapeError: If the sizes are others.
    Example:
        >>> from ebb.vision import ops
        >>> boxes = ebb.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.8], [5.0, 5.0, 6.0, 6.0]])
        >>> ops.nms(boxes, ebb.tensor([0.5, 0.9, 0.1]), 0.5)
        tensor([1, 2])
    """
    if boxes.ndim != 2 or boxes.shape[1] != 4 or scores.shape != boxes.shape[:1]:
        raise _C.ShapeError(
            f"nms: needs boxes [N, 4] and scores [N], got {list(boxes.shape)} and "
            f"{list(scores.shape)}"
        )
    wide = boxes.detach().to("cpu", _C.float64 if boxes.dtype == _C.float64 else _C.float32)
    sides = np.asarray(wide).T
    ranked = np.asarray(scores.detach().to("cpu", _C.float64))
    left = np.argsort(-ranked, kind="stable")
    areas = (sides[2] - sides[0]) * (sides[3] - sides[1])
    kept = []
    while left.size:
        best, left = left[0], left[1:]
        kept.append(int(best))
        width = np.minimum(sides[2, best], sides[2, left]) - np.maximum(
            sides[0, best], sides[0, left]
        )
        height = np.minimum(sides[3, best], sides[3, left]) - np.maximum(
            sides[1, best], sides[1, left]
        )
        shared = width.clip(0) * height.clip(0)
        # Not a quotient: of two boxes without area it would be NaN, which drops none.
        left = left[shared <= iou_threshold * (areas[best] + areas[left] - shared)]
    return _C.tensor(kept, dtype=_C.int64, device=boxes.device)


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """Return what ``nms`` keeps of each class by itself, best first.

    Args:
        boxes: [N, 4] of x1, y1, x2, y2.
        scores: [N].
        idxs: [N], the class of each.
        iou_threshold: The greatest overlap that is kept.
    Raises:
        ShapeError: If the sizes are others.
    Example:
        >>> from ebb.vision import ops
        >>> boxes = ebb.tensor([[0.0, 0.0, 2.0, 2.0]] * 3)
        >>> ops.batched_nms(boxes, ebb.tensor([0.5, 0.9, 0.1]), ebb.tensor([0, 1, 0]), 0.5)
        tensor([1, 0])
    """
    if idxs.shape != scores.shape:
        raise _C.ShapeError(
            f"batched_nms: needs one class for each score, got {list(idxs.shape)} and "
            f"{list(scores.shape)}"
        )
    if not boxes.shape[0]:
        return nms(boxes, scores, iou_threshold)
    kept = []
    for one in idxs.unique():
        members = (idxs == one).nonzero().flatten()
        kept.append(members[nms(boxes[members], scores[members], iou_threshold)])
    found = _C.cat(kept)
    return found[scores[found].argsort(descending=True, stable=True)]


def masks_to_boxes(masks: Tensor) -> Tensor:
    """Return the smallest box around what is not zero in each mask.

    Args:
        masks: [N, H, W].
    Raises:
        ShapeError: If there are other dims.
        ValueError: If a mask is empty.
    Example:
        >>> from ebb.vision import ops
        >>> ops.masks_to_boxes(ebb.tensor([[[0, 0, 0], [0, 1, 1]]]))
        tensor([[1., 1., 2., 1.]])
    """
    if masks.ndim != 3:
        raise _C.ShapeError(f"masks_to_boxes: needs masks [N, H, W], got {list(masks.shape)}")
    found = []
    for place, mask in enumerate(masks):
        rows, columns = mask.nonzero().unbind(1)
        if not rows.numel():
            raise _C.ValueError(f"masks_to_boxes: needs masks with a pixel, got none in {place}")
        found.append(_C.stack([columns.min(), rows.min(), columns.max(), rows.max()]))
    if not found:
        return _C.zeros([0, 4], device=masks.device)
    return _C.stack(found).float()
