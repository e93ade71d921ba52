# tools/check/__main__.py -- runs every check, prints each finding and how to mend it.
"""Usage: python -m tools.check [NAME...] [--root PATH].

Without names all checks run. The exit status is 1 if any check found something.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tools.check import (
    banned,
    changelog,
    commits,
    cpp_format,
    headers,
    hygiene,
    layers,
    mentions,
    op_names,
    openings,
    python_style,
    rebuilds,
    rooms,
    sizes,
    sources,
    stub,
    test_names,
)
from tools.check.repo import Repo

if TYPE_CHECKING:
    from types import ModuleType

CHECKS: dict[str, ModuleType] = {
    "cpp_format": cpp_format,
    "python_style": python_style,
    "sizes": sizes,
    "openings": openings,
    "banned": banned,
    "rooms": rooms,
    "mentions": mentions,
    "sources": sources,
    "layers": layers,
    "rebuilds": rebuilds,
    "op_names": op_names,
    "hygiene": hygiene,
    "test_names": test_names,
    "commits": commits,
    "changelog": changelog,
    "headers": headers,
    "stub": stub,
}
# These need the built library, and print their own findings, so each runs as a program of its own.
PROGRAMS = {
    "op_matrix": "tools/check/op_matrix.py",
    "device_ops": "tools/check/device_ops.py",
}
SHOWN_PROBLEMS = 40


def run_check(name: str, repo: Repo) -> bool:
    """Run one check, print its verdict, and return whether it passed."""
    started = time.monotonic()
    problems = CHECKS[name].check(repo)
    seconds = time.monotonic() - started
    print(f"[check] {name:<13} {'ok' if not problems else 'FAILED'} ({seconds:.1f} s)", flush=True)
    for problem in problems[:SHOWN_PROBLEMS]:
        print(f"  {problem}")
    if len(problems) > SHOWN_PROBLEMS:
        print(f"  ... and {len(problems) - SHOWN_PROBLEMS} more")
    if problems:
        print(f"  hint: {CHECKS[name].HINT}", flush=True)
    return not problems


def run_program(name: str, repo: Repo) -> bool:
    """Run a check of the built library where the checkout has it."""
    if not (repo.root / PROGRAMS[name]).exists():
        return True
    passed = subprocess.run([sys.executable, PROGRAMS[name]], cwd=repo.root).returncode == 0
    print(f"[check] {name:<13} {'ok' if passed else 'FAILED'}", flush=True)
    return passed


def main() -> int:
    known = [*CHECKS, *PROGRAMS]
    parser = argparse.ArgumentParser(prog="tools.check", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    options = parser.parse_args()
    unknown = set(options.names) - set(known)
    if unknown:
        parser.error(f"needs names among {', '.join(known)}, got {', '.join(sorted(unknown))}")
    names = options.names or known
    repo = Repo.at(options.root.resolve())
    failed = [name for name in names if name in CHECKS and not run_check(name, repo)]
    failed += [name for name in names if name in PROGRAMS and not run_program(name, repo)]
    print(f"[check] {len(names) - len(failed)} of {len(names)} checks passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
