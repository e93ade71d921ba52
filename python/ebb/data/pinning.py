# python/ebb/data/pinning.py -- puts the tensors of a batch into pinned memory.
"""``pin_batch()``, for ``DataLoader(pin_memory=True)``."""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any


def pin_batch(batch: Any, device: Any = None) -> Any:
    """Return the batch with its tensors pinned, and all else as it is.

    Looks into dicts, lists and tuples of any kind; an object of another class says itself how it is
    pinned, by a method ``pin_memory``.

    Args:
        device: Whose copies it is for; see ``Tensor.pin_memory()``.
    Example:
        >>> from ebb.data.pinning import pin_batch
        >>> pin_batch({"x": ebb.ones(2), "name": "a"})
        {'x': tensor([1., 1.]), 'name': 'a'}
    """
    import ebb

    if isinstance(batch, ebb.Tensor):
        return batch.pin_memory(device)
    if isinstance(batch, str | bytes):
        return batch
    if isinstance(batch, Mapping):
        return _refilled(batch, {key: pin_batch(value, device) for key, value in batch.items()})
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(pin_batch(one, device) for one in batch))
    if hasattr(batch, "pin_memory"):
        return batch.pin_memory()
    if isinstance(batch, Sequence):
        return _refilled(batch, [pin_batch(one, device) for one in batch])
    return batch


def _refilled(batch: Any, items: Any) -> Any:
    """Return ``items`` in the class of ``batch`` where that takes them, else as they are."""
    try:
        if isinstance(batch, MutableMapping):
            made = copy.copy(batch)  # a class may need more than items to be made
            made.update(items)
            return made
        if isinstance(batch, MutableSequence):
            made = copy.copy(batch)
            made[:] = items
            return made
        return type(batch)(items)
    except TypeError:
        return items
