# tools/coverage/cpp.py -- merges what the C++ code counted and reads it by file.
"""Every process that loads a counting library writes a profile when it ends (LLVM_PROFILE_FILE).

A condition in a header or a template is one condition, however many objects compile it; one in a
macro counts where the macro is written. What the compiler decides (`if constexpr`) is no branch.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

from tools.coverage.counts import Branch, FileCounts

BUILD = Path("build/coverage")
PROFILES = BUILD / "profiles"
MERGED = BUILD / "merged.profdata"
PRODUCT = ("ebb/", "python/src/", f"{BUILD}/generated/ebb/", f"{BUILD}/generated/python/")


def objects() -> list[Path]:
    """The libraries that hold the product, and programs that instantiate more of its headers."""
    libraries = [path for path in (BUILD / "lib").glob("*.so") if not path.is_symlink()]
    library = (BUILD / "lib" / "libebb.so").resolve().relative_to(Path.cwd())
    module = next((BUILD / "python" / "ebb").glob("_C.*.so"))
    programs = sorted((BUILD / "bin").glob("*_test*"))
    return [library, module, *sorted(libraries), *programs]


def merge() -> None:
    """Add up all profiles of a run."""
    profiles = sorted(map(str, PROFILES.glob("*.profraw")))
    listing = BUILD / "profiles.txt"
    listing.write_text("\n".join(profiles))
    subprocess.run(
        [
            "llvm-profdata-14",
            "merge",
            "-sparse",
            "--failure-mode=all",
            "-o",
            str(MERGED),
            f"--input-files={listing}",
        ],
        check=True,
    )


def read() -> dict[str, FileCounts]:
    """The counts of each file of the product, by its path in the repository."""
    first, *others = map(str, objects())
    more = [word for path in others for word in ("-object", path)]
    exported = subprocess.run(
        ["llvm-cov-14", "export", "-skip-functions", "-instr-profile", str(MERGED), first, *more],
        check=True,
        capture_output=True,
    ).stdout
    root = os.getcwd() + "/"
    files: dict[str, FileCounts] = {}
    for entry in json.loads(exported)["data"][0]["files"]:
        name = entry["filename"].removeprefix(root)
        if name.startswith(PRODUCT):
            files[name] = counts_of(entry, Path(name).read_text().splitlines())
    return files


def counts_of(entry: dict, source: list[str]) -> FileCounts:
    """What llvm-cov says of one file."""
    lines = entry["summary"]["lines"]
    counts = FileCounts(lines["count"], lines["covered"])
    for line, column, last, end, when_true, when_false, *_ in entry["branches"]:
        text = between(source, line, column, last, end)
        if is_constant(text, source[line - 1][: column - 1]):
            continue
        counts.add(Branch(line, text, "true", column), when_true > 0)
        counts.add(Branch(line, text, "false", column), when_false > 0)
    return counts


def is_constant(text: str, before: str) -> bool:
    """Whether the compiler decides a condition: `while (true)`, `if constexpr (...)`, `kFlag`."""
    if re.fullmatch(r"true|false|k[A-Z]\w*", text):
        return True
    return "if constexpr (" in before.rsplit(";", 1)[-1]


def between(source: list[str], line: int, column: int, last: int, end: int) -> str:
    """The text of a file from one place to another, on one line."""
    part = source[line - 1 : last]
    part[-1] = part[-1][: end - 1]
    part[0] = part[0][column - 1 :]
    return " ".join(" ".join(part).split())
