# python/ebb/nn/traversal.py -- walking and printing trees of modules.
"""Walks go parents first, in order of registration, and meet a shared module once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

from ebb import _C
from ebb._C import Tensor
from ebb.nn.module_base import ModuleBase


def walk(
    root: ModuleBase, prefix: str = "", once: bool = True, memo: set[ModuleBase] | None = None
) -> Iterator[tuple[str, ModuleBase]]:
    """Yield every module at and below ``root`` with its dotted name, but those in ``memo``."""
    if not once:
        check_is_tree(root)
    seen = set() if memo is None else memo
    stack = [(prefix, root)]
    while stack:
        name, module = stack.pop()
        if once:
            if module in seen:
                continue
            seen.add(module)
        yield name, module
        if children := module._modules:
            stack += [
                (join(name, child_name), child)
                for child_name, child in reversed(children.items())
                if child is not None
            ]


def check_is_tree(root: ModuleBase) -> None:
    """Refuse a module that holds itself: who meets shared modules again would find no end.

    Programs can make one by writing into ``_modules``.
    """
    above: set[int] = set()
    done: set[int] = set()
    stack = [(root, False)]
    while stack:
        module, is_left = stack.pop()
        if is_left:
            above.remove(id(module))
            done.add(id(module))
        elif id(module) in above:
            raise _C.ValueError(
                f"{type(root).__name__}: needs modules that do not hold themselves, got a "
                f"{type(module).__name__} that does"
            )
        elif id(module) not in done:
            above.add(id(module))
            stack.append((module, True))
            stack += [(child, False) for child in module._modules.values() if child is not None]


def join(prefix: str, name: str) -> str:
    """Return ``name`` as seen from above ``prefix``."""
    return f"{prefix}.{name}" if prefix else name


def named_tensors(
    root: ModuleBase, registry: str, prefix: str, recurse: bool, once: bool
) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of one registry ("_parameters" or "_buffers") with their dotted names."""
    seen = set()
    for path, module in walk(root, prefix, once) if recurse else [(prefix, root)]:
        for name, tensor in getattr(module, registry).items():
            if tensor is None or (once and id(tensor) in seen):
                continue
            seen.add(id(tensor))
            yield join(path, name), tensor


def note_paths(module: ModuleBase, path: str) -> None:
    """Let errors and graphs call the tensors of ``module`` by their dotted names.

    ``path`` is the module's own; of the outermost, "", the tensors of all modules below follow.
    """
    for registry in ("_parameters", "_buffers"):
        for name, tensor in named_tensors(module, registry, path, not path, True):
            _C._set_module_path(tensor, name)


# A name and a class for each step; by module, then by the identity of what is below it.
Steps = tuple[tuple[str, str], ...]
_known_steps: WeakKeyDictionary[ModuleBase, dict[int, Steps]] = WeakKeyDictionary()


def steps_to(root: ModuleBase, target: ModuleBase) -> list[tuple[str, str]]:
    """Return name and class of each module on the shortest way from ``root`` down to ``target``.

    A module that is no part of ``root`` is one step, named by its class; ``root`` itself is none.
    """
    steps = _known_steps.get(root, {}).get(id(target))
    if steps is None or not _leads(root, steps, target):
        steps = _look_below(root, target)
    return list(steps)


def _leads(root: ModuleBase, steps: Steps, target: ModuleBase) -> bool:
    module: Any = root
    for name, _ in steps:
        module = getattr(module, name, None)
    return module is target


def _look_below(root: ModuleBase, target: ModuleBase) -> Steps:
    """Go down level by level, and remember all that was seen on the way."""
    seen: dict[int, Steps] = {id(root): ()}
    level: list[tuple[ModuleBase, Steps]] = [(root, ())]
    while level and id(target) not in seen:
        below = []
        for module, steps in level:
            for name, child in module._modules.items():
                if child is not None and id(child) not in seen:
                    seen[id(child)] = (*steps, (name, type(child).__name__))
                    below.append((child, seen[id(child)]))
        level = below
    kind = type(target).__name__
    _known_steps[root] = seen
    return seen.get(id(target), ((kind, kind),))


def represent(root: ModuleBase) -> str:
    """Return the tree as text, in PyTorch's layout; of what holds itself the name alone."""
    done: dict[int, str] = {}
    begun: set[int] = set()
    stack = [root]
    while stack:
        module = stack[-1]
        begun.add(id(module))
        children = [child for child in module._modules.values() if child is not None]
        waiting = [child for child in children if id(child) not in begun]
        if waiting:
            stack += waiting
        else:
            done[id(module)] = _one(module, done)
            stack.pop()
    return done[id(root)]


def _runs(texts: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Give neighbours of one text as one: ("0-5", "6 x Block(...)")."""
    for text, run in itertools.groupby(texts, lambda one: one[1]):
        names = [name for name, _ in run]
        if len(names) == 1:
            yield names[0], text
        else:
            yield f"{names[0]}-{names[-1]}", f"{len(names)} x {text}"


def _known(module: ModuleBase, done: dict[int, str]) -> str:
    return done.get(id(module), f"{type(module).__name__}(...)")


def _one(module: ModuleBase, done: dict[int, str]) -> str:
    extra = module.extra_repr()
    lines = extra.split("\n") if extra else []
    texts = [
        (name, "None" if child is None else _known(child, done).replace("\n", "\n  "))
        for name, child in module._modules.items()
    ]
    shown = _runs(texts) if getattr(type(module), "_shows_runs", False) else texts
    children = [f"({name}): {text}" for name, text in shown]
    if len(lines) == 1 and not children:
        return f"{type(module).__name__}({extra})"
    if not lines and not children:
        return f"{type(module).__name__}()"
    return f"{type(module).__name__}(\n  " + "\n  ".join(lines + children) + "\n)"
