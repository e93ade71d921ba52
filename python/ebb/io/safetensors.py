# python/ebb/io/safetensors.py -- ebb.save and ebb.load: named tensors in safetensors files.
"""Files hold tensors and text only; nothing in them is ever executed, and there is no pickle."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ebb import _C

__all__ = ["load", "load_metadata", "save"]


def save(
    obj: Mapping[str, _C.Tensor], path: str | os.PathLike, metadata: dict[str, str] | None = None
) -> None:
    """Write named tensors, such as a state dict, to a safetensors file.

    An existing file is replaced wholly or, if anything fails, left as it was.

    Args:
        obj: Tensors by name; lists, nested dicts and other objects are refused.
        path: Where to write.
        metadata: Text to keep with the tensors.
    Raises:
        TypeError: If ``obj`` is anything but a dict of tensors.
        OSError: If the file cannot be written.
    Example:
        >>> ebb.save({"weight": ebb.ones(2, 3)}, "weights.safetensors")
    """
    if not isinstance(obj, Mapping):
        raise _C.DTypeError(
            f"save: needs a dict of Tensors, got {type(obj).__name__}"
            "\nhint: save model.state_dict(), or {'name': tensor}"
        )
    for name, tensor in obj.items():
        if not isinstance(name, str):
            raise _C.DTypeError(f"save: needs names as str, got {type(name).__name__} {name!r}")
        if not isinstance(tensor, _C.Tensor):
            raise _C.DTypeError(
                f"save: needs a Tensor for {name!r}, got {type(tensor).__name__}"
                "\nhint: only tensors are stored; put text into metadata="
            )
    _C._save(path, tuple(obj.keys()), tuple(obj.values()), metadata)


def load(path: str | os.PathLike) -> dict[str, _C.Tensor]:
    """Read the tensors of a safetensors file, by name.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is not a safetensors file, or corrupt.
    """
    return _C._load(path)[0]


def load_metadata(path: str | os.PathLike) -> dict[str, str]:
    """Read the text that a safetensors file keeps with its tensors."""
    return _C._load(path)[1]
