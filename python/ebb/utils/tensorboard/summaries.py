# python/ebb/utils/tensorboard/summaries.py -- histograms, curves and pictures of values.
"""What ``SummaryWriter`` makes of tensors before they are written; all of it is NumPy."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from ebb import _C


def number_of(call: str, value: Any) -> float:
    """Return a number, or the only element of a tensor, array or list of any dims.

    Raises:
        ValueError: If there are more elements, or none.
    """
    if isinstance(value, (int, float)):
        return float(value)
    elements = array_of(call, value).reshape(-1)
    if elements.size != 1:
        raise _C.ValueError(f"{call}: needs one number, got {elements.size} elements")
    return float(elements[0])


def array_of(op: str, values: Any) -> np.ndarray:
    """Return a tensor, array or list as an array of numbers."""
    if isinstance(values, _C.Tensor):
        values = values.detach().cpu()
        values = (values.float() if values.dtype is _C.bfloat16 else values).numpy()
    found = np.asarray(values)
    if found.dtype.kind not in "biuf":
        raise _C.DTypeError(f"{op}: needs numbers, got {found.dtype}")
    return found


def default_bins() -> np.ndarray:
    """Return limits that grow by a tenth, on both sides of zero."""
    count = int(np.ceil(np.log(1e20 / 1e-12) / np.log(1.1)))
    sides = 1e-12 * 1.1 ** np.arange(count)
    return np.concatenate([-sides[::-1], [0.0], sides])


def histogram(op: str, values: Any, bins: Any, max_bins: int | None = None) -> dict[str, Any]:
    """Return how many values lie between limits, and their moments."""
    flat = array_of(op, values).reshape(-1).astype(np.float64)
    if flat.size == 0:
        raise _C.ValueError(f"{op}: needs at least one value, got none")
    if not np.isfinite(flat).all():
        raise _C.ValueError(f"{op}: needs finite values, got inf or nan")
    is_named = isinstance(bins, str) and bins == "tensorflow"
    limits = default_bins() if is_named else bins
    counts, limits = np.histogram(flat, limits)
    if max_bins is not None and len(counts) > max_bins:
        step = -(-len(counts) // max_bins)
        counts = np.add.reduceat(counts, np.arange(0, len(counts), step))
        limits = np.append(limits[:-1:step], limits[-1])
    filled = np.flatnonzero(counts)
    first, last = (filled[0], filled[-1] + 1) if filled.size else (0, 1)
    # Each count has its right limit; an empty one in front shows the leftmost.
    return {
        "min": float(flat.min()),
        "max": float(flat.max()),
        "num": int(flat.size),
        "sum": float(flat.sum()),
        "sum_squares": float(flat.dot(flat)),
        "bucket_limit": limits[first : last + 1].tolist(),
        "bucket": [0, *counts[first:last].tolist()],
    }


def picture(op: str, values: Any, layout: str, across: int = 8) -> np.ndarray:
    """Return an image, or several side by side, as bytes in rows, columns and channels.

    Args:
        layout: What the dims are, of N, H, W and C, such as "NCHW".
        across: How many stand side by side, at most.
    """
    image = array_of(op, values)
    if len(layout) != image.ndim or set(layout) - set("NHWC") or len(set(layout)) != len(layout):
        raise _C.ShapeError(f"{op}: needs an image of dims {layout}, got {list(image.shape)}")
    image = image * 255.0 if image.dtype.kind == "f" else image
    image = np.clip(np.nan_to_num(image), 0, 255).astype(np.uint8)
    names = [*layout, *(name for name in "NC" if name not in layout)]
    image = image.reshape(*image.shape, *[1] * (4 - image.ndim))
    image = image.transpose([names.index(name) for name in "NHWC"])
    count, height, width, channels = image.shape
    if channels not in (1, 3, 4):
        raise _C.ShapeError(f"{op}: needs 1, 3 or 4 channels, got {channels}")
    across = min(count, across)
    down = -(-count // across)
    grid = np.zeros((down * across, height, width, channels), np.uint8)
    grid[:count] = image
    rows = grid.reshape(down, across, height, width, channels).swapaxes(1, 2)
    return rows.reshape(down * height, across * width, channels)


def noted_picture(image: np.ndarray) -> dict[str, Any]:
    """Return what is noted of an image: its sizes and its PNG file."""
    height, width, channels = image.shape
    return {"height": height, "width": width, "channels": channels, "png": png(image)}


def png(image: np.ndarray) -> bytes:
    """Return the bytes of a PNG file."""
    return png_file([png_head(image), png_pixels(image)])


def png_head(image: np.ndarray) -> tuple[bytes, bytes]:
    """Return the part of a PNG file that says how large it is."""
    height, width, channels = image.shape
    kind = {1: 0, 3: 2, 4: 6}[channels]
    return b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)


def png_pixels(image: np.ndarray) -> tuple[bytes, bytes]:
    """Return the part of a PNG file that holds the pixels."""
    return b"IDAT", zlib.compress(b"".join(b"\0" + row.tobytes() for row in image))


def png_file(parts: list[tuple[bytes, bytes]]) -> bytes:
    """Return the bytes of a PNG file of named parts; its end is added."""
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + name + content
        + struct.pack(">I", zlib.crc32(name + content))
        for name, content in [*parts, (b"IEND", b"")]
    )  # fmt: skip
