# python/ebb/_devices.py -- streams, events and the default device, as context managers.
#
# The work is done in python/src/parts/devices.cpp; a stream is a device and a number there. The CPU
# has one stream, on which everything is done at once.
"""Devices beside the CPU, which come from plug-ins: ``load_device_plugin()``.

>>> ebb.devices()[0]
device(type='cpu')
"""

from __future__ import annotations

import atexit
import os
import sys
from _thread import _local
from typing import Any

from ebb import _C

__all__ = [
    "DeviceScope",
    "Event",
    "Stream",
    "StreamScope",
    "current_stream",
    "default_device",
    "device_count",
    "device_memory_stats",
    "reset_peak_device_memory",
    "stream",
    "synchronize",
]


class Stream:
    """A queue of work on a device; work on two streams is ordered by events only.

    A device has at most 32 beside its default one; later ones share their queues.

    Args:
        device: The stream's device.

    Example:
        >>> stream = ebb.Stream("cpu")
        >>> with ebb.stream(stream):
        ...     x = ebb.ones(2) + 1
        >>> stream.synchronize()
    """

    __slots__ = ("device", "id")

    def __init__(self, device: _C.device | str):
        self.device: _C.device = _C.device(device)
        self.id: Any = _C._new_stream(self.device)

    @classmethod
    def _of(cls, device: _C.device, number: int) -> Stream:
        self = cls.__new__(cls)
        self.device, self.id = device, number
        return self

    def synchronize(self) -> None:
        """Wait until all work of the stream is done."""
        _C._synchronize_stream(self.device, self.id)

    def query(self) -> bool:
        """Return whether all work of the stream is done."""
        return _C._stream_is_idle(self.device, self.id)

    def record_event(self, event: Event | None = None) -> Event:
        """Mark what the stream holds by now, and return the event."""
        event = event or Event(self.device)
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Start what is queued from now on only after ``event``."""
        event.wait(self)

    def wait_stream(self, other: Stream) -> None:
        """Start what is queued from now on only after what ``other`` holds by now."""
        self.wait_event(other.record_event())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return (self.device, self.id) == (other.device, other.id)

    def __hash__(self) -> int:
        return hash((self.device, self.id))

    def __repr__(self) -> str:
        return f"Stream(device='{self.device}', id={self.id})"


class Event:
    """A point in the work of a stream, for other streams and the program to wait for.

    Example:
        >>> event = ebb.Event("cpu")
        >>> event.record()
        >>> event.query()
        True
    """

    __slots__ = ("_native", "device")

    def __init__(self, device: _C.device | str):
        self.device: _C.device = _C.device(device)
        self._native = _C._new_event(self.device)

    def record(self, stream: Stream | None = None) -> None:
        """Mark what ``stream`` (by default the current one) holds by now."""
        stream = stream or current_stream(self.device)
        _C._record_event(self._native, stream.device, stream.id)

    def wait(self, stream: Stream | None = None) -> None:
        """Make ``stream`` (by default the current one) wait for the event."""
        stream = stream or current_stream(self.device)
        _C._stream_waits(self._native, stream.device, stream.id)

    def query(self) -> bool:
        """Return whether the point is reached."""
        return _C._event_is_reached(self._native)

    def synchronize(self) -> None:
        """Wait until the point is reached."""
        _C._synchronize_event(self._native)


class StreamScope:
    """What stream() returns: makes a stream current inside a ``with`` block."""

    def __init__(self, wanted: Stream):
        self._wanted = wanted
        self._saved: list[int] = []

    def __enter__(self) -> Stream:
        self._saved.append(_C._current_stream(self._wanted.device))
        _C._set_stream(self._wanted.device, self._wanted.id)
        return self._wanted

    def __exit__(self, *error: object) -> None:
        _C._set_stream(self._wanted.device, self._saved.pop())


class DeviceScope:
    """What default_device() returns: makes a device the default one inside a ``with`` block."""

    def __init__(self, wanted: _C.device | str):
        self._wanted = _C.device(wanted)
        self._saved: list[_C.device] = []

    def __enter__(self) -> _C.device:
        saved = _C.get_default_device()
        _C.set_default_device(self._wanted)
        self._saved.append(saved)
        return self._wanted

    def __exit__(self, *error: object) -> None:
        _C.set_default_device(self._saved.pop())


_scopes = _local()  # of `with device:` blocks, the innermost last


def _enter_device(self: _C.device) -> _C.device:
    """Make this device the default one inside a ``with`` block, of this thread only."""
    if not hasattr(_scopes, "open"):
        _scopes.open = []
    scope = DeviceScope(self)
    scope.__enter__()
    _scopes.open.append(scope)
    return self


def _leave_device(self: _C.device, *error: object) -> None:
    """Give the thread the default device that it had before."""
    _scopes.open.pop().__exit__(*error)


_C.device.__enter__ = _enter_device  # type: ignore[attr-defined]
_C.device.__exit__ = _leave_device  # type: ignore[attr-defined]


def stream(wanted: Stream) -> StreamScope:
    """Run the ops of a ``with`` block on a stream; of this thread and the stream's device only.

    Example:
        >>> with ebb.stream(ebb.Stream("cpu")) as stream:
        ...     ebb.current_stream("cpu") == stream
        True
    """
    return StreamScope(wanted)


def current_stream(device: _C.device | str) -> Stream:
    """Return where this thread's work for ``device`` goes.

    Example:
        >>> ebb.current_stream("cpu").device
        device(type='cpu')
    """
    device = _C.device(device)
    return Stream._of(device, _C._current_stream(device))


def default_device(device: _C.device | str) -> DeviceScope:
    """Make new tensors on ``device`` inside a ``with`` block; of this thread only.

    Example:
        >>> with ebb.default_device("cpu"):
        ...     ebb.empty(2).device
        device(type='cpu')
    """
    return DeviceScope(device)


def synchronize(device: _C.device | str | None = None) -> None:
    """Wait for all work of a device, or of all devices.

    Example:
        >>> ebb.synchronize("cpu")
    """
    for one in _C.devices() if device is None else [_C.device(device)]:
        _C._synchronize_device(one)


def device_count(type: str) -> int:
    """Return how many devices of a type such as ``'cuda'`` there are.

    Example:
        >>> ebb.device_count("cpu")
        1
    """
    return sum(device.type == type for device in _C.devices())


def device_memory_stats(device: _C.device | str) -> dict[str, int]:
    """Return a device's bytes: live and peak of tensors, free and total; and live blocks.

    Example:
        >>> devices = ebb.devices()[1:]  # all but the CPU
        >>> live = [ebb.device_memory_stats(device)["live"] for device in devices]
        >>> len(live) == len(devices)
        True
    """
    return _C._device_memory_stats(_C.device(device))


def reset_peak_device_memory(device: _C.device | str) -> None:
    """Let the peak of a device start again from what is live.

    Example:
        >>> for device in ebb.devices()[1:]:  # all but the CPU
        ...     ebb.reset_peak_device_memory(device)
    """
    _C._reset_peak_device_memory(_C.device(device))


def cuda_device(device: _C.device | str | int | None) -> _C.device:
    """Return the device that ``cuda(device)`` means: an index counts CUDA's devices."""
    if device is None or isinstance(device, int):
        return _C.device("cuda", device or 0)
    return _C.device(device)


def get_device_module(device: _C.device | str | None = None) -> object:
    """Return the module with what is asked of a kind of device: ``ebb.cpu`` or ``ebb.cuda``.

    Args:
        device: A device or its type; the default device if None.

    Example:
        >>> ebb.get_device_module("cpu").is_available()
        True
    """
    import ebb

    type_ = _C.get_default_device().type if device is None else _C.device(device).type
    found = getattr(ebb, type_, None)
    if found is None:
        raise _C.ValueError(f"get_device_module: {type_} has no module")
    return found


def _finish() -> None:
    """Wait for all devices while what they run on is there: PoCL compiles on threads of its own."""
    for one in _C.devices():
        try:
            _C._synchronize_device(one)
        except Exception:  # of work that nobody waited for
            sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]


atexit.register(_finish)
os.register_at_fork(after_in_child=lambda: atexit.unregister(_finish))  # a child has no devices
