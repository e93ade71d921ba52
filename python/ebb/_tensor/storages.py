# python/ebb/_tensor/storages.py -- the memory of a tensor, as programs of PyTorch ask for it.
#
# Each of the two classes holds a tensor over that memory. All it answers goes through the whole
# memory as a tensor of one dim, _whole(): its dtype is that of the elements, uint8 of an
# UntypedStorage. Storages of other dtypes (float() and so on) are copies.
"""``UntypedStorage`` and ``TypedStorage``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ebb import _C
from ebb._C import Tensor

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
    """

    def __init__(self, tensor: Tensor):
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

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is on CUDA's device."""
        return self._tensor.is_cuda

    def __len__(self) -> int:
        return self.size()

    def __getitem__(self, place: int) -> Any:
        return self._whole()[place].item()

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
    """

    def __init__(self, tensor: Tensor):
        super().__init__(tensor)
        self.dtype: _C.dtype = tensor.dtype

    def element_size(self) -> int:
        """Return the bytes of an element."""
        return self._tensor.element_size()

    def untyped(self) -> UntypedStorage:
        """Return the same memory without the dtype."""
        return UntypedStorage(self._tensor)

    def __repr__(self) -> str:
        text = super().__repr__()
        return text.replace("(device=", f"(dtype={self.dtype}, device=")

    def _whole(self) -> Tensor:
        return self._elements(self.dtype)

    def _elements(self, dtype: _C.dtype) -> Tensor:
        return super()._elements(self.dtype)


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
Tensor.untyped_storage = _untyped_storage
