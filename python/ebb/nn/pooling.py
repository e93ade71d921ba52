# python/ebb/nn/pooling.py -- layers that keep one value per window.
"""Pools without parameters; the arithmetic is in the ops."""

from __future__ import annotations

from collections.abc import Sequence

from ebb._C import Tensor
from ebb.nn import functional
from ebb.nn.module import Module

Ints = int | Sequence[int]


class _MaxPool(Module):
    """The largest element of each window.

    Args:
        kernel_size: Size of the window, one number or one per dim.
        stride: Steps of the window; the kernel_size if None.
        padding: Elements around the input that never win; at most half of the window.
        dilation: Distance between the elements of a window.
        return_indices: Whether the places of the maxima, flattened, are returned as well.
        ceil_mode: Whether a window that the input fills in part counts at the far end.
    """

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        dilation: Ints = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Return the maxima, with their places if asked for."""
        return self._function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
        )

    def extra_repr(self) -> str:
        """Return the options."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest element of each window of the last dim."""

    __doc__ += _MaxPool.__doc__.partition("\n")[2]
    _function = staticmethod(functional.max_pool1d)


class MaxPool2d(_MaxPool):
    """The largest element of each window of the last two dims."""

    __doc__ += _MaxPool.__doc__.partition("\n")[2]
    _function = staticmethod(functional.max_pool2d)


class _AvgPool(Module):
    """Shared by the pools of means."""

    def extra_repr(self) -> str:
        """Return the options."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPool):
    """Means over windows of the last dim.

    Args:
        kernel_size: Size of the window.
        stride: Steps of the window; the kernel_size if None.
        padding: Zeros around the input; at most half of the window.
        ceil_mode: Whether a window that the input fills in part counts at the far end.
        count_include_pad: Whether the mean counts the padding.
    """

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """Return the means."""
        return functional.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )


class AvgPool2d(_AvgPool):
    """Means over windows of the last two dims.

    Args:
        kernel_size: Size of the window, one number or one per dim.
        stride: Steps of the window; the kernel_size if None.
        padding: Zeros around the input; at most half of the window.
        ceil_mode: Whether a window that the input fills in part counts at the far end.
        count_include_pad: Whether the mean counts the padding.
        divisor_override: What sums are divided by instead of the number of elements.
    """

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """Return the means."""
        return functional.avg_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class _AdaptivePool(Module):
    """Windows that cut the input into a given number of parts.

    Args:
        output_size: Number of parts, or one per dim; None keeps a dim's size.
    """

    def __init__(self, output_size: int | Sequence[int | None] | None):
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """Return one value for each part."""
        return self._function(input, self.output_size)

    def extra_repr(self) -> str:
        """Return the size."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptivePool):
    """Means over parts of the last dim."""

    __doc__ += _AdaptivePool.__doc__.partition("\n")[2]
    _function = staticmethod(functional.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptivePool):
    """Means over parts of the last two dims."""

    __doc__ += _AdaptivePool.__doc__.partition("\n")[2]
    _function = staticmethod(functional.adaptive_avg_pool2d)


class _AdaptiveMaxPool(_AdaptivePool):
    """Windows that cut the input into a given number of parts.

    Args:
        output_size: Number of parts, or one per dim; None keeps a dim's size.
        return_indices: Whether the places of the maxima, flattened, are returned as well.
    """

    def __init__(
        self, output_size: int | Sequence[int | None] | None, return_indices: bool = False
    ):
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Return the maxima, with their places if asked for."""
        return self._function(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The largest element of each of the parts of the last dim."""

    __doc__ += _AdaptiveMaxPool.__doc__.partition("\n")[2]
    _function = staticmethod(functional.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The largest element of each of the parts of the last two dims."""

    __doc__ += _AdaptiveMaxPool.__doc__.partition("\n")[2]
    _function = staticmethod(functional.adaptive_max_pool2d)
