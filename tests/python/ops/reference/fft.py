# tests/python/ops/reference/fft.py -- NumPy's Fourier transforms as references, in float64.
"""Functions that ``op_reference.NAMED`` takes in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

OPPOSITE = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _hfftn(x: np.ndarray, s: Any, axes: Any, norm: str | None) -> np.ndarray:
    return np.fft.irfftn(np.conj(x), s, axes, OPPOSITE[norm])


def _ihfftn(x: np.ndarray, s: Any, axes: Any, norm: str | None) -> np.ndarray:
    return np.conj(np.fft.rfftn(x, s, axes, OPPOSITE[norm]))


OTHERS = {"hfft2": _hfftn, "hfftn": _hfftn, "ihfft2": _ihfftn, "ihfftn": _ihfftn}


def _with_elements(x: np.ndarray, dims: Any) -> np.ndarray:
    """Return zeros for nothing: of an empty line, NumPy 2 transforms what lies in memory there."""
    shape = list(x.shape)
    for dim in dims:
        shape[dim] = max(shape[dim], 1)
    return x if shape == list(x.shape) else np.zeros(shape, x.dtype)


def reference_of(name: str) -> Callable[[dict[str, Any]], np.ndarray]:
    function = OTHERS[name] if name in OTHERS else getattr(np.fft, name)

    def call(a: dict[str, Any]) -> np.ndarray:
        if name.endswith("fft"):
            n, dim = a.get("n"), a.get("dim", -1)
            given = a["input"] if n is None else _with_elements(a["input"], [dim])
            return function(given, n, dim, a.get("norm"))
        sizes, dims = a.get("s"), a.get("dim", (-2, -1) if name.endswith("2") else None)
        if dims is None and sizes is not None:
            dims = range(-len(sizes), 0)
        if sizes is not None:
            own = [a["input"].shape[one] for one in dims]
            if name.startswith(("irfft", "hfft")):
                own[-1] = 2 * (own[-1] - 1)
            sizes = [other if size == -1 else size for size, other in zip(sizes, own, strict=True)]
        given = a["input"] if sizes is None else _with_elements(a["input"], dims)
        return function(given, sizes, dims, a.get("norm"))

    return call


NAMES = [kind + "fft" + dims for kind in ("", "i", "r", "ir", "h", "ih") for dims in ("", "2", "n")]
NAMED = {f"fft_{name}": reference_of(name) for name in NAMES}
