# python/ebb/_base/handles.py -- the handle that removes a hook written in Python.
"""``RemovableHandle``: what registering a hook of modules or of optimizers returns."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ebb._base.arguments import check_callable

_numbers = itertools.count()


class RemovableHandle:
    """Removes a hook again; also at the end of a ``with`` block.

    Args:
        hooks: The hooks of its kind, by number; run in this order.
        hook: What to add to them.
        prepend: Add it before those that are there, not after.
        when_removed: Called after the hook was removed.

    Example:
        >>> layer = ebb.nn.Linear(2, 1)
        >>> handle = layer.register_forward_hook(lambda module, inputs, output: print("called"))
        >>> _ = layer(ebb.ones(1, 2))
        called
        >>> handle.remove()
        True
        >>> _ = layer(ebb.ones(1, 2))
    """

    def __init__(
        self,
        hooks: dict[int, Any],
        hook: Any,
        prepend: bool = False,
        when_removed: Callable[[], object] | None = None,
    ):
        if when_removed is not None:
            check_callable(when_removed)
        self._hooks = hooks
        self._number = next(_numbers)
        self._when_removed = when_removed
        later = dict(hooks) if prepend else {}
        if prepend:
            hooks.clear()
        hooks[self._number] = hook
        hooks.update(later)

    @property
    def id(self) -> int:
        """A number that no other hook has."""
        return self._number

    def remove(self) -> bool:
        """Remove the hook; return whether it was still there."""
        was_there = self._number in self._hooks
        self._hooks.pop(self._number, None)
        if self._when_removed is not None:
            self._when_removed()
        return was_there

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()
