# python/ebb/io/safetensors.py -- safetensors files: named tensors, and trees of them.
#
# A flat dict of tensors is stored as it is, for every reader of the format. Anything else is taken
# apart by tree.py: its tensors get names, the rest becomes JSON in the metadata, under TREE.
"""Called by ``ebb.save`` and ``ebb.load``; ``safe_open`` reads a few tensors of a large file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ebb import _C
from ebb.io import tree
from ebb.io.reading import path_text

__all__ = ["load", "load_metadata", "safe_open", "save"]

TREE = "ebb.tree"


def save(obj: Any, path: str | os.PathLike[str], metadata: dict[str, str] | None = None) -> None:
    """Write tensors; see ``ebb.save``.

    Example:
        >>> from ebb.io import safetensors
        >>> safetensors.save({"weight": ebb.ones(2)}, "weights.safetensors")
        >>> safetensors.load("weights.safetensors")
        {'weight': tensor([1., 1.])}
    """
    if metadata and TREE in metadata:
        raise _C.ValueError(f"save: needs metadata other than the reserved {TREE!r}")
    if not isinstance(obj, Mapping | list | tuple):
        raise _C.DTypeError(
            f"save: needs a dict of Tensors, got {type(obj).__name__}"
            "\nhint: save model.state_dict(), or {'name': tensor}"
        )
    if _is_flat(obj):
        tensors = obj
    else:
        tensors, text = tree.take_apart(obj)
        if isinstance(metadata, dict | None):  # anything else is refused below
            metadata = {**(metadata or {}), TREE: text}
    _C._save(path, tuple(tensors.keys()), tuple(tensors.values()), metadata)


def load(path: str | os.PathLike[str], *, mmap: bool = False) -> Any:
    """Read tensors; see ``ebb.load``.

    Example:
        >>> from ebb.io import safetensors
        >>> safetensors.save({"weight": ebb.ones(2)}, "weights.safetensors")
        >>> safetensors.load("weights.safetensors")
        {'weight': tensor([1., 1.])}
    """
    tensors, metadata = _C._load(path, mmap)
    if TREE not in metadata:
        return tensors
    return tree.put_together(tensors, metadata[TREE], os.fsdecode(path))


def load_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read the text that a safetensors file keeps with its tensors.

    Example:
        >>> from ebb.io import safetensors
        >>> safetensors.save({"w": ebb.ones(2)}, "w.safetensors", metadata={"epoch": "3"})
        >>> safetensors.load_metadata("w.safetensors")
        {'epoch': '3'}
    """
    metadata = _C._load(path, True)[1]
    metadata.pop(TREE, None)
    return metadata


def _is_flat(obj: Any) -> bool:
    return isinstance(obj, Mapping) and all(
        isinstance(name, str) and isinstance(value, _C.Tensor) for name, value in obj.items()
    )


class safe_open:  # noqa: N801 -- the name that the safetensors package gave it
    """The tensors of a file, each read when it is asked for.

    Args:
        path: The file. Tensors are views of it as of ``ebb.load(path, mmap=True)``, and stay
            valid after ``with``.
    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is not a safetensors file, or corrupt.
    Example:
        >>> ebb.save({"weight": ebb.ones(2), "rows": ebb.arange(6)}, "weights.safetensors")
        >>> with ebb.io.safe_open("weights.safetensors") as file:
        ...     weight = file.get_tensor("weight")
        ...     rows = file.get_slice("rows")[2:4]
        >>> rows
        tensor([2, 3])
    """

    def __init__(self, path: str | os.PathLike[str]):
        self._path = path_text("safe_open", path)
        self._tensors, self._metadata = _C._load(path, True)
        self._metadata.pop(TREE, None)

    def keys(self) -> list[str]:
        """Return the names of all tensors."""
        return list(self._open())

    def metadata(self) -> dict[str, str]:
        """Return the text that the file keeps with its tensors."""
        return dict(self._metadata)

    def get_tensor(self, name: str) -> _C.Tensor:
        """Return a tensor over the file's memory."""
        tensors = self._open()
        if name not in tensors:
            raise KeyError(f"safe_open: needs a tensor of {self._path!r}, got {name!r}")
        return tensors[name].detach()

    def get_slice(self, name: str) -> Slice:
        """Return what gives shape and dtype, and reads a part when indexed."""
        return Slice(self.get_tensor(name))

    def __contains__(self, name: object) -> bool:
        return name in self._open()

    def __len__(self) -> int:
        return len(self._open())

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, *error: object) -> None:
        self._tensors = None

    def _open(self) -> dict[str, _C.Tensor]:
        if self._tensors is None:
            raise _C.ValueError(f"safe_open: needs an open file, got {self._path!r}, closed")
        return self._tensors


class Slice:
    """One tensor of a file, not read yet."""

    def __init__(self, tensor: _C.Tensor):
        self._tensor = tensor

    def get_shape(self) -> list[int]:
        """Return the sizes of the whole tensor."""
        return list(self._tensor.shape)

    def get_dtype(self) -> _C.dtype:
        """Return the dtype of the tensor."""
        return self._tensor.dtype

    def __getitem__(self, index: Any) -> _C.Tensor:
        """Return a copy of a part; only its pages of the file are read."""
        return self._tensor[index].clone()
