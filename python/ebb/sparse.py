# python/ebb/sparse.py -- ebb.sparse: functions of sparse tensors under the names of torch.sparse.
#
# They compute on the stored values and their places with dense ops, so that each has gradients of
# any order; what operators and methods do with sparse operands is in C++ (_tensor/sparse.py says
# where). Start reading at softmax().
"""Functions of sparse tensors that have no operator, and older names of their types.

Example:
    >>> a = ebb.sparse_coo_tensor([[0, 1, 1], [1, 0, 1]], [1.0, 2.0, 3.0], (2, 2))
    >>> ebb.sparse.sum(a, 1).to_dense()
    tensor([1., 5.])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ebb
from ebb import _C
from ebb._base import naming as _naming
from ebb._C import Tensor
from ebb._tensor import legacy as _legacy

__all__ = [
    "BFloat16Tensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "addmm",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "sum",
]


# --- products ---


def mm(mat1: Tensor, mat2: Tensor, reduce: str = "sum") -> Tensor:
    """Return the product of two matrices, either or both sparse.

    Args:
        mat1: [n, m], strided, sparse_coo or sparse_csr.
        mat2: [m, p], the same.
        reduce: What is made of the products that a stored row of mat1 has with a column of a
            strided mat2: "sum", "mean", "amax" or "amin"; 0 of none.

    Returns:
        [n, p]: sparse_csr if both are, else sparse_coo if both are sparse, else strided.

    Raises:
        ShapeError: If the sizes do not go together.

    Example:
        >>> a = ebb.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
        >>> ebb.sparse.mm(a, a).to_dense()
        tensor([[6., 0.],
                [0., 6.]])
    """
    for name, matrix in (("mat1", mat1), ("mat2", mat2)):
        _check_tensor("mm", name, matrix)
    if mat1.ndim != 2 or mat2.ndim != 2 or mat1.shape[1] != mat2.shape[0]:
        raise _C.ShapeError(
            f"sparse.mm: needs matrices [n, m] and [m, p], got {list(mat1.shape)} and "
            f"{list(mat2.shape)}"
        )
    return _C.mm(mat1, mat2) if reduce == "sum" else _reduced_product(mat1, mat2, reduce)


def _reduced_product(mat1: Tensor, mat2: Tensor, reduce: str) -> Tensor:
    if reduce not in ("mean", "amax", "amin"):
        raise _C.ValueError(
            f"sparse.mm: reduce must be 'sum', 'mean', 'amax' or 'amin', got {reduce!r}"
        )
    if mat1.is_dense or not mat2.is_dense:
        raise _C.NotImplementedError(
            f"sparse.mm: reduce {reduce!r} needs a sparse mat1 and a strided mat2, got "
            f"{mat1.layout} and {mat2.layout}"
        )
    rows, columns, values = _entries("mm", "mat1", mat1)
    products = values.unsqueeze(1) * mat2[columns]
    start = products.new_zeros(mat1.shape[0], mat2.shape[1])
    places = rows.unsqueeze(1).expand(products.shape)
    return start.scatter_reduce(0, places, products, reduce, include_self=False)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """Return ``beta * mat + alpha * (mat1 @ mat2)``, where ``mat1`` may be sparse.

    Args:
        mat: [n, p], strided.
        mat1: [n, m], strided, sparse_coo or sparse_csr.
        mat2: [m, p], strided.
        beta: The factor of ``mat``; what it holds does not count if 0.
        alpha: The factor of the product.

    Raises:
        ShapeError: If the sizes do not go together.

    Example:
        >>> a = ebb.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
        >>> ebb.sparse.addmm(ebb.ones(2, 2), a, ebb.eye(2), beta=10)
        tensor([[10., 12.],
                [13., 10.]])
    """
    for name, matrix in (("mat", mat), ("mat1", mat1), ("mat2", mat2)):
        _check_tensor("addmm", name, matrix)
    return _C.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sampled_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0
) -> Tensor:
    """Return ``beta * input + alpha * (mat1 @ mat2)`` in the places that ``input`` stores alone.

    Args:
        input: [n, p], sparse_csr.
        mat1: [n, m], strided.
        mat2: [m, p], strided.
        beta: The factor of ``input``; what it holds does not count if 0.
        alpha: The factor of the product, of which no other element is computed.

    Returns:
        [n, p], sparse_csr, with values in the same places.

    Raises:
        ShapeError: If the sizes do not go together.
        DTypeError: If the dtypes differ, or are neither floating nor complex.

    Example:
        >>> a = ebb.eye(2).to_sparse_csr()
        >>> ebb.sparse.sampled_addmm(a, ebb.ones(2, 3), ebb.ones(3, 2), beta=10).to_dense()
        tensor([[13.,  0.],
                [ 0., 13.]])
    """
    function = "sampled_addmm"
    for name, matrix in (("input", input), ("mat1", mat1), ("mat2", mat2)):
        _check_tensor(function, name, matrix)
    if not input.is_sparse_csr:
        raise _C.ValueError(
            f"sparse.{function}: 'input' needs a sparse_csr tensor, got one of layout "
            f"{input.layout}\nhint: call .to_sparse_csr() on it first"
        )
    _check_product(function, input, mat1, mat2)
    rows, columns, stored = _entries(function, "input", input)
    values = alpha * (mat1[rows] * mat2.mT[columns]).sum(-1)
    if beta != 0:
        values = values + beta * stored
    return ebb.sparse_csr_tensor(
        input.crow_indices(), input.col_indices(), values.to(input.dtype), input.shape
    )


def _check_product(function: str, input: Tensor, mat1: Tensor, mat2: Tensor) -> None:
    shapes = [list(one.shape) for one in (mat1, mat2)]
    is_good = mat1.ndim == 2 == mat2.ndim and mat1.shape[1] == mat2.shape[0]
    if not is_good or input.shape != (mat1.shape[0], mat2.shape[1]):
        raise _C.ShapeError(
            f"sparse.{function}: needs input [n, p], mat1 [n, m] and mat2 [m, p], got "
            f"{list(input.shape)}, {shapes[0]} and {shapes[1]}"
        )
    dtypes = [one.dtype for one in (input, mat1, mat2)]
    if len(set(dtypes)) > 1 or not (input.is_floating_point() or input.is_complex()):
        raise _C.DTypeError(
            f"sparse.{function}: needs one floating or complex dtype, got "
            f"{', '.join(one.name for one in dtypes)}"
        )


# --- made of diagonals ---


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: Any = None) -> Tensor:
    """Return a sparse matrix whose diagonals are the rows of a matrix.

    Element j of a row goes to column j, so that a row starts with elements that are left out
    where its diagonal begins right of column 0.

    Args:
        diagonals: [count, length], or [length] of one diagonal.
        offsets: int64 [count]: which diagonal each row is, above the main one (0) if positive.
        shape: The rows and columns of the result.
        layout: ``ebb.sparse_coo``, which None stands for, or ``ebb.sparse_csr``.

    Raises:
        ShapeError: If the numbers of rows and of offsets differ, or shape has not two sizes.
        ValueError: If an offset is there twice.

    Example:
        >>> rows = ebb.tensor([[1, 2, 3], [4, 5, 6]])
        >>> ebb.sparse.spdiags(rows, ebb.tensor([0, 1]), (3, 3)).to_dense()
        tensor([[1, 5, 0],
                [0, 2, 6],
                [0, 0, 3]])
    """
    for name, value in (("diagonals", diagonals), ("offsets", offsets)):
        _check_tensor("spdiags", name, value)
    own = ebb.atleast_2d(diagonals)
    starts = offsets.reshape(-1)
    if len(shape) != 2 or own.ndim != 2 or offsets.ndim > 1 or len(starts) != len(own):
        raise _C.ShapeError(
            "sparse.spdiags: needs diagonals [count, length], offsets [count] and two sizes, got "
            f"{list(diagonals.shape)}, {list(offsets.shape)} and {list(shape)}"
        )
    if starts.dtype is not _C.int64:
        raise _C.DTypeError(f"sparse.spdiags: 'offsets' must be int64, got {starts.dtype.name}")
    if len(set(starts.tolist())) < len(starts):
        raise _C.ValueError(f"sparse.spdiags: needs each offset once, got {starts.tolist()}")
    columns = _C.arange(own.shape[1], device=own.device).expand(own.shape)
    rows = columns - starts.unsqueeze(1)
    is_inside = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    places = _C.stack([rows[is_inside], columns[is_inside]])
    made = ebb.sparse_coo_tensor(places, own[is_inside], shape)
    if layout in (None, ebb.sparse_coo):
        return made
    if layout is not ebb.sparse_csr:
        raise _C.ValueError(
            f"sparse.spdiags: layout must be ebb.sparse_coo or ebb.sparse_csr, got {layout}"
        )
    return made.to_sparse_csr()


# --- sums ---


def sum(
    input: Tensor, dim: int | Sequence[int] | None = None, dtype: _C.dtype | None = None
) -> Tensor:
    """Return the sum of a sparse tensor along some dims.

    Args:
        input: A sparse_coo tensor of any shape.
        dim: One dim or several; all if None.
        dtype: Of the values, before they are added; their own if None.

    Returns:
        Without those dims: strided if no sparse dim is left, else sparse_coo.

    Raises:
        IndexError: If a dim is out of range.
        ValueError: If a dim is given twice.

    Example:
        >>> a = ebb.sparse_coo_tensor([[0, 1, 1], [1, 0, 1]], [1.0, 2.0, 3.0], (2, 2))
        >>> ebb.sparse.sum(a)
        tensor(6.)
        >>> ebb.sparse.sum(a, 0).to_dense()
        tensor([2., 4.])
    """
    indices, values = _stored("sum", input)
    if dtype is not None:
        values = values.to(dtype)
    if dim is None:
        return values.sum()
    taken = _dims("sum", input, dim)
    sparse_dims = indices.shape[0]
    dense = [one - sparse_dims + 1 for one in taken if one >= sparse_dims]
    if dense:
        values = values.sum(dense)
    kept = [one for one in range(sparse_dims) if one not in taken]
    if not kept:
        return values.sum(0)
    size = [size for one, size in enumerate(input.shape) if one not in taken]
    return ebb.sparse_coo_tensor(indices[kept], values, size).coalesce()


# --- softmax over what is stored ---


def softmax(input: Tensor, dim: int, dtype: _C.dtype | None = None) -> Tensor:
    """Return the softmax along ``dim`` of what a sparse tensor stores; what it does not stays 0.

    Args:
        input: A sparse_coo tensor of a floating dtype; what is not stored counts as -infinity.
        dim: Along which the stored values of each line add up to 1.
        dtype: In which it is computed; the input's if None.

    Returns:
        A sparse_coo tensor with values in the same places.

    Raises:
        IndexError: If ``dim`` is out of range.

    Example:
        >>> a = ebb.sparse_coo_tensor([[0, 1, 1], [1, 0, 1]], [1.0, 2.0, 2.0], (2, 2))
        >>> ebb.sparse.softmax(a, 1).to_dense()
        tensor([[0.0000, 1.0000],
                [0.5000, 0.5000]])
    """
    return _softmax("softmax", input, dim, dtype)


def log_softmax(input: Tensor, dim: int, dtype: _C.dtype | None = None) -> Tensor:
    """Return the logarithm of ``softmax(input, dim, dtype)`` in the places that are stored.

    Example:
        >>> a = ebb.sparse_coo_tensor([[0, 1, 1], [1, 0, 1]], [1.0, 2.0, 2.0], (2, 2))
        >>> ebb.sparse.log_softmax(a, 1).values()
        tensor([ 0.0000, -0.6931, -0.6931])
    """
    return _softmax("log_softmax", input, dim, dtype)


def _softmax(function: str, input: Tensor, dim: int, dtype: _C.dtype | None) -> Tensor:
    indices, values = _stored(function, input)
    (own,) = _dims(function, input, dim)
    if dtype is not None:
        values = values.to(dtype)
    if not values.is_floating_point():
        raise _C.DTypeError(f"sparse.{function}: needs a floating dtype, got {values.dtype.name}")
    sparse_dims = indices.shape[0]
    if own >= sparse_dims:
        values = getattr(_C, function)(values, own - sparse_dims + 1)
    elif len(values) > 0:
        values = _line_softmax(function, values, _lines(input.shape, indices, own))
    return ebb.sparse_coo_tensor(indices, values, input.shape, is_coalesced=True)


def _lines(shape: Sequence[int], indices: Tensor, dim: int) -> Tensor:
    """Number the lines along ``dim`` that store something: the line of each stored value."""
    kept = [one for one in range(indices.shape[0]) if one != dim]
    if not kept:
        return _C.zeros(indices.shape[1], dtype=_C.int64, device=indices.device)
    # One number a line fits: the product of a sparse tensor's sizes has at most 63 bits.
    flat = indices[kept[0]]
    for one in kept[1:]:
        flat = flat * shape[one] + indices[one]
    return ebb.unique(flat, return_inverse=True)[1]


def _line_softmax(function: str, values: Tensor, lines: Tensor) -> Tensor:
    """The softmax of values [stored, ...] over those of one line."""
    count = int(lines.max().item()) + 1
    size = (count, *values.shape[1:])
    where = lines.reshape(-1, *[1] * (values.ndim - 1)).expand(values.shape)
    lowest = _C.full(size, -math.inf, dtype=values.dtype, device=values.device)
    greatest = lowest.scatter_reduce(0, where, values.detach(), "amax")
    # A line of -infinity alone has no softmax: NaN, as in a dense tensor.
    shifted = values - greatest[lines]
    sums = _C.zeros(size, dtype=values.dtype, device=values.device)
    sums = sums.index_add(0, lines, shifted.exp())
    if function == "softmax":
        return shifted.exp() / sums[lines]
    return shifted - sums.log()[lines]


# --- operands ---


def _check_tensor(function: str, name: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise _C.DTypeError(
            f"sparse.{function}(): argument '{name}' must be Tensor, got {type(value).__name__}"
        )


def _stored(function: str, input: Tensor) -> tuple[Tensor, Tensor]:
    """The places and values of a sparse_coo tensor, each place once."""
    _check_tensor(function, "input", input)
    if not input.is_sparse:
        raise _C.ValueError(
            f"sparse.{function}: needs a sparse_coo tensor, got one of layout {input.layout}\n"
            "hint: call .to_sparse() on it first"
        )
    input = input.coalesce()
    return input.indices(), input.values()


def _entries(function: str, name: str, matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Row, column and value of each entry of a sparse matrix, row by row."""
    if matrix.is_sparse_csr:
        matrix = matrix.to_sparse()
    indices, values = _stored(function, matrix)
    if indices.shape[0] != 2:
        raise _C.ShapeError(
            f"sparse.{function}: '{name}' needs two sparse dims, got {indices.shape[0]} of "
            f"{matrix.ndim} dims"
        )
    return indices[0], indices[1], values


def _dims(function: str, input: Tensor, dim: int | Sequence[int]) -> list[int]:
    """The dims from 0 on. Raises IndexError, or ValueError for one that is there twice."""
    given = [dim] if hasattr(dim, "__index__") else list(dim)
    found = []
    for one in given:
        if not hasattr(one, "__index__"):
            raise _C.DTypeError(
                f"sparse.{function}(): argument 'dim' must be int or ints, got {type(one).__name__}"
            )
        number = one.__index__()
        if not -input.ndim <= number < input.ndim:
            raise _C.IndexError(
                f"sparse.{function}: dim must be from {-input.ndim} to {input.ndim - 1}, got "
                f"{number}"
            )
        found.append(number % input.ndim)
    if len(set(found)) < len(found):
        raise _C.ValueError(f"sparse.{function}: each dim may be given once, got {given}")
    return found


# --- older names of the types ---


class _SparseType(_legacy.LegacyType):
    """The class of sparse types: an instance is a sparse_coo tensor of the CPU with that dtype."""

    def __instancecheck__(cls, one: object) -> bool:  # noqa: N805
        return isinstance(one, Tensor) and one.is_sparse and one.is_cpu and one.dtype is cls.dtype

    def __call__(cls, indices: Any, values: Any, size: Any = None) -> Tensor:  # noqa: N805
        return ebb.sparse_coo_tensor(indices, values, size, dtype=cls.dtype)


def _new_type(dense: _legacy.LegacyType) -> _SparseType:
    name = dense.__name__
    doc = (
        f"The type of sparse_coo tensors of {dense.dtype.name}: ``{name}(indices, values, size)`` "
        f"makes one.\n\n>>> isinstance(ebb.sparse.{name}([[0]], [1], (2,)), ebb.sparse.{name})\n"
        "True\n"
    )
    return _SparseType(name, (), {"dtype": dense.dtype, "__doc__": doc, "__module__": "ebb.sparse"})


FloatTensor: _SparseType = _new_type(_legacy.FloatTensor)
DoubleTensor: _SparseType = _new_type(_legacy.DoubleTensor)
HalfTensor: _SparseType = _new_type(_legacy.HalfTensor)
BFloat16Tensor: _SparseType = _new_type(_legacy.BFloat16Tensor)
ByteTensor: _SparseType = _new_type(_legacy.ByteTensor)
CharTensor: _SparseType = _new_type(_legacy.CharTensor)
ShortTensor: _SparseType = _new_type(_legacy.ShortTensor)
IntTensor: _SparseType = _new_type(_legacy.IntTensor)
LongTensor: _SparseType = _new_type(_legacy.LongTensor)

_naming.name_module(__name__)
