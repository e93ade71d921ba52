# python/ebb/cpu/__init__.py -- ebb.cpu: the CPU as a device, under the names of torch.cpu.
"""The CPU, under the names of ``torch.cpu``.

>>> ebb.cpu.is_available(), ebb.cpu.device_count()
(True, 1)
"""

from typing import Any

from ebb import _devices
from ebb._base import naming as _naming
from ebb.cpu import amp

__all__ = [
    "amp",
    "current_device",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "synchronize",
]


def device_count() -> int:
    """Return 1.

    Example:
        >>> ebb.cpu.device_count()
        1
    """
    return _devices.device_count("cpu")


def is_available() -> bool:
    """Return True.

    Example:
        >>> ebb.cpu.is_available()
        True
    """
    return True


def is_initialized() -> bool:
    """Return True.

    Example:
        >>> ebb.cpu.is_initialized()
        True
    """
    return True


def current_device() -> str:
    """Return "cpu".

    Example:
        >>> ebb.cpu.current_device()
        'cpu'
    """
    return "cpu"


def set_device(device: Any) -> None:
    """Do nothing: there is one CPU.

    Example:
        >>> ebb.cpu.set_device("cpu")
    """
    del device


def synchronize(device: Any = None) -> None:
    """Do nothing: operations are done when they return.

    Example:
        >>> ebb.cpu.synchronize()
    """
    del device


for _name in ("", ".amp"):
    _naming.name_module(__name__ + _name)
