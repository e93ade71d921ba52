# python/ebb/nn/hooks.py -- forward hooks of modules and the handles that remove them.
"""Hooks run in order of registration; one that returns None changes nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ebb.nn.module import Module

_numbers = itertools.count()


class ForwardHooks:
    """The hooks of one module."""

    def __init__(self):
        self.before: dict[int, Callable] = {}
        self.after: dict[int, Callable] = {}

    def __bool__(self) -> bool:
        return bool(self.before or self.after)


class RemovableHandle:
    """Removes a hook again."""

    def __init__(self, module: Module, hooks: dict[int, Callable]):
        self._module = module
        self._hooks = hooks
        self._number = next(_numbers)

    def remove(self) -> bool:
        """Remove the hook; return whether it was still there."""
        was_there = self._hooks.pop(self._number, None) is not None
        if self._module._hooks is not None and not self._module._hooks:
            self._module._hooks = None  # the next call goes straight to forward()
        return was_there

    def add(self, hook: Callable) -> RemovableHandle:
        """Install ``hook`` under this handle."""
        self._hooks[self._number] = hook
        return self

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()


def call_with_hooks(module: Module, args: tuple, kwargs: dict) -> Any:
    """Run ``module.forward`` between its hooks."""
    hooks = module._hooks
    for hook in tuple(hooks.before.values()):
        changed = hook(module, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    result = module.forward(*args, **kwargs)
    for hook in tuple(hooks.after.values()):
        changed = hook(module, args, result)
        if changed is not None:
            result = changed
    return result
