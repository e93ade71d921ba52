# tests/fuzz/races.py -- one thread loops an op, another rewrites its operands through NumPy: with
# numbers in and out of range, masks, NaN. test_races.py runs this in processes of its own.
#
# What is raced is every row of the op table with an operand of integers or bool alone, or with
# indices in its cases, in all its forms, forward and backward; its cases are made larger, so that
# kernels run without the GIL. Ops that no case reaches, or whose indices only exist after a call,
# are in race_programs.py. Start reading at race().
"""Races of all ops that read indices, sizes or row starts, and how to run one."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import ebb
from tests.fuzz import seeds
from tests.python.ops.op_rows import (
    Array,
    Case,
    Row,
    call,
    function_of,
    inplace_of,
    load_rows,
    make_arguments,
    split_arguments,
)

SCALE = 24
WHOLE = {"bool", "uint8", "int8", "int16", "int32", "int64"}
WRONG = (-1, 1 << 40, -(1 << 63), (1 << 63) - 1, 5, 100)

# Given to a program: says which arrays the other thread writes from now on. An array object that
# is shared again keeps what was right at first.
Share = Callable[..., None]


@dataclass(frozen=True)
class Race:
    """A program that is called again and again while what it shares is written."""

    name: str
    program: Callable[[Share], object]
    ops: frozenset[str] = frozenset()
    is_row: bool = False  # made of a row's case, and named after its op


def reads_indices(row: Row) -> bool:
    """Whether the op takes numbers that are places: integers or masks, never floating."""
    cases = row.test.get("inputs", [])
    drawn = isinstance(cases, list) and any("below" in str(one) for one in cases)
    return bool(row.tensors) and (drawn or bool(_whole_operands(row)))


def _whole_operands(row: Row) -> list[str]:
    names = [one["name"] for one in row.params if one["type"].startswith("Tensor")]
    dtypes = row.data["dtypes"]
    return [name for name in names if name in dtypes and set(dtypes[name]) <= WHOLE]


def of_row(row: Row) -> Iterator[Race]:
    """Yield a race per form and case of one row."""
    if "none" in row.test:
        return
    for number, case in enumerate(row.cases()):
        arrays = [one for one in case.arguments.values() if isinstance(one, Array)]
        if not any(one.shape for one in arrays) or any(0 in one.shape for one in arrays):
            continue
        for form in row.forms:
            name = f"{row.op} {form} {number}"
            yield Race(name, _program(row, _larger(case), form), frozenset([row.op]), True)


def _larger(case: Case) -> Case:
    """Return the case with all sizes but 1 times SCALE, and so what indexes them."""
    arrays = {name: one for name, one in case.arguments.items() if isinstance(one, Array)}
    larger = dict(case.arguments)
    for name, one in arrays.items():
        others = [size for key, other in arrays.items() if key != name for size in other.shape]
        below = one.below * SCALE if one.below in others else one.below
        shape = tuple(size * SCALE if size != 1 else 1 for size in one.shape)
        larger[name] = Array(shape, below)
    return Case(larger)


def _program(row: Row, case: Case, form: str) -> Callable[[Share], object]:
    dtype = "float32" if "float32" in row.dtypes else row.dtypes[-1]
    arguments = make_arguments(row, case, dtype)
    tensors = [name for name, one in arguments.items() if isinstance(one, ebb.Tensor)]
    arrays = [arguments[name].numpy() for name in tensors]
    if form == "plain":
        for name in set(tensors) & set(row.differentiable):
            with contextlib.suppress(ebb.errors.Error):
                arguments[name] = arguments[name].detach().requires_grad_()

    def run(share: Share) -> None:
        share(*arrays)
        if form == "plain":
            return backward(call(row, arguments))
        positional, named = split_arguments(row, arguments)
        if form == "inplace":
            inplace_of(row)(positional[0].clone(), *positional[1:], **named)
        else:
            function_of(row)(*positional, **named, out=call(row, arguments))

    return run


def backward(*results: Any) -> None:
    """Send ones back through everything that has a gradient."""
    flat = [
        one for result in results for one in (result if isinstance(result, tuple) else (result,))
    ]
    wanted = [one for one in flat if isinstance(one, ebb.Tensor) and one.requires_grad]
    if wanted:
        ebb.autograd.backward(wanted, [ebb.ones_like(one) for one in wanted])


def all_races() -> list[Race]:
    """Return the races of all rows, then the programs."""
    from tests.fuzz.race_programs import PROGRAMS

    rows = [race for row in load_rows() if reads_indices(row) for race in of_row(row)]
    return [*rows, *PROGRAMS]


class Writer:
    """The other thread: writes what the program shares until it is told to stop."""

    def __init__(self, name: str) -> None:
        draw = seeds.fresh if sys.argv[1] == "fresh" else seeds.fixed
        self.rng = np.random.default_rng(draw("race", name).randrange(2**32))
        self.arrays: tuple[tuple[np.ndarray, np.ndarray], ...] = ()  # and what is right
        self.is_done = False
        self.thread = threading.Thread(target=self._run, daemon=True)

    def share(self, *arrays: np.ndarray) -> None:
        """From now on these are written, and set right again."""
        known = {id(one): right for one, right in self.arrays}
        self.arrays = tuple((one, known.get(id(one), one.copy())) for one in arrays if one.size)

    def _run(self) -> None:
        while not self.is_done:
            for array, right in self.arrays:
                self._write(array, right)
            time.sleep(0)

    def _write(self, array: np.ndarray, right: np.ndarray) -> None:
        with np.errstate(all="ignore"):
            wrong = self._wrong(array.dtype)
        raw = array.view(np.uint8) if array.dtype == np.bool_ else array
        place = tuple(self.rng.integers(0, size) for size in array.shape)
        if self.rng.random() < 0.7:
            raw[place] = wrong
        else:
            raw[...] = wrong
        if self.rng.random() < 0.2:
            time.sleep(0)  # often, an op that holds the GIL is to find all right
        np.copyto(array, right)

    def _wrong(self, dtype: np.dtype) -> Any:
        if dtype == np.bool_:
            return self.rng.choice([0, 1, 255])
        if dtype.kind in "iu":
            return np.array(self.rng.choice(WRONG)).astype(dtype)
        return np.array(self.rng.choice([np.nan, np.inf, -1.0, 0.0])).astype(dtype)


RANGE = re.compile(r"must be (?:at least|from) (-?\d+) (and below|to) (-?\d+), got (-?\d+)")


def check_number(text: str) -> None:
    """Raise if an error calls a number out of range that is not."""
    for least, bound, most, got in RANGE.findall(text):
        if int(least) <= int(got) < int(most) + (bound == "to"):
            raise AssertionError(f"names a number in range: {text}")


def race(one: Race, seconds: float) -> tuple[int, int]:
    """Run one race; return how many calls there were, and how many of them raised."""
    writer = Writer(one.name)
    writer.thread.start()
    calls = raised = 0
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end or calls == 0:
            calls += 1
            try:
                one.program(writer.share)
            except ebb.errors.InternalError:
                raise
            except (ebb.errors.Error, MemoryError) as error:
                raised += 1
                check_number(str(error))
    finally:
        writer.is_done = True
        writer.thread.join()
    return calls, raised


def main() -> int:
    """Race those that are named, or all, each for so many seconds, and print how it went."""
    if "asan" not in os.environ.get("LD_PRELOAD", ""):
        faulthandler.enable()  # AddressSanitizer tells more of a bad access
    sys.setswitchinterval(1e-6)
    seconds, names = float(sys.argv[2]), set(sys.argv[3:])
    failed = 0
    for one in all_races():
        if names and one.name not in names:
            continue
        print(one.name, end=" ", flush=True)
        try:
            print(*race(one, seconds), flush=True)
        except Exception as error:
            failed = 1
            print(f"FAILED {error!r}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
