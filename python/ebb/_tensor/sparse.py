# python/ebb/_tensor/sparse.py -- sparse tensors: how they are made, and methods that need no speed.
#
# What is computed is in C++: the ops of ops/shape/sparse.yaml, and in
# ebb/autograd/rules/sparse_math.cpp what other ops mean for sparse operands. docs/functions.md says
# what is supported.
"""Constructors of sparse tensors, layouts, and their text."""

from __future__ import annotations

from typing import Any

import ebb
from ebb import _C
from ebb._C import Tensor


class layout(str):  # noqa: N801
    """How a tensor stores its elements; equal to its name, such as ``"sparse_coo"``.

    Example:
        >>> ebb.eye(2).to_sparse().layout, ebb.eye(2).layout == ebb.strided
        (ebb.sparse_coo, True)
    """

    __slots__ = ()

    def __new__(cls, name: str) -> layout:
        return super().__new__(cls, name)

    def __repr__(self) -> str:
        return f"ebb.{self}"


strided: layout = layout("strided")
sparse_coo: layout = layout("sparse_coo")
sparse_csr: layout = layout("sparse_csr")
_LAYOUTS = {name: layout(name) for name in ("selected_rows", "opaque")}
_LAYOUTS |= {str(one): one for one in (strided, sparse_coo, sparse_csr)}


def _check_layout(call: str, own: Any, given: Any) -> None:
    if given is not None and given != own:
        raise _C.ValueError(f"{call}: layout must be {own!r}, got {given!r}")


def sparse_coo_tensor(
    indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: Any = False,
    is_coalesced: Any = False,
    check_invariants: Any = None,
) -> Tensor:
    """Return a sparse_coo tensor: ``values`` at ``indices``, zero elsewhere.

    A place may occur more than once; its values then add up, which ``coalesce()`` does.

    Args:
        indices: Integers of shape [sparse dims, stored], a column per value.
        values: Numbers of shape [stored, the sizes behind the sparse dims].
        size: The shape; just large enough if None.
        dtype: Of the values; their own if None.
        layout: ``ebb.sparse_coo``, or None, which stands for it.
        device: Where all of it goes; where ``values`` is if None.
        requires_grad: Whether the result is a leaf with a gradient; else gradients pass to
            ``values``.
        is_coalesced: Your word that every place is there once, in rising order.
        check_invariants: Changes nothing: indices are always checked.

    Raises:
        ShapeError: If the shapes do not go together.
        IndexError: If an index lies outside ``size``.

    Example:
        >>> ebb.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2)).to_dense()
        tensor([[0., 2.],
                [3., 0.]])
    """
    _check_layout("sparse_coo_tensor", sparse_coo, layout)
    indices, values = _parts("sparse_coo_tensor", dtype, device, values, indices)
    if size is None:
        size = _least_size("sparse_coo_tensor", indices, values)
    made = _C._ops.sparse_coo(indices, values, size, is_coalesced or False)
    return made.detach().requires_grad_() if requires_grad else made


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: Any = False,
    check_invariants: Any = None,
) -> Tensor:
    """Return a sparse_csr matrix; row i has values ``crow_indices[i]`` to ``crow_indices[i + 1]``.

    Args:
        crow_indices: Integers of shape [rows + 1], rising from 0 to the number of values.
        col_indices: The column of each value, rising within a row.
        values: Numbers of shape [stored].
        size: The shape; just large enough if None.
        dtype: Of the values; their own if None.
        layout: ``ebb.sparse_csr``, or None, which stands for it.
        device: Where all of it goes; where ``values`` is if None.
        requires_grad: Whether the result is a leaf with a gradient; else gradients pass to
            ``values``.
        check_invariants: Changes nothing: indices are always checked.

    Raises:
        ShapeError: If the shapes do not go together.
        ValueError: If rows or columns are not in order.

    Example:
        >>> ebb.sparse_csr_tensor([0, 1, 2], [1, 0], [2.0, 3.0], (2, 2)).to_dense()
        tensor([[0., 2.],
                [3., 0.]])
    """
    _check_layout("sparse_csr_tensor", sparse_csr, layout)
    crow_indices, col_indices, values = _parts(
        "sparse_csr_tensor", dtype, device, values, crow_indices, col_indices
    )
    if size is None:
        if crow_indices.numel() == 0:
            raise ebb.errors.ShapeError(
                "sparse_csr_tensor: crow_indices must have a number per row and one more, got none"
            )
        columns = int(col_indices.max().item()) + 1 if col_indices.numel() else 0
        size = (crow_indices.numel() - 1, columns)
    made = _C._ops.sparse_csr(crow_indices, col_indices, values, size)
    return made.detach().requires_grad_() if requires_grad else made


def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return ``mm(input, mat2)``, by the older name for a sparse ``input``.

    Example:
        >>> ebb.spmm(ebb.eye(2).to_sparse(), ebb.ones(2, 1))
        tensor([[1.],
                [1.]])
    """
    return _C.mm(input, mat2)


def selected_rows(
    rows: Any,
    values: Any,
    size: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: Any = False,
) -> Tensor:
    """Return a selected_rows tensor: zero but for ``rows``, the kind of an embedding's gradient.

    A row may occur more than once; its values then add up, which ``coalesce()`` does.

    Args:
        rows: Integers of shape [stored].
        values: Numbers of shape [stored, all sizes but the first].
        size: The shape.
        dtype, device, requires_grad: As for ``sparse_coo_tensor``.

    Raises:
        ShapeError: If the shapes do not go together.
        IndexError: If a row lies outside ``size``.

    Example:
        >>> rows = ebb.selected_rows(ebb.tensor([0, 2]), ebb.ones(2, 2), (3, 2))
        >>> rows.to_dense()
        tensor([[1., 1.],
                [0., 0.],
                [1., 1.]])
    """
    rows, values = _parts("selected_rows", dtype, device, values, rows)
    made = _C._ops.sparse_rows(rows, values, size)
    return made.detach().requires_grad_() if requires_grad else made


def _parts(op, dtype, device, values, *indices):
    """Return indices and values as tensors on one device.

    Indices are copied, so that what is written to the caller's later does not reach the tensor.
    """
    values = values if isinstance(values, Tensor) else ebb.tensor(values)
    if dtype is not None:
        values = values.to(dtype)
    if device is not None:
        values = values.to(device)
    made = []
    for given in indices:
        index = given if isinstance(given, Tensor) else ebb.tensor(given, dtype=ebb.int64)
        if index.dtype not in (ebb.int32, ebb.int64):
            raise ebb.errors.DTypeError(
                f"{op}: needs int32 or int64 indices, got {index.dtype.name}"
            )
        made.append(index.detach().to(values.device, ebb.int64, copy=True))
    return *made, values


def _least_size(op, indices, values):
    if indices.ndim != 2 or values.ndim < 1:
        raise ebb.errors.ShapeError(
            f"{op}: needs indices of 2 dims and values of at least 1, "
            f"got shapes {list(indices.shape)} and {list(values.shape)}"
        )
    if indices.numel() == 0:
        return (0,) * indices.shape[0] + tuple(values.shape[1:])
    return tuple((indices.amax(1) + 1).tolist()) + tuple(values.shape[1:])


def _rows(self):
    """The rows that a selected_rows tensor stores, in the order of its values."""
    return _C._ops.rows(self)


def _layout(self):
    """How elements are stored: ``ebb.strided``, ``ebb.sparse_coo``, ..."""
    return _LAYOUTS[self._layout]


def _is_coalesced(self):
    """Return whether a sparse tensor is known to store every place once, in rising order.

    Example:
        >>> x = ebb.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,))
        >>> x.is_coalesced(), x.coalesce().is_coalesced()
        (False, True)
    """
    return self._is_coalesced


def rebuild(cls, kind, parts, values, size, is_coalesced, requires_grad, attributes):
    """Make a sparse tensor again from what ``reduced()`` gave."""
    if kind == "sparse_csr":
        made = _C._ops.sparse_csr(*parts, values, size)
    elif kind == "sparse_coo":
        made = _C._ops.sparse_coo(*parts, values, size, is_coalesced)
    else:
        made = _C._ops.sparse_rows(*parts, values, size, is_coalesced)
    tensor = Tensor._make_subclass(cls, made, requires_grad)
    tensor.__dict__.update(attributes)
    return tensor


def reduced(tensor):
    """Return what pickles a sparse tensor; history is left behind."""
    plain = tensor.detach()
    kind = tensor._layout
    if kind == "sparse_csr":
        parts = (plain.crow_indices(), plain.col_indices())
    else:
        parts = (_C._ops.stored_indices(plain),)
    return rebuild, (
        type(tensor), kind, parts, _C._ops.stored_values(plain), tuple(tensor.shape),
        tensor._is_coalesced, tensor.requires_grad, dict(tensor.__dict__),
    )  # fmt: skip


Tensor.layout = property(_layout)
Tensor.rows = property(_rows)
Tensor.is_coalesced = _is_coalesced
