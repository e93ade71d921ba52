# tests/fuzz/features/programs.py -- draws programs of features, runs them, compares what they see.
#
# A program's reference is the plain one: what each step promises to mean, done by plain_tensors.py
# in NumPy while the program is drawn.
#
#     python -m tests.fuzz.features.programs FIRST BATCHES [COUNT]
#
# draws and compares COUNT programs of each seed from FIRST on, and prints the smallest that fails.
# PyTorch is a second reference, outside of the tests: `... write SEED COUNT FILE` writes programs,
# which `... torch FILE`, in an interpreter that has it, runs and compares. It refuses some that
# ebb takes, gives zeros for None, and lets a hook of a root run of which no input is used.
"""Programs of features: drawn, run and compared."""

from __future__ import annotations

import collections
import importlib
import json
import random
import sys
import traceback
import warnings
from pathlib import Path

import hypothesis
import numpy as np
from hypothesis import strategies

from tests.fuzz.features import blocks, hooks, modules, steps
from tests.fuzz.features.draws import Choices, Program, take_step
from tests.fuzz.features.helpers import Do, Log, OverError

KINDS = steps, hooks, blocks, modules  # whose steps are drawn
ROW, MIN_ROWS, MAX_ROWS = 12, 6, 24
EPSILONS = {
    "float16": 2**-10,
    "bfloat16": 2**-7,
    "any": 2**-7,
    "float32": 2**-20,
    "complex64": 2**-20,
}
ROUNDINGS = 32  # of a program of about as many ops, in units of its largest number


def draw(rows):
    """The program of `rows`."""
    program = Program(list(rows))
    with np.errstate(all="ignore"):
        steps.begin(program, Choices(program.rows.pop(0)))
        while program.rows and not program.over and not program.is_void:
            take_step(program)
        if program.is_void:
            return draw(rows[:1])
        modules.finish(program)
        steps.finish(program)
    return program


def run_source(source, lib):
    """What the program sees under `lib`."""
    space, log = {}, Log(lib)
    exec(compile(source, "<program>", "exec"), space)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            space["program"](lib, log, Do(lib))
    except OverError:
        pass
    return log.seen


def tolerance(program):
    dtypes = {*program.dtypes, *(one.dtype for one in program.pool)}
    return ROUNDINGS * max(EPSILONS.get(dtype, 2**-48) for dtype in dtypes) * program.world.largest


def by_hook(entries):
    """The entries with those of a stretch of hooks in the order of the hooks."""
    ordered, stretch = [], []
    for entry in [*entries, ("", None)]:
        if entry[0].startswith("h"):
            stretch.append(entry)
            continue
        ordered += sorted(stretch, key=lambda one: one[0])
        ordered.append(entry)
        stretch = []
    return ordered[:-1]


def difference(expected, seen, allowed):
    """The first entry that differs, as text; None if there is none."""
    expected, seen = by_hook(expected), by_hook(seen)
    for (key, wanted), (other, given) in zip(expected, [*seen, ("nothing", None)], strict=False):
        if (key, other) == ("may", "gave up"):
            return None
        if other != key or (wanted is None) != (given is None):
            return f"wanted {key} {wanted}, got {other} {given}"
        if wanted is not None and not same(wanted, given, allowed):
            return f"{key}: wanted {wanted}, got {given}, allowed {allowed}"
    return f"also seen: {seen[len(expected)]}" if len(seen) > len(expected) else None


def same(wanted, given, allowed):
    dtype, needs, value = wanted
    if dtype not in (None, "any", given[0]) or needs not in (None, given[1]):
        return False
    numbers = np.array(given[2])
    if numbers.size != value.size:
        return False
    return np.allclose(value, numbers.reshape(value.shape), rtol=0, atol=allowed)


def check(program, lib):
    """What is wrong with what the program sees; None if nothing is."""
    try:
        seen = run_source(program.source(), lib)
    except Exception:
        return traceback.format_exc(limit=-3)
    return difference(program.world.notes, seen, tolerance(program))


def rows():
    """A strategy of programs: rows of choices, which hypothesis shortens and lowers."""
    row = strategies.binary(min_size=ROW, max_size=ROW)
    return strategies.lists(row, min_size=MIN_ROWS, max_size=MAX_ROWS)


GENERATE, SHRINK = hypothesis.Phase.generate, hypothesis.Phase.shrink


def hunt(seed, count, lib, seen=lambda program: None, phases=(GENERATE, SHRINK)):
    """Draw and compare `count` programs; a failure is the smallest that hypothesis finds."""

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=phases,
        suppress_health_check=list(hypothesis.HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    @hypothesis.given(rows())
    def right(drawn):
        program = draw(drawn)
        seen(program)
        wrong = check(program, lib)
        assert not wrong, f"seed {seed}\n{program.source()}{wrong}"

    right()


def hunt_many(first, batches, count=1000):
    used, failures, lib = collections.Counter(), 0, importlib.import_module("ebb")
    for seed in range(int(first), int(first) + int(batches)):
        try:
            hunt(seed, int(count), lib, lambda program: used.update(["programs", *program.used]))
        except AssertionError as error:
            failures += 1
            print(f"--- {error}", flush=True)
    print(f"{failures} wrong; {dict(used.most_common())}")


def write(seed, count, path):
    """Programs and what they must show, for another interpreter."""
    rng = random.Random(int(seed))
    with open(path, "w") as file:
        for number in range(int(count)):
            drawn = [rng.randbytes(ROW) for _ in range(rng.randint(6, MAX_ROWS))]
            program = draw(drawn)
            notes = [
                (key, seen and (seen[0], repr(seen[2].tolist()), seen[2].shape))
                for key, seen in program.world.notes
            ]
            json.dump([number, program.source(), notes, tolerance(program)], file)
            file.write("\n")


def as_torch(entries):
    """What may be compared: without hooks, and gradients of zero are None."""

    def settled(key, seen):
        is_grad = "grad" in key or "[" in key
        return key, None if is_grad and seen is not None and not np.any(seen[2]) else seen

    return [settled(*entry) for entry in entries if not entry[0].startswith("h")]


def compare_torch(path):
    torch, counts = importlib.import_module("torch"), collections.Counter()
    for line in Path(path).read_text().splitlines():
        number, source, notes, allowed = json.loads(line)
        expected = [
            (key, seen and (seen[0], None, np.array(eval(seen[1])).reshape(seen[2])))
            for key, seen in notes
        ]
        try:
            wrong = difference(as_torch(expected), as_torch(run_source(source, torch)), allowed)
        except Exception as error:
            counts["refused"] += 1
            print(f"=== refused {number} {type(error).__name__}: {str(error)[:150]!r}")
            continue
        counts["differ" if wrong else "agree"] += 1
        if wrong:
            print(f"--- differs {number}\n{source}{wrong}\n")
    print(dict(counts))


if __name__ == "__main__":
    commands = {"torch": compare_torch, "write": write}
    if sys.argv[1] in commands:
        commands[sys.argv[1]](*sys.argv[2:])
    else:
        hunt_many(*sys.argv[1:])
