# tools/mutate/tries.py -- tries mutants in processes of their own, some at a time.
"""What both kinds of mutants share: a fork for each try, its log, a limit of time, who survived."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

HEADER = Path(__file__).with_name("mutants.h")
TIMED_OUT = -signal.SIGKILL
VARIABLE = "EBB_MUTANT"


@dataclass(frozen=True)
class Task:
    """What a child process does: its exit status tells; after `limit` seconds it is ended."""

    work: Callable[[], int]
    limit: float = 0  # 0: none


def start(task: Task, log: Path) -> int:
    """Fork a child that works, with what it says in a log; return its process."""
    child = os.fork()
    if child != 0:
        return child
    status = 3
    try:
        os.setsid()
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        status = task.work()
    finally:
        sys.stdout.flush()
        os._exit(status)


def run_forked(tasks: dict[str, Task], jobs: int, logs: Path) -> Iterator[tuple[str, int]]:
    """Run each task; yield its name and exit status (negative: a signal) when it is done."""
    waiting = list(reversed(tasks.items()))
    running: dict[int, tuple[str, float]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            name, task = waiting.pop()
            end = time.monotonic() + task.limit if task.limit else float("inf")
            running[start(task, log_of(logs, name))] = (name, end)
        process, status = os.waitpid(-1, os.WNOHANG)
        if process in running:
            yield running.pop(process)[0], os.waitstatus_to_exitcode(status)
            continue
        for late in [one for one, (_, end) in running.items() if time.monotonic() > end]:
            os.killpg(late, signal.SIGKILL)
            os.waitpid(late, 0)
            yield running.pop(late)[0], TIMED_OUT
        time.sleep(0.01)


def log_of(logs: Path, name: str) -> Path:
    """Where the tests of a task write what they say."""
    return logs / f"mutant_{name}.log"


class Reached(ctypes.Structure):
    """`EbbMutants` of mutants.h."""

    _fields_ = (("active", ctypes.c_int), ("reached", ctypes.c_ubyte * 8192))


def in_package() -> Reached:
    """The mutants of the ebb that this process has imported."""
    module = ctypes.CDLL(sys.modules["ebb._C"].__file__)
    return Reached.in_dll(module, "ebb_mutants")


def activate(mutant: int) -> None:
    """Activate a mutant here, and in programs that tests start."""
    os.environ[VARIABLE] = str(mutant)
    in_package().active = mutant
