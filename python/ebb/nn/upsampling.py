# python/ebb/nn/upsampling.py -- Upsample under the names that say its mode.
"""Layers that show images in another size."""

from __future__ import annotations

from collections.abc import Sequence

from ebb.nn.folding import Upsample

__all__ = ["UpsamplingBilinear2d", "UpsamplingNearest2d"]


class _Upsampling(Upsample):
    _kind = "nearest"
    _corners: bool | None = None

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
    ):
        super().__init__(size, scale_factor, self._kind, self._corners)


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

    _kind = "bilinear"
    _corners = True
