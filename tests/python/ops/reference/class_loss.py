# tests/python/ops/reference/class_loss.py -- NumPy references of losses whose targets are classes.
from __future__ import annotations

from typing import Any

import numpy as np


def _reduced(losses: np.ndarray, weights: Any, reduction: str) -> np.ndarray:
    if reduction == "none":
        return losses
    return np.sum(losses) if reduction == "sum" else np.sum(losses) / np.sum(weights)


def _batched(a: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return scores [N, C, M], classes [N, M], the weight per class and per target."""
    scores, target = a["input"], a["target"]
    if scores.ndim == 1:
        scores, target = scores[None], np.asarray(target)[None]
    flat = scores.reshape(scores.shape[0], scores.shape[1], -1)
    classes = target.reshape(flat.shape[0], flat.shape[2])
    per_class = a.get("weight")
    per_class = np.ones(flat.shape[1]) if per_class is None else per_class
    counted = np.where(classes == a.get("ignore_index", -100), 0, per_class[classes])
    return flat, classes, per_class, counted


def nll_loss(a: dict[str, Any]) -> np.ndarray:
    flat, classes, _, counted = _batched(a)
    picked = np.take_along_axis(flat, classes[:, None, :], axis=1)[:, 0, :]
    losses = (-picked * counted).reshape(a["target"].shape)
    return _reduced(losses, counted, a.get("reduction", "mean"))


def _log_softmax(values: np.ndarray, axis: int) -> np.ndarray:
    shifted = values - np.max(values, axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis, keepdims=True))


def cross_entropy(a: dict[str, Any]) -> np.ndarray:
    logs = _log_softmax(a["input"], 0 if a["input"].ndim == 1 else 1)
    smoothing = a.get("label_smoothing", 0.0)
    reduction = a.get("reduction", "mean")
    if a["target"].dtype.kind == "f":
        count = a["input"].shape[1]
        target = a["target"] * (1 - smoothing) + smoothing / count
        losses = -np.sum(logs * target, axis=1)
        return _reduced(losses, np.ones_like(losses), reduction)
    given = {**a, "input": logs}
    hard = nll_loss(given)
    flat, _, per_class, counted = _batched(given)
    smooth = -np.sum(flat * per_class[None, :, None], axis=1) * (counted != 0)
    smooth = _reduced(smooth.reshape(a["target"].shape), counted, reduction)
    return (1 - smoothing) * hard + smoothing / flat.shape[1] * smooth


NAMED = {"nll_loss": nll_loss, "cross_entropy": cross_entropy}
