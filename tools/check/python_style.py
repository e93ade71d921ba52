# tools/check/python_style.py -- ruff finds nothing to lint and nothing to reformat.
"""ruff.toml holds the rules."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from tools.check.repo import Problem

if TYPE_CHECKING:
    from tools.check.repo import Repo

HINT = "make format, or .venv/bin/ruff check --fix FILE && .venv/bin/ruff format FILE"


def check(repo: Repo) -> list[Problem]:
    files = repo.select(".py")
    if not files:
        return []
    return lint_problems(repo, files) + format_problems(repo, files)


def run_ruff(repo: Repo, arguments: list[str], files: list[str]) -> list[str]:
    """Return what ruff prints, line by line, if it complains."""
    command = [sys.executable, "-m", "ruff", *arguments, "--no-cache", *files]
    result = subprocess.run(command, cwd=repo.root, capture_output=True, text=True)
    return (result.stdout + result.stderr).splitlines() if result.returncode != 0 else []


def lint_problems(repo: Repo, files: list[str]) -> list[Problem]:
    """Return ruff's findings."""
    problems = []
    for line in run_ruff(repo, ["check", "--output-format=concise", "--quiet"], files):
        match = re.match(r"(\S+?):(\d+):\d+: (.*)", line)
        if match:
            problems.append(Problem(match.group(1), match.group(3), int(match.group(2))))
        elif line.strip():
            problems.append(Problem("ruff check", line))
    return problems


def format_problems(repo: Repo, files: list[str]) -> list[Problem]:
    """Return one problem per file that ruff would format otherwise."""
    lines = run_ruff(repo, ["format", "--check"], files)
    # Newer versions show the place in a listing, older ones say "Would reformat: FILE".
    found = [re.match(r"(?:Would reformat: |\s*--> )(\S+\.py)", line) for line in lines]
    names = sorted({match.group(1) for match in found if match})
    if lines and not names:
        return [Problem("ruff format", line) for line in lines]
    return [Problem(name, "not formatted") for name in names]
