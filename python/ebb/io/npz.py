# python/ebb/io/npz.py -- NumPy's files: .npy holds one array, .npz a ZIP archive of them.
#
# Arrays are written by NumPy and read by a stricter reader than NumPy's: the size that a header
# states is compared with the bytes that are there before any memory is asked for, and object arrays
# (which are pickles) are refused.
"""``save_npz`` and ``load_npz``; ``ebb.save`` and ``ebb.load`` call them for these suffixes."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO, NoReturn

from ebb import _C

__all__ = ["load_npy", "load_npz", "save_npy", "save_npz"]


def save_npz(
    tensors: Mapping[str, _C.Tensor], path: str | os.PathLike, *, compressed: bool = False
) -> None:
    """Write named tensors to an ``.npz`` file, which ``numpy.load`` reads.

    An existing file is replaced wholly or, if anything fails, left as it was.

    Args:
        tensors: Tensors by name; NumPy has no bfloat16.
        path: Where to write.
        compressed: Make the file smaller, and take longer.
    """
    import zipfile

    if not isinstance(tensors, Mapping):
        raise _C.DTypeError(f"save_npz: needs a dict of Tensors, got {type(tensors).__name__}")
    arrays = {name: _array_of("save_npz", name, tensor) for name, tensor in tensors.items()}
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with (
        _NewFile("save_npz", path) as file,
        zipfile.ZipFile(file, "w", method, allowZip64=True) as archive,
    ):
        for name, array in arrays.items():
            # A fixed date: equal tensors give equal files.
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.compress_type = method
            with archive.open(entry, "w", force_zip64=True) as member:
                _write_array(member, array)


def save_npy(tensor: _C.Tensor, path: str | os.PathLike) -> None:
    """Write one tensor to an ``.npy`` file, which ``numpy.load`` reads."""
    array = _array_of("save_npy", None, tensor)
    with _NewFile("save_npy", path) as file:
        _write_array(file, array)


def load_npz(path: str | os.PathLike) -> dict[str, _C.Tensor]:
    """Read the tensors of an ``.npz`` file, by name.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is not an ``.npz`` file, or corrupt, or holds anything but numbers.
    """
    import errno
    import zipfile

    tensors = {}
    with _opened("load_npz", path) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                for entry in archive.infolist():
                    name = entry.filename.removesuffix(".npy")
                    if name in tensors:
                        _corrupt("load_npz", path, f"it holds {name!r} twice")
                    with archive.open(entry) as member:
                        tensors[name] = _read_array(member, entry.file_size, "load_npz", path)
        except _C.Error:
            raise
        except _damage() as error:
            if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
                raise
            _corrupt("load_npz", path, str(error) or "it ends too early")
    return tensors


def load_npy(path: str | os.PathLike) -> _C.Tensor:
    """Read the tensor of an ``.npy`` file; errors are those of ``load_npz``."""
    with _opened("load_npy", path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        return _read_array(file, size, "load_npy", path)


def _array_of(op: str, name: Any, tensor: Any) -> Any:
    if name is not None and (not isinstance(name, str) or "\0" in name or not name.strip("/")):
        raise _C.DTypeError(f"{op}: needs names as text, got {name!r}")
    what = "a Tensor" if name is None else f"a Tensor for {name!r}"
    if not isinstance(tensor, _C.Tensor):
        raise _C.DTypeError(f"{op}: needs {what}, got {type(tensor).__name__}")
    if tensor.dtype is _C.bfloat16:
        raise _C.DTypeError(f"{op}: needs a dtype that NumPy has, got bfloat16"
                            "\nhint: pass tensor.float(), or save a safetensors file")  # fmt: skip
    return tensor.detach().numpy()


def _write_array(file: Any, array: Any) -> None:
    from numpy.lib import format as npy

    npy.write_array(file, array, allow_pickle=False)


def _read_array(file: Any, size: int, op: str, path: Any) -> _C.Tensor:
    """Read one array from a file of ``size`` bytes, of which a header is the beginning."""
    import numpy as np

    shape, is_fortran, dtype, header_bytes = _read_header(file, op, path)
    if dtype.hasobject or dtype.kind not in "?biufc" or dtype.itemsize > 16:
        _corrupt(op, path, f"it holds {dtype}, and only numbers are read")
    if any(not isinstance(extent, int) or extent < 0 for extent in shape):
        _corrupt(op, path, f"its shape is {shape}")
    if len(shape) > 64:
        _corrupt(op, path, f"it has {len(shape)} dims")
    wanted = math.prod(shape) * dtype.itemsize
    if wanted != size - header_bytes:
        _corrupt(op, path, f"its shape {shape} takes {wanted} bytes, but {size - header_bytes} "
                 "follow")  # fmt: skip
    # A byte array first: the declared size may still be more than a compressed entry gives.
    content = file.read(wanted)
    if len(content) != wanted:
        _corrupt(op, path, f"it ends after {len(content)} of {wanted} bytes")
    flat = np.frombuffer(bytearray(content), dtype)
    array = flat.reshape(shape, order="F" if is_fortran else "C")
    return _C.from_numpy(array.astype(dtype.newbyteorder("="), order="C", copy=False))


def _read_header(file: Any, op: str, path: Any) -> tuple[tuple, bool, Any, int]:
    """Return shape, whether columns come first, dtype, and the bytes read."""
    from numpy.lib import format as npy

    counted = _CountingReader(file)
    try:
        version = npy.read_magic(counted)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
        if read is None:
            _corrupt(op, path, f"its version is {version}")
        shape, is_fortran, dtype = read(counted)
    except _C.Error:
        raise
    except _damage() as error:
        if isinstance(error, OSError):
            raise
        _corrupt(op, path, str(error).partition("\n")[0] or type(error).__name__)
    return shape, is_fortran, dtype, counted.count


class _CountingReader:
    """A file that counts the bytes that were read from it."""

    def __init__(self, file: Any):
        self.file = file
        self.count = 0

    def read(self, size: int) -> bytes:
        content = self.file.read(size)
        self.count += len(content)
        return content


def _damage() -> tuple[type[BaseException], ...]:
    """What zipfile and NumPy raise over wrong bytes.

    Such as OSError (EINVAL) for a place before the start of the file, NotImplementedError for an
    unknown compression, RuntimeError for encryption.
    """
    import lzma
    import struct
    import tokenize
    import zipfile
    import zlib

    return (
        zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, tokenize.TokenError,
        ArithmeticError, EOFError, LookupError, MemoryError, OSError, RuntimeError, SyntaxError,
        TypeError, ValueError,
    )  # fmt: skip


@contextmanager
def _opened(op: str, path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Open a file for reading; errors of the system become IoError."""
    try:
        with open(path, "rb") as file:
            yield file
    except OSError as error:
        if isinstance(error, _C.Error):
            raise
        raise _C.IoError(
            f"{op}: needs a readable file, got {os.fsdecode(path)!r}: {error.strerror or error}"
        ) from None


class _NewFile:
    """A file that takes the place of ``path`` once it is whole and on disk, or vanishes."""

    def __init__(self, op: str, path: str | os.PathLike):
        self._file = _C._atomic_open(op, path)

    def write(self, content: Any) -> int:
        return _C._atomic_write(self._file, content)

    def flush(self) -> None:
        """Nothing is held back."""

    def __enter__(self) -> _NewFile:
        return self

    def __exit__(self, kind: Any, *error: object) -> None:
        file, self._file = self._file, None
        if kind is None:
            _C._atomic_commit(file)


def _corrupt(op: str, path: Any, problem: str) -> NoReturn:
    kind = "an .npy" if op == "load_npy" else "an .npz"
    raise _C.ValueError(f"{op}: needs {kind} file of numbers, got {os.fsdecode(path)!r}: {problem}")
