# python/ebb/data/dataset.py -- data sets: what a DataLoader takes its samples from.
"""Datasets with an index, datasets that are a stream, and how to combine and divide them."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ebb import _C
from ebb.data.sampler import Subscripted, permutation

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]


class Dataset(Subscripted):
    """Samples by index: a subclass defines ``__getitem__``, and ``__len__`` for most samplers.

    ``__getitems__(indices)``, if defined, returns a list of samples at once; ``__getbatch__``, if
    defined, the batch itself, where nothing else than ``default_collate`` is asked for.

    Example:
        >>> class Squares(ebb.data.Dataset):
        ...     def __len__(self):
        ...         return 4
        ...     def __getitem__(self, index):
        ...         return index * index
        >>> [batch.tolist() for batch in ebb.data.DataLoader(Squares(), batch_size=2)]
        [[0, 1], [4, 9]]
    """

    def __getitem__(self, index: Any) -> Any:
        raise _C.NotImplementedError(f"{type(self).__name__}: needs __getitem__, got none")

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Samples as a stream: a subclass defines ``__iter__``.

    Every worker of a DataLoader iterates over a copy of its own; ``get_worker_info()`` tells it
    which part is its.

    Example:
        >>> class Count(ebb.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(4))
        >>> [batch.tolist() for batch in ebb.data.DataLoader(Count(), batch_size=2)]
        [[0, 1], [2, 3]]
    """

    def __iter__(self) -> Iterator[Any]:
        raise _C.NotImplementedError(f"{type(self).__name__}: needs __iter__, got none")

    def __add__(self, other: Dataset) -> ChainDataset:
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Rows of tensors: sample ``i`` is the tuple of their ``i``-th rows.

    Example:
        >>> data = ebb.data.TensorDataset(ebb.zeros(5, 2), ebb.arange(5))
        >>> image, label = data[3]
        >>> label
        tensor(3)
    """

    def __init__(self, *tensors: _C.Tensor):
        if not tensors or not all(isinstance(t, _C.Tensor) and t.ndim > 0 for t in tensors):
            raise _C.DTypeError("TensorDataset: needs one or more Tensors with at least one dim")
        lengths = sorted({len(tensor) for tensor in tensors})
        if len(lengths) != 1:
            raise _C.ShapeError(f"TensorDataset: needs tensors of equal length, got {lengths}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[_C.Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])

    def __getbatch__(self, indices: Sequence[int]) -> list[_C.Tensor]:
        """Return what ``default_collate`` makes of these samples, with one op per tensor."""
        chosen = _C.tensor(indices, dtype=_C.int64)
        return [tensor.index_select(0, chosen) for tensor in self.tensors]


class Subset(Dataset):
    """The samples of ``dataset`` at ``indices``.

    Example:
        >>> list(ebb.data.Subset("abcd", [0, 2]))
        ['a', 'c']
    """

    def __init__(self, dataset: Any, indices: Sequence[int]):
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: int) -> Any:
        return self.dataset[self.indices[index]]

    def __getitems__(self, numbers: Sequence[int]) -> list[Any]:
        return _samples_of(self.dataset, [self.indices[number] for number in numbers])

    def __len__(self) -> int:
        return len(self.indices)


class StackDataset(Dataset):
    """Samples of several datasets side by side: tuples, or dicts by the names they were given.

    Args:
        args: Datasets of equal length, for tuples.
        kwargs: The same by name, for dicts.
    Example:
        >>> pairs = ebb.data.StackDataset([1, 2, 3], ["a", "b", "c"])
        >>> pairs[1]
        (2, 'b')
    """

    def __init__(self, *args: Any, **kwargs: Any):
        if bool(args) == bool(kwargs):
            raise _C.ValueError(
                "StackDataset: needs datasets either by place or by name, got "
                + ("both" if args else "none")
            )
        self.datasets: Any = args or kwargs
        lengths = sorted({len(dataset) for dataset in args or kwargs.values()})
        if len(lengths) != 1:
            raise _C.ValueError(f"StackDataset: needs datasets of equal length, got {lengths}")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: Sequence[Any]) -> list[Any]:
        named = isinstance(self.datasets, dict)
        parts = self.datasets.values() if named else self.datasets
        samples = zip(*(_samples_of(part, indices) for part in parts), strict=True)
        if not named:
            return list(samples)
        return [dict(zip(self.datasets, sample, strict=True)) for sample in samples]

    def __len__(self) -> int:
        return len(next(iter(self.datasets.values())) if isinstance(self.datasets, dict)
                   else self.datasets[0])  # fmt: skip


def _samples_of(dataset: Any, indices: Sequence[Any]) -> list[Any]:
    """Return samples, all at once if the dataset can."""
    if not hasattr(dataset, "__getitems__"):
        return [dataset[index] for index in indices]
    found = dataset.__getitems__(indices)
    if len(found) != len(indices):
        raise _C.ValueError(
            f"__getitems__: needs a sample for each of {len(indices)} indices, got {len(found)}"
        )
    return found


class ConcatDataset(Dataset):
    """Datasets one after another.

    Example:
        >>> len(ebb.data.ConcatDataset([range(2), range(3)]))
        5
    """

    def __init__(self, datasets: Iterable[Any]):
        self.datasets: list[Any] = list(datasets)
        if not self.datasets:
            raise _C.ValueError("ConcatDataset: needs at least one dataset, got none")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise _C.DTypeError(
                "ConcatDataset: needs datasets with an index, got an IterableDataset"
                "\nhint: use ChainDataset"
            )
        self.cumulative_sizes: list[int] = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Return where each dataset ends in the whole."""
        return list(itertools.accumulate(map(len, sequence)))

    def __getitem__(self, index: int) -> Any:
        length = len(self)
        if not -length <= index < length:
            raise _C.IndexError(f"ConcatDataset: needs an index below {length}, got {index}")
        index %= length
        number = bisect.bisect_right(self.cumulative_sizes, index)
        start = self.cumulative_sizes[number - 1] if number > 0 else 0
        return self.datasets[number][index - start]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


class ChainDataset(IterableDataset):
    """Streams one after another.

    Example:
        >>> class Count(ebb.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(2))
        >>> list(ebb.data.ChainDataset([Count(), Count()]))
        [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable[Iterable[Any]]):
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datasets)


def batch_function(dataset: Any) -> Callable[[Sequence[int]], Any] | None:
    """Return what makes a whole batch at once, None if the dataset cannot."""
    if not isinstance(dataset, Subset):
        return getattr(dataset, "__getbatch__", None)
    inner = batch_function(dataset.dataset)
    if inner is None:
        return None
    return lambda numbers: inner([dataset.indices[number] for number in numbers])


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: _C.Generator | None = None
) -> list[Subset]:
    """Divide a dataset at random into parts that do not overlap.

    Args:
        dataset: What to divide.
        lengths: Numbers of samples, or fractions that add up to 1; samples left over by rounding
            go one each to the first parts.
        generator: Where random numbers come from; the default one if None.
    Example:
        >>> generator = ebb.Generator().manual_seed(0)
        >>> train, test = ebb.data.random_split(range(10), [0.8, 0.2], generator)
        >>> len(train), len(test)
        (8, 2)
    """
    count = len(dataset)
    sizes = list(lengths)
    if any(size < 0 for size in sizes):
        raise _C.ValueError(f"random_split: needs lengths of at least 0, got {sizes}")
    if any(isinstance(size, float) for size in sizes):
        sizes = _sizes_of_fractions(sizes, count)
    if sum(sizes) != count:
        raise _C.ValueError(
            f"random_split: needs lengths that add up to {count}, got {sizes}, {sum(sizes)} in all"
        )
    order = permutation(count, generator)
    ends = itertools.accumulate(sizes)
    return [Subset(dataset, order[end - size : end])
            for size, end in zip(sizes, ends, strict=True)]  # fmt: skip


def _sizes_of_fractions(fractions: Sequence[float], count: int) -> list[int]:
    if not math.isclose(sum(fractions), 1.0):
        raise _C.ValueError(
            f"random_split: needs fractions that add up to 1, got {list(fractions)}"
        )
    sizes = [math.floor(count * fraction) for fraction in fractions]
    for number in range(count - sum(sizes)):
        sizes[number % len(sizes)] += 1
    return sizes
