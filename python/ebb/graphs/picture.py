# python/ebb/graphs/picture.py -- what a picture of a graph shows: boxes, frames and edges.
#
# Boxes are numbered in forward order: an edge leads from what made a value to what used it, from a
# smaller number to a larger one. Frames are modules with more than one op. The conventions are
# torchviz's: leaves, ops, results, saved tensors, dotted edges from a base to its views.
"""``Picture``: what ``to_svg`` draws."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ebb import _C
from ebb.graphs.repeats import LEAF, Repeats
from ebb.graphs.table import module_text, size

if TYPE_CHECKING:
    from ebb.graphs.node import Graph, GraphNode, Output


@dataclass
class Options:
    """What is shown; see ``Snapshot.to_svg``."""

    show_attrs: bool
    show_saved: bool
    direction: str
    fold: bool
    depth: int | None
    max_nodes: int
    max_attr_chars: int


@dataclass
class Box:
    """A box, or a frame around others."""

    kind: str  # op, leaf, result, base, saved, module (a folded one) or frame
    lines: list[str]  # the first is the title
    frame: int  # the frame around it
    tip: str = ""
    times: int = 1  # how many it stands for
    inside: list[int] = field(default_factory=list)  # of a frame


class Picture:
    """Boxes of a graph; box 0 is the frame around all."""

    def __init__(self, graph: Graph, options: Options):
        self.graph = graph
        self.options = options
        self.repeats: Repeats = Repeats(graph, options.fold)
        self.boxes: list[Box] = [Box("frame", [], -1)]
        self.edges: dict[tuple[int, int], str] = {}  # to "flow", "view" or "saved"
        self.box_of: dict[int, int] = {}  # by node that is drawn
        self._saved: list[tuple[int, int]] = []  # boxes of saved tensors, with their ops
        self._frame_of: dict[int, int] = {-1: 0}  # by module; of a folded one its box, inverted
        self._bases = set(graph.column("views.base"))
        self._count_ops()
        self._refuse_too_many()
        self._add_boxes()
        self._add_edges()

    def _count_ops(self) -> None:
        """How many ops each module holds, those inside included: that are drawn, and all."""
        modules, kinds = self.graph.modules, self.graph.column("nodes.kind")
        self._ops = [0] * len(modules)
        self._all_ops = [0] * len(modules)
        for node, home in enumerate(self.repeats.home):
            if home >= 0 and kinds[node] != LEAF:
                self._all_ops[home] += 1
                self._ops[home] += self.repeats.drawn[node] == node
        self._depth = [0] * len(modules)
        for module, (_, _, parent) in enumerate(modules):
            self._depth[module] = self._depth[parent] + 1 if parent >= 0 else 1
        for module in range(len(modules) - 1, -1, -1):
            if modules[module][2] >= 0:
                self._ops[modules[module][2]] += self._ops[module]
                self._all_ops[modules[module][2]] += self._all_ops[module]
        self._wrappers = {  # with what they hold
            parent: module
            for module, (path, _, parent) in enumerate(modules)
            if parent >= 0 and modules[parent][0] and self._ops[parent] == self._ops[module] > 1
        }

    def _refuse_too_many(self) -> None:
        count, most = len(self.repeats.count), self.options.max_nodes
        if count > most and self.options.depth is None:
            raise _C.ValueError(
                f"to_svg: draws at most {most:,} nodes, got {count:,} of {len(self.graph):,} after "
                "equal ones were folded\nhint: write_html() shows graphs of any size; or give "
                "depth=2, or a larger max_nodes"
            )

    # Frames.

    def _closed(self, module: int) -> bool:
        depth = self.options.depth
        return depth is not None and self._depth[module] > depth

    def _is_framed(self, module: int) -> bool:
        if self._closed(module):
            return True
        # What holds nothing but one frame, such as a list of layers, needs none of its own.
        is_wrapper = module in self._wrappers and not self._closed(self._wrappers[module])
        return self._ops[module] > 1 and not is_wrapper

    def _place_of(self, module: int) -> tuple[int, int]:
        """The frame for what a module holds, and the folded module around it, or -1."""
        chain = []
        while module not in self._frame_of:
            chain.append(module)
            module = self.graph.modules[module][2]
        for inner in reversed(chain):
            above = self._frame_of[module]
            is_hidden = above < 0 or not self._is_framed(inner)
            self._frame_of[inner] = above if is_hidden else self._add_frame(inner, above)
            module = inner
        found = self._frame_of[module]
        return (self.boxes[~found].frame, ~found) if found < 0 else (found, -1)

    def _add_frame(self, module: int, above: int) -> int:
        """Add a frame, or the box of a folded module: then its number is inverted."""
        times, label = self._name_of(module)
        kind = self.graph.modules[module][1]
        title = label if times == 1 else f"{label} \u00d7 {times}"
        is_closed = self._closed(module)
        what = "" if kind == label else kind
        lines = [title, *([what] if what or is_closed else [])]
        if is_closed:
            ops = self._all_ops[module]
            count = f"{ops:,} op{'s' if ops != 1 else ''}"
            lines[1] = f"{what}, {count}" if what else count
        number = self._add(Box("module" if is_closed else "frame", lines, above, times=times))
        return ~number if is_closed else number

    def _name_of(self, module: int) -> tuple[int, str]:
        """How many siblings a module stands for, and what they are called together."""
        run = self.repeats.runs.get(module)
        path, kind, above = self.graph.modules[module]
        while above >= 0 and not self._is_framed(above):
            above = self.graph.modules[above][2]
        around = self.graph.modules[above][0] if above >= 0 else ""
        label = (path[len(around) + 1 :] if around else path) or kind or "module"
        if run is None:
            return 1, label
        last = self.graph.modules[run[-1]][0]
        digits = len(last) - len(last.rstrip("0123456789"))
        return len(run), f"{label}..{last[-digits:]}"

    def _add(self, box: Box) -> int:
        self.boxes.append(box)
        self.boxes[box.frame].inside.append(len(self.boxes) - 1)
        return len(self.boxes) - 1

    # Boxes.

    def _add_boxes(self) -> None:
        """All that is drawn in forward order: leaves where they are used first."""
        graph, drawn = self.graph, self.repeats.drawn
        kinds, targets = graph.column("nodes.kind"), graph.column("edges.to")
        for node in range(len(graph) - 1, -1, -1):
            if kinds[node] == LEAF or drawn[node] != node:
                continue
            for row in graph.rows("edges.from", node):
                leaf = drawn[targets[row]]
                if kinds[leaf] == LEAF and leaf not in self.box_of:
                    self._add_node(leaf)
            if self.options.show_saved:
                self._add_saved(node)
            self._add_node(node)
        for node in graph.column("roots.node"):
            if drawn[node] not in self.box_of:
                self._add_node(drawn[node])
        for row in range(len(graph.roots)):
            self._add_root(row)

    def _add_node(self, node: int) -> None:
        home = self.repeats.home[node]
        frame, folded = self._place_of(home)
        if folded >= 0:
            self.box_of[node] = folded
            return
        shown = self.graph[node]
        times = self._times(node, frame)
        if shown.is_leaf:
            box = Box("leaf", self._leaf_lines(shown), frame, self._tip(shown), times)
        else:
            kind = "base" if node in self._bases else "op"
            box = Box(kind, self._op_lines(shown, home), frame, self._tip(shown), times)
        if times > 1:
            box.lines[0] += f" \u00d7 {times}"
        self.box_of[node] = self._add(box)

    def _times(self, node: int, frame: int) -> int:
        """How many nodes a box stands for, but for those that a frame around it tells of."""
        around = 1
        while frame > 0:
            around *= self.boxes[frame].times
            frame = self.boxes[frame].frame
        return max(1, self.repeats.count[node] // around)

    def _op_lines(self, node: GraphNode, home: int) -> list[str]:
        lines = [node.name + (" (freed)" if node.is_freed else "")]
        if home >= 0 and not self._is_framed(home):
            times, label = self._name_of(home)
            lines.append(label if times == 1 else f"{label} \u00d7 {times}")
        lines += [output_text(output) for output in node.outputs[:1]]
        if len(node.outputs) > 1:
            lines[-1] += f" + {len(node.outputs) - 1} more"
        if self.options.show_attrs:
            lines += [self._cut(f"{name}: {value_text(value)}")
                      for name, value in node.attributes.items()]  # fmt: skip
            lines += [self._cut(f"{saved.name}: {saved.dtype} {list(saved.shape)}")
                      for saved in node.saved]  # fmt: skip
        return lines

    def _cut(self, line: str) -> str:
        name, _, value = line.partition(": ")
        most = self.options.max_attr_chars
        return line if len(value) <= most else f"{name}: {value[:most]}..."

    def _leaf_lines(self, node: GraphNode) -> list[str]:
        name = node.leaf
        home = self.repeats.home[node.index]
        while home >= 0 and not self._is_framed(home):
            home = self.graph.modules[home][2]
        around = self.graph.modules[home][0] if home >= 0 else ""
        if around and name.startswith(f"{around}."):
            name = name[len(around) + 1 :]
        wanted = "" if node.requires_grad else " (no gradient)"
        return [(name or "leaf") + wanted, output_text(node.outputs[0])]

    def _tip(self, node: GraphNode) -> str:
        own = self.graph.own_bytes.get(node.index, 0)
        parts = [f"#{node.index} {node.name}"]
        if not node.is_leaf:
            parts += [module_text(node), f"{size(own)} saved" if own else "nothing saved"]
        return ", ".join(parts)

    def _add_saved(self, node: int) -> None:
        frame, folded = self._place_of(self.repeats.home[node])
        if folded >= 0:
            return
        for saved in self.graph[node].saved:
            lines = [saved.name, f"{saved.dtype} {list(saved.shape)}"]
            number = self._add(Box("saved", lines, frame, f"{size(saved.bytes)}"))
            self._saved.append((number, node))

    def _add_root(self, row: int) -> None:
        graph = self.graph
        node = graph.column("roots.node")[row]
        made = graph[node].outputs[graph.column("roots.output")[row]]
        lines = [*([made.name] if made.name else []), output_text(made)]
        number = self._add(Box("result", lines, 0))
        self.edges[self.box_of[self.repeats.drawn[node]], number] = "flow"

    # Edges.

    def _add_edges(self) -> None:
        graph, repeats = self.graph, self.repeats
        for number, node in self._saved:
            self.edges[number, self.box_of[node]] = "saved"
        sources, targets = graph.column("edges.from"), graph.column("edges.to")
        for source, target in zip(sources, targets, strict=True):
            self._add_edge(target, source, "flow", repeats.carries(source, target))
        views = zip(graph.column("views.base"), graph.column("views.node"), strict=True)
        for base, view in views:
            self._add_edge(base, view, "view", repeats.carries(base, view))

    def _add_edge(self, maker: int, user: int, look: str, is_carried: bool) -> None:
        drawn = self.repeats.drawn
        ends = (self.box_of[drawn[maker]], self.box_of[drawn[user]])
        if ends[0] == ends[1]:
            return
        if not is_carried:
            self.edges[ends] = look
        elif self.repeats.is_loop(maker):
            line = f"\u2190 {self.boxes[ends[0]].lines[0].split(' ')[0]}, a step before"
            if line not in self.boxes[ends[1]].lines:
                self.boxes[ends[1]].lines.append(line)


def output_text(output: Output) -> str:
    """Return a tensor's look, its device if that is not the host."""
    text = f"{output.dtype} {list(output.shape)}"
    return text if output.device == "cpu" else f"{text} {output.device}"


def value_text(value: Any) -> str:
    """Return an attribute as torchviz shows it."""
    return str(list(value) if isinstance(value, tuple) else value)
