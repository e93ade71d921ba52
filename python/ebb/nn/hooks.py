# python/ebb/nn/hooks.py -- hooks of one module and of all.
#
# They are in tables by number: a module's among its attributes (module_base.py), those of all
# modules in `of_all`, under the same names. A call looks whether a table has any before it comes
# here (python/src/parts/module_call.cpp).
"""Hooks run in order of registration; one that returns None changes nothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from ebb import _C
from ebb._base.arguments import check_callable
from ebb._base.handles import RemovableHandle
from ebb.nn.backward_hooks import BackwardHooks
from ebb.nn.module_base import CALL_HOOKS, ModuleBase, table_of
from ebb.nn.older_state import ModuleHooks as ModuleHooks, forget

_forget = forget  # pickles of ebb before 0.2 name it here, as they do ModuleHooks

Tables = Mapping[str, dict[int, Any]]
of_all: dict[str, dict[int, Any]] = {name: {} for name in CALL_HOOKS}


def add_hook(
    owner: ModuleBase | None,
    kind: str,
    hook: Callable[..., Any],
    with_kwargs: bool = False,
    prepend: bool = False,
    always: bool = False,
) -> RemovableHandle:
    """Install a hook of a module or, for None, of all, after or before those it has.

    Args:
        kind: The name of its table.
        always: Call it where ``forward`` fails too, if it comes after that.
    """
    check_callable(hook)
    names = [f"{kind}_with_kwargs"] if with_kwargs else []
    names += ["_forward_hooks_always_called"] if always else []
    table, *marks = (
        of_all[name] if owner is None else table_of(owner, name) for name in (kind, *names)
    )
    return RemovableHandle(table, hook, prepend, marks)


def call_with_hooks(module: ModuleBase, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> Any:
    """Run ``module.forward`` between its hooks, after those of all modules."""
    both = (of_all, vars(module))
    if not any(_table(one, "_forward_hooks_always_called") for one in both):
        return _call(module, both, args, kwargs, set())
    done: set[int] = set()
    try:
        return _call(module, both, args, kwargs, done)
    except Exception:
        _run_those_left(module, both, args, kwargs, done)
        raise


def _table(tables: Tables, name: str) -> dict[int, Any]:
    """Return a table; a module whose ``__init__`` never ran has none."""
    return tables.get(name) or {}


def _call(
    module: ModuleBase,
    both: tuple[Tables, ...],
    args: tuple[Any, ...],
    kwargs: dict[Any, Any],
    done: set[int],
) -> Any:
    for hook, with_kwargs, _ in _hooks(both, "_forward_pre_hooks"):
        changed = hook(module, args, kwargs) if with_kwargs else hook(module, args)
        if changed is not None and with_kwargs:
            args, kwargs = changed
        elif changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    backward = _backward_hooks(module, both, args)
    result = module.forward(*args, **kwargs)
    for hook, with_kwargs, number in _hooks(both, "_forward_hooks"):
        done.add(number)
        extra = (kwargs,) if with_kwargs else ()
        changed = hook(module, args, *extra, result)
        if changed is not None:
            result = changed
    if backward is not None:
        result = backward.attach(result)
    return result


def _hooks(both: tuple[Tables, ...], kind: str) -> list[tuple[Callable[..., Any], bool, int]]:
    """Return the hooks of a kind, those of all modules first; whether each gets the keywords."""
    return [
        (hook, number in _table(tables, f"{kind}_with_kwargs"), number)
        for tables in both
        for number, hook in _table(tables, kind).items()
    ]


def _backward_hooks(
    module: ModuleBase, both: tuple[Tables, ...], args: tuple[Any, ...]
) -> BackwardHooks | None:
    before = [hook for one in both for hook in _table(one, "_backward_pre_hooks").values()]
    after = [hook for one in both for hook in _table(one, "_backward_hooks").values()]
    if not (before or after) or not _C.is_grad_enabled():
        return None
    return BackwardHooks(module, before, after, args)


def _run_those_left(
    module: ModuleBase,
    both: tuple[Tables, ...],
    args: tuple[Any, ...],
    kwargs: dict[Any, Any],
    done: set[int],
) -> None:
    """Run hooks that are always to be called, without an output; their own errors are warnings."""
    for tables in both:
        always = _table(tables, "_forward_hooks_always_called")
        for hook, with_kwargs, number in _hooks((tables,), "_forward_hooks"):
            if number not in always or number in done:
                continue
            try:
                hook(module, args, *((kwargs,) if with_kwargs else ()), None)
            except Exception as error:
                warnings.warn(
                    f"a hook that is always called failed after an error in forward: {error}",
                    stacklevel=2,
                )
