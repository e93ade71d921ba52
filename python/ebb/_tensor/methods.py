# python/ebb/_tensor/methods.py -- methods of Tensor that need no speed, added to the class.
#
# The class itself is python/src/tensor/*.cpp; ops are generated. What is here runs once per copy,
# pickle or print, not once per op.
"""Copying, pickling, formatting and tensors like a given one."""

import sys

import ebb
from ebb._base.arguments import spelled
from ebb._C import Tensor
from ebb._tensor.formats import check_leaf_options, pins_if_asked, sizes_given
from ebb._tensor.sparse import reduced


def _reversed(self):
    """Return the tensor with its first dim from the back."""
    return self.flip(0) if self.ndim else self


def _deepcopy(self, memo):
    """Copy a leaf with its gradient and attributes."""
    if id(self) in memo:
        return memo[id(self)]
    if getattr(self, "_is_made_anew", False):  # by a hook, before each call of its module
        memo[id(self)] = self.detach().clone()
        return memo[id(self)]
    if not self.is_leaf:
        raise ebb.AutogradError(
            f"deepcopy: needs a leaf, got a tensor made by {self.grad_fn.name()}\n"
            "hint: copy tensor.detach()"
        )
    import copy

    values = self.detach().clone()
    if self.layout == "strided" and not self.is_contiguous():  # weights in channels_last stay so
        values = self.detach().clone(memory_format="preserve_format")
    copied = Tensor._make_subclass(type(self), values, self.requires_grad)
    memo[id(self)] = copied
    if self.grad_dtype is not self.dtype:
        copied.grad_dtype = self.grad_dtype
    if self.grad is not None:
        # One with a history (create_graph=True) is copied as a value.
        grad = self.grad if self.grad.is_leaf else self.grad.detach()
        copied.grad = copy.deepcopy(grad, memo)
    copied.name = self.name
    for name, value in self.__dict__.items():
        setattr(copied, name, copy.deepcopy(value, memo))
    return copied


def _rebuild(cls, array, dtype, requires_grad, attributes, device="cpu", name=None):
    """Make a tensor again from what __reduce_ex__() gave."""
    data = ebb.tensor(array, dtype=dtype, device=device)
    tensor = Tensor._make_subclass(cls, data, requires_grad)
    tensor.__dict__.update(attributes)
    tensor.name = name
    return tensor


def _rebuild_meta(cls, size, stride, dtype, requires_grad, attributes, name):
    """Make a tensor on meta again."""
    data = ebb.empty_strided(size, stride, dtype=dtype, device="meta")
    tensor = Tensor._make_subclass(cls, data, requires_grad)
    tensor.__dict__.update(attributes)
    tensor.name = name
    return tensor


def _reduce_ex(self, protocol):
    """Pickle values, dtype, requires_grad, attributes, device and name; history is left behind."""
    del protocol
    if self.is_meta:
        geometry = (type(self), tuple(self.shape), self.stride(), self.dtype)
        return _rebuild_meta, (*geometry, self.requires_grad, dict(self.__dict__), self.name)
    if not self.is_dense:
        return reduced(self)
    plain = self.detach().cpu()
    dtype = plain.dtype
    array = (plain.float() if dtype is ebb.bfloat16 else plain).numpy()
    state = (type(self), array, dtype, self.requires_grad, dict(self.__dict__))
    if self.name is not None:
        return _rebuild, (*state, str(self.device), self.name)
    return _rebuild, state if self.is_cpu else (*state, str(self.device))


def _format(self, spec):
    """Format a 0-d tensor as its number."""
    if self.ndim == 0 and spec:
        return format(self.item(), spec)
    return object.__format__(self, spec)


@pins_if_asked
def _new_tensor(
    self, data, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False
):
    """Return a new tensor with the values of ``data`` and, unless given, this dtype and device.

    >>> ebb.ones(1, dtype=ebb.int64).new_tensor([1, 2])
    tensor([1, 2])
    """
    check_leaf_options("new_tensor", layout, pin_memory)
    return ebb.tensor(data, dtype or self.dtype, device or self.device, requires_grad)


def _new_like(create):
    name = f"new_{create.__name__}"

    @pins_if_asked
    def method(
        self,
        *sizes,
        size=None,
        dtype=None,
        device=None,
        requires_grad=False,
        layout=None,
        pin_memory=False,
    ):
        check_leaf_options(name, layout, pin_memory)
        place = device or self.device
        shape = sizes_given(name, sizes, size)
        return create(*shape, dtype=dtype or self.dtype, device=place, requires_grad=requires_grad)

    method.__name__ = name
    method.__doc__ = (
        f"Like ebb.{create.__name__}(), in this tensor's dtype and device unless given.\n\n"
        f">>> ebb.ones(1, dtype=ebb.int64).{name}(2).dtype\nebb.int64\n"
    )
    return method


@pins_if_asked
def _new_full(
    self,
    size,
    fill_value,
    *,
    dtype=None,
    device=None,
    requires_grad=False,
    layout=None,
    pin_memory=False,
):
    """Like ebb.full(), in this tensor's dtype and device unless given.

    >>> ebb.ones(1).new_full((2,), 3)
    tensor([3., 3.])
    """
    check_leaf_options("new_full", layout, pin_memory)
    place = device or self.device
    return ebb.full(
        size, fill_value, dtype=dtype or self.dtype, device=place, requires_grad=requires_grad
    )


def _complex(self):
    """The only element as a complex."""
    return complex(self.item())


@spelled(s="stream")
@spelled(s="stream")
def _record_stream(self, stream):
    """Say that work on ``stream`` uses this memory, so that it is not given away before.

    Example:
        >>> x = ebb.ones(2)
        >>> x.record_stream(ebb.Stream("cpu"))
    """
    if not isinstance(stream, ebb.Stream):
        raise ebb.errors.DTypeError(f"record_stream: needs a Stream, got {type(stream).__name__}")
    if stream.device != self.device:
        raise ebb.errors.ValueError(
            f"record_stream: needs a stream of {self.device}, got one of {stream.device}"
        )
    self._record_stream(stream.id)


@classmethod
def _init_subclass(cls, **kwargs):
    """Let a class that has the protocol take part in everything it inherits."""
    super(Tensor, cls).__init_subclass__(**kwargs)
    none = ebb._C._disabled_override
    if cls.__ebb_function__ is none and cls.__torch_function__ is none:
        return  # as of Parameter, which is made while the package is imported
    from ebb import overrides

    overrides.note_class(cls)


def _part(take, doc):
    """Make a property of a view of the real or imaginary parts, to which one can assign."""

    def assign(self, value):
        part = take(self)
        if isinstance(value, Tensor):
            part.copy_(value)
        else:
            part.fill_(value)

    return property(take, assign, doc=doc)


@classmethod
def _ebb_function(cls, func, types, args=(), kwargs=None):
    """Make the call, as if no class took part, and give the tensors among its results this class.

    For ``super().__ebb_function__(...)``; see docs/custom_functions.md.
    """
    from ebb import overrides

    return overrides.default_function(cls, func, types, args, kwargs)


def _is_persistable(self):
    """Whether it outlives a step: True of parameters, False of others, unless it was set.

    A note for programs that come from Paddle; ebb keeps what modules and the program hold.
    """
    return getattr(self, "_persistable", False)


def _set_persistable(self, value):
    if not isinstance(value, bool):
        raise ebb.DTypeError(f"persistable: needs a bool, got {type(value).__name__}")
    self._persistable = value


def _get_device(self):
    """Return the index of the device, -1 for the CPU.

    Example:
        >>> ebb.ones(1).get_device()
        -1
    """
    return -1 if self.is_cpu else self.device.index or 0


def _is_signed(self):
    """Return whether the dtype has negative numbers.

    Example:
        >>> ebb.ones(1).is_signed(), ebb.ones(1, dtype=ebb.uint8).is_signed()
        (True, False)
    """
    return self.dtype.is_signed


def _is_conj(self):
    """Return False: conjugates are computed, never put off.

    Example:
        >>> ebb.ones(1, dtype=ebb.complex64).conj().is_conj()
        False
    """
    return False


def _is_neg(self):
    """Return False: negatives are computed, never put off.

    Example:
        >>> (-ebb.ones(1)).is_neg()
        False
    """
    return False


def _is_shared(self):
    """Return whether processes share this tensor's memory.

    Example:
        >>> x = ebb.ones(2)
        >>> x.is_shared(), x.share_memory_().is_shared()
        (False, True)
    """
    sharing = sys.modules.get("ebb._tensor.sharing")  # before its import nothing is shared
    return sharing is not None and sharing.is_shared(self)


def _share_memory(self):
    """Move the values, in place, into memory that processes share; return the tensor.

    Processes forked later, and those that get the tensor as an argument or through a queue, then
    see each other's writes. The gradient is left where it is.

    Example:
        >>> x = ebb.ones(2)
        >>> x.share_memory_()
        tensor([1., 1.])
        >>> x.is_shared()
        True
    """
    from ebb._tensor import sharing

    sharing.share(self)
    return self


def _resolve_conj(self):
    """Return the tensor itself: conjugates are computed, never put off.

    Example:
        >>> x = ebb.ones(1, dtype=ebb.complex64).conj()
        >>> x.resolve_conj() is x
        True
    """
    return self


def _resolve_neg(self):
    """Return the tensor itself: negatives are computed, never put off.

    Example:
        >>> x = -ebb.ones(1)
        >>> x.resolve_neg() is x
        True
    """
    return self


def _dim_order(self, *, ambiguity_check=False):
    """Return the dims as they lie in memory, the one with the largest stride first.

    Args:
        ambiguity_check: Refuse a tensor with more than one such order: some sizes are 1, or
            elements share memory.

    Example:
        >>> x = ebb.ones(2, 3)
        >>> x.dim_order(), x.t().dim_order()
        ((0, 1), (1, 0))
    """
    strides = self.stride()
    if ambiguity_check:
        places = [stride for size, stride in zip(self.shape, strides, strict=True) if size != 1]
        if self.numel() < 2 or len(places) < self.ndim or len(set(places)) < self.ndim:
            raise ebb.errors.ValueError(
                f"dim_order: needs one order of dims, got {list(self.shape)} with strides "
                f"{list(strides)}"
            )
    return tuple(sorted(range(self.ndim), key=lambda dim: -strides[dim]))


def _pin_memory(self, device=None):
    """Return the elements in memory that devices copy from while the program goes on.

    ``to(device, non_blocking=True)`` then only queues the copy: do not write to the tensor before
    it is done. Returns the tensor itself if it is pinned, or no device has such memory.

    Args:
        device: Whose copies it is for; by default this thread's default device, else CUDA's, else
            the first that has pinned memory.
    Raises:
        ValueError: If the tensor is not on the CPU.
        MemoryError: If there is not enough of it.
    Example:
        >>> x = ebb.ones(2).pin_memory()
        >>> x.device, x.tolist()
        (device(type='cpu'), [1.0, 1.0])
    """
    return ebb._C._pin_memory(self, device)


def _is_pinned(self, device=None):
    """Return whether the memory is that of pin_memory(), for this device if one is given.

    Example:
        >>> ebb.ones(1).is_pinned()
        False
    """
    return ebb._C._is_pinned(self, device)


def _is_distributed(self):
    """Return False: a tensor is on one device.

    Example:
        >>> ebb.ones(2).is_distributed()
        False
    """
    return False


def _is_same_size(self, other):
    """Return whether ``other`` has the same shape.

    Example:
        >>> ebb.ones(2).is_same_size(ebb.ones(3))
        False
    """
    return self.shape == other.shape


def _sparse_dim(self):
    """Return how many dims a sparse tensor has indices for; 0 for a strided one.

    Example:
        >>> ebb.eye(2).to_sparse().sparse_dim()
        2
    """
    return self.indices().shape[0] if self.layout == ebb.sparse_coo else 0 if self.is_dense else 2


def _dense_dim(self):
    """Return how many dims the stored elements of a sparse tensor have.

    Example:
        >>> ebb.eye(2).to_sparse(1).dense_dim()
        1
    """
    return self.ndim - self.sparse_dim()


def _const_data_ptr(self):
    """Return data_ptr(): memory is never copied at the first write.

    Example:
        >>> x = ebb.ones(2)
        >>> x.const_data_ptr() == x.data_ptr()
        True
    """
    return self.data_ptr()


def _cfloat(self, *, memory_format=None):
    """Return the tensor as complex64.

    Example:
        >>> ebb.ones(1).cfloat()
        tensor([1.+0.j])
    """
    return self.to(ebb.complex64, memory_format=memory_format)


def _cdouble(self, *, memory_format=None):
    """Return the tensor as complex128.

    Example:
        >>> ebb.ones(1).cdouble()
        tensor([1.+0.j], dtype=ebb.complex128)
    """
    return self.to(ebb.complex128, memory_format=memory_format)


Tensor.get_device = _get_device
Tensor.is_signed = _is_signed
Tensor.is_conj = _is_conj
Tensor.is_neg = _is_neg
Tensor.is_shared = _is_shared
Tensor.share_memory_ = _share_memory
Tensor.resolve_conj = _resolve_conj
Tensor.resolve_neg = _resolve_neg
Tensor.dim_order = _dim_order
Tensor.is_distributed = _is_distributed
Tensor.is_same_size = _is_same_size
Tensor.sparse_dim = _sparse_dim
Tensor.dense_dim = _dense_dim
Tensor.const_data_ptr = _const_data_ptr
Tensor.pin_memory = _pin_memory
Tensor.is_pinned = _is_pinned
Tensor.cfloat = _cfloat
Tensor.cdouble = _cdouble
Tensor.__ebb_function__ = _ebb_function
Tensor.__torch_function__ = _ebb_function
Tensor.__init_subclass__ = _init_subclass
Tensor.record_stream = _record_stream
Tensor.__array_priority__ = 1000  # so that NumPy lets Tensor's operators go first
Tensor.__deepcopy__ = _deepcopy
Tensor.__reversed__ = _reversed
Tensor.__reduce_ex__ = _reduce_ex
Tensor.__format__ = _format
Tensor.__complex__ = _complex
Tensor.real = _part(lambda self: ebb.real(self), "The real parts, as a view; see ebb.real().")
Tensor.imag = _part(lambda self: ebb.imag(self), "The imaginary parts, as a view; see ebb.imag().")
Tensor.persistable = property(_is_persistable, _set_persistable, doc=_is_persistable.__doc__)
Tensor.new_tensor = _new_tensor
Tensor.new_empty = _new_like(ebb._C.empty)
Tensor.new_zeros = _new_like(ebb._C.zeros)
Tensor.new_ones = _new_like(ebb._C.ones)
Tensor.new_full = _new_full
