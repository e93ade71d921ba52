# tests/python/ops/reference/recurrent.py -- recurrent layers and attention, plainly in NumPy.
"""References for ops/nn/rnn.yaml and ops/nn/attention.yaml; the arguments come as one dict."""

from __future__ import annotations

from typing import Any

import numpy as np


def _logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _product(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    return x @ weight.T + (0 if bias is None else bias)


def _run(a: dict[str, Any], step: Any, *states: np.ndarray) -> list[np.ndarray]:
    """Feed the input to ``step`` time by time; return all first states, and the last ones."""
    out: list[Any] = [None] * len(a["input"])
    times = range(len(out))
    for time in reversed(times) if a.get("reverse") else times:
        x = _product(a["input"][time], a["weight_ih"], a.get("bias_ih"))
        h = _product(states[0], a["weight_hh"], a.get("bias_hh"))
        states = step(x, h, *states)
        out[time] = states[0]
    return [np.stack(out), *states]


def lstm_layer(a: dict[str, Any]) -> list[np.ndarray]:
    def step(x, product, h, c):
        i, f, g, o = np.split(x + product, 4, axis=1)
        c = _logistic(f) * c + _logistic(i) * np.tanh(g)
        return _logistic(o) * np.tanh(c), c

    return _run(a, step, a["h0"], a["c0"])


def gru_layer(a: dict[str, Any]) -> list[np.ndarray]:
    def step(x, product, h):
        (xr, xz, xn), (hr, hz, hn) = np.split(x, 3, axis=1), np.split(product, 3, axis=1)
        z = _logistic(xz + hz)
        n = np.tanh(xn + _logistic(xr + hr) * hn)
        return ((1 - z) * n + z * h,)

    return _run(a, step, a["h0"])


def rnn_layer(a: dict[str, Any]) -> list[np.ndarray]:
    is_relu = a.get("nonlinearity", "tanh").strip("'") == "relu"
    activation = (lambda x: np.maximum(x, 0)) if is_relu else np.tanh
    return _run(a, lambda x, product, h: (activation(x + product),), a["h0"])


def attention(a: dict[str, Any]) -> np.ndarray:
    query, key, value = a["query"], a["key"], a["value"]
    if a.get("enable_gqa"):
        count = query.shape[-3] // key.shape[-3]
        key, value = np.repeat(key, count, axis=-3), np.repeat(value, count, axis=-3)
    scale = a.get("scale")
    scale = 1 / np.sqrt(query.shape[-1]) if scale is None else scale
    scores = query @ np.swapaxes(key, -1, -2) * scale
    mask = a.get("attn_mask")
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if a.get("is_causal"):
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    top = np.max(scores, axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ value


NAMED = {
    "lstm_layer": lstm_layer,
    "gru_layer": gru_layer,
    "rnn_layer": rnn_layer,
    "attention": attention,
}
