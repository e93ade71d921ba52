# python/ebb/nn/functional/basic.py -- linear, bilinear and grouped_mm of ebb.nn.functional.
"""Ops of the table, and products of groups of rows."""

from __future__ import annotations

from ebb import _C
from ebb._C import Tensor, _ops, linear

__all__ = ["bilinear", "grouped_mm", "linear"]

bilinear = _ops.bilinear


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: _C.dtype | None = None,
) -> Tensor:
    """Return the products of groups of matrices, whose rows or columns may lie side by side.

    Args:
        mat_a: [rows, inner] or [groups, rows, inner].
        mat_b: [inner, columns] or [groups, inner, columns].
        offs: Where each group ends, int32, of the dim that has no dim of groups: rows of ``mat_a``,
            columns of ``mat_b``, or, if both have 2 dims, what is summed over. None if both have 3.
        bias: None: there are no products of groups with a bias.
        out_dtype: Of the result; that of ``mat_a`` if None.

    Raises:
        ShapeError: If the matrices do not go together, or ``offs`` is missing
            where a matrix has 2 dims, or given where both have 3.

    Example:
        >>> a, b = ebb.ones(3, 2), ebb.stack([ebb.ones(2, 1), ebb.zeros(2, 1)])
        >>> ebb.nn.functional.grouped_mm(a, b, offs=ebb.tensor([1, 3], dtype=ebb.int32)).tolist()
        [[2.0], [0.0], [0.0]]
    """
    if bias is not None:
        raise _C.NotImplementedError("grouped_mm: needs bias None")
    dims = (mat_a.ndim, mat_b.ndim)
    if dims not in ((2, 2), (2, 3), (3, 2), (3, 3)) or (offs is None) != (dims == (3, 3)):
        raise _C.ShapeError(
            "grouped_mm: needs matrices, and offs unless both have a dim of groups, got "
            f"{list(mat_a.shape)}, {list(mat_b.shape)} and offs {'not ' * (offs is None)}given"
        )
    if offs is None:
        found = mat_a @ mat_b
    else:
        ends = offs.tolist()
        spans = list(zip([0, *ends[:-1]], ends, strict=True))
        if dims == (2, 3):
            found = _C.cat(
                [mat_a[low:high] @ b for (low, high), b in zip(spans, mat_b, strict=True)]
            )
        elif dims == (3, 2):
            parts = zip(spans, mat_a, strict=True)
            found = _C.cat([a @ mat_b[:, low:high] for (low, high), a in parts], 1)
        else:
            found = _C.stack([mat_a[:, low:high] @ mat_b[low:high] for low, high in spans])
    return found if out_dtype is None else found.to(out_dtype)
