# python/ebb/autograd/_threads.py -- whether backward() may use several threads.
"""The switch for running branches of a graph on other threads."""

from __future__ import annotations

from ebb import _C


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
        self.mode = bool(mode)
        self._before = _C._set_parallel_backward(self.mode)

    def __enter__(self) -> None:
        _C._set_parallel_backward(self.mode)

    def __exit__(self, *_: object) -> None:
        _C._set_parallel_backward(self._before)
