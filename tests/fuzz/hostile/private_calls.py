# tests/fuzz/hostile/private_calls.py -- calls every private function of ebb._C with arguments of
# all wrong kinds, each function in a forked process of its own; test_private_calls.py runs this.
"""Print the functions whose process a signal ended, and what it was called with last."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import sys
import tempfile

import numpy as np

import ebb
from ebb import _C
from tests.fuzz import seeds

SECONDS = 20  # a call that waits is no crash


class Odd:
    """Answers to nothing that is asked of it."""


def values() -> list[object]:
    """Return one object of every kind that a private function might meet."""
    leaf = ebb.ones(2, requires_grad=True)
    result = leaf * 2
    few = [None, "a", 1, -1, 2**70, 1.5, True, b"x", [], [1], ["a"], (), (1,), (None, "a"), {}]
    own = [leaf, result, result.grad_fn, [leaf], [result, None], (leaf, result), ebb.float32]
    own.append(ebb.Tensor.__new__(ebb.Tensor))
    kinds = [ebb.Tensor, _C._Snapshot, object, object(), Odd(), len, np.ones(2), ebb, sys.stdout]
    return [*few, *own, *kinds, ebb.nn.Linear(1, 1), ebb.device("cpu"), lambda *_: None]


def arguments(name: str, draws: int):
    """Yield no argument, each value alone, and a sample of two to five of them."""
    some = values()
    yield ()
    yield from ((one,) for one in some)
    rng = (seeds.fresh if sys.argv[1] == "fresh" else seeds.fixed)("private", name)
    for count in itertools.islice(itertools.cycle((2, 3, 4, 5)), draws):
        yield tuple(rng.choice(some) for _ in range(count))


def try_all(name: str, draws: int, note: int) -> None:
    """Call one function with everything; what it is called with is written to ``note`` before."""
    function = getattr(_C, name)
    for given in arguments(name, draws):
        text = f"{name}{tuple(type(one).__name__ for one in given)}"
        os.pwrite(note, text.encode().ljust(400), 0)
        # Whatever it raises is an answer; only the process has to live.
        with contextlib.suppress(BaseException):
            function(*given)


def ends_well(name: str, draws: int) -> str:
    """Try one function in a child; return what ended it, or nothing."""
    with tempfile.TemporaryFile() as note:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
            signal.alarm(SECONDS)
            sys.stdin.close()
            try_all(name, draws, note.fileno())
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status) and os.WEXITSTATUS(status) == 0:
            return ""
        return f"{os.pread(note.fileno(), 400, 0).decode().strip()}: status {status}"


def main() -> None:
    draws = int(sys.argv[2])
    names = [name for name in dir(_C) if name.startswith("_") and not name.startswith("__")]
    for name in [name for name in names if callable(getattr(_C, name))]:
        ended = ends_well(name, draws)
        if ended:
            print(ended)


if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # some of them write files
        main()
