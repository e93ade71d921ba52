# python/ebb/nn/hooks.py -- forward hooks of modules and the handles that remove them.
"""Hooks run in order of registration; one that returns None changes nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ebb.nn.module import Module

_numbers = itertools.count()

# A hook, and whether it gets the keyword arguments too.
Hooks = dict[int, tuple[Callable, bool]]


class ForwardHooks:
    """The hooks of one module."""

    def __init__(self):
        self.before: Hooks = {}
        self.after: Hooks = {}

    def __bool__(self) -> bool:
        return bool(self.before or self.after)


class RemovableHandle:
    """Removes a hook again; also at the end of a ``with`` block."""

    def __init__(self, module: Module, hooks: Hooks):
        self._module = module
        self._hooks = hooks
        self._number = next(_numbers)

    def remove(self) -> bool:
        """Remove the hook; return whether it was still there."""
        was_there = self._hooks.pop(self._number, None) is not None
        if self._module._hooks is not None and not self._module._hooks:
            self._module._hooks = None  # the next call goes straight to forward()
        return was_there

    def add(self, hook: Callable, with_kwargs: bool, prepend: bool) -> RemovableHandle:
        """Install ``hook`` under this handle, last or first."""
        later = dict(self._hooks) if prepend else {}
        if prepend:
            self._hooks.clear()
        self._hooks[self._number] = (hook, with_kwargs)
        self._hooks.update(later)
        return self

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()


def call_with_hooks(module: Module, args: tuple, kwargs: dict) -> Any:
    """Run ``module.forward`` between its hooks."""
    hooks = module._hooks
    for hook, with_kwargs in tuple(hooks.before.values()):
        changed = hook(module, args, kwargs) if with_kwargs else hook(module, args)
        if changed is not None and with_kwargs:
            args, kwargs = changed
        elif changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    result = module.forward(*args, **kwargs)
    for hook, with_kwargs in tuple(hooks.after.values()):
        extra = (kwargs,) if with_kwargs else ()
        changed = hook(module, args, *extra, result)
        if changed is not None:
            result = changed
    return result
