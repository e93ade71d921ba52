# python/ebb/graphs/snapshot.py -- Snapshot: a backward graph that can be asked and drawn.
"""The class of what ``ebb.graph`` returns."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ebb import _C
from ebb._base import naming as _naming
from ebb.graphs import select, table, tree
from ebb.graphs.node import (
    FIELDS,
    GraphEdge,
    GraphNode,
    Location,
    Locations,
    Output,
    Saved,
)
from ebb.graphs.walk import Walk
from ebb.io.writing import write_text

if TYPE_CHECKING:
    from ebb.graphs.difference import Difference


class Profile(Protocol):
    """What ``ebb.profiler.profile`` has to tell."""

    @property
    def report(self) -> Any:
        """What was measured."""


class Snapshot:
    """A backward graph as it was: ``len(g)`` nodes, ``g[0]`` the last op, leaves at the end.

    Example:
        >>> model = ebb.nn.Sequential(ebb.nn.Linear(2, 3), ebb.nn.ReLU())
        >>> g = ebb.graph(model(ebb.ones(1, 2)).sum(), model)
        >>> g[0].name, len(g.find(name="Linear", module="0"))
        ('SumBackward', 1)
        >>> path = g.write_html("graph.html")
    """

    def __init__(self, tables: Any):
        self._tables = tables
        self._columns: dict[str, memoryview] = {}

    # Nodes and edges.

    def __len__(self) -> int:
        return len(self.column("nodes.name"))

    def __getitem__(self, index: int) -> GraphNode:
        count = len(self)
        if not -count <= index < count:
            raise _C.IndexError(f"graph: needs a node from {-count} to {count - 1}, got {index}")
        return GraphNode(self, index % count)

    def __iter__(self) -> Iterator[GraphNode]:
        return (GraphNode(self, index) for index in range(len(self)))

    @property
    def nodes(self) -> list[GraphNode]:
        """All nodes: ops by falling sequence number, then leaves."""
        return list(self)

    @property
    def leaves(self) -> list[GraphNode]:
        """The leaves, in the order in which the program first used them."""
        return [GraphNode(self, node) for node in self.column("leaves.node")]

    @property
    def roots(self) -> list[GraphNode]:
        """Where the gradients start, as given to ``ebb.graph``."""
        return [GraphNode(self, node) for node in self.column("roots.node")]

    @property
    def edges(self) -> list[GraphEdge]:
        """All edges, in the order of the nodes that they come from."""
        return [self.edge_at(row) for row in range(self.edge_count)]

    @property
    def edge_count(self) -> int:
        """The number of edges."""
        return len(self.column("edges.from"))

    # Questions.

    def find(
        self,
        name: str | None = None,
        *,
        type: str | None = None,
        module: str | None = None,
        line: int | str | None = None,
        kind: str | None = None,
    ) -> list[GraphNode]:
        """Return the nodes that match all that is given; ``*`` and ``?`` stand for any text.

        Args:
            name: The op ("layer_norm", "LayerNorm" and "LayerNormBackward" are the same), or
                the name of a leaf.
            type: The class of the module that recorded the op.
            module: The path of that module, or of one around it.
            line: The line that recorded the op: 12, "train.py" or "train.py:12".
            kind: "op", "leaf", "custom", or "write".
        """
        wanted = {"name": name, "type": type, "module": module, "line": line, "kind": kind}
        tests = select.tests_for(wanted)
        return [node for node in self if all(test(node) for test in tests)]

    def ancestors(self, node: GraphNode | int) -> list[GraphNode]:
        """Return all nodes whose gradients flow into ``node``: those towards the roots."""
        return self._sorted(self.walk.ancestors(self._index_of(node)))

    def descendants(self, node: GraphNode | int) -> list[GraphNode]:
        """Return all nodes that the gradient of ``node`` flows into: those towards the leaves."""
        return self._sorted(self.walk.descendants(self._index_of(node)))

    def paths(
        self, start: GraphNode | int, end: GraphNode | int, limit: int = 100
    ) -> list[list[GraphNode]]:
        """Return the ways that gradients take from ``start`` to ``end``, at most ``limit``."""
        found = self.walk.paths(self._index_of(start), self._index_of(end), limit)
        return [[GraphNode(self, node) for node in path] for path in found]

    def saved_bytes(self, by: str | None = None) -> Any:
        """Return the bytes of memory that saved tensors keep alive, shared memory counted once.

        Args:
            by: "op", "module" or "line": return a dict with the bytes of each, largest first.
                Memory that several share counts for the one that saved it first.
        """
        if by is None:
            return self._tables.saved_bytes()
        sums: dict[str, int] = {}
        for node, count in self.own_bytes.items():
            key = table.group_of(GraphNode(self, node), by)
            sums[key] = sums.get(key, 0) + count
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    def compare(self, after: Snapshot) -> Difference:
        """Return what ``after`` has more, has less or has differently."""
        from ebb.graphs.difference import compare

        return compare(self, after)

    def with_times(self, prof: Profile) -> Snapshot:
        """Return this graph with what a profile says of its nodes: times and allocated bytes.

        They are found by sequence number, so the graph may have been taken before or after it ran.

        Args:
            prof: A profile whose block has ended, around the forward pass, backward or both. With
                ``profile_memory`` allocated bytes are all, else those made for results.
        """
        return Snapshot(self._tables.with_times(prof.report))

    @property
    def has_times(self) -> bool:
        """Whether a profile says something of its nodes."""
        return len(self.column("nodes.time_ns")) > 0

    # Ways out.

    def to_json(self) -> str:
        """Return the graph in the format of docs/graph_json.md."""
        return self._tables.to_json()

    def to_dot(
        self,
        show_attrs: bool = False,
        show_saved: bool = False,
        *,
        show_shapes: bool = False,
        max_attr_chars: int = 50,
        direction: str = "forward",
    ) -> str:
        """Return the graph in Graphviz's language; Graphviz is not needed for that.

        Args:
            show_attrs: Show attributes of ops, and names and shapes of what they saved.
            show_saved: Show saved tensors as boxes.
            show_shapes: Show what flows along edges.
            max_attr_chars: Cut longer attributes.
            direction: "forward": edges point the way values went, as torchviz draws them;
                "backward": the way gradients go.
        """
        is_backward = select.is_backward("to_dot", direction)
        return self._tables.to_dot(show_attrs, show_saved, show_shapes, max_attr_chars, is_backward)

    def to_svg(
        self,
        path: str | PathLike[str] | None = None,
        show_attrs: bool = False,
        show_saved: bool = False,
        *,
        direction: str = "forward",
        fold: bool = True,
        depth: int | None = None,
        max_nodes: int = 20_000,
        max_attr_chars: int = 50,
    ) -> str:
        """Return a picture in the colours of torchviz, modules as frames; nothing is needed for it.

        In a notebook, what this returns is shown as the last line of a cell.

        Args:
            path: Where to write it, too.
            show_attrs: Show attributes of ops, and names and shapes of what they saved.
            show_saved: Show saved tensors as boxes.
            direction: "forward": values flow from top to bottom; "backward": gradients do.
            fold: Draw equal siblings, and steps of a loop, once, and how many there are.
            depth: Draw modules that are deeper inside others as boxes.
            max_nodes: Refuse to draw more nodes than this, folded ones counted once.
            max_attr_chars: Cut longer attributes.
        Raises:
            ValueError: If there is more to draw than ``max_nodes``.
        """
        from ebb.graphs.picture import Options
        from ebb.graphs.svg import draw

        select.is_backward("to_svg", direction)
        options = Options(show_attrs, show_saved, direction, fold, depth, max_nodes, max_attr_chars)
        picture = draw(self, options)
        if path is not None:
            write_text("to_svg", path, picture)
        return picture

    def to_networkx(self) -> Any:
        """Return a ``networkx.MultiDiGraph`` with all that is known as attributes.

        Raises:
            ImportError: If networkx is not installed.
        """
        from ebb.graphs.networkx import convert

        return convert(self)

    def write_html(self, path: str | PathLike[str], **options: Any) -> Path:
        """Write an interactive page (docs/graph_viewer.md) and return its path.

        Args:
            path: The file.
            options: ``title``, ``compress`` and ``direction``, as for ``ebb.viz.write_html``.
        """
        from ebb.viz import write_html

        return write_html(self, path, **options)

    def show(self, **options: Any) -> Any:
        """Show that page in a notebook, with the options of ``ebb.viz.show``."""
        from ebb.viz import show

        return show(self, **options)

    def _repr_html_(self) -> str:
        return self.show()._repr_html_()

    # Text.

    def tree(self, depth: int | None = None) -> str:
        """Return the modules and their ops as a tree, equal siblings folded.

        Args:
            depth: Leave out what lies deeper.
        """
        return tree.render(self, depth)

    def table(self, by: str | None = None, limit: int | None = 40) -> str:
        """Return a table with a row per node.

        Args:
            by: "op", "module" or "line": a row for each instead, the largest first.
            limit: The most rows, or None for all.
        """
        return table.render(self, by, limit)

    def __str__(self) -> str:
        return table.summary(self)

    def __repr__(self) -> str:
        return f"<graph of {len(self):,} nodes and {self.edge_count:,} edges>"

    # The tables, for the other files of this folder.

    def column(self, name: str) -> memoryview:
        """Return a column, such as "edges.from"."""
        found = self._columns.get(name)
        if found is None:
            found = self._columns[name] = self._tables.column(name)
        return found

    @cached_property
    def further_fields(self) -> tuple[str, ...]:
        """The columns of nodes that ``FIELDS`` does not name: properties of a node all the same."""
        names = [name.partition(".") for name in self._tables.column_names()]
        known = {*FIELDS, "freed"}
        return tuple(one for table, _, one in names if table == "nodes" and one not in known)

    def rows(self, column: str, node: int) -> range:
        """Return the rows of a table, sorted by ``column``, that belong to a node."""
        owners = self.column(column)
        return range(bisect_left(owners, node), bisect_right(owners, node))

    @cached_property
    def strings(self) -> list[str]:
        """All texts by number."""
        return self._tables.strings()

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        """All shapes by number."""
        return self._tables.shapes()

    @cached_property
    def modules(self) -> list[tuple[str, str, int]]:
        """Path, type and the parent's number of each module that was called."""
        return self._tables.modules()

    @cached_property
    def attribute_sets(self) -> list[dict[str, Any]]:
        """All sets of attributes by number."""
        return [
            {self.strings[name]: _value(text) for name, text in pairs}
            for pairs in self._tables.attribute_sets()
        ]

    @cached_property
    def locations(self) -> Locations:
        """The lines and stacks, and the number of each node's."""
        lines, *rest = self._tables.locations()
        return Locations([Location(*line) for line in lines], *rest)

    @cached_property
    def walk(self) -> Walk:
        """The edges in both directions."""
        return Walk(len(self), self.column("edges.from"), self.column("edges.to"))

    @cached_property
    def own_bytes(self) -> dict[int, int]:
        """By node, in forward order: bytes of memory that it was the first to save."""
        storages = self.column("storages.bytes")
        nodes, numbers = self.column("saved.node"), self.column("saved.storage")
        sums: dict[int, int] = {}
        seen: set[int] = set()
        for row in range(len(nodes) - 1, -1, -1):
            if numbers[row] not in seen:
                seen.add(numbers[row])
                sums[nodes[row]] = sums.get(nodes[row], 0) + storages[numbers[row]]
        return sums

    @cached_property
    def _dtypes(self) -> list[str]:
        return self._tables.dtypes()

    def _device(self, number: int) -> str:
        return self._tables.device_name(number)

    def output_at(self, row: int) -> Output:
        """Return one row of the outputs."""
        name = self.column("outputs.name")[row]
        return Output(
            self.shapes[self.column("outputs.shape")[row]],
            self._dtypes[self.column("outputs.dtype")[row]],
            self._device(self.column("outputs.device")[row]),
            self.strings[name] if name >= 0 else "",
        )

    def saved_at(self, row: int) -> Saved:
        """Return one row of the saved tensors."""
        return Saved(
            self.strings[self.column("saved.name")[row]],
            self.shapes[self.column("saved.shape")[row]],
            self._dtypes[self.column("saved.dtype")[row]],
            self._device(self.column("saved.device")[row]),
            self.column("saved.bytes")[row],
            self.column("saved.version")[row],
            self.column("saved.storage")[row],
            bool(self.column("saved.packed")[row]),
        )

    def edge_at(self, row: int) -> GraphEdge:
        """Return one row of the edges."""
        target = GraphNode(self, self.column("edges.to")[row])
        number = self.column("edges.output")[row]
        made = self.output_at(self.rows("outputs.node", target.index)[number])
        return GraphEdge(
            GraphNode(self, self.column("edges.from")[row]),
            self.column("edges.input")[row],
            target,
            number,
            made.shape,
            made.dtype,
            made.device,
            target.requires_grad,
        )

    def root_text(self, row: int) -> str:
        """Return what a root is, for people."""
        node = self.column("roots.node")[row]
        made = self.output_at(self.rows("outputs.node", node)[self.column("roots.output")[row]])
        name = made.name or GraphNode(self, node).name
        return f"{name} ({table.tensor_text(made.dtype, made.shape)})"

    def _index_of(self, node: GraphNode | int) -> int:
        if not isinstance(node, GraphNode):
            return self[node].index
        if node.graph is not self:
            raise _C.ValueError("graph: needs a node of this graph, got one of another")
        return node.index

    def _sorted(self, nodes: set[int]) -> list[GraphNode]:
        return [GraphNode(self, node) for node in sorted(nodes)]


def _value(text: str) -> Any:
    """Return an attribute's value; lists of sizes become tuples."""
    value = json.loads(text)
    return tuple(value) if isinstance(value, list) else value


_naming.name_module(__name__)
