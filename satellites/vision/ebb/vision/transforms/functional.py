# satellites/vision/ebb/vision/transforms/functional.py -- transforms as functions, where they place
# pixels.
#
# Kinds of image are told apart in _images.py. Colours are in _colours.py, turns in _warps.py; both
# are shown here, under torchvision's names.
"""What is done to one image, with every number given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ebb import _C
from ebb._C import Tensor
from ebb.nn import functional as nn_functional
from ebb.vision import readers
from ebb.vision.transforms import _images
from ebb.vision.transforms._colours import (
    adjust_brightness as adjust_brightness,
    adjust_contrast as adjust_contrast,
    adjust_gamma as adjust_gamma,
    adjust_hue as adjust_hue,
    adjust_saturation as adjust_saturation,
    adjust_sharpness as adjust_sharpness,
    autocontrast as autocontrast,
    equalize as equalize,
    gaussian_blur as gaussian_blur,
    invert as invert,
    posterize as posterize,
    rgb_to_grayscale as rgb_to_grayscale,
    solarize as solarize,
    to_grayscale as to_grayscale,
)
from ebb.vision.transforms._images import channels, pair, planes_of, sizes
from ebb.vision.transforms._interpolation import InterpolationMode as InterpolationMode
from ebb.vision.transforms._warps import affine as affine, rotate as rotate

__all__ = [
    "InterpolationMode",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "affine",
    "autocontrast",
    "center_crop",
    "convert_image_dtype",
    "crop",
    "equalize",
    "erase",
    "five_crop",
    "gaussian_blur",
    "get_dimensions",
    "get_image_num_channels",
    "get_image_size",
    "hflip",
    "invert",
    "normalize",
    "pad",
    "pil_to_tensor",
    "posterize",
    "resize",
    "resized_crop",
    "rgb_to_grayscale",
    "rotate",
    "solarize",
    "ten_crop",
    "to_grayscale",
    "to_pil_image",
    "to_tensor",
    "vflip",
]


def get_dimensions(img: Any) -> list[int]:
    """Return channels, rows and columns.

    >>> from ebb.vision.transforms import functional
    >>> functional.get_dimensions(ebb.zeros(3, 4, 5))
    [3, 4, 5]
    """
    _images.check_image("get_dimensions", img)
    return [channels(img), *sizes(img)]


def get_image_size(img: Any) -> list[int]:
    """Return columns and rows, in this order.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> functional.get_image_size(ebb.zeros(3, 4, 5))
        [5, 4]
    """
    _images.check_image("get_image_size", img)
    rows, columns = sizes(img)
    return [columns, rows]


def get_image_num_channels(img: Any) -> int:
    """Return how many values a pixel has.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> functional.get_image_num_channels(ebb.zeros(3, 4, 5))
        3
    """
    return get_dimensions(img)[0]


_get_image_size = get_image_size  # torchvision's name before 0.12


def to_tensor(pic: Any) -> Tensor:
    """Return an image as a tensor of channels, rows and columns; bytes become floats from 0 to 1.

    Args:
        pic: Image of Pillow, or array [H, W] or [H, W, C].
    Raises:
        ShapeError: If it has other dims.
        DTypeError: If it is a tensor already, or something else.
    Example:
        >>> import numpy as np
        >>> from ebb.vision.transforms import functional
        >>> functional.to_tensor(np.full((1, 2, 1), 255, np.uint8))
        tensor([[[1., 1.]]])
    """
    if isinstance(pic, Tensor):
        raise _C.DTypeError("to_tensor: needs an image of Pillow or an array, got a Tensor")
    _images.check_image("to_tensor", pic)
    array = np.asarray(pic)
    planes = planes_of(array)
    return planes.float() / 255 if array.dtype == np.uint8 else _known(planes)


def _known(planes: Tensor) -> Tensor:
    return planes.float() if planes.dtype is _C.bool else planes


def pil_to_tensor(pic: Any) -> Tensor:
    """Return an image as a tensor of channels, rows and columns, its values unchanged.

    Example:
        >>> import numpy as np
        >>> from ebb.vision.transforms import functional
        >>> functional.pil_to_tensor(np.full((1, 2, 1), 255, np.uint8)).tolist()
        [[[255, 255]]]
    """
    _images.check_image("pil_to_tensor", pic)
    return planes_of(np.asarray(pic))


# What else as many channels of the type may be: other colours, or in black and white.
_MODES_OF = {"L": ("1", "P"), "RGB": ("HSV", "YCbCr"), "RGBA": ("CMYK", "RGBX")}


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """Return a tensor or array as an image; as an array of bytes if Pillow is not installed.

    Args:
        pic: Tensor [C, H, W] or [H, W], array [H, W, C] or [H, W]; floats lie from 0 to 1 in
            tensors, and are bytes already in arrays.
        mode: Pillow's name of what the channels are; by their number if None.
    Raises:
        ShapeError: If there are other dims, or more than four channels.
        ValueError: If no image of the mode has so many channels of this type.
    Example:
        >>> import numpy as np
        >>> from ebb.vision.transforms import functional
        >>> np.asarray(functional.to_pil_image(ebb.ones(3, 2, 4))).shape
        (2, 4, 3)
    """
    _images.check_image("to_pil_image", pic)
    if isinstance(pic, Tensor):
        planes = pic[None] if pic.ndim == 2 else pic
        if planes.ndim != 3:
            raise _C.ShapeError(f"to_pil_image: needs 2 or 3 dims, got {list(pic.shape)}")
        planes = planes.mul(255).byte() if planes.is_floating_point() and mode != "F" else planes
        array = _images.array_of(planes)
    else:
        array = np.asarray(pic)
        array = array[..., None] if array.ndim == 2 else array
    if not 1 <= array.shape[2] <= 4:
        raise _C.ShapeError(f"to_pil_image: needs 1 to 4 channels, got {array.shape[2]}")
    array = array[..., 0] if array.shape[2] == 1 else array
    images = readers.pillow()
    if images is None:
        return array
    image = images.fromarray(array)
    if mode in (None, image.mode):
        return image
    if mode not in _MODES_OF.get(image.mode, ()):
        wanted = ", ".join((image.mode, *_MODES_OF.get(image.mode, ())))
        raise _C.ValueError(f"to_pil_image: needs a 'mode' of {wanted} here, got {mode!r}")
    if image.mode == "L":
        return image.convert(mode)
    return images.frombytes(mode, image.size, image.tobytes())


def convert_image_dtype(image: Tensor, dtype: _C.dtype = _C.float32) -> Tensor:
    """Return a tensor in another dtype, full brightness staying full.

    >>> from ebb.vision.transforms import functional
    >>> functional.convert_image_dtype(ebb.tensor([[0, 255]], dtype=ebb.uint8))
    tensor([[0., 1.]])
    """
    if not isinstance(image, Tensor):
        raise _C.DTypeError(
            f"convert_image_dtype: needs a Tensor, got {type(image).__name__}"
        )  # fmt: skip
    old, new = image.dtype, dtype
    if old is new:
        return image
    if old.is_floating_point:
        if new.is_floating_point:
            return image.to(new)
        top = _images.top_value(new)
        if top > (1 << 24 if old is _C.float32 else 1 << 53):
            raise _C.ValueError(
                f"convert_image_dtype: needs a 'dtype' of at most 16 bits for {old.name}, "
                f"got {new.name}"
            )
        return image.mul(top + 1.0 - 1e-3).to(new)
    if new.is_floating_point:
        return image.to(new) / _images.top_value(old)
    high, top = _images.top_value(old), _images.top_value(new)
    if high > top:
        return image.div(int((high + 1) // (top + 1)), rounding_mode="floor").to(new)
    return image.to(new) * int((top + 1) // (high + 1))


def normalize(tensor: Tensor, mean: Any, std: Any, inplace: bool = False) -> Tensor:
    """Subtract a mean and divide by a deviation, one of each per channel.

    Args:
        tensor: Floating, [..., C, H, W].
        mean, std: Numbers, or one for all channels.
        inplace: Write into the tensor.
    Raises:
        DTypeError: If it is no floating tensor.
        ValueError: If a deviation is 0.
    Example:
        >>> from ebb.vision.transforms import functional
        >>> functional.normalize(ebb.tensor([[[0.0, 1.0]]]), mean=0.5, std=0.5)
        tensor([[[-1.,  1.]]])
    """
    if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
        raise _C.DTypeError(
            "Normalize: needs a floating Tensor\nhint: put ToTensor() before it"
        )  # fmt: skip
    middle, width = (
        _C.as_tensor(value, dtype=tensor.dtype, device=tensor.device).reshape(-1, 1, 1)
        for value in (mean, std)
    )
    if not (width != 0).all():
        raise _C.ValueError("Normalize: needs a std without 0, got one with")
    return (tensor if inplace else tensor.clone()).sub_(middle).div_(width)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """Return a part of an image; what lies outside it is 0.

    >>> from ebb.vision.transforms import functional
    >>> functional.crop(ebb.ones(1, 2, 2), 1, 1, 2, 2)
    tensor([[[1., 0.],
             [0., 0.]]])
    """
    _images.check_image("crop", img)
    if _images.is_pillow(img):
        return img.crop((left, top, left + width, top + height))
    rows, columns = sizes(img)
    beyond = [max(-left, 0), max(-top, 0), max(left + width - columns, 0),
              max(top + height - rows, 0)]  # fmt: skip
    if any(beyond):
        img, top, left = pad(img, beyond), top + beyond[1], left + beyond[0]
    if isinstance(img, Tensor):
        return img[..., top : top + height, left : left + width]
    return img[top : top + height, left : left + width]


def center_crop(img: Any, output_size: int | Sequence[int]) -> Any:
    """Return the middle of an image; smaller images get a border of 0.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> functional.center_crop(ebb.arange(9.0).reshape(1, 3, 3), 1)
        tensor([[[4.]]])
    """
    _images.check_image("center_crop", img)
    height, width = pair(output_size)
    rows, columns = sizes(img)
    down, across = max(height - rows, 0), max(width - columns, 0)
    if down or across:
        img = pad(img, [across // 2, down // 2, (across + 1) // 2, (down + 1) // 2])
        rows, columns = sizes(img)
    return crop(img, round((rows - height) / 2), round((columns - width) / 2), height, width)


def _sides(padding: int | Sequence[int]) -> list[int]:
    """Return left, top, right, bottom."""
    if isinstance(padding, int):
        return [padding] * 4
    if len(padding) not in (1, 2, 4):
        raise _C.ValueError(f"pad: needs a 'padding' of 1, 2 or 4 numbers, got {len(padding)}")
    return list(padding) * (4 // len(padding))


_REPEATING = ("edge", "reflect", "symmetric")  # as NumPy calls them too


def pad(
    img: Any, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant"
) -> Any:
    """Return an image with a border around it.

    Args:
        img: The image.
        padding: Pixels on all sides; or left and right, top and bottom; or left, top, right,
            bottom.
        fill: The border's value, or one per channel.
        padding_mode: "constant"; or what the border repeats: "edge", "reflect" (without the edge)
            or "symmetric".
    Raises:
        ValueError: If there are other numbers of sides, or another mode.
    Example:
        >>> from ebb.vision.transforms import functional
        >>> functional.pad(ebb.tensor([[[1.0, 2.0]]]), [1, 0], padding_mode="edge")
        tensor([[[1., 1., 2., 2.]]])
    """
    _images.check_image("pad", img)
    left, top, right, bottom = _sides(padding)
    if padding_mode == "constant":
        return _with_border(img, left, top, right, bottom, fill)
    if padding_mode not in _REPEATING:
        raise _C.ValueError(
            "pad: needs a 'padding_mode' of constant, edge, reflect or symmetric, "
            f"got {padding_mode!r}"
        )
    rows, columns = (
        np.pad(np.arange(size), sides, padding_mode)  # type: ignore[call-overload]
        for size, sides in zip(sizes(img), ((top, bottom), (left, right)), strict=True)
    )
    if isinstance(img, Tensor):
        return img[..., _C.tensor(rows)[:, None], _C.tensor(columns)]
    found = np.asarray(img)[rows][:, columns]
    return found if isinstance(img, np.ndarray) else _images.image_like(img, found)


def _with_border(img: Any, left: int, top: int, right: int, bottom: int, fill: Any) -> Any:
    height, width = sizes(img)

    def change(planes: Tensor) -> Tensor:
        shape = [*planes.shape[:-2], height + top + bottom, width + left + right]
        value = _C.as_tensor(fill, dtype=planes.dtype, device=planes.device)
        value = value.reshape(-1, 1, 1) if value.ndim else value
        made = value.expand(shape).clone()
        made[..., top : top + height, left : left + width] = planes
        return made

    if min(left, top, right, bottom) < 0:
        return crop(img, -top, -left, height + top + bottom, width + left + right)
    return _images.with_planes(img, change)


def hflip(img: Any) -> Any:
    """Return an image with left and right exchanged.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> functional.hflip(ebb.tensor([[[1.0, 2.0]]]))
        tensor([[[2., 1.]]])
    """
    return _flipped("hflip", img, 1)


def vflip(img: Any) -> Any:
    """Return an image with top and bottom exchanged.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> functional.vflip(ebb.tensor([[[1.0], [2.0]]])).flatten()
        tensor([2., 1.])
    """
    return _flipped("vflip", img, 0)


def _flipped(name: str, image: Any, dim: int) -> Any:
    _images.check_image(name, image)
    if isinstance(image, Tensor):
        return image.flip([dim - 2])
    flipped = np.flip(np.asarray(image), dim).copy()
    return flipped if isinstance(image, np.ndarray) else _images.image_like(image, flipped)


def resize(
    img: Any,
    size: int | Sequence[int],
    interpolation: Any = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """Return an image in other sizes.

    Args:
        img: The image.
        size: Rows and columns; or one number, for the shorter side.
        interpolation: An ``InterpolationMode``, or Pillow's number of it.
        max_size: The longer side gets no longer than this, where ``size`` is one number.
        antialias: Whether every pixel of a larger image counts; images of Pillow's always do.
    Raises:
        ValueError: If a size is not positive, or the interpolation is unknown.
    Example:
        >>> from ebb.vision.transforms import functional
        >>> functional.resize(ebb.ones(3, 4, 8), 2).shape
        ebb.Size([3, 2, 4])
    """
    _images.check_image("resize", img)
    mode = InterpolationMode.of("resize", interpolation)
    height, width = _new_sizes(img, size, max_size)
    if (height, width) == sizes(img):
        return img
    if _images.is_pillow(img):
        return img.resize((width, height), mode.number)
    name = mode.for_tensors("resize")
    smooth = {"antialias": bool(antialias)} if name in ("bilinear", "bicubic") else {}

    def change(planes: Tensor) -> Tensor:
        batch = planes.reshape(1, -1, *planes.shape[-2:])
        made = nn_functional.interpolate(batch, (height, width), mode=name, **smooth)
        return made.reshape(*planes.shape[:-2], height, width)

    return _images.with_planes(img, lambda planes: _images.computed(planes, change))


def _new_sizes(img: Any, size: int | Sequence[int], max_size: int | None) -> tuple[int, int]:
    if not isinstance(size, int) and len(size) == 2:
        height, width = size
    else:
        short = size if isinstance(size, int) else size[0]
        rows, columns = sizes(img)
        least, most = min(rows, columns), max(rows, columns)
        long = int(short * most / least)
        if max_size is not None and long > max_size:
            short, long = int(max_size * short / long), max_size
        height, width = (short, long) if rows <= columns else (long, short)
    if height < 1 or width < 1:
        raise _C.ValueError(f"resize: needs a 'size' of at least 1, got {height} by {width}")
    return height, width


def resized_crop(
    img: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: Any = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """Return a part of an image in other sizes; see ``crop`` and ``resize``.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> functional.resized_crop(ebb.ones(3, 4, 4), 0, 0, 2, 2, size=8).shape
        ebb.Size([3, 8, 8])
    """
    part = crop(img, top, left, height, width)
    return resize(part, pair(size), interpolation, antialias=antialias)


def five_crop(img: Any, size: int | Sequence[int]) -> tuple[Any, ...]:
    """Return the four corners and the middle of an image.

    Raises:
        ValueError: If the image is smaller.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> [part.item() for part in functional.five_crop(ebb.arange(9.0).reshape(1, 3, 3), 1)]
        [0.0, 2.0, 6.0, 8.0, 4.0]
    """
    _images.check_image("five_crop", img)
    height, width = pair(size)
    rows, columns = sizes(img)
    if height > rows or width > columns:
        raise _C.ValueError(
            f"five_crop: needs an image of at least {height} by {width}, got {rows} by {columns}"
        )
    corners = (
        crop(img, top, left, height, width)
        for top in (0, rows - height)
        for left in (0, columns - width)
    )
    return (*corners, center_crop(img, (height, width)))


def ten_crop(img: Any, size: int | Sequence[int], vertical_flip: bool = False) -> tuple[Any, ...]:
    """Return ``five_crop`` of an image and of its mirror image.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> len(functional.ten_crop(ebb.ones(3, 4, 4), 2))
        10
    """
    other = vflip(img) if vertical_flip else hflip(img)
    return five_crop(img, size) + five_crop(other, size)


def erase(
    img: Tensor, i: int, j: int, h: int, w: int, v: Any, inplace: bool = False
) -> Tensor:  # fmt: skip
    """Return a tensor with ``v`` in ``h`` by ``w`` pixels from row ``i`` and column ``j`` on.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> functional.erase(ebb.ones(1, 2, 2), i=0, j=1, h=2, w=1, v=0.0)
        tensor([[[1., 0.],
                 [1., 0.]]])
    """
    if not isinstance(img, Tensor):
        raise _C.DTypeError(f"erase: needs a Tensor, got {type(img).__name__}")
    made = img if inplace else img.clone()
    made[..., i : i + h, j : j + w] = v
    return made
