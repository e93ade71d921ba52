# python/ebb/nn/state_hooks.py -- hooks around state_dict() and load_state_dict().
"""What programs put between a module and its state, under PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ebb._base.arguments import check_callable
from ebb._base.handles import RemovableHandle
from ebb.nn.module_base import ModuleBase, table_of
from ebb.nn.older_state import StateHooks as StateHooks

# Pickles of ebb before 0.2 name StateHooks here.


class StateHooked(ModuleBase):
    """What registers such hooks. Base of ``Module``."""

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before ``state_dict`` reads this module."""
        return _add(self, "_state_dict_pre_hooks", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after those of its parts.

        It may change ``state_dict`` in place.
        """
        return _add(self, "_state_dict_hooks", hook)

    _register_state_dict_hook = register_state_dict_post_hook

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook`` before ``load_state_dict`` looks for the values of this module.

        It is called as ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)`` and may change the dict, which is a copy, and the lists.
        """
        return _add(self, "_load_state_dict_pre_hooks", hook)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        if with_module:
            return _add(self, "_load_state_dict_pre_hooks", hook)
        check_callable(hook)
        return _add(self, "_load_state_dict_pre_hooks", _WithoutModule(hook))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` when its values, and its parts', are loaded.

        It may change ``missing_keys`` and ``unexpected_keys`` in place; what is left in them is an
        error if ``load_state_dict`` is strict.
        """
        return _add(self, "_load_state_dict_post_hooks", hook)


class _WithoutModule:
    """A hook that is not told the module; an object, so that copies of a module have their own."""

    def __init__(self, hook: Callable[..., Any]):
        self.hook = hook

    def __call__(self, module: ModuleBase, *rest: Any) -> None:
        self.hook(*rest)


def _add(module: ModuleBase, kind: str, hook: Callable[..., Any]) -> RemovableHandle:
    check_callable(hook)
    return RemovableHandle(table_of(module, kind), hook)
