# tests/python/ops/reference_arrange.py -- NumPy references of ops that rearrange elements or write
# at an index. Each takes the op's arguments by name; op_reference.py lists them.
"""NumPy references of the families arrange and index."""

from __future__ import annotations

from typing import Any

import numpy as np


def diag_embed(a: dict[str, Any]) -> np.ndarray:
    values, offset = a["input"], a["offset"]
    side = values.shape[-1] + abs(offset)
    out = np.zeros((*values.shape[:-1], side, side), values.dtype)
    for place in range(values.shape[-1]):
        out[..., place + max(-offset, 0), place + max(offset, 0)] = values[..., place]
    return np.moveaxis(out, (-2, -1), (a["dim1"], a["dim2"]))


def constant_pad(a: dict[str, Any]) -> np.ndarray:
    out, pad = a["input"], a["pad"]
    value = a.get("value") or 0
    for pair in range(len(pad) // 2):
        before, after = pad[2 * pair : 2 * pair + 2]
        lines = np.moveaxis(out, out.ndim - 1 - pair, 0)
        padded = np.full((max(0, len(lines) + before + after), *lines.shape[1:]), value, out.dtype)
        for place in range(len(padded)):
            if 0 <= place - before < len(lines):
                padded[place] = lines[place - before]
        out = np.moveaxis(padded, 0, out.ndim - 1 - pair)
    return out


def pad(a: dict[str, Any]) -> np.ndarray:
    if a["mode"] == "constant":
        return constant_pad(a)
    pairs = list(zip(a["pad"][::2], a["pad"][1::2], strict=True))
    widths = [(0, 0)] * (a["input"].ndim - len(pairs)) + pairs[::-1]
    names = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    return np.pad(a["input"], widths, mode=names[a["mode"]])


def scatter(a: dict[str, Any]) -> np.ndarray:
    out = a["input"].copy()
    for place in np.ndindex(a["index"].shape):
        target = list(place)
        target[a["dim"]] = a["index"][place]
        out[tuple(target)] = a["src"][place] if "src" in a else a["value"]
    return out


def index_copy(a: dict[str, Any]) -> np.ndarray:
    out = np.moveaxis(a["input"].copy(), a["dim"], 0)
    source = np.moveaxis(a["source"], a["dim"], 0)
    for position, target in enumerate(a["index"]):
        out[target] = source[position]
    return np.moveaxis(out, 0, a["dim"])


def index_fill(a: dict[str, Any]) -> np.ndarray:
    out = np.moveaxis(a["input"].copy(), a["dim"], 0)
    out[a["index"]] = a["value"]
    return np.moveaxis(out, 0, a["dim"])


def index_dims(a: dict[str, Any]) -> np.ndarray:
    values, dims = a["input"], a["dims"]
    places = np.unravel_index(a["index"], [values.shape[dim] for dim in dims])
    key: list[Any] = [slice(None)] * values.ndim
    for dim, place in zip(dims, places, strict=True):
        key[dim] = place
    return values[tuple(key)]


NAMED = {
    "diag_embed": diag_embed,
    "constant_pad": constant_pad,
    "pad": pad,
    "scatter": scatter,
    "index_copy": index_copy,
    "index_fill": index_fill,
    "index_dims": index_dims,
}
