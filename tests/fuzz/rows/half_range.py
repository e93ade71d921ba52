# tests/fuzz/rows/half_range.py -- half types where counts pass 65,504 and numbers leave the range.
#
# An op computes half types in float32 and rounds once, so that it, its gradient and its second
# derivative are those of float64 for the same operands, rounded, wherever these are in range.
# Trials draw operands whose reciprocals, squares, sums and products are not, and large ones. What
# float32's own roundings may change is measured: operands moved by a few of its units. Of sums of
# products (a key of the row) it is known: of n terms, in any order, n 2^-24 sum|terms|, and what
# bfloat16's products do not see, operands and terms below 2^-126.
# `python -m tests.fuzz.rows.half_range` prints what is wrong.
"""Trials of half types at the ends of their range, held against float64."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import ebb
from tests.fuzz.rows import temporaries
from tests.fuzz.rows.narrow import DIGITS, NARROW, ROWS, unit
from tests.python.ops.op_rows import Case, Row, call, make_arguments, wide_array
from tests.python.ops.test_gradients import flatten, is_differentiable, leaves

MANY = 65_505  # one more than the largest float16
MOST = {"float16": 65504.0, "bfloat16": 3.3895314e38}
LEAST = {"float16": 2.0**-14, "bfloat16": 2.0**-126}  # normal
SIZES = {
    "float16": (6e-8, 1e-5, 1e-4, 1e-2, 1.0, 8.0, 300.0, 6e4),
    "bfloat16": (1e-38, 1e-30, 1e-19, 1e-5, 1.0, 8.0, 1e19, 1e38),
}
ULPS = {"value": 1.01, "gradient": 1.01, "second derivative": 2.01}
MADE = 4  # times as many for what is made of several ops
NOISE = 2.0**-22
MOVES = 12  # how often they are moved
TRIALS = 12
SLOW = 0.02  # seconds a call: nothing large is tried beyond
MUCH = 64  # bytes an element: likewise


@dataclass
class Outcome:
    """Values and derivatives in double precision; None where there is none."""

    parts: dict[str, list[np.ndarray | None]]

    def widen(self, moved: Outcome, wanted: Outcome) -> None:
        """Make these distances at least those of two outcomes."""
        for name, arrays in moved.parts.items():
            for index, (a, b) in enumerate(zip(arrays, wanted.parts[name], strict=True)):
                self.parts[name][index] = _further(self.parts[name][index], a, b)

    def add(self, other: Outcome) -> None:
        """Make these distances longer by others."""
        for name, arrays in other.parts.items():
            mine = self.parts[name]
            for index, more in enumerate(arrays):
                if mine[index] is not None and more is not None:
                    mine[index] = mine[index] + more

    def is_well_within(self, top: float) -> bool:
        """Whether the gradients between two derivatives are in range too, for all one knows."""
        arrays = [one for part in self.parts.values() for one in part]
        return all(np.abs(a).max(initial=0) <= top / 16 for a in arrays if a is not None)


class WrongError(AssertionError):
    """A half result that is not float64's, rounded."""


def _further(last: Any, moved: Any, array: Any) -> Any:
    """The larger one of a distance and that of two arrays, where they are of real numbers."""
    if moved is None or array is None or moved.shape != array.shape or array.dtype.kind != "f":
        return last
    with np.errstate(invalid="ignore"):
        change = np.nan_to_num(np.abs(moved - array), nan=np.inf)
    if change.size > MANY:  # some of so many happen to move little
        change = np.maximum(change, np.mean(change[np.isfinite(change)]))
    return change if last is None else np.maximum(last, change)


def limited(row: Row, sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Numbers of these sizes in the domain of the row."""
    signs = rng.choice([-1.0, 1.0], sizes.shape)
    if row.domain in ("positive", "above_one"):
        return sizes + (1.0 if row.domain == "above_one" else 0.0)
    if row.domain in ("unit", "signed_unit"):
        small = np.where(sizes > 0.5, 0.5, sizes)
        near = np.where(rng.random(sizes.shape) < 0.5, small, 1 - np.maximum(small, 2.0**-7))
        return near * signs if row.domain == "signed_unit" else near
    return sizes * signs


def drawn(
    row: Row, value: Any, dtype: str, rng: np.random.Generator, allowed: tuple[float, ...]
) -> Any:
    """A tensor like another, of numbers at the ends of the range; all else as it is."""
    if isinstance(value, list):
        return [drawn(row, one, dtype, rng, allowed) for one in value]
    if not isinstance(value, ebb.Tensor) or value.dtype != getattr(ebb, dtype):
        return value
    shape = tuple(value.shape)
    few = rng.choice(allowed, rng.integers(1, 4))
    sizes = rng.choice(few, shape) * rng.uniform(1, 1.09, shape)
    numbers = limited(row, np.minimum(sizes, MOST[dtype]), rng)
    return ebb.tensor(np.asarray(numbers)).reshape(shape).to(value.dtype)


def widened(arguments: dict[str, Any], dtype: Any = ebb.float64) -> dict[str, Any]:
    """The same numbers in a wide dtype."""

    def one(value: Any) -> Any:
        if isinstance(value, list):
            return [one(each) for each in value]
        is_half = isinstance(value, ebb.Tensor) and value.dtype in (ebb.float16, ebb.bfloat16)
        return value.to(dtype) if is_half else value

    return {name: one(value) for name, value in arguments.items()}


def changed(
    arguments: dict[str, Any], change: Callable[[ebb.Tensor], ebb.Tensor]
) -> dict[str, Any]:
    """Arguments with each floating tensor as ``change`` makes it."""

    def one(value: Any) -> Any:
        if isinstance(value, list):
            return [one(each) for each in value]
        is_float = isinstance(value, ebb.Tensor) and value.dtype.is_floating_point
        return change(value) if is_float else value

    return {name: one(value) for name, value in arguments.items()}


class Trial:
    """One call, with gradients to start from, in a half type and in float64."""

    def __init__(self, row: Row, arguments: dict[str, Any], dtype: str, seed: int, size: float):
        """``size`` is that of the numbers that the gradients begin with."""
        self.row, self.dtype, self.seed, self.size = row, dtype, seed, size
        self.arguments = arguments
        # What several ops make, and every second derivative, is rounded between them.
        self.is_made = bool(row.data["is_composite"])
        self.noise: np.random.Generator | None = None
        self.change: Callable[[ebb.Tensor], ebb.Tensor] | None = None

    def seeds(self, like: list[ebb.Tensor], size: float) -> list[ebb.Tensor]:
        """Gradients for some tensors, of numbers of about a size that no dtype rounds."""
        rng = np.random.default_rng(self.seed + 1)
        half = getattr(ebb, self.dtype)
        found = []
        for one in like:
            numbers = rng.choice([-1.5, -1.0, 1.0, 2.0], tuple(one.shape)) * size
            start = ebb.tensor(np.asarray(numbers)).to(half).to(one.dtype)
            start = self.change(start) if self.change else start
            found.append(self.moved(start) if self.noise else start)
        return found

    def outcome(self, arguments: dict[str, Any], seconds: bool) -> Outcome:
        """Values and gradients of a call with these arguments, and second derivatives."""
        tensors, rebuilt = flatten(self.row, arguments)
        inputs = leaves(tensors)
        outs = temporaries.tensors_in([call(self.row, rebuilt(*inputs))])
        recorded = [one for one in outs if is_differentiable(one) and one.requires_grad]
        parts: dict[str, list[np.ndarray | None]] = {"value": [wide_array(one) for one in outs]}
        if recorded and inputs:
            starts = self.seeds(recorded, self.size)
            grads = self._grad(recorded, inputs, starts, seconds)
            parts["gradient"] = [None if one is None else wide_array(one) for one in grads]
            bent = [one for one in grads if one is not None and one.requires_grad]
            if seconds and bent:
                found = self._grad(bent, inputs, self.seeds(bent, 1.0), False)
                parts["second derivative"] = [
                    None if one is None else wide_array(one) for one in found
                ]
        return Outcome(parts)

    @staticmethod
    def _grad(outs: Any, inputs: Any, starts: Any, keep: bool) -> Any:
        return ebb.autograd.grad(outs, inputs, starts, create_graph=keep, allow_unused=True)

    def rounding(self) -> Any:
        """Float64 calls keep for backward what the half type's call keeps."""
        half = getattr(ebb, self.dtype)

        def pack(tensor: ebb.Tensor) -> ebb.Tensor:
            return tensor.to(half).double() if tensor.dtype == ebb.float64 else tensor

        return ebb.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)

    def is_within(self, seconds: bool) -> bool:
        """Whether the half type holds all results, which backward begins with."""
        wide = self.outcome(widened(self.arguments), False)
        top = MOST[self.dtype]
        finite = [one for one in wide.parts["value"] if one is not None and one.dtype.kind == "f"]
        return all(np.abs(one).max(initial=0) <= top for one in finite)

    def check(self, seconds: bool) -> None:
        """Raise WrongError unless everything is float64's, rounded."""
        self.is_made = seconds or bool(self.row.data["is_composite"])
        got = self.outcome(self.arguments, seconds)
        wide = widened(self.arguments)
        wanted = self.outcome(wide, seconds)
        text = self.difference(got, [wanted], None)
        if not text or (seconds and not wanted.is_well_within(MOST[self.dtype])):
            return
        # What float32 cannot do, the half types that are computed in it cannot.
        others = [wanted, self.outcome(widened(self.arguments, ebb.float32), seconds)]
        slack = self.slack(wide, wanted, seconds)
        with self.rounding():
            slack.widen(self.outcome(wide, seconds), wanted)
        if "products" in self.row.test:
            slack.add(self.lost(seconds))
        text = self.difference(got, others, slack)
        if text:
            raise WrongError(f"{self.row.op} {self.dtype}, gradients of {self.size}: {text}")

    def moved(self, value: Any) -> Any:
        """Wide tensors, moved by a rounding of what the call is made of; all else as it is."""
        if isinstance(value, list):
            return [self.moved(one) for one in value]
        if not isinstance(value, ebb.Tensor) or value.dtype != ebb.float64:
            return value
        noise = 2.0 ** -DIGITS[self.dtype] if self.is_made else NOISE
        return value * ebb.tensor(1 + self.noise.choice([-noise, noise], tuple(value.shape)))

    def slack(self, wide: dict[str, Any], wanted: Outcome, seconds: bool) -> Outcome:
        """How far each number moves where operands and gradients move by roundings."""
        found = Outcome({name: [None] * len(a) for name, a in wanted.parts.items()})
        self.noise = np.random.default_rng(self.seed)
        for _ in range(MOVES):
            try:
                near = self.outcome({name: self.moved(v) for name, v in wide.items()}, seconds)
            except ebb.Error:
                continue
            found.widen(near, wanted)
        self.noise = None
        return found

    def lost(self, seconds: bool) -> Outcome:
        """What sums of products in float32 may lose of each number, a quarter of it."""
        least = LEAST["bfloat16"]

        def outcome(change: Any) -> Outcome:
            self.change = change
            found = self.outcome(changed(widened(self.arguments), change), seconds)
            self.change = None
            return found

        counts = outcome(ebb.ones_like)
        sizes = outcome(ebb.abs)
        seen = outcome(lambda x: ebb.where(x.abs() < least, 0, x.abs()))

        def bound(count: Any, size: Any, normal: Any) -> Any:
            if size is None or size.dtype.kind != "f":
                return None
            most = count * (2.0**-24 * size + least) + (size - normal)
            return np.where(size > MOST["bfloat16"], np.inf, most) / 4

        return Outcome(
            {
                name: [
                    bound(*of) for of in zip(counts.parts[name], a, seen.parts[name], strict=True)
                ]
                for name, a in sizes.parts.items()
            }
        )

    def difference(self, got: Outcome, wanted: list[Outcome], slack: Outcome | None) -> str:
        """The first number that is none of those wanted, in words."""
        for name, arrays in got.parts.items():
            for index, array in enumerate(arrays):
                near = None if slack is None else slack.parts[name][index]
                others = [one.parts[name][index] for one in wanted]
                text = self._difference(f"{name} {index}", name, array, others, near)
                if text:
                    return text
        return ""

    def _difference(self, shown: str, part: str, got: Any, wanted: list[Any], near: Any) -> str:
        exact = wanted[0]
        if got is None or exact is None:
            return "" if got is exact else f"{shown}: {got}, not {exact}"
        if exact.dtype.kind != "f":
            return "" if np.array_equal(got, exact) else f"{shown}: other integers"
        ulps = ULPS[part] * (MADE if self.is_made else 1)
        top = MOST[self.dtype]
        is_near = np.isnan(got) & ~(np.abs(exact) <= top)
        for one in wanted:
            clipped = np.clip(np.nan_to_num(one, nan=np.inf), -top, top)
            allowed = ulps * unit(clipped, self.dtype) + (0 if near is None else 4 * near)
            is_near |= np.isnan(got) & np.isnan(one)
            with np.errstate(invalid="ignore"):
                is_near |= np.abs(np.clip(got, -top, top) - clipped) <= allowed
        if is_near.all():
            return ""
        at = tuple(np.argwhere(~is_near)[0].tolist())
        return f"{shown}: {got[at]:.6g}, not {exact[at]:.6g} at {list(at)}, {(~is_near).sum()} such"


def range_trials(row: Row, dtype: str, seed: int, most: int) -> Iterator[Trial]:
    """Calls of the row's cases at the ends of the range; results are within it."""
    rng = np.random.default_rng(seed)
    kept = {*row.matrices, *row.test.get("positive", ()), *row.test.get("signs", ())}
    kept |= set(row.test.get("geometry", ()))
    cases = [case for case in row.cases() if temporaries.elements_of(case) > 1]
    for number in range(most if cases else 0):
        case = cases[number % len(cases)]
        plain = make_arguments(row, case, dtype, seed=seed + number)
        moving = [name for name in plain if name not in kept]
        allowed = SIZES[dtype]
        while len(allowed) > 3:
            arguments = plain | {k: drawn(row, plain[k], dtype, rng, allowed) for k in moving}
            trial = Trial(
                row, arguments, dtype, seed + number, float(rng.choice(SIZES[dtype][1:-1]))
            )
            try:
                is_within = trial.is_within(True)
            except (ebb.Error, ValueError):
                is_within = False
            if is_within:
                yield trial
                break
            allowed = allowed[1:-1] if len(allowed) % 2 else allowed[:-1]


def large(case: Case, size: int) -> Case | None:
    """The case with a size of it stretched beyond what float16 counts to."""
    factor = -(-MANY // size)
    found = temporaries._stretched(case, size, factor)
    return found if temporaries.elements_of(found) <= 8 * MANY else None


def large_trials(row: Row, dtype: str, seed: int, most: int) -> Iterator[Trial]:
    """Calls with more elements along a dim than float16 counts to, and as many in all."""
    tried = set()
    takes_much = int(next(iter(row.test.get("temporaries", ())), 0)) > MUCH
    for case in () if takes_much else row.cases():
        for size in temporaries.sizes_of(case)[:2]:
            few = temporaries.enlarged(case, size, 512)
            if not is_cheap(row, few, dtype, 512):
                continue
            for found in (large(case, size), temporaries.enlarged(case, size, MANY)):
                if found is not None and str(found) not in tried and len(tried) < most:
                    tried.add(str(found))
                    arguments = make_arguments(row, found, dtype, seed=seed)
                    yield Trial(row, arguments, dtype, seed, 1.0)


def is_cheap(row: Row, case: Case, dtype: str, elements: int) -> bool:
    """Whether a call takes such sizes, and its results grow no faster than its operands."""
    try:
        taken = temporaries.of_call(row, case, dtype)
    except (ebb.Error, ValueError, TypeError, IndexError):
        return False
    count = temporaries.elements_of(case)
    return max(taken.results, taken.temporaries) <= MUCH * count and taken.seconds <= SLOW


def wrong_in(
    row: Row, dtype: str, seed: int, counts: Counter[str], most: int = TRIALS
) -> list[str]:
    """What is wrong with a row in a half type."""
    wrong = []
    for kind, trials in (("range", range_trials), ("large", large_trials)):
        for trial in trials(row, dtype, seed, most):
            is_bent = kind == "range" and not trial.is_made
            counts["cases"] += 1
            for seconds in (False, True) if is_bent else (False,):
                try:
                    trial.check(seconds)
                except WrongError as error:
                    wrong.append(f"{kind}: {error}")
                    break
                except (NotImplementedError, ValueError, MemoryError) as error:
                    counts[type(error).__name__] += 1
                    break
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description="print what half types get wrong")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true", help="all that is wrong with an op")
    settings = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    for row in ROWS:
        for dtype in NARROW:
            if dtype not in row.dtypes:
                continue
            counts["ops and dtypes"] += 1
            wrong = wrong_in(row, dtype, settings.seed, counts)
            counts["wrong"] += bool(wrong)
            for text in wrong if settings.all else wrong[:1]:
                print(text, f"({len(wrong)} wrong)", flush=True)
    print(dict(counts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
