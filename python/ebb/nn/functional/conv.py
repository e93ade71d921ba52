# python/ebb/nn/functional/conv.py -- convolution and pooling functions, part of ebb.nn.functional.
"""The ops of convolution and pooling, and what padding by name means to modules that pad first."""

from __future__ import annotations

from collections.abc import Sequence

from ebb import _C
from ebb._C import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    conv1d,
    conv2d,
    conv3d,
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
