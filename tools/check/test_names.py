# tools/check/test_names.py -- no two tests share a name, so none hides another.
"""In Python the later of two equal names replaces the earlier silently; in C++ a report becomes
ambiguous. The name is compared within a C++ program (a folder of tests/) and within a Python module
or class.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tools.check.cpp_functions import blank
from tools.check.repo import Problem

if TYPE_CHECKING:
    from tools.check.repo import Repo

HINT = "rename one of the two after the behaviour that it shows"
_TEST = re.compile(r"^\s*(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.M)


def check(repo: Repo) -> list[Problem]:
    tests = [name for name in repo.files if name.startswith("tests/")]
    cpp = {name: repo.text(name) for name in tests if name.endswith(".cpp")}
    problems = duplicate_cpp_tests(cpp)
    for name in tests:
        if name.endswith(".py"):
            problems += duplicate_python_tests(name, repo.text(name))
    return problems


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


def duplicate_python_tests(name: str, text: str) -> list[Problem]:
    """Return a problem per test function whose name its module or class has already."""
    tree = ast.parse(text)
    scopes = [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]
    problems = []
    for scope in scopes:
        seen: dict[str, int] = {}
        for node in scope.body:
            is_test = isinstance(node, ast.FunctionDef | ast.ClassDef)
            if not is_test or not node.name.lower().startswith("test"):
                continue
            if node.name in seen:
                text = f"test {node.name} is already on line {seen[node.name]}"
                problems.append(Problem(name, text, node.lineno))
            seen.setdefault(node.name, node.lineno)
    return problems
