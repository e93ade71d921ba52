# python/ebb/io/npz.py -- NumPy's files: .npy holds one array, .npz a ZIP archive of them.
#
# Arrays are written by NumPy and read by a stricter reader than NumPy's: object arrays (which are
# pickles) are refused, and nothing is unpacked or asked memory for on the strength of a claim. What
# an archive claims is weighed first (_check_claims): the ways of packing, the size of each member
# against its packed bytes, and of all against the file and a limit. Of a member the header comes
# first, and has to agree with the member's size before the rest is unpacked, piece by piece.
"""``save_npz`` and ``load_npz``; ``ebb.save`` and ``ebb.load`` call them for these suffixes."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any, NoReturn

from ebb import _C
from ebb.io.reading import check_limit, check_unpacked, opened

__all__ = ["load_npy", "load_npz", "save_npy", "save_npz"]

MAGIC = b"\x93NUMPY"
LENGTH_BYTES = {(1, 0): 2, (2, 0): 4}  # by version: how many bytes tell the length of the header
MOST_HEADER_BYTES = 10_000  # as numpy.load
MOST_INFLATED = 1032  # bytes that one byte of deflate can stand for
CHUNK = 1 << 20


def save_npz(
    tensors: Mapping[str, _C.Tensor], path: str | os.PathLike[str], *, compressed: bool = False
) -> None:
    """Write named tensors to an ``.npz`` file, which ``numpy.load`` reads.

    An existing file is replaced wholly or, if anything fails, left as it was.

    Args:
        tensors: Tensors by name; NumPy has no bfloat16.
        path: Where to write.
        compressed: Make the file smaller, and take longer.

    Example:
        >>> ebb.save_npz({"weight": ebb.ones(2)}, "weights.npz")
        >>> ebb.load_npz("weights.npz")
        {'weight': tensor([1., 1.])}
    """
    import zipfile

    if not isinstance(tensors, Mapping):
        raise _C.DTypeError(f"save_npz: needs a dict of Tensors, got {type(tensors).__name__}")
    arrays = {name: _array_of("save_npz", name, tensor) for name, tensor in tensors.items()}
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with (
        NewFile("save_npz", path) as file,
        zipfile.ZipFile(file, "w", method, allowZip64=True) as archive,
    ):
        for name, array in arrays.items():
            # A fixed date: equal tensors give equal files.
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.compress_type = method
            with archive.open(entry, "w", force_zip64=True) as member:
                _write_array(member, array)


def save_npy(tensor: _C.Tensor, path: str | os.PathLike[str]) -> None:
    """Write one tensor to an ``.npy`` file, which ``numpy.load`` reads.

    Example:
        >>> from ebb.io import npz
        >>> npz.save_npy(ebb.ones(2), "ones.npy")
        >>> npz.load_npy("ones.npy")
        tensor([1., 1.])
    """
    array = _array_of("save_npy", None, tensor)
    with NewFile("save_npy", path) as file:
        _write_array(file, array)


def load_npz(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> dict[str, _C.Tensor]:
    """Read the tensors of an ``.npz`` file, by name.

    Args:
        path: The file.
        max_bytes: Refuse, before anything is unpacked, a file whose tensors take more; by default
            more than 256 MiB and a hundred times the file, or than the machine's memory.
    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is not an ``.npz`` file, or corrupt, or holds anything but numbers.

    Example:
        >>> ebb.save_npz({"weight": ebb.ones(2)}, "weights.npz")
        >>> ebb.load_npz("weights.npz")
        {'weight': tensor([1., 1.])}
    """
    import errno
    import zipfile

    if max_bytes is not None:
        check_limit("load_npz", "max_bytes", max_bytes)
    tensors = {}
    with opened("load_npz", path) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                entries = _check_claims(archive.infolist(), file, path, max_bytes)
                for name, entry in entries.items():
                    with archive.open(entry) as member:
                        tensors[name] = _read_array(member, entry.file_size, "load_npz", path)
        except _C.Error:
            raise
        except _damage() as error:
            if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
                raise
            _corrupt("load_npz", path, str(error) or "it ends too early")
    return tensors


def _check_claims(entries: list[Any], file: Any, path: Any, most: int | None) -> dict[str, Any]:
    """Return the members by name, once what they claim to hold can be true and is not too much."""
    import zipfile

    found: dict[str, Any] = {}
    packed = unpacked = 0
    for entry in entries:
        name = entry.filename.removesuffix(".npy")
        if name in found:
            _corrupt("load_npz", path, f"it holds {name!r} twice")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # Of these a few bytes may unpack to any number, and not piece by piece.
            _corrupt("load_npz", path, f"{name!r} is neither stored nor deflated")
        ratio = MOST_INFLATED if entry.compress_type == zipfile.ZIP_DEFLATED else 1
        if entry.file_size > ratio * entry.compress_size:
            _corrupt("load_npz", path, f"{name!r} claims {entry.file_size} bytes, which "
                     f"{entry.compress_size} packed ones cannot hold")  # fmt: skip
        packed += entry.compress_size
        unpacked += entry.file_size
        found[name] = entry
    size = file.seek(0, os.SEEK_END)
    if packed > size:  # members that share bytes
        _corrupt("load_npz", path, f"its members claim {packed} of its {size} bytes")
    if most is None:
        hint = f"if they are zeros or the like, pass max_bytes={unpacked}"
        check_unpacked("load_npz", path, size, unpacked, hint)
    elif unpacked > most:
        raise _C.ValueError(
            f"load_npz: needs a file of at most {most:,} bytes when unpacked, got "
            f"{os.fsdecode(path)!r} with {unpacked:,}"
        )
    return found


def load_npy(path: str | os.PathLike[str]) -> _C.Tensor:
    """Read the tensor of an ``.npy`` file; errors are those of ``load_npz``.

    Example:
        >>> from ebb.io import npz
        >>> npz.save_npy(ebb.ones(2), "ones.npy")
        >>> npz.load_npy("ones.npy")
        tensor([1., 1.])
    """
    with opened("load_npy", path) as file:
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
    content = _read_content(file, wanted, op, path)
    array = content.view(dtype).reshape(shape, order="F" if is_fortran else "C")
    return _C.from_numpy(array.astype(dtype.newbyteorder("="), order="C", copy=False))


def _read_header(file: Any, op: str, path: Any) -> tuple[tuple[Any, ...], bool, Any, int]:
    """Return shape, whether columns come first, dtype, and the bytes read."""
    from io import BytesIO

    from numpy.lib import format as npy

    try:
        magic = file.read(len(MAGIC) + 2)
        version = tuple(magic[len(MAGIC) :])
        if not magic.startswith(MAGIC) or len(version) < 2:
            _corrupt(op, path, "it has another magic")
        if version not in LENGTH_BYTES:
            _corrupt(op, path, f"its version is {version}")
        length = file.read(LENGTH_BYTES[version])
        text_bytes = int.from_bytes(length, "little")
        if text_bytes > MOST_HEADER_BYTES:
            _corrupt(op, path, f"its header claims {text_bytes} bytes of at most "
                     f"{MOST_HEADER_BYTES}")  # fmt: skip
        header = length + file.read(text_bytes)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, is_fortran, dtype = read(BytesIO(header))
    except _C.Error:
        raise
    except _damage() as error:
        if isinstance(error, OSError):
            raise
        _corrupt(op, path, str(error).partition("\n")[0] or type(error).__name__)
    return shape, is_fortran, dtype, len(magic) + len(header)


def _read_content(file: Any, wanted: int, op: str, path: Any) -> Any:
    """Return ``wanted`` bytes. Memory is taken as they arrive, not as they are claimed."""
    import numpy as np

    try:
        content = np.empty(wanted, np.uint8)
    except MemoryError:
        raise _C.OutOfMemoryError(
            f"{op}: needs memory for {wanted:,} bytes of {os.fsdecode(path)!r}, got none"
        ) from None
    view = memoryview(content)
    filled = 0
    while filled < wanted:
        count = file.readinto(view[filled : filled + CHUNK])
        if count == 0:
            _corrupt(op, path, f"it ends after {filled} of {wanted} bytes")
        filled += count
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


class NewFile:
    """A file that takes the place of ``path`` once it is whole and on disk, or vanishes."""

    def __init__(self, op: str, path: str | os.PathLike[str]):
        self._file = _C._atomic_open(op, path)

    def write(self, content: Any) -> int:
        return _C._atomic_write(self._file, content)

    def flush(self) -> None:
        """Nothing is held back."""

    def __enter__(self) -> NewFile:
        return self

    def __exit__(self, kind: Any, *error: object) -> None:
        file, self._file = self._file, None
        if kind is None:
            _C._atomic_commit(file)


def _corrupt(op: str, path: Any, problem: str) -> NoReturn:
    kind = "an .npy" if op == "load_npy" else "an .npz"
    raise _C.ValueError(f"{op}: needs {kind} file of numbers, got {os.fsdecode(path)!r}: {problem}")
