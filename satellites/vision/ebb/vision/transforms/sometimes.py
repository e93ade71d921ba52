# satellites/vision/ebb/vision/transforms/sometimes.py -- transforms that happen or not, or one of
# several.
#
# Numbers come from ebb's generator, so ebb.manual_seed() repeats them. Start reading at Sometimes.
"""Classes of transforms with a probability; and the draws that others make too."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ebb import _C
from ebb._base.arguments import check_callable
from ebb._C import Tensor
from ebb.vision.transforms import functional
from ebb.vision.transforms._images import check_range
from ebb.vision.transforms.fixed import Compose, Transform

__all__ = [
    "RandomAdjustSharpness",
    "RandomApply",
    "RandomAutocontrast",
    "RandomChoice",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomOrder",
    "RandomPosterize",
    "RandomSolarize",
    "RandomVerticalFlip",
]


def drawn_number(most: int) -> int:
    """Return a whole number from 0 to ``most``."""
    return int(_C.rand((), dtype=_C.float64).item() * (most + 1))


def number_between(low: float, high: float) -> float:
    """Return a number from ``low`` to ``high``."""
    return low + (high - low) * float(_C.rand((), dtype=_C.float64).item())


def _happens(p: float) -> bool:
    return float(_C.rand(()).item()) < p


def _check_p(name: str, p: float) -> None:
    if not 0 <= p <= 1:
        raise _C.ValueError(f"{name}: needs a 'p' from 0 to 1, got {p}")


class RandomApply(Transform):
    """Do several transforms with a probability, or none of them.

    Args:
        transforms: What is done.
        p: How likely.

    Example:
        >>> from ebb.vision import transforms
        >>> change = transforms.RandomApply([transforms.Grayscale()], p=1.0)
        >>> change(ebb.ones(3, 2, 2)).shape
        ebb.Size([1, 2, 2])
    """

    _shown = ("transforms", "p")

    def __init__(self, transforms: Sequence[Callable[[Any], Any]], p: float = 0.5):
        super().__init__()
        self.transforms = transforms
        self.change: Compose = Compose(transforms)
        self.p = p

    def forward(self, img: Any) -> Any:
        """Return what becomes of one image."""
        return self.change(img) if _happens(self.p) else img


class RandomChoice(Transform):
    """Do one of several transforms.

    Args:
        transforms: From which one is drawn.
        p: How often each, in proportion; equally if None.

    Example:
        >>> from ebb.vision import transforms
        >>> change = transforms.RandomChoice([transforms.CenterCrop(2), transforms.CenterCrop(2)])
        >>> change(ebb.ones(3, 4, 4)).shape
        ebb.Size([3, 2, 2])
    """

    _shown = ("transforms", "p")

    def __init__(
        self, transforms: Sequence[Callable[[Any], Any]], p: Sequence[float] | None = None
    ):
        super().__init__()
        check_callable(*transforms)
        if p is not None and len(p) != len(transforms):
            raise _C.ValueError(
                f"RandomChoice: needs a 'p' per transform, got {len(p)} of {len(transforms)}"
            )
        self.transforms = transforms
        self.p = p

    def forward(self, img: Any) -> Any:
        """Return what becomes of one image."""
        weights = _C.tensor(list(self.p or [1.0] * len(self.transforms)), dtype=_C.float64)
        return self.transforms[int(_C.multinomial(weights, 1).item())](img)


class RandomOrder(Transform):
    """Do several transforms in a random order.

    Example:
        >>> from ebb.vision import transforms
        >>> change = transforms.RandomOrder([transforms.CenterCrop(2), transforms.Grayscale()])
        >>> change(ebb.ones(3, 4, 4)).shape
        ebb.Size([1, 2, 2])
    """

    _shown = ("transforms",)

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]):
        super().__init__()
        check_callable(*transforms)
        self.transforms = transforms

    def forward(self, img: Any) -> Any:
        """Return what becomes of one image."""
        for place in _C.randperm(len(self.transforms)).tolist():
            img = self.transforms[place](img)
        return img


class Sometimes(Transform):
    """Base: does ``change`` with probability ``p``."""

    _shown = ("p",)

    def __init__(self, p: float = 0.5):
        super().__init__()
        _check_p(type(self).__name__, p)
        self.p = p

    def forward(self, img: Any) -> Any:
        """Return what becomes of one image."""
        return self.change(img) if _happens(self.p) else img

    def change(self, img: Any) -> Any:
        """Return a changed image."""
        raise NotImplementedError


class RandomHorizontalFlip(Sometimes):
    """Exchange left and right with probability ``p``.

    Example:
        >>> from ebb.vision import transforms
        >>> transforms.RandomHorizontalFlip(p=1.0)(ebb.tensor([[[1.0, 2.0]]]))
        tensor([[[2., 1.]]])
    """

    def change(self, img: Any) -> Any:
        """Return the mirror image."""
        return functional.hflip(img)


class RandomVerticalFlip(Sometimes):
    """Exchange top and bottom with probability ``p``.

    Example:
        >>> from ebb.vision import transforms
        >>> transforms.RandomVerticalFlip(p=1.0)(ebb.tensor([[[1.0], [2.0]]])).flatten()
        tensor([2., 1.])
    """

    def change(self, img: Any) -> Any:
        """Return the image upside down."""
        return functional.vflip(img)


class RandomGrayscale(Sometimes):
    """Make an image grey with probability ``p``; it keeps its channels.

    Example:
        >>> from ebb.vision import transforms
        >>> transforms.RandomGrayscale(p=1.0)(ebb.ones(3, 2, 2)).shape
        ebb.Size([3, 2, 2])
    """

    def __init__(self, p: float = 0.1):
        super().__init__(p)

    def change(self, img: Any) -> Any:
        """Return it in grey."""
        count = functional.get_image_num_channels(img)
        return functional.rgb_to_grayscale(img, 3 if count == 3 else 1)


class RandomInvert(Sometimes):
    """Make the negative with probability ``p``.

    Example:
        >>> from ebb.vision import transforms
        >>> transforms.RandomInvert(p=1.0)(ebb.tensor([[[0.25, 1.0]]]))
        tensor([[[0.7500, 0.0000]]])
    """

    def change(self, img: Any) -> Any:
        """Return the negative."""
        return functional.invert(img)


class RandomPosterize(Sometimes):
    """Keep the upper ``bits`` of each byte with probability ``p``.

    Example:
        >>> from ebb.vision import transforms
        >>> image = ebb.tensor([[[15, 200]]], dtype=ebb.uint8)
        >>> transforms.RandomPosterize(bits=1, p=1.0)(image).tolist()
        [[[0, 128]]]
    """

    def __init__(self, bits: int, p: float = 0.5):
        super().__init__(p)
        self.bits = bits

    def change(self, img: Any) -> Any:
        """Return it in fewer levels."""
        return functional.posterize(img, self.bits)


class RandomSolarize(Sometimes):
    """Invert the values from ``threshold`` on with probability ``p``.

    Example:
        >>> from ebb.vision import transforms
        >>> transforms.RandomSolarize(threshold=0.5, p=1.0)(ebb.tensor([[[0.25, 0.75]]]))
        tensor([[[0.2500, 0.2500]]])
    """

    def __init__(self, threshold: float, p: float = 0.5):
        super().__init__(p)
        self.threshold = threshold

    def change(self, img: Any) -> Any:
        """Return it solarized."""
        return functional.solarize(img, self.threshold)


class RandomAdjustSharpness(Sometimes):
    """Sharpen by ``sharpness_factor`` with probability ``p``.

    Example:
        >>> from ebb.vision import transforms
        >>> transforms.RandomAdjustSharpness(2.0, p=1.0)(ebb.rand(3, 4, 4)).shape
        ebb.Size([3, 4, 4])
    """

    def __init__(self, sharpness_factor: float, p: float = 0.5):
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def change(self, img: Any) -> Any:
        """Return it sharper."""
        return functional.adjust_sharpness(img, self.sharpness_factor)


class RandomAutocontrast(Sometimes):
    """Stretch the values to the whole range with probability ``p``.

    Example:
        >>> from ebb.vision import transforms
        >>> transforms.RandomAutocontrast(p=1.0)(ebb.tensor([[[0.25, 0.75]]]))
        tensor([[[0., 1.]]])
    """

    def change(self, img: Any) -> Any:
        """Return it stretched."""
        return functional.autocontrast(img)


class RandomEqualize(Sometimes):
    """Make the values equally frequent with probability ``p``.

    Example:
        >>> from ebb.vision import transforms
        >>> image = ebb.arange(4, dtype=ebb.uint8).reshape(1, 2, 2)
        >>> transforms.RandomEqualize(p=1.0)(image).tolist()
        [[[0, 1], [2, 3]]]
    """

    def change(self, img: Any) -> Any:
        """Return it equalized."""
        return functional.equalize(img)


class RandomErasing(Sometimes):
    """Write over a random part of a tensor with probability ``p``.

    Args:
        p: How likely.
        scale: Least and greatest part of the image's area.
        ratio: Least and greatest height over width.
        value: What is written: a number, one per channel, or "random" for noise.
        inplace: Write into the tensor.

    Example:
        >>> from ebb.vision import transforms
        >>> image = transforms.RandomErasing(p=1.0)(ebb.ones(1, 8, 8))
        >>> bool((image == 0).any())
        True
    """

    _shown = ("p", "scale", "ratio", "value")

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
    ):
        super().__init__(p)
        check_range("RandomErasing", "scale", *scale)
        check_range("RandomErasing", "ratio", *ratio)
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    def change(self, img: Tensor) -> Tensor:
        """Return it with a part written over; unchanged if ten parts do not fit."""
        channels, rows, columns = functional.get_dimensions(img)
        for _ in range(10):
            area = rows * columns * number_between(*self.scale)
            shape = math.exp(number_between(math.log(self.ratio[0]), math.log(self.ratio[1])))
            height, width = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if 0 < height < rows and 0 < width < columns:
                top, left = drawn_number(rows - height), drawn_number(columns - width)
                if self.value == "random":
                    value = _C.randn(channels, height, width)
                else:
                    value = _C.as_tensor(self.value).reshape(-1, 1, 1)
                return functional.erase(img, top, left, height, width, value, self.inplace)
        return img
