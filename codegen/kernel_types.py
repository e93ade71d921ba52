# codegen/kernel_types.py -- the types of kernels, read from ebb/kernels/signatures*.h.
"""Which types there are, where each is declared, and how it is spelled."""

from __future__ import annotations

import re
from pathlib import Path

SIGNATURES = tuple(
    sorted((Path(__file__).resolve().parent.parent / "ebb" / "kernels").glob("signatures*.h"))
)


def types_of(header: str) -> dict[str, str]:
    """The types that a header names, as it spells them, without spare blanks."""
    code = re.sub(r"//[^\n]*", "", header)
    return {
        name: re.sub(r"\s+", " ", text).strip()
        for name, text in re.findall(r"using\s+(\w+)\s*=\s*([^;]+);", code)
    }


_TYPES = {path.name: types_of(path.read_text(encoding="utf-8")) for path in SIGNATURES}
HOMES = {name: f"ebb/kernels/{path}" for path, types in _TYPES.items() for name in types}
_ALL = {name: text for types in _TYPES.values() for name, text in types.items()}
SPELLINGS = {name: _ALL.get(text, text) for name, text in _ALL.items()}
KERNEL_TYPES = tuple(name for name in SPELLINGS if name.endswith("Kernel"))
