# python/ebb/nn/folding.py -- Unfold, Fold and Upsample.
"""Layers that read an image at computed places; the functions are in functional_resize.py."""

from __future__ import annotations

from collections.abc import Sequence

from ebb._C import Tensor
from ebb.nn import functional
from ebb.nn.module import Module

Ints = int | Sequence[int]


class Unfold(Module):
    """What each window over the last two dims sees, as columns [batch, channels * kernel, windows].

    Args:
        kernel_size: Size of the window, one number or one per dim.
        dilation: Distance between the elements of a window.
        padding: Zeros around the input.
        stride: Steps of the window.
    """

    def __init__(self, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1):
        super().__init__()
        self.kernel_size, self.dilation = kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, input: Tensor) -> Tensor:
        """Return the columns."""
        return functional.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Return the options."""
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class Fold(Unfold):
    """Columns summed up to images, each where Unfold would have taken it from.

    Args:
        output_size: Height and width of the images.
        kernel_size: Size of the window, one number or one per dim.
        dilation: Distance between the elements of a window.
        padding: Zeros that the images had around them.
        stride: Steps of the window.
    """

    def __init__(
        self,
        output_size: Ints,
        kernel_size: Ints,
        dilation: Ints = 1,
        padding: Ints = 0,
        stride: Ints = 1,
    ):
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """Return the images."""
        return functional.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        """Return the options."""
        return f"output_size={self.output_size}, {super().extra_repr()}"


class Upsample(Module):
    """Images in another size.

    Args:
        size: The new sizes.
        scale_factor: Or what the sizes are multiplied with.
        mode: "nearest", "nearest-exact", or "linear", "bilinear", "trilinear" by the dims.
        align_corners: Whether the outermost elements keep their places; for linear modes.
        recompute_scale_factor: Whether samples lie as if size had been given.
    """

    def __init__(
        self,
        size: Ints | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ):
        super().__init__()
        self.size, self.scale_factor, self.mode = size, scale_factor, mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Return the image in its new size."""
        return functional.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        """Return the size or the factor, and the mode."""
        given = (
            f"size={self.size}" if self.size is not None else f"scale_factor={self.scale_factor}"
        )
        return f"{given}, mode={self.mode!r}"
