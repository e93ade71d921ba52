# tools/check/cpp_format.py -- clang-format has nothing to change in any tracked C++ file.
"""clang-format 14 decides; its verdict is cached by content and configuration."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tools.check.repo import PassCache, Problem, digest, in_parallel

if TYPE_CHECKING:
    from tools.check.repo import Repo

HINT = "make format, or clang-format-14 -i FILE"
PROGRAM = "clang-format-14"


def check(repo: Repo) -> list[Problem]:
    cache = PassCache(repo, "cpp_format")
    style = (repo.root / ".clang-format").read_text()
    keys = {name: digest(style, name, repo.text(name)) for name in repo.cpp_files}
    stale = [name for name, key in keys.items() if key not in cache.entries]

    def is_formatted(name: str) -> bool:
        command = [PROGRAM, "--dry-run", "-Werror", f"--style=file:{repo.root}/.clang-format", name]
        return subprocess.run(command, cwd=repo.root, capture_output=True).returncode == 0

    verdicts = dict(zip(stale, in_parallel(is_formatted, stale), strict=True))
    cache.entries = {key: [] for name, key in keys.items() if verdicts.get(name, True)}
    cache.save()
    return [Problem(name, "not formatted") for name, passed in verdicts.items() if not passed]
