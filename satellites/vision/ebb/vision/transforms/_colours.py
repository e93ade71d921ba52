# satellites/vision/ebb/vision/transforms/_colours.py -- transforms that change the values of
# pixels.
#
# Images of Pillow are changed by Pillow, as torchvision does, so that the bytes are the same; other
# images as tensors, each as a mixture of the image with a simpler one. Start reading at _mixed().
"""Brightness, contrast, saturation, hue, sharpness, blur and what counts grey levels."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ebb import _C
from ebb._C import Tensor
from ebb.nn import functional as nn_functional
from ebb.vision.transforms import _images
from ebb.vision.transforms._images import channels, top_value, with_planes

_GREY = (0.2989, 0.587, 0.114)  # how bright red, green and blue are


def _checked(name: str, image: Any, factor: float = 0.0) -> None:
    _images.check_image(name, image)
    if factor < 0 or not math.isfinite(factor):
        raise _C.ValueError(f"{name}: needs a factor of at least 0, got {factor}")


def _pillows(module: str) -> Any:
    return importlib.import_module(f"PIL.{module}")


def _by_pillow(name: str, image: Any, change: Callable[[], Any]) -> Any:
    """Return what Pillow makes of an image; some of it knows a few modes only."""
    try:
        return change()
    except (ValueError, OSError, NotImplementedError) as error:
        raise _C.ValueError(
            f"{name}: needs an image in a mode that Pillow changes, such as L or RGB, "
            f"got mode {image.mode}: {error}\nhint: image.convert('RGB')"
        ) from None


def _grey(planes: Tensor) -> Tensor:
    """Return [..., 1, H, W], in the dtype that came."""
    if planes.ndim < 3 or planes.shape[-3] == 1:
        return planes
    if planes.shape[-3] != 3:
        raise _C.ShapeError(f"grayscale: needs 1 or 3 channels, got {planes.shape[-3]}")
    red, green, blue = planes.unbind(-3)
    mixed = red * _GREY[0] + green * _GREY[1] + blue * _GREY[2]
    return mixed.to(planes.dtype).unsqueeze(-3)


def _mixed(planes: Tensor, other: Tensor, factor: float) -> Tensor:
    """Return ``factor`` parts of an image and the rest of another, within the dtype's range."""
    made = planes * float(factor) + other * (1.0 - factor)
    return made.clamp(0, top_value(planes.dtype)).to(planes.dtype)


def _enhanced(
    name: str, image: Any, factor: float, pillows: str, other: Callable[[Tensor], Tensor]
) -> Any:
    _checked(name, image, factor)
    if _images.is_pillow(image):
        enhance = getattr(_pillows("ImageEnhance"), pillows)
        return _by_pillow(name, image, lambda: enhance(image).enhance(factor))
    return with_planes(image, lambda planes: _mixed(planes, other(planes), factor))


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """Return an image with its values times a factor: 0 is black, 1 leaves it.

    Raises:
        ValueError: If the factor is negative.

    >>> from ebb.vision.transforms import functional
    >>> functional.adjust_brightness(ebb.tensor([[[0.25, 0.75]]]), 2.0)
    tensor([[[0.5000, 1.0000]]])
    """
    return _enhanced(
        "adjust_brightness", img, brightness_factor, "Brightness", lambda planes: planes * 0
    )


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """Return an image further from its mean grey: 0 is grey, 1 leaves it.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> functional.adjust_contrast(ebb.tensor([[[0.25, 0.75]]]), 0.5)
        tensor([[[0.3750, 0.6250]]])
    """

    def mean(planes: Tensor) -> Tensor:
        grey = _grey(planes)
        grey = grey if grey.is_floating_point() else grey.float()
        return grey.mean([-3, -2, -1] if grey.ndim > 2 else [-2, -1], keepdim=True)

    return _enhanced("adjust_contrast", img, contrast_factor, "Contrast", mean)


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """Return an image with stronger colours: 0 is grey, 1 leaves it.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> red = ebb.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1)
        >>> functional.adjust_saturation(red, 0.0).flatten()
        tensor([0.2989, 0.2989, 0.2989])
    """
    return _enhanced("adjust_saturation", img, saturation_factor, "Color", _grey)


def adjust_sharpness(img: Any, sharpness_factor: float) -> Any:
    """Return an image with sharper edges: 0 is blurred, 1 leaves it.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> functional.adjust_sharpness(ebb.tensor([[[0.25, 0.75]]]), 1.0)
        tensor([[[0.2500, 0.7500]]])
    """
    return _enhanced("adjust_sharpness", img, sharpness_factor, "Sharpness", _blurred)


def _blurred(planes: Tensor) -> Tensor:
    """Return the mean of each pixel, five times, and its neighbours; the edge stays."""
    if min(planes.shape[-2:]) <= 2:
        return planes
    weights = _C.ones(3, 3)
    weights[1, 1] = 5.0
    inner = _images.computed(planes, lambda image: _convolved(image, weights / 13))
    made = planes.clone()
    made[..., 1:-1, 1:-1] = inner
    return made


def _convolved(planes: Tensor, weights: Tensor) -> Tensor:
    batch = planes.reshape(-1, 1, *planes.shape[-2:])
    made = nn_functional.conv2d(batch, weights[None, None].to(batch.dtype))
    return made.reshape(*planes.shape[:-2], *made.shape[-2:])


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Return an image with its colours turned around the circle of hues.

    Args:
        img: The image; one without three channels is returned.
        hue_factor: Part of the circle, from -0.5 to 0.5.
    Raises:
        ValueError: If the part is not in there.
    Example:
        >>> from ebb.vision.transforms import functional
        >>> red = ebb.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1)
        >>> functional.adjust_hue(red, 0.5).flatten()
        tensor([0., 1., 1.])
    """
    _images.check_image("adjust_hue", img)
    if not -0.5 <= hue_factor <= 0.5:
        raise _C.ValueError(f"adjust_hue: needs a 'hue_factor' in -0.5 to 0.5, got {hue_factor}")
    if channels(img) != 3:
        return img
    if _images.is_pillow(img):
        image = _pillows("Image")
        hue, *rest = img.convert("HSV").split()
        turned = np.asarray(hue) + np.uint8(int(hue_factor * 255) % 256)
        bands = (image.fromarray(turned), *rest)
        return image.merge("HSV", bands).convert(img.mode)

    def change(planes: Tensor) -> Tensor:
        top = top_value(planes.dtype)
        part = planes if planes.is_floating_point() else planes.float() / top
        hue, saturation, value = _hue_of(part)
        made = _from_hue((hue + hue_factor) % 1.0, saturation, value)
        return made if planes.is_floating_point() else (made * (top + 1 - 1e-3)).to(planes.dtype)

    return with_planes(img, change)


def _hue_of(planes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return hue, saturation and value, each from 0 to 1."""
    red, green, blue = planes.unbind(-3)
    most, least = planes.amax(-3), planes.amin(-3)
    spread = most - least
    safe = _C.where(spread == 0, 1.0, spread)
    hue = _C.where(
        most == red,
        (green - blue) / safe,
        _C.where(most == green, 2.0 + (blue - red) / safe, 4.0 + (red - green) / safe),
    )
    hue = _C.where(spread == 0, 0.0, hue)
    return (hue / 6.0 + 1.0) % 1.0, spread / _C.where(most == 0, 1.0, most), most


def _from_hue(hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    """Return red, green and blue: each falls off with its distance on the circle of hues."""
    parts = []
    for start in (5.0, 3.0, 1.0):
        place = (start + hue * 6.0) % 6.0
        away = _C.minimum(place, 4.0 - place).clamp(0.0, 1.0)
        parts.append(value - value * saturation * away)
    return _C.stack(parts, -3)


def adjust_gamma(img: Any, gamma: float, gain: float = 1) -> Any:
    """Return an image whose values are ``gain * value ** gamma``, full brightness being 1.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> functional.adjust_gamma(ebb.tensor([[[0.5, 1.0]]]), 2.0)
        tensor([[[0.2500, 1.0000]]])
    """
    _checked("adjust_gamma", img, gamma)
    if _images.is_pillow(img):
        table = [int((255 + 1 - 1e-3) * gain * (value / 255.0) ** gamma) for value in range(256)]
        mode = img.mode
        return img.convert("RGB").point([min(value, 255) for value in table] * 3).convert(mode)

    def change(planes: Tensor) -> Tensor:
        top = top_value(planes.dtype)
        part = planes if planes.is_floating_point() else planes.float() / top
        made = (gain * part**gamma).clamp(0, 1)
        return made if planes.is_floating_point() else (made * (top + 1 - 1e-3)).to(planes.dtype)

    return with_planes(img, change)


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Return an image in grey, of one channel or of three alike.

    Raises:
        ValueError: If other channels are asked for.
        ShapeError: If there are other than one or three.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> functional.rgb_to_grayscale(ebb.ones(3, 2, 2)).shape
        ebb.Size([1, 2, 2])
    """
    return _in_grey("rgb_to_grayscale", img, num_output_channels)


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Return an image in grey; ``rgb_to_grayscale``'s older name.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> functional.to_grayscale(ebb.ones(3, 2, 2)).shape
        ebb.Size([1, 2, 2])
    """
    return _in_grey("to_grayscale", img, num_output_channels)


def _in_grey(call: str, img: Any, num_output_channels: int) -> Any:
    _images.check_image(call, img)
    if num_output_channels not in (1, 3):
        raise _C.ValueError(
            f"{call}: needs 'num_output_channels' of 1 or 3, got {num_output_channels}"
        )
    if _images.is_pillow(img):
        grey = img.convert("L")
        return grey if num_output_channels == 1 else _pillows("Image").merge("RGB", [grey] * 3)

    def change(planes: Tensor) -> Tensor:
        grey = _grey(planes)
        return grey if num_output_channels == 1 else _C.cat([grey] * 3, -3)

    return with_planes(img, change)


def invert(img: Any) -> Any:
    """Return the negative of an image.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> functional.invert(ebb.tensor([[[0.25, 1.0]]]))
        tensor([[[0.7500, 0.0000]]])
    """
    _images.check_image("invert", img)
    _images.check_no_palette("invert", img)
    return with_planes(img, _inverted)


def _inverted(planes: Tensor) -> Tensor:
    return ~planes if planes.dtype is _C.bool else top_value(planes.dtype) - planes


def posterize(img: Any, bits: int) -> Any:
    """Return an image of bytes with only the upper bits of each value.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> image = ebb.tensor([[[15, 200]]], dtype=ebb.uint8)
        >>> functional.posterize(image, 1).tolist()
        [[[0, 128]]]
    """
    _images.check_image("posterize", img)
    if not 0 <= bits <= 8:
        raise _C.ValueError(f"posterize: needs 'bits' from 0 to 8, got {bits}")
    _images.check_no_palette("posterize", img)

    def change(planes: Tensor) -> Tensor:
        if planes.dtype.is_floating_point or planes.dtype is _C.bool:
            raise _C.DTypeError(f"posterize: needs bytes, got {planes.dtype.name}")
        return planes & (256 - (1 << (8 - bits)))

    return with_planes(img, change)


def solarize(img: Any, threshold: float) -> Any:
    """Return an image with the values from a threshold on inverted.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> functional.solarize(ebb.tensor([[[0.25, 0.75]]]), 0.5)
        tensor([[[0.2500, 0.2500]]])
    """
    _images.check_image("solarize", img)
    _images.check_no_palette("solarize", img)

    def change(planes: Tensor) -> Tensor:
        return _C.where(planes >= threshold, _inverted(planes), planes)

    return with_planes(img, change)


def autocontrast(img: Any) -> Any:
    """Return an image whose channels reach from darkness to full brightness.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> functional.autocontrast(ebb.tensor([[[0.25, 0.75]]]))
        tensor([[[0., 1.]]])
    """
    _images.check_image("autocontrast", img)
    if _images.is_pillow(img):
        return _by_pillow("autocontrast", img, lambda: _pillows("ImageOps").autocontrast(img))

    def change(planes: Tensor) -> Tensor:
        top = top_value(planes.dtype)
        part = planes if planes.is_floating_point() else planes.float()
        low, high = part.amin([-2, -1], keepdim=True), part.amax([-2, -1], keepdim=True)
        flat = low == high
        made = _C.where(flat, part, (part - low) * top / _C.where(flat, 1.0, high - low))
        return made.clamp(0, top).to(planes.dtype)

    return with_planes(img, change)


def equalize(img: Any) -> Any:
    """Return an image of bytes whose values are equally frequent, as nearly as may be.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> image = ebb.arange(4, dtype=ebb.uint8).reshape(1, 2, 2)
        >>> functional.equalize(image).tolist()
        [[[0, 1], [2, 3]]]
    """
    _images.check_image("equalize", img)
    if _images.is_pillow(img):
        return _by_pillow("equalize", img, lambda: _pillows("ImageOps").equalize(img))

    def change(planes: Tensor) -> Tensor:
        if planes.dtype is not _C.uint8:
            raise _C.DTypeError(f"equalize: needs bytes, got {planes.dtype.name}")
        parts = [_equalized(one) for one in planes.reshape(-1, *planes.shape[-2:])]
        return _C.stack(parts).reshape(planes.shape)

    return with_planes(img, change)


def _equalized(plane: Tensor) -> Tensor:
    counts = _C.bincount(plane.flatten().long(), minlength=256)
    used = counts[counts != 0]
    step = int((used[:-1].sum() // 255).item()) if len(used) > 1 else 0
    if step == 0:
        return plane
    table = (counts.cumsum(0) - counts + step // 2) // step
    return table.clamp(0, 255).to(_C.uint8)[plane.long()]


def gaussian_blur(
    img: Any, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
) -> Any:
    """Return an image in which each pixel is a mean of its neighbours, weighted by a bell curve.

    Args:
        img: The image.
        kernel_size: Columns and rows of the neighbourhood, odd.
        sigma: The curve's widths across and down; ``0.15 * kernel_size + 0.35`` if None.
    Raises:
        ValueError: If a size is even or a width not positive.
    Example:
        >>> from ebb.vision.transforms import functional
        >>> image = ebb.zeros(1, 3, 3)
        >>> image[0, 1, 1] = 1.0
        >>> round(functional.gaussian_blur(image, 3, sigma=1.0)[0, 1, 1].item(), 4)
        0.2042
    """
    _images.check_image("gaussian_blur", img)
    _images.check_no_palette("gaussian_blur", img)
    kernel = _images.pair(kernel_size)
    if any(size < 1 or size % 2 == 0 for size in kernel):
        raise _C.ValueError(f"gaussian_blur: needs an odd 'kernel_size', got {list(kernel)}")
    if sigma is None:
        widths = [0.15 * size + 0.35 for size in kernel]
    else:
        widths = [sigma, sigma] if isinstance(sigma, (int, float)) else [*sigma, *sigma][:2]
    if any(width <= 0 for width in widths):
        raise _C.ValueError(f"gaussian_blur: needs a 'sigma' above 0, got {widths}")
    across, down = (_bell(*both) for both in zip(kernel, widths, strict=True))

    def change(planes: Tensor) -> Tensor:
        batch = planes.reshape(-1, 1, *planes.shape[-2:])
        sides = [kernel[0] // 2, kernel[0] // 2, kernel[1] // 2, kernel[1] // 2]
        wide = nn_functional.pad(batch, sides, mode="reflect")
        return _convolved(wide, down[:, None] * across[None]).reshape(planes.shape)

    return with_planes(img, lambda planes: _images.computed(planes, change))


def _bell(size: int, width: float) -> Tensor:
    places = _C.linspace(-(size - 1) / 2, (size - 1) / 2, size)
    heights = _C.exp(-0.5 * (places / width) ** 2)
    return heights / heights.sum()
