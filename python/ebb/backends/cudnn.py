# python/ebb/backends/cudnn.py -- switches of cuDNN; kept, without effect.
"""cuDNN, which computes convolutions on CUDA devices where it is found, whatever these say.

It is always asked for algorithms that give the same bits, none is chosen by trial, and TF32 is what
``ebb.backends.cuda.matmul.allow_tf32`` says. The variable ``EBB_CUDNN_LIBRARY=0`` leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["flags", "is_acceptable", "is_available", "version"]

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True
benchmark_limit = 10


def is_available() -> bool:
    """Return False.

    Example:
        >>> ebb.backends.cudnn.is_available()
        False
    """
    return False


def version() -> int | None:
    """Return None: there is no cuDNN.

    Example:
        >>> ebb.backends.cudnn.version() is None
        True
    """
    return None


def is_acceptable(tensor: Any) -> bool:
    """Return False: no tensor is computed with by cuDNN.

    Example:
        >>> ebb.backends.cudnn.is_acceptable(ebb.ones(1))
        False
    """
    del tensor
    return False


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """Keep the switches within a block.

    Example:
        >>> with ebb.backends.cudnn.flags(benchmark=True):
        ...     ebb.backends.cudnn.benchmark
        True
    """
    given = dict(locals())
    before = {name: globals()[name] for name in given}
    globals().update(given)
    try:
        yield
    finally:
        globals().update(before)
