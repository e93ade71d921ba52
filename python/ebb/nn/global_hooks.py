# python/ebb/nn/global_hooks.py -- hooks that every module calls, before its own.
"""Hooks of all modules: ``register_module_forward_hook`` and its like."""

from __future__ import annotations

from collections.abc import Callable

from ebb._base.handles import RemovableHandle
from ebb.nn.hooks import add_hook
from ebb.nn.module import Module


def register_module_forward_pre_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, args)`` before the ``forward`` of every module."""
    return add_hook(Module, "before", hook)


def register_module_forward_hook(
    hook: Callable, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the ``forward`` of every module.

    Args:
        with_kwargs: Call ``hook(module, args, kwargs, output)``.
        always_call: Call it, with None as output, where ``forward`` raises an error too.
    """
    return add_hook(Module, "after", hook, with_kwargs, always=always_call)


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` for every module."""
    return add_hook(Module, "backward_before", hook)


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` for every module."""
    return add_hook(Module, "backward_after", hook)
