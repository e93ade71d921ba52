# tools/check/sources.py -- every C++ source is listed in a CMakeLists.txt, so none rots unbuilt.
"""Sources are explicit in CMake (no GLOB); the price is that one can be forgotten, and a forgotten
test passes for ever. A source belongs to the nearest CMakeLists.txt at or above its folder.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from tools.check.repo import Problem

if TYPE_CHECKING:
    from tools.check.repo import Repo

HINT = "add it to SOURCES of the folder's CMakeLists.txt, or remove it"


def check(repo: Repo) -> list[Problem]:
    cmake = {name: repo.text(name) for name in repo.select("CMakeLists.txt", ".cmake")}
    return unlisted(repo.select(".cpp"), cmake)


def unlisted(sources: list[str], cmake: dict[str, str]) -> list[Problem]:
    """Return a problem per source that the CMake files at or above its folder do not name."""
    problems = []
    for source in sources:
        path = PurePosixPath(source)
        is_listed = any(
            _names(cmake[name], str(path.relative_to(folder)), path.stem)
            for folder in path.parents
            for name in cmake
            if PurePosixPath(name).parent == folder
        )
        if not is_listed:
            problems.append(Problem(source, "is in no CMakeLists.txt"))
    return problems


def _names(text: str, relative: str, stem: str) -> bool:
    code = re.sub(r"#.*", "", text)
    if re.search(rf"(?<![\w.]){re.escape(relative)}(?![\w.])", code):
        return True
    # ebb_test(engine_test ...) and ebb_bench(...) without SOURCES mean the file of that name.
    return re.search(rf"\bebb_(test|bench)\(\s*{re.escape(stem)}\b", code) is not None
