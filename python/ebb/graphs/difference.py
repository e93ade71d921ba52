# python/ebb/graphs/difference.py -- what differs between two snapshots.
#
# Nodes of the two graphs are taken for the same if they are the n-th, in forward order, of one op,
# in one module and one function of the program (leaves: of one name). Lines are left out, since an
# edit above moves them.
"""``compare`` and what it returns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ebb._base import naming as _naming
from ebb.graphs.table import module_text

if TYPE_CHECKING:
    from ebb.graphs.node import Graph, GraphNode

Change = tuple["GraphNode", "GraphNode", dict[str, tuple[Any, Any]]]


@dataclass
class Difference:
    """What appeared, vanished and changed; false if nothing did.

    An entry of ``changed`` is the node before, the node after, and a dict from "shape", "dtype",
    "device" or "saved_bytes" to the values before and after.

    Example:
        >>> x = ebb.tensor([1.0, 2.0], requires_grad=True)
        >>> before, after = ebb.graph((x * x).sum()), ebb.graph((x * x).exp().sum())
        >>> found = ebb.graphs.compare(before, after)
        >>> [node.name for node in found.appeared], found.vanished
        (['ExpBackward'], [])
    """

    appeared: list[GraphNode] = field(default_factory=list)
    vanished: list[GraphNode] = field(default_factory=list)
    changed: list[Change] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.appeared or self.vanished or self.changed)

    def __str__(self) -> str:
        lines = [f"+ {_describe(node)}" for node in self.appeared]
        lines += [f"- {_describe(node)}" for node in self.vanished]
        for before, _, fields in self.changed:
            words = (f"{name} {_text(old)} -> {_text(new)}" for name, (old, new) in fields.items())
            lines.append(f"~ {_describe(before)}: {', '.join(words)}")
        return "\n".join(lines) if lines else "no difference"


def compare(before: Graph, after: Graph) -> Difference:
    """Return what ``after`` has more, has less or has differently.

    Example:
        >>> x = ebb.tensor([1.0, 2.0], requires_grad=True)
        >>> before, after = ebb.graph((x * x).sum()), ebb.graph((x * x).exp().sum())
        >>> bool(ebb.graphs.compare(before, after)), bool(ebb.graphs.compare(before, before))
        (True, False)
    """
    ours, theirs = _keyed(before), _keyed(after)
    found = Difference(
        appeared=[node for key, node in theirs.items() if key not in ours],
        vanished=[node for key, node in ours.items() if key not in theirs],
    )
    for key, node in ours.items():
        other = theirs.get(key)
        fields = _changes(node, other) if other is not None else {}
        if fields:
            found.changed.append((node, other, fields))
    return found


def _keyed(graph: Graph) -> dict[tuple[Any, ...], GraphNode]:
    counts: Counter[tuple[Any, ...]] = Counter()
    keyed = {}
    for node in reversed(graph.nodes):
        place = node.location
        function = (place.file, place.function) if place is not None else None
        key = (node.kind, node.name, node.leaf, module_text(node), function)
        keyed[(*key, counts[key])] = node
        counts[key] += 1
    return keyed


def _changes(before: GraphNode, after: GraphNode) -> dict[str, tuple[Any, Any]]:
    pairs = {
        "shape": ([one.shape for one in before.outputs], [one.shape for one in after.outputs]),
        "dtype": ([one.dtype for one in before.outputs], [one.dtype for one in after.outputs]),
        "device": ([one.device for one in before.outputs], [one.device for one in after.outputs]),
        "saved_bytes": (
            [sum(one.bytes for one in before.saved)],
            [sum(one.bytes for one in after.saved)],
        ),
    }
    return {
        name: (old[0], new[0]) if len(old) == len(new) == 1 else (old, new)
        for name, (old, new) in pairs.items()
        if old != new
    }


def _describe(node: GraphNode) -> str:
    name = f"{node.name} {node.leaf}" if node.leaf else node.name
    place = "" if node.module is None else f" in {module_text(node)}"
    where = f" at {node.location}" if node.location is not None else ""
    return f"{name}{place}{where}"


def _text(value: Any) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


_naming.name_module(__name__)
