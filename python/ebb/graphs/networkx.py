# python/ebb/graphs/networkx.py -- a snapshot as a graph of the package networkx, if installed.
"""Conversion for those who have algorithms there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ebb.graphs.snapshot import Snapshot


def convert(graph: Snapshot) -> Any:
    """Return a MultiDiGraph; nodes are numbers, edges point the way gradients flow."""
    try:
        import networkx
    except ImportError as error:
        raise ImportError(
            "to_networkx: needs the package networkx, got none\nhint: pip install networkx"
        ) from error
    made = networkx.MultiDiGraph()
    for node in graph:
        made.add_node(
            node.index,
            name=node.name,
            kind=node.kind,
            leaf=node.leaf,
            sequence=node.sequence,
            module=node.module,
            location=node.location,
            attributes=node.attributes,
            outputs=node.outputs,
            saved=node.saved,
            hooks=node.hooks,
        )
    for edge in graph.edges:
        made.add_edge(
            edge.source.index,
            edge.target.index,
            input=edge.input,
            output=edge.output,
            shape=edge.shape,
            dtype=edge.dtype,
            device=edge.device,
            requires_grad=edge.requires_grad,
        )
    return made
