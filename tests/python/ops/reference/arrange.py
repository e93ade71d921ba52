# tests/python/ops/reference/arrange.py -- NumPy references of ops that rearrange elements or write
# at an index. Each takes the op's arguments by name; op_reference.py lists them.
"""NumPy references of the families arrange and index."""

from __future__ import annotations

import itertools
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
    cut = tuple(slice(max(0, -low), -max(0, -high) or None) for low, high in widths)
    more = [(max(0, low), max(0, high)) for low, high in widths]
    # What goes around is what is left; what is reflected or repeated is the whole.
    if a["mode"] == "circular":
        return np.pad(a["input"][cut], more, mode="wrap")
    return np.pad(a["input"], more, mode=names[a["mode"]])[cut]


def scatter(a: dict[str, Any]) -> np.ndarray:
    out = a["input"].copy()
    for place in np.ndindex(a["index"].shape):
        target = list(place)
        target[a["dim"]] = a["index"][place]
        out[tuple(target)] = a["src"][place] if "src" in a else a["value"]
    return out


def _joined(a: dict[str, Any], join: Any) -> np.ndarray:
    out = a["input"].copy()
    for place in np.ndindex(a["index"].shape):
        target = list(place)
        target[a["dim"]] = a["index"][place]
        out[tuple(target)] = join(out[tuple(target)], a["src"][place])
    return out


def scatter_joined(a: dict[str, Any]) -> np.ndarray:
    src = a["src"] if "src" in a else np.full(a["index"].shape, a["value"], a["input"].dtype)
    join = {"add": np.add, "multiply": np.multiply}[a["reduce"]]
    return _joined({**a, "src": src}, join).astype(a["input"].dtype)


def scatter_reduce(a: dict[str, Any]) -> np.ndarray:
    out, counts = a["input"].copy(), np.zeros(a["input"].shape, np.int64)
    joins = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum,
             "amin": np.minimum}  # fmt: skip
    for place in np.ndindex(a["index"].shape):
        target = list(place)
        target[a["dim"]] = a["index"][place]
        at = tuple(target)
        is_first = counts[at] == 0 and not a["include_self"]
        out[at] = a["src"][place] if is_first else joins[a["reduce"]](out[at], a["src"][place])
        counts[at] += 1
    if a["reduce"] == "mean":
        counts = np.maximum(counts + (1 if a["include_self"] else 0), 1)
        out = out // counts if out.dtype.kind in "iu" else out / counts
    return out.astype(a["input"].dtype)


def index_reduce(a: dict[str, Any]) -> np.ndarray:
    shape = [-1 if d == a["dim"] % a["source"].ndim else 1 for d in range(a["source"].ndim)]
    index = np.broadcast_to(a["index"].reshape(shape), a["source"].shape)
    return scatter_reduce({**a, "index": index, "src": a["source"]})


def put(a: dict[str, Any]) -> np.ndarray:
    out = a["input"].copy()
    for at, value in zip(a["index"].flat, a["source"].flat, strict=True):
        out.flat[at] = out.flat[at] + value if a["accumulate"] else value
    return out


def unfold_dim(a: dict[str, Any]) -> np.ndarray:
    whole = np.atleast_1d(a["input"])
    windows = np.lib.stride_tricks.sliding_window_view(whole, a["size"], axis=a["dimension"])
    axis = a["dimension"] % whole.ndim
    found = np.take(windows, range(0, windows.shape[axis], a["step"]), axis)
    return found[0] if a["input"].ndim == 0 else found


def fill_diagonal(a: dict[str, Any]) -> np.ndarray:
    out = a["self"].copy()
    np.fill_diagonal(out, a["fill_value"], a.get("wrap", False))
    if out.ndim == 2 and not a.get("wrap"):  # NumPy always wraps, as long as rows are left
        out[out.shape[1] :] = a["self"][out.shape[1] :]
    return out


def sum_to_size(a: dict[str, Any]) -> np.ndarray:
    lead = a["input"].ndim - len(a["size"])
    sizes = [1] * lead + list(a["size"])
    summed = tuple(dim for dim, size in enumerate(sizes) if size != a["input"].shape[dim])
    return np.asarray(a["input"].sum(summed, keepdims=True)).reshape(a["size"])


def nonzero_static(a: dict[str, Any]) -> np.ndarray:
    rows = np.argwhere(a["input"])[: a["size"]]
    lacking = np.full((a["size"] - len(rows), rows.shape[1]), a.get("fill_value", -1))
    return np.concatenate([rows, lacking]).astype(np.int64)


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


def _replaced(a: dict[str, Any], key: tuple) -> np.ndarray:
    out = a["input"].copy()
    out[key] = a["src"]
    return out


def select_scatter(a: dict[str, Any]) -> np.ndarray:
    return _replaced(a, (*[slice(None)] * (a["dim"] % a["input"].ndim), a["index"]))


def slice_scatter(a: dict[str, Any]) -> np.ndarray:
    part = slice(a["start"], a["end"], a["step"])
    return _replaced(a, (*[slice(None)] * (a["dim"] % a["input"].ndim), part))


def diagonal_scatter(a: dict[str, Any]) -> np.ndarray:
    out = a["input"].copy()
    lines = np.moveaxis(out, (a["dim1"], a["dim2"]), (-2, -1))  # a view
    for place in range(a["src"].shape[-1]):
        lines[..., place + max(-a["offset"], 0), place + max(a["offset"], 0)] = a["src"][..., place]
    return out


def pixel_shuffle(a: dict[str, Any]) -> np.ndarray:
    images, r = a["input"], a["upscale_factor"]
    *lead, channels, height, width = images.shape
    out = np.empty((*lead, channels // r**2, height * r, width * r), images.dtype)
    for row, column in np.ndindex(r, r):
        out[..., row::r, column::r] = images[..., row * r + column :: r * r, :, :]
    return out


def pixel_unshuffle(a: dict[str, Any]) -> np.ndarray:
    images, r = a["input"], a["downscale_factor"]
    *lead, channels, height, width = images.shape
    out = np.empty((*lead, channels * r**2, height // r, width // r), images.dtype)
    for row, column in np.ndindex(r, r):
        out[..., row * r + column :: r * r, :, :] = images[..., row::r, column::r]
    return out


def block_diag(a: dict[str, Any]) -> np.ndarray:
    blocks = [np.atleast_2d(one) for one in a["tensors"]]
    out = np.zeros(np.sum([one.shape for one in blocks], 0), blocks[0].dtype)
    row, column = 0, 0
    for one in blocks:
        out[row : row + one.shape[0], column : column + one.shape[1]] = one
        row, column = row + one.shape[0], column + one.shape[1]
    return out


def combinations(a: dict[str, Any]) -> np.ndarray:
    kind = "combinations_with_replacement" if a["with_replacement"] else "combinations"
    rows = list(getattr(itertools, kind)(a["input"], a["r"]))
    return np.array(rows, a["input"].dtype).reshape((len(rows), a["r"]) if a["r"] else (0,))


NAMED = {
    "unfold_dim": unfold_dim,
    "fill_diagonal": fill_diagonal,
    "sum_to_size": sum_to_size,
    "nonzero_static": nonzero_static,
    "scatter_prod": lambda a: _joined(a, np.multiply),
    "scatter_amax": lambda a: _joined(a, np.maximum),
    "scatter_amin": lambda a: _joined(a, np.minimum),
    "scatter_joined": scatter_joined,
    "scatter_reduce": scatter_reduce,
    "index_reduce": index_reduce,
    "put": put,
    "select_scatter": select_scatter,
    "slice_scatter": slice_scatter,
    "diagonal_scatter": diagonal_scatter,
    "pixel_shuffle": pixel_shuffle,
    "pixel_unshuffle": pixel_unshuffle,
    "block_diag": block_diag,
    "combinations": combinations,
    "diag_embed": diag_embed,
    "constant_pad": constant_pad,
    "pad": pad,
    "scatter": scatter,
    "index_copy": index_copy,
    "index_fill": index_fill,
    "index_dims": index_dims,
}
