# python/ebb/errors.py -- the exceptions that ebb raises.
"""Each class derives from its standard class and from ``Error``, which is a ``RuntimeError``."""

from ebb._C import (
    AutogradError,
    DeviceError,
    DTypeError,
    Error,
    IndexError,
    InternalError,
    IoError,
    NonFiniteError,
    NotImplementedError,
    OutOfMemoryError,
    ShapeError,
    ValueError,
)

__all__ = [
    "Error",
    "ShapeError",
    "ValueError",
    "DTypeError",
    "IndexError",
    "AutogradError",
    "NonFiniteError",
    "NotImplementedError",
    "OutOfMemoryError",
    "IoError",
    "DeviceError",
    "InternalError",
]
