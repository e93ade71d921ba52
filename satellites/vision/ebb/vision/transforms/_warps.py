# satellites/vision/ebb/vision/transforms/_warps.py -- transforms that turn, move, scale and shear
# an image.
#
# A matrix tells where each pixel of the result comes from. Images of Pillow are warped by Pillow;
# others by grid_sample(). Start reading at affine().
"""``rotate`` and ``affine``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ebb import _C
from ebb._C import Tensor
from ebb.nn import functional as nn_functional
from ebb.vision.transforms import _images
from ebb.vision.transforms._interpolation import InterpolationMode


def _sources(
    center: Sequence[float],
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
) -> np.ndarray:
    """Return the 2 by 3 matrix that takes places of the result to places of the image."""
    turn, across, down = (math.radians(one) for one in (angle, shear[0], shear[1]))
    rotation = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    sheared = np.array([[1, 0], [-math.tan(down), 1]]) @ np.array([[1, -math.tan(across)], [0, 1]])
    back = np.linalg.inv(scale * (rotation @ sheared))
    middle = np.asarray(center, float)
    moved = middle - back @ (middle + np.asarray(translate, float))
    return np.concatenate([back, moved[:, None]], 1)


def _warped(planes: Tensor, matrix: np.ndarray, new: tuple[int, int], mode: str, fill: Any) -> Any:
    """Return [..., C, H, W] read at the places of a matrix, whose origin is the middle."""
    rows, columns = planes.shape[-2:]
    height, width = new
    y = _C.arange(height, dtype=_C.float32).sub_((height - 1) / 2)[:, None]
    x = _C.arange(width, dtype=_C.float32).sub_((width - 1) / 2)[None]
    places = [
        (float(row[0]) * x + float(row[1]) * y + float(row[2])) / (0.5 * size)
        for row, size in zip(matrix, (columns, rows), strict=True)
    ]
    grid = _C.stack(places, -1)[None]
    batch = planes.reshape(1, -1, rows, columns)
    floats = batch if batch.is_floating_point() else batch.float()
    grid = grid.to(floats.dtype)
    made = nn_functional.grid_sample(floats, grid, mode, align_corners=False)
    if fill is not None:
        inside = nn_functional.grid_sample(
            _C.ones(1, 1, rows, columns, dtype=floats.dtype), grid, mode, align_corners=False
        )
        value = _C.as_tensor(fill, dtype=floats.dtype).reshape(-1, 1, 1)
        made = made * inside + (1 - inside) * value if mode == "bilinear" else _C.where(
            inside < 0.5, value, made)  # fmt: skip
    made = made if batch.is_floating_point() else made.round().to(batch.dtype)
    return made.reshape(*planes.shape[:-2], height, width)


def rotate(
    img: Any,
    angle: float,
    interpolation: Any = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: Any = None,
) -> Any:
    """Return an image turned counter-clockwise.

    Args:
        img: The image.
        angle: In degrees.
        interpolation: NEAREST or BILINEAR; for images of Pillow also BICUBIC.
        expand: Give back larger sizes, in which all of it fits.
        center: Column and row about which it turns; the middle if None.
        fill: What is outside the image; 0 if None.
    Example:
        >>> from ebb.vision.transforms import functional
        >>> functional.rotate(ebb.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 90)
        tensor([[[2., 4.],
                 [1., 3.]]])
    """
    _images.check_image("rotate", img)
    mode = InterpolationMode.of("rotate", interpolation)
    if _images.is_pillow(img):
        return img.rotate(angle, mode.number, expand, center, fillcolor=_colour(img, fill))
    rows, columns = _images.sizes(img)
    away = [0.0, 0.0] if center is None else [center[0] - columns / 2, center[1] - rows / 2]
    matrix = _sources(away, -angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    new = _expanded(matrix, rows, columns) if expand else (rows, columns)
    name = mode.for_tensors("rotate")
    return _images.with_planes(img, lambda planes: _warped(planes, matrix, new, name, fill))


def _expanded(matrix: np.ndarray, rows: int, columns: int) -> tuple[int, int]:
    """Return rows and columns of the smallest image in which the turned one fits."""
    corners = np.array([[x * columns / 2, y * rows / 2] for x in (-1, 1) for y in (-1, 1)])
    spots = corners @ matrix[:, :2].T + [columns / 2, rows / 2]
    exact = np.trunc(spots * 1e3 + np.copysign(1e-6, spots)) / 1e3  # 1.9999999 is 2
    width, height = np.ceil(exact.max(0)) - np.floor(exact.min(0))
    return int(height), int(width)


def affine(
    img: Any,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: float | Sequence[float],
    interpolation: Any = InterpolationMode.NEAREST,
    fill: Any = None,
    center: Sequence[float] | None = None,
) -> Any:
    """Return an image turned, moved, scaled and sheared about its middle.

    Args:
        img: The image.
        angle: Clockwise, in degrees.
        translate: Columns and rows by which it moves.
        scale: By which it grows, above 0.
        shear: Degrees along the columns, and perhaps along the rows.
        interpolation: NEAREST or BILINEAR; for images of Pillow also BICUBIC.
        fill: What is outside the image; 0 if None.
        center: Column and row about which it turns; the middle if None.
    Raises:
        ValueError: If the scale is not above 0.
    Example:
        >>> from ebb.vision.transforms import functional
        >>> image = ebb.tensor([[[1.0, 2.0], [3.0, 4.0]]])
        >>> functional.affine(image, angle=0, translate=[1, 0], scale=1.0, shear=0)
        tensor([[[0., 1.],
                 [0., 3.]]])
    """
    _images.check_image("affine", img)
    mode = InterpolationMode.of("affine", interpolation)
    if scale <= 0:
        raise _C.ValueError(f"affine: needs a 'scale' above 0, got {scale}")
    tilt = [shear, 0.0] if isinstance(shear, (int, float)) else [*shear, 0.0][:2]
    rows, columns = _images.sizes(img)
    if _images.is_pillow(img):
        middle = [columns / 2, rows / 2] if center is None else center
        matrix = _sources(middle, angle, translate, scale, tilt)
        affine_method = 0
        return img.transform(
            (columns, rows), affine_method, matrix.flatten().tolist(), mode.number,
            fillcolor=_colour(img, fill),
        )  # fmt: skip
    away = [0.0, 0.0] if center is None else [center[0] - columns / 2, center[1] - rows / 2]
    matrix = _sources(away, angle, translate, scale, tilt)
    name = mode.for_tensors("affine")
    return _images.with_planes(
        img, lambda planes: _warped(planes, matrix, (rows, columns), name, fill)
    )


def _colour(image: Any, fill: Any) -> Any:
    """Return what Pillow takes for the outside."""
    if fill is None or not isinstance(fill, (list, tuple)):
        bands = len(image.getbands())
        value = 0 if fill is None else fill
        return value if bands == 1 else tuple([int(value)] * bands)
    return tuple(int(one) for one in fill) if len(fill) > 1 else int(fill[0])
