# tests/python/ops/reference/loss.py -- what NumPy says of the losses that compare tensors.
#
# Each function gets the arguments of a call by name, in double precision.
"""NumPy references of ops/nn/loss_pointwise.yaml and of the distances of ops/nn/loss.yaml."""

from __future__ import annotations

from typing import Any

import numpy as np


def _reduced(losses: np.ndarray, a: dict[str, Any]) -> np.ndarray:
    weight = a.get("weight")
    losses = losses if weight is None else losses * weight
    return {"none": np.asarray, "sum": np.sum, "mean": np.mean}[a["reduction"]](losses)


def mse_loss(a: dict[str, Any]) -> np.ndarray:
    return _reduced((a["input"] - a["target"]) ** 2, a)


def weighted_mse_loss(a: dict[str, Any]) -> np.ndarray:
    losses = (a["input"] - a["target"]) ** 2
    total = np.sum(a["weight"]) if a["reduction"] == "mean" else 1
    return _reduced(losses, {**a, "reduction": "sum"} if a["reduction"] == "mean" else a) / total


def weighted_l1_loss(a: dict[str, Any]) -> np.ndarray:
    return l1_loss(a) / (np.mean(a["weight"]) if a["reduction"] == "mean" else 1)


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


def gaussian_nll_loss(a: dict[str, Any]) -> np.ndarray:
    is_per_row = a["input"].ndim > 0 and np.shape(a["var"]) == a["input"].shape[:-1]
    var = np.maximum(a["var"][..., None] if is_per_row else a["var"], a["eps"])
    constant = np.log(2 * np.pi) if a["full"] else 0
    return _reduced((np.log(var) + (a["input"] - a["target"]) ** 2 / var + constant) / 2, a)


def poisson_nll_loss(a: dict[str, Any]) -> np.ndarray:
    x, t = a["input"], a["target"]
    losses = np.exp(x) - t * x if a["log_input"] else x - t * np.log(x + a["eps"])
    stirling = t * np.log(t) - t + np.log(2 * np.pi * t) / 2
    return _reduced(losses + np.where(a["full"] & (t > 1), stirling, 0), a)


def cosine_embedding_loss(a: dict[str, Any]) -> np.ndarray:
    x, y = np.broadcast_arrays(a["input1"], a["input2"])
    lengths = np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1)
    cosine = np.sum(x * y, -1) / np.maximum(lengths, 1e-16)
    apart = np.maximum(0, cosine - a["margin"])
    apart = np.where(a["target"] == -1, apart, 0)
    return _reduced(np.where(a["target"] == 1, 1 - cosine, apart), a)


def triplet_margin_loss(a: dict[str, Any]) -> np.ndarray:
    def distance(x: str, y: str) -> np.ndarray:
        return np.linalg.norm(a[x] * 1.0 - a[y] + a["eps"], a["p"], -1)

    far = distance("anchor", "negative")
    if a["swap"]:
        far = np.minimum(far, distance("positive", "negative"))
    return _reduced(np.maximum(0, distance("anchor", "positive") - far + a["margin"]), a)


def multi_margin_loss(a: dict[str, Any]) -> np.ndarray:
    x = np.atleast_2d(a["input"])
    rows, target = np.arange(len(x)), np.atleast_1d(a["target"])
    gaps = np.maximum(0, a["margin"] - x[rows, target][:, None] + x) ** a["p"]
    gaps *= 1 if a.get("weight") is None else a["weight"][target][:, None]
    gaps[rows, target] = 0
    losses = gaps.sum(1) / x.shape[1]
    return _reduced(losses if a["input"].ndim == 2 else losses[0], {**a, "weight": None})


def multilabel_margin_loss(a: dict[str, Any]) -> np.ndarray:
    losses = []
    for x, row in zip(np.atleast_2d(a["input"]), np.atleast_2d(a["target"]), strict=True):
        end = next((i for i, label in enumerate(row) if label < 0), len(row))
        others = [i for i in range(len(x)) if i not in row[:end]]
        losses.append(sum(max(0, 1 - x[j] + x[i]) for j in row[:end] for i in others) / len(x))
    return _reduced(np.array(losses if a["input"].ndim == 2 else losses[0]), a)


def multilabel_soft_margin_loss(a: dict[str, Any]) -> np.ndarray:
    x, t = a["input"], a["target"]
    losses = t * np.logaddexp(0, -x) + (1 - t) * np.logaddexp(0, x)
    losses = losses * (1 if a.get("weight") is None else a["weight"])
    return _reduced(losses.mean(-1), {**a, "weight": None})


NAMED = {
    "multi_margin_loss": multi_margin_loss,
    "multilabel_margin_loss": multilabel_margin_loss,
    "multilabel_soft_margin_loss": multilabel_soft_margin_loss,
    "mse_loss": mse_loss,
    "weighted_mse_loss": weighted_mse_loss,
    "weighted_l1_loss": weighted_l1_loss,
    "l1_loss": l1_loss,
    "smooth_l1_loss": smooth_l1_loss,
    "huber_loss": huber_loss,
    "difference_loss_backward": difference_loss_backward,
    "binary_cross_entropy": binary_cross_entropy,
    "binary_cross_entropy_with_logits": binary_cross_entropy_with_logits,
    "kl_div": kl_div,
    "gaussian_nll_loss": gaussian_nll_loss,
    "poisson_nll_loss": poisson_nll_loss,
    "cosine_embedding_loss": cosine_embedding_loss,
    "triplet_margin_loss": triplet_margin_loss,
}
