# python/ebb/linalg.py -- ebb.linalg: linear algebra.
#
# Most of it are rows of the op table, which the compiled part has as ebb._linalg. Here are norms,
# and what arranges its arguments for one of those rows.
"""Linear algebra under the names of ``torch.linalg``."""

from __future__ import annotations

from typing import Any

import ebb
from ebb import _C, _linalg
from ebb._base.arguments import spelled
from ebb._C import (
    LinAlgError,
    ShapeError as _ShapeError,
    Tensor,
    ValueError as _ValueError,
)
from ebb._linalg import *
from ebb._linalg import (
    inv,
    inv_ex,
    lu_factor,
    lu_factor_ex,
    matrix_rank as _matrix_rank,
    pinv as _pinv,
    solve,
    svd,
    svdvals,
)

__all__ = [
    "LinAlgError",
    "cond",
    "matrix_norm",
    "matrix_rank",
    "norm",
    "pinv",
    "tensorinv",
    "tensorsolve",
    "vander",
]
__all__ += ["vector_norm"]
__all__ += _linalg.__all__


def _norm(x, order, dim, keepdim, *, dtype=None):
    """Return the norm of real numbers, or of the lengths of complex ones."""
    is_complex = isinstance(x, Tensor) and x.is_complex()
    return _C.norm(x.abs() if is_complex else x, order, dim, keepdim, dtype=dtype)


@spelled(input="x")
def vector_norm(
    x: Any,
    ord: Any = 2,
    dim: Any = None,
    keepdim: Any = False,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Tensor:
    """Return the norm of order ``ord`` over ``dim``, or over all elements as one vector.

    Example:
        >>> ebb.linalg.vector_norm(ebb.tensor([3.0, 4.0]), 1)
        tensor(7.)
    """
    return _given("vector_norm", _norm(x, ord, dim, keepdim, dtype=dtype), out)


def _given(function, found, out):
    """Return ``found``, or ``out`` with its elements."""
    return found if out is None else _C._copied_out(f"linalg.{function}", found, out)


@spelled(input="A")
def matrix_norm(
    A: Any,  # noqa: N803
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: Any = False,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Tensor:
    """Return the norm of matrices, which lie in two dims.

    Args:
        ord: "fro"; inf or -inf for the largest or smallest sum of a row's magnitudes; 1 or -1 for
            that of a column; 2 or -2 for the largest or smallest singular value, "nuc" for the
            sum of all.

    Example:
        >>> ebb.linalg.matrix_norm(ebb.tensor([[3.0, 4.0]]))
        tensor(5.)
    """
    return _given("matrix_norm", _matrix_norm(A, ord, dim, keepdim, dtype), out)


def _matrix_norm(A, ord, dim, keepdim, dtype):  # noqa: N803
    rows, columns = _two_dims(A, dim)
    if ord == "fro":
        return _norm(A, 2, [rows, columns], keepdim, dtype=dtype)
    if ord in ("nuc", 2, -2):
        return _spectral_norm(A, ord, (rows, columns), keepdim, dtype)
    if ord not in (1, -1, ebb.inf, -ebb.inf):
        raise _ValueError(
            f"matrix_norm: needs order fro, nuc, 1, -1, 2, -2, inf or -inf, got {ord!r}"
        )
    along, across = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = _norm(A, 1, along, True, dtype=dtype)
    found = _extreme(sums, across, ord > 0)
    if keepdim:
        return found
    for one in sorted((rows, columns), reverse=True):
        found = found.squeeze(one)
    return found


def _extreme(sizes, dim, is_largest):
    """Return the largest size along ``dim``, 0 of none, or the smallest."""
    if not is_largest:
        return sizes.amin(dim, True)
    return sizes.amax(dim, True) if sizes.shape[dim] else sizes.sum(dim, True)


def _spectral_norm(matrix, ord, dims, keepdim, dtype):
    """Return a norm that is made of singular values."""
    matrix = matrix if dtype is None else matrix.to(dtype)
    values = svdvals(matrix.movedim(dims, (-2, -1)))
    found = values.sum(-1) if ord == "nuc" else _extreme(values, -1, ord > 0).squeeze(-1)
    if keepdim:
        for one in sorted(dims):
            found = found.unsqueeze(one)
    return found


@spelled(input="A")
def cond(A: Any, p: Any = None, *, out: Any = None) -> Any:  # noqa: N803
    """Return how much a matrix may enlarge relative errors: its norm times that of its inverse.

    That of a matrix without elements is 0.

    Args:
        p: An order of ``matrix_norm``; None stands for 2, the ratio of the extreme singular values.

    Example:
        >>> ebb.linalg.cond(ebb.tensor([[2.0, 0.0], [0.0, 1.0]]))
        tensor(2.)
    """
    if 0 in A.shape[-2:]:
        return _given("cond", A.real.sum((-2, -1)), out)
    if p is None or p in (2, -2):
        values = svdvals(A)
        largest, smallest = values[..., 0], values[..., -1]
        return _given("cond", smallest / largest if p == -2 else largest / smallest, out)
    inverse, info = inv_ex(A)
    sizes = matrix_norm(A, p) * matrix_norm(inverse, p)
    return _given("cond", ebb.where(info == 0, sizes, ebb.inf), out)


@spelled(input="A")
def tensorinv(A: Any, ind: Any = 2, *, out: Any = None) -> Tensor:  # noqa: N803
    """Return the inverse of ``tensordot(A, ., ind)``: the first ``ind`` dims are the rows of A.

    Example:
        >>> ebb.linalg.tensorinv(ebb.eye(4).reshape(4, 2, 2), ind=1).shape
        ebb.Size([2, 2, 4])
    """
    if ind <= 0:
        raise _ValueError(f"tensorinv: ind must be positive, got {ind}")
    rows, columns = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    size = _count(rows)
    if size != _count(columns):
        raise _ShapeError(
            f"tensorinv: the first {ind} dims need as many elements as the others, "
            f"got {size} and {_count(columns)}"
        )
    return _given("tensorinv", inv(A.reshape(size, size)).reshape(columns + rows), out)


@spelled(input="A", other="B")
def tensorsolve(A: Any, B: Any, dims: Any = None, *, out: Any = None) -> Tensor:  # noqa: N803
    """Return the X with ``tensordot(A, X, X.ndim) == B``; ``dims`` of A are moved to its end.

    Example:
        >>> ebb.linalg.tensorsolve(ebb.eye(4).reshape(2, 2, 4), ebb.ones(2, 2))
        tensor([1., 1., 1., 1.])
    """
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    shape = tuple(A.shape[B.ndim :])
    size = B.numel()
    if size != _count(shape):
        raise _ShapeError(
            f"tensorsolve: A needs as many columns as B has elements, "
            f"got {_count(shape)} and {size}"
        )
    found = solve(A.reshape(size, size), B.reshape(size)).reshape(shape)
    return _given("tensorsolve", found, out)


def vander(x: Any, N: Any = None) -> Tensor:  # noqa: N803
    """Return the powers 0 to ``N`` - 1 of the elements of ``x`` along a new last dim.

    Example:
        >>> ebb.linalg.vander(ebb.tensor([2.0, 3.0]), N=3)
        tensor([[1., 2., 4.],
                [1., 3., 9.]])
    """
    x = x.reshape(1) if x.ndim == 0 else x
    count = x.shape[-1] if N is None else N
    if count < 0:
        raise _ValueError(f"vander: N must not be negative, got {count}")
    powers = ebb.arange(0, count, device=x.device)
    return x.unsqueeze(-1) ** powers


def _least_values(values, A, atol, rtol):  # noqa: N803
    """Return, for each matrix, up to where its singular values count as 0."""
    atol = 0.0 if atol is None else atol
    if rtol is None:
        usual = max(A.shape[-2:]) * ebb.finfo(values.dtype).eps
        is_absolute = ebb.as_tensor(atol, device=A.device) > 0
        rtol = ebb.where(is_absolute, 0.0, usual).to(values.dtype)
    largest = values[..., :1].sum(-1)  # 0 of no values
    relative = ebb.as_tensor(rtol, dtype=values.dtype, device=A.device) * largest
    return ebb.maximum(relative, ebb.as_tensor(atol, dtype=values.dtype, device=A.device))


def _has_tensors(*tolerances):
    return any(isinstance(one, Tensor) for one in tolerances)


@spelled(input="A")
def matrix_rank(
    A: Any,  # noqa: N803
    tol: Any = None,
    hermitian: Any = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Any = None,
) -> Tensor:
    """Return how many singular values are above ``atol`` and ``rtol`` times the largest.

    Args:
        tol: The old name of ``atol``, with an ``rtol`` of 0.
        hermitian: Your word that ``A`` is; nothing depends on it.
        atol, rtol: Numbers, or tensors that broadcast with the batch. Unless one of both is given,
            ``rtol`` is the larger size times the dtype's epsilon.

    Example:
        >>> ebb.linalg.matrix_rank(ebb.tensor([[1.0, 0.0], [0.0, 0.0]]))
        tensor(1)
    """
    if tol is not None:
        atol, rtol = tol, 0.0
    if not _has_tensors(atol, rtol):
        return _matrix_rank(A, atol=atol, rtol=rtol, hermitian=hermitian, out=out)
    values = svdvals(A.detach())
    least = _least_values(values, A, atol, rtol).unsqueeze(-1)
    return _given("matrix_rank", (values > least).sum(-1), out)


@spelled(input="A")
def pinv(
    A: Any,  # noqa: N803
    rcond: Any = None,
    hermitian: Any = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Any = None,
) -> Tensor:
    """Return the pseudoinverse: that by singular values, of which small ones count as 0.

    The derivative holds where the rank does not change.

    Args:
        rcond: The old name of ``rtol``.
        hermitian: Your word that ``A`` is; nothing depends on it.
        atol, rtol: Those up to ``atol``, or up to ``rtol`` times the largest: numbers, or tensors
            that broadcast with the batch. Unless one of both is given, ``rtol`` is the larger size
            times the dtype's epsilon.

    Example:
        >>> ebb.linalg.pinv(ebb.tensor([[2.0, 0.0], [0.0, 0.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.0000]])
    """
    rtol = rtol if rcond is None else rcond
    if not _has_tensors(atol, rtol):
        return _pinv(A, atol=atol, rtol=rtol, hermitian=hermitian, out=out)
    with ebb.no_grad():
        left, values, right = svd(A.detach(), full_matrices=False)
        least = _least_values(values, A, atol, rtol).unsqueeze(-1)
        factors = ebb.where(values > least, values.reciprocal(), 0.0)
        inverse = ((left * factors.unsqueeze(-2)) @ right).mH
    return _given("pinv", _C._ops.pinv_of(A, inverse), out)


def _count(shape):
    found = 1
    for size in shape:
        found *= size
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


@spelled(input="A")
def norm(
    A: Any,  # noqa: N803
    ord: Any = None,
    dim: Any = None,
    keepdim: Any = False,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Tensor:
    """Return a vector norm for one dim or none, a matrix norm for two, as ``ord`` says.

    Example:
        >>> ebb.linalg.norm(ebb.tensor([3.0, 4.0]))
        tensor(5.)
    """
    if ord is None:
        return _given("norm", _norm(A, 2, dim, keepdim, dtype=dtype), out)
    is_matrix = isinstance(ord, str) or (isinstance(dim, tuple | list) and len(dim) == 2)
    if is_matrix or (dim is None and A.ndim == 2):
        dims = (-2, -1) if dim is None else dim
        return _given("norm", matrix_norm(A, ord, dims, keepdim, dtype=dtype), out)
    return _given("norm", _norm(A, ord, dim, keepdim, dtype=dtype), out)


def _norm_of_tensor(
    input: Any, p: Any = "fro", dim: Any = None, keepdim: Any = False, dtype: Any = None
) -> Tensor:
    """Return the p-norm of the elements over ``dim``, or over everything.

    Args:
        p: The order, any real number or inf; "fro" stands for 2.

    Example:
        >>> ebb.tensor([3.0, 4.0]).norm()
        tensor(5.)
    """
    if p == "nuc":
        return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    if isinstance(p, str) and p != "fro":
        raise _ValueError(f"norm: needs a number, fro or nuc for p, got {p!r}")
    order = 2 if p is None or p == "fro" else p
    return _norm(input, order, dim, keepdim, dtype=dtype)


_norm_of_tensor.__name__ = _norm_of_tensor.__qualname__ = "norm"
Tensor.norm = _norm_of_tensor


def _norm_function(
    input: Any,
    p: Any = "fro",
    dim: Any = None,
    keepdim: Any = False,
    out: Any = None,
    dtype: Any = None,
) -> Tensor:
    """Return the p-norm of the elements over ``dim``, or over everything.

    Args:
        p: The order, any real number or inf; "fro" stands for 2, "nuc" for the sum of all singular
            values.
        out: A tensor of the result's shape and dtype to write to.

    Example:
        >>> ebb.norm(ebb.tensor([3.0, 4.0]))
        tensor(5.)
    """
    found = _norm_of_tensor(input, p, dim, keepdim, dtype)
    return found if out is None else _C._copied_out("norm", found, out)


_norm_function.__name__ = _norm_function.__qualname__ = "norm"


def _lu(A: Any, pivot: Any = True, get_infos: Any = False) -> Any:  # noqa: N803
    """Return linalg.lu_factor(A), with ``get_infos`` also linalg.lu_factor_ex's info.

    Args:
        get_infos: Whether to tell by that info of singular matrices, and not by an error.

    Example:
        >>> factors, pivots = ebb.lu(ebb.tensor([[2.0, 1.0], [4.0, 3.0]]))
        >>> factors, pivots
        (tensor([[ 4.0000,  3.0000],
                [ 0.5000, -0.5000]]), tensor([2, 2], dtype=ebb.int32))
    """
    return lu_factor_ex(A, pivot=pivot) if get_infos else lu_factor(A, pivot=pivot)


_lu.__name__ = _lu.__qualname__ = "lu"
Tensor.lu = _lu
