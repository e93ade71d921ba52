# python/ebb/nn/state_hooks.py -- hooks around state_dict() and load_state_dict().
"""What programs put between a module and its state, under PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ebb._base.arguments import check_callable
from ebb._base.handles import RemovableHandle
from ebb.nn.attributes import dict_of

if TYPE_CHECKING:
    from ebb.nn.module import Module


class StateHooks:
    """The hooks of one module, in order of registration."""

    def __init__(self) -> None:
        self.before_saving: dict[int, Callable[..., Any]] = {}
        self.after_saving: dict[int, Callable[..., Any]] = {}
        self.before_loading: dict[int, Callable[..., Any]] = {}
        self.after_loading: dict[int, Callable[..., Any]] = {}


_none = StateHooks()


def hooks_of(module: Module) -> StateHooks:
    """Return the hooks of a module; not to be added to."""
    return dict_of(module).get("_state_hooks", _none)


class StateHooked:
    """What registers such hooks. Base of ``Module``."""

    __slots__ = ()

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before ``state_dict`` reads this module."""
        return _add(self, "before_saving", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after those of its parts.

        It may change ``state_dict`` in place.
        """
        return _add(self, "after_saving", hook)

    _register_state_dict_hook = register_state_dict_post_hook

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook`` before ``load_state_dict`` looks for the values of this module.

        It is called as ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)`` and may change the dict, which is a copy, and the lists.
        """
        return _add(self, "before_loading", hook)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        if with_module:
            return _add(self, "before_loading", hook)
        check_callable(hook)
        return _add(self, "before_loading", _WithoutModule(hook))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` when its values, and its parts', are loaded.

        It may change ``missing_keys`` and ``unexpected_keys`` in place; what is left in them is an
        error if ``load_state_dict`` is strict.
        """
        return _add(self, "after_loading", hook)


class _WithoutModule:
    """A hook that is not told the module; an object, so that copies of a module have their own."""

    def __init__(self, hook: Callable[..., Any]):
        self.hook = hook

    def __call__(self, module: Module, *rest: Any) -> None:
        self.hook(*rest)


def _add(module: Any, kind: str, hook: Callable[..., Any]) -> RemovableHandle:
    check_callable(hook)
    hooks = dict_of(module).get("_state_hooks")
    if hooks is None:
        hooks = StateHooks()
        object.__setattr__(module, "_state_hooks", hooks)
    found: dict[int, Any] = getattr(hooks, kind)
    return RemovableHandle(found, hook)
