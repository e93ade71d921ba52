# tests/python/ops/reference/linalg.py -- NumPy references of linear algebra.
"""Functions that ``op_reference.NAMED`` takes in."""

from __future__ import annotations

from typing import Any

import numpy as np


def each(function: Any, matrices: np.ndarray) -> tuple[np.ndarray, ...]:
    """Call a function of one matrix for each entry of a batch; stack each of its results."""
    batch = matrices.shape[:-2]
    flat = matrices.reshape(int(np.prod(batch)), *matrices.shape[-2:])
    made = [function(one) for one in (flat if len(flat) else np.ones((1, *flat.shape[1:])))]
    stacked = (np.stack(parts)[: len(flat)] for parts in zip(*made, strict=True))
    return tuple(part.reshape(batch + part.shape[1:]) for part in stacked)


def linalg_cholesky(a: dict[str, Any]) -> np.ndarray:
    factor = np.linalg.cholesky(a["A"] if "A" in a else a["input"])
    return np.conj(factor.swapaxes(-1, -2)) if a.get("upper") else factor


def _lu(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    factors, pivots = matrix.copy(), []
    for k in range(min(matrix.shape)):
        parts = abs(factors[k:, k].real) + abs(factors[k:, k].imag)
        pivots.append(k + int(np.argmax(parts)) + 1)
        factors[[k, pivots[-1] - 1]] = factors[[pivots[-1] - 1, k]]
        factors[k + 1 :, k] /= factors[k, k]
        factors[k + 1 :, k + 1 :] -= np.outer(factors[k + 1 :, k], factors[k, k + 1 :])
    return factors, np.array(pivots, np.int32), np.array(0, np.int32)


def linalg_lu_factor_ex(a: dict[str, Any]) -> tuple[np.ndarray, ...]:
    return each(_lu, a["A"])


def linalg_lu_factor(a: dict[str, Any]) -> tuple[np.ndarray, ...]:
    return each(_lu, a["A"])[:2]


def linalg_solve(a: dict[str, Any]) -> np.ndarray:
    left, right = a["A"], a["B"]
    if right.ndim == 1 or right.shape == left.shape[:-1]:
        return np.linalg.solve(left, right[..., None])[..., 0]
    if a.get("left", True):
        return np.linalg.solve(left, right)
    turned = np.linalg.solve(left.swapaxes(-1, -2), right.swapaxes(-1, -2))
    return turned.swapaxes(-1, -2)


def linalg_solve_triangular(a: dict[str, Any]) -> np.ndarray:
    triangle = np.triu(a["A"]) if a["upper"] else np.tril(a["A"])
    if a.get("unitriangular"):
        np.einsum("...ii->...i", triangle)[...] = 1
    if a.get("left", True):
        return np.linalg.solve(triangle, a["B"])  # which is never a vector, whatever its shape
    turned = np.linalg.solve(triangle.swapaxes(-1, -2), a["B"].swapaxes(-1, -2))
    return turned.swapaxes(-1, -2)


def linalg_eigh(a: dict[str, Any]) -> tuple[np.ndarray, ...]:
    values, vectors = np.linalg.eigh(a["A"], a["UPLO"])
    return values, vectors


def linalg_svd(a: dict[str, Any]) -> tuple[np.ndarray, ...]:
    return tuple(np.linalg.svd(a["A"], a["full_matrices"]))


def svd(a: dict[str, Any]) -> tuple[np.ndarray, ...]:
    U, S, Vh = np.linalg.svd(a["input"], not a["some"])
    return U, S, Vh.swapaxes(-1, -2)


def cholesky_solve(a: dict[str, Any]) -> np.ndarray:
    lower = np.conj(np.triu(a["L"]).swapaxes(-1, -2)) if a["upper"] else np.tril(a["L"])
    return np.linalg.solve(lower @ np.conj(lower.swapaxes(-1, -2)), a["input"])


def cholesky_inverse(a: dict[str, Any]) -> np.ndarray:
    factor = a["input"]
    return cholesky_solve({"input": np.eye(factor.shape[-1]), "L": factor, "upper": a["upper"]})


def matrix_exp(a: dict[str, Any]) -> np.ndarray:
    values, vectors = np.linalg.eigh(a["A"])
    return (vectors * np.exp(values)[..., None, :]) @ np.conj(vectors.swapaxes(-1, -2))


def triangular_solve(a: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    batch = np.broadcast_shapes(a["b"].shape[:-2], a["A"].shape[:-2])
    matrices = np.broadcast_to(a["A"], batch + a["A"].shape[-2:])
    triangle = np.triu(matrices) if a["upper"] else np.tril(matrices)
    if a["unitriangular"]:
        np.einsum("...ii->...i", triangle)[...] = 1
    triangle = triangle.swapaxes(-1, -2) if a["transpose"] else triangle
    return np.linalg.solve(triangle, np.broadcast_to(a["b"], batch + a["b"].shape[-2:])), matrices


def geqrf(a: dict[str, Any]) -> tuple[np.ndarray, ...]:
    batch, (rows, columns) = a["input"].shape[:-2], a["input"].shape[-2:]
    if a["input"].size == 0:
        return a["input"], np.zeros((*batch, min(rows, columns)), a["input"].dtype)
    found = [np.linalg.qr(one, "raw") for one in a["input"].reshape(-1, rows, columns)]
    factors = np.stack([h.T for h, _ in found]).reshape(a["input"].shape)
    return factors, np.stack([tau for _, tau in found]).reshape(*batch, -1)


def _reflections(matrices: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Return the product of all reflections, one after the other."""
    product = np.eye(matrices.shape[-2])
    for i in range(tau.shape[-1]):
        vector = np.tril(matrices, -1)[..., i]
        vector[..., i] = 1
        outer = vector[..., :, None] * np.conj(vector)[..., None, :]
        product = product @ (np.eye(matrices.shape[-2]) - tau[..., i, None, None] * outer)
    batch = np.broadcast_shapes(matrices.shape[:-2], tau.shape[:-1])
    return np.broadcast_to(product, batch + product.shape[-2:])


def linalg_householder_product(a: dict[str, Any]) -> np.ndarray:
    return _reflections(a["A"], a["tau"])[..., : a["A"].shape[-1]]


def ormqr(a: dict[str, Any]) -> np.ndarray:
    product = _reflections(a["input"], a["tau"])
    product = np.conj(product.swapaxes(-1, -2)) if a["transpose"] else product
    return product @ a["other"] if a["left"] else a["other"] @ product


def matrix_sqrth(a: dict[str, Any]) -> np.ndarray:
    values, vectors = np.linalg.eigh(a["A"])
    return (vectors * np.sqrt(values)[..., None, :]) @ np.conj(vectors.swapaxes(-1, -2))


def linalg_polar(a: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    U, S, Vh = np.linalg.svd(a["A"], False)
    return U @ Vh, (np.conj(Vh.swapaxes(-1, -2)) * S[..., None, :]) @ Vh


def vector_norm(a: dict[str, Any]) -> np.ndarray:
    size, p = np.abs(a["input"]), a["p"]
    axes = {"axis": (tuple(a["dim"]) or None) if isinstance(a["dim"], list) else a["dim"]}
    axes["keepdims"] = a["keepdim"]
    if np.isinf(p):
        return np.max(size, **axes) if p > 0 else np.min(size, **axes)
    return np.sum(size != 0, **axes) + 0.0 if p == 0 else np.sum(size**p, **axes) ** (1 / p)


NAMED = {
    "vector_norm": vector_norm,
    "cholesky_solve": cholesky_solve,
    "cholesky_inverse": cholesky_inverse,
    "matrix_exp": matrix_exp,
    "matrix_sqrth": matrix_sqrth,
    "linalg_polar": linalg_polar,
    "linalg_householder_product": linalg_householder_product,
    "ormqr": ormqr,
    "geqrf": geqrf,
    "triangular_solve": triangular_solve,
    "linalg_eigh": linalg_eigh,
    "linalg_svd": linalg_svd,
    "svd": svd,
    "linalg_cholesky": linalg_cholesky,
    "linalg_lu_factor_ex": linalg_lu_factor_ex,
    "linalg_lu_factor": linalg_lu_factor,
    "linalg_solve": linalg_solve,
    "linalg_solve_triangular": linalg_solve_triangular,
}
