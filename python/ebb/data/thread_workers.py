# python/ebb/data/thread_workers.py -- workers that are threads of this process.
"""For work that lets other threads run: reading files, and large NumPy or ebb operations."""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Sequence
from typing import Any

from ebb import _C
from ebb.data.worker import Answer, Recipe, Worker, WorkerInfo


class ThreadWorkers:
    """Threads, each with a queue of tasks, and one queue of answers."""

    def __init__(self, recipe: Recipe, seeds: Sequence[int]):
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._tasks = [queue.SimpleQueue() for _ in seeds]
        for number, seed in enumerate(seeds):
            info = WorkerInfo(number, len(seeds), seed, recipe.dataset)
            # The threads know the queues and not this object, which may then be collected.
            threading.Thread(
                target=_work,
                args=(recipe, info, self._tasks[number], self._answers),
                name=f"ebb data worker {number}",
                daemon=True,
            ).start()
        self.close = weakref.finalize(self, _stop, self._tasks)

    def send(self, worker: int, task: tuple[int, int, Any]) -> None:
        """Give a task (epoch, number, index) to a worker."""
        self._tasks[worker].put(task)

    def receive(self, timeout: float | None) -> list[Answer]:
        """Return the next answers; none if ``timeout`` seconds have passed."""
        try:
            return [self._answers.get(timeout=timeout)]
        except queue.Empty:
            return []


def _work(recipe: Recipe, info: WorkerInfo, tasks: Any, answers: Any) -> None:
    worker = Worker(recipe, info)
    with _C.enable_grad():  # as in a fresh process, whatever the main thread's mode
        while (task := tasks.get()) is not None:
            answers.put(worker.answer(*task))


def _stop(tasks: list[Any]) -> None:
    for one in tasks:
        while not one.empty():  # what was not begun is not wanted any more
            try:
                one.get_nowait()
            except queue.Empty:
                break
        one.put(None)
