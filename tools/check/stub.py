# tools/check/stub.py -- the stub says what the built package has, and typed programs pass mypy.
"""mypy.stubtest compares the generated stub with ebb._C as it runs; `mypy --strict` reads programs
that use the package as users do. Both need the release build.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tools.check.repo import Problem

if TYPE_CHECKING:
    from pathlib import Path

    from tools.check.repo import Repo

HINT = "mend codegen/templates/python/python_stub.pyi.j2, or the annotations in python/ebb"
PACKAGE = "build/release/python"
STUB = "codegen/templates/python/python_stub.pyi.j2"
PROGRAMS = ("tests/tools/typed_program.py", "tests/tools/typed_namespaces.py")


def check(repo: Repo) -> list[Problem]:
    package = repo.root / PACKAGE
    # Which classes of C cannot be bases together is no question for a user.
    stub = run(package, ["mypy.stubtest", "ebb._C", "--concise", "--ignore-disjoint-bases"])
    problems = [Problem(STUB, line) for line in stub]
    for program in PROGRAMS:
        problems += [Problem(program, one) for one in check_types(package, repo.root / program)]
    return problems


def check_types(package: Path, program: Path) -> list[str]:
    """Return what `mypy --strict` says about a program that uses a package in a folder."""
    cache = package.parents[1] / "check" / "mypy"
    options = ["--strict", "--follow-imports=silent", f"--cache-dir={cache}"]
    return run(package, ["mypy", *options, str(program)])


def run(package: Path, arguments: list[str]) -> list[str]:
    """Return what a module of mypy prints, line by line, if it complains."""
    # Not in the root of the checkout, whose folder ebb is no package.
    places = {"PYTHONPATH": str(package), "MYPYPATH": str(package)}
    result = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=package,
        env={**os.environ, **places},
        capture_output=True,
        text=True,
    )
    lines = (result.stdout + result.stderr).splitlines()
    return [line for line in lines if line.strip()] if result.returncode != 0 else []
