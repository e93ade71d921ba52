# python/ebb/linalg.py -- ebb.linalg: norms of vectors and matrices.
#
# A matrix norm that needs singular values is refused: there is no decomposition yet.
"""Norms under the names of ``torch.linalg``."""

from __future__ import annotations

import ebb
from ebb import _C
from ebb._C import NotImplementedError as _NotImplementedError, Tensor, ValueError as _ValueError

__all__ = ["matrix_norm", "norm", "vector_norm"]


def _norm(x, order, dim, keepdim, *, dtype=None):
    """Return the norm of real numbers, or of the lengths of complex ones."""
    is_complex = isinstance(x, Tensor) and x.is_complex()
    return _C.norm(x.abs() if is_complex else x, order, dim, keepdim, dtype=dtype)


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """Return the norm of order ``ord`` over ``dim``, or over all elements as one vector."""
    return _norm(x, ord, dim, keepdim, dtype=dtype)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):  # noqa: N803
    """Return the norm of matrices, which lie in two dims.

    Args:
        ord: "fro"; inf or -inf for the largest or smallest sum of a row's magnitudes; 1 or -1 for
            that of a column.
    """
    rows, columns = _two_dims(A, dim)
    if ord == "fro":
        return _norm(A, 2, [rows, columns], keepdim, dtype=dtype)
    if ord in ("nuc", 2, -2):
        raise _NotImplementedError(f"matrix_norm: order {ord} needs singular values")
    if ord not in (1, -1, ebb.inf, -ebb.inf):
        raise _ValueError(
            f"matrix_norm: needs order fro, nuc, 1, -1, 2, -2, inf or -inf, got {ord!r}"
        )
    along, across = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = _norm(A, 1, along, True, dtype=dtype)
    found = sums.amax(across, True) if ord > 0 else sums.amin(across, True)
    if keepdim:
        return found
    for one in sorted((rows, columns), reverse=True):
        found = found.squeeze(one)
    return found


def _two_dims(matrix, dim):
    """Return the two dims counted from the front."""
    if not isinstance(dim, tuple | list) or len(dim) != 2:
        raise _ValueError(f"matrix_norm: dim needs two dims, got {dim!r}")
    ndim = matrix.ndim
    for one in dim:
        if not -ndim <= one < ndim:
            raise _ValueError(f"matrix_norm: dims must be from {-ndim} to {ndim - 1}, got {dim!r}")
    rows, columns = (one % ndim for one in dim)
    if rows == columns:
        raise _ValueError(f"matrix_norm: needs two different dims, got {dim!r}")
    return rows, columns


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):  # noqa: N803
    """Return a vector norm for one dim or none, a matrix norm for two, as ``ord`` says."""
    if ord is None:
        return _norm(A, 2, dim, keepdim, dtype=dtype)
    is_matrix = isinstance(ord, str) or (isinstance(dim, tuple | list) and len(dim) == 2)
    if is_matrix or (dim is None and A.ndim == 2):
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return _norm(A, ord, dim, keepdim, dtype=dtype)


def _norm_of_tensor(input, p="fro", dim=None, keepdim=False, *, dtype=None):
    """Return the p-norm of the elements over ``dim``, or over everything.

    Args:
        p: The order, any real number or inf; "fro" stands for 2.
    """
    if p == "nuc":
        raise _NotImplementedError("norm: order nuc needs singular values")
    if isinstance(p, str) and p != "fro":
        raise _ValueError(f"norm: needs a number, fro or nuc for p, got {p!r}")
    order = 2 if p is None or p == "fro" else p
    return _norm(input, order, dim, keepdim, dtype=dtype)


_norm_of_tensor.__name__ = _norm_of_tensor.__qualname__ = "norm"
Tensor.norm = _norm_of_tensor
