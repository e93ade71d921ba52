# tests/python/ops/reference/grid.py -- affine_grid and grid_sample, place by place in NumPy.
"""References of ops/nn/grid.yaml; the arguments come as one dict."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np


def affine_grid(a: dict[str, Any]) -> np.ndarray:
    image = a["size"][2:]
    axes = []
    for n in image:
        even = np.arange(n) * 2 - (n - 1)
        axes.append(even / max(1, n - 1 if a["align_corners"] else n))
    places = np.meshgrid(*axes, indexing="ij")[::-1]
    base = np.stack([*places, np.ones(image)], -1)
    return np.einsum("...j,nij->n...i", base, a["theta"])


def _reflected(x: float, n: int, corners: bool) -> float:
    low, span = (0.0, n - 1) if corners else (-0.5, n)
    if span == 0:
        return 0.0
    away = abs(x - low) % (2 * span)
    return (away if away < span else 2 * span - away) + low


def _inside(x: float, n: int, a: dict[str, Any]) -> float:
    if a["padding_mode"] == "zeros":
        return x
    if a["padding_mode"] == "reflection":
        x = _reflected(x, n, bool(a["align_corners"]))
    return min(max(x, 0.0), n - 1.0)


def _cubic(x: float) -> float:
    x = abs(x)
    if x <= 1:
        return (1.25 * x - 2.25) * x * x + 1
    return ((-0.75 * x + 3.75) * x - 6) * x + 3


def _taps(x: float, n: int, a: dict[str, Any]) -> list[tuple[int, float]]:
    """Return elements along one dim and their weights."""
    x = (x + 1) * (n - 1) / 2 if a["align_corners"] else ((x + 1) * n - 1) / 2
    if a["mode"] == "bicubic":
        low = math.floor(x)
        found = [(_inside(i, n, a), _cubic(x - i)) for i in range(low - 1, low + 3)]
    elif a["mode"] == "nearest":
        found = [(round(_inside(x, n, a)), 1.0)]
    else:
        x = _inside(x, n, a)
        low = math.floor(x)
        found = [(low, low + 1 - x), (low + 1, x - low)]
    return [(int(i), weight) for i, weight in found if 0 <= i < n]


def grid_sample(a: dict[str, Any]) -> np.ndarray:
    x, grid = a["input"], a["grid"]
    sizes = x.shape[2:]
    out = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for place in np.ndindex(*grid.shape[:-1]):
        taps = [_taps(at, n, a) for at, n in zip(grid[place][::-1], sizes, strict=True)]
        for chosen in itertools.product(*taps):
            weight = math.prod(one[1] for one in chosen)
            out[place[0], :, *place[1:]] += weight * x[place[0], :, *[one[0] for one in chosen]]
    return out


NAMED = {"affine_grid": affine_grid, "grid_sample": grid_sample}
