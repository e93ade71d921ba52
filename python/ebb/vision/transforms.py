# python/ebb/vision/transforms.py -- what is done to images before and while training.
#
# Each takes an image of Pillow, an array of rows, columns and channels, or a tensor of channels,
# rows and columns, and gives back its like; ToTensor makes tensors. Random ones draw from ebb.
"""Transforms, under torchvision's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ebb import _C
from ebb._base.arguments import check_callable
from ebb.vision import readers

__all__ = [
    "CenterCrop",
    "Compose",
    "Lambda",
    "Normalize",
    "Pad",
    "RandomApply",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomVerticalFlip",
    "Resize",
    "ToTensor",
]


class Compose:
    """Several transforms, one after the other.

    Example:
        >>> from ebb.vision import transforms
        >>> change = transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.5, 0.5)])
        >>> import numpy as np
        >>> change(np.full((1, 2, 1), 255, np.uint8))
        tensor([[[1., 1.]]])
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]):
        self.transforms = list(transforms)
        check_callable(*self.transforms)

    def __call__(self, img: Any) -> Any:
        """Return what becomes of one image."""
        for change in self.transforms:
            img = change(img)
        return img


class Lambda:
    """A function as a transform."""

    def __init__(self, lambd: Callable[[Any], Any]):
        check_callable(lambd)
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        """Return what becomes of one image."""
        return self.lambd(img)


class ToTensor:
    """Make a tensor of channels, rows and columns; bytes become floats from 0 to 1."""

    def __call__(self, pic: Any) -> _C.Tensor:
        """Return what becomes of one image."""
        array = np.asarray(pic)
        if array.ndim not in (2, 3):
            raise _C.ShapeError(f"ToTensor: needs an image of 2 or 3 dims, got {list(array.shape)}")
        planes = array[None] if array.ndim == 2 else array.transpose(2, 0, 1)
        tensor = _C.tensor(np.ascontiguousarray(planes))
        return tensor.float() / 255 if array.dtype == np.uint8 else tensor


class Normalize:
    """Subtract a mean and divide by a deviation, one of each per channel.

    Args:
        mean, std: Numbers, or one for all channels.
        inplace: Write into the tensor.
    """

    def __init__(self, mean: Any, std: Any, inplace: bool = False):
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def __call__(self, tensor: _C.Tensor) -> _C.Tensor:
        """Return what becomes of one image."""
        if not isinstance(tensor, _C.Tensor) or not tensor.is_floating_point():
            raise _C.DTypeError("Normalize: needs a floating Tensor")
        mean, std = (
            _C.as_tensor(value, dtype=tensor.dtype, device=tensor.device).reshape(-1, 1, 1)
            for value in (self.mean, self.std)
        )
        if not (std != 0).all():
            raise _C.ValueError("Normalize: needs a std without 0, got one with")
        return (tensor if self.inplace else tensor.clone()).sub_(mean).div_(std)


def _sizes(image: Any) -> tuple[int, int]:
    """Return rows and columns."""
    if isinstance(image, _C.Tensor):
        return image.shape[-2], image.shape[-1]
    if isinstance(image, np.ndarray):
        return image.shape[0], image.shape[1]
    return image.height, image.width


def _cut(image: Any, top: int, left: int, height: int, width: int) -> Any:
    if isinstance(image, _C.Tensor):
        return image[..., top : top + height, left : left + width]
    if isinstance(image, np.ndarray):
        return image[top : top + height, left : left + width]
    return image.crop((left, top, left + width, top + height))


def _with_array(image: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Return an image changed as an array of rows, columns and perhaps channels."""
    if isinstance(image, np.ndarray):
        return change(image)
    return readers.as_image(np.ascontiguousarray(change(np.asarray(image))))


def _pair(size: int | Sequence[int]) -> tuple[int, int]:
    if isinstance(size, int):
        return size, size
    first, second = (*size, *size)[:2]
    return first, second


def _drawn(most: int) -> int:
    """Return a whole number from 0 to ``most``."""
    return int(_C.rand((), dtype=_C.float64).item() * (most + 1))


class Pad:
    """Put a border around an image.

    Args:
        padding: Pixels on all sides; or left and right, top and bottom; or left, top, right,
            bottom.
        fill: The border's value.
    """

    def __init__(self, padding: int | Sequence[int], fill: float = 0):
        sides = [padding] * 4 if isinstance(padding, int) else list(padding) * (4 // len(padding))
        self.padding = sides
        self.fill = fill

    def __call__(self, img: Any) -> Any:
        """Return what becomes of one image."""
        left, top, right, bottom = self.padding
        if isinstance(img, _C.Tensor):
            height, width = _sizes(img)
            shape = [*img.shape[:-2], height + top + bottom, width + left + right]
            made = _C.full(shape, self.fill, dtype=img.dtype, device=img.device)
            made[..., top : top + height, left : left + width] = img
            return made
        border = [(top, bottom), (left, right)]
        return _with_array(
            img,
            lambda array: np.pad(
                array, [*border, *[(0, 0)] * (array.ndim - 2)], constant_values=self.fill
            ),
        )


class CenterCrop:
    """Cut a part of the given size out of the middle; smaller images get a border."""

    def __init__(self, size: int | Sequence[int]):
        self.size = _pair(size)

    def __call__(self, img: Any) -> Any:
        """Return what becomes of one image."""
        height, width = self.size
        img = _large_enough(img, height, width)
        rows, columns = _sizes(img)
        return _cut(img, round((rows - height) / 2), round((columns - width) / 2), height, width)


def _large_enough(image: Any, height: int, width: int) -> Any:
    rows, columns = _sizes(image)
    down, across = max(height - rows, 0), max(width - columns, 0)
    if not (down or across):
        return image
    return Pad([across // 2, down // 2, across - across // 2, down - down // 2])(image)


class RandomCrop:
    """Cut a part of the given size out at a random place.

    Args:
        size: Rows and columns, or one number for both.
        padding: A border that the image gets first; see ``Pad``.
        pad_if_needed: Give smaller images a border.
        fill: The border's value.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: float = 0,
    ):
        self.size = _pair(size)
        self.pad = None if padding is None else Pad(padding, fill)
        self.pad_if_needed = pad_if_needed

    def __call__(self, img: Any) -> Any:
        """Return what becomes of one image."""
        height, width = self.size
        img = img if self.pad is None else self.pad(img)
        img = _large_enough(img, height, width) if self.pad_if_needed else img
        rows, columns = _sizes(img)
        if rows < height or columns < width:
            raise _C.ValueError(
                f"RandomCrop: needs an image of at least {height} by {width}, got {rows} by "
                f"{columns}"
            )
        return _cut(img, _drawn(rows - height), _drawn(columns - width), height, width)


class RandomApply:
    """Do several transforms with a probability, or none of them.

    Args:
        transforms: What is done.
        p: How likely.
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]], p: float = 0.5):
        self.change = Compose(transforms)
        self.p = p

    def __call__(self, img: Any) -> Any:
        """Return what becomes of one image."""
        return self.change(img) if _C.rand(()).item() < self.p else img


class RandomHorizontalFlip(RandomApply):
    """Exchange left and right with probability ``p``."""

    def __init__(self, p: float = 0.5):
        super().__init__([lambda image: _flipped(image, 1)], p)


class RandomVerticalFlip(RandomApply):
    """Exchange top and bottom with probability ``p``."""

    def __init__(self, p: float = 0.5):
        super().__init__([lambda image: _flipped(image, 0)], p)


def _flipped(image: Any, dim: int) -> Any:
    if isinstance(image, _C.Tensor):
        return image.flip([dim - 2])
    return _with_array(image, lambda array: np.flip(array, dim).copy())


class Resize:
    """Give an image other sizes, by bilinear interpolation without gaps (antialiased).

    Args:
        size: Rows and columns; or one number, for the shorter side.
    """

    def __init__(self, size: int | Sequence[int]):
        self.size = size

    def __call__(self, img: Any) -> Any:
        """Return what becomes of one image."""
        rows, columns = _sizes(img)
        if isinstance(self.size, int) or len(self.size) == 1:
            short = self.size if isinstance(self.size, int) else self.size[0]
            scale = short / min(rows, columns)
            height, width = (short if side == min(rows, columns) else int(side * scale)
                             for side in (rows, columns))  # fmt: skip
        else:
            height, width = self.size
        images = readers.pillow()
        if isinstance(img, _C.Tensor):
            return _resized(img, height, width)
        if images is None or isinstance(img, np.ndarray):
            planes = ToTensor()(img.astype(np.float32))
            found = _resized(planes, height, width).numpy().transpose(1, 2, 0)
            found = np.clip(np.rint(found), 0, 255) if img.dtype == np.uint8 else found
            return found.reshape(height, width, *img.shape[2:]).astype(img.dtype)
        return img.resize((width, height), images.BILINEAR)


def _resized(planes: _C.Tensor, height: int, width: int) -> _C.Tensor:
    from ebb.nn.functional import interpolate

    batch = planes.reshape(1, -1, *planes.shape[-2:])
    made = interpolate(batch, (height, width), mode="bilinear", antialias=True)
    return made.reshape(*planes.shape[:-2], height, width)
