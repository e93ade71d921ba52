# python/ebb/optim/hooks.py -- the handle that removes an optimizer's hook.
"""Hooks run in order of registration."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from ebb._callables import check_callable

_numbers = itertools.count()


class RemovableHandle:
    """Removes a hook again; also at the end of a ``with`` block."""

    def __init__(self, hooks: dict[int, Callable], hook: Callable):
        check_callable(hook)
        self._hooks = hooks
        self._number = next(_numbers)
        hooks[self._number] = hook

    def remove(self) -> bool:
        """Remove the hook; return whether it was still there."""
        return self._hooks.pop(self._number, None) is not None

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()
