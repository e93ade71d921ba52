# tools/mutate/python_tests.py -- which Python test reaches which mutant, and a mutant's tests.
"""One pytest run notes what each test reaches; what survived C++ then meets the tests that reach
it, in a fork of a process that has imported ebb.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from functools import partial
from pathlib import Path

from tools.mutate import tries

FOLDERS = ("engine", "saved", "autograd", "tensor", "amp", "func", "graphs", "strings")
LIMIT = 600.0
MOST = 1500  # tests for one mutant


class Watcher:
    """A plug-in of pytest: after each test, which mutants it reached, and how long it took."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[float, list[int]]] = {}
        self.begun = 0.0
        self.failed: set[str] = set()

    def pytest_runtest_logstart(self, nodeid, location):
        """Nothing is reached yet."""
        tries.in_package().reached[:] = bytes(8192)
        self.begun = time.monotonic()

    def pytest_runtest_logreport(self, report):
        """Note what fails without a mutant."""
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid, location):
        """Note what was reached."""
        reached = bytes(tries.in_package().reached)
        numbers = [place for place, seen in enumerate(reached) if seen]
        if nodeid not in self.failed:
            self.found[nodeid] = (time.monotonic() - self.begun, numbers)


class PythonTests:
    """The tests of some folders of tests/python."""

    name = "Python"

    def __init__(self, root: Path, build: Path, logs: Path) -> None:
        self.root, self.build, self.logs = root, build, logs
        self.tests: dict[int, list[str]] = {}

    def look_around(self) -> None:
        """Run every test once, in a child; import what the tests need here."""
        os.environ["EBB_NUM_THREADS"] = "2"
        package = str(self.build / "python")
        sys.path.insert(0, package)
        os.environ["PYTHONPATH"] = package
        os.chdir(self.root)
        for name in ("pytest", "numpy", "ebb"):
            importlib.import_module(name)
        found = self.build / "python_reached.json"
        watch = tries.Task(partial(self.watch, found))
        for _ in tries.run_forked({"watch": watch}, 1, self.logs):
            pass
        seen = json.loads(found.read_text())
        for test, (_, numbers) in sorted(seen.items(), key=lambda item: item[1][0]):
            for number in numbers:
                self.tests.setdefault(number, []).append(test)

    def watch(self, found: Path) -> int:
        """Write which test reaches what."""
        watcher = Watcher()
        folders = [f"tests/python/{name}" for name in FOLDERS]
        self.pytest(["-q", "-m", "not long", *folders], [watcher])
        found.write_text(json.dumps(watcher.found))
        return 0

    def pytest(self, arguments: list[str], plugins: list[object]) -> int:
        """Run pytest here."""
        return int(importlib.import_module("pytest").main(["--no-header", *arguments], plugins))

    def reaches(self, number: int) -> bool:
        """Whether any test evaluates what a mutant breaks."""
        return number in self.tests

    def task(self, number: int) -> tries.Task:
        """The tests that reach a mutant, the quickest first."""
        return tries.Task(partial(self.run, number), LIMIT)

    def run(self, number: int) -> int:
        """Run the tests of a mutant; return pytest's status."""
        tries.activate(number)
        tests = self.tests[number][:MOST]
        return self.pytest(["-x", "-q", *tests], [])
