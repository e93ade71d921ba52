# python/ebb/_functions/arrange.py -- functions of tensors whose arguments no op signature can tell:
# einsum, tensordot, meshgrid, nonzero and others; and unique, which returns what was asked for.
"""Functions that sort their arguments out and then call one op."""

from __future__ import annotations

import builtins
import functools
import string
from typing import Any

import ebb
from ebb import _C
from ebb._C import Tensor
from ebb._functions.checks import check_tensor

_int = builtins.int


def _tensors(function, values):
    """Return the tensors of ``f(a, b)`` or ``f([a, b])`` as a list."""
    values = list(values[0]) if len(values) == 1 and isinstance(values[0], list | tuple) else values
    for value in values:
        if not isinstance(value, Tensor):
            raise ebb.DTypeError(f"{function}(): needs Tensors, got {type(value).__name__}")
    return list(values)


def einsum(equation: Any, *operands: Any) -> Tensor:
    """Return Einstein's sum of the operands, such as ``einsum("bij,bjk->bik", a, b)``.

    Each dim has a letter; dims of one letter run together and are summed if the output lacks it.
    "..." stands for any further dims. Of several operands, the pair whose product is smallest is
    multiplied first. Operands of several dtypes are promoted where nothing is summed, and refused
    elsewhere. Instead of an equation, each operand may be followed by its dims, numbers
    below 52 and ``...``, and the last of them by those of the output.

    Example:
        >>> ebb.einsum("ij,j->i", ebb.ones(2, 3), ebb.tensor([1.0, 2.0, 3.0]))
        tensor([6., 6.])
        >>> ebb.einsum(ebb.ones(2, 3), [0, 1], ebb.tensor([1.0, 2.0, 3.0]), [1], [0])
        tensor([6., 6.])
    """
    if isinstance(equation, Tensor) and operands and isinstance(operands[0], list | tuple):
        equation, operands = _by_numbers((equation, *operands))
    if not isinstance(equation, str):
        raise ebb.DTypeError(f"einsum(): needs an equation, got {type(equation).__name__}")
    tensors = _tensors("einsum", operands)
    if len({one.dtype for one in tensors}) > 1 and _sums_nothing(equation):
        dtype = functools.reduce(ebb.promote_types, (one.dtype for one in tensors))
        tensors = [one.to(dtype) for one in tensors]
    return _C._ops.einsum(tensors, equation)


def _sums_nothing(equation):
    """Return whether an equation only multiplies, as "i,j->ij": such operands may be mixed."""
    terms, arrow, out = equation.partition("->")
    letters = [one for one in terms if one.isalpha()]
    return set(letters) <= set(out) if arrow else len(letters) == len(set(letters))


def _by_numbers(given):
    """Return equation and operands of ``einsum(a, [0, 1], b, [1, 2], [0, 2])``."""
    operands, lists = given[0 : len(given) - 1 : 2], given[1::2]
    terms = ",".join(_letters(dims) for dims in lists)
    if len(given) % 2 == 1:
        terms += "->" + _letters(given[-1])
    return terms, operands


def _letters(dims):
    if not isinstance(dims, list | tuple):
        raise ebb.DTypeError(
            f"einsum(): an operand needs a list of its dims behind it, got {type(dims).__name__}"
        )
    for dim in dims:
        if dim is not ... and not (isinstance(dim, _int) and 0 <= dim < 52):
            raise _C.ValueError(f"einsum: dims need numbers from 0 to 51 or '...', got {dim!r}")
    return "".join("..." if dim is ... else string.ascii_letters[dim] for dim in dims)


def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Tensor:
    """Return the sum of products over dims of ``a`` and ``b``.

    Args:
        dims: How many of the last dims of ``a`` go with the first of ``b``; or a pair of lists.
        out: A tensor of the result's shape and dtype to write to.

    Example:
        >>> ebb.tensordot(ebb.ones(2, 3), ebb.ones(3, 4), dims=1)
        tensor([[3., 3., 3., 3.],
                [3., 3., 3., 3.]])
    """
    for name, given in (("a", a), ("b", b)):
        check_tensor("tensordot", name, given)
    if isinstance(dims, _int):
        if not 0 <= dims <= min(a.ndim, b.ndim):
            raise ebb._C.ValueError(
                f"tensordot: dims must be from 0 to {min(a.ndim, b.ndim)}, got {dims}"
            )
        dims = (list(range(a.ndim - dims, a.ndim)), list(range(dims)))
    first, second = dims
    found = _C._ops.tensordot(a, b, first, second)
    return found if out is None else _C._copied_out("tensordot", found, out)


def meshgrid(*tensors: Any, indexing: Any = "ij") -> tuple[Tensor, ...]:
    """Return coordinate grids of 1-d tensors, one dim for each.

    Args:
        indexing: "ij", or "xy" to exchange the first two dims; None stands for "ij".

    Example:
        >>> rows, columns = ebb.meshgrid(ebb.arange(2), ebb.arange(3), indexing="ij")
        >>> rows
        tensor([[0, 0, 0],
                [1, 1, 1]])
    """
    return _C._ops.meshgrid(_tensors("meshgrid", tensors), indexing or "ij")


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Return views of all tensors in the shape that they broadcast to.

    Example:
        >>> [tuple(one.shape) for one in ebb.broadcast_tensors(ebb.ones(3, 1), ebb.ones(4))]
        [(3, 4), (3, 4)]
    """
    return _C._ops.broadcast_tensors(_tensors("broadcast_tensors", tensors))


def chain_matmul(*matrices: Any, out: Any = None) -> Tensor:
    """Return the product of matrices in the cheapest order: linalg.multi_dot; of one, itself.

    Example:
        >>> ebb.chain_matmul(ebb.ones(2, 3), ebb.ones(3, 4), ebb.ones(4, 2)).shape
        ebb.Size([2, 2])
    """
    found = matrices[0] if len(matrices) == 1 else ebb.linalg.multi_dot(matrices)
    return found if out is None else _C._copied_out("chain_matmul", found, out)


def block_diag(*tensors: Any) -> Tensor:
    """Return matrices along the diagonal of one, zeros elsewhere.

    A vector is a row, a number one element; of no tensor, one row without columns.

    Example:
        >>> ebb.block_diag(ebb.ones(1, 2), ebb.tensor([[5.0]]))
        tensor([[1., 1., 0.],
                [0., 0., 5.]])
    """
    return _C._ops.block_diag(_tensors("block_diag", tensors) or [ebb.empty(1, 0)])


def cartesian_prod(*tensors: Any) -> Tensor:
    """Return all tuples of an element of each vector, as rows; the last changes fastest.

    Example:
        >>> ebb.cartesian_prod(ebb.tensor([1, 2]), ebb.tensor([3, 4]))
        tensor([[1, 3],
                [1, 4],
                [2, 3],
                [2, 4]])
    """
    return _C._ops.cartesian_prod(_tensors("cartesian_prod", tensors))


def _at_least(op, tensors):
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return getattr(_C._ops, op)(tensors[0])
    return tuple(getattr(_C._ops, op)(one) for one in _tensors(op, tensors))


def atleast_1d(*tensors: Any) -> Any:
    """Return the tensor, or a tuple of several, with a dim put in where one has none.

    Example:
        >>> ebb.atleast_1d(ebb.tensor(3.0))
        tensor([3.])
    """
    return _at_least("atleast_1d", tensors)


def atleast_2d(*tensors: Any) -> Any:
    """Return the tensor, or a tuple of several, with dims put in front until each has two.

    Example:
        >>> ebb.atleast_2d(ebb.tensor([1.0, 2.0]))
        tensor([[1., 2.]])
    """
    return _at_least("atleast_2d", tensors)


def atleast_3d(*tensors: Any) -> Any:
    """Return the tensor, or a tuple of several, each with at least three dims.

    [n] becomes [1, n, 1], [m, n] becomes [m, n, 1].

    Example:
        >>> ebb.atleast_3d(ebb.ones(2, 3)).shape
        ebb.Size([2, 3, 1])
    """
    return _at_least("atleast_3d", tensors)


def nonzero(input: Any, *, as_tuple: Any = False, out: Any = None) -> Any:
    """Return the indices of all elements that are not zero, one row each.

    Args:
        as_tuple: Return one tensor per dim instead, with which ``input`` can be indexed.
        out: A tensor of the result's shape and dtype to write to; not with ``as_tuple``.

    Example:
        >>> ebb.nonzero(ebb.tensor([0.0, 2.0, 3.0]))
        tensor([[1],
                [2]])
    """
    rows = _C._ops.nonzero(input)
    if out is not None:
        if as_tuple:
            raise ebb.errors.ValueError("nonzero: out is one tensor, so as_tuple must be False")
        return _C._copied_out("nonzero", rows, out)
    if not as_tuple:
        return rows
    return tuple(rows.unbind(1)) if input.ndim > 0 else (_C._ops.flatnonzero(input),)


Tensor.nonzero = nonzero


def _asked(found: tuple[Tensor, Tensor, Tensor], inverse: bool, counts: bool) -> Any:
    values = found[0]
    others = [one for one, wanted in zip(found[1:], (inverse, counts), strict=True) if wanted]
    return (values, *others) if others else values


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the different elements of ``input``, always in order; every NaN is one of its own.

    Args:
        sorted: Taken for PyTorch's sake.
        return_inverse: Return also which of them each element is, int64 in the shape of ``input``
            (with ``dim``: one for each slice).
        return_counts: Return also how often each occurs, int64.
        dim: Compare whole slices along this dim, in the order of their elements.

    Example:
        >>> ebb.unique(ebb.tensor([3, 1, 3]), return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
    """
    found = _C._ops.unique(input, return_inverse, return_counts, dim)
    return _asked(found, return_inverse, return_counts)


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return the first of each run of equal elements.

    Args:
        return_inverse: Return also to which run each element belongs, int64.
        return_counts: Return also how long each run is, int64.
        dim: Compare whole slices along this dim.

    Example:
        >>> ebb.unique_consecutive(ebb.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1])
    """
    found = _C._ops.unique_consecutive(input, return_inverse, return_counts, dim)
    return _asked(found, return_inverse, return_counts)


Tensor.unique = unique
Tensor.unique_consecutive = unique_consecutive
