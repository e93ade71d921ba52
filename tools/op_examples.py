# tools/op_examples.py -- writes the examples in the help of ops that have none, into
# ops/<topic>/<family>.txt.
#
# An example is the shortest case of the op's row (ops/schema.yaml) with numbers of one decimal, run
# by the release build. Examples that are there stay as they are, so one may be bettered by hand;
# tests/python/package/test_help.py runs all of them.
"""Usage: PYTHONPATH=build/release/python python -m tools.op_examples [FAMILY...]"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import ebb
from codegen.examples import examples_path, read_examples, write_examples
from codegen.generate import load_all
from codegen.model import Family
from codegen.python_function import PythonFunction, python_functions
from tests.python.ops import op_rows
from tests.python.ops.op_rows import Array, Case, Row

MAX_LINES = 8
MAX_COLUMNS = 88
# Shapes that are easier to read than those that tests need.
SHORT = {
    "unary": ([3],), "few_unary": ([3],), "unary_not_empty": ([3],), "few_pairs": ([3], [3]),
    "broadcast_pairs": ([3], [3]), "few_scalars": ([3], 2), "scalar_pairs": ([3], 2),
    "reduce": ([2, 3], 1), "reduce_dim": ([2, 3], 1), "reduce_not_empty": ([2, 3], 1),
    "reduce_one": ([2, 3], 1), "reduce_plain": ([2, 3], 1), "reduce_several": ([2, 3], 1),
    "matmul": ([2, 3], [3, 2]), "softmax": ([2, 3], 1), "softmax_pairs": ([2, 3], [2, 3], 1),
    "where_triples": ([3], [3], [3]), "sizes": ([[2, 3]],),
}  # fmt: skip


def size_of(value: Any) -> int:
    """Return how many elements an argument has."""
    if isinstance(value, list) and value and isinstance(value[0], Array):
        return sum(map(size_of, value))
    return int(np.prod(value.shape)) if isinstance(value, Array) else 0


def length_of(value: Any) -> int:
    """Return how long an argument reads; of one or two elements there is too little to see."""
    size = size_of(value)
    return 14 if size in (1, 2) else max(4, size)


def cases_of(row: Row) -> list[Case]:
    """Return the cases of a row, the easiest to read first."""
    if "none" in row.test and "inputs" not in row.test:
        return []
    drawn = [
        one
        for one in row.cases()
        if all(size_of(v) or not isinstance(v, Array) for v in one.arguments.values())
    ]
    drawn.sort(key=lambda one: sum(length_of(v) for v in one.arguments.values()))
    short = SHORT.get(row.test.get("inputs") if isinstance(row.test.get("inputs"), str) else "")
    if short is None:
        return drawn
    made = {}
    for param, value in zip(row.params, short, strict=False):
        is_tensor = param["type"].startswith("Tensor")
        made[param["name"]] = Array(tuple(value)) if is_tensor else value
        if isinstance(value, list) and not is_tensor:
            made[param["name"]] = value[0]
    return [Case(made), *drawn]


def literal(value: Any) -> str:
    """Return an argument as Python text."""
    if isinstance(value, ebb.Tensor):
        return tensor_text(value)
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], ebb.Tensor):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, ebb.dtype):
        return f"ebb.{value.name}"
    return repr(value)


def tensor_text(value: ebb.Tensor) -> str:
    if value.numel() > 12:
        shape = ", ".join(map(str, value.shape))
        if not value.dtype.is_floating_point:
            return f"(ebb.arange({value.numel()}) % 3).reshape({shape})"
        return f"(ebb.arange({value.numel()}.0) / 10).reshape({shape})"
    inner = value.tolist()
    plain = {ebb.float32, ebb.int64, ebb.bool, ebb.complex64}
    more = "" if value.dtype in plain else f", dtype=ebb.{value.dtype.name}"
    return f"ebb.tensor({rounded(inner)!r}{more})"


def rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return round(value, 1) + 0.0 if isinstance(value, float) else value


def program(function: PythonFunction, row: Row, arguments: dict[str, Any]) -> list[str] | None:
    """Return the lines of an example, its last an expression; None where there is no call."""
    positional, named = op_rows.split_arguments(row, arguments)
    names = [param["name"] for param in row.params]
    given = [literal(one) for one in positional]
    more = [f"{name}={literal(value)}" for name, value in named.items()]
    lines = []
    as_method = function.inplace or not (function.is_function or function.spaced_names)
    target = function.names[0] if function.names else ""
    if not as_method:
        label = function.spaced_names[0] if function.spaced_names else target
        if function.is_function:
            label = target
        call = f"ebb.{label}({', '.join([*given, *more])})"
        if len(call) <= MAX_COLUMNS:
            return [call]
    if not given or (as_method and not isinstance(positional[0], ebb.Tensor)):
        return [call] if not as_method and len(call) < 96 else None
    for place, text in enumerate(given):
        is_long = len(text) > 24 or (as_method and place == 0)
        if is_long or (not as_method and isinstance(positional[place], ebb.Tensor)):
            own = "x" if names[place] in ("input", "self") else names[place]
            lines.append(f"{own} = {text}")
            given[place] = own
    if as_method:
        return [*lines, f"{given[0]}.{target}({', '.join([*given[1:], *more])})"]
    return [*lines, f"ebb.{label}({', '.join([*given, *more])})"]


def shown(lines: list[str], row: Row) -> list[str] | None:
    """Run an example; return it with what it prints, None where it fails or is not finite."""
    first, second = (outcome(lines) for _ in range(2))
    if first is None or second is None:
        return None
    last = lines[-1]
    if not isinstance(first, (ebb.Tensor, bool, int, float, tuple, list)):
        return None
    text = repr(first)
    is_same = text == repr(second) and "nan" not in text
    is_short = len(text.splitlines()) <= MAX_LINES and max(map(len, text.splitlines())) < 96
    if not (is_same and is_short and "0x" not in text):
        if isinstance(first, ebb.Tensor):
            last, text = f"{last}.shape", repr(first.shape)
        elif isinstance(first, (tuple, list)) and isinstance(first[0], ebb.Tensor):
            last = f"[tuple(one.shape) for one in {last}]"
            text = repr([tuple(one.shape) for one in first])
        else:
            return None
    if max(len(one) for one in [*lines, last]) > 96:
        return None
    code = [f">>> {one}" for one in [*lines[:-1], last]]
    return [*code, *(one.rstrip() or "<BLANKLINE>" for one in text.splitlines())]


def outcome(lines: list[str]) -> Any:
    names = {"ebb": ebb}
    try:
        for line in lines[:-1]:
            exec(line, names)
        return eval(lines[-1], names)
    except Exception:
        return None


def example_of(function: PythonFunction, rows: dict[str, list[Row]]) -> list[str] | None:
    """Return the first case that makes a short, finite and repeatable example."""
    for row in rows.get(function.name, []):
        dtypes = [one for one in ("float32", "int64", "bool", "complex64") if one in row.dtypes]
        for case in cases_of(row)[:12]:
            for dtype in dtypes or ["float32"]:
                try:
                    arguments = op_rows.make_arguments(row, case, dtype)
                except Exception:
                    continue
                lines = program(function, row, arguments)
                found = shown(lines, row) if lines else None
                if found:
                    return found
    return None


def fill(family: Family, rows: dict[str, list[Row]]) -> list[str]:
    """Write what a family lacks; return the names that stay without."""
    path = examples_path(family.name)
    known = read_examples(path)
    for function in python_functions(family):
        if function.kind == "private" or function.key in known:
            continue
        if not function.names and not function.spaced_names:
            continue
        found = example_of(function, rows)
        if found:
            known[function.key] = found
    write_examples(path, known)
    wanted = [one for one in python_functions(family) if one.kind != "private"]
    return [one.key for one in wanted if one.key not in known]


def main(chosen: list[str]) -> None:
    rows: dict[str, list[Row]] = {}
    for row in op_rows.load_rows():
        rows.setdefault(row.name, []).append(row)
    for family in load_all():
        if not chosen or family.name in chosen:
            for name in fill(family, rows):
                print(f"{family.name}: {name} has no example")


if __name__ == "__main__":
    main(sys.argv[1:])
