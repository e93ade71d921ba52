# tools/wheel/platform_tag.py -- the tag of a wheel that is true: which machines can load it.
#
# PEP 600: a wheel tagged manylinux_2_N runs on every mainstream distribution with glibc 2.N or
# newer. Two things decide on N: the newest symbols of glibc that a file asks for, and the newest
# ones of the C++ library, which no wheel carries: N is then the glibc of the oldest distributions
# that ship such a C++ library.
"""Prints the platform tag for libraries and whatever bundle.py will put beside them.

Usage: platform_tag.py FILE...   for example build/release/lib/libebb.so
"""

from __future__ import annotations

import platform
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from bundle import dependencies_of, run

# The newest version of each that distributions with a glibc have, from this glibc on.
FIRST_GLIBC = {
    "GLIBCXX": ((8, 5), (13, 12), (19, 17), (22, 24), (24, 27), (28, 31), (29, 34), (30, 35),
                (33, 39)),
    "CXXABI": ((1, 5), (3, 12), (7, 17), (10, 24), (11, 27), (12, 31), (13, 34), (15, 39)),
    "GCC": ((4, 17), (7, 27), (12, 35), (14, 39)),
}  # fmt: skip
# How these names are spelt: the number that counts is the group, 0 where there is none.
PATTERNS = {
    "GLIBC": re.compile(r"GLIBC_2\.(\d+)(?:\.\d+)?"),
    "GLIBCXX": re.compile(r"GLIBCXX_3\.4(?:\.(\d+))?"),
    "CXXABI": re.compile(r"CXXABI_1\.3(?:\.(\d+))?"),
    "GCC": re.compile(r"GCC_(\d+)(?:\.\d+)+"),
}


def glibc_for(symbol_version: str) -> int:
    """Return N of the oldest glibc 2.N with which ``GLIBC_2.17`` or ``GLIBCXX_3.4.29`` comes."""
    family = symbol_version.partition("_")[0]
    if family not in PATTERNS:
        return 0  # of a library that goes with the wheel
    found = PATTERNS[family].fullmatch(symbol_version)
    number = int(found[1] or 0) if found else None
    if number is not None and family == "GLIBC":
        return number
    for newest, glibc in FIRST_GLIBC.get(family, ()):
        if number is not None and number <= newest:
            return glibc
    raise SystemExit(f"platform_tag: needs a version that FIRST_GLIBC knows, got {symbol_version}")


def needed_versions(file: Path) -> set[str]:
    """Return the symbol versions that a file asks other libraries for."""
    needs = run("readelf", "--version-info", "--wide", file).partition(".gnu.version_r")[2]
    return set(re.findall(r"Name: (\S+)", needs))


def tag_of(files: list[Path]) -> str:
    """Return the tag of a wheel with these files and the libraries that they need."""
    bundled = [path for file in files for path in dependencies_of(file).values()]
    versions = set().union(*(needed_versions(file) for file in [*files, *bundled]))
    return f"manylinux_2_{max(map(glibc_for, versions))}_{platform.machine()}"


if __name__ == "__main__":
    print(tag_of([Path(name) for name in sys.argv[1:]]))
