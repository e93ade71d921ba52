# tools/check/layers.py -- includes point down the layers, and only to dependencies that are listed.
"""core <- kernels <- ops <- autograd <- everything else in ebb/ <- python.

A file in ebb/<folder>/ may include headers of its own folder, and those of the folders whose
libraries its CMakeLists.txt lists as DEPS of ebb_library(). Generated files, found in the build
folder under the same names, obey the same rules.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools.check.repo import CPP_SUFFIXES, Problem

if TYPE_CHECKING:
    from tools.check.repo import Repo

HINT = "move the code down a layer, or list the dependency in the folder's CMakeLists.txt"
ORDER = ("core", "kernels", "ops", "autograd")
GENERATED = "build/release/generated"
_INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])((?:ebb|python)/[^">]+)[">]', re.M)
_LIBRARY = re.compile(r"\bebb_library\(\s*(\w+)([^)]*)\)")
_KEYWORDS = ("SOURCES", "GENERATED", "DEPS", "PRIVATE_DEPS", "OPTIONS")


def check(repo: Repo) -> list[Problem]:
    allowed = listed_dependencies({name: repo.text(name) for name in repo.select("CMakeLists.txt")})
    texts = {name: repo.text(name) for name in repo.cpp_files}
    generated = repo.root / GENERATED
    for path in sorted(generated.rglob("*")) if generated.exists() else []:
        if path.suffix in CPP_SUFFIXES:
            texts[str(path.relative_to(generated))] = path.read_text()
    return [
        problem for name, text in texts.items() for problem in bad_includes(name, text, allowed)
    ]


def listed_dependencies(cmake_files: dict[str, str]) -> dict[str, set[str]]:
    """Return, for each folder of ebb/ that makes a library, the names of those it may include."""
    allowed: dict[str, set[str]] = {}
    for name, text in cmake_files.items():
        parts = name.split("/")
        if len(parts) < 3 or parts[0] != "ebb":
            continue
        for _, body in _LIBRARY.findall(re.sub(r"#.*", "", text)):
            words = allowed.setdefault(parts[1], set())
            keyword = ""
            for word in body.split():
                keyword = word if word in _KEYWORDS else keyword
                if keyword == "DEPS" and word.startswith("ebb::"):
                    words.add(word.removeprefix("ebb::"))
    return allowed


def bad_includes(name: str, text: str, allowed: dict[str, set[str]]) -> list[Problem]:
    """Return a problem per include of ``text`` that its layer does not permit."""
    problems = []
    for match in _INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        if match.group(1) == "<":
            problems.append(Problem(name, f'needs quotes: #include "{match.group(2)}"', line))
        reason = _refusal(name, match.group(2), allowed)
        if reason:
            problems.append(
                Problem(name, f"{name} may not include {match.group(2)}: {reason}", line)
            )
    return problems


def _refusal(name: str, included: str, allowed: dict[str, set[str]]) -> str:
    if not name.startswith("ebb/"):
        return ""  # programs, tests and bindings stand above all layers
    if included.startswith("python/"):
        return "the bindings stand above the library"
    folder, target = _folder(name), _folder(included)
    if folder == "" or folder == target:
        return ""  # ebb/ebb.h gathers all; a folder may include itself
    if target == "":
        return "the header of headers is for users"
    if _rank(target) > _rank(folder):
        return f"{target} is the higher layer"
    if folder in allowed and target not in allowed[folder]:
        return f"ebb::{target} is not among the DEPS of ebb/{folder}/CMakeLists.txt"
    return ""


def _folder(name: str) -> str:
    parts = name.split("/")
    return parts[1] if len(parts) > 2 else ""


def _rank(folder: str) -> int:
    return ORDER.index(folder) if folder in ORDER else len(ORDER)
