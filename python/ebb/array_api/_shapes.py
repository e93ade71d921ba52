# python/ebb/array_api/_shapes.py -- shapes, joining, indexing and products of matrices.
"""Functions that move elements, and products."""

from __future__ import annotations

from typing import Any

import ebb
from ebb import _C
from ebb._C import Tensor


def broadcast_arrays(*arrays: Any) -> list[Tensor]:
    """Return the arrays in their common shape.

    Example:
        >>> from ebb import array_api as xp
        >>> [tuple(one.shape) for one in xp.broadcast_arrays(xp.ones((2, 1)), xp.ones(3))]
        [(2, 3), (2, 3)]
    """
    return list(ebb.broadcast_tensors(*arrays))


def broadcast_to(x: Any, /, shape: Any) -> Tensor:
    """Return an array stretched to a shape.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.broadcast_to(xp.asarray([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]])
    """
    return ebb.broadcast_to(x, shape)


def concat(arrays: Any, /, *, axis: Any = 0) -> Tensor:
    """Return arrays joined along an axis, or one after the other if it is None.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.concat([xp.asarray([1]), xp.asarray([2, 3])])
        tensor([1, 2, 3])
    """
    if axis is None:
        return ebb.cat([one.reshape(-1) for one in arrays])
    return ebb.cat(list(arrays), axis)


def expand_dims(x: Any, /, *, axis: Any = 0) -> Tensor:
    """Return a view with a new axis of size 1.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.expand_dims(xp.asarray([1, 2]), axis=1)
        tensor([[1],
                [2]])
    """
    return ebb.unsqueeze(x, axis)


def flip(x: Any, /, *, axis: Any = None) -> Tensor:
    """Return the elements in the reverse order along axes.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.flip(xp.asarray([3.0, 1.0, 2.0]))
        tensor([2., 1., 3.])
    """
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return ebb.flip(x, list(axes))


def moveaxis(x: Any, source: Any, destination: Any, /) -> Tensor:
    """Return a view with axes at other places.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.moveaxis(xp.ones((2, 3, 4)), 0, -1).shape
        ebb.Size([3, 4, 2])
    """
    return ebb.movedim(x, source, destination)


def permute_dims(x: Any, /, axes: Any) -> Tensor:
    """Return a view with the axes in another order.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.permute_dims(xp.ones((2, 3, 4)), (2, 0, 1)).shape
        ebb.Size([4, 2, 3])
    """
    return ebb.permute(x, axes)


def repeat(x: Any, repeats: Any, /, *, axis: Any = None) -> Tensor:
    """Return each element several times in a row.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.repeat(xp.asarray([1, 2]), 2)
        tensor([1, 1, 2, 2])
    """
    return ebb.repeat_interleave(x, repeats, axis)


def reshape(x: Any, /, shape: Any, *, copy: Any = None) -> Tensor:
    """Return the elements in another shape.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.reshape(xp.arange(4), (2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
    if copy is False:
        return x.view(shape)
    return x.clone().reshape(shape) if copy else ebb.reshape(x, shape)


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Tensor:
    """Return the elements moved on along axes, those at the end to the beginning.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.roll(xp.asarray([1, 2, 3]), 1)
        tensor([3, 1, 2])
    """
    listed = shift if isinstance(shift, tuple) else (shift,)
    if axis is None:
        return ebb.roll(x, list(listed))
    axes = axis if isinstance(axis, tuple) else (axis,) * len(listed)
    return ebb.roll(x, list(listed * (len(axes) // len(listed))), list(axes))


def squeeze(x: Any, /, axis: Any) -> Tensor:
    """Return a view without axes of size 1.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.squeeze(xp.ones((1, 3)), 0)
        tensor([1., 1., 1.])
    """
    axes = axis if isinstance(axis, tuple) else (axis,)
    for one in axes:
        if x.shape[one] != 1:
            raise _C.ValueError(f"squeeze: needs axes of size 1, got {x.shape[one]} at {one}")
    return ebb.squeeze(x, list(axes)) if axes else x


def stack(arrays: Any, /, *, axis: Any = 0) -> Tensor:
    """Return arrays joined along a new axis.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.stack([xp.asarray([1, 2]), xp.asarray([3, 4])], axis=1)
        tensor([[1, 3],
                [2, 4]])
    """
    return ebb.stack(list(arrays), axis)


def tile(x: Any, repetitions: Any, /) -> Tensor:
    """Return the array several times beside itself.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.tile(xp.asarray([1, 2]), (2,))
        tensor([1, 2, 1, 2])
    """
    return ebb.tile(x, repetitions)


def unstack(x: Any, /, *, axis: Any = 0) -> tuple[Tensor, ...]:
    """Return the parts along an axis, without it.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.unstack(xp.asarray([[1, 2], [3, 4]]))
        (tensor([1, 2]), tensor([3, 4]))
    """
    return tuple(ebb.unbind(x, axis))


def take(x: Any, indices: Any, /, *, axis: Any = None) -> Tensor:
    """Return the parts at indices along an axis.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.take(xp.asarray([3.0, 1.0, 2.0]), xp.asarray([2, -3]))
        tensor([2., 3.])
    """
    if axis is None and x.ndim != 1:
        raise _C.ValueError(f"take: needs an axis for an array of {x.ndim} dims, got None")
    place = 0 if axis is None else axis
    return ebb.index_select(x, place, ebb.where(indices < 0, indices + x.shape[place], indices))


def take_along_axis(x: Any, indices: Any, /, *, axis: Any = -1) -> Tensor:
    """Return elements at indices of their own along an axis.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.take_along_axis(xp.asarray([[3, 4], [5, 6]]), xp.asarray([[1], [0]]))
        tensor([[4],
                [5]])
    """
    positive = ebb.where(indices < 0, indices + x.shape[axis], indices)
    return ebb.take_along_dim(x, positive, axis)


def matmul(x1: Any, x2: Any, /) -> Tensor:
    """Return products of matrices.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.matmul(xp.ones((2, 3)), xp.ones((3, 1)))
        tensor([[3.],
                [3.]])
    """
    return ebb.matmul(x1, x2)


def matrix_transpose(x: Any, /) -> Tensor:
    """Return a view with the last two axes exchanged.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.matrix_transpose(xp.ones((4, 2, 3))).shape
        ebb.Size([4, 3, 2])
    """
    return ebb.transpose(x, -2, -1)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Tensor:
    """Return sums of products over axes.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.tensordot(xp.ones((2, 3)), xp.ones((3, 2)), axes=1)
        tensor([[3., 3.],
                [3., 3.]])
    """
    return ebb.tensordot(x1, x2, axes)


def vecdot(x1: Any, x2: Any, /, *, axis: Any = -1) -> Tensor:
    """Return inner products along an axis.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.vecdot(xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0]))
        tensor(11.)
    """
    return ebb.linalg.vecdot(x1, x2, dim=axis)


__all__ = [
    *("broadcast_arrays", "broadcast_to", "concat", "expand_dims", "flip", "matmul"),
    *("matrix_transpose", "moveaxis", "permute_dims", "repeat", "reshape", "roll", "squeeze"),
    *("stack", "take", "take_along_axis", "tensordot", "tile", "unstack", "vecdot"),
]
