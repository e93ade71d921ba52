# python/ebb/data/sampler.py -- samplers: in which order a dataset is visited.
"""Each is an iterable of indices with a length; all randomness is ebb's own."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any

from ebb import _C

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

BLOCK = 1 << 16  # random numbers that a sampler draws at once


def permutation(count: int, generator: _C.Generator | None = None) -> list[int]:
    """Return 0 .. count - 1 in random order: the ranks of as many random numbers."""
    return _uniform(count, generator).argsort(kind="stable").tolist()


def _blocks(count: int) -> Iterator[int]:
    """Yield sizes that add up to ``count``, for what may be drawn piece by piece."""
    while count > 0:
        yield min(count, BLOCK)
        count -= BLOCK


def _uniform(count: int, generator: _C.Generator | None):
    return _C.rand((count,), dtype=_C.float64, generator=generator).numpy()


class Subscripted:
    """Base of what annotations say the samples of: ``Dataset[int]``, also as a base class."""

    def __class_getitem__(cls, item: Any) -> types.GenericAlias:
        return types.GenericAlias(cls, item)


class Sampler(Subscripted):
    """Base of all samplers: a subclass defines ``__iter__`` and, where it can, ``__len__``.

    Example:
        >>> class EveryOther(ebb.data.Sampler):
        ...     def __init__(self, data):
        ...         self.data = data
        ...     def __iter__(self):
        ...         return iter(range(0, len(self.data), 2))
        >>> loader = ebb.data.DataLoader(range(5), sampler=EveryOther(range(5)))
        >>> [batch.item() for batch in loader]
        [0, 2, 4]
    """

    def __iter__(self) -> Iterator[Any]:
        raise _C.NotImplementedError(f"{type(self).__name__}: needs __iter__, got none")


class SequentialSampler(Sampler):
    """All indices in order.

    Example:
        >>> list(ebb.data.SequentialSampler("abc"))
        [0, 1, 2]
    """

    def __init__(self, data_source: Sized):
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """All indices in random order, or as many as asked for.

    Args:
        data_source: What is indexed.
        replacement: Draw each index anew, so that some come several times.
        num_samples: How many to draw; the dataset's length if None. More than there are need
            further rounds.
        generator: Where random numbers come from; the default one if None.

    Example:
        >>> sorted(ebb.data.RandomSampler("abc"))
        [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: _C.Generator | None = None,
    ):
        if num_samples is not None:
            _check_count("RandomSampler", "num_samples", num_samples)
        self.data_source = data_source
        self.replacement = replacement
        self.generator = generator
        self._num_samples = num_samples

    @property
    def num_samples(self) -> int:
        """How many indices one round gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count, left = len(self.data_source), self.num_samples
        if count == 0 and left > 0:
            raise _C.ValueError("RandomSampler: needs a dataset that is not empty, got one that is")
        if self.replacement:
            for size in _blocks(left):
                yield from (_uniform(size, self.generator) * count).astype(int).tolist()
            return
        while left > 0:
            yield from permutation(count, self.generator)[:left]
            left -= count

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """The given indices in random order.

    Example:
        >>> sorted(ebb.data.SubsetRandomSampler([3, 5]))
        [3, 5]
    """

    def __init__(self, indices: Sequence[int], generator: _C.Generator | None = None):
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        return (self.indices[i] for i in permutation(len(self.indices), self.generator))

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Indices drawn with given weights.

    Args:
        weights: One number of at least 0 per index; they need not add up to 1.
        num_samples: How many to draw.
        replacement: Draw each index anew; else none comes twice.
        generator: Where random numbers come from; the default one if None.

    Example:
        >>> list(ebb.data.WeightedRandomSampler([0.0, 1.0], 3))
        [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float] | _C.Tensor,
        num_samples: int,
        replacement: bool = True,
        generator: _C.Generator | None = None,
    ):
        import numpy as np

        _check_count("WeightedRandomSampler", "num_samples", num_samples)
        weights = np.array(weights, dtype=np.float64)
        if weights.ndim != 1 or not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise _C.ValueError("WeightedRandomSampler: needs a list of finite weights >= 0")
        possible = int((weights > 0).sum())
        if possible < (1 if replacement else num_samples):
            raise _C.ValueError(
                f"WeightedRandomSampler: needs {1 if replacement else num_samples} weights above "
                f"0, got {possible}"
            )
        self.weights = _C.from_numpy(weights)
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        import numpy as np

        weights = np.asarray(self.weights, dtype=np.float64)
        if self.replacement:
            ends = weights.cumsum()
            # The last place rounds up to the end at worst: the last index with weight is meant.
            last = int(np.flatnonzero(weights)[-1])
            for size in _blocks(self.num_samples):
                places = _uniform(size, self.generator) * ends[-1]
                yield from ends.searchsorted(places, side="right").clip(max=last).tolist()
            return
        # The smallest of exponential times with these rates (Efraimidis and Spirakis, 2006).
        with np.errstate(divide="ignore"):
            times = -np.log1p(-_uniform(len(weights), self.generator)) / weights
        yield from times.argsort(kind="stable")[: self.num_samples].tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of ``batch_size`` indices of another sampler.

    Args:
        sampler: Where the indices come from.
        batch_size: Indices in a batch; the last may have fewer.
        drop_last: Leave out a last batch that is not full.

    Example:
        >>> list(ebb.data.BatchSampler(range(5), 2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool = False):
        _check_count("BatchSampler", "batch_size", batch_size)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def _check_count(owner: str, name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise _C.ValueError(f"{owner}: needs {name} as an int >= 1, got {value!r}")
