# tools/link_package.py -- links a Python package's files into the build folder, beside its modules.
"""Mirrors source trees, the written one and the generated one, with symbolic links, so that edits
show without a build step.

Files, not folders, are linked: byte-code caches and compiled modules then stay in the build folder.
Links whose source has gone are removed; real files (extension modules, stubs) are left alone.

Usage: link_package.py SOURCE... TARGET
"""

import os
import sys
from pathlib import Path


def source_files(source: Path) -> set[Path]:
    """Return the paths of all package files, relative to ``source``."""
    return {
        path.relative_to(source)
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def link_package(sources: list[Path], target: Path) -> None:
    """Make ``target`` hold one link per file of ``sources`` and no dead link."""
    wanted = {name: source / name for source in sources for name in source_files(source)}
    for name, goal in sorted(wanted.items()):
        link = target / name
        if link.is_symlink() and os.readlink(link) == str(goal):
            continue
        link.parent.mkdir(parents=True, exist_ok=True)
        if link.is_symlink():
            link.unlink()
        link.symlink_to(goal)
    for path in target.rglob("*"):
        if path.is_symlink() and not path.exists():
            path.unlink()


if __name__ == "__main__":
    *folders, package = map(Path, sys.argv[1:])
    link_package([folder.resolve() for folder in folders], package)
