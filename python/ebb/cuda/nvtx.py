# python/ebb/cuda/nvtx.py -- marks for NVIDIA's profiler, which ebb does not set.
"""``torch.cuda.nvtx``: takes marks and ranges and does nothing with them.

>>> with ebb.cuda.nvtx.range("step"):
...     ebb.cuda.nvtx.mark("here")
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["mark", "range", "range_pop", "range_push"]


def mark(msg: str) -> None:
    """Do nothing: there is no such profiler.

    Example:
        >>> ebb.cuda.nvtx.mark("here")
    """
    del msg


def range_push(msg: str) -> int:
    """Return 0: there is no such profiler.

    Example:
        >>> ebb.cuda.nvtx.range_push("step")
        0
    """
    del msg
    return 0


def range_pop() -> int:
    """Return 0: there is no such profiler.

    Example:
        >>> ebb.cuda.nvtx.range_pop()
        0
    """
    return 0


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Do nothing around a block.

    Example:
        >>> with ebb.cuda.nvtx.range("step"):
        ...     ebb.ones(1) + 1
        tensor([2.])
    """
    del msg, args, kwargs
    yield
