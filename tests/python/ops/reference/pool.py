# tests/python/ops/reference/pool.py -- other windows, and bags of rows, plainly in NumPy.
"""References of ops/nn/pool_kinds.yaml and ops/nn/bag.yaml; the arguments come as one dict."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tests.python.ops.reference.conv import NAMED as POOLS, listed


def lp_pool(a: dict[str, Any], dims: int) -> np.ndarray:
    p, count = a["norm_type"], np.prod(listed(a["kernel_size"], dims))
    rest = {"padding": 0, "count_include_pad": True, "divisor_override": None}
    means = POOLS[f"avg_pool{dims}d"]({**a, **rest, "input": a["input"] ** p})
    return (means * count) ** (1 / p)


def max_unpool(a: dict[str, Any], dims: int) -> np.ndarray:
    x = a["input"]
    kernel = listed(a["kernel_size"], dims)
    stride = kernel if a["stride"] is None else listed(a["stride"], dims)
    padding = listed(a["padding"], dims)
    sizes = a["output_size"] or [
        (n - 1) * s + k - 2 * p
        for n, s, k, p in zip(x.shape[-dims:], stride, kernel, padding, strict=True)
    ]
    lead = x.shape[:-dims]
    out = np.zeros((*lead, int(np.prod(sizes))), x.dtype)
    for place in np.ndindex(*x.shape):
        out[(*place[: len(lead)], a["indices"][place])] = x[place]
    return out.reshape(*lead, *sizes)


def fractional_max_pool(a: dict[str, Any]) -> list[np.ndarray]:
    x, kernel, out = a["input"], a["kernel_size"], a["output_size"]
    sizes = x.shape[2:]
    values = np.zeros((*x.shape[:2], *out))
    indices = np.zeros(values.shape, np.int64)
    numbers = np.arange(int(np.prod(sizes))).reshape(sizes)
    for plane in np.ndindex(*x.shape[:2]):
        begins = []
        for n, k, count, u in zip(sizes, kernel, out, a["samples"][plane], strict=True):
            step = (n - k) / (count - 1) if count > 1 else 0
            begins.append([int((i + u) * step) - int(u * step) for i in range(count - 1)] + [n - k])
        for place in itertools.product(*map(range, out)):
            window = tuple(
                slice(begin[i], begin[i] + k)
                for begin, i, k in zip(begins, place, kernel, strict=True)
            )
            best = np.argmax(x[plane][window])
            values[(*plane, *place)] = x[plane][window].ravel()[best]
            indices[(*plane, *place)] = numbers[window].ravel()[best]
    return [values, indices]


def local_response_norm(a: dict[str, Any]) -> np.ndarray:
    x, size = a["input"], a["size"]
    out = np.zeros_like(x)
    for channel in range(x.shape[1]):
        low = max(0, channel - size // 2)
        total = (x[:, low : channel - size // 2 + size] ** 2).sum(1)
        out[:, channel] = x[:, channel] / (a["k"] + a["alpha"] * total / size) ** a["beta"]
    return out


def embedding_bag(a: dict[str, Any]) -> np.ndarray:
    weight, indices = a["weight"], a["indices"]
    factors = np.ones(indices.shape)
    if a.get("per_sample_weights") is not None:
        factors = a["per_sample_weights"]
    if indices.ndim == 1:
        bounds = [*a["offsets"], *([] if a["include_last_offset"] else [len(indices)])]
        spans = list(itertools.pairwise(bounds))
        bags = [(indices[slice(*one)], factors[slice(*one)]) for one in spans]
    else:
        bags = list(zip(indices, factors, strict=True))
    out = np.zeros((len(bags), weight.shape[1]))
    for number, (rows, own) in enumerate(bags):
        counted = rows != a["padding_idx"]
        if counted.any():
            seen = weight[rows[counted]] * own[counted][:, None]
            out[number] = getattr(np, a["mode"])(seen, 0)
    return out


NAMED = {
    "fractional_max_pool": fractional_max_pool,
    "local_response_norm": local_response_norm,
    "embedding_bag": embedding_bag,
    **{f"lp_pool{n}d": lambda a, n=n: lp_pool(a, n) for n in (1, 2, 3)},
    **{f"max_unpool{n}d": lambda a, n=n: max_unpool(a, n) for n in (1, 2, 3)},
}
