# tests/python/systems/beside_modes.py -- a program: ops of the table in other modes of arithmetic.
#
# `python -m tests.python.systems.beside_modes SHARE SHARES`: of the ops every SHARES-th is called,
# from number SHARE on, in each mode, by one thread and by three. Prints a line for each op whose
# bits differ.
"""Ops beside modes of arithmetic."""

from __future__ import annotations

import ctypes
import platform
import sys

import ebb
from tests.python.ops.op_rows import load_rows
from tests.python.systems.large import large_calls

DTYPES = ("float32", "float64", "complex64", "bfloat16", "float16")
# Values of <fenv.h>.
ROUNDING = {
    "x86_64": {"downward": 0x400, "upward": 0x800, "to zero": 0xC00},
    "aarch64": {"downward": 0x800000, "upward": 0x400000, "to zero": 0xC00000},
}[platform.machine()]
LIBM = ctypes.CDLL("libm.so.6")


def in_mode(mode: str, once):
    """Return what a call gives in a mode."""
    ebb.set_flush_denormal(mode == "flush")
    LIBM.fesetround(ROUNDING.get(mode, 0))
    try:
        return once()
    finally:
        LIBM.fesetround(0)
        ebb.set_flush_denormal(False)


def main(share: int, shares: int) -> None:
    """Call the ops of a share."""
    calls = 0
    for row in sorted(load_rows(), key=str)[share::shares]:
        for dtype in [one for one in DTYPES if one in row.dtypes]:
            for once in large_calls(row, dtype, cases=1):
                before = once()
                for mode in ("flush", *ROUNDING):
                    found = []
                    for threads in (1, 3):
                        ebb.set_num_threads(threads)
                        found.append(in_mode(mode, once))
                    calls += 1
                    if found[0] != found[1]:
                        print(f"{row.op} in {dtype}, {mode}: threads change the result")
                if once() != before:
                    print(f"{row.op} in {dtype}: a mode outlasts its end")
    print(f"{calls} calls", file=sys.stderr)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
