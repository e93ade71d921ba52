# tests/fuzz/rows/narrow.py -- how far every op's float16 and bfloat16 results are from the exact
# ones.
#
# The exact result is the op's own float64 one for the same operands. Pointwise ops get ordinary
# numbers, and wild ones: every number of the dtype or as many pairs and triples of them; their
# error is in units in the last place (ulp) of each result. Other ops get their row's cases and
# large ones, in ulps of their largest result. `python -m tests.fuzz.rows.narrow` prints the table.
"""Errors of the narrow kernels, op by op."""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import ebb
from tests.fuzz.rows import temporaries
from tests.fuzz.rows.test_special_values import is_pointwise
from tests.python.ops.op_rows import (
    Array,
    Case,
    Row,
    call,
    load_rows,
    make_arguments,
    param_dtype,
    wide_array,
)

NARROW = ("float16", "bfloat16")
DIGITS = {"float16": 11, "bfloat16": 8}
LEAST = {"float16": 2.0**-24, "bfloat16": 2.0**-133}
BEYOND = {"float16": 2.0**16, "bfloat16": 2.0**128}  # what overflows is rounded to this
LARGE = 4096
COUNT = 2**16
OUTER = 64  # what gives more numbers for each of a trial's takes minutes for LARGE ones


def unit(values: np.ndarray, dtype: str) -> np.ndarray:
    """Return the distance of neighbouring numbers of a dtype around each value."""
    _, exponents = np.frexp(np.minimum(np.abs(values), BEYOND[dtype] * 0.75))
    return np.maximum(np.ldexp(1.0, exponents - DIGITS[dtype]), LEAST[dtype])


def ulps(got: np.ndarray, wanted: np.ndarray, dtype: str, norm: bool = False) -> np.ndarray:
    """Return the errors in units in the last place; NaN that meets no NaN is infinitely wrong."""
    top = BEYOND[dtype]
    limited = np.clip(wanted, -top, top)
    error = np.abs(np.clip(got, -top, top) - limited)
    sizes = (
        np.full_like(wanted, np.abs(np.nan_to_num(limited)).max(initial=0.0)) if norm else limited
    )
    error = error / unit(np.nan_to_num(sizes), dtype)
    is_nan = np.isnan(got) & np.isnan(wanted)
    return np.where(is_nan, 0.0, np.nan_to_num(error, nan=np.inf))


def every_number(dtype: str) -> ebb.Tensor:
    """All 65536 numbers of a narrow dtype."""
    bits = np.arange(2**16, dtype=np.uint16)
    if dtype == "float16":
        return ebb.from_numpy(bits.view(np.float16))
    return ebb.from_numpy((bits.astype(np.uint32) << 16).view(np.float32)).bfloat16()


def wild_numbers(rng: np.random.Generator, dtype: str) -> ebb.Tensor:
    """As many of them in any order: of any size, special ones included."""
    return every_number(dtype)[ebb.tensor(rng.integers(0, COUNT, COUNT))]


def operands(row: Row, dtype: str, seed: int, is_wild: bool) -> Iterator[dict[str, Any]]:
    """Large arguments of a pointwise row, for each set of numbers that the row tries."""
    rng = np.random.default_rng(seed)
    everything = Case(dict.fromkeys(row.tensors, Array((COUNT,))))
    tensors = make_arguments(row, everything, dtype, seed=seed)
    moving = [name for name in row.tensors if param_dtype(row, name, dtype) == dtype]
    if is_wild:
        tensors |= {name: wild_numbers(rng, dtype) for name in moving}
        if len(moving) == 1:
            tensors[moving[0]] = every_number(dtype)
    scalars = [param for param in row.params if param["type"] == "Scalar" and param["default"]]
    defaults = {param["name"]: ast.literal_eval(param["default"]) for param in scalars}
    seen: list[dict[str, Any]] = []
    for case in row.cases():
        rest = defaults | {k: v for k, v in case.arguments.items() if k not in tensors}
        if rest not in seen and any(name in case.arguments for name in moving):
            seen.append(rest)
            yield {name: one for name, one in tensors.items() if name in case.arguments} | rest


def widened(row: Row, arguments: dict[str, Any], dtype: str, wide: str) -> dict[str, Any]:
    """The same values in a wide dtype; numbers are float32, as ops take them beside half types."""
    scalars = {param["name"] for param in row.params if param["type"] == "Scalar"}

    def one(value: Any) -> Any:
        if isinstance(value, list):
            return [one(each) for each in value]
        is_float = isinstance(value, ebb.Tensor) and value.dtype.is_floating_point
        return value.to(getattr(ebb, wide)) if is_float else value

    def taken(number: float) -> float:
        """As the op takes it: what compares rounds it as an element is rounded."""
        kept = dtype if row.data["result_dtype"] == "bool" else "float32"
        return ebb.tensor(number, dtype=getattr(ebb, kept)).item()

    return {
        name: taken(value) if name in scalars and isinstance(value, float) else one(value)
        for name, value in arguments.items()
    }


def results(row: Row, arguments: dict[str, Any]) -> list[np.ndarray]:
    with ebb.no_grad():
        return [wide_array(one) for one in temporaries.tensors_in([call(row, arguments)])]


def error_of(row: Row, arguments: dict[str, Any], dtype: str, norm: bool) -> float:
    """The largest error of a call's results."""
    got = results(row, arguments)
    exact = results(row, widened(row, arguments, dtype, "float64"))
    worst = 0.0
    for one, wanted in zip(got, exact, strict=True):
        if wanted.dtype.kind == "f":
            with np.errstate(invalid="ignore"):
                worst = max(worst, float(ulps(one, wanted, dtype, norm).max(initial=0.0)))
        elif not np.array_equal(one, wanted):
            worst = np.inf
    return worst


def pointwise_error(row: Row, dtype: str, seed: int, is_wild: bool = False) -> float:
    """The largest error of a pointwise op."""
    calls = operands(row, dtype, seed, is_wild)
    return max((error_of(row, one, dtype, False) for one in calls), default=0.0)


def whole_error(row: Row, dtype: str, seed: int) -> float:
    """The largest error over the cases of a row in all its layouts, and over large ones."""
    kept = {k: v for k, v in row.test.get("geometry", {}).items() if isinstance(v, float)}

    def tried(case: Case, layout: str = "contiguous") -> float:
        arguments = make_arguments(row, case, dtype, layout, seed)
        return error_of(row, arguments | kept, dtype, True)

    cases = row.cases()
    worst = max((tried(case, layout) for case in cases for layout in row.layouts), default=0.0)
    for case in cases[:4]:
        for size in temporaries.sizes_of(case)[:2]:
            trial = temporaries.enlarged(case, size, LARGE // 16)
            try:
                found = results(row, make_arguments(row, trial, dtype, "contiguous", seed) | kept)
                if sum(one.size for one in found) > OUTER * temporaries.elements_of(trial):
                    continue  # outer products only copy: the row's cases are enough
                worst = max(worst, tried(temporaries.enlarged(case, size, LARGE)))
            except (ebb.Error, ValueError, TypeError, IndexError):
                continue  # sizes that do not fit together
    return worst


ROWS = [
    row
    for row in load_rows()
    if row.test.get("inputs") and not row.is_inplace and not row.data["generator"]
    if not row.is_creation and set(NARROW) & set(row.dtypes)
]
SINGLE = [row for row in ROWS if is_pointwise(row) and not row.data["is_composite"]]


def errors(row: Row, dtype: str, seed: int) -> str:
    """A cell of the table: of ordinary and of wild operands, or of all cases."""
    if dtype not in row.dtypes:
        return f"{'-':>18}"
    if row not in SINGLE:
        return f"{whole_error(row, dtype, seed):9.3f}{'':9}"
    return "".join(f"{pointwise_error(row, dtype, seed, wild):9.3g}" for wild in (False, True))


def main() -> int:
    parser = argparse.ArgumentParser(description="print the error of every op in ulps")
    parser.add_argument("--seed", type=int, default=0)
    settings = parser.parse_args()
    ebb.set_num_threads(1)
    print(f"{'':43}", *(f"{dtype:>18}" for dtype in NARROW))
    for row in ROWS:
        kind = "one op" if row in SINGLE else "composed" if row.data["is_composite"] else "sums"
        cells = [errors(row, dtype, settings.seed) for dtype in NARROW]
        print(f"{row.op:32} {kind:10}", *cells, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
