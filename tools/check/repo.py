# tools/check/repo.py -- the tracked files of a checkout, findings in them, a cache.
"""What every check works on.

A check that runs a slow tool per file asks ``PassCache`` first: it remembers, by the hash of all
that the verdict depends on, what passed before. Failures are never remembered.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

CPP_SUFFIXES = (".h", ".cpp")
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Problem:
    """One finding, printed as ``path:line: text`` so that editors jump to it."""

    path: str
    text: str
    line: int = 1

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


@dataclass(frozen=True)
class Repo:
    """A checkout: its root and the tracked files that still exist, as relative paths."""

    root: Path
    files: tuple[str, ...]

    @staticmethod
    def at(root: Path) -> Repo:
        """Return the repository at ``root``, asking git for its files."""
        listing = subprocess.run(
            ["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True
        ).stdout
        names = (name for name in listing.split("\0") if name)
        return Repo(root, tuple(name for name in names if (root / name).is_file()))

    def select(self, *suffixes: str) -> list[str]:
        """Return the files whose name ends in one of ``suffixes``."""
        return [name for name in self.files if name.endswith(suffixes)]

    @cached_property
    def cpp_files(self) -> list[str]:
        """All C++ headers and sources."""
        return self.select(*CPP_SUFFIXES)

    def text(self, name: str) -> str:
        """Return the content of one file; undecodable bytes become replacement characters."""
        return _read(self.root / name)


@lru_cache(maxsize=4096)
def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", errors="replace")


def digest(*parts: str) -> str:
    """Return a short hash of ``parts``, order and boundaries included."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def in_parallel(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Apply ``work``, which mostly waits for a child process, on as many threads as cores."""
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return list(pool.map(work, items))


class PassCache:
    """Remembers in build/check/<name>.json, under a key, what was needed to pass."""

    def __init__(self, repo: Repo, name: str):
        self._path = repo.root / "build" / "check" / f"{name}.json"
        try:
            self.entries: dict[str, list[str]] = json.loads(self._path.read_text())
        except (OSError, ValueError):
            self.entries = {}  # absent or damaged: everything is checked again

    def save(self) -> None:
        """Write the cache; a failure to do so only costs time later."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self.entries))
