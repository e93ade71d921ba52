# python/ebb/nn/functional/conv.py -- convolution and pooling functions, part of ebb.nn.functional.
"""The ops of convolution and pooling with what Python adds: padding by name, optional results."""

from __future__ import annotations

from collections.abc import Sequence

from ebb import _C
from ebb._C import (
    Tensor,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    conv_tbc,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    max_pool1d_with_indices,
    max_pool2d_with_indices,
    max_pool3d_with_indices,
)

__all__ = [
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "max_pool1d_with_indices",
    "max_pool2d_with_indices",
    "max_pool3d_with_indices",
]

Ints = int | Sequence[int]


def check_text_padding(op: str, padding: str, stride: Ints) -> None:
    """Refuse a padding by name that is unknown or that the stride leaves undefined."""
    if padding not in ("same", "valid"):
        raise _C.ValueError(f"{op}: padding by name must be 'same' or 'valid', got {padding!r}")
    strides = [stride] if isinstance(stride, int) else list(stride)
    if padding == "same" and any(one != 1 for one in strides):
        raise _C.ValueError(f"{op}: padding 'same' needs a stride of 1, got {stride!r}")


def padding_pairs(
    padding: Ints | str, kernel: Sequence[int], dilation: Ints
) -> list[tuple[int, int]]:
    """Return the padding before and behind each dim; "same" puts an odd one behind."""
    count = len(kernel)
    if padding == "valid":
        return [(0, 0)] * count
    if padding != "same":
        sizes = [padding] * count if isinstance(padding, int) else list(padding)
        return [(one, one) for one in sizes]
    steps = [dilation] * count if isinstance(dilation, int) else list(dilation)
    steps = steps * count if len(steps) == 1 else steps
    totals = [step * (size - 1) for step, size in zip(steps, kernel, strict=True)]
    return [(total // 2, total - total // 2) for total in totals]


def _convolution(dims: int, sizes: str):  # its type is that of what it returns
    """Return the op of so many dims with padding by name."""
    op = getattr(_C, f"conv{dims}d")

    def convolve(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Ints = 1,
        padding: Ints | str = 0,
        dilation: Ints = 1,
        groups: int = 1,
    ) -> Tensor:
        if not isinstance(padding, str):
            return op(input, weight, bias, stride, padding, dilation, groups)
        check_text_padding(op.__name__, padding, stride)
        if padding == "valid" or weight.ndim != dims + 2:
            return op(input, weight, bias, stride, 0, dilation, groups)
        pairs = padding_pairs("same", tuple(weight.shape[2:]), dilation)
        out = op(input, weight, bias, stride, [behind for _, behind in pairs], dilation, groups)
        # An uneven padding: the even one gives one element too many, in front.
        for dim, (before, behind) in enumerate(pairs, -dims):
            if before != behind:
                out = out.narrow(dim, behind - before, out.shape[dim] - (behind - before))
        return out

    convolve.__name__ = convolve.__qualname__ = op.__name__
    convolve.__doc__ = f"""Convolve over the last dims: {sizes}.

    Args:
        input: [batch, channels, {sizes}], or without batch.
        weight: [out, channels / groups, {sizes}].
        padding: Zeros at both ends; "same" keeps the sizes (with a stride of 1), "valid" adds none.

    Example:
        >>> x, weight = ebb.ones(1, 2{", 5" * dims}), ebb.ones(4, 2{", 3" * dims})
        >>> ebb.nn.functional.conv{dims}d(x, weight).shape
        ebb.Size([1, 4{", 3" * dims}])
    """
    return convolve


conv1d = _convolution(1, "length")
conv2d = _convolution(2, "height, width")
conv3d = _convolution(3, "depth, height, width")
