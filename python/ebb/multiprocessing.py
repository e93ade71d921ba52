# python/ebb/multiprocessing.py -- ebb.multiprocessing: Python's module under PyTorch's name.
"""``ebb.multiprocessing``: Python's module.

Tensors that go to another process are copied, but for those of ``Tensor.share_memory_()``.
"""

from __future__ import annotations

import multiprocessing as _python
import os
import signal
import time
from collections.abc import Iterator
from multiprocessing import *  # noqa: F403
from multiprocessing import connection as _connection
from typing import Any

from ebb import errors
from ebb._base import naming as _naming
from ebb._base.signature import takes

__all__ = [
    *_python.__all__,  # type: ignore[attr-defined]
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]

_STRATEGIES = ("file_system", "file_descriptor")
_MOST_PROCESSES = 4096  # each takes some 30 MB: more is a mistake


def get_all_sharing_strategies() -> set[str]:
    """Return the names that ``set_sharing_strategy`` takes.

    Example:
        >>> sorted(ebb.multiprocessing.get_all_sharing_strategies())
        ['file_descriptor', 'file_system']
    """
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """Return "file_system".

    Example:
        >>> ebb.multiprocessing.get_sharing_strategy()
        'file_system'
    """
    return _STRATEGIES[0]


def set_sharing_strategy(new_strategy: str) -> None:
    """Do nothing: tensors are shared one by one, by ``share_memory_()``.

    Example:
        >>> ebb.multiprocessing.set_sharing_strategy("file_descriptor")
        >>> ebb.multiprocessing.get_sharing_strategy()
        'file_system'
    """
    del new_strategy


class ProcessException(Exception):  # noqa: N818 -- of PyTorch
    """A process that was started ended otherwise than it should.

    Example:
        >>> ebb.multiprocessing.ProcessException("failed", 1, 4711).error_index
        1
    """

    def __init__(self, msg: str, error_index: int, pid: int):
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.pid = pid


class ProcessRaisedException(ProcessException, RuntimeError):  # noqa: N818 -- of PyTorch
    """It raised an exception; the message ends with its traceback.

    Example:
        >>> issubclass(ebb.multiprocessing.ProcessRaisedException, RuntimeError)
        True
    """


class ProcessExitedException(ProcessException, RuntimeError):  # noqa: N818 -- of PyTorch
    """It ended by a signal, or called ``exit`` with a number.

    Example:
        >>> ebb.multiprocessing.ProcessExitedException("ended", 0, 4711, exit_code=3).exit_code
        3
    """

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int,
        signal_name: str | None = None,
    ):  # fmt: skip
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name


class ProcessContext:
    """The processes that ``start_processes`` started and did not wait for.

    Attributes:
        processes: They, in the order of their numbers; iterating gives them too.

    Example:
        >>> import operator
        >>> context = ebb.multiprocessing.start_processes(operator.add, (10,), join=False)
        >>> context.join()
        True
    """

    def __init__(self, processes: list[Any], tracebacks: Any = None):
        self.processes = processes
        self._tracebacks = tracebacks  # the folder where they leave them

    def pids(self) -> list[int]:
        """Return the numbers that the system gave the processes."""
        return [one.pid for one in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until a process ends, and return whether all have.

        The others are ended when one failed, since they may wait for it.

        Args:
            timeout: Seconds to wait at most; None for no limit.
            grace_period: Seconds that others have to end by themselves once one failed.
        Raises:
            RuntimeError: If a process ended with an error.
        """
        running = {one.sentinel: one for one in self.processes if one.exitcode is None}
        # One that failed before this call is not waited for, nor what waits for it.
        is_waiting = running and not any(one.exitcode for one in self.processes)
        for sentinel in _connection.wait(running, timeout) if is_waiting else ():
            running[sentinel].join()  # its sentinel may be ready a moment before its exit code
        failed = [number for number, one in enumerate(self.processes) if one.exitcode]
        if failed:
            self._end(grace_period)
            raise self._error(failed)
        return all(one.exitcode is not None for one in self.processes)

    def _error(self, failed: list[int]) -> ProcessException:
        text = f"processes {failed} ended with an error, see above"
        first = self.processes[failed[0]]
        if first.exitcode == 1:
            return ProcessRaisedException(text + self._traceback(failed[0]), failed[0], first.pid)
        name = signal.Signals(-first.exitcode).name if first.exitcode < 0 else None
        return ProcessExitedException(text, failed[0], first.pid, first.exitcode, name)

    def _traceback(self, number: int) -> str:
        path = _traceback_path(self._tracebacks, number)
        if path is None or not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return f"\n\nprocess {number}:\n{file.read()}"

    def _end(self, grace_period: float | None) -> None:
        deadline = time.monotonic() + (grace_period or 0.0)
        for one in self.processes:
            if one.exitcode is None and grace_period:
                one.join(max(0.0, deadline - time.monotonic()))
            if one.exitcode is None:
                one.terminate()
        for one in self.processes:
            one.join()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.processes)

    def __len__(self) -> int:
        return len(self.processes)


def _run(
    fn: Any,
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> tuple[Any, ...]:
    return fn, args, nprocs, join, daemon, start_method


@takes(_run)
def start_processes(*run: Any) -> ProcessContext | None:
    """Run ``fn(number, *args)`` in processes of their own.

    Args:
        fn: What they run; it must be importable.
        args: What it gets after the number of its process.
        nprocs: How many there are.
        join: Whether to wait for all of them; else a ``ProcessContext`` is returned.
        daemon: Whether they end with this process.
        start_method: As in ``multiprocessing.get_context``.
    Raises:
        ValueError: For less than one process, or more than 4,096.
        RuntimeError: If one ended with an error, when ``join`` is set.
    Example:
        >>> import operator
        >>> ebb.multiprocessing.start_processes(operator.add, (10,), start_method="fork")
    """
    return _start("start_processes", *run)


@takes(_run)
def spawn(*run: Any) -> ProcessContext | None:
    """Do as ``start_processes``.

    Example:
        >>> import operator
        >>> ebb.multiprocessing.spawn(operator.add, (10,))  # 0 + 10, in a process of its own
        >>> ebb.multiprocessing.spawn(operator.add, (10,), nprocs=0)
        Traceback (most recent call last):
            ...
        ebb.errors.ValueError: spawn: nprocs needs 1 to 4096, got 0
    """
    return _start("spawn", *run)


def _start(
    caller: str, fn: Any, args: tuple[Any, ...], nprocs: int, join: bool, daemon: bool, method: str
) -> ProcessContext | None:
    if not 1 <= nprocs <= _MOST_PROCESSES:
        raise errors.ValueError(f"{caller}: nprocs needs 1 to {_MOST_PROCESSES}, got {nprocs}")
    import tempfile  # seldom needed

    context: Any = _python.get_context(method)
    folder = tempfile.TemporaryDirectory(prefix="ebb-processes-")
    started = [
        context.Process(
            target=_run,
            args=(fn, number, args, _traceback_path(folder, number)),
            daemon=daemon,
        )
        for number in range(nprocs)
    ]
    for one in started:
        one.start()
    made = ProcessContext(started, folder)
    if not join:
        return made
    while not made.join():
        pass
    return None


def _traceback_path(folder: Any, number: int) -> str | None:
    return None if folder is None else os.path.join(folder.name, str(number))


def _run(fn: Any, number: int, args: tuple[Any, ...], path: str) -> None:
    """What a process does: leaves the traceback of its exception, which also ends it."""
    try:
        fn(number, *args)
    except Exception:
        import traceback  # seldom needed

        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(traceback.format_exc())
        raise


_naming.name_module(__name__)
