# tools/mutate/engine.py -- breaks the C++ of the engine, history, views, write log and casts.
#
# Broken copies of the sources stand in build/mutate/mutated, which the preset `mutate` compiles in
# place of their own (cmake/EbbMutants.cmake). One run of all C++ tests notes which test reaches
# which mutant; each mutant then meets those, and if it survives the Python tests that reach it, of
# PYTHON_TESTS. Start reading at main().
"""Mutation test of the engine and of what it stands on: `python -m tools.mutate engine`."""

from __future__ import annotations

import argparse
import csv
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from codegen.generate import write_changed
from tools.mutate import cpp_mutants, tries
from tools.mutate.cpp_mutants import Mutant
from tools.mutate.cpp_tests import CppTests
from tools.mutate.python_tests import PythonTests

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "mutate"
MUTATED = BUILD / "mutated"
REASONS = Path(__file__).with_name("equivalent.tsv")
# Which files are broken, and how many mutants are drawn of each area: 500 in all.
AREAS = {
    "engine": (180, r"ebb/autograd/engine/"),
    "views": (60, r"ebb/autograd/history/(views|region|overwrite)\."),
    "write log": (60, r"ebb/core/tensor/(write_log|byte_region)\."),
    "casts": (60, r"ebb/autograd/history/(casts/|gradients/grad_dtype)"),
    "history": (140, r"ebb/autograd/history/(?!names/)"),
}
SEED = 20261128
PROGRAMS = ("autograd", "core", "device", "graph", "io", "nn", "ops", "optim", "stress", "testing")


def area_of(path: str) -> str | None:
    """The first area that a file belongs to."""
    return next((name for name, (_, paths) in AREAS.items() if re.match(paths, path)), None)


def sources() -> list[str]:
    """The files that may be broken."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "ebb/*.h", "ebb/*.cpp"], cwd=ROOT, check=True, capture_output=True
    ).stdout.decode()
    return [name for name in listed.split("\0") if name and area_of(name)]


def candidates() -> list[Mutant]:
    """All mutants of all areas."""
    return [one for name in sources() for one in cpp_mutants.find(name, (ROOT / name).read_text())]


def draw(found: list[Mutant], seed: int) -> dict[int, Mutant]:
    """The mutants to try, by number: those of each area whose draw comes first."""
    chosen: list[Mutant] = []
    for area, (count, _) in AREAS.items():
        own = [one for one in found if area_of(one.path) == area]
        chosen += sorted(own, key=lambda one: one.draw(seed))[:count]
    return dict(enumerate(sorted(chosen, key=lambda one: (one.path, one.start, one.key)), start=1))


def write(mutants: dict[int, Mutant]) -> None:
    """Write the broken copies; lines keep their numbers."""
    texts = {}
    for name in sources():
        own = {number: one for number, one in mutants.items() if one.path == name}
        text = cpp_mutants.broken((ROOT / name).read_text(), own)
        texts[name] = f'#include "{tries.HEADER}"  {text}'
    write_changed(MUTATED, texts)


def build(found: list[Mutant], seed: int) -> dict[int, Mutant]:
    """Compile the mutants; return those that the compiler takes, with the numbers of the draw."""
    mutants = draw(found, seed)
    refused = set(read_lines(BUILD / "refused.txt"))
    for _ in range(12):
        mutants = {number: one for number, one in mutants.items() if one.key not in refused}
        write(mutants)
        done = compile_all()
        if done.returncode == 0:
            return mutants
        wrong = refused_by_compiler(done.stdout + done.stderr, mutants)
        if not wrong:
            sys.exit(f"mutate: the build failed\n{done.stdout[-6000:]}{done.stderr[-2000:]}")
        print(f"[mutate] the compiler refuses {len(wrong)} mutants", flush=True)
        refused |= wrong
        (BUILD / "refused.txt").write_text("\n".join(sorted(refused)))
    sys.exit("mutate: the compiler refuses too many mutants")


def compile_all() -> subprocess.CompletedProcess[str]:
    """Build what the tests need, past errors: so one build tells of all."""
    targets = [f"{name}_tests" for name in PROGRAMS] + ["ebb_python_package"]
    configured = "tools/build.sh mutate ebb_generate"
    built = f"cmake --build build/mutate -j {os.cpu_count()} --target {' '.join(targets)} -- -k 0"
    return subprocess.run(
        f"{configured} && {built}", shell=True, cwd=ROOT, capture_output=True, text=True
    )


def refused_by_compiler(log: str, mutants: dict[int, Mutant]) -> set[str]:
    """The mutants in the lines that errors show or name, or were instantiated from."""
    shown = re.findall(r": error: .*\n((?: *\d* *\|.*\n)+)", log)
    numbers = {int(one) for text in shown for one in re.findall(r"EBB_MUTANT\((\d+)\)", text)}
    if numbers & set(mutants):
        return {mutants[one].key for one in numbers if one in mutants}
    places = set(re.findall(r"mutated/(ebb/\S+?):(\d+):\d+: +(?:error|required)", log))
    places |= set(re.findall(r"mutated/(ebb/\S+?):(\d+):\d+: note: .*not.* constant", log))
    return {
        one.key
        for one in mutants.values()
        for path, line in places
        if one.path == path and one.line <= int(line) <= one.line + one.was.count("\n") + 6
    }


def read_lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def read_reasons() -> dict[str, str]:
    """Why a mutant computes the same, by its key."""
    with REASONS.open() as file:
        return {row[0]: row[1] for row in list(csv.reader(file, delimiter="\t", quoting=3))[1:]}


def try_all(mutants: dict[int, Mutant], jobs: int, logs: Path) -> list[int]:
    """Run the C++ tests, then the Python tests, of each mutant; return those that survive."""
    left = list(mutants)
    for tests in (CppTests(BUILD, PROGRAMS, jobs), PythonTests(ROOT, BUILD, logs)):
        tests.look_around()
        tasks = {str(number): tests.task(number) for number in left if tests.reaches(number)}
        killed = set()
        print(f"[mutate] {tests.name} tests reach {len(tasks)} of {len(left)} mutants", flush=True)
        for name, code in tries.run_forked(tasks, jobs, logs):
            if code != 0:
                killed.add(int(name))
                print(f"killed   {name} {mutants[int(name)].key}", flush=True)
        left = [number for number in left if number not in killed]
    return left


def report(mutants: dict[int, Mutant], survivors: list[int], is_whole: bool) -> int:
    """Say which mutants survive without a reason, and which reasons are not needed."""
    reasons = read_reasons()
    alive = {mutants[number].key: number for number in survivors}
    tried = {one.key for one in mutants.values()}
    unargued = [key for key in alive if key not in reasons]
    for key in unargued:
        one = mutants[alive[key]]
        print(f"SURVIVED {alive[key]} {one.path}:{one.line} {key}")
    needless = [key for key in reasons if key not in alive and (is_whole or key in tried)]
    for key in needless:
        print(f"tools/mutate/equivalent.tsv: {'killed' if key in tried else 'not drawn'}: {key}")
    kinds = Counter(one.kind for one in mutants.values())
    print(
        f"[mutate] drawn: {', '.join(f'{kind} {count}' for kind, count in sorted(kinds.items()))}"
    )
    argued = len(alive) - len(unargued)
    print(
        f"[mutate] {len(mutants)} mutants: {len(mutants) - len(alive)} killed, {argued} argued, "
        f"{len(unargued)} survived"
    )
    return 1 if unargued or needless else 0


def main(arguments: list[str]) -> int:
    """Run the command line; 1 if a mutant survives."""
    parser = argparse.ArgumentParser(prog="tools.mutate engine", description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    parser.add_argument("--only", help="try only those whose key matches this pattern, or numbers")
    parser.add_argument("--seed", type=int, default=SEED, help="of the draw")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    BUILD.mkdir(parents=True, exist_ok=True)
    found = candidates()
    if options.list:
        mutants = draw(found, options.seed)
        print("\n".join(f"{number} {one.line} {one.key}" for number, one in mutants.items()))
        return 0
    print(f"[mutate] building with mutants, drawn of {len(found)}", flush=True)
    mutants = build(found, options.seed)
    if options.only:
        names = options.only.split(",")
        mutants = {
            number: one
            for number, one in mutants.items()
            if str(number) in names or re.search(options.only, one.key)
        }
    logs = BUILD / "logs"
    logs.mkdir(exist_ok=True)
    survivors = try_all(mutants, options.jobs, logs)
    return report(mutants, survivors, not options.only)
