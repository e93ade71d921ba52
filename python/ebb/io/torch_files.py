# python/ebb/io/torch_files.py -- reads PyTorch's files: an archive, or the older stream of pickles.
#
# An archive holds a pickle, data.pkl, and the memory of each storage as a member data/<key>, stored
# as it is. What it claims is weighed before memory is asked for: no member twice, none packed, and
# all of them no larger than the file. Start reading at load().
"""``load``; ``ebb.load`` calls it."""

from __future__ import annotations

import os
import pickle
import sys
import zipfile
from collections.abc import Callable
from typing import Any, BinaryIO

from ebb import _C
from ebb.io.reading import TORCH_ARCHIVE, TORCH_STREAM
from ebb.io.torch_names import TABLE, Storage
from ebb.io.unpickler import Maker, RefusedError, Unpickler

MapLocation = Any  # None, a device, a dict of names of devices, or a function of storage and name

trusted: dict[str, Any] = {}  # classes and functions that a program has allowed, by name


def load(file: BinaryIO, name: str, map_location: MapLocation, weights_only: bool) -> Any:
    """Read an object.

    Args:
        file: An open file, at its beginning, that can seek.
        name: What errors call it.
    """
    try:
        head = file.read(32)
        file.seek(0)
        place = _placing(map_location)
        if TORCH_ARCHIVE.match(head):
            with zipfile.ZipFile(file) as archive:
                return _load_archive(_Archive(archive, file, place), weights_only)
        if not TORCH_STREAM.match(head):
            raise RefusedError("it begins as no file of PyTorch")
        return _load_stream(file, place, weights_only)
    except RefusedError as error:
        raise _C.ValueError(
            f"load: needs a file as PyTorch writes them, got {name}: {error}"
        ) from None
    except _C.Error:
        raise
    except (zipfile.BadZipFile, EOFError, ValueError, TypeError, LookupError, RuntimeError,
            ArithmeticError, RecursionError, AttributeError) as error:  # fmt: skip
        if not weights_only and not isinstance(error, zipfile.BadZipFile):
            raise  # of a class that the file names
        text = str(error) or type(error).__name__
        raise _C.ValueError(
            f"load: needs a file as PyTorch writes them, got {name}: {text}"
        ) from None


# Names.


def _find(module: str, name: str) -> Maker:
    key = f"{module} {name}"
    found = TABLE.get(key)
    if found is None and key in trusted:
        found = Maker(key, trusted[key], is_trusted=True)
    if found is None:
        raise RefusedError(
            f"it names {module}.{name}, which may not be made\n"
            "hint: load(..., weights_only=False) runs what the file says, so only for files that "
            "you trust; serialization.add_safe_globals([...]) allows a class"
        )
    return found


def _trusted_classes() -> tuple[type, ...]:
    return tuple(one for one in trusted.values() if isinstance(one, type))


class _TrustingUnpickler(pickle.Unpickler):
    """Python's own, for files that the user trusts; PyTorch's names are ours."""

    def __init__(self, file: BinaryIO, persistent: Callable[[Any], Any]):
        super().__init__(file)
        self._persistent = persistent

    def find_class(self, module: str, name: str) -> Any:
        found = TABLE.get(f"{module} {name}") if module.startswith("torch") else None
        if found is not None:
            return found.make
        if module.partition(".")[0] == "torch" and "torch" not in sys.modules:
            raise RefusedError(
                f"it holds an object of {module}.{name}, of which ebb has none like it\n"
                "hint: save its state_dict() instead"
            )
        return super().find_class(module, name)

    def persistent_load(self, pid: Any) -> Any:
        if isinstance(pid, tuple) and pid[:1] == ("module",):
            return pid[1]  # a class, which older files keep with its source
        return self._persistent(pid)


class _Anything:
    """Stands for all that a file makes while only its end is looked for."""

    def __new__(cls, *args: Any, **kwargs: Any) -> _Anything:
        return super().__new__(cls)

    def __init__(self, *args: Any, **kwargs: Any):
        pass

    def _ignore(self, *args: Any) -> None:
        pass

    __setstate__ = __setitem__ = append = extend = add = _ignore


class _EndSeeker(_TrustingUnpickler):
    """Runs nothing of the file."""

    def find_class(self, module: str, name: str) -> Any:
        found = TABLE.get(f"{module} {name}")
        return found.make if found and isinstance(found.make, Storage) else _Anything


# Archives.


class _Archive:
    """The members of an archive, and the storages that were read from them."""

    def __init__(self, archive: zipfile.ZipFile, file: BinaryIO, place: Callable[..., Any]):
        self._archive = archive
        self._place = place
        self._members: dict[str, zipfile.ZipInfo] = {}
        self._storages: dict[str, _Memory] = {}
        size = file.seek(0, os.SEEK_END)
        for entry in archive.infolist():
            if entry.filename in self._members:
                raise RefusedError(f"it holds {entry.filename!r} twice")
            if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
                raise RefusedError(f"{entry.filename!r} is packed")
            self._members[entry.filename] = entry
            size -= entry.file_size
        if size < 0:
            raise RefusedError("its members claim more bytes than it has")
        roots = [name for name in self._members if name.endswith("/data.pkl")]
        if len(roots) != 1:
            raise RefusedError("it has no pickle data.pkl")
        self.root = roots[0].removesuffix("data.pkl")
        order = self._members.get(self.root + "byteorder")
        if order is not None and archive.read(order) != b"little":
            raise RefusedError("its numbers are not little-endian")

    def open_pickle(self) -> Any:
        """Return the member that describes the object."""
        return self._archive.open(self._members[self.root + "data.pkl"])

    def storage(self, pid: Any) -> Storage:
        """Return the storage of a persistent id."""
        kind, key, location, _ = _parts(pid)
        if key not in self._storages:
            entry = self._members.get(f"{self.root}data/{key}")
            if entry is None:
                raise RefusedError(f"it lacks the storage {key!r}")
            with self._archive.open(entry) as member:
                content = _read(member, entry.file_size)
            self._storages[key] = _Memory(content, location, self._place)
        return Storage(self._storages[key].read, kind.dtype)


def _load_archive(archive: _Archive, weights_only: bool) -> Any:
    with archive.open_pickle() as file:
        if not weights_only:
            return _TrustingUnpickler(file, archive.storage).load()
        return Unpickler(file, _find, archive.storage, _trusted_classes()).load()


def _parts(pid: Any) -> tuple[Storage, str, str, int]:
    """Return class, key, device and number of elements of a persistent id."""
    fits = isinstance(pid, tuple) and len(pid) in (5, 6) and pid[0] == "storage"
    if not fits or not isinstance(pid[1], Storage) or any(pid[5:]):
        raise RefusedError("it keeps elsewhere what is no storage")
    _, kind, key, location, count = pid[:5]
    if not (isinstance(key, str) and isinstance(location, str) and type(count) is int):
        raise RefusedError("it keeps elsewhere what is no storage")
    return kind, key, location, count


# Streams of pickles, before PyTorch 1.6.


def _load_stream(file: BinaryIO, place: Callable[..., Any], weights_only: bool) -> Any:
    def read(persistent: Callable[..., Any], find: Callable[..., Any] = _find) -> Any:
        return Unpickler(file, find, persistent, _trusted_classes()).load()

    for what in ("magic", "protocol", "system"):
        found = read(_nothing_elsewhere)
        if what == "system" and isinstance(found, dict) and not found.get("little_endian", True):
            raise RefusedError("its numbers are not little-endian")
    # The memory follows the object: its end is found by a first reading that makes no tensors.
    start = file.tell()
    wanted: dict[str, tuple[_C.dtype, str, int]] = {}

    def note(pid: Any) -> None:
        kind, key, location, count = _parts(pid)
        wanted[key] = (kind.dtype or _C.uint8, location, count)  # bytes, if it has none

    if weights_only:
        read(note, _find_no_tensors)
    else:
        _EndSeeker(file, note).load()
    keys = read(_nothing_elsewhere)
    is_list = isinstance(keys, list) and all(isinstance(one, str) for one in keys)
    if not is_list or set(keys) != set(wanted):
        raise RefusedError("its storages are others than it names")
    found = {key: _memory_of_stream(file, *wanted[key], place) for key in keys}
    file.seek(start)

    def storage(pid: Any) -> Storage:
        return Storage(found[_parts(pid)[1]].read, _parts(pid)[0].dtype)

    return read(storage) if weights_only else _TrustingUnpickler(file, storage).load()


def _memory_of_stream(
    file: BinaryIO, dtype: _C.dtype, location: str, count: int, place: Callable[..., Any]
) -> _Memory:
    stored = int.from_bytes(file.read(8), "little")
    if stored != count:
        raise RefusedError(f"a storage has {stored} elements instead of {count}")
    here = file.tell()
    left = file.seek(0, os.SEEK_END) - here
    file.seek(here)
    if count < 0 or count * dtype.itemsize > left:
        raise RefusedError(f"it ends before {count} elements of a storage")
    return _Memory(_read(file, count * dtype.itemsize), location, place)


def _nothing_elsewhere(pid: Any) -> None:
    raise RefusedError("it keeps elsewhere what is no storage")


def _find_no_tensors(module: str, name: str) -> Maker:
    is_tensor = module in ("torch._utils", "torch._tensor")
    return Maker(name, lambda *args: None) if is_tensor else _find(module, name)


# Memory.


class _Memory:
    """Bytes of a file, as tensors of one dim."""

    def __init__(self, content: Any, location: str, place: Callable[..., Any]):
        self._content = content  # a NumPy array of bytes
        self._location = location
        self._place = place
        self._made: dict[tuple[_C.dtype, bool, bool], _C.Tensor] = {}

    def read(self, dtype: _C.dtype, is_conj: bool = False, is_neg: bool = False) -> _C.Tensor:
        """Return all of it; the same tensor each time, so that what shared memory does again.

        It is what is stored that is conjugated or negated, not the view of a tensor, whose
        elements may be any number of times as many.
        """
        key = dtype, is_conj, is_neg
        if key not in self._made:
            self._made[key] = self._changed(*key) if is_conj or is_neg else self._read(dtype)
        return self._made[key]

    def _read(self, dtype: _C.dtype) -> _C.Tensor:
        if self._content.nbytes % dtype.itemsize:
            raise RefusedError(f"a storage of {self._content.nbytes} bytes has {dtype} elements")
        return self._place(_typed(self._content, dtype), self._location)

    def _changed(self, dtype: _C.dtype, is_conj: bool, is_neg: bool) -> _C.Tensor:
        plain = self.read(dtype)
        found = plain.conj() if is_conj else plain
        return -found if is_neg else found


def _typed(content: Any, dtype: _C.dtype) -> _C.Tensor:
    if dtype is _C.bfloat16:  # NumPy has none: they are the upper halves of float32
        return _C.from_numpy((content.view("u2").astype("u4") << 16).view("f4")).bfloat16()
    if dtype is _C.bool and content.size and content.max() > 1:
        raise RefusedError("a bool is neither 0 nor 1")
    return _C.from_numpy(content.view(dtype.name))


def _read(file: Any, count: int) -> Any:
    """Return ``count`` bytes as a NumPy array over memory of a tensor."""
    try:
        content = _C.empty([count], dtype=_C.uint8).numpy()
    except _C.Error:
        raise RefusedError(f"there is no memory for {count} bytes") from None
    view = memoryview(content)
    filled = 0
    while filled < count:
        piece = file.readinto(view[filled:])
        if not piece:
            raise RefusedError("it ends too early")
        filled += piece
    return content


def _placing(map_location: MapLocation) -> Callable[[_C.Tensor, str], _C.Tensor]:
    """Return what puts a storage, and the name of its device in the file, where it is to be."""
    if callable(map_location):

        def chosen(whole: _C.Tensor, location: str) -> _C.Tensor:
            found = map_location(whole, location)
            if found is None:
                return _restored(whole, location)
            if not isinstance(found, _C.Tensor) or found.shape != whole.shape:
                raise _C.DTypeError(
                    f"load: needs a map_location that returns a storage, got {type(found).__name__}"
                )
            return found

        return chosen
    if isinstance(map_location, dict):
        return lambda whole, location: _restored(whole, str(map_location.get(location, location)))
    if map_location is not None:
        device = _C.empty([0], device=map_location).device
        return lambda whole, location: whole.to(device)
    return _restored


def _restored(whole: _C.Tensor, location: str) -> _C.Tensor:
    """Send a storage to the device that it was saved from."""
    if location == "cpu":
        return whole
    try:
        return whole.to(location)
    except _C.Error:
        raise _C.ValueError(
            f"load: needs the device {location!r}, from which it was saved, got none like it\n"
            "hint: pass map_location='cpu'"
        ) from None
