# tools/check/commits.py -- recent commits have a short subject, and large ones say why.
"""Asked of the last ``RECENT`` commits since the last release, or since the commit that added this
check: what is past cannot be mended. Merges and renames count for nothing.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools.check.repo import Problem

if TYPE_CHECKING:
    from pathlib import Path

    from tools.check.repo import Repo

HINT = "git commit --amend while it is not on main; after that, do better in the next one"
RECENT = 20
MAX_SUBJECT = 60
MAX_SILENT = 100  # changed lines, without a body
_START, _END = "\x1e", "\x1f"


@dataclass(frozen=True)
class Commit:
    """One commit: its short name, the texts of its message, how many lines it changed."""

    name: str
    subject: str
    body: str
    lines: int


def check(repo: Repo) -> list[Problem]:
    return [problem for one in recent(repo.root) for problem in complaints(one)]


def recent(root: Path) -> list[Commit]:
    """Return the commits to look at; none where there is no history."""
    release = _git(root, "log", "-1", "--grep=^Release [0-9]", "--format=%H")
    added = _git(root, "log", "--diff-filter=A", "--format=%H", "--", "tools/check/commits.py")
    first = release or added
    if not added:
        return []
    form = f"--format={_START}%h%x00%s%x00%b{_END}"
    wanted = ("--no-merges", "-M", "--shortstat", f"-{RECENT}")
    text = _git(root, "log", form, *wanted, f"{first.split()[-1]}..HEAD")
    return [_read(part) for part in text.split(_START)[1:]]


def _read(part: str) -> Commit:
    message, _, stat = part.partition(_END)
    name, subject, body = message.split("\0")
    counts = re.findall(r"(\d+) (?:insertion|deletion)", stat)
    return Commit(name, subject, body.strip(), sum(map(int, counts)))


def complaints(commit: Commit) -> list[Problem]:
    """Return what is wrong with a commit's message."""
    found = []
    if len(commit.subject) > MAX_SUBJECT:
        length = len(commit.subject)
        found.append(f"needs a subject of at most {MAX_SUBJECT} characters, got {length}")
    if commit.lines > MAX_SILENT and not commit.body:
        found.append(f"needs a body that says why, since it changes {commit.lines} lines")
    return [Problem(f"commit {commit.name}", f"{commit.subject}: {text}") for text in found]


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""
