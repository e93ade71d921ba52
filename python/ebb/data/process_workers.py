# python/ebb/data/process_workers.py -- workers that are processes, and how they end.
#
# Each worker has one socket to the main process. Closing it is the order to end: it happens when
# the iterator is closed or collected, when the main process exits, and when it is killed. Workers
# leave Ctrl-C to the main process. A worker that dies closes its end, which is noticed at once.
"""Processes made by fork or spawn; arrays travel through shared memory (``transfer.py``)."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import select
import selectors
import signal
import socket
import time
import weakref
from collections.abc import Sequence
from typing import Any

from ebb import _C
from ebb.data.transfer import Receiver, Sender
from ebb.data.worker import Answer, Recipe, Worker, WorkerInfo, seed_process

# How long workers may take to end by themselves, and then after SIGTERM.
_PATIENCE_S = (1.0, 1.0)
_KEPT_BLOCKS = 8  # of shared memory, by each worker


class ProcessWorkers:
    """Processes, each with a socket for tasks and answers."""

    def __init__(self, recipe: Recipe, seeds: Sequence[int], context: Any):
        self._channels: list[socket.socket] = []
        self._senders: list[Sender] = []
        self._receivers: list[Receiver] = []
        self._processes: list[Any] = []
        self._descriptors: list[int] = []  # of the processes
        self._tasks: list[dict[tuple[int, int], None]] = [{} for _ in seeds]  # not answered yet
        self._dead: dict[int, str] = {}
        self._selector = selectors.DefaultSelector()
        self.close = weakref.finalize(
            self, _stop, os.getpid(), self._channels, self._processes, self._descriptors,
            self._selector,
        )  # fmt: skip
        try:
            for number, seed in enumerate(seeds):
                self._start(recipe, WorkerInfo(number, len(seeds), seed, None), context)
        except BaseException:
            self.close()
            raise

    def _start(self, recipe: Recipe, info: WorkerInfo, context: Any) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._channels.append(ours)
        self._senders.append(Sender(ours))
        self._receivers.append(Receiver(ours))
        # A forked worker has copies of all our ends. It must close them, or none would ever see
        # the end of the others' sockets.
        inherited = list(self._channels) if context.get_start_method() == "fork" else []
        process = context.Process(
            target=_work,
            args=(theirs, inherited, recipe, info),
            name=f"ebb data worker {info.id}",
            daemon=True,
        )
        with theirs, _blocked(signal.SIGINT):  # the worker unblocks it once it ignores it
            process.start()
        self._processes.append(process)
        self._selector.register(ours, selectors.EVENT_READ, info.id)
        # Where a process of the worker's has inherited the socket, its end tells nothing.
        descriptor = os.pidfd_open(process.pid)
        self._descriptors.append(descriptor)
        self._selector.register(descriptor, selectors.EVENT_READ, info.id)

    def send(self, worker: int, task: tuple[int, int, Any]) -> None:
        """Give a task (epoch, number, index) to a worker."""
        self._tasks[worker][task[:2]] = None
        if worker not in self._dead:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                # If it has died, receive() will notice.
                self._senders[worker].send((self._receivers[worker].released(), *task))

    def receive(self, timeout: float | None) -> list[Answer]:
        """Return the next answers; none if ``timeout`` seconds have passed."""
        answers: list[Answer] = []
        for worker, text in self._dead.items():
            answers += self._failures(worker, text)
        if answers:
            return answers
        events = self._selector.select(timeout)
        # Answers first: a worker may have died after its last one.
        for key, _ in sorted(events, key=lambda event: isinstance(event[0].fileobj, int)):
            answers += self._read(key)
        return answers

    def _read(self, key: selectors.SelectorKey) -> list[Answer]:
        worker = key.data
        if worker in self._dead:
            return []
        if isinstance(key.fileobj, int):  # the process has ended
            self._channels[worker].setblocking(False)
        answers = []
        try:
            while True:
                answer = self._receivers[worker].receive()
                self._tasks[worker].pop((answer.epoch, answer.number), None)
                answers.append(answer)
                if not isinstance(key.fileobj, int):
                    return answers
        except (EOFError, ConnectionResetError, BlockingIOError):
            return answers + self._bury(worker)

    def _bury(self, worker: int) -> list[Answer]:
        """Note that a worker is dead; return errors for what it was to do."""
        process = self._processes[worker]
        if process.exitcode is None:
            process.join(_PATIENCE_S[0])
        code = process.exitcode
        if code is None:
            how = "closed its socket"
        elif code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
        else:
            how = f"exited with status {code}"
        text = f"DataLoader: needs all workers, got worker {worker} (pid {process.pid}) that {how}"
        if code == -signal.SIGKILL:
            text += "\nhint: the system kills with SIGKILL where memory runs out"
        self._dead[worker] = text
        self._selector.unregister(self._channels[worker])
        self._selector.unregister(self._descriptors[worker])
        return self._failures(worker, text)

    def _failures(self, worker: int, text: str) -> list[Answer]:
        tasks, self._tasks[worker] = self._tasks[worker], {}
        return [Answer(epoch, number, error=_C.Error(text)) for epoch, number in tasks]


@contextlib.contextmanager
def _blocked(signal_number: int) -> Any:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal_number])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _stop(
    owner: int, channels: list[socket.socket], processes: list[Any], descriptors: list[int],
    selector: Any,
) -> None:  # fmt: skip
    """End all workers: ask, then SIGTERM, then SIGKILL."""
    selector.close()
    for channel in channels:
        channel.close()
    if os.getpid() == owner:  # and not a forked copy, whose children they are not
        _end(processes, descriptors)
        for process in processes:
            process.close()
    for descriptor in descriptors:
        os.close(descriptor)


def _end(processes: list[Any], descriptors: list[int]) -> None:
    for number, patience in ((None, _PATIENCE_S[0]), (signal.SIGTERM, _PATIENCE_S[1]),
                             (signal.SIGKILL, None)):  # fmt: skip
        for process in processes:
            if number is not None and process.is_alive():
                os.kill(process.pid, number)
        until = None if patience is None else time.monotonic() + patience
        for process, descriptor in zip(processes, descriptors, strict=True):
            # Not join(), which also waits for the processes of the worker's.
            left = None if until is None else max(0.0, until - time.monotonic())
            select.select([descriptor], [], [], left)
            process.is_alive()  # takes note of its end
        if not any(process.is_alive() for process in processes):
            return


def _work(
    channel: socket.socket, inherited: list[socket.socket], recipe: Recipe, info: WorkerInfo
) -> None:
    """What a worker process runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    for other in inherited:
        other.close()
    _C.set_num_threads(1)  # the workers share the cores
    seed_process(info.seed)
    worker = Worker(recipe, WorkerInfo(info.id, info.num_workers, info.seed, recipe.dataset))
    receiver, sender = Receiver(channel), Sender(channel, _KEPT_BLOCKS)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            released, *task = receiver.receive()
            sender.release(released)
            _answer(sender, worker, task)


def _answer(sender: Sender, worker: Worker, task: Sequence[Any]) -> None:
    answer = worker.answer(*task)
    if answer.error is not None:
        answer.error = _portable(answer.error)
    try:
        sender.send(answer)
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:  # a batch that cannot be pickled
        report = f"in {worker.name}, sending a batch"
        sender.send(Answer(*task[:2], error=_portable(error), report=report))


def _portable(error: BaseException) -> BaseException:
    """Return the exception, or the nearest that can be sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        text = str(error)
        try:
            plain = type(error)(text)
            pickle.loads(pickle.dumps(plain))
        except Exception:
            return _C.Error(f"{type(error).__name__}: {text}")
        return plain
    return error


def context_of(name: Any) -> Any:
    """Return the multiprocessing context of a name, None for the default."""
    if name is not None and not isinstance(name, str):
        return name
    try:
        return multiprocessing.get_context(name)
    except ValueError:
        known = ", ".join(multiprocessing.get_all_start_methods())
        raise _C.ValueError(
            f"DataLoader: needs multiprocessing_context among {known}, got {name!r}"
        ) from None
