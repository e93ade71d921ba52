# python/ebb/data/loader.py -- DataLoader: batches of a dataset, made here or by workers.
#
# DataLoader checks its arguments once. Each `for` makes an iterator, by PyTorch's names: a plain
# generator without workers; else a _MultiProcessingDataLoaderIter, which hands out tasks in order,
# a few ahead, and puts the answers back into that order. Start reading at its __next__().
"""The class and its iterators; workers are in ``process_workers.py`` and ``thread_workers.py``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from ebb import _C
from ebb._base.arguments import check_callable
from ebb.data.collate import default_collate, default_convert
from ebb.data.dataset import IterableDataset
from ebb.data.pinning import pin_batch
from ebb.data.sampler import BatchSampler, RandomSampler, SequentialSampler, Subscripted
from ebb.data.worker import Answer, Fetcher, Recipe, raise_answer

__all__ = ["DataLoader"]


class DataLoader(Subscripted):
    """Iterates over a dataset in batches.

    Args:
        dataset: A ``Dataset`` (or anything with ``__getitem__``), or an ``IterableDataset``.
        batch_size: Samples in a batch; None gives single samples.
        shuffle: Visit the samples in a new random order each time.
        sampler: Gives the indices, instead of ``shuffle``.
        batch_sampler: Gives lists of indices, instead of ``batch_size``, ``shuffle``, ``sampler``
            and ``drop_last``.
        num_workers: How many workers make batches ahead of time; 0 makes them here. The order of
            the batches does not depend on it.
        collate_fn: Makes a batch of a list of samples; ``default_collate`` if None.
        pin_memory: Give batches in memory that devices copy from while the program goes on, with
            ``to(device, non_blocking=True)``; where no device has such memory nothing changes.
        drop_last: Leave out a last batch that is not full.
        timeout: Seconds to wait for a batch of a worker; 0 waits for ever.
        worker_init_fn: Called in each worker with its number.
        multiprocessing_context: "fork", "spawn" or "forkserver", or such a context.
        generator: Where shuffling and the workers' seeds come from; the default one if None.
        prefetch_factor: Batches that each worker makes ahead; 2 if None.
        persistent_workers: Keep the workers from one round to the next.
        pin_memory_device: Which device's memory that is; see ``Tensor.pin_memory()``.
        in_order: With False, give a batch as soon as any worker has one.
        worker_type: "process"; or "thread", for datasets that mostly wait or run NumPy and ebb.
    Example:
        >>> data = ebb.data.TensorDataset(ebb.zeros(5, 2), ebb.arange(5))
        >>> for images, labels in ebb.data.DataLoader(data, batch_size=3):
        ...     print(images.shape, labels.tolist())
        ebb.Size([3, 2]) [0, 1, 2]
        ebb.Size([2, 2]) [3, 4]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: _C.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        worker_type: str = "process",
    ):
        check_callable(*(one for one in (collate_fn, worker_init_fn) if one is not None))
        self.dataset = dataset
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.drop_last = drop_last
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.pin_memory_device = pin_memory_device
        self.in_order = in_order
        self.worker_type = worker_type
        self._check_workers(prefetch_factor)
        self.prefetch_factor: int | None = prefetch_factor or (2 if num_workers > 0 else None)
        self.multiprocessing_context = multiprocessing_context
        self._is_stream = isinstance(dataset, IterableDataset)
        self._check_sampling(batch_size, shuffle, sampler, batch_sampler)
        self._choose_samplers(batch_size, shuffle, sampler, batch_sampler)
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self._workers: Any = None  # if they are kept
        self._epoch = 0

    def _check_workers(self, prefetch_factor: int | None) -> None:
        count = self.num_workers
        if not isinstance(count, int) or count < 0:
            raise _C.ValueError(f"DataLoader: needs num_workers >= 0, got {count!r}")
        if self.timeout < 0:
            raise _C.ValueError(f"DataLoader: needs timeout >= 0, got {self.timeout}")
        if self.worker_type not in ("process", "thread"):
            raise _C.ValueError(
                f"DataLoader: needs worker_type 'process' or 'thread', got {self.worker_type!r}"
            )
        if prefetch_factor is not None and prefetch_factor < 1:
            raise _C.ValueError(f"DataLoader: needs prefetch_factor >= 1, got {prefetch_factor}")
        if count == 0 and (prefetch_factor is not None or self.persistent_workers or self.timeout):
            raise _C.ValueError(
                "DataLoader: needs num_workers > 0 for prefetch_factor, persistent_workers and "
                "timeout, got 0"
            )

    def _check_sampling(
        self, batch_size: int | None, shuffle: bool | None, sampler: Any, batch_sampler: Any
    ) -> None:
        if self._is_stream and (shuffle or sampler is not None or batch_sampler is not None):
            raise _C.ValueError(
                "DataLoader: needs no shuffle, sampler or batch_sampler for an IterableDataset, "
                "got one\nhint: its __iter__ decides on the order"
            )
        if sampler is not None and shuffle:
            raise _C.ValueError("DataLoader: needs either sampler or shuffle, got both")
        if batch_sampler is None:
            if batch_size is None and self.drop_last:
                raise _C.ValueError("DataLoader: needs a batch_size for drop_last, got None")
        elif batch_size != 1 or shuffle or sampler is not None or self.drop_last:
            raise _C.ValueError(
                "DataLoader: needs batch_sampler without batch_size, shuffle, sampler and "
                "drop_last, got both"
            )

    def _choose_samplers(
        self, batch_size: int | None, shuffle: bool | None, sampler: Any, batch_sampler: Any
    ) -> None:
        if sampler is None and not self._is_stream:
            if shuffle:
                sampler = RandomSampler(self.dataset, generator=self.generator)
            else:
                sampler = SequentialSampler(self.dataset)
        if batch_sampler is None and batch_size is not None:
            # A stream has no indices; here its batch sampler only checks the size.
            batch_sampler = BatchSampler(
                () if sampler is None else sampler, batch_size, self.drop_last
            )
        self.batch_size = batch_size
        self.sampler = sampler
        self.batch_sampler = batch_sampler

    # Programs that derive from PyTorch's class use the next three, which it keeps to itself.

    @property
    def _auto_collation(self) -> bool:
        """Whether samples are put together into batches."""
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        """What gives the indices: of batches, or of single samples."""
        return self.batch_sampler if self._auto_collation else self.sampler

    def _get_iterator(self) -> Iterator[Any]:
        """Make what a ``for`` goes over."""
        # Drawn even where there is no worker: the order must not depend on their number.
        seed = int(_C.rand((), dtype=_C.float64, generator=self.generator).item() * 2**53)
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self, self._iterate(Fetcher(self._recipe())))
        self._epoch += 1
        if not self.persistent_workers:
            return _MultiProcessingDataLoaderIter(self, self._make_workers(seed))
        if self._workers is None or not self._workers.close.alive:
            self._workers = self._make_workers(seed)
        return _MultiProcessingDataLoaderIter(self, self._workers)

    def __iter__(self) -> Iterator[Any]:
        return self._get_iterator()

    def _make_workers(self, seed: int) -> Any:
        seeds = [seed + number for number in range(self.num_workers)]
        if self.worker_type == "thread":
            # Several threads that import NumPy for the first time at once find parts of it missing.
            import numpy as np  # noqa: F401

            from ebb.data.thread_workers import ThreadWorkers

            return ThreadWorkers(self._recipe(), seeds)
        from ebb.data.process_workers import ProcessWorkers, context_of

        return ProcessWorkers(self._recipe(), seeds, context_of(self.multiprocessing_context))

    def _iterate(self, fetcher: Fetcher) -> Iterator[Any]:
        if not self._is_stream:
            for index in self._tasks():
                yield self._pinned(fetcher.fetch(index))
            return
        while True:
            try:
                batch = fetcher.fetch(None)
            except StopIteration:
                return
            yield self._pinned(batch)

    def _pinned(self, batch: Any) -> Any:
        """Return the batch, in pinned memory if that is asked for and there is such memory."""
        device = self.pin_memory_device or None
        is_asked = self.pin_memory and _C._has_pinned_memory(device)
        return pin_batch(batch, device) if is_asked else batch

    def _recipe(self) -> Recipe:
        return Recipe(
            self.dataset,
            self.collate_fn,
            self._auto_collation,
            self.batch_size,
            self.drop_last,
            self.worker_init_fn,
        )

    def _tasks(self) -> Iterable[Any]:
        """Return what a worker needs to know for each batch: its indices."""
        if self._is_stream:
            return _forever()
        return self._index_sampler

    def __len__(self) -> int:
        if not self._is_stream:
            return len(self._tasks())  # type: ignore[arg-type]
        count = len(self.dataset)
        if not self._auto_collation:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def _forever() -> Iterator[None]:
    while True:
        yield None


class _BaseDataLoaderIter:
    """What goes over a loader's batches."""

    _loader: DataLoader

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._loader)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Gives batches that are made when they are asked for."""

    def __init__(self, loader: DataLoader, batches: Iterator[Any]):
        self._loader = loader
        self._batches = batches

    def __next__(self) -> Any:
        return next(self._batches)


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Gives batches in the order of their tasks, while workers make the next ones."""

    def __init__(self, loader: DataLoader, workers: Any):
        self._loader = loader
        self._workers = workers
        self._epoch = loader._epoch
        self._tasks = iter(loader._tasks())
        self._sent = 0  # tasks given out
        self._given = 0  # batches handed to the caller, or skipped
        self._ready: dict[int, Answer] = {}
        self._active = list(range(loader.num_workers))  # those whose stream goes on
        self._turn = 0
        self._owners: dict[int, int] = {}
        self._fill()

    @property
    def is_closed(self) -> bool:
        """Whether the workers have been stopped."""
        return not self._workers.close.alive

    def close(self) -> None:
        """Stop the workers."""
        self._workers.close()

    def __next__(self) -> Any:
        while True:
            next_one = self._given if self._loader.in_order else next(iter(self._ready), None)
            if next_one in self._ready:
                answer = self._ready.pop(next_one)
                owner = self._owners.pop(next_one)
                self._given += 1
                if answer.is_end and owner in self._active:
                    self._active.remove(owner)
                self._fill()
                if answer.is_end:
                    continue
                if answer.error is not None:
                    raise_answer(answer)
                return self._loader._pinned(answer.value)
            if self._given == self._sent:
                if not self._loader.persistent_workers:
                    self.close()
                raise StopIteration
            self._collect()

    def _fill(self) -> None:
        """Give out tasks until enough are under way."""
        limit = self._loader.prefetch_factor * self._loader.num_workers
        while self._active and self._sent - self._given < limit and not self.is_closed:
            try:
                index = next(self._tasks)
            except StopIteration:
                return
            worker = self._next_worker()
            self._owners[self._sent] = worker
            self._workers.send(worker, (self._epoch, self._sent, index))
            self._sent += 1

    def _next_worker(self) -> int:
        """Return who gets the next task: each in turn, or who has the fewest to do."""
        self._turn += 1
        if self._loader.in_order:
            return self._active[(self._turn - 1) % len(self._active)]
        waiting = [owner for number, owner in self._owners.items() if number not in self._ready]
        return min(self._active, key=waiting.count)

    def _collect(self) -> None:
        """Wait for answers; those of an earlier round with the same workers are dropped."""
        if self._loader.persistent_workers and self._epoch != self._loader._epoch:
            raise _C.Error("DataLoader: needs one round at a time with persistent_workers, "
                           "got a second one")  # fmt: skip
        if self.is_closed:
            raise _C.Error("DataLoader: needs running workers, got an iterator that was closed")
        timeout = self._loader.timeout or None
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                self.close()
                raise _C.Error(f"DataLoader: needs a batch within {timeout} seconds, got none")
            answers = self._workers.receive(left)
            mine = {answer.number: answer for answer in answers if answer.epoch == self._epoch}
            self._ready.update(mine)
            if mine:
                return
