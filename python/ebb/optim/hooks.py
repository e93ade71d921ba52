# python/ebb/optim/hooks.py -- hooks that run before and after steps of optimizers.
"""Hooks run in order of registration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ebb import _C
from ebb._base.arguments import check_callable
from ebb._base.handles import RemovableHandle


def _added(
    hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any], prepend: bool = False
) -> RemovableHandle:
    check_callable(hook)
    return RemovableHandle(hooks, hook, prepend)


# Of all optimizers; they run before an optimizer's own.
ALL_BEFORE: dict[int, Callable[..., Any]] = {}
ALL_AFTER: dict[int, Callable[..., Any]] = {}


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before each step of any optimizer.

    Example:
        >>> from ebb.optim import optimizer
        >>> def tell(optimizer, args, kwargs):
        ...     print("a step of", type(optimizer).__name__)
        >>> handle = optimizer.register_optimizer_step_pre_hook(tell)
        >>> ebb.optim.SGD([ebb.nn.Parameter(ebb.ones(1))], lr=0.1).step()
        a step of SGD
        >>> handle.remove()
    """
    return _added(ALL_BEFORE, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after each step of any optimizer.

    Example:
        >>> from ebb.optim import optimizer
        >>> def tell(optimizer, args, kwargs):
        ...     print("stepped")
        >>> handle = optimizer.register_optimizer_step_post_hook(tell)
        >>> ebb.optim.SGD([ebb.nn.Parameter(ebb.ones(1))], lr=0.1).step()
        stepped
        >>> handle.remove()
    """
    return _added(ALL_AFTER, hook)


class OptimizerHooks:
    """What registers hooks around steps and states. Base of ``Optimizer``."""

    _hooks_before: dict[int, Callable[..., Any]]
    _hooks_after: dict[int, Callable[..., Any]]
    _state_hooks: dict[str, dict[int, Callable[..., Any]]]

    def _prepare_hooks(self) -> None:
        self._hooks_before = {}
        self._hooks_after = {}
        self._state_hooks = {
            kind: {}
            for kind in ("before_saving", "after_saving", "before_loading", "after_loading")
        }

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step.

        A pair that it returns replaces the arguments of ``step``.
        """
        return _added(self._hooks_before, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return _added(self._hooks_after, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` before ``state_dict``.

        Args:
            prepend: Run it before those that are there.
        """
        return _added(self._state_hooks["before_saving"], hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before ``state_dict`` returns.

        A dict that it returns takes the place of that dict.

        Args:
            prepend: Run it before those that are there.
        """
        return _added(self._state_hooks["after_saving"], hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before ``load_state_dict``, with a shallow copy.

        A dict that it returns takes the place of that dict.

        Args:
            prepend: Run it before those that are there.
        """
        return _added(self._state_hooks["before_loading"], hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` after ``load_state_dict``.

        Args:
            prepend: Run it before those that are there.
        """
        return _added(self._state_hooks["after_loading"], hook, prepend)

    def _passed_on(self, kind: str, state: Any) -> Any:
        """Return a state as the hooks of a kind leave it."""
        for hook in tuple(self._state_hooks[kind].values()):
            changed = hook(self, state)
            state = state if changed is None else changed
        return state

    def _call_state_hooks(self, kind: str) -> None:
        for hook in tuple(self._state_hooks[kind].values()):
            hook(self)

    def _run_hooks_before(
        self, args: tuple[Any, ...], kwargs: dict[Any, Any]
    ) -> tuple[tuple[Any, ...], dict[Any, Any]]:
        for hook in (*ALL_BEFORE.values(), *self._hooks_before.values()):
            changed = hook(self, args, kwargs)
            if changed is None:
                continue
            if not isinstance(changed, tuple) or len(changed) != 2:
                raise _C.DTypeError(
                    "step: needs a pre-hook to return None or (args, kwargs), "
                    f"got {type(changed).__name__}"
                )
            args, kwargs = changed
        return args, kwargs

    def _run_hooks_after(self, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> None:
        for hook in (*self._hooks_after.values(), *ALL_AFTER.values()):
            hook(self, args, kwargs)
