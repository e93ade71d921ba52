# python/ebb/io/files.py -- ebb.save and ebb.load: the format follows from the file.
"""``.npz`` and ``.npy`` are NumPy's, ``.pt`` and ``.pth`` PyTorch's, others safetensors files.

Nothing in a file is ever executed, unless ``load`` is told ``weights_only=False``.
"""

from __future__ import annotations

import io
import os
from typing import Any

from ebb import _C
from ebb.io import npz, safetensors
from ebb.io.reading import is_of_pytorch, opened, path_text

__all__ = ["load", "load_metadata", "save"]

NUMPYS = (".npy", ".npz")
PYTORCHS = (".pt", ".pth", ".pkl", ".bin", ".ckpt", ".tar")


def save(
    obj: Any,
    f: Any,
    metadata: dict[str, str] | None = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write tensors, such as a state dict, to a file.

    An existing file is replaced wholly or, if anything fails, left as it was.

    Args:
        obj: What is written. In a safetensors file: tensors by name, or dicts and lists, nested, of
            numbers, text, None and tensors, as ``optimizer.state_dict()`` has them; ``load`` gives
            back the same. In an ``.npy`` file: one Tensor. In PyTorch's: also whole modules and
            other objects, which ``load`` reads with ``weights_only=False`` only.
        f: A path, or a file open for writing bytes, which gets PyTorch's format.
        metadata: Text to keep with the tensors of a safetensors file.
        pickle_protocol: Taken for PyTorch's sake.
    Raises:
        TypeError: If ``obj`` holds anything else.
        OSError: If the file cannot be written.
    Example:
        >>> ebb.save({"weight": ebb.ones(2, 3)}, "weights.safetensors")
        >>> model = ebb.nn.Linear(2, 3)
        >>> ebb.save({"model": model.state_dict(), "step": 7}, "checkpoint.pt")
    """
    if hasattr(f, "write"):
        suffix, root = PYTORCHS[0], "archive"
    else:
        suffix = _suffix_of("save", f)
        root = os.path.basename(os.path.splitext(path_text("save", f))[0]) or "archive"
    if metadata is not None and suffix in (*NUMPYS, *PYTORCHS):
        raise _C.ValueError(f"save: needs a safetensors file for metadata, got {suffix}")
    if suffix == ".npz":
        npz.save_npz(obj, f)
    elif suffix == ".npy":
        npz.save_npy(obj, f)
    elif suffix in PYTORCHS:
        _save_for_pytorch(obj, f, root)
    else:
        safetensors.save(obj, f, metadata)


def _save_for_pytorch(obj: Any, f: Any, root: str) -> None:
    from ebb.io import torch_writing

    if hasattr(f, "write"):
        torch_writing.save(obj, f, root)
        return
    with npz.NewFile("save", f) as file:
        torch_writing.save(obj, file, root)


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
) -> Any:
    """Read what ``save``, or PyTorch, wrote.

    Args:
        f: A path, or a file open for reading bytes, of PyTorch's format.
        map_location: Where tensors of a PyTorch's file are put: a device, a dict from the device
            that they were saved from to one that is here, or a function of a storage (a tensor of
            one dim) and the name of its device, which returns a storage, or None for the usual.
        pickle_module: Taken for PyTorch's sake.
        weights_only: False reads whole modules and other objects too, for which a PyTorch's file
            may run any code: only for files that you trust. Else nothing is executed, and only
            tensors and plain values are read.
        mmap: Let tensors be views of a safetensors file, read when first used; PyTorch's are read
            as a whole. Writing to views never changes the file, and the file may be deleted or
            replaced by ``save``; but nobody may shorten it in place meanwhile, or the process ends
            with SIGBUS.
    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is not of its suffix's format, or corrupt, or names what may not be made.

    Example:
        >>> ebb.save({"weight": ebb.ones(2)}, "weights.safetensors")
        >>> ebb.load("weights.safetensors")
        {'weight': tensor([1., 1.])}
    """
    if hasattr(f, "read"):
        return _load_of_pytorch(_seekable(f), "a file object", map_location, weights_only)
    suffix = _suffix_of("load", f)
    if suffix not in NUMPYS and _is_pytorchs(f):
        with opened("load", f) as file:
            name = repr(path_text("load", f))
            return _load_of_pytorch(file, name, map_location, weights_only)
    if suffix not in NUMPYS:
        return _moved(safetensors.load(f, mmap=bool(mmap)), map_location)
    if mmap:
        raise _C.ValueError(f"load: needs a safetensors file for mmap=True, got {suffix}")
    return _moved(npz.load_npz(f) if suffix == ".npz" else npz.load_npy(f), map_location)


def _is_pytorchs(path: Any) -> bool:
    with opened("load", path) as file:
        return is_of_pytorch(file.read(32))


def _load_of_pytorch(file: Any, name: str, map_location: Any, weights_only: bool | None) -> Any:
    from ebb.io import torch_files

    return torch_files.load(file, name, map_location, weights_only is not False)


def _seekable(file: Any) -> Any:
    """Return a file that can seek, which begins where ``file`` is."""
    can_seek = getattr(file, "seekable", lambda: False)()
    return file if can_seek and file.tell() == 0 else io.BytesIO(file.read())


def _moved(found: Any, map_location: Any) -> Any:
    """Return what was read with its tensors on a device."""
    if map_location is None or callable(map_location) or isinstance(map_location, dict):
        return found
    if isinstance(found, _C.Tensor):
        return found.to(map_location)
    if isinstance(found, dict):
        return {key: _moved(value, map_location) for key, value in found.items()}
    if isinstance(found, (list, tuple)):
        return type(found)(_moved(value, map_location) for value in found)
    return found


def load_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read the text that a safetensors file keeps with its tensors.

    Example:
        >>> ebb.save({"weight": ebb.ones(2)}, "weights.safetensors", metadata={"step": "7"})
        >>> ebb.io.load_metadata("weights.safetensors")
        {'step': '7'}
    """
    return safetensors.load_metadata(path)


def _suffix_of(op: str, path: str | os.PathLike[str]) -> str:
    return os.path.splitext(path_text(op, path))[1].lower()
