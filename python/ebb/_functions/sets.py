# python/ebb/_functions/sets.py -- functions on sets that return as many tensors as were asked for.
"""``unique`` and its kin, under PyTorch's names."""

from __future__ import annotations

from typing import Any

from ebb import _C
from ebb._C import Tensor


def _asked(found: tuple[Tensor, Tensor, Tensor], inverse: bool, counts: bool) -> Any:
    values = found[0]
    others = [one for one, wanted in zip(found[1:], (inverse, counts), strict=True) if wanted]
    return (values, *others) if others else values


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the different elements of ``input``, always in order; every NaN is one of its own.

    Args:
        sorted: Taken for PyTorch's sake.
        return_inverse: Return also which of them each element is, int64 in the shape of ``input``
            (with ``dim``: one for each slice).
        return_counts: Return also how often each occurs, int64.
        dim: Compare whole slices along this dim, in the order of their elements.

    Example:
        >>> ebb.unique(ebb.tensor([3, 1, 3]), return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
    """
    found = _C._ops.unique(input, return_inverse, return_counts, dim)
    return _asked(found, return_inverse, return_counts)


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return the first of each run of equal elements.

    Args:
        return_inverse: Return also to which run each element belongs, int64.
        return_counts: Return also how long each run is, int64.
        dim: Compare whole slices along this dim.

    Example:
        >>> ebb.unique_consecutive(ebb.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1])
    """
    found = _C._ops.unique_consecutive(input, return_inverse, return_counts, dim)
    return _asked(found, return_inverse, return_counts)


Tensor.unique = unique
Tensor.unique_consecutive = unique_consecutive
