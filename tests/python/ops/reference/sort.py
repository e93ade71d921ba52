# tests/python/ops/reference/sort.py -- what NumPy says of sorts: values and indices, the first of
# equal elements first. Included by op_reference.py.
"""NumPy references of sorts."""

from __future__ import annotations

from typing import Any

import numpy as np


def _order(values: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    if not descending:
        return np.argsort(values, dim, kind="stable")
    # Backwards, so that the first of equal elements stays first.
    backwards = np.argsort(np.flip(values, dim), dim, kind="stable")
    return np.flip(values.shape[dim] - 1 - backwards, dim)


def _line_up(a: dict[str, Any]) -> tuple[np.ndarray, int]:
    """Return the input with at least one dim, and the dim."""
    return np.atleast_1d(a["input"]), a["dim"]


def _picked(a: dict[str, Any], order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, dim = _line_up(a)
    is_scalar = np.ndim(a["input"]) == 0
    found = np.take_along_axis(values, order, dim)
    return (found[0], order[0]) if is_scalar else (found, order)


def sort(a: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    return _picked(a, _order(*_line_up(a), a["descending"]))


def sort_indices(a: dict[str, Any]) -> np.ndarray:
    return sort(a)[1]


def topk(a: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    values, dim = _line_up(a)
    return _picked(a, np.take(_order(values, dim, a["largest"]), range(a["k"]), dim))


def _nth(a: dict[str, Any], position: int) -> tuple[np.ndarray, np.ndarray]:
    values, dim = _line_up(a)
    order = np.take(_order(values, dim, False), [position], dim)
    found, indices = _picked(a, order)
    if a["keepdim"] or np.ndim(a["input"]) == 0:
        return found, indices
    return found.squeeze(dim), indices.squeeze(dim)


def kthvalue(a: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    return _nth(a, a["k"] - 1)


def median_dim(a: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    values, dim = _line_up(a)
    return _nth(a, (values.shape[dim] - 1) // 2)


def cumulative_trapezoid(a: dict[str, Any]) -> np.ndarray:
    y = np.moveaxis(a["y"] + 0.0, a["dim"], -1)
    x = None if a.get("x") is None else a["x"] + 0.0
    widths = a["dx"] if x is None else np.diff(x if x.ndim == 1 else np.moveaxis(x, a["dim"], -1))
    areas = (y[..., 1:] + y[..., :-1]) / 2 * widths
    return np.moveaxis(np.cumsum(areas, -1), -1, a["dim"])


def _running(a: dict[str, Any], is_above: Any) -> tuple[np.ndarray, np.ndarray]:
    values, dim = _line_up(a)
    lines = np.moveaxis(values, dim, -1)
    out, places = lines.copy(), np.zeros(lines.shape, np.int64)
    for at in np.ndindex(lines.shape[:-1]):
        place = 0
        for i, value in enumerate(lines[at]):
            held = lines[at][place]
            if held == held and (value != value or is_above(value, held)):
                place = i
            out[at][i], places[at][i] = lines[at][place], place
    shape = np.shape(a["input"])
    return tuple(np.moveaxis(one, -1, dim).reshape(shape) for one in (out, places))


def logcumsumexp(a: dict[str, Any]) -> np.ndarray:
    values = np.atleast_1d(a["input"])
    if values.dtype.kind == "c":
        found = np.log(np.cumsum(np.exp(values.astype(np.clongdouble)), axis=a["dim"]))
    else:
        found = np.logaddexp.accumulate(values, axis=a["dim"])
    return found.reshape(a["input"].shape)


NAMED = {
    "logcumsumexp": logcumsumexp,
    "cummax": lambda a: _running(a, np.greater_equal),
    "cummin": lambda a: _running(a, np.less_equal),
    "cumulative_trapezoid": cumulative_trapezoid,
    "sort": sort,
    "sort_indices": sort_indices,
    "topk": topk,
    "kthvalue": kthvalue,
    "median_dim": median_dim,
}
