# tests/python/ops/reference/index.py -- NumPy references of ops that add to places.
from __future__ import annotations

from typing import Any

import numpy as np


def scatter_add(a: dict[str, Any]) -> np.ndarray:
    out = a["input"].copy()
    for place in np.ndindex(a["index"].shape):
        target = list(place)
        target[a["dim"]] = a["index"][place]
        out[tuple(target)] += a["src"][place]
    return out


def index_add(a: dict[str, Any]) -> np.ndarray:
    out = np.moveaxis(a["input"].copy(), a["dim"], 0)
    source = np.moveaxis(a["source"], a["dim"], 0)
    for position, target in enumerate(a["index"]):
        out[target] += np.asarray(a.get("alpha", 1) * source[position]).astype(out.dtype)
    return np.moveaxis(out, 0, a["dim"])


NAMED = {"scatter_add": scatter_add, "index_add": index_add}
