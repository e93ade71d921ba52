# python/ebb/data/worker.py -- what a worker knows and does, be it a process, a thread or neither.
"""``Fetcher`` makes batches; ``WorkerInfo`` tells a dataset in which worker it runs."""

from __future__ import annotations

import itertools
import sys
from _thread import _local as ThreadLocal
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

# The parts of a DataLoader that need threads, processes or tracebacks import them when they run:
# `import ebb` should not wait for them.
from ebb import _C
from ebb.data.collate import default_collate, stacks_tensors
from ebb.data.dataset import IterableDataset, batch_function

_current = ThreadLocal()


class WorkerInfo(NamedTuple):
    """The worker that this code runs in; ``dataset`` is its own copy if it is a process."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


def get_worker_info() -> WorkerInfo | None:
    """Return the DataLoader worker that this code runs in, None outside of any.

    Example:
        >>> ebb.data.get_worker_info() is None
        True
    """
    return getattr(_current, "info", None)


def enter_worker(info: WorkerInfo) -> None:
    """Say that the calling thread is a worker."""
    _current.info = info


def seed_process(seed: int) -> None:
    """Seed all random numbers of this process: Python's, NumPy's if it is loaded, and ebb's."""
    import random

    random.seed(seed)
    _C.manual_seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)


class Recipe(NamedTuple):
    """How batches are made; the part of a DataLoader that travels to its workers."""

    dataset: Any
    collate_fn: Callable[[Any], Any]
    has_batches: bool
    batch_size: int | None
    drop_last: bool
    worker_init_fn: Callable[[int], None] | None


class Fetcher:
    """Makes one batch at a time, from indices or from a stream."""

    def __init__(self, recipe: Recipe):
        self.recipe = recipe
        is_stream = isinstance(recipe.dataset, IterableDataset)
        self.stream: Any = iter(recipe.dataset) if is_stream else None
        self.make_batch: Callable[[Any], Any] | None = None
        if recipe.has_batches and recipe.collate_fn is default_collate and stacks_tensors():
            self.make_batch = batch_function(recipe.dataset)

    def fetch(self, index: Any) -> Any:
        """Return a batch. Raises StopIteration where a stream has no more."""
        recipe = self.recipe
        if self.stream is not None:
            return self._next_of_stream()
        if not recipe.has_batches:
            return recipe.collate_fn(recipe.dataset[index])
        if self.make_batch is not None:
            return self.make_batch(index)
        return recipe.collate_fn(_samples(recipe.dataset, index))

    def _next_of_stream(self) -> Any:
        recipe = self.recipe
        if not recipe.has_batches:
            return recipe.collate_fn(next(self.stream))
        samples = list(itertools.islice(self.stream, recipe.batch_size))
        if not samples or (recipe.drop_last and len(samples) < recipe.batch_size):
            raise StopIteration
        return recipe.collate_fn(samples)


def _samples(dataset: Any, indices: Sequence[Any]) -> list[Any]:
    if hasattr(dataset, "__getitems__"):
        return dataset.__getitems__(indices)
    return [dataset[index] for index in indices]


class Answer:
    """What became of one task: a batch, the end of a stream, or an exception."""

    def __init__(
        self, epoch: int, number: int, value: Any = None, *, is_end: bool = False,
        error: BaseException | None = None, report: str = "",
    ):  # fmt: skip
        self.epoch = epoch
        self.number = number  # of the batch
        self.value = value
        self.is_end = is_end
        self.error = error
        self.report = report  # the traceback of `error`


class Worker:
    """Answers tasks, each with ``Fetcher.fetch``; a failure to start is the answer to all.

    Exceptions are given away: once raised in the main thread, they hold on to its frames, and with
    them to the iterator whose end a worker waits for.
    """

    def __init__(self, recipe: Recipe, info: WorkerInfo):
        self.recipe = recipe
        self.name: str = f"DataLoader worker {info.id}"
        self.fetcher: Fetcher | None = None
        self.epoch: int = -1
        self.failure: BaseException | None = None
        self.report = ""
        enter_worker(info)
        try:
            if recipe.worker_init_fn is not None:
                recipe.worker_init_fn(info.id)
        except Exception as error:
            self.failure = error
            self.report: str = self._report(error)

    def answer(self, epoch: int, number: int, index: Any) -> Answer:
        """Return the answer to one task."""
        if self.report:
            error, self.failure = self.failure, None
            error = error or _C.Error(f"{self.name}: needs worker_init_fn to work, got an error")
            return Answer(epoch, number, error=error, report=self.report)
        try:
            if epoch != self.epoch:
                self.fetcher = Fetcher(self.recipe)
                self.epoch = epoch
            try:
                return Answer(epoch, number, self.fetcher.fetch(index))
            except StopIteration:
                if self.fetcher.stream is None:
                    raise
                return Answer(epoch, number, is_end=True)
        except Exception as error:
            return Answer(epoch, number, error=error, report=self._report(error))

    def _report(self, error: BaseException) -> str:
        import traceback

        lines = "".join(traceback.format_exception(error)).rstrip()
        return f"in {self.name}:\n{lines}"


def raise_answer(answer: Answer) -> None:
    """Raise the exception of an answer, with the worker's traceback as a note."""
    # Nothing here may keep the exception: its traceback leads to this frame and to the iterator,
    # whose workers would then live until the next garbage collection.
    error, answer.error = answer.error, None
    try:
        if isinstance(error, StopIteration):  # would end the loop over the batches without a word
            error = RuntimeError("DataLoader: needs a sample, got StopIteration")
        if hasattr(error, "add_note"):  # since Python 3.11
            error.add_note(answer.report)
        raise error
    finally:
        del error
