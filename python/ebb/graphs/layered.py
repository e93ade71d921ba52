# python/ebb/graphs/layered.py -- puts boxes into layers, orders each layer, and says where all lie.
#
# What is laid out is one level of a picture: boxes 0..n-1, numbered so that links lead to larger
# numbers. Every step is a pass over boxes and links, so time grows with their number. A link over
# several layers takes a place in each, a lane; lanes that would need too many places are given up,
# and such a link has no path. Start reading at arrange().
"""``arrange``: a level's boxes in layers."""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from dataclasses import dataclass, field
from itertools import pairwise

GAP = 22.0  # between boxes of a layer
LANE_GAP = 9.0
LAYER_GAP = 26.0
STRAIGHT = 8.0  # how much more a lane, or the main flow, counts than another link
LOOSE = 0.02  # how little a box with one link draws others to it
COUNTED = 3000  # links up to which crossings are counted


@dataclass
class Level:
    """What is to be laid out. A box reaches ``left`` and ``right`` from its x."""

    left: list[float] = field(default_factory=list)
    right: list[float] = field(default_factory=list)
    height: list[float] = field(default_factory=list)
    links: list[tuple[int, int]] = field(default_factory=list)
    entries: set[int] = field(default_factory=set)  # boxes that are places in the upper border
    exits: set[int] = field(default_factory=set)  # and in the lower one

    def add(self, left: float, right: float, height: float) -> int:
        """Add a box and return its number."""
        self.left.append(left)
        self.right.append(right)
        self.height.append(height)
        return len(self.left) - 1


@dataclass
class Arranged:
    """Where things are. Nodes are boxes and, after them, places of lanes."""

    x: list[float]
    layer: list[int]
    top: list[float]  # of each layer
    bottom: list[float]
    paths: list[list[int] | None]  # nodes of each link from top to bottom; None: no room
    is_source: list[bool]  # boxes that nothing leads to: they stand on the bottom of their layer
    spine: set[int]  # links of the main flow
    low: float  # the least and largest x
    high: float


def arrange(level: Level, header: float, footer: float) -> Arranged:
    """Return the places of a level; ``header`` and ``footer`` are free above and below."""
    graph = _Layered(level)
    order = _Ordering(graph).best()
    x = _Places(graph, order).solve()
    shift = [0.0] * len(graph.layers)  # the widest move to the layer below
    for upper, lower in graph.pieces:
        here = graph.layer[upper]
        shift[here] = max(shift[here], abs(x[upper] - x[lower]))
    top, bottom = [], []
    y = 0.0 if level.entries else header
    for number, nodes in enumerate(graph.layers):
        top.append(y)
        tall = max((level.height[node] for node in nodes if node < graph.boxes), default=0.0)
        bottom.append(y + tall)
        y += tall + LAYER_GAP + min(50.0, shift[number] / 10)
        if number == 0 and level.entries:
            y = max(y, header + 12)
    if not level.exits:
        bottom[-1] += footer
    low = min((x[box] - level.left[box] for box in range(graph.count)), default=0.0)
    high = max((x[box] + level.right[box] for box in range(graph.count)), default=0.0)
    return Arranged(
        x, graph.layer, top, bottom, graph.paths, graph.is_source, graph.spine, low, high
    )


class _Layered:
    """A level whose links are cut into pieces between neighbouring layers."""

    def __init__(self, level: Level):
        self.level = level
        self.boxes = len(level.left)
        self.above: list[list[int]] = [[] for _ in range(self.boxes)]
        self.below: list[list[int]] = [[] for _ in range(self.boxes)]
        for upper, lower in level.links:
            self.below[upper].append(lower)
            self.above[lower].append(upper)
        self.is_source = [not above for above in self.above]
        self.spine = self._find_spine()
        self.layer = self._find_layers()
        self.layers: list[list[int]] = [[] for _ in range(max(self.layer, default=0) + 1)]
        for box in range(self.boxes):
            self.layers[self.layer[box]].append(box)
        self.pieces: list[tuple[int, int]] = []
        self.weight: list[float] = []
        self.paths: list[list[int] | None] = [None] * len(level.links)
        self._make_lanes()
        self.count = len(self.layer)

    def _find_layers(self) -> list[int]:
        """One below the lowest of those above; what nothing leads to stays close to its user."""
        level = self.level
        base = 1 if level.entries else 0
        layer = [0] * self.boxes
        for box in range(self.boxes):
            if box not in level.entries:
                layer[box] = max((layer[above] + 1 for above in self.above[box]), default=base)
        last = max((layer[box] for box in range(self.boxes) if box not in level.exits), default=0)
        for box in range(self.boxes - 1, -1, -1):
            if box in level.exits:
                layer[box] = last + 1
            elif self.is_source[box] and self.below[box] and box not in level.entries:
                layer[box] = max(base, min(layer[below] for below in self.below[box]) - 1)
        used = {value: rank for rank, value in enumerate(sorted(set(layer)))}
        return [used[value] for value in layer]

    def _find_spine(self) -> set[int]:
        """Links that are the longest way on from above and the longest way in from below."""
        links, far = self.level.links, 1 << 20
        depth = [far if box in self.level.entries else 0 for box in range(self.boxes)]
        height = [far if box in self.level.exits else 0 for box in range(self.boxes)]
        way_in, way_on = [-1] * self.boxes, [-1] * self.boxes
        best_in, best_on = [-1] * self.boxes, [-1] * self.boxes
        for box in range(self.boxes):
            for above in self.above[box]:
                depth[box] = max(depth[box], depth[above] + 1)
        for box in range(self.boxes - 1, -1, -1):
            for below in self.below[box]:
                height[box] = max(height[box], height[below] + 1)
        for number, (upper, lower) in enumerate(links):
            if depth[upper] >= best_in[lower]:
                is_tie = depth[upper] == best_in[lower]
                best_in[lower], way_in[lower] = depth[upper], -1 if is_tie else number
            if height[lower] >= best_on[upper]:
                is_tie = height[lower] == best_on[upper]
                best_on[upper], way_on[upper] = height[lower], -1 if is_tie else number
        return {
            number
            for number, (upper, lower) in enumerate(links)
            if way_in[lower] == number and way_on[upper] == number
        }

    def _make_lanes(self) -> None:
        """Cut links into pieces, the shortest first, while there is room for lanes."""
        links = self.level.links
        left = 4000 + 2 * (self.boxes + len(links))
        spans = [self.layer[lower] - self.layer[upper] for upper, lower in links]
        for number in sorted(range(len(links)), key=spans.__getitem__):
            upper, lower = links[number]
            left -= spans[number] - 1
            if left < 0:
                break
            path = [upper]
            for layer in range(self.layer[upper] + 1, self.layer[lower]):
                self.layers[layer].append(len(self.layer))
                path.append(len(self.layer))
                self.layer.append(layer)
            path.append(lower)
            self.paths[number] = path
            for piece in pairwise(path):
                is_lane = piece[0] >= self.boxes and piece[1] >= self.boxes
                self.pieces.append(piece)
                self.weight.append(STRAIGHT if is_lane or number in self.spine else 1.0)


class _Ordering:
    """Orders layers by the mean place of the neighbours, to and fro; keeps the best order."""

    def __init__(self, graph: _Layered):
        self.graph = graph
        self.layers = graph.layers
        self.up: list[list[int]] = [[] for _ in range(graph.count)]
        self.down: list[list[int]] = [[] for _ in range(graph.count)]
        for upper, lower in graph.pieces:
            self.up[lower].append(upper)
            self.down[upper].append(lower)
        self.place = [0] * graph.count
        for nodes in self.layers:
            self._number(nodes)

    def _number(self, nodes: list[int]) -> None:
        for place, node in enumerate(nodes):
            self.place[node] = place

    def best(self) -> list[list[int]]:
        """Return the layers in order."""
        counts = len(self.graph.pieces) <= COUNTED
        fewest, kept = self.crossings() if counts else 0, [list(nodes) for nodes in self.layers]
        for sweep in range(8 if counts else 4):
            if counts and fewest == 0:
                break
            self._sweep(sweep % 2 == 0)
            if not counts:
                kept = self.layers
                continue
            crossings = self.crossings()
            if crossings < fewest:
                fewest, kept = crossings, [list(nodes) for nodes in self.layers]
        for nodes in kept:
            self._number(nodes)
        return kept

    def _sweep(self, is_down: bool) -> None:
        count = len(self.layers)
        beside = self.up if is_down else self.down
        for number in range(1, count) if is_down else range(count - 2, -1, -1):
            nodes = self.layers[number]
            if len(nodes) < 2:
                continue
            width = len(self.layers[number - 1 if is_down else number + 1])
            keys = {}
            for place, node in enumerate(nodes):
                near = beside[node]
                if near:
                    keys[node] = sum(self.place[other] for other in near) / len(near)
                else:
                    keys[node] = place * width / len(nodes)
            nodes.sort(key=keys.__getitem__)
            self._number(nodes)

    def crossings(self) -> int:
        """Count the links that cross."""
        found = 0
        for nodes in self.layers:
            ends: list[int] = []
            for node in nodes:
                places = sorted(self.place[below] for below in self.down[node])
                found += sum(len(ends) - bisect_right(ends, place) for place in places)
                for place in places:
                    insort(ends, place)
        return found


class _Places:
    """x of all nodes: near to their neighbours, in order, and not too close."""

    def __init__(self, graph: _Layered, order: list[list[int]]):
        self.graph = graph
        self.order = order
        self.up: list[list[tuple[int, float]]] = [[] for _ in range(graph.count)]
        self.down: list[list[tuple[int, float]]] = [[] for _ in range(graph.count)]
        ends = self._loose_ends()
        for (upper, lower), weight in zip(graph.pieces, graph.weight, strict=True):
            self.up[lower].append((upper, LOOSE if upper in ends else weight))
            self.down[upper].append((lower, LOOSE if lower in ends else weight))
        lanes = graph.count - graph.boxes
        self.left = graph.level.left = [*graph.level.left, *[0.0] * lanes]
        self.right = graph.level.right = [*graph.level.right, *[0.0] * lanes]
        self.chain = self._chains()
        self.goal: list[float] = []  # by chain, once its nodes shall stand in line
        self.offsets = [self._offsets(nodes) for nodes in order]
        self.x = [0.0] * graph.count
        for nodes, offsets in zip(order, self.offsets, strict=True):
            middle = (offsets[-1] if offsets else 0.0) / 2
            for node, offset in zip(nodes, offsets, strict=True):
                self.x[node] = offset - middle

    def _loose_ends(self) -> set[int]:
        """Boxes with one link, such as parameters: they come to others, which stay in line."""
        links = [0] * self.graph.boxes
        for ends in self.graph.level.links:
            for box in ends:
                links[box] += 1
        ports = self.graph.level.entries | self.graph.level.exits
        return {box for box, count in enumerate(links) if count == 1} - ports

    def _offsets(self, nodes: list[int]) -> list[float]:
        """How far each node of a layer must be from the first, at least."""
        offsets, reach = [], 0.0
        for k, node in enumerate(nodes):
            if k > 0:
                before = nodes[k - 1]
                are_lanes = node >= self.graph.boxes and before >= self.graph.boxes
                reach += self.right[before] + self.left[node] + (LANE_GAP if are_lanes else GAP)
            offsets.append(reach)
        return offsets

    def solve(self) -> list[float]:
        """Return x by node."""
        count = len(self.order)
        down, up = range(count), range(count - 1, -1, -1)
        for layers, uses_up, uses_down in (
            (down, True, False), (up, False, True), (down, True, False), (up, True, True),
        ):  # fmt: skip
            for number in layers:
                self._settle(number, uses_up, uses_down)
        for _ in range(3):
            self._aim()
            for number in down:
                self._settle(number, True, True)
        return self.x

    def _chains(self) -> list[int]:
        """A number for each node: equal for those that shall stand in one upright line."""
        chain = list(range(self.graph.count))
        for (upper, lower), weight in sorted(
            zip(self.graph.pieces, self.graph.weight, strict=True),
            key=lambda piece: self.graph.layer[piece[0][0]],
        ):
            if weight == STRAIGHT:
                chain[lower] = chain[upper]
        return chain

    def _aim(self) -> None:
        """Let each chain aim at the mean of its nodes."""
        sums, counts = [0.0] * self.graph.count, [0] * self.graph.count
        for node, chain in enumerate(self.chain):
            sums[chain] += self.x[node]
            counts[chain] += 1
        # A node of its own has no aim but its neighbours.
        self.goal = [
            total / count if count > 1 else math.nan
            for total, count in zip(sums, counts, strict=True)
        ]

    def _settle(self, number: int, uses_up: bool, uses_down: bool) -> None:
        """Move the nodes of a layer where they want to be, as far as all of them can.

        Nodes that want to be closer than they may become a block, which goes to their mean.
        """
        nodes, offsets, x = self.order[number], self.offsets[number], self.x
        blocks: list[list[float]] = []  # weight, weighted sum, nodes
        for node, offset in zip(nodes, offsets, strict=True):
            weight, total = self._wish(node, uses_up, uses_down)
            blocks.append([weight, total - weight * offset, 1])
            while len(blocks) > 1 and (
                blocks[-2][1] * blocks[-1][0] >= blocks[-1][1] * blocks[-2][0]
            ):
                weight, total, size = blocks.pop()
                blocks[-1][0] += weight
                blocks[-1][1] += total
                blocks[-1][2] += size
        place = 0
        for weight, total, size in blocks:
            for _ in range(int(size)):
                x[nodes[place]] = total / weight + offsets[place]
                place += 1

    def _wish(self, node: int, uses_up: bool, uses_down: bool) -> tuple[float, float]:
        """How much a node wants to be somewhere, and that times the place."""
        if self.goal and not math.isnan(self.goal[self.chain[node]]):
            return STRAIGHT, STRAIGHT * self.goal[self.chain[node]]
        weight, total = 0.01, 0.01 * self.x[node]
        for near in (self.up[node] if uses_up else (), self.down[node] if uses_down else ()):
            for other, pull in near:
                weight += pull
                total += pull * self.x[other]
        return weight, total
