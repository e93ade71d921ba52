# tools/check/changelog.py -- what a release has told stays as it was; new lines are unreleased.
"""A branch that adds a line where "Unreleased" was before a release is merged below the release's
heading without a conflict. The last release's section is compared with that of its commit.
"""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

from tools.check.repo import Problem

if TYPE_CHECKING:
    from tools.check.repo import Repo

HINT = 'move it below "## Unreleased"'
_PAGE = "CHANGELOG.md"
_HEADING = re.compile(r"^## (\d+\.\d+\.\d+) ", re.M)


def check(repo: Repo) -> list[Problem]:
    text = repo.text(_PAGE) if _PAGE in repo.files else ""
    match = _HEADING.search(text)
    if match is None:
        return []
    released = _git(repo, "log", "-1", f"--grep=^Release {match[1]}$", "--format=%H").strip()
    if not released:
        return []  # a source package has no history
    return late_lines(text, _git(repo, "show", f"{released}:{_PAGE}"), match[1])


def late_lines(text: str, told: str, version: str) -> list[Problem]:
    """Return a problem per line of a version's section in ``text`` that ``told`` has not."""
    known = set(_section(told, version).splitlines())
    start = text[: text.index(f"## {version} ")].count("\n")
    return [
        Problem(_PAGE, f"{version} was released without: {line[:60]}", start + number)
        for number, line in enumerate(_section(text, version).splitlines(), 1)
        if line.startswith("- ") and line not in known
    ]


def _section(text: str, version: str) -> str:
    begin = text.index(f"## {version} ")
    following = _HEADING.search(text, begin + 1)
    return text[begin : following.start() if following else len(text)]


def _git(repo: Repo, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=repo.root, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""
