# tests/python/ops/reference/pointwise.py -- NumPy references of pointwise ops that need a function.
"""References named in arithmetic.yaml, activation.yaml and math.yaml of ops/pointwise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_erfc = np.vectorize(math.erfc, otypes=[np.float64])
_erf = np.vectorize(math.erf, otypes=[np.float64])


def erf(a: dict[str, Any]) -> np.ndarray:
    return _erf(a["input"])


def erfc(a: dict[str, Any]) -> np.ndarray:
    return _erfc(a["input"])


def _gate(x: np.ndarray, approximate: str) -> tuple[np.ndarray, np.ndarray]:
    """Return what gelu multiplies x by, and its derivative."""
    if approximate == "none":
        return (1 + _erf(x / math.sqrt(2))) / 2, np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    scale = math.sqrt(2 / math.pi)
    t = np.tanh(scale * (x + 0.044715 * x**3))
    return (1 + t) / 2, (1 - t * t) * scale * (1 + 3 * 0.044715 * x * x) / 2


def gelu(a: dict[str, Any]) -> np.ndarray:
    return a["input"] * _gate(a["input"], a.get("approximate", "none"))[0]


def gelu_tanh(a: dict[str, Any]) -> np.ndarray:
    return gelu({**a, "approximate": "tanh"})


def gelu_erf_backward(a: dict[str, Any]) -> np.ndarray:
    gate, slope = _gate(a["input"], a.get("approximate", "none"))
    return a["grad"] * (gate + a["input"] * slope)


def gelu_tanh_backward(a: dict[str, Any]) -> np.ndarray:
    return gelu_erf_backward({**a, "approximate": "tanh"})


def power(a: dict[str, Any]) -> np.ndarray:
    """Integers wrap in their own dtype, whatever NumPy makes of a Python number beside them."""
    base, exponent = a["input"], a["exponent"]
    array = base if isinstance(base, np.ndarray) else exponent
    other = exponent if array is base else base
    if array.dtype.kind in "iu" and isinstance(other, int):
        return np.power(np.asarray(base, array.dtype), np.asarray(exponent, array.dtype))
    return np.power(np.asarray(base), np.asarray(exponent))


def div_mode(a: dict[str, Any]) -> np.ndarray:
    if a["rounding_mode"] is None:
        return np.true_divide(a["input"], a["other"])
    quotient = np.floor_divide(a["input"], a["other"])
    if a["rounding_mode"] == "floor":
        return quotient
    exact = np.true_divide(a["input"], a["other"])
    return np.trunc(exact).astype(quotient.dtype)


def sgn(a: dict[str, Any]) -> np.ndarray:
    x = a["input"]
    if x.dtype == bool:
        return x
    return x / np.abs(x) if np.iscomplexobj(x) else np.sign(x)


def nextafter(a: dict[str, Any]) -> np.ndarray:
    """Neighbours are too close for the tolerance of any dtype: this asks for the size only."""
    return np.asarray(a["input"] + 0 * a["other"])


def _whole(x: Any) -> np.ndarray:
    """An array of numbers: bool counts as int64."""
    array = np.asarray(x)
    return array.astype(np.int64) if array.dtype == bool else array


def left_shift(a: dict[str, Any]) -> np.ndarray:
    x = _whole(a["input"])
    by = np.asarray(a["other"], x.dtype)
    bits = 8 * x.dtype.itemsize
    is_shift = (by >= 0) & (by < bits)
    return np.where(is_shift, np.left_shift(x, np.where(is_shift, by, 0)), 0).astype(x.dtype)


def right_shift(a: dict[str, Any]) -> np.ndarray:
    x = _whole(a["input"])
    by = np.asarray(a["other"], x.dtype)
    is_shift = (by >= 0) & (by < 8 * x.dtype.itemsize)
    rest = np.where(x < 0, -1, 0).astype(x.dtype)
    return np.where(is_shift, np.right_shift(x, np.where(is_shift, by, 0)), rest)


def hardtanh(a: dict[str, Any]) -> np.ndarray:
    x, bounds = a["input"], (a["min_val"], a["max_val"])
    if x.dtype.kind in "iu":  # cut, and within what the dtype holds
        bounds = (max(int(one), int(np.iinfo(x.dtype).min)) for one in bounds)
    return np.clip(x, *bounds)


NAMED = {
    "nextafter": nextafter,
    "left_shift": left_shift,
    "right_shift": right_shift,
    "sgn": sgn,
    "erf": erf,
    "erfc": erfc,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "gelu_erf_backward": gelu_erf_backward,
    "gelu_tanh_backward": gelu_tanh_backward,
    "pow": power,
    "div_mode": div_mode,
    "hardtanh": hardtanh,
}
