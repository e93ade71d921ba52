# satellites/vision/ebb/vision/transforms/drawn.py -- transforms that draw what they do, as classes.
#
# Numbers come from ebb's generator, so ebb.manual_seed() repeats them; where torchvision offers
# get_params(), it is here too; those with a probability are in sometimes.py. Start reading at
# RandomCrop.
"""Classes of transforms with draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ebb import _C
from ebb.vision.transforms import functional, sometimes
from ebb.vision.transforms._images import check_range, pair, sizes
from ebb.vision.transforms._interpolation import InterpolationMode
from ebb.vision.transforms.fixed import Transform
from ebb.vision.transforms.sometimes import *  # noqa: F403 -- its __all__
from ebb.vision.transforms.sometimes import drawn_number, number_between

__all__ = [
    "ColorJitter",
    "GaussianBlur",
    "RandomAffine",
    "RandomCrop",
    "RandomResizedCrop",
    "RandomRotation",
    *sometimes.__all__,
]


class RandomCrop(Transform):
    """Cut a part of the given size out at a random place.

    Args:
        size: Rows and columns, or one number for both.
        padding: A border that the image gets first; see ``Pad``.
        pad_if_needed: Give smaller images a border.
        fill: The border's value.
        padding_mode: What the border repeats; see ``functional.pad``.

    Example:
        >>> from ebb.vision import transforms
        >>> transforms.RandomCrop(2)(ebb.ones(3, 4, 4)).shape
        ebb.Size([3, 2, 2])
    """

    _shown = ("size", "padding")

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ):
        super().__init__()
        self.size: tuple[int, int] = pair(size)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Draw top, left, height and width of a part.

        Raises:
            ValueError: If the image is smaller.
        """
        height, width = output_size
        rows, columns = sizes(img)
        if rows < height or columns < width:
            raise _C.ValueError(
                f"RandomCrop: needs an image of at least {height} by {width}, got {rows} by "
                f"{columns}"
            )
        return drawn_number(rows - height), drawn_number(columns - width), height, width

    def forward(self, img: Any) -> Any:
        """Return what becomes of one image."""
        if self.padding is not None:
            img = functional.pad(img, self.padding, self.fill, self.padding_mode)
        rows, columns = sizes(img)
        down, across = max(self.size[0] - rows, 0), max(self.size[1] - columns, 0)
        if self.pad_if_needed and (down or across):
            img = functional.pad(img, [across, down], self.fill, self.padding_mode)
        return functional.crop(img, *self.get_params(img, self.size))


class RandomResizedCrop(Transform):
    """Cut a part of random size and proportions out, and give it the size wanted.

    Args:
        size: Rows and columns, or one number for both.
        scale: Least and greatest part of the image's area.
        ratio: Least and greatest width over height.
        interpolation: See ``Resize``.
        antialias: See ``Resize``.

    Example:
        >>> from ebb.vision import transforms
        >>> transforms.RandomResizedCrop(8)(ebb.ones(3, 4, 4)).shape
        ebb.Size([3, 8, 8])
    """

    _shown = ("size", "scale", "ratio", "interpolation")

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Any = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ):
        super().__init__()
        check_range("RandomResizedCrop", "scale", *scale)
        check_range("RandomResizedCrop", "ratio", *ratio)
        self.size: tuple[int, int] = pair(size)
        self.scale = scale
        self.ratio = ratio
        self.interpolation: InterpolationMode = InterpolationMode.of(
            "RandomResizedCrop", interpolation
        )
        self.antialias = antialias

    @staticmethod
    def get_params(
        img: Any, scale: Sequence[float], ratio: Sequence[float]
    ) -> tuple[int, int, int, int]:
        """Draw top, left, height and width of a part; after ten misfits it is the middle."""
        rows, columns = sizes(img)
        for _ in range(10):
            area = rows * columns * number_between(*scale)
            shape = math.exp(number_between(math.log(ratio[0]), math.log(ratio[1])))
            width, height = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if 0 < width <= columns and 0 < height <= rows:
                return drawn_number(rows - height), drawn_number(columns - width), height, width
        width = min(columns, round(rows * max(ratio))) if columns / rows > max(ratio) else columns
        height = min(rows, round(columns / min(ratio))) if columns / rows < min(ratio) else rows
        return (rows - height) // 2, (columns - width) // 2, height, width

    def forward(self, img: Any) -> Any:
        """Return what becomes of one image."""
        part = self.get_params(img, self.scale, self.ratio)
        return functional.resized_crop(
            img, *part, self.size, self.interpolation, antialias=self.antialias
        )


class ColorJitter(Transform):
    """Change brightness, contrast, saturation and hue at random, in a random order.

    Args:
        brightness, contrast, saturation: A number ``x``, for factors from ``1 - x`` to ``1 + x``;
            or the least and greatest factor.
        hue: A number ``x``, for turns from ``-x`` to ``x``; or the least and greatest.
    Raises:
        ValueError: If a factor would be negative, or a turn not within -0.5 to 0.5.
    Example:
        >>> from ebb.vision import transforms
        >>> transforms.ColorJitter(brightness=0.5, hue=0.1)(ebb.rand(3, 4, 4)).shape
        ebb.Size([3, 4, 4])
    """

    _shown = ("brightness", "contrast", "saturation", "hue")

    def __init__(
        self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0
    ):  # fmt: skip
        super().__init__()
        self.brightness: tuple[float, float] | None = self._range("brightness", brightness)
        self.contrast: tuple[float, float] | None = self._range("contrast", contrast)
        self.saturation: tuple[float, float] | None = self._range("saturation", saturation)
        self.hue: tuple[float, float] | None = self._range("hue", hue)

    @staticmethod
    def _range(name: str, value: Any) -> tuple[float, float] | None:
        around = 0.0 if name == "hue" else 1.0
        least, most = (-0.5, 0.5) if name == "hue" else (0.0, math.inf)
        if isinstance(value, (int, float)):
            if value < 0:
                raise _C.ValueError(f"ColorJitter: needs a {name!r} of at least 0, got {value}")
            low, high = around - value, around + value
            low = low if name == "hue" else max(low, 0.0)
        else:
            low, high = (float(one) for one in value)
        if not least <= low <= high <= most:
            raise _C.ValueError(
                f"ColorJitter: needs a {name!r} within {least} to {most}, got {value}"
            )
        return None if low == high == around else (low, high)

    @staticmethod
    def get_params(brightness: Any, contrast: Any, saturation: Any, hue: Any) -> tuple[Any, ...]:
        """Draw an order of the four, and a number for each, or None."""
        order = _C.randperm(4)
        numbers = (
            None if one is None else number_between(*one)
            for one in (brightness, contrast, saturation, hue)
        )
        return order, *numbers

    def forward(self, img: Any) -> Any:
        """Return what becomes of one image."""
        order, *numbers = self.get_params(
            self.brightness, self.contrast, self.saturation, self.hue
        )  # fmt: skip
        changes = (functional.adjust_brightness, functional.adjust_contrast,
                   functional.adjust_saturation, functional.adjust_hue)  # fmt: skip
        for place in order.tolist():
            if numbers[place] is not None:
                img = changes[place](img, numbers[place])
        return img


class GaussianBlur(Transform):
    """Blur an image by a bell curve of random width.

    Args:
        kernel_size: Columns and rows of the neighbourhood, odd.
        sigma: The width, or the least and greatest.

    Example:
        >>> from ebb.vision import transforms
        >>> transforms.GaussianBlur(3, sigma=1.0)(ebb.ones(1, 4, 4)).shape
        ebb.Size([1, 4, 4])
    """

    _shown = ("kernel_size", "sigma")

    def __init__(self, kernel_size: int | Sequence[int], sigma: Any = (0.1, 2.0)):
        super().__init__()
        self.kernel_size: tuple[int, int] = pair(kernel_size)
        self.sigma: tuple[int | float, int | float] | tuple[Any, ...] = (
            (sigma, sigma) if isinstance(sigma, (int, float)) else tuple(sigma)
        )
        check_range("GaussianBlur", "sigma", *self.sigma)

    def forward(self, img: Any) -> Any:
        """Return what becomes of one image."""
        return functional.gaussian_blur(img, self.kernel_size, number_between(*self.sigma))


def _angles(name: str, degrees: float | Sequence[float]) -> tuple[float, float]:
    low, high = (-degrees, degrees) if isinstance(degrees, (int, float)) else degrees
    check_range(name, "degrees", low, high)
    return low, high


class RandomRotation(Transform):
    """Turn an image by a random angle; see ``functional.rotate``.

    Args:
        degrees: The greatest angle both ways, or the least and greatest.
        interpolation, expand, center, fill: As ``functional.rotate`` takes them.

    Example:
        >>> from ebb.vision import transforms
        >>> transforms.RandomRotation([90, 90])(ebb.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
        tensor([[[2., 4.],
                 [1., 3.]]])
    """

    _shown = ("degrees", "interpolation", "expand", "fill")

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: Any = InterpolationMode.NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: Any = 0,
    ):
        super().__init__()
        self.degrees: tuple[float, float] = _angles("RandomRotation", degrees)
        self.interpolation: InterpolationMode = InterpolationMode.of(
            "RandomRotation", interpolation
        )
        self.expand = expand
        self.center = center
        self.fill = fill

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """Draw an angle."""
        return number_between(*degrees)

    def forward(self, img: Any) -> Any:
        """Return what becomes of one image."""
        angle = self.get_params(self.degrees)
        return functional.rotate(
            img, angle, self.interpolation, self.expand, self.center, self.fill
        )  # fmt: skip


class RandomAffine(Transform):
    """Turn, move, scale and shear an image at random; see ``functional.affine``.

    Args:
        degrees: The greatest angle both ways, or the least and greatest.
        translate: Greatest parts of width and height by which it moves, from 0 to 1.
        scale: Least and greatest scale.
        shear: The greatest angle both ways along the columns; or two or four bounds.
        interpolation, fill, center: As ``functional.affine`` takes them.

    Example:
        >>> from ebb.vision import transforms
        >>> transforms.RandomAffine(degrees=10, translate=(0.1, 0.1))(ebb.ones(3, 4, 4)).shape
        ebb.Size([3, 4, 4])
    """

    _shown = ("degrees", "translate", "scale", "shear")

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: Any = None,
        interpolation: Any = InterpolationMode.NEAREST,
        fill: Any = 0,
        center: Sequence[float] | None = None,
    ):
        super().__init__()
        self.degrees: tuple[float, float] = _angles("RandomAffine", degrees)
        self.translate = translate
        self.scale = scale
        bounds = [-shear, shear] if isinstance(shear, (int, float)) else list(shear or ())
        self.shear: list[float] = [*bounds, 0.0, 0.0, 0.0, 0.0][:4]
        self.interpolation: InterpolationMode = InterpolationMode.of("RandomAffine", interpolation)
        self.fill = fill
        self.center = center

    def forward(self, img: Any) -> Any:
        """Return what becomes of one image."""
        angle = number_between(*self.degrees)
        rows, columns = sizes(img)
        move = [0, 0]
        if self.translate is not None:
            most = (self.translate[0] * columns, self.translate[1] * rows)
            move = [round(number_between(-one, one)) for one in most]
        scale = 1.0 if self.scale is None else number_between(*self.scale)
        tilt = [number_between(*self.shear[:2]), number_between(*self.shear[2:])]
        return functional.affine(
            img, angle, move, scale, tilt, self.interpolation, self.fill, self.center
        )  # fmt: skip
