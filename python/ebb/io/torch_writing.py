# python/ebb/io/torch_writing.py -- writes archives as PyTorch reads them.
#
# The object is pickled twice. The first time shows which tensors share memory, and how much of it
# they use; the second time says so. Tensors go under PyTorch's names, so that it makes its own.
"""``save``; ``ebb.save`` calls it."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict
from typing import Any

from ebb import _C
from ebb._tensor import sparse
from ebb.io.torch_names import DTYPES, STORAGES

_ALIGNMENT = 64  # of each member's bytes in the file, as PyTorch has it
_LOCAL_HEADER = 30
_ZIP64_EXTRA = 20


class _Name:
    """A name of another package, written as it is; such as of a function that is to be called."""

    def __init__(self, module: str, name: str):
        self.line = f"c{module}\n{name}\n".encode()

    def __call__(self) -> None:
        raise AssertionError("only named")


_REBUILD = _Name("torch._utils", "_rebuild_tensor_v2")
_REBUILD_OF_DTYPE = _Name("torch._utils", "_rebuild_tensor_v3")
_PARAMETER = _Name("torch._utils", "_rebuild_parameter")
_SPARSE = _Name("torch._utils", "_rebuild_sparse_tensor")
_LAYOUT = _Name("torch.serialization", "_get_layout")
_SIZE = _Name("torch", "Size")
_DEVICE = _Name("torch", "device")
_UNTYPED = _Name("torch.storage", "UntypedStorage")
_STORAGES = {dtype: _Name("torch", name) for name, dtype in STORAGES.items()}
_DTYPES = {dtype: _Name("torch", dtype.name) for dtype in DTYPES}


def save(obj: Any, file: Any, root: str) -> None:
    """Write an object to a file that is open for writing.

    Args:
        root: The folder in the archive.
    """
    storages = _Storages()
    try:
        _Pickler(io.BytesIO(), storages).dump(obj)
        text = io.BytesIO()
        _Pickler(text, storages).dump(obj)
    except RecursionError:
        raise _C.ValueError("save: needs an object nested less deeply, got one too deep") from None
    except pickle.PicklingError as error:
        raise _C.DTypeError(f"save: needs what can be pickled, got {error}") from None
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _add(archive, f"{root}/data.pkl", text.getvalue())
        _add(archive, f"{root}/byteorder", b"little")
        for number, storage in enumerate(storages.used):
            _add(archive, f"{root}/data/{number}", storage.content())
        _add(archive, f"{root}/version", b"3\n")


def _add(archive: zipfile.ZipFile, name: str, content: Any) -> None:
    # A fixed date: equal objects give equal files.
    entry = zipfile.ZipInfo(name)
    entry.file_size = len(content)
    start = archive.fp.tell() + _LOCAL_HEADER + len(name.encode())
    start += _ZIP64_EXTRA if len(content) * 1.05 > zipfile.ZIP64_LIMIT else 0
    padding = (-start - 4) % _ALIGNMENT
    entry.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
    with archive.open(entry, "w") as member:
        member.write(content)


class _Layout:
    """The name of a layout, which PyTorch looks up."""

    def __init__(self, name: str):
        self._name = name

    def __reduce__(self) -> Any:
        return _LAYOUT, (self._name,)


def _reduced_sparse(tensor: _C.Tensor) -> Any:
    _, kind, parts, values, size, is_coalesced, *_ = sparse.reduced(tensor)[1]
    known = () if kind == "sparse_csr" else (is_coalesced,)
    return _SPARSE, (_Layout(f"torch.{kind}"), (*parts, values, _C.Size(size), *known))


class _Storage:
    """Memory that tensors share."""

    def __init__(self, number: int, tensor: _C.Tensor):
        self.number = number
        self.dtype = tensor.dtype
        self.location = str(tensor.device)
        self.tensors: list[_C.Tensor] = []  # kept, so that no other memory gets its address
        self.first = self.end = 0

    def add(self, tensor: _C.Tensor) -> None:
        """Let it reach over a tensor."""
        first = tensor.storage_offset()
        sizes = zip(tensor.shape, tensor.stride(), strict=True)
        end = first + 1 + sum((size - 1) * step for size, step in sizes)
        if tensor.numel() > 0:
            is_new = self.first == self.end
            self.first = first if is_new else min(first, self.first)
            self.end = end if is_new else max(end, self.end)
        self.tensors.append(tensor)

    def content(self) -> memoryview:
        """Return its bytes."""
        if self.first == self.end:
            return memoryview(b"")
        tensor = next(one for one in self.tensors if one.numel() > 0)
        whole = tensor.as_strided([self.end - self.first], [1], self.first).cpu()
        if self.dtype is _C.bfloat16:
            array = (whole.float().numpy().view("u4") >> 16).astype("u2")
        else:
            array = whole.numpy()
        return memoryview(array.view("u1"))


class _Storages:
    """The memory of all tensors of an object."""

    def __init__(self) -> None:
        self.used: list[_Storage] = []
        self._known: dict[tuple[Any, ...], _Storage] = {}

    def of(self, tensor: _C.Tensor) -> _Storage:
        """Return the storage of a tensor."""
        start = tensor.data_ptr() - tensor.storage_offset() * tensor.itemsize
        # What has no elements has no memory to share.
        place = start if tensor.numel() > 0 else None
        key = (place, tensor.dtype, str(tensor.device))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _Storage(len(self.used), tensor)
            self.used.append(found)
        found.add(tensor)
        return found


class _Pickler(pickle._Pickler):  # type: ignore[name-defined]
    """Python's own, which is the one that lets names be written that it cannot import."""

    def __init__(self, file: Any, storages: _Storages):
        super().__init__(file, 2)
        self._storages = storages

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        if type(obj) is _C.dtype and obj in _DTYPES:
            obj = _DTYPES[obj]
        if type(obj) is not _Name:
            super().save(obj, save_persistent_id)
        elif id(obj) in self.memo:
            self.write(self.get(self.memo[id(obj)][0]))
        else:
            self.write(obj.line)
            self.memoize(obj)

    def persistent_id(self, obj: Any) -> tuple[Any, ...] | None:
        if type(obj) is not _Storage:
            return None
        kind = _STORAGES.get(obj.dtype, _UNTYPED)
        count = (obj.end - obj.first) * (1 if kind is not _UNTYPED else obj.dtype.itemsize)
        return ("storage", kind, str(obj.number), obj.location, count)

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, _C.Tensor):
            return self._reduced(obj)
        if type(obj) is _C.Size:
            return _SIZE, (tuple(obj),)
        if type(obj) is _C.device:
            return _DEVICE, ((obj.type,) if obj.index is None else (obj.type, obj.index))
        return NotImplemented

    def _reduced(self, tensor: _C.Tensor) -> Any:
        kind = type(tensor).__name__
        if kind == "Tensor" and tensor.layout in (sparse.sparse_coo, sparse.sparse_csr):
            return _reduced_sparse(tensor)
        if kind not in ("Tensor", "Parameter") or not tensor.is_dense:
            return NotImplemented  # as Python's pickles have it; PyTorch cannot read those
        plain = tensor.detach()
        if kind == "Parameter":
            return _PARAMETER, (plain, tensor.requires_grad, OrderedDict())
        storage = self._storages.of(plain)
        offset = plain.storage_offset() - storage.first if plain.numel() > 0 else 0
        args = (storage, offset, tuple(plain.shape), tuple(plain.stride()), tensor.requires_grad,
                OrderedDict())  # fmt: skip
        if tensor.dtype in _STORAGES:
            return _REBUILD, args
        return _REBUILD_OF_DTYPE, (*args, tensor.dtype)
