# python/ebb/_tensor/storages.py -- the memory of a tensor, as programs of PyTorch ask for it.
#
# Each of the two classes holds a tensor over that memory. All it answers goes through the whole
# memory as a tensor of one dim, _whole(): its dtype is that of the elements, uint8 of an
# UntypedStorage. Storages of other dtypes (float() and so on) are copies. Names of classes are
# PyTorch's, which programs compare with.
"""``UntypedStorage``, ``TypedStorage``, and one class for each dtype: ``FloatStorage``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from ebb import _C
from ebb._C import Tensor
from ebb._devices import cuda_device
from ebb._tensor.exchange import from_file, frombuffer
from ebb._tensor.legacy import NAMES

_MOST_SHOWN = 1000  # by repr(), as tensors are summarised from there on
# Methods that return a copy in another dtype.
_CASTS = {
    "bfloat16": "bfloat16", "bool": "bool", "byte": "uint8", "char": "int8",
    "complex_double": "complex128", "complex_float": "complex64", "double": "float64",
    "float": "float32", "half": "float16", "int": "int32", "long": "int64", "short": "int16",
}  # fmt: skip


class UntypedStorage:
    """The memory of a tensor, as bytes.

    >>> ebb.ones(3).untyped_storage().nbytes()
    12

    Args:
        data: A tensor; or a number of bytes, whatever they are, or the bytes in a sequence.
        device: Where it is, if ``data`` is no tensor; the CPU if None.
    """

    def __init__(self, data: Any = 0, *, device: Any = None):
        tensor = _given(type(self).__name__, data, _C.uint8, device)
        self._tensor = tensor.detach()
        self.device: _C.device = tensor.device

    def nbytes(self) -> int:
        """Return how many bytes the memory has, whatever part of it the tensor shows."""
        return self._tensor._storage_numel() * self._tensor.element_size()

    def size(self) -> int:
        """Return how many elements there are."""
        return self.nbytes() // self.element_size()

    def element_size(self) -> int:
        """Return the bytes of an element."""
        return 1

    def data_ptr(self) -> int:
        """Return the address of the first byte."""
        tensor = self._tensor
        return tensor.data_ptr() - tensor.storage_offset() * tensor.element_size()

    def tolist(self) -> list[Any]:
        """Return all elements."""
        return self._whole().tolist()

    def clone(self) -> UntypedStorage:
        """Return a copy."""
        return type(self)(self._whole().clone())

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """Return a copy on a device; this one if it is there."""
        if self._tensor.device == _C.device(device):
            return self
        return type(self)(self._whole().to(device, non_blocking=non_blocking))

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """Return the name of the class, "torch.FloatStorage" for one, or a copy in another dtype.

        Args:
            dtype: Such a class or its name.
            non_blocking: Taken for PyTorch's sake.
        """
        if dtype is None:
            return self._class_name()
        name = dtype.__name__ if isinstance(dtype, StorageKind) else str(dtype).partition(".")[2]
        kind = globals().get(name)
        if not isinstance(kind, StorageKind):
            raise _C.DTypeError(f"type: needs a class such as ebb.FloatStorage, got {dtype!r}")
        return TypedStorage(self._whole().to(kind.dtype, copy=True))

    def get_device(self) -> int:
        """Return the number of the device, -1 for the CPU."""
        return self._tensor.get_device()

    def share_memory_(self) -> UntypedStorage:
        """Refuse, unless other processes can share the memory already.

        Raises:
            ValueError: If they cannot: a tensor's memory is shared by ``Tensor.share_memory_()``.
        """
        if not self.is_shared():
            raise _C.ValueError(
                "share_memory_: needs memory that is shared, got a storage of other memory\n"
                "hint: call share_memory_() of the tensor"
            )
        return self

    def _new_shared(self, size: int, *, device: Any = None) -> UntypedStorage:
        """Return a storage of zeros that processes share; collate functions put batches there."""
        return type(self)(_C.zeros(size, dtype=self._whole().dtype).share_memory_())

    def _class_name(self) -> str:
        return "torch.storage.UntypedStorage"

    def untyped(self) -> UntypedStorage:
        """Return the same memory without the dtype."""
        return UntypedStorage(self._tensor)

    def cpu(self) -> UntypedStorage:
        """Return a copy on the CPU; this one if it is there."""
        return self if self._tensor.is_cpu else type(self)(self._whole().cpu())

    def copy_(self, source: UntypedStorage, non_blocking: bool | None = None) -> UntypedStorage:
        """Write the elements of a storage of the same size into this one, and return it."""
        if not isinstance(source, UntypedStorage) or source.size() != self.size():
            kind = type(source).__name__
            got = f"{source.size()} elements" if isinstance(source, UntypedStorage) else kind
            raise _C.ValueError(f"copy_: needs a storage of {self.size()} elements, got {got}")
        self._whole().copy_(source._whole(), non_blocking=bool(non_blocking))
        return self

    def fill_(self, value: float) -> UntypedStorage:
        """Write a number into all elements, and return this storage."""
        self._whole().fill_(value)
        return self

    def is_shared(self) -> bool:
        """Return whether other processes can share the memory, as ``Tensor.is_shared`` does."""
        return self._tensor.is_shared()

    def is_pinned(self) -> bool:
        """Return whether the memory is pinned, as ``Tensor.is_pinned`` does."""
        return self._tensor.is_pinned()

    is_sparse = is_sparse_csr = False  # memory has no layout
    filename: str | None = None  # of the file below it: ebb keeps none

    @classmethod
    def from_buffer(cls, buffer: Any, *, dtype: Any = None) -> UntypedStorage:
        """Return a copy of the bytes of a buffer; ``dtype`` is taken for PyTorch's sake."""
        del dtype
        return UntypedStorage(frombuffer(buffer, dtype=_C.uint8).clone())

    def new(self) -> UntypedStorage:
        """Return an empty storage on the same device."""
        return type(self)(_C.empty(0, dtype=self._whole().dtype, device=self.device))

    def resizable(self) -> bool:
        """Return False: a storage keeps its size."""
        return False

    def resize_(self, size: int) -> UntypedStorage:
        """Return this storage, if that is its size.

        Raises:
            NotImplementedError: If it is another: a storage keeps its size.
        """
        if size != self.size():
            raise _C.NotImplementedError(
                f"resize_: a storage keeps its size {self.size()}, got {size}\n"
                "hint: call resize_() of a tensor, or make another storage"
            )
        return self

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """Return a copy on CUDA's device, which a plug-in brings."""
        return self.to(device=cuda_device(device), non_blocking=non_blocking)

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is on CUDA's device."""
        return self._tensor.is_cuda

    def __len__(self) -> int:
        return self.size()

    def __getitem__(self, place: Any) -> Any:
        if not isinstance(place, slice):
            return self._whole()[place].item()
        if isinstance(self, TypedStorage):
            raise _C.NotImplementedError(
                f"__getitem__: a TypedStorage has no slices, got {place}\nhint: slice untyped()"
            )
        # Only the bytes that it shows: a storage of a part would be of the whole memory.
        return UntypedStorage(self._whole()[place].clone())

    def __setitem__(self, place: Any, value: float) -> None:
        self._whole()[place] = value

    def __repr__(self) -> str:
        shown = self.tolist() if self.size() <= _MOST_SHOWN else []
        lines = "".join(f" {one}\n" for one in shown)
        return f"{lines}[{type(self).__name__}(device={self.device}) of size {self.size()}]"

    def _whole(self) -> Tensor:
        """Return all elements, in the memory itself."""
        return self._elements(_C.uint8)

    def _elements(self, dtype: _C.dtype) -> Tensor:
        """Return the whole memory as elements of a dtype."""
        tensor = self._tensor
        return tensor.as_strided([tensor._storage_numel()], [1], 0).view(dtype)


class TypedStorage(UntypedStorage):
    """The memory of a tensor, as elements of its dtype.

    >>> ebb.ones(3).storage().tolist()
    [1.0, 1.0, 1.0]

    Args:
        data: A tensor; or a number of elements, whatever they are, or these in a sequence.
        wrap_storage: The memory, instead of ``data``.
        dtype: Of the elements, if ``data`` is no tensor; the default one if None.
        device: Where it is then; the CPU if None.
    """

    def __init__(
        self, data: Any = 0, *, wrap_storage: Any = None, dtype: Any = None, device: Any = None
    ):
        dtype = dtype or _C.get_default_dtype()
        if wrap_storage is not None:
            data = wrap_storage._elements(_C.uint8).view(dtype)
        self._tensor = _given(type(self).__name__, data, dtype, device).detach()
        self.device = self._tensor.device
        self.dtype: _C.dtype = self._tensor.dtype

    def element_size(self) -> int:
        """Return the bytes of an element."""
        return self._tensor.element_size()

    def pickle_storage_type(self) -> str:
        """Return the name of the class that PyTorch's files have for it, such as FloatStorage."""
        return self._class_name().rpartition(".")[2]

    def _class_name(self) -> str:
        name = f"{NAMES[self.dtype]}Storage"
        return f"torch.{name}" if name in globals() else "torch.storage.TypedStorage"

    def __repr__(self) -> str:
        text = super().__repr__()
        return text.replace("(device=", f"(dtype={self.dtype}, device=")

    def _whole(self) -> Tensor:
        return self._elements(self.dtype)

    def _elements(self, dtype: _C.dtype) -> Tensor:
        return super()._elements(self.dtype)


def _given(name: str, data: Any, dtype: _C.dtype, device: Any) -> Tensor:
    """Return a tensor over the memory that a constructor is asked for."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, int):
        return _C.empty(data, dtype=dtype, device=device or "cpu")
    if not isinstance(data, Sequence) or isinstance(data, str):
        raise _C.DTypeError(
            f"{name}: needs a number of elements, a sequence of them or a tensor, got "
            f"{type(data).__name__}"
        )
    return _C.tensor(data, dtype=dtype, device=device or "cpu")


class StorageKind(type):
    """The class of ``FloatStorage`` and its like: an instance is a storage of one dtype.

    >>> isinstance(ebb.ones(1).storage(), ebb.FloatStorage)
    True
    """

    dtype: _C.dtype

    def __instancecheck__(cls, one: object) -> bool:
        return isinstance(one, TypedStorage) and one.dtype is cls.dtype

    def __subclasscheck__(cls, kind: type) -> bool:
        return kind is cls

    def __call__(
        cls, data: Any = 0, *, wrap_storage: Any = None, device: Any = None
    ) -> TypedStorage:
        """Return a storage of so many elements, or of these."""
        return TypedStorage(data, wrap_storage=wrap_storage, dtype=cls.dtype, device=device)

    def from_buffer(
        cls, buffer: Any, byte_order: str = "native", offset: int = 0, count: int = -1
    ) -> TypedStorage:
        """Return a copy of the bytes of a buffer, in this machine's order.

        Args:
            byte_order: "native", or the order that this machine has, "little" or "big".
            offset: Where the elements begin, in bytes.
            count: How many there are; all that follow if -1.
        """
        if byte_order not in ("native", sys.byteorder):
            raise _C.ValueError(
                f"from_buffer: needs byte_order 'native' or {sys.byteorder!r}, got {byte_order!r}"
            )
        elements = frombuffer(buffer, dtype=cls.dtype, count=count, offset=offset)
        return TypedStorage(elements.clone())

    def from_file(cls, filename: Any, shared: bool = False, size: int = 0) -> TypedStorage:
        """Return the bytes of a file, as ``ebb.from_file`` does."""
        return TypedStorage(from_file(filename, shared, size, dtype=cls.dtype))


def _new_kind(name: str, dtype: _C.dtype) -> StorageKind:
    doc = (
        f"The storages of {dtype.name}: ``{name}Storage(3)`` has any elements, "
        f"``{name}Storage([1, 2])`` these.\n\n"
        f">>> ebb.{name}Storage([1, 0]).type()\n'torch.{name}Storage'\n"
    )
    return StorageKind(f"{name}Storage", (), {"dtype": dtype, "__doc__": doc, "__module__": "ebb"})


FloatStorage: StorageKind = _new_kind("Float", _C.float32)
DoubleStorage: StorageKind = _new_kind("Double", _C.float64)
HalfStorage: StorageKind = _new_kind("Half", _C.float16)
BFloat16Storage: StorageKind = _new_kind("BFloat16", _C.bfloat16)
ByteStorage: StorageKind = _new_kind("Byte", _C.uint8)
CharStorage: StorageKind = _new_kind("Char", _C.int8)
ShortStorage: StorageKind = _new_kind("Short", _C.int16)
IntStorage: StorageKind = _new_kind("Int", _C.int32)
LongStorage: StorageKind = _new_kind("Long", _C.int64)
BoolStorage: StorageKind = _new_kind("Bool", _C.bool)
ComplexFloatStorage: StorageKind = _new_kind("ComplexFloat", _C.complex64)
ComplexDoubleStorage: StorageKind = _new_kind("ComplexDouble", _C.complex128)


def _cast(name: str, dtype: _C.dtype) -> Callable[[UntypedStorage], TypedStorage]:
    def cast(self: UntypedStorage) -> TypedStorage:
        return TypedStorage(self._whole().to(dtype, copy=True))

    cast.__name__ = name
    cast.__qualname__ = f"UntypedStorage.{name}"
    cast.__doc__ = f"Return a copy of the elements in {dtype.name}."
    return cast


for _name, _dtype in _CASTS.items():
    setattr(UntypedStorage, _name, _cast(_name, getattr(_C, _dtype)))


def is_storage(obj: object) -> bool:
    """Return whether ``obj`` is the memory of a tensor.

    Example:
        >>> ebb.is_storage(ebb.ones(2))
        False
    """
    return isinstance(obj, UntypedStorage)


def _storage(self):
    """Return the memory, as elements; see TypedStorage.

    Example:
        >>> x = ebb.arange(6.0).reshape(2, 3)
        >>> len(x[1].storage()), x[1].storage()[0]
        (6, 0.0)
    """
    return TypedStorage(self)


def _untyped_storage(self):
    """Return the memory, as bytes; see UntypedStorage.

    Example:
        >>> ebb.ones(6).untyped_storage().nbytes()
        24
    """
    return UntypedStorage(self)


Tensor.storage = _storage
Tensor._typed_storage = _storage  # which programs that copied a collate function call
Tensor.untyped_storage = _untyped_storage
