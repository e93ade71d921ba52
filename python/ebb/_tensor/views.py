# python/ebb/_tensor/views.py -- methods that give a tensor another shape or other memory in place:
# unsqueeze_, t_, resize_, set_ and others; Tensor.unfold, Tensor.where; view_copy and the like.
#
# The view is made as by the form without underscore, and the object then becomes it
# (python/src/tensor/methods.cpp: become()). So nobody who holds the tensor as it was is disturbed:
# neither other views of it nor a graph that saved it.
"""Views in place."""

from __future__ import annotations

import math
from typing import Any

import ebb
from ebb._C import Tensor
from ebb._tensor.formats import sizes_given


def _become(self, name, view):
    """Make ``self`` what ``view`` makes of it, history included, and return it."""
    if self.requires_grad and self.is_leaf:
        raise ebb.AutogradError(
            f"{name}: a leaf that requires a gradient must not change its shape in place, got "
            f"shape {list(self.shape)}\nhint: use the name without the last underscore"
        )
    with ebb.enable_grad():  # what has a history keeps it
        after = view(self)
    if after.name is None and self.name is not None:
        after.name = self.name
    if self.retains_grad:
        after.retain_grad()
    return self._become(after)


def unsqueeze_(self, dim):
    """Put a size of 1 in at ``dim``; see ebb.unsqueeze().

    Example:
        >>> ebb.arange(2).unsqueeze_(0)
        tensor([[0, 1]])
    """
    return _become(self, "unsqueeze_", lambda x: x.unsqueeze(dim))


def squeeze_(self, dim=None, *dims):
    """Leave out sizes of 1: all, or those of ``dim``; see ebb.squeeze().

    Example:
        >>> ebb.ones(1, 2).squeeze_()
        tensor([1., 1.])
    """
    if dims:
        dim = (dim, *dims)
    return _become(self, "squeeze_", lambda x: x.squeeze() if dim is None else x.squeeze(dim))


def transpose_(self, dim0, dim1):
    """Exchange two dims; see ebb.transpose().

    Example:
        >>> ebb.ones(2, 3).transpose_(0, 1).shape
        ebb.Size([3, 2])
    """
    return _become(self, "transpose_", lambda x: x.transpose(dim0, dim1))


def swapaxes_(self, axis0, axis1):
    """Exchange two dims; see ebb.transpose().

    Example:
        >>> ebb.ones(2, 3).swapaxes_(0, 1).shape
        ebb.Size([3, 2])
    """
    return _become(self, "swapaxes_", lambda x: x.transpose(axis0, axis1))


def swapdims_(self, dim0, dim1):
    """Exchange two dims; see ebb.transpose().

    Example:
        >>> ebb.ones(2, 3).swapdims_(0, 1).shape
        ebb.Size([3, 2])
    """
    return _become(self, "swapdims_", lambda x: x.transpose(dim0, dim1))


def t_(self):
    """Transpose a matrix; see ebb.t().

    Example:
        >>> ebb.tensor([[1, 2], [3, 4]]).t_()
        tensor([[1, 3],
                [2, 4]])
    """
    return _become(self, "t_", lambda x: x.t())


def as_strided_(input: Any, size: Any, stride: Any, storage_offset: Any = None) -> Tensor:
    """Show other elements of the memory; see ebb.as_strided().

    Example:
        >>> ebb.as_strided_(ebb.arange(6.0), [2, 2], [3, 1])
        tensor([[0., 1.],
                [3., 4.]])
    """
    return _become(input, "as_strided_", lambda x: x.as_strided(size, stride, storage_offset))


def detach_(input: Any) -> Tensor:
    """Forget the history of ``input`` and return it; see Tensor.detach_().

    Example:
        >>> (ebb.ones(2, requires_grad=True) * 2).detach_().requires_grad
        False
    """
    return input.detach_()


def resize_(self, *sizes, size=None, memory_format=None):
    """Give the tensor another size, in row-major order, and return it.

    It keeps the elements that memory holds, in the order that they lie in. If it needs more memory
    it gets new memory; other tensors that share the old one keep that.

    Args:
        memory_format: ``contiguous_format``, which is what None stands for.

    Raises:
        AutogradError: If the tensor requires a gradient.
        ValueError: If memory_format asks for another order.
    Example:
        >>> ebb.arange(4).resize_(2, 2).tolist()
        [[0, 1], [2, 3]]
    """
    if self.requires_grad:
        raise ebb.AutogradError(
            "resize_: needs a tensor that requires no gradient, got one that does"
        )
    if memory_format not in (None, "contiguous_format"):
        raise ebb.errors.ValueError(
            f"resize_: memory_format must be contiguous_format, got {memory_format}\n"
            "hint: contiguous(memory_format=...) copies in another order"
        )
    given = sizes_given("resize_", sizes, size)
    is_sequence = len(given) == 1 and not isinstance(given[0], int)
    shape = tuple(given[0] if is_sequence else given)
    if self.shape == shape:
        return self
    with ebb.no_grad():
        held, offset = self._storage_numel(), self.storage_offset()
        count = math.prod(shape)
        whole = self.detach()
        if offset + count > held:
            memory = ebb.empty(offset + count, dtype=self.dtype, device=self.device)
            memory[:held] = whole.as_strided((held,), (1,), 0)
            whole = memory
        return self._become(whole.as_strided(shape, _row_major(shape), offset).detach())


def _row_major(shape):
    """Return the strides of elements in row-major order."""
    return [math.prod([max(size, 1) for size in shape[dim + 1 :]]) for dim in range(len(shape))]


def resize_as_(input: Any, the_template: Any, memory_format: Any = None) -> Tensor:
    """Give the tensor the size of another; see Tensor.resize_().

    Example:
        >>> ebb.resize_as_(ebb.zeros(1), ebb.ones(2, 3)).shape
        ebb.Size([2, 3])
    """
    return resize_(input, the_template.shape, memory_format=memory_format)


def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """Show the memory of ``source``, a tensor or a storage, or none at all; return the tensor.

    With a size and strides, it shows the elements that as_strided() would. A leaf that requires a
    gradient must keep its shape.

    Example:
        >>> x = ebb.zeros(1)
        >>> x.set_(ebb.arange(6.0), 1, (2,), (3,))
        tensor([1., 4.])
    """
    with ebb.no_grad():
        if source is None:
            source = ebb.empty(0, dtype=self.dtype, device=self.device)
        elif ebb.is_storage(source):
            source = source._elements(self.dtype)
        if source.dtype != self.dtype or source.device != self.device:
            raise ebb.DTypeError(
                f"set_: source needs dtype {self.dtype.name} and device {self.device}, "
                f"got {source.dtype.name} and {source.device}"
            )
        memory = source.detach()
        if size is not None:
            stride = _row_major(size) if stride is None else stride
            memory = memory.as_strided(size, stride, storage_offset).detach()
    if self.requires_grad:
        self.data = memory
        return self
    return self._become(memory)


def is_set_to(self, tensor):
    """Return whether two tensors show the same elements of the same memory.

    Example:
        >>> x = ebb.ones(4)
        >>> x.view(4).is_set_to(x), x.view(2, 2).is_set_to(x)
        (True, False)
    """
    return (
        self.dtype == tensor.dtype
        and self.data_ptr() == tensor.data_ptr()
        and self.shape == tensor.shape
        and self.stride() == tensor.stride()
    )


def unfold(self, dimension, size, step):
    """Return a view of all windows of ``size`` elements along a dim, one every ``step``.

    A new last dim holds the elements of each window. Windows may overlap: then their gradients add
    up.

    Example:
        >>> ebb.arange(5).unfold(0, 3, 1).tolist()
        [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    """
    return ebb._C._ops.unfold_dim(self, dimension, size, step)


def where(self, condition, other):
    """Return the elements where ``condition`` is true, and those of ``other`` elsewhere.

    Example:
        >>> x = ebb.tensor([1.0, -2.0])
        >>> x.where(x > 0, 0.0)
        tensor([1., 0.])
    """
    return ebb.where(condition, self, other)


for _method in (
    *(unsqueeze_, squeeze_, transpose_, swapaxes_, swapdims_, t_, as_strided_),
    *(resize_, resize_as_, set_, is_set_to, unfold, where),
):
    setattr(Tensor, _method.__name__, _method)


# What copies a view, and a call of it whose result its help shows.
_COPIED = {
    "alias_copy": (lambda input: input, "alias_copy(ebb.arange(2))"),
    "as_strided_copy": (Tensor.as_strided, "as_strided_copy(ebb.arange(4), (2,), (3,))"),
    "col_indices_copy": (Tensor.col_indices, "col_indices_copy(ebb.eye(2).to_sparse_csr())"),
    "crow_indices_copy": (Tensor.crow_indices, "crow_indices_copy(ebb.eye(2).to_sparse_csr())"),
    "detach_copy": (Tensor.detach, "detach_copy(ebb.arange(2))"),
    "diagonal_copy": (Tensor.diagonal, "diagonal_copy(ebb.eye(2))"),
    "expand_copy": (Tensor.expand, "expand_copy(ebb.arange(1), (2,))"),
    "indices_copy": (Tensor.indices, "indices_copy(ebb.ones(2).to_sparse())"),
    "narrow_copy": (Tensor.narrow, "narrow_copy(ebb.arange(4), 0, 1, 2)"),
    "permute_copy": (Tensor.permute, "permute_copy(ebb.eye(2), (1, 0))"),
    "select_copy": (Tensor.select, "select_copy(ebb.eye(2), 0, 1)"),
    "slice_copy": (ebb._C._ops.slice, "slice_copy(ebb.arange(4), 0, 1, 3)"),
    "split_copy": (Tensor.split, "split_copy(ebb.arange(3), 2)"),
    "split_with_sizes_copy": (Tensor.split, "split_with_sizes_copy(ebb.arange(3), [1, 2])"),
    "squeeze_copy": (Tensor.squeeze, "squeeze_copy(ebb.ones(2, 1))"),
    "t_copy": (Tensor.t, "t_copy(ebb.ones(2, 1))"),
    "transpose_copy": (Tensor.transpose, "transpose_copy(ebb.ones(2, 1), 0, 1)"),
    "unbind_copy": (Tensor.unbind, "unbind_copy(ebb.arange(2))"),
    "unfold_copy": (unfold, "unfold_copy(ebb.arange(3), 0, 2, 1)"),
    "unsqueeze_copy": (Tensor.unsqueeze, "unsqueeze_copy(ebb.arange(2), 0)"),
    "values_copy": (Tensor.values, "values_copy(ebb.eye(2).to_sparse_csr())"),
    "view_as_complex_copy": (ebb.view_as_complex, "view_as_complex_copy(ebb.ones(1, 2))"),
    "view_as_real_copy": (ebb.view_as_real, "view_as_real_copy(ebb.tensor([1 + 2j]))"),
    "view_copy": (Tensor.view, "view_copy(ebb.arange(2), (2, 1))"),
}


def _copying(name, view, call):
    """Return the function that copies what ``view`` shows."""

    def copy(input, *args, out=None, **kwargs):
        found = view(input, *args, **kwargs)
        if isinstance(found, Tensor):
            return found.clone() if out is None else ebb._C._copied_out(name, found, out)
        if out is None:
            return tuple(one.clone() for one in found)
        return tuple(
            ebb._C._copied_out(name, one, place) for one, place in zip(found, out, strict=True)
        )

    copy.__name__ = copy.__qualname__ = name
    copy.__module__ = "ebb"
    copy.__doc__ = (
        f"Return a copy of what ``{name.removesuffix('_copy')}`` shows as a view, written to\n"
        f"``out`` if that is given.\n\nExample:\n    >>> x = ebb.{call}\n"
    )
    return copy


copies = {name: _copying(name, *row) for name, row in _COPIED.items()}
Tensor.narrow_copy = copies["narrow_copy"]
