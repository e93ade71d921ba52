# tools/check/openings.py -- every source file opens with its path and its purpose.
"""A reader who lands in the middle of a file scrolls up once and knows where he is, and where to
start reading: what an opening names for that is in the file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools.check.repo import Problem

if TYPE_CHECKING:
    from tools.check.repo import Repo

HINT = (
    "open the file with a comment `PATH -- what it is for.` and, below it, how it works "
    "and at which of its functions to start"
)
SUFFIXES = (".h", ".cpp", ".py", ".cmake", "CMakeLists.txt", ".sh", ".yaml", ".j2", ".toml", ".ini",
            ".js", ".css")  # fmt: skip
NAMES = ("Makefile", ".ci/run")
COMMENT_SIGNS = ("// ", "# ", "{# ", "/* ")
# "Start reading at run_graph() in run.cpp" is of another file.
_START = re.compile(
    r"\bStart\s+(?://\s|#\s)?reading\s+(?://\s|#\s)?at\s+(?:[/#]+\s)?([\w:.]+)\(\)(?! in )"
)


def check(repo: Repo) -> list[Problem]:
    names = [name for name in repo.files if name.endswith(SUFFIXES) or name in NAMES]
    return [
        problem
        for name in names
        for look in (missing_opening, missing_start)
        for problem in look(name, repo.text(name))
    ]


def missing_start(name: str, text: str) -> list[Problem]:
    """Return a problem if a file says to start reading at a function that it does not have."""
    return [
        Problem(name, f"{match[1]}() is gone", text.count("\n", 0, match.start()) + 1)
        for match in _START.finditer(text)
        if len(re.findall(rf"\b{re.split('[:.]+', match[1])[-1]}\b", text)) < 2
    ]


def missing_opening(name: str, text: str) -> list[Problem]:
    """Return a problem if the first line, a ``#!`` left out, lacks path or purpose."""
    lines = text.splitlines()
    if lines and lines[0].startswith("#!"):
        lines = lines[1:]
    first = lines[0] if lines else ""
    if name.endswith(".j2") and " -- " in first:
        return []  # a template opens with the comment of the file that it becomes
    if any(first.startswith(f"{sign}{name} -- ") for sign in COMMENT_SIGNS):
        return []
    return [Problem(name, f"needs the opening comment `{name} -- purpose.`, got {first[:60]!r}")]
