# tools/check/rooms.py -- every folder that owns an idea says so in a short README.
"""A stranger opens a folder and reads, in at most 40 lines, what it owns and where to start; each
file of a room is named there, but for folders with a file per family or case. Tests lie in folders
named as what they test.
"""

from __future__ import annotations

import re
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from tools.check.repo import Problem

if TYPE_CHECKING:
    from tools.check.repo import Repo

HINT = (
    "write FOLDER/README.md: what it owns, what it may include, where to start reading, and "
    "each file by its name; "
    "C++ tests of ebb/X/Y lie in tests/X/Y; split a full folder by topic, not by prefix"
)
MAX_LINES = 40
MAX_STEMS = 30
# One file per family of ops each, whatever they are in number.
FAMILIES = ("ops",)
# Here a README says so once: a file per family, per check, per thing that is tried.
PATTERNED = (
    *("codegen", "ebb/autograd/rules", "ebb/autograd/composites", "ebb/ops/impl", "tools/check"),
    *("ebb/devices/common", "ebb/devices/kernels", "ebb/kernels/cpu/pointwise"),
    *("benchmarks", "examples", "tests"),
)
# Their rooms lie one level down; the folder itself only groups them.
GROUPS = ("ebb", "data", "python", "examples", "satellites")
# Its folders of so many modules are rooms too, wherever its modules lie.
PACKAGE, MIN_MODULES = "ebb", 5
SOURCES = (".cpp", ".cu", ".h", ".js", ".k", ".md", ".py", ".sh", ".yaml")


def check(repo: Repo) -> list[Problem]:
    return [
        *missing_readmes(repo.files),
        *strange_test_rooms(repo.files),
        *full_folders(repo.files),
        *unnamed_rooms(repo.files, repo.text("README.md") if "README.md" in repo.files else ""),
        *(
            problem
            for name in room_readmes(repo.files)
            for problem in too_long(name, repo.text(name))
        ),
        *(
            problem
            for name in repo.select("/README.md")
            for problem in unnamed_files(name, repo.text(name), repo.files)
        ),
    ]


def rooms(files: tuple[str, ...]) -> set[str]:
    """Return the folders that need a README: those at the top, and those inside a group."""
    found = set()
    for name in files:
        first, *rest = name.split("/")
        if first.startswith(".") or not rest:
            continue
        if first not in GROUPS:
            found.add(first)
        elif len(rest) > 1:
            found.add(f"{first}/{rest[0]}")
    modules = Counter(name.rpartition("/")[0] for name in files if name.endswith(".py"))
    return found | {
        folder
        for folder, count in modules.items()
        if folder.split("/")[-2:-1] == [PACKAGE] and count >= MIN_MODULES
    }


def room_readmes(files: tuple[str, ...]) -> list[str]:
    """Return the READMEs of all rooms that have one."""
    return [f"{room}/README.md" for room in sorted(rooms(files)) if f"{room}/README.md" in files]


def missing_readmes(files: tuple[str, ...]) -> list[Problem]:
    """Return a problem per room without a README."""
    return [
        Problem(f"{room}/README.md", "is missing")
        for room in sorted(rooms(files))
        if f"{room}/README.md" not in files
    ]


def strange_test_rooms(files: tuple[str, ...]) -> list[Problem]:
    """Return a problem per folder tests/X/Y of C++ tests that has no ebb/X/Y to test."""
    folders = {name.rpartition("/")[0] for name in files}
    tested = {name.rpartition("/")[0] for name in files if name.endswith("_test.cpp")}
    return [
        Problem(folder, f"tests no room: ebb/{folder.removeprefix('tests/')} is missing")
        for folder in sorted(tested)
        if folder.count("/") > 1 and "ebb/" + folder.removeprefix("tests/") not in folders
    ]


def unnamed_rooms(files: tuple[str, ...], readme: str) -> list[Problem]:
    """Return a problem per room of the library that the table of the root's README lacks."""
    found = sorted(room for room in rooms(files) if room.startswith("ebb/"))
    return [Problem("README.md", f"needs a row for `{room}`") for room in found
            if readme and f"`{room}`" not in readme]  # fmt: skip


def unnamed_files(name: str, text: str, files: tuple[str, ...]) -> list[Problem]:
    """Return a problem per file of a room whose README names neither it nor a pattern it fits."""
    folder = name.removesuffix("README.md")
    if folder.rstrip("/") in FAMILIES:
        return []
    # `x.h`, also as [x.md](x.md); `emit_*.py` stands for many, and the * of `ops/*.yaml` for none.
    quoted = " ".join(re.findall(r"`[^`]*`|\]\([^)]*\)", text))
    words = set(re.findall(r"\*?\w[\w*]*", quoted))
    stems = {_stem(one) for one in files if one.endswith(SOURCES) and _is_for(one, folder, files)}
    return [
        Problem(name, f"names no `{stem}`")
        for stem in sorted(stems - words - {"README", "__init__", "__main__"})
        if not any("*" in word and fnmatch(stem, word) for word in words)
    ]


def _is_for(name: str, folder: str, files: tuple[str, ...]) -> bool:
    """Tell whether a file lies in a folder, or below it under no other README and no pattern."""
    if not name.startswith(folder):
        return False
    parts = name.removeprefix(folder).split("/")[:-1]
    between = [folder + "/".join(parts[: count + 1]) for count in range(len(parts))]
    rooms_below = {f"{room}/README.md" for room in between} & set(files)
    return not rooms_below and not (parts and f"{name}/".startswith(PATTERNED))


def full_folders(files: tuple[str, ...]) -> list[Problem]:
    """Return a problem per folder with more names side by side than anyone looks through."""
    stems = {(name.rpartition("/")[0], _stem(name)) for name in files if _stem(name) != "README"}
    counts = Counter(folder for folder, _ in stems)
    return [
        Problem(folder, f"needs at most {MAX_STEMS} names side by side, got {count}")
        for folder, count in sorted(counts.items())
        if count > MAX_STEMS and folder not in FAMILIES
    ]


def _stem(name: str) -> str:
    """Return what a.h, a.cpp and a-inl.h are files of."""
    return Path(name).name.partition(".")[0].removesuffix("-inl")


def too_long(name: str, text: str) -> list[Problem]:
    """Return a problem if the README takes longer than a glance."""
    # A row of a table that goes on in the next ones, with empty cells, is one.
    lines = text.splitlines()
    count = sum(not (line.startswith("| | ") or line.endswith("| |")) for line in lines)
    if count <= MAX_LINES:
        return []
    return [Problem(name, f"README needs at most {MAX_LINES} lines, got {count}")]
