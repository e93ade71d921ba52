# python/ebb/nn/hooks.py -- hooks of one module and of all.
#
# A module without hooks has no `_hooks` of its own and finds the class's, which is None: one look
# decides. While hooks of all modules are there, that of the class is `for_all`.
"""Hooks run in order of registration; one that returns None changes nothing."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from ebb import _C
from ebb._base.arguments import check_callable
from ebb._base.handles import RemovableHandle
from ebb.nn.attributes import dict_of
from ebb.nn.backward_hooks import BackwardHooks

if TYPE_CHECKING:
    from ebb.nn.module import Module

# A hook, and whether it gets the keyword arguments too.
Hooks = dict[int, tuple[Callable[..., Any], bool]]


class ModuleHooks:
    """The hooks of one module, or of all."""

    def __init__(self):
        self.before: Hooks = {}
        self.after: Hooks = {}
        self.backward_before: Hooks = {}
        self.backward_after: Hooks = {}
        self.always_after: set[int] = set()  # of `after`, those that a failed forward runs too

    def __bool__(self) -> bool:
        return bool(self.before or self.after or self.backward_before or self.backward_after)


for_all: ModuleHooks = ModuleHooks()
_none = ModuleHooks()


def hooks_of(owner: Any) -> ModuleHooks:
    """The hooks of a module, made if there are none; those of all modules for the class."""
    if isinstance(owner, type):
        owner._hooks = for_all
        return for_all
    own = dict_of(owner).get("_hooks")
    if own is None:
        own = ModuleHooks()
        object.__setattr__(owner, "_hooks", own)
    return own


def _forget(owner: Any) -> None:
    """Let the next call go straight to forward() if no hook is left."""
    if not isinstance(owner, type):
        if not dict_of(owner).get("_hooks", True):
            del dict_of(owner)["_hooks"]
    elif not for_all:
        owner._hooks = None


def add_hook(
    owner: Any,
    kind: str,
    hook: Callable[..., Any],
    with_kwargs: bool = False,
    prepend: bool = False,
    always: bool = False,
) -> RemovableHandle:
    """Install a hook of a module or, for the class, of all, after or before those it has.

    Args:
        kind: The attribute of ``ModuleHooks``.
        always: Call it where ``forward`` fails too, if it comes after that.
    """
    check_callable(hook)
    own = hooks_of(owner)
    forget = functools.partial(_forget, owner)
    handle = RemovableHandle(getattr(own, kind), (hook, with_kwargs), prepend, forget)
    if always:
        own.always_after.add(handle.id)
    return handle


class HookTable(MutableMapping[int, Any]):
    """The hooks of one module and kind by number, under the name that PyTorch's programs ask for.

    ``shown_as`` of a hook, if it has one, is what they see in its place.
    """

    def __init__(self, owner: Module, kind: str):
        self._owner = owner
        self._kind = kind

    def _hooks(self) -> Hooks:
        return getattr(dict_of(self._owner).get("_hooks") or _none, self._kind)

    def __getitem__(self, number: int) -> Callable[..., Any]:
        hook = self._hooks()[number][0]
        return getattr(hook, "shown_as", hook)

    def __setitem__(self, number: int, hook: Callable[..., Any]) -> None:
        check_callable(hook)
        getattr(hooks_of(self._owner), self._kind)[number] = (hook, False)

    def __delitem__(self, number: int) -> None:
        del self._hooks()[number]
        _forget(self._owner)

    def __iter__(self) -> Iterator[int]:
        return iter(list(self._hooks()))

    def __len__(self) -> int:
        return len(self._hooks())

    def __repr__(self) -> str:
        return repr(dict(self))


def hook_table(kind: str) -> property:
    """Return the attribute of modules that is the table of the hooks of a kind."""

    def get(self: Module) -> HookTable:
        return HookTable(self, kind)

    def put(self: Module, hooks: Mapping[int, Callable[..., Any]]) -> None:
        given = dict(hooks)
        table = HookTable(self, kind)
        table.clear()
        table.update(given)

    return property(get, put)


def _backward_hooks(
    module: Module, own: ModuleHooks, args: tuple[Any, ...]
) -> BackwardHooks | None:
    before = [
        hook for hook, _ in (*for_all.backward_before.values(), *own.backward_before.values())
    ]
    after = [hook for hook, _ in (*for_all.backward_after.values(), *own.backward_after.values())]
    if not (before or after) or not _C.is_grad_enabled():
        return None
    return BackwardHooks(module, before, after, args)


def call_with_hooks(module: Module, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> Any:
    """Run ``module.forward`` between its hooks, after those of all modules."""
    own = dict_of(module).get("_hooks") or _none
    if not (for_all.always_after or own.always_after):
        return _call(module, own, args, kwargs, set())
    done: set[int] = set()
    try:
        return _call(module, own, args, kwargs, done)
    except Exception:
        _run_those_left(module, own, args, kwargs, done)
        raise


def _call(
    module: Module, own: ModuleHooks, args: tuple[Any, ...], kwargs: dict[Any, Any], done: set[int]
) -> Any:
    for hook, with_kwargs in (*for_all.before.values(), *own.before.values()):
        changed = hook(module, args, kwargs) if with_kwargs else hook(module, args)
        if changed is not None and with_kwargs:
            args, kwargs = changed
        elif changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    backward = _backward_hooks(module, own, args)
    result = module.forward(*args, **kwargs)
    for number, (hook, with_kwargs) in (*for_all.after.items(), *own.after.items()):
        done.add(number)
        extra = (kwargs,) if with_kwargs else ()
        changed = hook(module, args, *extra, result)
        if changed is not None:
            result = changed
    if backward is not None:
        result = backward.attach(result)
    return result


def _run_those_left(
    module: Module, own: ModuleHooks, args: tuple[Any, ...], kwargs: dict[Any, Any], done: set[int]
) -> None:
    """Run hooks that are always to be called, without an output; their own errors are warnings."""
    for hooks in (for_all, own):
        for number in sorted(hooks.always_after - done):
            hook, with_kwargs = hooks.after.get(number, (None, False))
            if hook is None:  # removed
                continue
            try:
                hook(module, args, *((kwargs,) if with_kwargs else ()), None)
            except Exception as error:
                warnings.warn(
                    f"a hook that is always called failed after an error in forward: {error}",
                    stacklevel=2,
                )
