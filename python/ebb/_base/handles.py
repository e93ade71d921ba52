# python/ebb/_base/handles.py -- the handle that removes a hook written in Python.
"""``RemovableHandle``: what registering a hook of modules or of optimizers returns."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

_numbers = itertools.count()


class RemovableHandle:
    """Removes a hook again; also at the end of a ``with`` block.

    Args:
        hooks: The hooks of its kind, by number; run in this order.
        hook: What to add to them.
        prepend: Add it before those that are there, not after.
        extra_dict: Dicts that are to hold its number too, as long as it is there; or one dict.

    Example:
        >>> layer = ebb.nn.Linear(2, 1)
        >>> handle = layer.register_forward_hook(lambda module, inputs, output: print("called"))
        >>> _ = layer(ebb.ones(1, 2))
        called
        >>> handle.remove()
        True
        >>> _ = layer(ebb.ones(1, 2))
    """

    _marks: Sequence[dict[int, Any]] = ()  # pickles of ebb before 0.2 bring none

    def __init__(
        self,
        hooks: dict[int, Any],
        hook: Any,
        prepend: bool = False,
        extra_dict: dict[int, Any] | Sequence[dict[int, Any]] = (),
    ):
        self._marks = [extra_dict] if isinstance(extra_dict, dict) else list(extra_dict)
        self._hooks = hooks
        self._number = next(_numbers)
        later = dict(hooks) if prepend else {}
        if prepend:
            hooks.clear()
        hooks[self._number] = hook
        hooks.update(later)
        for one in self._marks:
            one[self._number] = True

    @property
    def id(self) -> int:
        """A number that no other hook has."""
        return self._number

    def remove(self) -> bool:
        """Remove the hook; return whether it was still there."""
        was_there = self._number in self._hooks
        for one in (self._hooks, *self._marks):
            one.pop(self._number, None)
        return was_there

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()
