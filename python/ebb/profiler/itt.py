# python/ebb/profiler/itt.py -- marks for Intel's profiler, which ebb does not set.
"""``torch.profiler.itt``: takes marks and ranges and does nothing with them.

>>> import ebb.profiler.itt as itt
>>> itt.is_available()
False
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]


def is_available() -> bool:
    """Return False.

    Example:
        >>> import ebb.profiler.itt as itt
        >>> itt.is_available()
        False
    """
    return False


def mark(msg: str) -> None:
    """Do nothing: there is no such profiler.

    Example:
        >>> import ebb.profiler.itt as itt
        >>> itt.mark("here")
    """
    del msg


def range_push(msg: str) -> None:
    """Do nothing: there is no such profiler.

    Example:
        >>> import ebb.profiler.itt as itt
        >>> itt.range_push("step")
    """
    del msg


def range_pop() -> None:
    """Do nothing: there is no such profiler.

    Example:
        >>> import ebb.profiler.itt as itt
        >>> itt.range_pop()
    """


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Do nothing around a block.

    Example:
        >>> import ebb.profiler.itt as itt
        >>> with itt.range("step"):
        ...     ebb.ones(1) + 1
        tensor([2.])
    """
    del msg, args, kwargs
    yield
