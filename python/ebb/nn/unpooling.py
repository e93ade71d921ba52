# python/ebb/nn/unpooling.py -- the layers MaxUnpool1d to 3d, FractionalMaxPool2d and 3d.
"""The arithmetic is in ``ebb.nn.functional``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ebb._C import Tensor
from ebb.nn import functional as F
from ebb.nn._options import Options, integers

__all__ = [
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]

Ints = int | Sequence[int]
Ratios = float | Sequence[float]


class _MaxUnpoolNd(Options):
    """Puts maxima back where a pool of the same options found them, zeros elsewhere."""

    _dims = 1
    _shown = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0):
        super().__init__()
        self.kernel_size: Any = integers(self, "kernel_size", kernel_size)
        self.stride: Any = self.kernel_size if stride is None else integers(self, "stride", stride)
        self.padding: Any = integers(self, "padding", padding)

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        """Return the larger tensor, of ``output_size`` if it is given."""
        unpool = getattr(F, f"max_unpool{self._dims}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts the maxima of MaxPool1d back where they were, zeros elsewhere.

    Example:
        >>> from ebb import nn
        >>> pool = nn.MaxPool1d(2, return_indices=True)
        >>> values, places = pool(ebb.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
        >>> ebb.nn.MaxUnpool1d(2)(values, places)
        tensor([[[0., 3., 2., 0.]]])
    """


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts the maxima of MaxPool2d back where they were, zeros elsewhere.

    Example:
        >>> values, places = ebb.nn.MaxPool2d(2, return_indices=True)(ebb.rand(1, 1, 4, 4))
        >>> ebb.nn.MaxUnpool2d(2)(values, places).shape
        ebb.Size([1, 1, 4, 4])
    """

    _dims = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts the maxima of MaxPool3d back where they were, zeros elsewhere.

    Example:
        >>> values, places = ebb.nn.MaxPool3d(2, return_indices=True)(ebb.rand(1, 1, 4, 4, 4))
        >>> ebb.nn.MaxUnpool3d(2)(values, places).shape
        ebb.Size([1, 1, 4, 4, 4])
    """

    _dims = 3


class _FractionalMaxPool(Options):
    """The largest elements of windows at random.

    Args:
        kernel_size: Size of the windows.
        output_size: How many windows there are.
        output_ratio: Or how many, as a part of the input's size.
        return_indices: Whether their places are returned as well.
    """

    _dims = 2
    _shown = ("kernel_size", "output_size?", "output_ratio?")

    def __init__(
        self,
        kernel_size: Ints,
        output_size: Ints | None = None,
        output_ratio: Ratios | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ):
        super().__init__()
        self.kernel_size: Any = integers(self, "kernel_size", kernel_size)
        self.output_size = output_size
        self.output_ratio = output_ratio
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Return one value for each window."""
        pool = getattr(F, f"fractional_max_pool{self._dims}d")
        return pool(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """The largest elements of windows at random over the last two dims.

    Example:
        >>> layer = ebb.nn.FractionalMaxPool2d(2, output_size=2)
        >>> layer(ebb.ones(1, 3, 5, 5)).shape
        ebb.Size([1, 3, 2, 2])
    """


class FractionalMaxPool3d(_FractionalMaxPool):
    """The largest elements of windows at random over the last three dims.

    Example:
        >>> layer = ebb.nn.FractionalMaxPool3d(2, output_size=2)
        >>> layer(ebb.ones(1, 3, 5, 5, 5)).shape
        ebb.Size([1, 3, 2, 2, 2])
    """

    _dims = 3
