# satellites/vision/ebb/vision/utils.py -- batches of images as one picture, and as a file.
"""``make_grid`` and ``save_image``, under torchvision's names."""

from __future__ import annotations

import math
import os
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ebb import _C
from ebb._base import naming as _naming
from ebb._C import Tensor
from ebb.io.writing import write_bytes
from ebb.vision import readers

__all__ = ["make_grid", "save_image"]


def make_grid(
    tensor: Tensor | Sequence[Tensor],
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """Return images side by side, as one of three channels.

    Args:
        tensor: [N, C, H, W] with one or three channels, [C, H, W] or [H, W]; or images of one size.
        nrow: How many images in a row.
        padding: Pixels around each.
        normalize: Whether values are moved and scaled into 0 to 1.
        value_range: What becomes 0 and 1; the least and the greatest value if None.
        scale_each: Whether these are asked of each image by itself.
        pad_value: Of the pixels between images.
    Returns:
        [3, rows, columns]; a single image is returned without padding.
    Raises:
        ShapeError: If there are other sizes.
    Example:
        >>> from ebb.vision import utils
        >>> utils.make_grid(ebb.zeros(4, 1, 8, 8), nrow=2).shape
        ebb.Size([3, 22, 22])
    """
    images = tensor if isinstance(tensor, Tensor) else _C.stack(list(tensor))
    images = images.detach()
    if images.ndim == 2:
        images = images[None]
    if images.ndim == 3:
        images = images[None]
    if images.ndim != 4 or images.shape[1] not in (1, 3):
        raise _C.ShapeError(
            f"make_grid: needs [N, C, H, W] with 1 or 3 channels, got {list(images.shape)}"
        )
    if images.shape[1] == 1:
        images = _C.cat([images] * 3, 1)
    if normalize:
        parts = [_scaled(one, value_range) for one in images] if scale_each else None
        images = _scaled(images, value_range) if parts is None else _C.stack(parts)
    count, channels, height, width = images.shape
    if count == 1:
        return images[0]
    columns = min(nrow, count)
    rows = math.ceil(count / columns)
    height, width = height + padding, width + padding
    grid = _C.full(
        [channels, height * rows + padding, width * columns + padding],
        pad_value, dtype=images.dtype, device=images.device,
    )  # fmt: skip
    for place, image in enumerate(images):
        top, left = (place // columns) * height + padding, (place % columns) * width + padding
        grid[:, top : top + height - padding, left : left + width - padding] = image
    return grid


def _scaled(image: Tensor, limits: tuple[float, float] | None) -> Tensor:
    low, high = limits or (float(image.min()), float(image.max()))
    return (image.clamp(low, high) - low) / max(high - low, 1e-5)


def save_image(
    tensor: Tensor | Sequence[Tensor], fp: Any, format: str | None = None, **kwargs: Any
) -> None:
    """Write images side by side into a file.

    Args:
        tensor: As ``make_grid`` takes them, with values from 0 to 1.
        fp: Path, or file open for writing bytes.
        format: Of the file, for Pillow; the path's ending if None. Without Pillow PNG is written.
        **kwargs: Of ``make_grid``.
    Raises:
        NotImplementedError: If it is not to be a PNG and Pillow is not installed.
    Example:
        >>> from pathlib import Path
        >>> from ebb.vision import utils
        >>> utils.save_image(ebb.rand(4, 3, 8, 8), "images.png", nrow=2)
        >>> Path("images.png").exists()
        True
    """
    grid = make_grid(tensor, **kwargs)
    pixels = np.asarray((grid * 255 + 0.5).clamp(0, 255).permute(1, 2, 0).to("cpu", _C.uint8))
    images = readers.pillow()
    if images is not None:
        images.fromarray(pixels).save(fp, format=format)
        return
    is_path = isinstance(fp, (str, os.PathLike))
    kind = format or (os.path.splitext(os.fspath(fp))[1].lstrip(".") if is_path else "png")
    if kind.lower() != "png":
        raise _C.NotImplementedError(
            f"save_image: needs the package Pillow for {kind!r}, got none\nhint: write a .png"
        )
    if not is_path:
        fp.write(_png(pixels))
        return
    write_bytes("save_image", fp, _png(pixels))


def _png(pixels: np.ndarray) -> bytes:
    """Return the file of rows of pixels of three bytes."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)  # 0: a row is not filtered
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )


_naming.name_module(__name__)
