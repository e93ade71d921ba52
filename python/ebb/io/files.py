# python/ebb/io/files.py -- ebb.save and ebb.load: the format follows from the file's suffix.
"""``.npz`` and ``.npy`` are NumPy's; every other name is a safetensors file.

Files hold tensors, numbers and text only; nothing in them is ever executed, and there is no pickle.
"""

from __future__ import annotations

import os
from typing import Any

from ebb import _C
from ebb.io import npz, safetensors
from ebb.io.reading import path_text

__all__ = ["load", "load_metadata", "save"]


def save(obj: Any, path: str | os.PathLike, metadata: dict[str, str] | None = None) -> None:
    """Write tensors, such as a state dict, to a file.

    An existing file is replaced wholly or, if anything fails, left as it was.

    Args:
        obj: Tensors by name. In a safetensors file, dicts and lists may be nested and hold numbers,
            text, None and tensors, as ``optimizer.state_dict()`` does; ``load`` gives back the
            same. In an ``.npy`` file, one Tensor.
        path: Where to write.
        metadata: Text to keep with the tensors of a safetensors file.
    Raises:
        TypeError: If ``obj`` holds anything else.
        OSError: If the file cannot be written.
    Example:
        >>> ebb.save({"weight": ebb.ones(2, 3)}, "weights.safetensors")
        >>> ebb.save({"model": model.state_dict(), "step": 7}, "checkpoint.safetensors")
    """
    suffix = _suffix_of("save", path)
    if suffix not in (".npy", ".npz"):
        safetensors.save(obj, path, metadata)
        return
    if metadata is not None:
        raise _C.ValueError(f"save: needs a safetensors file for metadata, got {suffix}")
    if suffix == ".npz":
        npz.save_npz(obj, path)
    else:
        npz.save_npy(obj, path)


def load(path: str | os.PathLike, *, mmap: bool = False) -> Any:
    """Read what ``save`` wrote: a dict of tensors, unless something else was saved.

    Args:
        path: The file.
        mmap: Let tensors be views of the safetensors file, read when first used. Writing to them
            never changes the file, and the file may be deleted or replaced by ``save``; but nobody
            may shorten it in place meanwhile, or the process ends with SIGBUS.
    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is not of its suffix's format, or corrupt.
    """
    suffix = _suffix_of("load", path)
    if suffix not in (".npy", ".npz"):
        return safetensors.load(path, mmap=mmap)
    if mmap:
        raise _C.ValueError(f"load: needs a safetensors file for mmap=True, got {suffix}")
    return npz.load_npz(path) if suffix == ".npz" else npz.load_npy(path)


def load_metadata(path: str | os.PathLike) -> dict[str, str]:
    """Read the text that a safetensors file keeps with its tensors."""
    return safetensors.load_metadata(path)


def _suffix_of(op: str, path: str | os.PathLike) -> str:
    return os.path.splitext(path_text(op, path))[1].lower()
