# tools/check/headers.py -- every header compiles alone, so it can be included first anywhere.
"""Each header is given to the compiler as the only include of an empty source.

The compiler also lists what the header pulls in; the cache remembers the hashes of all of ebb's own
files among them, so that a header is compiled again only when it, or one of those, has changed.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from tools.check.repo import PassCache, Problem, digest, in_parallel

if TYPE_CHECKING:
    from tools.check.repo import Repo

HINT = "include what the header names; see the compiler's first line above"
GENERATED = "build/release/generated"
COMPILER = "g++"
FLAGS = ("-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c++", "-")


def check(repo: Repo) -> list[Problem]:
    cache = PassCache(repo, "headers")
    names = repo.select(".h")
    command = [*compiler_command(repo.root)]
    version = subprocess.run(
        [COMPILER, "--version"], check=True, capture_output=True, text=True
    ).stdout
    base = digest(version, *command)
    stale = [name for name in names if not _is_known(repo.root, base, cache.entries.get(name))]

    def compile_one(name: str) -> str:
        error, used = compile_header(repo.root, command, name)
        if not error:
            cache.entries[name] = [base, _hash_files(repo.root, used), *used]
        return error

    errors = dict(zip(stale, in_parallel(compile_one, stale), strict=True))
    for name in [name for name in cache.entries if name not in names or errors.get(name)]:
        del cache.entries[name]
    cache.save()
    return [Problem(name, error) for name, error in errors.items() if error]


def compiler_command(root: Path) -> list[str]:
    """Return the compiler call, which reads the source from its standard input."""
    system = [f"/usr/include/{triplet}/openblas-serial" for triplet in ("x86_64-linux-gnu",)]
    system.append(sysconfig.get_paths()["include"])
    command = [COMPILER, f"-I{root}", f"-I{root / GENERATED}"]
    return [*command, *(f"-isystem{path}" for path in system), *FLAGS]


def compile_header(root: Path, command: list[str], name: str) -> tuple[str, list[str]]:
    """Return the compiler's first error line, if any, and ebb's own files that the header uses."""
    source = f'#include "{name}"\n'
    result = subprocess.run(
        [*command, *target_of(name), "-MD", "-MF", "/dev/stdout"],
        input=source,
        cwd=root,
        capture_output=True,
        text=True,
    )
    if result.returncode != 0:
        lines = [line for line in result.stderr.splitlines() if "error" in line]
        return (lines or result.stderr.splitlines() or ["the compiler failed"])[0], []
    words = result.stdout.replace("\\\n", " ").split()
    own = {Path(word) for word in words if word.startswith(f"{root}/") and "/.venv/" not in word}
    return "", sorted(str(path.relative_to(root)) for path in own if path.is_file())


def target_of(name: str) -> tuple[str, ...]:
    """Return the least that vectorised parts are compiled for (ebb/kernels/CMakeLists.txt)."""
    is_vectorised = name.endswith("-inl.h") and platform.machine() == "x86_64"
    return ("-mssse3",) if is_vectorised else ()


def _is_known(root: Path, base: str, entry: list[str] | None) -> bool:
    if not entry or entry[0] != base:
        return False
    return entry[1] == _hash_files(root, entry[2:])


def _hash_files(root: Path, names: list[str]) -> str:
    try:
        return digest(*(_hash_file(root / name) for name in names))
    except OSError:
        return ""  # a file has gone: compile again


def _hash_file(path: Path) -> str:
    key = str(path)
    if key not in _hashes:
        _hashes[key] = digest(path.read_text(errors="replace"))
    return _hashes[key]


_hashes: dict[str, str] = {}


if __name__ == "__main__":
    sys.exit("run: python -m tools.check headers")
