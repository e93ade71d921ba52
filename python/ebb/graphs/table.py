# python/ebb/graphs/table.py -- a snapshot as a table, and in a few lines.
"""Text for the terminal."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ebb import _C

if TYPE_CHECKING:
    from ebb.graphs.node import Graph, GraphNode

NO_MODULE, NO_LINE = "(no module)", "(unknown)"


def size(count: int) -> str:
    """Return bytes in a unit that leaves few digits."""
    value, units = float(count), ["B", "kB", "MB", "GB", "TB"]
    while value >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.0f} {units[0]}" if units[0] == "B" else f"{value:.1f} {units[0]}"


def duration(ns: float) -> str:
    """Return a time in a unit that leaves few digits."""
    value, units = float(ns), ["ns", "us", "ms", "s"]
    while value >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.0f} {units[0]}" if units[0] == "ns" else f"{value:.1f} {units[0]}"


def tensor_text(dtype: str, shape: tuple[int, ...]) -> str:
    """Return a tensor's look: float32 [2, 3]."""
    return f"{dtype} {list(shape)}"


def module_text(node: GraphNode) -> str:
    """Return the path of a node's module; of the outermost, its class."""
    return NO_MODULE if node.module is None else node.module or node.module_type or "(outermost)"


def group_of(node: GraphNode, by: str) -> str:
    """Return what a node counts for."""
    if by == "op":
        return node.name
    if by == "module":
        return module_text(node)
    if by == "line":
        return str(node.location or NO_LINE)
    raise _C.ValueError(f"graph: by needs op, module or line, got {by!r}")


def render(graph: Graph, by: str | None, limit: int | None) -> str:
    """Return the table of ``Snapshot.table``."""
    if by is not None:
        return _grouped(graph, by, limit)
    head, sides = ("#", "node", "output", "module", "line", "saved"), "><<<<>"
    shown = range(len(graph) if limit is None else min(len(graph), limit))
    rows = [_row(graph, graph[index]) for index in shown]
    if graph.has_times:
        head, sides = (*head, "forward", "backward", "allocated"), sides + ">>>"
        rows = [(*row, *_times(graph[index])) for row, index in zip(rows, shown, strict=True)]
    return aligned([head, *rows], sides) + _rest(len(graph) - len(shown), "node")


def _row(graph: Graph, node: GraphNode) -> tuple[str, ...]:
    name = node.leaf or ("leaf" if node.is_leaf else " ".join([node.name, *node.titles]))
    outputs = ", ".join(tensor_text(one.dtype, one.shape) for one in node.outputs)
    module = "" if node.is_leaf else module_text(node)
    saved = "freed" if node.is_freed else ""
    if not saved and node.index in graph.own_bytes:
        saved = size(graph.own_bytes[node.index])
    return str(node.index), name, outputs, module, str(node.location or ""), saved


def _times(node: GraphNode) -> tuple[str, str, str]:
    return (
        "" if node.forward_ns is None else duration(node.forward_ns),
        "" if node.backward_ns is None else duration(node.backward_ns),
        "" if node.allocated is None else size(node.allocated),
    )


def _grouped(graph: Graph, by: str, limit: int | None) -> str:
    counts = Counter(group_of(node, by) for node in graph if not node.is_leaf)
    saved = graph.saved_bytes(by)
    total = graph.saved_bytes() or 1
    times: Counter[str] = Counter()
    for node in graph if graph.has_times else ():
        if not node.is_leaf:
            times[group_of(node, by)] += node.time_ns or 0
    order = sorted(counts, key=lambda key: (-times[key], -saved.get(key, 0), -counts[key], key))
    head, sides = (by, "nodes", "saved", ""), "<>>>"
    rows = [
        (key, f"{counts[key]:,}", size(saved.get(key, 0)), f"{saved.get(key, 0) / total:.0%}")
        for key in order[:limit]
    ]
    if graph.has_times:
        head, sides = (*head, "time"), sides + ">"
        rows = [(*row, duration(times[row[0]])) for row in rows]
    return aligned([head, *rows], sides) + _rest(len(order) - len(rows), by)


def _rest(count: int, what: str) -> str:
    return "" if count <= 0 else f"\n... and {count:,} more {what}{'s' if count > 1 else ''}"


def aligned(rows: list[tuple[str, ...]], sides: str) -> str:
    """Return rows as columns, each to its side (< or >), with a line below the first row."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(sides))]
    lines = [
        "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)
        )
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)


def summary(graph: Graph) -> str:
    """Return what ``print(graph)`` shows."""
    leaves = len(graph.column("leaves.node"))
    tensors = len(graph.column("saved.node"))
    freed = sum(graph.column("nodes.freed"))
    made = [graph.root_text(row) for row in range(len(graph.roots))]
    lines = [
        f"backward graph from {', '.join(made)}",
        f"  {len(graph) - leaves:,} ops, {leaves:,} leaves, {graph.edge_count:,} edges, "
        f"{len(graph.modules):,} modules",
        f"  {size(graph.saved_bytes())} kept by {tensors:,} saved tensors"
        + (f"; {freed:,} ops were freed" if freed else ""),
    ]
    if graph.has_times:
        parts = (
            (name, sum(max(0, ns) for ns in graph.column(f"nodes.{name}_ns")))
            for name in ("forward", "backward")
        )
        lines.append("  " + ", ".join(f"{duration(ns)} {name}" for name, ns in parts))
    hooks = sum(sum(graph.column(f"hooks.{kind}")) for kind in ("tensor", "pre", "post"))
    hooks += sum(graph.column("hooks.post_accumulate"))
    if hooks:
        lines.append(f"  {hooks:,} hooks")
    ops = Counter(node.name for node in graph if not node.is_leaf).most_common(6)
    if ops:
        lines.append("  " + ", ".join(f"{name} x {count:,}" for name, count in ops))
    return "\n".join(lines)
