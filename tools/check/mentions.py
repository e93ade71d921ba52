# tools/check/mentions.py -- files that comments and pages name are there.
"""A path from the root, such as ``ops/conv.yaml``, and any name of a file in a README."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools.check.layers import GENERATED
from tools.check.repo import Problem

if TYPE_CHECKING:
    from tools.check.repo import Repo

HINT = "name the file that has it now, or say it without a name"
_ENDING = r"[\w-]+(?:\.\w+)*\.(?:h|cpp|py|pyi|js|yaml|j2|md|sh|cmake)(?![\w(*]|\.\w)"
_TOPS = "benchmarks|cmake|codegen|docs|ebb|examples|ops|python|tests|tools"
_PATH = re.compile(rf"(?<![\w./-])(?:{_TOPS})/[\w./-]*?{_ENDING}")
_NAME = re.compile(rf"`(?:[\w.-]+/)*({_ENDING})`")
_READ = (".h", ".cpp", ".py", ".js", ".yaml", ".j2", ".md", ".cmake", "CMakeLists.txt")
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
    return [
        problem
        for name in repo.select(*_READ)
        if not name.startswith(_LEFT_OUT)
        for problem in gone(name, repo.text(name), paths)
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
