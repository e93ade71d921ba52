# python/ebb/backends/cudnn.py -- switches of cuDNN; kept, without effect but for enabled.
"""cuDNN, which computes convolutions and attention on CUDA devices if it is found and ``enabled``.

The other switches have no effect: it is always asked for algorithms that give the same bits, none
is chosen by trial, and TF32 is what ``ebb.backends.cuda.matmul.allow_tf32`` says. Without cuDNN
convolutions are ebb's own kernels.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from ebb import _C
from ebb._devices import device_count

__all__ = ["flags", "is_acceptable", "is_available", "version"]

enabled: bool  # the flag "cudnn", by the class of this module
benchmark = False
deterministic = False
allow_tf32 = True
benchmark_limit = 10


def is_available() -> bool:
    """Return whether there are CUDA devices and a cuDNN for them, for which it looks.

    Example:
        >>> ebb.backends.cudnn.is_available()
        False
    """
    return version() is not None


def version() -> int | None:
    """Return the version of the cuDNN that was found, 90102 of 9.1.2, or None.

    Example:
        >>> ebb.backends.cudnn.version() is None
        True
    """
    if device_count("cuda") == 0:
        return None
    return _C._convolution_library("cuda") or None


def is_acceptable(tensor: Any) -> bool:
    """Return whether a convolution of the tensor may be cuDNN's.

    Example:
        >>> ebb.backends.cudnn.is_acceptable(ebb.ones(1))
        False
    """
    own = sys.modules[__name__]
    return tensor.is_cuda and tensor.is_floating_point() and own.enabled and is_available()


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """Set the switches within a block: without ``enabled=True`` nothing is cuDNN's there.

    Example:
        >>> with ebb.backends.cudnn.flags(benchmark=True):
        ...     ebb.backends.cudnn.benchmark
        True
    """
    given = dict(locals())
    own = sys.modules[__name__]
    before = {name: getattr(own, name) for name in given}
    for name, value in given.items():
        setattr(own, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(own, name, value)


class _Switches(ModuleType):
    """A module whose ``enabled`` is a flag."""

    @property
    def enabled(self) -> bool:
        """Whether convolutions and attention on CUDA devices may be cuDNN's."""
        return next(value for name, _, value, *_ in _C._flags() if name == "cudnn") == "true"

    @enabled.setter
    def enabled(self, allowed: bool) -> None:
        if not isinstance(allowed, bool):
            raise _C.DTypeError(f"cudnn.enabled: needs a bool, got {type(allowed).__name__}")
        _C._set_flag("cudnn.enabled", "cudnn", "true" if allowed else "false")


sys.modules[__name__].__class__ = _Switches
