# python/ebb/autograd/_run_modes.py -- when backward() adds to leaves, and on which threads.
"""Adding to all leaves or to none; running branches of a graph on other threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ebb import _C


@contextmanager
def atomic_accumulation(enabled: bool = True) -> Iterator[None]:
    """Let ``backward()`` add to leaves only after its last node, as it does by default, or at once.

    A run that fails leaves every ``grad`` as it was, and can be repeated. With False, leaves that
    have a ``grad`` are added to as their gradients come, which takes one buffer per leaf less.

    Example:
        >>> x = ebb.tensor([1.0, 3.0], requires_grad=True)
        >>> x.grad = ebb.ones(2)
        >>> with ebb.autograd.atomic_accumulation(False):
        ...     (x * x).sum().backward()
        >>> x.grad
        tensor([3., 7.])
    """
    before = _C._set_accumulation_atomic(bool(enabled))
    try:
        yield
    finally:
        _C._set_accumulation_atomic(before)


class set_multithreading_enabled:  # noqa: N801 -- used like a function
    """Let ``backward()`` calls of this thread use other threads, or not.

    It acts at once, until further notice; as a context manager it puts the old setting back. The
    gradients are the same, bit by bit. At start it is on, unless ``EBB_PARALLEL_BACKWARD=0``.

    Example:
        >>> with ebb.autograd.set_multithreading_enabled(False):
        ...     ebb.autograd.is_multithreading_enabled()
        False
    """

    def __init__(self, mode: bool) -> None:
        self.mode: bool = bool(mode)
        self._before = _C._set_parallel_backward(self.mode)

    def __enter__(self) -> None:
        _C._set_parallel_backward(self.mode)

    def __exit__(self, *_: object) -> None:
        _C._set_parallel_backward(self._before)
