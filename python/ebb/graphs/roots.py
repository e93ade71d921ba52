# python/ebb/graphs/roots.py -- the arguments of ebb.graph(): roots of the graph, names of leaves.
"""Turns arguments of ``ebb.graph`` into flat lists."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from ebb import _C
from ebb._base.arguments import check_depth


def root_list(roots: Any) -> list[Any]:
    """Return tensors, nodes and edges in ``roots``; those without a gradient only if all are."""
    found = flat_list(roots, "graph")
    wanted = [item for item in found if not isinstance(item, _C.Tensor) or item.requires_grad]
    return wanted or found


def flat_list(roots: Any, call: str) -> list[Any]:
    """Return tensors, nodes and edges in a nesting of lists, tuples, dicts and dataclasses."""
    found = []
    stack = [(roots, 0)]
    while stack:
        item, depth = stack.pop()
        if _is_edge(item) or isinstance(item, _C.Tensor | _C.Node):
            found.append(item)
            continue
        parts = _parts(item)
        if parts is not None:
            check_depth(call, depth)
            stack += [(part, depth + 1) for part in reversed(parts)]
        elif item is roots:
            raise _C.DTypeError(f"{call}: needs tensors or edges, got {type(item).__name__}")
    return found


def _parts(item: Any) -> list[Any] | tuple[Any, ...] | None:
    """Return what a container holds, or None for anything else."""
    if isinstance(item, Mapping):
        return list(item.values())
    if isinstance(item, list | tuple):
        return item
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        return [getattr(item, part.name) for part in dataclasses.fields(item)]
    return None


def _is_edge(item: Any) -> bool:
    is_pair = isinstance(item, tuple) and len(item) == 2
    return is_pair and isinstance(item[0], _C.Node) and isinstance(item[1], int)


def named_tensors(names: Any, call: str = "graph") -> list[tuple[str, _C.Tensor]]:
    """Return pairs of a name and a tensor."""
    if names is None:
        return []
    if hasattr(names, "named_parameters"):
        return list(names.named_parameters())
    if isinstance(names, Mapping):
        names = names.items()
    if not isinstance(names, Iterable):
        raise _C.DTypeError(
            f"{call}: names needs a module, a dict or pairs, got {type(names).__name__}"
        )
    pairs = []
    for entry in names:
        name, value = entry if isinstance(entry, tuple) and len(entry) == 2 else (None, entry)
        if hasattr(value, "named_parameters"):
            prefix = f"{name}." if name else ""
            pairs += [(prefix + inner, tensor) for inner, tensor in value.named_parameters()]
        elif isinstance(name, str) and isinstance(value, _C.Tensor):
            pairs.append((name, value))
        else:
            raise _C.DTypeError(
                f"{call}: names needs names with tensors or modules, got {type(name).__name__} "
                f"with {type(value).__name__}"
            )
    return pairs
