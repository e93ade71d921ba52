# python/ebb/utils/tensorboard/curves.py -- curves, sounds and films of values, as they are written.
"""What the rarer methods of ``SummaryWriter`` make of tensors; all of it is NumPy."""

from __future__ import annotations

import io
import struct
import wave
from typing import Any

import numpy as np

from ebb import _C
from ebb.utils.tensorboard import summaries

# TensorBoard's page of such curves reads no more.
_MOST_THRESHOLDS = 127

# The rows of a precision-recall curve, in the order in which TensorBoard's page expects them.
ROWS = (
    *("true_positives", "false_positives", "true_negatives", "false_negatives"),
    *("precision", "recall"),
)


def threshold_count(op: str, count: int) -> int:
    """Return how many thresholds a curve gets.

    Raises:
        ValueError: If there are fewer than two.
    """
    if count < 2:
        raise _C.ValueError(f"{op}: needs num_thresholds of at least 2, got {count}")
    return min(int(count), _MOST_THRESHOLDS)


def pr_curve(labels: Any, predictions: Any, count: int, weights: Any) -> dict[str, list[float]]:
    """Return what is right and wrong at thresholds from 0 to 1, and precision and recall there.

    A prediction out of that range is not counted.

    Raises:
        ShapeError: If labels and predictions, or weights, differ in size.
    """
    op = "add_pr_curve"
    truth = summaries.array_of(op, labels).reshape(-1).astype(bool)
    guess = summaries.array_of(op, predictions).reshape(-1)
    weight = np.asarray(1.0) if weights is None else summaries.array_of(op, weights)
    weight = np.full(truth.shape, weight.item()) if weight.size == 1 else weight.reshape(-1)
    if not truth.size == guess.size == weight.size:
        raise _C.ShapeError(
            f"{op}: needs as many labels as predictions and weights, got {truth.size}, "
            f"{guess.size} and {weight.size}"
        )
    place = np.floor(guess * (count - 1))
    inside = (place >= 0) & (place <= count - 1)

    def at_least(of: np.ndarray) -> np.ndarray:
        chosen = inside & of
        counts = np.bincount(place[chosen].astype(np.int64), weight[chosen], count)
        return counts[::-1].cumsum()[::-1]

    true, false = at_least(truth), at_least(~truth)
    missed = true[0] - true
    least = np.finfo(np.float64).tiny
    rows = (true, false, false[0] - false, missed)
    shares = (true / np.maximum(least, true + false), true / np.maximum(least, true + missed))
    return {name: row.tolist() for name, row in zip(ROWS, rows + shares, strict=True)}


def sound(values: Any, sample_rate: int) -> dict[str, Any]:
    """Return a WAV file of 16 bits of one channel, and what it holds.

    Raises:
        ShapeError: If more than one dim has more than one element.
    """
    samples = summaries.array_of("add_audio", values)
    shape, samples = samples.shape, samples.squeeze()
    if samples.ndim > 1:
        raise _C.ShapeError(f"add_audio: needs samples in one dim, got {list(shape)}")
    samples = np.clip(np.nan_to_num(samples.reshape(-1)), -1, 1)
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(sample_rate)
        writer.writeframes((samples * np.iinfo(np.int16).max).astype("<i2").tobytes())
    sizes = {"sample_rate": int(sample_rate), "channels": 1, "frames": samples.size}
    return {**sizes, "wav": file.getvalue()}


def film(values: Any, fps: float) -> dict[str, Any]:
    """Return a PNG file that moves, of films side by side, and its sizes.

    Browsers show such files as they show GIF files, with all their colors.

    Raises:
        ShapeError: If there are not 5 dims, or no frame.
        ValueError: If there is no frame in a second.
    """
    frames = summaries.array_of("add_video", values)
    if frames.ndim != 5 or not frames.shape[1]:
        raise _C.ShapeError(
            f"add_video: needs films of [N, T, C, H, W] with a frame, got {list(frames.shape)}"
        )
    if not fps > 0:
        raise _C.ValueError(f"add_video: needs fps above 0, got {fps}")
    images = [summaries.picture("add_video", one, "NCHW") for one in frames.swapaxes(0, 1)]
    height, width, channels = images[0].shape
    sizes = {"height": height, "width": width, "channels": channels, "frames": len(images)}
    return {**sizes, "fps": float(fps), "png": _moving_png(images, fps)}


def _moving_png(images: list[np.ndarray], fps: float) -> bytes:
    """An image, then the others as parts of which a viewer that knows no films knows nothing."""
    parts = [summaries.png_head(images[0]), (b"acTL", struct.pack(">II", len(images), 0))]
    number = 0
    for place, image in enumerate(images):
        height, width, _ = image.shape
        delay = (max(1, round(1000 / fps)), 1000)
        control = struct.pack(">IIIIIHHBB", number, width, height, 0, 0, *delay, 0, 0)
        parts.append((b"fcTL", control))
        number += 1
        name, content = summaries.png_pixels(image)
        if place:
            name, content = b"fdAT", struct.pack(">I", number) + content
            number += 1
        parts.append((name, content))
    return summaries.png_file(parts)


def boxed(op: str, image: np.ndarray, boxes: Any, rescale: float, labels: Any) -> np.ndarray:
    """Return an image with red frames, three channels and, where Pillow is, names beside them.

    Args:
        boxes: Left, top, right and lower edge of each, before it is scaled.
        rescale: How much larger the picture becomes.
        labels: A name for each box, or one for all; none if their number differs.
    Raises:
        ShapeError: If the boxes are not rows of four.
        ValueError: If nothing is left of the image.
    """
    edges = summaries.array_of(op, boxes).reshape(-1) * rescale
    if edges.size % 4:
        raise _C.ShapeError(f"{op}: needs boxes of [N, 4], got {edges.size} edges")
    image = np.repeat(image, 3, axis=2) if image.shape[2] == 1 else image[..., :3].copy()
    height, width = int(image.shape[0] * rescale), int(image.shape[1] * rescale)
    if height < 1 or width < 1:
        raise _C.ValueError(f"{op}: needs a rescale that leaves a picture, got {rescale}")
    rows = np.minimum((np.arange(height) / rescale).astype(np.int64), image.shape[0] - 1)
    columns = np.minimum((np.arange(width) / rescale).astype(np.int64), image.shape[1] - 1)
    image = image[rows][:, columns]
    corners = np.nan_to_num(edges).round().astype(np.int64).reshape(-1, 4)
    for left, top, right, bottom in corners.tolist():
        _frame(image, left, top, right, bottom)
    return _named(image, corners, labels)


def _frame(image: np.ndarray, left: int, top: int, right: int, bottom: int) -> None:
    """Draws the edges that lie in the picture, two elements wide."""
    height, width, _ = image.shape
    inside = np.zeros((height, width), bool)
    inside[max(top, 0) : max(bottom + 1, 0), max(left, 0) : max(right + 1, 0)] = True
    inside[max(top + 2, 0) : max(bottom - 1, 0), max(left + 2, 0) : max(right - 1, 0)] = False
    image[inside] = (255, 0, 0)


def _named(image: np.ndarray, corners: np.ndarray, labels: Any) -> np.ndarray:
    if labels is None or len(labels) != len(corners):
        return image
    try:
        from PIL import Image, ImageDraw
    except ImportError:
        return image
    drawn = Image.fromarray(image)
    pen = ImageDraw.Draw(drawn)
    for (left, _top, _right, bottom), label in zip(corners.tolist(), labels, strict=True):
        pen.text((left + 2, bottom - 12), str(label), fill=(255, 255, 255))
    return np.asarray(drawn)
