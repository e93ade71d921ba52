# tools/check/test_names.py -- no two C++ tests of a program share a name: reports stay clear.
"""A program is a folder of tests/. Python's are ruff's (F811)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools.check.cpp_text import blank
from tools.check.repo import Problem

if TYPE_CHECKING:
    from tools.check.repo import Repo

HINT = "rename one of the two after the behaviour that it shows"
_TEST = re.compile(r"^\s*(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.M)


def check(repo: Repo) -> list[Problem]:
    names = [name for name in repo.select(".cpp") if name.startswith("tests/")]
    return duplicate_cpp_tests({name: repo.text(name) for name in names})


def duplicate_cpp_tests(texts: dict[str, str]) -> list[Problem]:
    """Return a problem per TEST(Suite, Name) that a file of the same folder has already."""
    seen: dict[tuple[str, str, str], str] = {}
    problems = []
    for name, text in sorted(texts.items()):
        code = blank(text)
        for match in _TEST.finditer(code):
            key = (_program(name), *match.groups())
            line = code.count("\n", 0, match.start(1)) + 1
            if key in seen:
                text = f"test {key[1]}.{key[2]} is already in {seen[key]}"
                problems.append(Problem(name, text, line))
            seen.setdefault(key, f"{name}:{line}")
    return problems


def _program(name: str) -> str:
    """Return the folder whose tests are one program: ``tests/core`` for ``tests/core/base/x``."""
    return "/".join(name.split("/")[:2])
