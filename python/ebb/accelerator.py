# python/ebb/accelerator.py -- ebb.accelerator: questions about whichever device there is.
"""``ebb.accelerator``: the first device of a plug-in, if one is loaded.

>>> ebb.accelerator.is_available(), ebb.accelerator.device_count()
(False, 0)
"""

from __future__ import annotations

from typing import Any

from ebb import _C, _devices

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "device_count",
    "device_index",
    "empty_cache",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "synchronize",
]


def current_accelerator(check_available: bool = False) -> _C.device | None:
    """Return the first device that is not the CPU, without its index, or None.

    Example:
        >>> ebb.accelerator.current_accelerator() is None  # of a machine that has the CPU only
        True
    """
    del check_available
    found = [one for one in _C.devices() if one.type != "cpu"]
    return _C.device(found[0].type) if found else None


def is_available() -> bool:
    """Return whether there is one.

    Example:
        >>> ebb.accelerator.is_available()
        False
    """
    return current_accelerator() is not None


def device_count() -> int:
    """Return how many there are of its kind.

    Example:
        >>> ebb.accelerator.device_count()
        0
    """
    found = current_accelerator()
    return 0 if found is None else _devices.device_count(found.type)


def current_device_index() -> int:
    """Return 0.

    Example:
        >>> ebb.accelerator.current_device_index()
        0
    """
    return 0


def set_device_index(device: Any) -> None:
    """Choose a device by its index, or as ``ebb.device`` takes it; 0 is the only one.

    Raises:
        RuntimeError: If there is none beside the CPU.
        ValueError: For another index than 0.

    Example:
        >>> if ebb.accelerator.is_available():
        ...     ebb.accelerator.set_device_index(0)
        >>> ebb.accelerator.set_device_index(0)
        Traceback (most recent call last):
            ...
        ebb.errors.DeviceError: accelerator.set_device_index: needs a device beside the CPU, ...
    """
    _check_index("accelerator.set_device_index", device)


def _check_index(caller: str, device: Any) -> None:
    if not isinstance(device, int | str | _C.device):
        raise _C.DTypeError(
            f"{caller}: device needs an index, a name or a device, got {type(device).__name__}"
        )
    index = device if isinstance(device, int) else _C.device(device).index or 0
    found = current_accelerator()
    if index < 0:  # as what is restored after a block that had no device
        return
    if found is None:
        raise _C.DeviceError(
            f"{caller}: needs a device beside the CPU, got {device!r} and there is none\n"
            "hint: ask accelerator.is_available() first"
        )
    if index != 0:
        raise _C.ValueError(f"{caller}: needs index 0 of {found.type}, the only one, got {index}")


class device_index:  # noqa: N801 -- the field's name for it
    """Context manager: choose a device by its index within a block; None and -1 choose nothing.

    Example:
        >>> with ebb.accelerator.device_index(None):
        ...     ebb.accelerator.current_device_index()
        0
    """

    def __init__(self, device: int | None):
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            _check_index("accelerator.device_index", self.idx)

    def __exit__(self, *exc_info: object) -> None:
        """Change nothing: there is one index only."""


def synchronize(device: Any = None) -> None:
    """Wait until all work of a device, or of every one, is done.

    Example:
        >>> ebb.accelerator.synchronize()  # nothing to wait for on the CPU
    """
    if is_available():
        _devices.synchronize(device)


def empty_cache() -> None:
    """Do nothing: memory goes back when plug-ins say so.

    Example:
        >>> ebb.accelerator.empty_cache()
    """


def memory_stats(device_index: Any = None) -> dict[str, int]:
    """Return bytes now and at most, under PyTorch's keys; nothing if there is no device.

    Example:
        >>> ebb.accelerator.memory_stats().get("allocated_bytes.all.current", 0)
        0
    """
    found = current_accelerator()
    if found is None:
        return {}
    place = _C.device(found.type, device_index) if isinstance(device_index, int) else device_index
    place = _C.device(place or found)
    stats = _devices.device_memory_stats(place)
    reserved = _C._reserved_device_bytes(place)
    return {
        "allocated_bytes.all.current": stats["live"],
        "allocated_bytes.all.peak": stats["peak"],
        "reserved_bytes.all.current": reserved[0],
        "reserved_bytes.all.peak": reserved[1],
    }


def memory_allocated(device_index: Any = None) -> int:
    """Return the bytes that tensors on a device take; 0 if there is none.

    Example:
        >>> ebb.accelerator.memory_allocated()
        0
    """
    return memory_stats(device_index).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device_index: Any = None) -> int:
    """Return the most bytes that tensors on a device took at a time; 0 if there is none.

    Example:
        >>> ebb.accelerator.max_memory_allocated()
        0
    """
    return memory_stats(device_index).get("allocated_bytes.all.peak", 0)


def memory_reserved(device_index: Any = None) -> int:
    """Return the bytes that ebb holds of a device; 0 if there is none.

    Example:
        >>> ebb.accelerator.memory_reserved()
        0
    """
    return memory_stats(device_index).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device_index: Any = None) -> int:
    """Return the most bytes that ebb held of a device at a time; 0 if there is none.

    Example:
        >>> ebb.accelerator.max_memory_reserved()
        0
    """
    return memory_stats(device_index).get("reserved_bytes.all.peak", 0)


def reset_peak_memory_stats(device_index: Any = None) -> None:
    """Count the peak from now on.

    Example:
        >>> ebb.accelerator.reset_peak_memory_stats()
    """
    found = current_accelerator()
    if found is not None:
        _devices.reset_peak_device_memory(found if device_index is None else device_index)


# The older spellings.
def current_device_idx() -> int:
    """Return 0; ``current_device_index``'s older name.

    Example:
        >>> ebb.accelerator.current_device_idx()
        0
    """
    return 0


def set_device_idx(device: Any) -> None:
    """Choose a device; ``set_device_index``'s older name.

    Example:
        >>> if ebb.accelerator.is_available():
        ...     ebb.accelerator.set_device_idx(0)
    """
    _check_index("accelerator.set_device_idx", device)
