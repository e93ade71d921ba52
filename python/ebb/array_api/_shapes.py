# python/ebb/array_api/_shapes.py -- shapes, joining, indexing and products of matrices.
"""Functions that move elements, and products."""

import ebb
from ebb import _C


def broadcast_arrays(*arrays):
    """Return the arrays in their common shape."""
    return list(ebb.broadcast_tensors(*arrays))


def broadcast_to(x, /, shape):
    """Return an array stretched to a shape."""
    return ebb.broadcast_to(x, shape)


def concat(arrays, /, *, axis=0):
    """Return arrays joined along an axis, or one after the other if it is None."""
    if axis is None:
        return ebb.cat([one.reshape(-1) for one in arrays])
    return ebb.cat(list(arrays), axis)


def expand_dims(x, /, *, axis=0):
    """Return a view with a new axis of size 1."""
    return ebb.unsqueeze(x, axis)


def flip(x, /, *, axis=None):
    """Return the elements in the reverse order along axes."""
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return ebb.flip(x, list(axes))


def moveaxis(x, source, destination, /):
    """Return a view with axes at other places."""
    return ebb.movedim(x, source, destination)


def permute_dims(x, /, axes):
    """Return a view with the axes in another order."""
    return ebb.permute(x, axes)


def repeat(x, repeats, /, *, axis=None):
    """Return each element several times in a row."""
    return ebb.repeat_interleave(x, repeats, axis)


def reshape(x, /, shape, *, copy=None):
    """Return the elements in another shape."""
    if copy is False:
        return x.view(shape)
    return x.clone().reshape(shape) if copy else ebb.reshape(x, shape)


def roll(x, /, shift, *, axis=None):
    """Return the elements moved on along axes, those at the end to the beginning."""
    listed = shift if isinstance(shift, tuple) else (shift,)
    if axis is None:
        return ebb.roll(x, list(listed))
    axes = axis if isinstance(axis, tuple) else (axis,) * len(listed)
    return ebb.roll(x, list(listed * (len(axes) // len(listed))), list(axes))


def squeeze(x, /, axis):
    """Return a view without axes of size 1."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    for one in axes:
        if x.shape[one] != 1:
            raise _C.ValueError(f"squeeze: needs axes of size 1, got {x.shape[one]} at {one}")
    return ebb.squeeze(x, list(axes)) if axes else x


def stack(arrays, /, *, axis=0):
    """Return arrays joined along a new axis."""
    return ebb.stack(list(arrays), axis)


def tile(x, repetitions, /):
    """Return the array several times beside itself."""
    return ebb.tile(x, repetitions)


def unstack(x, /, *, axis=0):
    """Return the parts along an axis, without it."""
    return tuple(ebb.unbind(x, axis))


def take(x, indices, /, *, axis=None):
    """Return the parts at indices along an axis."""
    if axis is None and x.ndim != 1:
        raise _C.ValueError(f"take: needs an axis for an array of {x.ndim} dims, got None")
    place = 0 if axis is None else axis
    return ebb.index_select(x, place, ebb.where(indices < 0, indices + x.shape[place], indices))


def take_along_axis(x, indices, /, *, axis=-1):
    """Return elements at indices of their own along an axis."""
    positive = ebb.where(indices < 0, indices + x.shape[axis], indices)
    return ebb.take_along_dim(x, positive, axis)


def matmul(x1, x2, /):
    """Return products of matrices."""
    return ebb.matmul(x1, x2)


def matrix_transpose(x, /):
    """Return a view with the last two axes exchanged."""
    return ebb.transpose(x, -2, -1)


def tensordot(x1, x2, /, *, axes=2):
    """Return sums of products over axes."""
    return ebb.tensordot(x1, x2, axes)


def vecdot(x1, x2, /, *, axis=-1):
    """Return inner products along an axis."""
    return ebb.linalg.vecdot(x1, x2, dim=axis)


__all__ = [
    *("broadcast_arrays", "broadcast_to", "concat", "expand_dims", "flip", "matmul"),
    *("matrix_transpose", "moveaxis", "permute_dims", "repeat", "reshape", "roll", "squeeze"),
    *("stack", "take", "take_along_axis", "tensordot", "tile", "unstack", "vecdot"),
]
