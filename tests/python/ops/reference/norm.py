# tests/python/ops/reference/norm.py -- what NumPy says of the normalisations.
#
# Each function gets the arguments of a call by name, in double precision.
"""NumPy references of layer_norm, rms_norm, group_norm, batch_norm and instance_norm."""

from __future__ import annotations

from typing import Any

import numpy as np


def _normalized(values: np.ndarray, axes: tuple[int, ...], eps: float) -> np.ndarray:
    mean = np.mean(values, axes, keepdims=True)
    return (values - mean) / np.sqrt(np.var(values, axes, keepdims=True) + eps)


def _affine(values: np.ndarray, a: dict[str, Any], shape: tuple[int, ...]) -> np.ndarray:
    if a.get("weight") is not None:
        values = values * a["weight"].reshape(shape)
    if a.get("bias") is not None:
        values = values + a["bias"].reshape(shape)
    return values


def _last(a: dict[str, Any]) -> tuple[int, ...]:
    count = len(a["normalized_shape"])
    return tuple(range(a["input"].ndim - count, a["input"].ndim))


def layer_norm(a: dict[str, Any]) -> np.ndarray:
    values = _normalized(a["input"], _last(a), a["eps"])
    return _affine(values, a, tuple(a["normalized_shape"]))


def rms_norm(a: dict[str, Any]) -> np.ndarray:
    # Without eps the dtype decides; the inputs of the tests are large beside any of them.
    eps = 0.0 if a["eps"] is None else a["eps"]
    squares = np.mean(a["input"] ** 2, _last(a), keepdims=True)
    return _affine(a["input"] / np.sqrt(squares + eps), a, tuple(a["normalized_shape"]))


def row_rms_norm(a: dict[str, Any]) -> np.ndarray:
    values = a["input"]
    shape = (-1 if len(values) else 0, *[1] * (values.ndim - 1))
    squares = np.mean(values**2, tuple(range(1, values.ndim)), keepdims=True)
    return values / np.sqrt(squares) * a["weight"].reshape(shape)


def _per_channel(values: np.ndarray) -> tuple[int, ...]:
    return (-1 if values.size else values.shape[1], *[1] * (values.ndim - 2))


def group_norm(a: dict[str, Any]) -> np.ndarray:
    values = a["input"]
    groups = a.get("num_groups", values.shape[1])
    width = values[0].size // groups if len(values) else 1
    rows = _normalized(values.reshape(-1, width), (1,), a["eps"])
    return _affine(rows.reshape(values.shape), a, _per_channel(values))


def batch_norm(a: dict[str, Any]) -> np.ndarray:
    values = a["input"]
    axes = (0, *range(2, values.ndim))
    if a["training"]:
        normalized = _normalized(values, axes, a["eps"])
    else:
        shape = _per_channel(values)
        centred = values - a["running_mean"].reshape(shape)
        normalized = centred / np.sqrt(a["running_var"].reshape(shape) + a["eps"])
    return _affine(normalized, a, _per_channel(values))


def _norm(values: np.ndarray, p: float, axis: Any) -> np.ndarray:
    """Return p-norms; p of 0 counts what is not zero."""
    size = np.abs(values)
    if p == 0:
        return np.sum(size != 0, axis).astype(size.dtype)
    if np.isinf(p):
        return size.max(axis, initial=0)
    return np.sum(size**p, axis) ** (1 / p)


def cdist(a: dict[str, Any]) -> np.ndarray:
    return _norm(a["x1"][..., :, None, :] - a["x2"][..., None, :, :], a["p"], -1)


def pdist(a: dict[str, Any]) -> np.ndarray:
    rows, columns = np.triu_indices(len(a["input"]), 1)
    return _norm(a["input"][rows] - a["input"][columns], a["p"], -1)


def renorm(a: dict[str, Any]) -> np.ndarray:
    x, most = a["input"], a["maxnorm"]
    others = tuple(i for i in range(x.ndim) if i != a["dim"] % x.ndim)
    norms = np.expand_dims(_norm(x, a["p"], others), others)
    return np.where(norms > most, x * (most / (norms + 1e-7)), x)


NAMED = {
    "cdist": cdist,
    "pdist": pdist,
    "renorm": renorm,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "row_rms_norm": row_rms_norm,
    "group_norm": group_norm,
    "batch_norm": batch_norm,
    "instance_norm": group_norm,
}
