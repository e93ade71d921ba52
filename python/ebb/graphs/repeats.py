# python/ebb/graphs/repeats.py -- equal parts of a graph, of which a picture draws one.
#
# Equal siblings with consecutive numbers (layers.0 to layers.11) are drawn as the first of them,
# and so are steps of a loop that record the same ops of the same modules again and again. Start
# reading at Repeats.
"""``Repeats``: for each node the one that is drawn, and how many that stands for."""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from ebb import _C

if TYPE_CHECKING:
    from ebb.graphs.node import Graph

LEAF = 1
LEAST = 3  # two of a kind are not worth the loss


class Repeats:
    """``drawn[node]``: the node that stands for it; ``runs``: modules that stand for siblings."""

    def __init__(self, graph: Graph, folds: bool):
        self.graph = graph
        self.home: list[int] = _homes(graph)
        self.drawn: list[int] = list(range(len(graph)))
        self.runs: dict[int, list[int]] = {}  # by first module: all that are drawn as this one
        self._loop: dict[int, tuple[int, int]] = {}  # where the loop of a node begins; its step
        self._copies: list[tuple[Any, ...]] = [()] * len(graph.modules)
        if folds:
            self._contents = _Contents(graph, self.home)
            self._fold_modules()
            self._fold_loops()
            self._fold_leaves()
        self.count: Counter[int] = Counter(self.drawn)

    def carries(self, one: int, other: int) -> bool:
        """Whether an edge between these leads from one repetition to another."""
        ours, theirs = self._loop.get(one), self._loop.get(other)
        if ours and theirs and ours[0] == theirs[0] and ours != theirs:
            return True
        copies, others = self._copies_of(one), self._copies_of(other)
        if copies is others:
            return False
        known = dict(others)
        return any(known.get(run, copy) != copy for run, copy in copies)

    def is_loop(self, node: int) -> bool:
        """Whether a node is a step of a loop."""
        return node in self._loop

    def _copies_of(self, node: int) -> tuple[Any, ...]:
        return () if self.home[node] < 0 else self._copies[self.home[node]]

    def _fold_modules(self) -> None:
        signatures = self._contents.signatures()
        for run in _runs(self.graph.modules, signatures):
            self.runs[run[0]] = run
            for module in run[1:]:
                for node, first in self._contents.pairs(module, run[0]):
                    self.drawn[node] = first
        place = {module: (run[0], k) for run in self.runs.values() for k, module in enumerate(run)}
        for module, (_, _, parent) in enumerate(self.graph.modules):
            above = self._copies[parent] if parent >= 0 else ()
            self._copies[module] = (*above, place[module]) if module in place else above
        for node in range(len(self.drawn)):
            while self.drawn[self.drawn[node]] != self.drawn[node]:
                self.drawn[node] = self.drawn[self.drawn[node]]

    def _fold_loops(self) -> None:
        """Find stretches of the program, in forward order, that repeat at once."""
        kinds = self.graph.column("nodes.kind")
        nodes = [
            node
            for node in range(len(self.graph) - 1, -1, -1)
            if kinds[node] != LEAF and self.drawn[node] == node
        ]
        symbols = _numbered((self.home[node], *_look(self.graph, node)) for node in nodes)
        for begin, step, times in find_loops(symbols, self._wiring(nodes)):
            for k in range(step * times):
                node = nodes[begin + k]
                self.drawn[node] = nodes[begin + k % step]
                self._loop[node] = (begin, k // step)
        for node, first in enumerate(self.drawn):
            self.drawn[node] = self.drawn[first]

    def _wiring(self, nodes: list[int]) -> list[tuple[Any, ...]]:
        """For each op of a list its inputs, and the places in that list of what made them."""
        place = {node: number for number, node in enumerate(nodes)}
        inputs, targets = self.graph.column("edges.input"), self.graph.column("edges.to")
        return [
            tuple(
                (inputs[row], place.get(self.drawn[targets[row]], -1))
                for row in self.graph.rows("edges.from", node)
            )
            for node in nodes
        ]

    def _fold_leaves(self) -> None:
        """Leaves of one make that are used by the repetitions of one op."""
        graph = self.graph
        alike: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for node in graph.column("leaves.node"):
            users = graph.walk.sources(node)
            if self.drawn[node] != node or all(self.drawn[user] == user for user in users):
                continue
            name = re.sub(r"\d+", "0", graph[node].leaf)
            place = tuple(sorted({self.drawn[user] for user in users}))
            alike[(*place, name, self.home[node], *_look(graph, node))].append(node)
        for nodes in alike.values():
            if len(nodes) >= LEAST:
                for node in nodes:
                    self.drawn[node] = nodes[0]


class _Contents:
    """What each module holds of its own."""

    def __init__(self, graph: Graph, home: list[int]):
        self.graph = graph
        count = len(graph.modules)
        self.ops: list[list[int]] = [[] for _ in range(count)]
        self.leaves: list[list[tuple[str, int]]] = [[] for _ in range(count)]
        self.children: list[dict[str, int]] = [{} for _ in range(count)]
        kinds = graph.column("nodes.kind")
        for node in range(len(graph) - 1, -1, -1):
            if home[node] >= 0 and kinds[node] == LEAF:
                label = graph[node].leaf.rpartition(".")[2]
                self.leaves[home[node]].append((label, node))
            elif home[node] >= 0:
                self.ops[home[node]].append(node)
        for leaves in self.leaves:
            leaves.sort()
        for module, (_, _, parent) in enumerate(graph.modules):
            if parent >= 0:
                self.children[parent][label_of(graph, module)] = module

    def signatures(self) -> list[int]:
        """A number for each module that is equal for equal ones."""
        numbers: dict[Any, int] = {}
        found = [0] * len(self.ops)
        for module in range(len(found) - 1, -1, -1):  # those inside have larger numbers
            ops = tuple(_look(self.graph, node) for node in self.ops[module])
            leaves = tuple((name, *_look(self.graph, node)) for name, node in self.leaves[module])
            inside = tuple((name, found[child]) for name, child in self.children[module].items())
            key = (self.graph.modules[module][1], ops, leaves, inside)
            found[module] = numbers.setdefault(key, len(numbers))
        return found

    def pairs(self, module: int, first: int) -> list[tuple[int, int]]:
        """The nodes of a module, each with that of an equal module."""
        found = []
        waiting = [(module, first)]
        while waiting:
            one, other = waiting.pop()
            found += zip(self.ops[one], self.ops[other], strict=True)
            ours, theirs = self.leaves[one], self.leaves[other]
            found += [(node, twin) for (_, node), (_, twin) in zip(ours, theirs, strict=True)]
            waiting += [(self.children[one][name], twin)
                        for name, twin in self.children[other].items()]  # fmt: skip
        return found


def label_of(graph: Graph, module: int) -> str:
    """Return what a module is called within the one around it."""
    path, kind, parent = graph.modules[module]
    above = graph.modules[parent][0] if parent >= 0 else ""
    return (path[len(above) + 1 :] if above else path) or kind or "module"


def _look(graph: Graph, node: int) -> tuple[Any, ...]:
    """Op, and the shapes and dtypes of what it made."""
    shapes, dtypes = graph.column("outputs.shape"), graph.column("outputs.dtype")
    made = ((shapes[row], dtypes[row]) for row in graph.rows("outputs.node", node))
    return (graph.column("nodes.name")[node], *made)


def _numbered(keys: Any) -> list[int]:
    numbers: dict[Any, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def _homes(graph: Graph) -> list[int]:
    """The module of each node; of a leaf, that of its name, else the one around all its users."""
    homes = list(graph.column("nodes.module"))
    by_path = {path: module for module, (path, _, _) in enumerate(graph.modules)}
    parents = [parent for _, _, parent in graph.modules]
    for node in graph.column("leaves.node"):
        name = graph[node].leaf
        owner = name.rpartition(".")[0]
        if name and owner in by_path:
            homes[node] = by_path[owner]
            continue
        around: list[int] | None = None  # modules around all users so far, outermost first
        for user in graph.walk.sources(node):
            chain = _chain(homes[user], parents)
            around = chain if around is None else _common(around, chain)
        homes[node] = around[-1] if around else -1
    return homes


def _chain(module: int, parents: list[int]) -> list[int]:
    chain = []
    while module >= 0:
        chain.append(module)
        module = parents[module]
    return chain[::-1]


def _common(one: list[int], other: list[int]) -> list[int]:
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    return one[:same]


def _runs(modules: list[tuple[str, str, int]], signatures: list[int]) -> list[list[int]]:
    """Siblings with consecutive numbers that are equal."""
    last: dict[
        tuple[Any, ...], list[int]
    ] = {}  # by parent, stem, number and look: the run it continues
    found = []
    for module, (path, _, parent) in enumerate(modules):
        stem, digits = re.fullmatch(r"(.*?)(\d*)", path, re.DOTALL).groups()
        if not digits:
            continue
        run = last.pop((parent, stem, int(digits), signatures[module]), None)
        if run is None:
            run = []
            found.append(run)
        run.append(module)
        last[(parent, stem, int(digits) + 1, signatures[module])] = run
    return [run for run in found if len(run) >= LEAST]


def find_loops(
    symbols: list[int], wiring: list[tuple[Any, ...]] | None = None
) -> list[tuple[Any, ...]]:
    """Return stretches of a list of ops that are repeated at once: equal ops, equally joined.

    Args:
        symbols: Equal for equal ops.
        wiring: For each op its inputs, and the places of what made them (-1: none of these did).
            Without it equal ops are enough.
    Returns:
        Where each loop begins, how many ops a step has, how many steps there are.
    """
    wires = [wire for wires in wiring or () for wire in wires]
    starts = accumulate((len(wires) for wires in wiring), initial=0) if wiring else ()
    found = _C._find_loops(
        array("i", symbols),
        array("i", starts),
        array("i", [number for number, _ in wires]),
        array("i", [maker for _, maker in wires]),
        0,
    ).tolist()
    return list(zip(found[::3], found[1::3], found[2::3], strict=True))
