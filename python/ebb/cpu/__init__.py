# python/ebb/cpu/__init__.py -- what is asked of the CPU as a device.
"""The CPU, under the names of ``torch.cpu``.

>>> ebb.cpu.is_available(), ebb.cpu.device_count()
(True, 1)
"""

from ebb import _devices
from ebb._base import naming as _naming
from ebb.cpu import amp

__all__ = ["amp", "device_count", "is_available"]


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


for _name in ("", ".amp"):
    _naming.name_module(__name__ + _name)
