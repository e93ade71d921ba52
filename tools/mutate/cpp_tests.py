# tools/mutate/cpp_tests.py -- which C++ test reaches which mutant, and a mutant's tests.
"""Each test runs once in a process of its own, which notes what it reached (mutants.h)."""

from __future__ import annotations

import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tools.mutate import tries

SIZE = 8192
MOST = 400  # tests of one program for one mutant


class CppTests:
    """The GoogleTest programs of a build."""

    name = "C++"

    def __init__(self, build: Path, programs: tuple[str, ...], jobs: int) -> None:
        self.programs = [build / "bin" / f"{name}_tests" for name in programs]
        self.reached_folder = build / "reached"
        self.jobs = jobs
        self.seconds: dict[tuple[Path, str], float] = {}
        self.tests: dict[int, list[tuple[Path, str]]] = {}  # by mutant, the quickest first

    def look_around(self) -> None:
        """Run every test once."""
        self.reached_folder.mkdir(exist_ok=True)
        every = [(program, test) for program in self.programs for test in names(program)]
        with ThreadPoolExecutor(self.jobs) as pool:
            found = list(pool.map(self.reach, range(len(every)), every))
        for test, numbers in sorted(
            zip(every, found, strict=True), key=lambda p: self.seconds[p[0]]
        ):
            for number in numbers:
                self.tests.setdefault(number, []).append(test)

    def reach(self, number: int, test: tuple[Path, str]) -> list[int]:
        """The mutants that a test reaches; none if it fails without any."""
        log = self.reached_folder / f"{number}"
        log.unlink(missing_ok=True)
        start = time.monotonic()
        done = subprocess.run(
            [test[0], f"--gtest_filter={test[1]}"],
            env=os.environ | {"EBB_MUTANTS_REACHED": str(log)},
            capture_output=True,
            check=False,
        )
        self.seconds[test] = time.monotonic() - start
        if done.returncode != 0:
            print(f"[mutate] fails without a mutant, left out: {test[1]}", flush=True)
            return []
        data = log.read_bytes() if log.exists() else b""
        return [place for place in range(SIZE) if any(data[place::SIZE])]

    def reaches(self, number: int) -> bool:
        """Whether any test evaluates what a mutant breaks."""
        return number in self.tests

    def task(self, number: int) -> tries.Task:
        """The tests that reach a mutant: program by program, until one fails."""
        tests = self.tests[number]
        limit = 5 + 3 * sum(self.seconds[one] for one in tests)
        return tries.Task(partial(self.run, number, tests), limit)

    def run(self, number: int, tests: list[tuple[Path, str]]) -> int:
        """Run tests with a mutant, in this process' place; 1 if one fails."""
        environment = os.environ | {tries.VARIABLE: str(number)}
        by_program: dict[Path, list[str]] = {}
        for program, name in tests:
            by_program.setdefault(program, []).append(name)
        for program in sorted(by_program, key=lambda one: len(by_program[one])):
            chosen = ":".join(by_program[program][:MOST])
            # A crash in a child that a test expects says nothing; the program's end does.
            status = subprocess.run(
                [program, f"--gtest_filter={chosen}", "--gtest_fail_fast", "--gtest_brief=1"],
                env=environment,
                check=False,
            ).returncode
            if status != 0:
                return 1
        return 0


def names(program: Path) -> list[str]:
    """All tests of a program."""
    listed = subprocess.run(
        [program, "--gtest_list_tests"], check=True, capture_output=True, text=True
    ).stdout
    suite, found = "", []
    for line in listed.splitlines():
        name = line.split("#")[0].rstrip()
        if name.startswith("  "):
            found.append(suite + name.strip())
        elif name.endswith("."):
            suite = name
    return [name for name in found if "DISABLED" not in name]
