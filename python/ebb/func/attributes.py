# python/ebb/func/attributes.py -- properties of a sample of vmap.
"""``attribute``: what all samples have in common, or a sample's matrix turned."""

from __future__ import annotations

import math
from typing import Any

from ebb import _C
from ebb.func.batched import Batched, asking, is_tensor, wrap

# Of which ranks a sample may be turned; one without dims is turned to itself.
_RANKS = {"T": range(3), "H": (0, 2), "mT": (0, *range(2, 64)), "mH": (0, *range(2, 64))}


def attribute(name: str, value: Batched) -> Any:
    """A property: of the samples' matrices, or what all of them have in common."""
    if name in _RANKS:
        return _turned(name, value)
    found = getattr(value._plain, name)
    if name == "nbytes":
        return found // math.prod(one.size for one in value._levels)
    return wrap(found, value._levels) if is_tensor(found) and found.ndim >= 1 else found


def _turned(name: str, value: Batched) -> Any:
    if value.ndim not in _RANKS[name]:
        needed = {"T": "at most two dims", "H": "a matrix or a number"}
        got = needed.get(name, "a number or at least two dims")
        raise _C.ShapeError(f"{name}: needs {got}, got {value.ndim} dims")
    with asking():
        turned = value.transpose(-2, -1) if value.ndim > 1 else value
        return turned.conj() if name in ("H", "mH") else turned
