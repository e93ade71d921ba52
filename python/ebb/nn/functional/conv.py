# python/ebb/nn/functional/conv.py -- convolution and pooling functions, part of ebb.nn.functional.
"""The ops of convolution and pooling with what Python adds: padding by name, optional results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ebb import _C
from ebb._C import (
    Tensor,
    avg_pool1d,
    avg_pool2d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    max_pool1d_with_indices,
    max_pool2d_with_indices,
)

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "avg_pool1d",
    "avg_pool2d",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "max_pool1d_with_indices",
    "max_pool2d_with_indices",
]

Ints = int | Sequence[int]
Maxima = Tensor | tuple[Tensor, Tensor]


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


def _conv(
    op: Callable[..., Tensor],
    dims: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Ints,
    padding: str,
    dilation: Ints,
    groups: int,
) -> Tensor:
    """Convolve with a padding by name."""
    check_text_padding(f"conv{dims}d", padding, stride)
    if padding == "valid" or weight.ndim != dims + 2:
        return op(input, weight, bias, stride, 0, dilation, groups)
    pairs = padding_pairs("same", tuple(weight.shape[2:]), dilation)
    out = op(input, weight, bias, stride, [behind for _, behind in pairs], dilation, groups)
    # An uneven padding: the even one gives one element too many, in front.
    for dim, (before, behind) in enumerate(pairs, -dims):
        if before != behind:
            out = out.narrow(dim, behind - before, out.shape[dim] - (behind - before))
    return out


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve over one dim.

    Args:
        input: [batch, channels, length], or without batch.
        weight: [out, channels / groups, kernel].
        padding: Zeros at both ends; "same" keeps the length (with stride 1), "valid" adds none.
    """
    if isinstance(padding, str):
        return _conv(_C.conv1d, 1, input, weight, bias, stride, padding, dilation, groups)
    return _C.conv1d(input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve over two dims.

    Args:
        input: [batch, channels, height, width], or without batch.
        weight: [out, channels / groups, height, width].
        padding: Zeros on all sides; "same" keeps the size (with a stride of 1), "valid" adds none.
    """
    if isinstance(padding, str):
        return _conv(_C.conv2d, 2, input, weight, bias, stride, padding, dilation, groups)
    return _C.conv2d(input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve over three dims.

    Args:
        input: [batch, channels, depth, height, width], or without batch.
        weight: [out, channels / groups, depth, height, width].
        padding: Zeros on all sides; "same" keeps the size (with a stride of 1), "valid" adds none.
    """
    if isinstance(padding, str):
        return _conv(_C.conv3d, 3, input, weight, bias, stride, padding, dilation, groups)
    return _C.conv3d(input, weight, bias, stride, padding, dilation, groups)


def _parts(
    input: Tensor, output_size: int | Sequence[int | None] | None, dims: int
) -> int | Sequence[int]:
    """Return the output size with the input's own sizes in place of None."""
    if isinstance(output_size, int):
        return output_size
    listed = [None] * dims if output_size is None else list(output_size)
    if None not in listed or input.ndim < dims or len(listed) != dims:
        return listed
    own = input.shape[-dims:]
    return [size if part is None else part for part, size in zip(listed, own, strict=True)]


def adaptive_avg_pool1d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """Return means over output_size parts of the last dim."""
    return _C.adaptive_avg_pool1d(input, _parts(input, output_size, 1))


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """Return means over parts of the last two dims; None keeps a dim's size."""
    return _C.adaptive_avg_pool2d(input, _parts(input, output_size, 2))


def adaptive_max_pool1d(
    input: Tensor,
    output_size: int | Sequence[int | None] | None,
    return_indices: bool = False,
) -> Maxima:
    """Return the largest element of output_size parts of the last dim, with places if asked for."""
    values, indices = _C.adaptive_max_pool1d(input, _parts(input, output_size, 1))
    return (values, indices) if return_indices else values


def adaptive_max_pool2d(
    input: Tensor,
    output_size: int | Sequence[int | None] | None,
    return_indices: bool = False,
) -> Maxima:
    """Return the largest element of parts of the last two dims, with places if asked for."""
    values, indices = _C.adaptive_max_pool2d(input, _parts(input, output_size, 2))
    return (values, indices) if return_indices else values
