# python/ebb/nn/global_hooks.py -- hooks that every module calls, before its own.
"""Hooks of all modules: ``register_module_forward_hook`` and its like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ebb._base.handles import RemovableHandle
from ebb.nn.hooks import add_hook


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args)`` before the ``forward`` of every module.

    Example:
        >>> def show(module, args):
        ...     print(type(module).__name__, list(args[0].shape))
        >>> with ebb.nn.register_module_forward_pre_hook(show):
        ...     y = ebb.nn.Linear(2, 3)(ebb.ones(1, 2))
        Linear [1, 2]
    """
    return add_hook(None, "_forward_pre_hooks", hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the ``forward`` of every module.

    Args:
        with_kwargs: Call ``hook(module, args, kwargs, output)``.
        always_call: Call it, with None as output, where ``forward`` raises an error too.

    Example:
        >>> def show(module, args, output):
        ...     print(type(module).__name__, list(output.shape))
        >>> with ebb.nn.register_module_forward_hook(show):
        ...     y = ebb.nn.Linear(2, 3)(ebb.ones(1, 2))
        Linear [1, 3]
    """
    return add_hook(None, "_forward_hooks", hook, with_kwargs, always=always_call)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` for every module.

    Example:
        >>> def show(module, grad_output):
        ...     print(type(module).__name__, grad_output[0].tolist())
        >>> with ebb.nn.register_module_full_backward_pre_hook(show):
        ...     ebb.nn.Identity()(ebb.ones(2, requires_grad=True)).sum().backward()
        Identity [1.0, 1.0]
    """
    return add_hook(None, "_backward_pre_hooks", hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` for every module.

    Example:
        >>> def show(module, grad_input, grad_output):
        ...     print(type(module).__name__, grad_output[0].tolist())
        >>> with ebb.nn.register_module_full_backward_hook(show):
        ...     ebb.nn.Identity()(ebb.ones(2, requires_grad=True)).sum().backward()
        Identity [1.0, 1.0]
    """
    return add_hook(None, "_backward_hooks", hook)
