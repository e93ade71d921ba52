# python/ebb/errors.py -- the exceptions that ebb raises.
"""Each class derives from its standard class and from ``Error``, which is a ``RuntimeError``."""

import builtins

from ebb._C import (
    AutogradError,
    DeviceError,
    DTypeError,
    Error,
    IndexError,
    InternalError,
    IoError,
    LinAlgError,
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
    "LinAlgError",
    "KeyError",
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


class KeyError(Error, builtins.KeyError):
    """A name that is not there.

    Example:
        >>> try:
        ...     ebb.flags.get("absent")
        ... except ebb.errors.KeyError:
        ...     print("no such flag")
        no such flag
    """

    __str__ = Exception.__str__  # a KeyError's own quotes its text
