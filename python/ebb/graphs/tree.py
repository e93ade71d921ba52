# python/ebb/graphs/tree.py -- a snapshot as a tree of modules in the terminal.
#
# Each module shows, in forward order, the ops it recorded and the modules it called. Runs of one op
# are folded, so are steps of a loop, and neighbours that look the same but for their number
# ("0..11 x 12"). A module that is called again later appears once, where it was called first.
"""Text for the terminal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ebb.graphs.repeats import find_loops
from ebb.graphs.table import size

if TYPE_CHECKING:
    from ebb.graphs.node import Graph


@dataclass
class Branch:
    """A module, or a run of equal ones."""

    label: str
    type: str
    parent: int
    entries: list[str | int] = field(default_factory=list)  # ops, and numbers of modules below
    ops: int = 0
    saved: int = 0
    lines: list[str] = field(default_factory=list)
    shape: tuple[Any, ...] = ()  # equal for branches that look the same

    def head(self, label: str, times: int) -> str:
        """Return the branch's own line."""
        text = f"{label} ({self.type})" if self.type and label != self.type else label
        if times > 1:
            text += f" x {times}"
        ops = f"{self.ops:,} op{'s' if self.ops != 1 else ''}"
        return f"{text}: {ops}, {size(self.saved)} saved" + (" each" if times > 1 else "")


def render(graph: Graph, depth: int | None) -> str:
    """Return the tree of ``Snapshot.tree``."""
    branches = _branches(graph)
    for branch in reversed(branches):  # those below have larger numbers
        _write(branch, branches)
    top = branches[0]
    leaves = len(graph.column("leaves.node"))
    lines = [f"graph: {len(graph) - leaves:,} ops, {leaves:,} leaves, {size(top.saved)} saved"]
    deepest = len(top.lines) if depth is None else depth
    lines += [line for line in top.lines if _depth_of(line) <= deepest]
    return "\n".join(lines)


def _depth_of(line: str) -> int:
    """How deep a line is: the width of its branches, three letters a level."""
    return (len(line) - len(line.lstrip("│├└─ "))) // 3


def _branches(graph: Graph) -> list[Branch]:
    """The whole graph, then each module, with what it holds in forward order."""
    branches = [Branch("graph", "", -1)]
    for path, kind, parent in graph.modules:
        above = graph.modules[parent][0] if parent >= 0 else ""
        label = path[len(above) + 1 :] if above else path
        branches.append(Branch(label or kind or "module", kind, parent + 1))
    entered = [False] * len(branches)
    entered[0] = True
    homes, kinds = graph.column("nodes.module"), graph.column("nodes.kind")
    names = graph.column("nodes.name")
    for node in range(len(graph) - 1, -1, -1):
        if kinds[node] == 1:
            continue
        home = homes[node] + 1
        _enter(home, branches, entered)
        branches[home].entries.append(graph.strings[names[node]])
        saved = graph.own_bytes.get(node, 0)
        while home >= 0:
            branches[home].ops += 1
            branches[home].saved += saved
            home = branches[home].parent
    return branches


def _enter(home: int, branches: list[Branch], entered: list[bool]) -> None:
    """Enter a module, and those around it, where their first op is."""
    chain = []
    while not entered[home]:
        entered[home] = True
        chain.append(home)
        home = branches[home].parent
    for module in reversed(chain):
        branches[branches[module].parent].entries.append(module)


def _write(branch: Branch, branches: list[Branch]) -> None:
    """Fill in the lines of a branch whose parts have theirs."""
    groups: list[list[Any]] = []  # [what, the last of its kind, times]
    for entry in branch.entries:
        if groups and _continues(groups[-1], entry, branches):
            groups[-1][1] = entry
            groups[-1][2] += 1
        else:
            groups.append([entry, entry, 1])
    groups = _steps_folded(groups)
    for index, (first, last, times) in enumerate(groups):
        is_last = index == len(groups) - 1
        stem, rest = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        if isinstance(first, str):
            branch.lines.append(stem + (f"{first} x {times}" if times > 1 else first))
            continue
        part = branches[first]
        label = f"{part.label}..{branches[last].label}" if times > 1 else part.label
        branch.lines.append(stem + part.head(label, times))
        branch.lines += [rest + line for line in part.lines]
    branch.shape = (branch.type, branch.ops, branch.saved, tuple(branch.lines))


def _steps_folded(groups: list[list[Any]]) -> list[list[Any]]:
    """Steps of a loop that record the same ops become one entry: "(Add, Tanh) x 50"."""
    symbols, numbers = [], {}
    for place, (first, _, times) in enumerate(groups):
        key = (first, times) if isinstance(first, str) else place
        symbols.append(numbers.setdefault(key, len(numbers)))
    folded, done = [], 0
    for begin, step, times in find_loops(symbols):
        ops = [name if count == 1 else f"{name} x {count}"
               for name, _, count in groups[begin : begin + step]]  # fmt: skip
        folded += [*groups[done:begin], [f"({', '.join(ops)})", None, times]]
        done = begin + step * times
    return [*folded, *groups[done:]]


def _continues(group: list[Any], entry: str | int, branches: list[Branch]) -> bool:
    last = group[1]
    if isinstance(entry, str) or isinstance(last, str):
        return entry == last
    one, other = branches[last], branches[entry]
    if not (one.label.isdecimal() and other.label.isdecimal()):
        return False
    return int(other.label) == int(one.label) + 1 and one.shape == other.shape
