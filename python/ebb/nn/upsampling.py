# python/ebb/nn/upsampling.py -- Upsample under the names that say its mode.
"""Layers that show images in another size."""

from __future__ import annotations

from collections.abc import Sequence

from ebb._C import Tensor
from ebb.nn import functional as F
from ebb.nn._options import Options

__all__ = ["UpsamplingBilinear2d", "UpsamplingNearest2d"]


class _Upsampling(Options):
    """Images in another size.

    Args:
        size: The new sizes.
        scale_factor: Or what the sizes are multiplied with.
    """

    _shown = ("size?", "scale_factor?", "mode")
    mode: str
    align_corners: bool | None = None

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
    ):
        super().__init__()
        self.size = size
        self.scale_factor = scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Return the larger or smaller images."""
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners)


class UpsamplingNearest2d(_Upsampling):
    """Images in another size, each element repeated.

    Args:
        size: The new sizes.
        scale_factor: Or what the sizes are multiplied with.

    Example:
        >>> layer = ebb.nn.UpsamplingNearest2d(scale_factor=2)
        >>> layer(ebb.ones(1, 3, 2, 2)).shape
        ebb.Size([1, 3, 4, 4])
    """

    mode = "nearest"


class UpsamplingBilinear2d(_Upsampling):
    """Images in another size, linear between their elements; the corners stay.

    Args:
        size: The new sizes.
        scale_factor: Or what the sizes are multiplied with.

    Example:
        >>> layer = ebb.nn.UpsamplingBilinear2d(scale_factor=2)
        >>> layer(ebb.ones(1, 3, 2, 2)).shape
        ebb.Size([1, 3, 4, 4])
    """

    mode = "bilinear"
    align_corners: bool | None = True
