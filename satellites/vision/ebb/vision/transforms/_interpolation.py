# satellites/vision/ebb/vision/transforms/_interpolation.py -- how values between pixels are found,
# by name.
"""``InterpolationMode``, with Pillow's numbers and the names of ``interpolate``."""

from __future__ import annotations

import enum
from typing import Any

from ebb import _C

__all__ = ["InterpolationMode"]


class InterpolationMode(enum.Enum):
    """How values between pixels are found; BOX, HAMMING and LANCZOS need images of Pillow.

    Example:
        >>> from ebb.vision.transforms import functional
        >>> mode = functional.InterpolationMode.NEAREST
        >>> functional.resize(ebb.tensor([[[1.0, 2.0]]]), [1, 4], mode)
        tensor([[[1., 1., 2., 2.]]])
    """

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"

    @property
    def number(self) -> int:
        """Pillow's number for it."""
        return _NUMBERS[self]

    def for_tensors(self, name: str) -> str:
        """Return the mode of ``interpolate``.

        Raises:
            ValueError: If only Pillow has it.
        """
        if self in _PILLOWS:
            raise _C.ValueError(f"{name}: needs an image of Pillow for {self.value!r}, got another")
        return self.value

    @classmethod
    def of(cls, name: str, value: Any) -> InterpolationMode:
        """Return the mode that a value means.

        Raises:
            ValueError: If it is neither a mode nor one of Pillow's numbers.
        """
        if isinstance(value, cls):
            return value
        found = next((one for one, number in _NUMBERS.items() if number == value), None)
        if found is None:
            raise _C.ValueError(f"{name}: needs an InterpolationMode, got {value!r}")
        return found


_NUMBERS = {
    InterpolationMode.NEAREST: 0,
    InterpolationMode.LANCZOS: 1,
    InterpolationMode.BILINEAR: 2,
    InterpolationMode.BICUBIC: 3,
    InterpolationMode.BOX: 4,
    InterpolationMode.HAMMING: 5,
    InterpolationMode.NEAREST_EXACT: 0,
}
_PILLOWS = (InterpolationMode.BOX, InterpolationMode.HAMMING, InterpolationMode.LANCZOS)
