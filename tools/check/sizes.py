# tools/check/sizes.py -- files of at most 600 lines, functions of 60, lines of 100 columns, of 160
# in READMEs.
"""Limits on what a reader has to hold in mind at once; of pages, all but the changelog, in lines.

lizard finds the functions of C++ and JavaScript. A Python function's docstring does not count, just
as a C++ function's comment stands outside its braces.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import lizard

from tools.check.repo import Problem

if TYPE_CHECKING:
    from tools.check.repo import Repo

HINT = "split by idea, not by length: a helper with a name of its own, or a file per idea"
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60
MAX_COLUMNS = 100
MAX_README_COLUMNS = 160
# A template's line expands to another length, and a signature in the op table is one line.
FREE_WIDTH = (".j2", ".yaml")
SUFFIXES = (".h", ".cpp", ".py", ".cmake", "CMakeLists.txt", ".sh", ".yaml", ".j2", "Makefile",
            ".js", ".css")  # fmt: skip


def check(repo: Repo) -> list[Problem]:
    problems = []
    for name in repo.select(*SUFFIXES):
        text = repo.text(name)
        problems += long_files(name, text)
        if not name.endswith(FREE_WIDTH):
            problems += long_lines(name, text)
        if name.endswith(".py"):
            problems += long_python_functions(name, text)
        elif name.endswith((".h", ".cpp", ".js")):
            problems += long_functions(name, text)
    for name in repo.select(".md"):
        if name != "CHANGELOG.md":
            problems += long_files(name, repo.text(name))
        if name.endswith("README.md"):
            problems += long_lines(name, repo.text(name), MAX_README_COLUMNS)
    return problems


def long_files(name: str, text: str) -> list[Problem]:
    """Return a problem if the file has too many lines."""
    count = len(text.splitlines())
    if count <= MAX_FILE_LINES:
        return []
    return [Problem(name, f"file needs at most {MAX_FILE_LINES} lines, got {count}")]


def long_lines(name: str, text: str, most: int = MAX_COLUMNS) -> list[Problem]:
    """Return a problem per line that is too wide; a bare URL cannot be broken and may be."""
    return [
        Problem(name, f"line needs at most {most} columns, got {len(line)}", number)
        for number, line in enumerate(text.splitlines(), start=1)
        if len(line) > most and "://" not in line
    ]


def long_functions(name: str, text: str) -> list[Problem]:
    """Return a problem per function of C++ or JavaScript with too many lines."""
    found = lizard.analyze_file.analyze_source_code(name, text).function_list
    return [
        _too_long(name, one.name, one.length, one.start_line)
        for one in found
        if one.length > MAX_FUNCTION_LINES
    ]


def long_python_functions(name: str, text: str) -> list[Problem]:
    """Return a problem per Python function with too many lines, docstring left out."""
    problems = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        lines = node.end_lineno - node.lineno + 1
        if ast.get_docstring(node, clean=False) is not None:
            lines -= node.body[0].end_lineno - node.body[0].lineno + 1
        if lines > MAX_FUNCTION_LINES:
            problems.append(_too_long(name, node.name, lines, node.lineno))
    return problems


def _too_long(path: str, function: str, lines: int, start: int) -> Problem:
    text = f"function {function} needs at most {MAX_FUNCTION_LINES} lines, got {lines}"
    return Problem(path, text, start)
