# python/ebb/nn/pytorch_state.py -- modules out of pickles that PyTorch wrote.
#
# Attributes have the same names on both sides. PyTorch keeps parts and hooks in dicts beside them,
# under the names below; those of its hooks that serve state dicts have no use here.
"""Used by ``Module.__setstate__``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ebb.nn.module import Module

_PARTS = ("_parameters", "_buffers", "_modules")
_TRANSIENT = "_non_persistent_buffers_set"
_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
_ASIDE = (
    *("_is_full_backward_hook", "_forward_hooks_with_kwargs", "_forward_hooks_always_called"),
    *("_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks"),
    *("_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", "_backend"),
    *("_flat_weights", "_flat_weights_names", "_flat_weight_refs", "_all_weights"),
)


class StateDictHook:
    """Stands for hooks that serve PyTorch's state dicts alone: it holds what they hold."""


def take_over(module: Module, state: dict[str, Any]) -> None:
    """Give a module that has nothing yet what PyTorch's held."""
    for name, value in state.items():
        if name not in (*_PARTS, *_HOOKS, *_ASIDE, _TRANSIENT):
            object.__setattr__(module, name, value)
    for name, value in (state["_parameters"] or {}).items():
        module.register_parameter(name, value)
    transient = state.get(_TRANSIENT) or ()
    for name, value in (state.get("_buffers") or {}).items():
        module.register_buffer(name, value, persistent=name not in transient)
    for name, value in (state.get("_modules") or {}).items():
        module.add_module(name, value)
    _take_hooks(module, state)


def _take_hooks(module: Module, state: dict[str, Any]) -> None:
    before, after, backward_before, backward = (state.get(name) or {} for name in _HOOKS)
    for number, hook in before.items():
        named = number in (state.get("_forward_pre_hooks_with_kwargs") or ())
        handle = module.register_forward_pre_hook(hook, with_kwargs=named)
        if hasattr(hook, "handle"):  # of a computed weight, which removes itself by it
            hook.handle = handle
    for number, hook in after.items():
        module.register_forward_hook(
            hook,
            with_kwargs=number in (state.get("_forward_hooks_with_kwargs") or ()),
            always_call=number in (state.get("_forward_hooks_always_called") or ()),
        )
    for hook in backward_before.values():
        module.register_full_backward_pre_hook(hook)
    for hook in backward.values():
        module.register_full_backward_hook(hook)
