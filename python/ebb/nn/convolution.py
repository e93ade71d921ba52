# python/ebb/nn/convolution.py -- convolutions and transposed convolutions of one to three dims.
"""Each holds weight, bias and options; the arithmetic is in the ops.

Weights are drawn as in PyTorch: uniformly from ``+-1/sqrt(fan_in)``, and biases likewise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ebb import _C
from ebb._C import Tensor
from ebb.nn import functional, init
from ebb.nn.functional.conv import check_text_padding, padding_pairs
from ebb.nn.module import Module
from ebb.nn.parameter import Parameter

Ints = int | Sequence[int]


def per_dim(layer: str, name: str, value: Ints, dims: int) -> tuple[int, ...]:
    """Return one number for each dim; one in a list counts for all, as in the functions."""
    values = (value,) * dims if isinstance(value, int) else tuple(value)
    if len(values) == 1:
        values *= dims
    if len(values) != dims:
        raise _C.ValueError(f"{layer}: {name} needs one number or {dims}, got {value!r}")
    return values


class _ConvNd(Module):
    """What all convolutions share: their parameters and how they are drawn and shown."""

    weight: Parameter
    bias: Parameter | None
    _dims = 0
    transposed = False
    output_padding: tuple[int, ...]

    def _set_up(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints,
        padding: Ints | str,
        dilation: Ints,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: object,
        dtype: object,
    ) -> None:
        name = type(self).__name__
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise _C.ValueError(
                f"{name}: needs channels that groups divide, got in_channels {in_channels}, "
                f"out_channels {out_channels} and groups {groups}"
            )
        self.in_channels: int = in_channels
        self.out_channels: int = out_channels
        self.groups: int = groups
        self.kernel_size: tuple[int, ...] = per_dim(name, "kernel_size", kernel_size, self._dims)
        self.stride: tuple[int, ...] = per_dim(name, "stride", stride, self._dims)
        self.dilation: tuple[int, ...] = per_dim(name, "dilation", dilation, self._dims)
        is_text = isinstance(padding, str)
        self.padding: str | tuple[int, ...] = (
            padding if is_text else per_dim(name, "padding", padding, self._dims)
        )
        self.padding_mode = padding_mode
        if not self.transposed:
            self.output_padding = (0,) * self._dims
        self._check_modes(name)
        ends = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        shape = (ends[0], ends[1] // groups, *self.kernel_size)
        self.weight = Parameter(_C.empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(_C.empty((out_channels,), device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _check_modes(self, name: str) -> None:
        modes = ("zeros",) if self.transposed else ("zeros", "reflect", "replicate", "circular")
        if self.padding_mode not in modes:
            raise _C.ValueError(
                f"{name}: needs padding_mode {', '.join(modes)}, got {self.padding_mode!r}"
            )
        if isinstance(self.padding, str):
            check_text_padding(name, self.padding, self.stride)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        if self.weight.numel() == 0:
            return
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(math.prod(self.weight.shape[1:]))
            init.uniform_(self.bias, -bound, bound)

    def _padded(self, input: Tensor) -> tuple[Tensor, Ints | str]:
        """Return the input padded as padding_mode says, and the padding that is left to do."""
        if self.padding_mode == "zeros":
            return input, self.padding
        pairs = padding_pairs(self.padding, self.kernel_size, self.dilation)
        amounts = [amount for pair in reversed(pairs) for amount in pair]
        return functional.pad(input, amounts, mode=self.padding_mode), 0

    def extra_repr(self) -> str:
        """Return the options that are not the usual ones."""
        ones, zeros = (1,) * self._dims, (0,) * self._dims
        parts = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}",
            f"stride={self.stride}",
        ]
        parts += [f"padding={self.padding}"] if self.padding != zeros else []
        parts += [f"dilation={self.dilation}"] if self.dilation != ones else []
        parts += [f"output_padding={self.output_padding}"] if any(self.output_padding) else []
        parts += [f"groups={self.groups}"] if self.groups != 1 else []
        parts += ["bias=False"] if self.bias is None else []
        parts += [f"padding_mode={self.padding_mode}"] if self.padding_mode != "zeros" else []
        return ", ".join(parts)


class _Conv(_ConvNd):
    """A convolution.

    Args:
        in_channels: Channels of the input.
        out_channels: Channels of the output.
        kernel_size: Size of the window, one number or one per dim.
        stride: Steps of the window.
        padding: Zeros around the input; "same" keeps its size, "valid" adds none.
        dilation: Distance between the elements of a window.
        groups: Parts of the channels that are convolved apart.
        bias: Whether a bias is added.
        padding_mode: "zeros", "reflect", "replicate" or "circular".
        device: Where they are; the default one if None.
        dtype: Of the parameters; the default one if None.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints = 1,
        padding: Ints | str = 0,
        dilation: Ints = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._set_up(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        padded, padding = self._padded(input)
        return self._function(
            padded, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )


class Conv1d(_Conv):
    """A convolution over one dim: input [batch, in_channels, length], or without batch.

    Example:
        >>> layer = ebb.nn.Conv1d(2, 4, 3)
        >>> layer(ebb.ones(1, 2, 8)).shape
        ebb.Size([1, 4, 6])
    """

    __doc__ += _Conv.__doc__.partition("\n")[2]
    _dims = 1
    _function = staticmethod(functional.conv1d)


class Conv2d(_Conv):
    """A convolution over two dims: input [batch, in_channels, height, width], or without batch.

    Example:
        >>> layer = ebb.nn.Conv2d(3, 8, 3, padding=1)
        >>> layer(ebb.ones(1, 3, 6, 6)).shape
        ebb.Size([1, 8, 6, 6])
    """

    __doc__ += _Conv.__doc__.partition("\n")[2]
    _dims = 2
    _function = staticmethod(functional.conv2d)


class Conv3d(_Conv):
    """A convolution over three dims: input [batch, in_channels, depth, height, width].

    Example:
        >>> layer = ebb.nn.Conv3d(1, 2, 3)
        >>> layer(ebb.ones(1, 1, 4, 4, 4)).shape
        ebb.Size([1, 2, 2, 2, 2])
    """

    __doc__ += _Conv.__doc__.partition("\n")[2]
    _dims = 3
    _function = staticmethod(functional.conv3d)


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution.

    Args:
        in_channels: Channels of the input.
        out_channels: Channels of the output.
        kernel_size: Size of the window, one number or one per dim.
        stride: Steps of the window in the output.
        padding: What the output loses at each end.
        output_padding: What the output gains at its far end, less than stride or dilation.
        groups: Parts of the channels that are convolved apart.
        bias: Whether a bias is added.
        dilation: Distance between the elements of a window.
        padding_mode: "zeros".
        device: Where they are; the default one if None.
        dtype: Of the parameters; the default one if None.
    """

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints = 1,
        padding: Ints = 0,
        output_padding: Ints = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Ints = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.output_padding: tuple[int, ...] = per_dim(
            name, "output_padding", output_padding, self._dims
        )
        self._set_up(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            per_dim(name, "padding", padding, self._dims),
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Return the layer's output, of ``output_size`` if the stride leaves a choice."""
        extra = self.output_padding if output_size is None else self._extra(input, output_size)
        return self._function(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            extra,
            self.groups,
            self.dilation,
        )

    def _extra(self, input: Tensor, output_size: Sequence[int]) -> list[int]:
        """Return the output padding that gives an output of this size."""
        wanted = list(output_size)[-self._dims :]
        sizes = input.shape[-self._dims :]
        least = [
            (n - 1) * s - 2 * p + d * (k - 1) + 1
            for n, s, p, d, k in zip(
                sizes, self.stride, self.padding, self.dilation, self.kernel_size, strict=True
            )
        ]
        extra = [want - low for want, low in zip(wanted, least, strict=False)]
        fits = len(extra) == self._dims and all(
            0 <= one < max(s, d)
            for one, s, d in zip(extra, self.stride, self.dilation, strict=True)
        )
        if not fits:
            raise _C.ValueError(
                f"{type(self).__name__}: output_size must be {least} or, by less than stride or "
                f"dilation, more, got {list(output_size)}"
            )
        return extra


class ConvTranspose1d(_ConvTransposeNd):
    """The transposed convolution over one dim, which undoes the sizes of Conv1d.

    Example:
        >>> layer = ebb.nn.ConvTranspose1d(2, 4, 2, stride=2)
        >>> layer(ebb.ones(1, 2, 5)).shape
        ebb.Size([1, 4, 10])
    """

    __doc__ += _ConvTransposeNd.__doc__.partition("\n")[2]
    _dims = 1
    _function = staticmethod(functional.conv_transpose1d)


class ConvTranspose2d(_ConvTransposeNd):
    """The transposed convolution over two dims, which undoes the sizes of Conv2d.

    Example:
        >>> layer = ebb.nn.ConvTranspose2d(3, 8, 2, stride=2)
        >>> layer(ebb.ones(1, 3, 4, 4)).shape
        ebb.Size([1, 8, 8, 8])
    """

    __doc__ += _ConvTransposeNd.__doc__.partition("\n")[2]
    _dims = 2
    _function = staticmethod(functional.conv_transpose2d)


class ConvTranspose3d(_ConvTransposeNd):
    """The transposed convolution over three dims, which undoes the sizes of Conv3d.

    Example:
        >>> layer = ebb.nn.ConvTranspose3d(1, 2, 2)
        >>> layer(ebb.ones(1, 1, 3, 3, 3)).shape
        ebb.Size([1, 2, 4, 4, 4])
    """

    __doc__ += _ConvTransposeNd.__doc__.partition("\n")[2]
    _dims = 3
    _function = staticmethod(functional.conv_transpose3d)
