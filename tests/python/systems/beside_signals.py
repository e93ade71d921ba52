# tests/python/systems/beside_signals.py -- a program: ops of the table while signals come.
#
# `python -m tests.python.systems.beside_signals LIBRARY SHARE SHARES MILLISECONDS`: the library is
# probe.c, compiled. Of the ops every SHARES-th is called, from number SHARE on, each call for so
# long. Prints a line for each op whose results change and for handlers that ran in a wrong place.
"""Ops beside signals."""

from __future__ import annotations

import ctypes
import faulthandler
import resource
import signal
import sys
import time

from tests.python.ops.op_rows import load_rows
from tests.python.systems.large import large_calls

DTYPES = ("float32", "float64", "complex64", "bfloat16", "float16")
PERIOD = 300  # microseconds
MOST_MEMORY = 8 << 30


def python_handler(*_: object) -> None:
    """Take a signal."""


def main(library: str, share: int, shares: int, milliseconds: int) -> None:
    """Call the ops of a share."""
    assert not faulthandler.is_enabled()  # it would give handlers a stack of their own
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    probe = ctypes.CDLL(library)
    calls = 0
    for row in sorted(load_rows(), key=str)[share::shares]:
        for dtype in [one for one in DTYPES if one in row.dtypes]:
            for once in large_calls(row, dtype):
                wanted = once()
                for in_python in (False, True):
                    calls += 1
                    probe.probe_every(PERIOD)
                    if in_python:
                        signal.signal(signal.SIGALRM, python_handler)
                    end = time.monotonic() + milliseconds / 1000
                    is_same = once() == wanted
                    while is_same and time.monotonic() < end:
                        is_same = once() == wanted
                    probe.probe_every(0)
                    if not is_same:
                        print(f"{row.op} in {dtype}: other results beside signals")
    if probe.probe_calls_outside():
        print(f"{probe.probe_calls_outside()} handlers ran outside of the stack")
    print(f"{calls} calls, {probe.probe_calls()} signals in C", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
