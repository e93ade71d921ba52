# satellites/vision/ebb/vision/readers.py -- files of images: IDX, pickles of arrays, and what
# Pillow knows.
"""Readers that trust nothing: sizes are checked against the file, and no pickle is executed."""

from __future__ import annotations

import functools
import gzip
import importlib
import importlib.machinery
import math
import os
import sys
import zlib
from typing import Any

import numpy as np

from ebb import _C
from ebb.io.reading import check_unpacked, opened
from ebb.io.unpickler import Maker, RefusedError, Unpickler, told

_IDX_DTYPES = {b"\0\0\x08": "u1", b"\0\0\x0c": ">i4"}  # by how a file begins


def read_idx(path: str) -> np.ndarray:
    """Read an IDX file of bytes or of int32, such as those of MNIST, packed by gzip or not."""
    with opened("read_idx", path) as file:
        is_packed = path.endswith(".gz")
        size = os.fstat(file.fileno()).st_size
        unpacked = gzip.GzipFile(fileobj=file) if is_packed else file
        try:
            head = unpacked.read(4)
            dtype = _IDX_DTYPES.get(head[:3])
            dims = head[3] if len(head) == 4 and dtype is not None else 0
            sizes = tuple(
                int.from_bytes(unpacked.read(4), "big") for _ in range(dims if dims < 5 else 0)
            )
            count = math.prod(sizes) * np.dtype(dtype).itemsize
            if is_packed:
                check_unpacked("read_idx", path, size, count)
            # What a header claims is asked for once the file can hold it.
            fits = is_packed or count == size - 4 - 4 * len(sizes)
            content = unpacked.read(count + 1) if sizes and fits else b""
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise _wrong(path, str(error)) from None
    if not sizes or not fits or len(content) != count:
        raise _wrong(path, f"it has no {count} bytes of {list(sizes)}")
    return np.frombuffer(content, dtype).reshape(sizes)


def _wrong(path: str, problem: str) -> _C.ValueError:
    return _C.ValueError(f"read: needs images as their makers pack them, got {path!r}: {problem}")


class _Array:
    """An array of a pickle, until its content comes."""

    def __init__(self, *args: Any):
        self.values: np.ndarray | None = None

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, is_fortran, content = state
        content = content.encode("latin-1") if isinstance(content, str) else content
        if not isinstance(dtype, _Dtype) or is_fortran or not isinstance(content, bytes):
            raise RefusedError("it holds an array of another kind")
        self.values = np.frombuffer(content, np.uint8).reshape(shape)


class _Dtype:
    """The dtype of an array: bytes."""

    def __init__(self, code: Any, *rest: Any):
        if code not in ("u1", b"u1"):
            raise RefusedError(f"it holds an array of {told(code)}")

    def __setstate__(self, state: Any) -> None:
        pass


_MAKERS = {
    "_codecs encode": lambda text, encoding="latin1": text.encode("latin-1"),
    "numpy ndarray": "ndarray",
    "numpy dtype": _Dtype,
    **{f"numpy.{room}.multiarray _reconstruct": _Array for room in ("core", "_core")},
}


def _find(module: str, name: str) -> Maker:
    if f"{module} {name}" not in _MAKERS:
        raise RefusedError(f"it names {module}.{name}, which may not be made")
    return Maker(name, _MAKERS[f"{module} {name}"])


def _nowhere(pid: Any) -> None:
    raise RefusedError("it keeps values elsewhere")


def read_pickle(path: str) -> dict[str, Any]:
    """Read a pickle of a dict of arrays of bytes, numbers and texts, and run nothing in it."""
    with opened("read_pickle", path) as file:
        try:
            found = Unpickler(file, _find, _nowhere, (_Array, _Dtype)).load()
            if not isinstance(found, dict):
                raise RefusedError("it holds no dict")
            return {_text(key): _checked(value) for key, value in found.items()}
        except (RefusedError, ValueError, TypeError, LookupError, ArithmeticError,
                AttributeError, RecursionError) as error:  # fmt: skip
            raise _wrong(path, str(error)) from None


def _text(key: Any) -> str:
    text = key.decode("latin-1") if isinstance(key, bytes) else key
    if not isinstance(text, str):
        raise RefusedError(f"it has {told(key)} for a name")
    return text


def _checked(value: Any) -> Any:
    """Return a value of the dict: an array, a number or a text, or a list of the last two."""
    if isinstance(value, _Array):
        if value.values is None:
            raise RefusedError("it holds an array without content")
        return value.values
    for one in value if isinstance(value, (list, tuple)) else (value,):
        if not isinstance(one, (int, float, str, bytes)):
            raise RefusedError(f"it holds {told(one)} where numbers or texts should be")
    return value


def read_array(path: str) -> np.ndarray:
    """Read a file as an array of its bytes."""
    with opened("read_array", path) as file:
        return np.frombuffer(file.read(), np.uint8)


def read_lines(path: str) -> list[str]:
    """Read the lines of a text that are not empty."""
    with opened("read_lines", path) as file:
        return [line for line in file.read().decode().splitlines() if line.strip()]


def read_matlab(path: str) -> dict[str, Any]:
    """Read the arrays of a file of MATLAB's; needs SciPy."""
    try:
        scipy = importlib.import_module("scipy.io")
    except ImportError:
        raise _C.NotImplementedError(
            "read_matlab: needs the package SciPy, got none\nhint: pip install scipy"
        ) from None
    with opened("read_matlab", path) as file:
        return scipy.loadmat(file)


def pillow() -> Any:
    """Return the module of images, None if it is not installed."""
    try:
        return importlib.import_module("PIL.Image")
    except ImportError:
        return None


@functools.cache
def _is_absent(folders: tuple[str, ...]) -> bool:
    """Whether Pillow is in none of the folders: to look there for each image takes 0.2 ms."""
    return importlib.machinery.PathFinder.find_spec("PIL", list(folders)) is None


def is_pillow(image: Any) -> bool:
    """Return whether an image is one of Pillow's: then its module has been imported."""
    images = sys.modules.get("PIL.Image")
    return images is not None and isinstance(image, images.Image)


def as_image(array: np.ndarray) -> Any:
    """Return rows, columns (and channels) of bytes as an image."""
    images = None if _is_absent(tuple(sys.path)) else pillow()
    return array if images is None else images.fromarray(array)


def load_image(path: str | os.PathLike[str]) -> Any:
    """Read a file of an image, in red, green and blue."""
    images = pillow()
    if images is None:
        raise _C.NotImplementedError(
            "load_image: needs the package Pillow, got none\nhint: pip install pillow"
        )
    with opened("load_image", path) as file, images.open(file) as image:
        return image.convert("RGB")
