# python/ebb/nn/functional/adaptive.py -- pools that say how many parts there are, part of
# ebb.nn.functional.
"""The adaptive pools of the op table with what Python adds: sizes that stay, optional places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, overload

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


class _AvgPool(Protocol):
    def __call__(self, input: Tensor, output_size: Parts) -> Tensor: ...


class _PoolWithIndices(Protocol):
    def __call__(
        self, input: Tensor, output_size: Parts, return_indices: bool = False
    ) -> tuple[Tensor, Tensor]: ...


class _MaxPool(Protocol):
    """What ``return_indices`` adds to the result of a pool."""

    @overload
    def __call__(
        self, input: Tensor, output_size: Parts, return_indices: Literal[False] = False
    ) -> Tensor: ...
    @overload
    def __call__(
        self, input: Tensor, output_size: Parts, return_indices: Literal[True]
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(
        self, input: Tensor, output_size: Parts, return_indices: bool = False
    ) -> Maxima: ...


def _avg_pool(dims: int, doc: str) -> _AvgPool:
    """Return adaptive_avg_pool of so many dims."""
    op = getattr(_C, f"adaptive_avg_pool{dims}d")

    def pool(input: Tensor, output_size: Parts) -> Tensor:
        return op(input, _parts(input, output_size, dims))

    pool.__name__ = pool.__qualname__ = op.__name__
    pool.__doc__ = f"""Return means over parts of {doc}; None keeps a dim's size.

    Example:
        >>> ebb.nn.functional.adaptive_avg_pool{dims}d(ebb.ones(1, 3{", 8" * dims}), 2).shape
        ebb.Size([1, 3{", 2" * dims}])
    """
    return pool


def _max_pools(dims: int, doc: str) -> tuple[_MaxPool, _PoolWithIndices]:
    """Return adaptive_max_pool of so many dims, and the one that gives places always."""
    op = getattr(_C, f"adaptive_max_pool{dims}d")

    def with_indices(
        input: Tensor, output_size: Parts, return_indices: bool = False
    ) -> tuple[Tensor, Tensor]:
        return op(input, _parts(input, output_size, dims))

    def pool(input: Tensor, output_size: Parts, return_indices: bool = False) -> Maxima:
        values, indices = with_indices(input, output_size)
        return (values, indices) if return_indices else values

    pool.__name__ = pool.__qualname__ = op.__name__
    pool.__doc__ = f"""Return the largest element of parts of {doc}, with places if asked for.

    Example:
        >>> ebb.nn.functional.{op.__name__}(ebb.ones(1, 1{", 4" * dims}), 2).shape
        ebb.Size([1, 1{", 2" * dims}])
    """
    with_indices.__name__ = with_indices.__qualname__ = op.__name__ + "_with_indices"
    with_indices.__doc__ = f"""Return the largest element of each part of {doc}, and the places.

    Example:
        >>> from ebb.nn import functional as F
        >>> values, places = F.{op.__name__}_with_indices(ebb.ones(1, 1{", 4" * dims}), 2)
        >>> values.shape, places.dtype
        (ebb.Size([1, 1{", 2" * dims}]), ebb.int64)
    """
    return pool, with_indices


adaptive_avg_pool1d: _AvgPool = _avg_pool(1, "the last dim")
adaptive_avg_pool2d: _AvgPool = _avg_pool(2, "the last two dims")
adaptive_avg_pool3d: _AvgPool = _avg_pool(3, "the last three dims")
adaptive_max_pool1d: _MaxPool
adaptive_max_pool1d_with_indices: _PoolWithIndices
adaptive_max_pool2d: _MaxPool
adaptive_max_pool2d_with_indices: _PoolWithIndices
adaptive_max_pool3d: _MaxPool
adaptive_max_pool3d_with_indices: _PoolWithIndices
adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _max_pools(1, "the last dim")
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _max_pools(2, "the last two dims")
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _max_pools(3, "the last three dims")
