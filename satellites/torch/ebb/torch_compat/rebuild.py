# satellites/torch/ebb/torch_compat/rebuild.py -- tensors out of pickles that Python's own pickle
# wrote.
#
# `pickle.dump(tensor)` names functions of PyTorch's, which `pickle.load` calls: the bytes of each
# storage go through load_from_bytes(), and tensors are made of it as in PyTorch's own files, whose
# reader checks what it is given (ebb/io/torch_names.py).
"""The functions that such pickles name."""

from __future__ import annotations

import io
from typing import Any

import ebb
from ebb.io import torch_names

# Of torch._utils.
NAMES = (
    *("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_sparse_tensor"),
    *("_rebuild_parameter", "_rebuild_parameter_with_state"),
)


def load_from_bytes(content: bytes) -> Any:
    """Return the storage that PyTorch wrote into bytes."""
    found = ebb.load(io.BytesIO(content), weights_only=False)
    if not isinstance(found, torch_names.Storage):
        return found
    if found.dtype is None:
        return ebb.UntypedStorage(found.read(ebb.uint8))
    return ebb.TypedStorage(found.read(found.dtype))


def get_layout(name: str) -> Any:
    """Return a layout by its name, as ``torch.sparse_coo``."""
    return getattr(ebb, name.removeprefix("torch."), name)


def _described(storage: Any) -> Any:
    """Return a storage as the reader of files knows them."""
    if not isinstance(storage, ebb.UntypedStorage):
        return storage
    elements = storage.untyped()._elements

    def read(dtype: Any, is_conj: bool, is_neg: bool) -> ebb.Tensor:
        found = elements(dtype).conj() if is_conj else elements(dtype)
        return -found if is_neg else found

    return torch_names.Storage(read, getattr(storage, "dtype", None))


def _rebuild_tensor(storage: Any, *args: Any) -> ebb.Tensor:
    return torch_names._tensor(_described(storage), *args)


def _rebuild_tensor_v3(storage: Any, *args: Any) -> ebb.Tensor:
    return torch_names._tensor_of_dtype(_described(storage), *args)


def _rebuild_sparse_tensor(layout: Any, parts: Any) -> ebb.Tensor:
    return torch_names._sparse_tensor(getattr(layout, "name", str(layout)), parts)


def _rebuild_from_type_v2(make: Any, kind: Any, args: Any, state: Any) -> Any:
    made = make(*args)
    if isinstance(state, dict):
        vars(made).update(state)
    return made if isinstance(made, kind) else made.as_subclass(kind)


_rebuild_tensor_v2 = _rebuild_tensor
_rebuild_parameter = _rebuild_parameter_with_state = torch_names._parameter
