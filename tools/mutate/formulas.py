# tools/mutate/formulas.py -- breaks each gradient formula of the op table in turn.
#
# The mutants are compiled at once: a formula F becomes `EBB_MUTANT(17) ? neg(F) : ... : F`
# (mutants.h). Only the generated recording layer is compiled anew, with the commands of
# build/release, and linked into build/mutate_formulas; then one forked process per mutant runs the
# gradient rows of its op. Start reading at main().
"""Mutation test of the gradient formulas: `python -m tools.mutate formulas`."""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codegen.emit import autograd
from codegen.formulas import names_in
from codegen.generate import load_all, write_changed
from codegen.model import REFUSAL, Family, Op
from tools.mutate import tries

ROOT = Path(__file__).resolve().parent.parent.parent
RELEASE = ROOT / "build" / "release"
MUTATE = ROOT / "build" / "mutate_formulas"
MASKED = "test_a_gradient_of_0_stays_0_through_all_rows_but_those_named"
ROW_TESTS = [
    "tests/python/ops/test_gradients.py",
    f"tests/fuzz/rows/test_masked_values.py::{MASKED}",
]
# They hold derivatives of ops whose rows have no cases, or none where the formula matters.
OTHER_TESTS = [
    "tests/python/ops/numbers/test_special.py",
    "tests/python/ops/statistics/test_random.py",
    "tests/python/ops/statistics/test_variates.py",
    "tests/python/ops/numbers/test_numbers.py",
    "tests/python/ops/linalg/test_ldl.py",
    "tests/python/ops/places/test_strided.py",
    "tests/python/sparse",
    "tests/python/devices/test_devices.py",
    "tests/python/indexing/test_advanced_indexing.py",
    "tests/fuzz/rows/test_special_values.py",
]
# Neither its sign nor a factor makes this wrong.
ZERO = "zeros_like(grad_out)"
# What a rule's name starts with if it only raises.
# Their two arguments may be exchanged: IEEE products do not depend on the order. (mul0() does: what
# its first argument masks stays 0.)
SYMMETRIC = ("mul",)
# What the device tests load, beside the library.
SIMULATOR = "libebb_sim_device.so"
# Indices and masks are no numbers to exchange with operands.
NOT_EXCHANGED = ("index", "target", "condition", "weight", "indices")


@dataclass(frozen=True)
class Mutant:
    """One broken formula."""

    id: int
    op: str
    param: str
    kind: str  # sign, factor, operand, arguments or nonzero
    formula: str

    def __str__(self) -> str:
        return f"{self.op}.{self.param} {self.kind}: {self.formula}"


def split_call(formula: str) -> tuple[str, list[str]] | None:
    """Return name and arguments of a formula that is one call."""
    match = re.fullmatch(r"([\w:]+)\((.*)\)", formula)
    if not match:
        return None
    depth, start, arguments = 0, 0, []
    for position, letter in enumerate(match[2]):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0:
            return None  # as in f(a) * g(b)
        if letter == "," and depth == 0:
            arguments.append(match[2][start:position].strip())
            start = position + 1
    return match[1], [*arguments, match[2][start:].strip()]


def swapped_arguments(op: Op, formula: str) -> str | None:
    """Exchange two tensors of the outermost call, if that makes a difference."""
    parts = split_call(formula)
    if not parts or parts[0] in SYMMETRIC:
        return None
    name, arguments = parts
    first = conditions_of(name)
    pair = arguments[first : first + 2]
    names = {*tensor_names(op), "grad_out"}
    are_tensors = len(pair) == 2 and all(
        one == "0" or any(found in names for found, asked in names_in(one) if not asked)
        for one in pair
    )
    if not are_tensors:
        return None
    arguments[first], arguments[first + 1] = pair[1], pair[0]
    return f"{name}({', '.join(arguments)})"


@functools.cache
def ops_by_name() -> dict[str, Op]:
    """The first op of each name; the table is read once."""
    found: dict[str, Op] = {}
    for family in load_all():
        for op in family.ops:
            found.setdefault(op.name, op)
    return found


@functools.cache
def conditions_of(name: str) -> int:
    """How many tensors that are no numbers, such as a condition, an op takes first."""
    op = ops_by_name().get(name)
    return int(op is not None and bool(op.tensors) and op.is_condition(op.tensors[0].name))


def tensor_names(op: Op) -> list[str]:
    """Tensors that a formula may name as values."""
    names = [param.name for param in op.tensors] + [result.name for result in op.results]
    return [name for name in names if name not in NOT_EXCHANGED]


def swapped_operands(op: Op, formula: str) -> str | None:
    """Exchange the first operand in the formula with another tensor of the op."""
    names = tensor_names(op)
    used = [name for name, asked in names_in(formula) if name in names and not asked]
    if not used:
        return None
    inputs = [param.name for param in op.tensors]
    others = [name for name in names if name != used[0]]
    if not others:
        return None
    other = next((name for name in others if name in used or name in inputs), others[0])
    exchange = {used[0]: other, other: used[0]}
    return re.sub(
        rf"(?<![\w.:>])({used[0]}|{other})\b(?!\s*\.\s*(shape|sizes|ndim|numel|size|dtype)\b)",
        lambda match: exchange[match[1]],
        formula,
    )


def is_computed(formula: str) -> bool:
    """Whether a formula gives a number: a refusal with another sign is the same refusal."""
    return formula != "none" and not formula.startswith(REFUSAL)


def break_formulas(families: list[Family], chosen: set[str]) -> list[Mutant]:
    """List the mutants of the chosen ops and put them into the formulas of the loaded table."""
    mutants: list[Mutant] = []
    for family in families:
        for op in family.ops:
            for param, formula in op.grad.items():
                if is_computed(formula) and op.full_name in chosen:
                    own = mutants_of(op, param, " ".join(formula.split()), len(mutants) + 1)
                    mutants += own
                    chain = " : ".join(f"EBB_MUTANT({m.id}) ? {m.formula}" for m in own)
                    op.grad[param] = f"{chain} : {formula}" if own else formula
    return mutants


def mutants_of(op: Op, param: str, formula: str, first_id: int) -> list[Mutant]:
    """The mutants of one formula."""
    broken = {"nonzero": "grad_out"}
    if formula != ZERO:
        broken = {
            "sign": f"neg({formula})",
            "factor": f"mul({formula}, 2)",
            "operand": swapped_operands(op, formula),
            "arguments": swapped_arguments(op, formula),
        }
    kept = [
        (kind, text)
        for kind, text in broken.items()
        if text and text != formula and f"{param} {kind}" not in op.test.get("equivalent", {})
    ]
    return [
        Mutant(first_id + index, op.full_name, param, kind, text)
        for index, (kind, text) in enumerate(kept)
    ]


def rows_to_run(families: list[Family]) -> dict[str, list[str]]:
    """The ops whose rows exercise each op: itself, or its family if it has no inputs of its own."""
    rows = {}
    for family in families:
        tested = [op.full_name for op in family.ops if "inputs" in op.test]
        for op in family.ops:
            rows[op.full_name] = [op.full_name] if op.full_name in tested else tested
    return rows


def run(command: str, folder: Path) -> None:
    """Run a build command; its output matters only if it fails."""
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"mutate: a build command failed\n{command}\n{done.stdout}{done.stderr}")


def compile_commands() -> dict[str, str]:
    """The command that compiles each generated recording file of the release build."""
    entries = json.loads((RELEASE / "compile_commands.json").read_text())
    marker = "generated/ebb/autograd/ops/"
    return {
        Path(entry["file"]).stem: entry["command"] for entry in entries if marker in entry["file"]
    }


def build(families: list[Family], jobs: int) -> None:
    """Compile the mutants and lay out a package that uses them."""
    commands, replaced = [], {}
    known = compile_commands()
    for family in families:
        text = autograd.emit(family)[f"ebb/autograd/ops/{family.name}.cpp"]
        if "EBB_MUTANT" not in text:
            continue
        write_changed(MUTATE, {f"{family.name}.cpp": f'#include "{tries.HEADER}"\n{text}'})
        command = known[family.name]
        source, target = MUTATE / f"{family.name}.cpp", MUTATE / f"{family.name}.o"
        old_target = re.search(r"-o (\S+)", command)[1]
        replaced[old_target] = str(target)
        command = re.sub(r"-o \S+", f"-o {target}", command)
        commands.append(re.sub(r"-c \S+", f"-c {source}", command))
    if shutil.which("ccache"):
        settings = "CCACHE_SLOPPINESS=pch_defines,time_macros"
        commands = [f"{settings} ccache {command}" for command in commands]
    print(f"[mutate] compiling {len(commands)} files", flush=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda command: run(command, RELEASE), commands))
    link(replaced)


def link(replaced: dict[str, str]) -> None:
    """Link the library anew and put the Python package beside it, as build/release has it."""
    library = (RELEASE / "lib" / "libebb.so").resolve().name
    listed = subprocess.run(
        ["ninja", "-t", "commands", f"lib/{library}"], cwd=RELEASE, capture_output=True, text=True
    )
    command = listed.stdout.strip().splitlines()[-1]
    for old, new in replaced.items():
        command = command.replace(f" {old} ", f" {new} ")
    (MUTATE / "lib").mkdir(exist_ok=True)
    command = command.replace(f"-o lib/{library} ", f"-o {MUTATE}/lib/{library} ")
    run(re.sub(r"&& (\S*cmake -E cmake_symlink_library.*|:)$", "", command), RELEASE)
    for link_name in ("libebb.so", "libebb.so.0"):
        (MUTATE / "lib" / link_name).unlink(missing_ok=True)
        (MUTATE / "lib" / link_name).symlink_to(library)
    shutil.copy(RELEASE / "lib" / SIMULATOR, MUTATE / "lib")
    shutil.rmtree(MUTATE / "python", ignore_errors=True)
    shutil.copytree(RELEASE / "python", MUTATE / "python", symlinks=True)
    (MUTATE / "generated").mkdir(exist_ok=True)
    shutil.copy(RELEASE / "generated" / "test_rows.json", MUTATE / "generated")


def enter_package() -> None:
    """Import what every mutant needs once; each is then tried in a fork of this process."""
    os.environ["EBB_NUM_THREADS"] = "1"  # each mutant has a process of its own
    sys.path.insert(0, str(MUTATE / "python"))
    os.environ["PYTHONPATH"] = str(MUTATE / "python")  # of interpreters that tests start
    os.chdir(ROOT)
    for name in ("pytest", "numpy", "ebb", "tests.python.ops.op_rows"):
        importlib.import_module(name)


def run_tests(mutant: int, ops: list[str]) -> int:
    """Run the tests with one mutant (0: none) active; return pytest's status.

    They are the rows of the ops, then, if a mutant survives them or there are none, the others.
    """
    tries.activate(mutant)
    status = run_pytest(ops, ROW_TESTS) if ops else 0
    if status == 0 and (mutant != 0 or not ops):
        status = run_pytest([], OTHER_TESTS)
    return status


def run_pytest(ops: list[str], tests: list[str]) -> int:
    """Run tests, with the rows of some ops only, or of all."""
    os.environ["EBB_ONLY_OP"] = ",".join(ops)
    return int(importlib.import_module("pytest").main(["-x", "-q", "--no-header", *tests]))


def run_forked(tasks: dict[str, tuple[int, list[str]]], jobs: int) -> Iterator[tuple[str, int]]:
    """Run the tests of each task (a mutant and ops); yield its name and exit status when done."""
    work = {name: tries.Task(functools.partial(run_tests, *one)) for name, one in tasks.items()}
    return tries.run_forked(work, jobs, MUTATE)


def try_all(mutants: list[Mutant], rows: dict[str, list[str]], jobs: int) -> list[Mutant]:
    """Run the tests of each mutant; return those that no test noticed."""
    by_name = {str(one.id): one for one in mutants}
    tasks = {name: (one.id, rows[one.op]) for name, one in by_name.items()}
    survivors = []
    for name, code in run_forked(tasks, jobs):
        mutant = by_name[name]
        # A crash (negative) is noticed as well as a failed test (1).
        if code > 1:
            sys.exit(
                f"mutate: the tests of {mutant} could not run, see {tries.log_of(MUTATE, name)}"
            )
        survivors += [mutant] if code == 0 else []
        print(f"{'SURVIVED' if code == 0 else 'killed  '} {mutant}", flush=True)
    return survivors


def check_baseline(families: list[Family], ops: set[str], jobs: int) -> None:
    """The tests of the ops must pass while no mutant is active."""
    listed = {one.name: [op.full_name for op in one.ops if op.full_name in ops] for one in families}
    tasks = {name: (0, rows) for name, rows in listed.items() if rows} | {"others": (0, [])}
    for name, code in run_forked(tasks, jobs):
        if code != 0:
            log = tries.log_of(MUTATE, name)
            sys.exit(f"mutate: {name} must pass without a mutant, got failures, see {log}")


def choose(families: list[Family], ops: str | None, names: str | None) -> set[str]:
    """The ops of two lists with commas, of ops and of families; all if none is named."""
    is_all = ops is None and names is None
    wanted, listed = set((ops or "").split(",")), (names or "").split(",")
    return {
        op.full_name
        for one in families
        for op in one.ops
        if is_all or one.name in listed or {op.full_name, op.name} & wanted
    }


def main(arguments: list[str]) -> int:
    """Run the command line; 1 if a mutant survives."""
    parser = argparse.ArgumentParser(prog="tools.mutate formulas", description=__doc__)
    parser.add_argument(
        "--op", help="only the formulas of these ops, such as mul or mul.Scalar,div"
    )
    parser.add_argument("--family", help="only the formulas of these families, such as math,sort")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    families = load_all()
    rows = rows_to_run(families)
    mutants = break_formulas(families, choose(families, options.op, options.family))
    if options.list:
        print("\n".join(map(str, mutants)))
        return 0
    if not mutants:
        sys.exit(
            "mutate: needs an op with a gradient formula, got "
            f"--op {options.op} --family {options.family}"
        )
    build(families, options.jobs)
    enter_package()
    check_baseline(families, {op for one in mutants for op in rows[one.op]}, options.jobs)
    print(f"[mutate] trying {len(mutants)} mutants", flush=True)
    survivors = try_all(mutants, rows, options.jobs)
    print(f"[mutate] {len(mutants) - len(survivors)} of {len(mutants)} mutants killed")
    return 1 if survivors else 0
