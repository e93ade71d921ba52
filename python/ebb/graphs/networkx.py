# python/ebb/graphs/networkx.py -- a snapshot as a graph of the package networkx, if installed.
"""Conversion for those who have algorithms there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebb.graphs.node import FIELDS

if TYPE_CHECKING:
    from ebb.graphs.node import Graph

ENDS = ("source", "target")


def convert(graph: Graph) -> Any:
    """Return a MultiDiGraph; nodes are numbers, edges point the way gradients flow."""
    try:
        import networkx
    except ImportError as error:
        raise ImportError(
            "to_networkx: needs the package networkx, got none\nhint: pip install networkx"
        ) from error
    made = networkx.MultiDiGraph()
    names = (*FIELDS, *graph.further_fields)
    for node in graph:
        base = None if node.base is None else node.base.index
        made.add_node(node.index, base=base, **{name: getattr(node, name) for name in names})
    for edge in graph.edges:
        flow = {name: value for name, value in edge._asdict().items() if name not in ENDS}
        made.add_edge(edge.source.index, edge.target.index, **flow)
    return made
