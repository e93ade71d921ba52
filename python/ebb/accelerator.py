# python/ebb/accelerator.py -- the device beside the CPU, whichever it is.
"""``ebb.accelerator``: the first device of a plug-in, if one is loaded.

>>> ebb.accelerator.is_available(), ebb.accelerator.device_count()
(False, 0)
"""

from __future__ import annotations

from typing import Any

from ebb import _C, _devices

__all__ = [
    "current_accelerator",
    "current_device_index",
    "device_count",
    "empty_cache",
    "is_available",
    "synchronize",
]


def current_accelerator(check_available: bool = False) -> _C.device | None:
    """Return the first device that is not the CPU, without its index, or None."""
    del check_available
    found = [one for one in _C.devices() if one.type != "cpu"]
    return _C.device(found[0].type) if found else None


def is_available() -> bool:
    """Return whether there is one."""
    return current_accelerator() is not None


def device_count() -> int:
    """Return how many there are of its kind."""
    found = current_accelerator()
    return 0 if found is None else _devices.device_count(found.type)


def current_device_index() -> int:
    """Return 0."""
    return 0


def synchronize(device: Any = None) -> None:
    """Wait until all work of a device, or of every one, is done."""
    if is_available():
        _devices.synchronize(device)


def empty_cache() -> None:
    """Do nothing: memory goes back when plug-ins say so."""
