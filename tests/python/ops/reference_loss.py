# tests/python/ops/reference_loss.py -- what NumPy says of the losses that compare element by
# element.
#
# Each function gets the arguments of a call by name, in double precision.
"""NumPy references of ops/loss_pointwise.yaml."""

from __future__ import annotations

from typing import Any

import numpy as np


def _reduced(losses: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    weight = a.get("weight")
    losses = losses if weight is None else losses * weight
    return {"none": np.asarray, "sum": np.sum, "mean": np.mean}[a["reduction"]](losses)


def mse_loss(a: dict[str, Any]) -> np.ndarray:
    return _reduced((a["input"] - a["target"]) ** 2, a)


def l1_loss(a: dict[str, Any]) -> np.ndarray:
    return _reduced(np.abs(a["input"] - a["target"]), a)


def smooth_l1_loss(a: dict[str, Any]) -> np.ndarray:
    size, beta = np.abs(a["input"] - a["target"]), a["beta"]
    return _reduced(np.where(size < beta, size**2 / (2 * beta), size - beta / 2), a)


def huber_loss(a: dict[str, Any]) -> np.ndarray:
    size, delta = np.abs(a["input"] - a["target"]), a["delta"]
    return _reduced(np.where(size < delta, size**2 / 2, delta * (size - delta / 2)), a)


def difference_loss_backward(a: dict[str, Any]) -> np.ndarray:
    difference, beta = a["input"] - a["target"], a["beta"]
    slope = {
        "square": 2 * difference,
        "smooth": np.clip(difference / (beta or 1), -1, 1),
        "huber": np.clip(difference, -beta, beta),
    }[a["kind"]]
    share = difference.size if a["reduction"] == "mean" else 1
    return a["grad"] * slope / share


def binary_cross_entropy(a: dict[str, Any]) -> np.ndarray:
    x, t = a["input"], a["target"]
    return _reduced(-(t * np.log(x) + (1 - t) * np.log(1 - x)), a)


def binary_cross_entropy_with_logits(a: dict[str, Any]) -> np.ndarray:
    x, t = a["input"], a["target"]
    positive = 1 if a.get("pos_weight") is None else a["pos_weight"]
    return _reduced(positive * t * np.logaddexp(0, -x) + (1 - t) * np.logaddexp(0, x), a)


def kl_div(a: dict[str, Any]) -> np.ndarray:
    x, t = a["input"], a["target"]
    if a["log_target"]:
        return _reduced(np.exp(t) * (t - x), a)
    return _reduced(t * (np.log(t) - x), a)


NAMED = {
    "mse_loss": mse_loss,
    "l1_loss": l1_loss,
    "smooth_l1_loss": smooth_l1_loss,
    "huber_loss": huber_loss,
    "difference_loss_backward": difference_loss_backward,
    "binary_cross_entropy": binary_cross_entropy,
    "binary_cross_entropy_with_logits": binary_cross_entropy_with_logits,
    "kl_div": kl_div,
}
