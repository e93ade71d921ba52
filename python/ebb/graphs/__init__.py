# python/ebb/graphs/__init__.py -- ebb.graph(): a snapshot of the backward graph.
#
# The rest of the package comes when a snapshot is first taken, or asked for by name, so that
# `import ebb` stays short.
"""``ebb.graph(loss, model)`` copies what is recorded behind ``loss`` into tables.

The snapshot can be searched, compared, printed, drawn and written as JSON (docs/graph.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebb import _C

if TYPE_CHECKING:
    from ebb.graphs.difference import Difference, compare
    from ebb.graphs.node import GraphEdge, GraphNode, Hooks, Location, Output, Saved
    from ebb.graphs.snapshot import Snapshot

_HOMES = {
    "difference": ("Difference", "compare"),
    "node": ("GraphEdge", "GraphNode", "Hooks", "Location", "Output", "Saved"),
    "snapshot": ("Snapshot",),
}

__all__ = [
    "Difference",
    "GraphEdge",
    "GraphNode",
    "Hooks",
    "Location",
    "Output",
    "Saved",
    "Snapshot",
    "compare",
    "graph",
]


def graph(roots: Any, names: Any = None) -> Snapshot:
    """Return a snapshot of everything recorded behind ``roots``.

    It holds neither tensors nor nodes, so it neither keeps memory nor changes later.

    Args:
        roots: A tensor, a GradientEdge or a Node, or lists, tuples and dicts of them, such as
            what a module returns. In those, whatever requires no gradient is left out.
        names: Where leaves get their names: a module, a dict of tensors or modules, or pairs of
            a name and a tensor. A tensor's own ``name`` is used where this has none.
    Raises:
        AutogradError: If no root requires a gradient.
    Example:
        >>> x = ebb.tensor([1.0, 2.0], requires_grad=True)
        >>> len(ebb.graph((x * x).sum(), {"x": x}))
        3
    """
    from ebb.graphs.roots import named_tensors, root_list
    from ebb.graphs.snapshot import Snapshot

    return Snapshot(_C._take_snapshot(root_list(roots), named_tensors(names)))


def __getattr__(name: str) -> Any:
    import importlib

    for home, names in _HOMES.items():
        if name in names:
            found = getattr(importlib.import_module(f"{__name__}.{home}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
