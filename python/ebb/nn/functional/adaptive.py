# python/ebb/nn/functional/adaptive.py -- pools that say how many parts there are, part of
# ebb.nn.functional.
"""The adaptive pools of the op table with what Python adds: sizes that stay, optional places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

from ebb import _C
from ebb._C import Tensor

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
]

Parts = int | Sequence[int | None] | None
Maxima = Tensor | tuple[Tensor, Tensor]


def _parts(input: Tensor, output_size: Parts, dims: int) -> int | Sequence[int]:
    """Return the output size with the input's own sizes in place of None."""
    if isinstance(output_size, int):
        return output_size
    listed = [None] * dims if output_size is None else list(output_size)
    if None not in listed or input.ndim < dims or len(listed) != dims:
        return listed
    own = input.shape[-dims:]
    return [size if part is None else part for part, size in zip(listed, own, strict=True)]


def adaptive_avg_pool1d(input: Tensor, output_size: Parts) -> Tensor:
    """Return means over parts of the last dim; None keeps a dim's size.

    Example:
        >>> ebb.nn.functional.adaptive_avg_pool1d(ebb.tensor([[[1.0, 3.0, 5.0, 7.0]]]), 2)
        tensor([[[2., 6.]]])
    """
    return _C.adaptive_avg_pool1d(input, _parts(input, output_size, 1))


def adaptive_avg_pool2d(input: Tensor, output_size: Parts) -> Tensor:
    """Return means over parts of the last two dims; None keeps a dim's size.

    Example:
        >>> ebb.nn.functional.adaptive_avg_pool2d(ebb.ones(1, 3, 8, 8), (2, 4)).shape
        ebb.Size([1, 3, 2, 4])
    """
    return _C.adaptive_avg_pool2d(input, _parts(input, output_size, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: Parts) -> Tensor:
    """Return means over parts of the last three dims; None keeps a dim's size.

    Example:
        >>> ebb.nn.functional.adaptive_avg_pool3d(ebb.ones(1, 3, 8, 8, 8), 2).shape
        ebb.Size([1, 3, 2, 2, 2])
    """
    return _C.adaptive_avg_pool3d(input, _parts(input, output_size, 3))


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Parts, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Return the largest element of each of the parts of the last dim, and their places.

    Example:
        >>> from ebb.nn import functional as F
        >>> values, places = F.adaptive_max_pool1d_with_indices(ebb.ones(1, 1, 4), 2)
        >>> values.shape, places.dtype
        (ebb.Size([1, 1, 2]), ebb.int64)
    """
    return _C.adaptive_max_pool1d(input, _parts(input, output_size, 1))


@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Parts, return_indices: Literal[False] = False
) -> Tensor: ...
@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Parts, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Parts, return_indices: bool = False
) -> Maxima: ...
def adaptive_max_pool1d(input: Tensor, output_size: Parts, return_indices: bool = False) -> Maxima:
    """Return the largest element of parts of the last dim, with places if asked for.

    Example:
        >>> ebb.nn.functional.adaptive_max_pool1d(ebb.ones(1, 1, 4), 2).shape
        ebb.Size([1, 1, 2])
    """
    values, indices = adaptive_max_pool1d_with_indices(input, output_size)
    return (values, indices) if return_indices else values


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Parts, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Return the largest element of each of the parts of the last two dims, and their places.

    Example:
        >>> from ebb.nn import functional as F
        >>> values, places = F.adaptive_max_pool2d_with_indices(ebb.ones(1, 1, 4, 4), 2)
        >>> values.shape, places.dtype
        (ebb.Size([1, 1, 2, 2]), ebb.int64)
    """
    return _C.adaptive_max_pool2d(input, _parts(input, output_size, 2))


@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: Parts, return_indices: Literal[False] = False
) -> Tensor: ...
@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: Parts, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: Parts, return_indices: bool = False
) -> Maxima: ...
def adaptive_max_pool2d(input: Tensor, output_size: Parts, return_indices: bool = False) -> Maxima:
    """Return the largest element of parts of the last two dims, with places if asked for.

    Example:
        >>> ebb.nn.functional.adaptive_max_pool2d(ebb.ones(1, 1, 4, 4), 2).shape
        ebb.Size([1, 1, 2, 2])
    """
    values, indices = adaptive_max_pool2d_with_indices(input, output_size)
    return (values, indices) if return_indices else values


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Parts, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Return the largest element of each of the parts of the last three dims, and their places.

    Example:
        >>> from ebb.nn import functional as F
        >>> values, places = F.adaptive_max_pool3d_with_indices(ebb.ones(1, 1, 4, 4, 4), 2)
        >>> values.shape, places.dtype
        (ebb.Size([1, 1, 2, 2, 2]), ebb.int64)
    """
    return _C.adaptive_max_pool3d(input, _parts(input, output_size, 3))


@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: Parts, return_indices: Literal[False] = False
) -> Tensor: ...
@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: Parts, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: Parts, return_indices: bool = False
) -> Maxima: ...
def adaptive_max_pool3d(input: Tensor, output_size: Parts, return_indices: bool = False) -> Maxima:
    """Return the largest element of parts of the last three dims, with places if asked for.

    Example:
        >>> ebb.nn.functional.adaptive_max_pool3d(ebb.ones(1, 1, 4, 4, 4), 2).shape
        ebb.Size([1, 1, 2, 2, 2])
    """
    values, indices = adaptive_max_pool3d_with_indices(input, output_size)
    return (values, indices) if return_indices else values
