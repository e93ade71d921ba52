# tools/check/mentions.py -- files, functions and targets that comments and pages name are there.
"""A path from the root, such as ``ops/nn/conv.yaml``; any name of a file, and of a function as in
``run_graph()``, in a README; targets such as ``make test`` and what links lead to in any page. The
pages that tell of the code, tours and decisions, may name no class that is gone, either.
"""

from __future__ import annotations

import re
from posixpath import dirname, normpath
from typing import TYPE_CHECKING

from tools.check.layers import GENERATED
from tools.check.repo import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools.check.repo import Repo

HINT = "name what has it now, or say it without a name"
_ENDING = r"[\w-]+(?:\.\w+)*\.(?:h|cpp|py|pyi|js|yaml|j2|md|sh|cmake)(?![\w(*]|\.\w)"
_TOPS = "benchmarks|cmake|codegen|docs|ebb|examples|ops|python|satellites|tests|tools"
_PATH = re.compile(rf"(?<![\w./-])(?:{_TOPS})/[\w./-]*?{_ENDING}")
_NAME = re.compile(rf"`(?:[\w.-]+/)*({_ENDING})`")
_READ = (".h", ".cpp", ".py", ".js", ".yaml", ".j2", ".md", ".cmake", "CMakeLists.txt")
_CALL = re.compile(r"`(?:\w+(?:\.|::))*(\w+)\(\)`")
_CLASS = re.compile(r"`(?:\w+::)*([A-Z][a-z]+(?:[A-Z][a-z]+)+)`")
_LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]+)")
_FENCED = re.compile(r"^```.*?^```", re.M | re.S)
_OF_CODE = ("docs/tours/", "docs/decisions/")
_TARGET = re.compile(r"`make ([a-z][a-z-]*)`")
_CODE = (".h", ".cpp", ".py", ".js", ".k", ".cl", ".cu", ".yaml", ".j2", ".sh")
# How the opening of a generated file goes on, in what writes it.
_MADE = " -- generated"
# They make up trees of files, or tell of those that were.
_LEFT_OUT = ("CHANGELOG.md", "tests/tools/", "tests/codegen/", "tests/packaging/")


def check(repo: Repo) -> list[Problem]:
    generated = repo.root / GENERATED
    if not generated.exists():
        return []  # half of what is named may be there
    made = {str(path.relative_to(generated)) for path in generated.rglob("*.*")}
    paths = {*repo.files, *made}
    names = [name for name in repo.select(*_READ) if not name.startswith(_LEFT_OUT)]
    pages = {name: repo.text(name) for name in names if name.endswith(".md")}
    return [
        *(problem for name in names for problem in gone(name, repo.text(name), paths)),
        *unknown_functions(pages, (repo.text(name) for name in repo.select(*_CODE))),
        *unknown_targets(pages, repo.text("Makefile") if "Makefile" in repo.files else ""),
        *(problem for name, text in pages.items() for problem in dead_links(name, text, paths)),
    ]


def dead_links(name: str, text: str, paths: set[str]) -> list[Problem]:
    """Return a problem per link of a page to a file or folder that is not there."""
    if name.endswith("_head.md"):
        return []  # the head of a page elsewhere
    folders = {path[: end.start()] for path in paths for end in re.finditer("/", path)}
    return [
        Problem(name, f"{match[1]} is gone", text.count("\n", 0, match.start()) + 1)
        for match in _LINK.finditer(_FENCED.sub(lambda block: "\n" * block[0].count("\n"), text))
        if normpath(f"{dirname(name)}/{match[1]}").lstrip("/") not in paths | folders
    ]


def unknown_functions(pages: dict[str, str], code: Iterable[str]) -> list[Problem]:
    """Return a problem per `name()` of a README, or `Class` of a page of code, that is gone."""
    words = {word for text in code for word in re.findall(r"\w+", text)}
    problems = []
    for name, text in pages.items():
        tells_of_code = name.startswith(_OF_CODE)
        if not tells_of_code and not name.endswith("README.md"):
            continue
        named = [(match, f"{match[1]}()") for match in _CALL.finditer(text)]
        if tells_of_code:
            named += [(match, match[1]) for match in _CLASS.finditer(text)]
        problems += [
            Problem(name, f"{shown} is gone", text.count("\n", 0, match.start()) + 1)
            for match, shown in named
            if match[1] not in words
        ]
    return problems


def unknown_targets(pages: dict[str, str], makefile: str) -> list[Problem]:
    """Return a problem per `make name` in a page that the Makefile does not have."""
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    return [
        Problem(name, f"make {match[1]} is gone", text.count("\n", 0, match.start()) + 1)
        for name, text in pages.items()
        for match in _TARGET.finditer(text)
        if match[1] not in targets
    ]


def gone(name: str, text: str, paths: set[str]) -> list[Problem]:
    """Return a problem per file that ``text`` names and that is not among ``paths``."""
    ends = {path.rpartition("/")[2] for path in paths} if name.endswith("README.md") else set()
    found = [
        (match.start(), match[0])
        for match in _PATH.finditer(text)
        if not _is_there(match[0], paths) and not text.startswith(_MADE, match.end())
    ]
    if ends:
        found += [(m.start(), m[1]) for m in _NAME.finditer(text) if m[1] not in ends]
    return [
        Problem(name, f"{path} is gone", text.count("\n", 0, place) + 1) for place, path in found
    ]


def _is_there(path: str, paths: set[str]) -> bool:
    # The package calls its own folder ebb/, the library's rooms each other by their names.
    return any(folder + path in paths for folder in ("", "python/", "ebb/"))
