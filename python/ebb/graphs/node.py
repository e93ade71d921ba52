# python/ebb/graphs/node.py -- one node of a snapshot, read from the snapshot's columns.
"""``GraphNode`` and the small records that it is made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from ebb._base import naming as _naming
from ebb.graphs.walk import Walk

KINDS = ("op", "leaf", "custom", "write")


class Location(NamedTuple):
    """A line of the program.

    Example:
        >>> x = ebb.tensor([1.0, 2.0], requires_grad=True)
        >>> ebb.graph(x * x).nodes[0].location.line
        1
    """

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Locations(NamedTuple):
    """All lines, and stacks of them; columns with the number of each node's, or -1."""

    lines: list[Location]
    of_nodes: memoryview
    stacks: list[list[int]]
    stack_of_nodes: memoryview


class Output(NamedTuple):
    """What an op made, and so what flows back into it.

    Example:
        >>> x = ebb.tensor([1.0, 2.0], requires_grad=True)
        >>> ebb.graph(x * x).nodes[0].outputs[0].dtype
        'float32'
    """

    shape: tuple[int, ...]
    dtype: str
    device: str
    name: str


class Saved(NamedTuple):
    """A tensor kept for the backward pass; equal ``storage`` numbers share memory.

    Example:
        >>> x = ebb.tensor([1.0, 2.0], requires_grad=True)
        >>> [(one.name, one.bytes) for one in ebb.graph(x.exp()).nodes[0].saved]
        [('out', 8)]
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    bytes: int
    version: int
    storage: int
    packed: bool


class GraphEdge(NamedTuple):
    """The gradient of an input of ``source`` flows into an output of ``target``.

    Example:
        >>> x = ebb.tensor([1.0, 2.0], requires_grad=True)
        >>> edge = ebb.graph((x * x).sum(), {"x": x}).nodes[0].edges[0]
        >>> edge.source.name, edge.target.name, edge.shape
        ('SumBackward', 'MulBackward', (2,))
    """

    source: GraphNode
    input: int
    target: GraphNode
    output: int
    shape: tuple[int, ...]
    dtype: str
    device: str
    requires_grad: bool


class Hooks(NamedTuple):
    """How many hooks of each kind a node has.

    Example:
        >>> x = ebb.tensor([1.0, 2.0], requires_grad=True)
        >>> y = x * x
        >>> handle = y.register_hook(print)
        >>> ebb.graph(y).nodes[0].hooks.tensor
        1
    """

    tensor: int
    pre: int
    post: int
    post_accumulate: int


# What a node tells beside its number: its properties by name, for those who want all of them.
FIELDS = (
    "name", "kind", "leaf", "sequence", "module", "module_type", "location", "stack", "attributes",
    "outputs", "saved", "is_freed", "hooks", "requires_grad", "time_ns", "forward_ns",
    "backward_ns", "allocated",
)  # fmt: skip


class Graph(Protocol):
    """What nodes, tables and pictures ask of a ``Snapshot``."""

    @property
    def strings(self) -> list[str]:
        """All texts by number."""

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """All shapes by number."""

    @property
    def modules(self) -> list[tuple[str, str, int]]:
        """Path, type and the parent's number of each module that was called."""

    @property
    def attribute_sets(self) -> list[dict[str, Any]]:
        """All sets of attributes by number."""

    @property
    def locations(self) -> Locations:
        """The lines and stacks, and the number of each node's."""

    @property
    def walk(self) -> Walk:
        """The edges in both directions."""

    @property
    def own_bytes(self) -> dict[int, int]:
        """By node, in forward order: bytes of memory that it was the first to save."""

    @property
    def nodes(self) -> list[GraphNode]:
        """All nodes: ops by falling sequence number, then leaves."""

    @property
    def leaves(self) -> list[GraphNode]:
        """The leaves, in the order in which the program first used them."""

    @property
    def roots(self) -> list[GraphNode]:
        """Where the gradients start."""

    @property
    def edges(self) -> list[GraphEdge]:
        """All edges, in the order of the nodes that they come from."""

    @property
    def edge_count(self) -> int:
        """The number of edges."""

    @property
    def has_times(self) -> bool:
        """Whether a profile says something of its nodes."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> GraphNode: ...

    def __iter__(self) -> Iterator[GraphNode]: ...

    def find(self, name: str | None = None, **wanted: Any) -> list[GraphNode]:
        """Return the nodes that match all that is given."""

    def saved_bytes(self, by: str | None = None) -> Any:
        """Return the bytes of memory that saved tensors keep alive."""

    def column(self, name: str) -> memoryview:
        """Return a column, such as "edges.from"."""

    def rows(self, column: str, node: int) -> range:
        """Return the rows of a table, sorted by ``column``, that belong to a node."""

    def output_at(self, row: int) -> Output:
        """Return one row of the outputs."""

    def saved_at(self, row: int) -> Saved:
        """Return one row of the saved tensors."""

    def edge_at(self, row: int) -> GraphEdge:
        """Return one row of the edges."""

    def root_text(self, row: int) -> str:
        """Return what a root is, for people."""


class GraphNode:
    """One node of a snapshot. Equal to itself only, whatever object stands for it.

    Example:
        >>> x = ebb.tensor([1.0, 2.0], requires_grad=True)
        >>> node = ebb.graph((x * x).sum(), {"x": x}).nodes[1]
        >>> node.name, node.shape, [target.target.leaf for target in node.edges]
        ('MulBackward', (2,), ['x', 'x'])
    """

    __slots__ = ("graph", "index")

    def __init__(self, graph: Graph, index: int):
        self.graph: Graph = graph
        self.index: int = index

    @property
    def name(self) -> str:
        """The op, such as ``MulBackward``."""
        return self.graph.strings[self.graph.column("nodes.name")[self.index]]

    @property
    def sequence(self) -> int:
        """The number in the order of recording, or -1 for a leaf."""
        return self.graph.column("nodes.sequence")[self.index]

    @property
    def kind(self) -> str:
        """ "op", "leaf", "custom", or "write" for what an in-place op on a view added."""
        return KINDS[self.graph.column("nodes.kind")[self.index]]

    @property
    def is_leaf(self) -> bool:
        """Whether this is a parameter or another leaf."""
        return self.kind == "leaf"

    @property
    def is_freed(self) -> bool:
        """Whether a run has freed what the op had saved."""
        return bool(self.graph.column("nodes.freed")[self.index])

    @property
    def module(self) -> str | None:
        """The path of the module whose call recorded the op: "" for the outermost, or None."""
        module = self.graph.column("nodes.module")[self.index]
        return None if module < 0 else self.graph.modules[module][0]

    @property
    def module_type(self) -> str | None:
        """The class of that module."""
        module = self.graph.column("nodes.module")[self.index]
        return None if module < 0 else self.graph.modules[module][1]

    @property
    def location(self) -> Location | None:
        """The line that recorded the op."""
        places = self.graph.locations
        line = places.of_nodes[self.index]
        return None if line < 0 else places.lines[line]

    @property
    def stack(self) -> tuple[Location, ...]:
        """That line and, if recorded under ``record_stacks()``, its callers, innermost first."""
        places = self.graph.locations
        found = places.stack_of_nodes[self.index]
        if found >= 0:
            return tuple(places.lines[line] for line in places.stacks[found])
        return () if self.location is None else (self.location,)

    @property
    def time_ns(self) -> int | None:
        """How long the op and its backward run took; None without a profile of either."""
        return self._number("time_ns")

    @property
    def forward_ns(self) -> int | None:
        """How long the op took; None if no profile says so."""
        return self._number("forward_ns")

    @property
    def backward_ns(self) -> int | None:
        """How long the backward runs of the node took; None if no profile says so."""
        return self._number("backward_ns")

    @property
    def allocated(self) -> int | None:
        """The bytes allocated in both; None if no profile says so."""
        return None if self.time_ns is None else self._number("allocated")

    def _number(self, column: str) -> int | None:
        found = self.graph.column(f"nodes.{column}")
        return found[self.index] if found and found[self.index] >= 0 else None

    @property
    def attributes(self) -> dict[str, Any]:
        """What the op was called with besides tensors."""
        found = self.graph.column("nodes.attributes")[self.index]
        return {} if found < 0 else dict(self.graph.attribute_sets[found])

    @property
    def outputs(self) -> list[Output]:
        """What the op made."""
        graph = self.graph
        return [graph.output_at(row) for row in graph.rows("outputs.node", self.index)]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first output."""
        return self.outputs[0].shape

    @property
    def dtype(self) -> str:
        """The dtype of the first output."""
        return self.outputs[0].dtype

    @property
    def device(self) -> str:
        """The device of the first output."""
        return self.outputs[0].device

    @property
    def leaf(self) -> str:
        """The name of a leaf, "" if it has none or this is no leaf."""
        rows = self.graph.rows("leaves.node", self.index)
        return self.graph.strings[self.graph.column("leaves.name")[rows[0]]] if rows else ""

    @property
    def titles(self) -> list[str]:
        """The names of the tensors made here, of those that have one."""
        return [self.leaf] if self.leaf else [one.name for one in self.outputs if one.name]

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient is wanted here: of a leaf that was told not to, False."""
        rows = self.graph.rows("leaves.node", self.index)
        return not rows or bool(self.graph.column("leaves.requires_grad")[rows[0]])

    @property
    def edges(self) -> list[GraphEdge]:
        """Where the gradients of the inputs go."""
        return [self.graph.edge_at(row) for row in self.graph.rows("edges.from", self.index)]

    @property
    def users(self) -> list[GraphNode]:
        """The nodes whose gradients arrive here, each once."""
        graph = self.graph
        return [graph[index] for index in graph.walk.sources(self.index)]

    @property
    def saved(self) -> list[Saved]:
        """The tensors kept for the backward pass; none once they are freed."""
        return [self.graph.saved_at(row) for row in self.graph.rows("saved.node", self.index)]

    @property
    def hooks(self) -> Hooks:
        """How many hooks there are."""
        rows = self.graph.rows("hooks.node", self.index)
        if not rows:
            return Hooks(0, 0, 0, 0)
        return Hooks(*(self.graph.column(f"hooks.{kind}")[rows[0]] for kind in Hooks._fields))

    @property
    def base(self) -> GraphNode | None:
        """The node that made the tensor of which this op's output is a view."""
        rows = self.graph.rows("views.node", self.index)
        return self.graph[self.graph.column("views.base")[rows[0]]] if rows else None

    def __getattr__(self, name: str) -> int | None:
        """A column of the nodes that has no property of its own; None for -1."""
        if name not in self.graph.further_fields:
            raise AttributeError(f"graph: needs an attribute of a node, got {name}")
        return self._number(name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GraphNode):
            return NotImplemented
        return self.graph is other.graph and self.index == other.index

    def __hash__(self) -> int:
        return hash((id(self.graph), self.index))

    def __repr__(self) -> str:
        what = " ".join([self.name, *self.titles])
        shapes = ", ".join(f"{output.dtype} {list(output.shape)}" for output in self.outputs)
        return f"<node {self.index}: {what}, {shapes}>"


_naming.name_module(__name__)
