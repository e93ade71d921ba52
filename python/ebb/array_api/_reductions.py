# python/ebb/array_api/_reductions.py -- sums, extremes, sorting, searching and sets along an axis.
"""Functions that look at many elements."""

from __future__ import annotations

from typing import Any, NamedTuple

import ebb
from ebb import _C
from ebb._C import Tensor


def _axes(x, axis):
    """Return the axes as a list."""
    if axis is None:
        return list(range(x.ndim))
    return list(axis) if isinstance(axis, tuple) else [axis]


def _summed(x, dtype, result):
    """Return the result of a sum or product in the dtype that the standard wants."""
    if dtype is None and x.dtype.name.startswith("uint"):
        return result.to(_C.uint64)
    return result


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Tensor:
    """Return sums; those of small integers have 64 bits.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.sum(xp.ones((2, 3)), axis=1)
        tensor([3., 3.])
    """
    if axis == ():
        return x.to(dtype) if dtype else _summed(x, dtype, ebb.cumsum(x.unsqueeze(0), 0)[0])
    return _summed(x, dtype, ebb.sum(x, _axes(x, axis), keepdims, dtype=dtype))


def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Tensor:
    """Return products; those of small integers have 64 bits.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.prod(xp.asarray([2.0, 3.0]))
        tensor(6.)
    """
    result = x.reshape(1, *x.shape)
    for one in sorted((place % x.ndim for place in _axes(x, axis)), reverse=True):
        result = ebb.prod(result, one + 1, True, dtype=dtype)
    result = ebb.prod(result, 0, dtype=dtype)
    if not keepdims and axis != () and x.ndim:
        result = result.squeeze(_axes(x, axis))
    return _summed(x, dtype, result)


def mean(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Tensor:
    """Return means.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.mean(xp.asarray([[1.0, 3.0], [2.0, 6.0]]), axis=1)
        tensor([2., 4.])
    """
    return ebb.mean(x, _axes(x, axis), keepdims)


def max(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Tensor:
    """Return the largest elements.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.max(xp.asarray([3.0, 1.0, 2.0]))
        tensor(3.)
    """
    return ebb.amax(x, _axes(x, axis), keepdims)


def min(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Tensor:
    """Return the smallest elements.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.min(xp.asarray([3.0, 1.0, 2.0]))
        tensor(1.)
    """
    return ebb.amin(x, _axes(x, axis), keepdims)


def var(x: Any, /, *, axis: Any = None, correction: Any = 0.0, keepdims: Any = False) -> Tensor:
    """Return variances, with the number of elements less ``correction`` as the divisor.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.var(xp.asarray([3.0, 1.0, 2.0]), correction=1)
        tensor(1.)
    """
    return ebb.var(x, _axes(x, axis), correction=correction, keepdim=keepdims)


def std(x: Any, /, *, axis: Any = None, correction: Any = 0.0, keepdims: Any = False) -> Tensor:
    """Return standard deviations.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.std(xp.asarray([3.0, 1.0, 2.0]), correction=1)
        tensor(1.)
    """
    return ebb.std(x, _axes(x, axis), correction=correction, keepdim=keepdims)


def all(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Tensor:
    """Return whether all elements are true.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.all(xp.asarray([True, False]))
        tensor(False)
    """
    return ebb.all(x, _axes(x, axis), keepdims) if axis != () else x.to(_C.bool)


def any(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Tensor:
    """Return whether any element is true.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.any(xp.asarray([True, False]))
        tensor(True)
    """
    return ebb.any(x, _axes(x, axis), keepdims) if axis != () else x.to(_C.bool)


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Tensor:
    """Return how many elements are not zero.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.count_nonzero(xp.asarray([[0, 1], [2, 3]]), axis=0)
        tensor([1, 2])
    """
    return ebb.sum(x != 0, _axes(x, axis), keepdims)


def argmax(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Tensor:
    """Return where the largest elements are.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.argmax(xp.asarray([3.0, 1.0, 2.0]))
        tensor(0)
    """
    found = ebb.argmax(x, axis, keepdims if axis is not None else False)
    return found.reshape((1,) * x.ndim) if axis is None and keepdims else found


def argmin(x: Any, /, *, axis: Any = None, keepdims: Any = False) -> Tensor:
    """Return where the smallest elements are.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.argmin(xp.asarray([3.0, 1.0, 2.0]))
        tensor(1)
    """
    found = ebb.argmin(x, axis, keepdims if axis is not None else False)
    return found.reshape((1,) * x.ndim) if axis is None and keepdims else found


def _cumulative(function, start, x, axis, dtype, include_initial):
    if axis is None and x.ndim != 1:
        raise _C.ValueError(f"needs an axis for an array of {x.ndim} dims, got None")
    place = (0 if axis is None else axis) % x.ndim
    result = _summed(x, dtype, function(x, place, dtype=dtype))
    if not include_initial:
        return result
    shape = [1 if dim == place else size for dim, size in enumerate(x.shape)]
    return ebb.cat([ebb.full(shape, start, dtype=result.dtype), result], place)


def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: Any = False
) -> Tensor:
    """Return the sums of all elements up to each.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.cumulative_sum(xp.asarray([3.0, 1.0, 2.0]), include_initial=True)
        tensor([0., 3., 4., 6.])
    """
    return _cumulative(ebb.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: Any = False
) -> Tensor:
    """Return the products of all elements up to each.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.cumulative_prod(xp.asarray([3.0, 1.0, 2.0]))
        tensor([3., 3., 6.])
    """
    return _cumulative(ebb.cumprod, 1, x, axis, dtype, include_initial)


def diff(
    x: Any, /, *, axis: Any = -1, n: Any = 1, prepend: Any = None, append: Any = None
) -> Tensor:
    """Return differences of neighbours.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.diff(xp.asarray([3.0, 1.0, 2.0]))
        tensor([-2.,  1.])
    """
    return ebb.diff(x, n, axis, prepend, append)


def sort(x: Any, /, *, axis: Any = -1, descending: Any = False, stable: Any = True) -> Tensor:
    """Return the elements in order.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.sort(xp.asarray([3.0, 1.0, 2.0]), descending=True)
        tensor([3., 2., 1.])
    """
    return ebb.sort(x, axis, descending, stable=stable)[0]


def argsort(x: Any, /, *, axis: Any = -1, descending: Any = False, stable: Any = True) -> Tensor:
    """Return the order of the elements.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.argsort(xp.asarray([3.0, 1.0, 2.0]))
        tensor([1, 2, 0])
    """
    return ebb.argsort(x, axis, descending, stable=stable)


def searchsorted(x1: Any, x2: Any, /, *, side: Any = "left", sorter: Any = None) -> Tensor:
    """Return where elements would be put into a sorted array.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.searchsorted(xp.asarray([1.0, 3.0]), xp.asarray([2.0, 3.0]))
        tensor([1, 1])
    """
    ordered = x1 if sorter is None else x1[sorter]
    return ebb.searchsorted(ordered, x2, right=side == "right")


def nonzero(x: Any, /) -> tuple[Tensor, ...]:
    """Return the indices of elements that are not zero, one array per axis.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.nonzero(xp.asarray([[0, 1], [2, 0]]))
        (tensor([0, 1]), tensor([1, 0]))
    """
    return ebb.nonzero(x, as_tuple=True)


def where(condition: Any, x1: Any, x2: Any, /) -> Tensor:
    """Return elements of ``x1`` where a condition holds, of ``x2`` elsewhere.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.where(xp.asarray([True, False]), xp.asarray([1, 2]), xp.asarray([3, 4]))
        tensor([1, 4])
    """
    return ebb.where(condition, x1, x2)


class UniqueAll(NamedTuple):
    """The different values, where each is first, which each element is, and how many there are."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """The different values and how many there are of each."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """The different values, and which of them each element is."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Any, /) -> Any:
    """Return the different values with all that is known of them.

    Example:
        >>> from ebb import array_api as xp
        >>> found = xp.unique_all(xp.asarray([3, 1, 3]))
        >>> found.values, found.indices, found.inverse_indices, found.counts
        (tensor([1, 3]), tensor([1, 0]), tensor([1, 0, 1]), tensor([1, 2]))
    """
    values, inverse, counts = ebb.unique(x, return_inverse=True, return_counts=True)
    order = ebb.argsort(inverse.reshape(-1), stable=True)
    first = order[ebb.cumsum(counts, 0) - counts]
    return UniqueAll(values, first, inverse.reshape(x.shape), counts)


def unique_counts(x: Any, /) -> Any:
    """Return the different values and how many there are of each.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.unique_counts(xp.asarray([3, 1, 3]))
        UniqueCounts(values=tensor([1, 3]), counts=tensor([1, 2]))
    """
    return UniqueCounts(*ebb.unique(x, return_counts=True))


def unique_inverse(x: Any, /) -> Any:
    """Return the different values, and which of them each element is.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.unique_inverse(xp.asarray([3, 1, 3]))
        UniqueInverse(values=tensor([1, 3]), inverse_indices=tensor([1, 0, 1]))
    """
    values, inverse = ebb.unique(x, return_inverse=True)
    return UniqueInverse(values, inverse.reshape(x.shape))


def unique_values(x: Any, /) -> Tensor:
    """Return the different values.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.unique_values(xp.asarray([3, 1, 3]))
        tensor([1, 3])
    """
    return ebb.unique(x)


__all__ = [
    *("all", "any", "argmax", "argmin", "argsort", "count_nonzero", "cumulative_prod"),
    *("cumulative_sum", "diff", "max", "mean", "min", "nonzero", "prod", "searchsorted", "sort"),
    *("std", "sum", "unique_all", "unique_counts", "unique_inverse", "unique_values", "var"),
    "where",
]
