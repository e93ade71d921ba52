# tools/check/python_style.py -- ruff finds nothing to lint and nothing to reformat.
"""ruff.toml holds the rules."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tools.check.repo import Problem

if TYPE_CHECKING:
    from tools.check.repo import Repo

HINT = ".venv/bin/ruff check --fix FILE && .venv/bin/ruff format FILE"


def check(repo: Repo) -> list[Problem]:
    files = repo.select(".py")
    if not files:
        return []
    problems = []
    for arguments in (["check", "--output-format=concise", "--quiet"], ["format", "--check"]):
        result = subprocess.run(
            [sys.executable, "-m", "ruff", *arguments, "--no-cache", *files],
            cwd=repo.root,
            capture_output=True,
            text=True,
        )
        if result.returncode == 0:
            continue
        lines = [line for line in (result.stdout + result.stderr).splitlines() if line.strip()]
        problems += [Problem(f"ruff {arguments[0]}", line) for line in lines]
    return problems
