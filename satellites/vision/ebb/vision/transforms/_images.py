# satellites/vision/ebb/vision/transforms/_images.py -- the three kinds of image, seen as one.
#
# An image is of Pillow, an array of rows, columns and perhaps channels, or a tensor whose last two
# dims are rows and columns. with_planes() gives any of them to a function of tensors.
"""Sizes and parts of images, and images as tensors of channels, rows and columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ebb import _C
from ebb._C import Tensor
from ebb._functions.dtypes import iinfo
from ebb.vision import readers


def is_pillow(image: Any) -> bool:
    """Return whether an image is one of Pillow's."""
    return readers.is_pillow(image)


def check_image(name: str, image: Any) -> None:
    """Raise unless it is an image of one of the three kinds."""
    if isinstance(image, Tensor):
        if image.ndim < 2:
            raise _C.ShapeError(
                f"{name}: needs a tensor of channels, rows and columns, got {list(image.shape)}"
            )
    elif isinstance(image, np.ndarray):
        if image.ndim not in (2, 3):
            raise _C.ShapeError(f"{name}: needs an image of 2 or 3 dims, got {list(image.shape)}")
    elif not is_pillow(image):
        raise _C.DTypeError(
            f"{name}: needs a Tensor, an array or an image of Pillow, got {type(image).__name__}"
        )


def sizes(image: Any) -> tuple[int, int]:
    """Return rows and columns."""
    if isinstance(image, Tensor):
        return image.shape[-2], image.shape[-1]
    if isinstance(image, np.ndarray):
        return image.shape[0], image.shape[1]
    return image.height, image.width


def channels(image: Any) -> int:
    """Return how many values a pixel has."""
    if isinstance(image, Tensor):
        return 1 if image.ndim == 2 else image.shape[-3]
    if isinstance(image, np.ndarray):
        return 1 if image.ndim == 2 else image.shape[2]
    return len(image.getbands())


def planes_of(array: np.ndarray) -> Tensor:
    """Return rows, columns and perhaps channels as a tensor of channels, rows and columns."""
    planes = array[None] if array.ndim == 2 else array.transpose(2, 0, 1)
    if planes.dtype == np.bool_:  # Pillow's are bytes of 0 and 255
        planes = planes.view(np.uint8) != 0
    return _C.tensor(np.ascontiguousarray(planes))


def array_of(planes: Tensor) -> np.ndarray:
    """Return channels, rows and columns as an array of rows, columns and channels."""
    return np.ascontiguousarray(planes.detach().cpu().numpy().transpose(1, 2, 0))


def with_planes(image: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return an image changed as a tensor of channels, rows and columns."""
    if isinstance(image, Tensor):
        return change(image)
    array = np.asarray(image)
    made = array_of(change(planes_of(array)))
    if array.ndim == 2:
        made = made[..., 0]
    return made if isinstance(image, np.ndarray) else image_like(image, made)


def image_like(image: Any, array: np.ndarray) -> Any:
    """Return an array as an image of Pillow: of the mode, palette and notes of another."""
    made = readers.as_image(array)
    if made.mode != image.mode:  # several modes have as many channels: RGB, HSV, YCbCr
        made = readers.pillow().frombytes(image.mode, made.size, made.tobytes())
    if image.palette is not None:
        made.putpalette(image.palette)
    made.info = dict(image.info)
    return made


def check_no_palette(name: str, image: Any) -> None:
    """Raise if values of an image of Pillow are no colours, but the places of some in a palette."""
    if is_pillow(image) and image.palette is not None:
        raise _C.ValueError(
            f"{name}: needs an image whose values are colours, got mode {image.mode}"
            "\nhint: image.convert('RGB')"
        )


def computed(image: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    """Return what a function of floating tensors makes, rounded for whole numbers."""
    if image.is_floating_point():
        return change(image)
    return change(image.float()).round().clamp(0, top_value(image.dtype)).to(image.dtype)


def top_value(dtype: _C.dtype) -> int:
    """Return what full brightness is in a dtype."""
    return 1 if dtype.is_floating_point or dtype is _C.bool else iinfo(dtype).max


def pair(size: int | Sequence[int]) -> tuple[int, int]:
    """Return two numbers of one or two."""
    if isinstance(size, int):
        return size, size
    first, second = (*size, *size)[:2]
    return first, second


def check_range(name: str, argument: str, low: float, high: float) -> None:
    """Raise unless two numbers may bound a draw."""
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise _C.ValueError(f"{name}: needs '{argument}' from low to high, got {low} and {high}")
