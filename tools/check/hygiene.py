# tools/check/hygiene.py -- nothing generated, binary or large is committed.
"""A clone stays small, and every file of it is written by hand and readable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.check.repo import Problem

if TYPE_CHECKING:
    from tools.check.repo import Repo

HINT = "remove it (git rm --cached FILE) and make it in build/, or extend the list of exceptions"
MAX_BYTES = 200_000
BINARY_ALLOWED = ("data/digits/digits.safetensors",)
GENERATED_FOLDERS = ("build/", ".venv/")
GENERATED_SUFFIXES = (".o", ".a", ".so", ".pyc", ".whl", ".gch", ".log")
GENERATED_MARKS = (b"do not edit", b"DO NOT EDIT", b"@generated")


def check(repo: Repo) -> list[Problem]:
    problems = []
    for name in repo.files:
        problems += unwanted(name, (repo.root / name).read_bytes())
    return problems


def unwanted(name: str, content: bytes) -> list[Problem]:
    """Return what is wrong with keeping a file of this name and content in git."""
    problems = []
    if name.startswith(GENERATED_FOLDERS) or name.endswith(GENERATED_SUFFIXES):
        problems.append(Problem(name, "is a build product"))
    # Only the head counts: the generator's templates hold the mark further down or in a string.
    elif any(mark in content[:200] for mark in GENERATED_MARKS) and not name.endswith(".j2"):
        problems.append(Problem(name, "says that it is generated"))
    if len(content) > MAX_BYTES:
        problems.append(Problem(name, f"needs at most {MAX_BYTES} bytes, got {len(content)}"))
    if b"\0" in content and name not in BINARY_ALLOWED:
        problems.append(Problem(name, "is binary"))
    if b"\r\n" in content and name not in BINARY_ALLOWED:
        problems.append(Problem(name, "has Windows line ends"))
    return problems
