# python/ebb/graphs/walk.py -- neighbours, ancestors, descendants and paths in a graph.
"""Neighbours, ancestors, descendants and paths of a snapshot."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate


class Walk:
    """The edges of a graph in both directions."""

    def __init__(self, count: int, sources: Sequence[int], targets: Sequence[int]):
        self._down = _rows(count, sources, targets)
        self._up = _rows(count, targets, sources)

    def targets(self, node: int) -> list[int]:
        """Return where the gradients of a node go, each once."""
        return _neighbours(self._down, node)

    def sources(self, node: int) -> list[int]:
        """Return whose gradients arrive at a node, each once."""
        return _neighbours(self._up, node)

    def descendants(self, node: int) -> set[int]:
        """Return all that the gradient of a node flows into, towards the leaves."""
        return _reach(node, self.targets)

    def ancestors(self, node: int) -> set[int]:
        """Return all whose gradients flow into a node, towards the roots."""
        return _reach(node, self.sources)

    def paths(self, start: int, end: int, limit: int) -> list[list[int]]:
        """Return at most ``limit`` ways from ``start`` down to ``end``."""
        if start == end:
            return [[start]]
        useful = self.ancestors(end) & (self.descendants(start) | {start})
        if start not in useful:
            return []
        useful.add(end)
        found: list[list[int]] = []
        path, waiting = [start], [iter(self.targets(start))]
        while waiting and len(found) < limit:
            following = next((node for node in waiting[-1] if node in useful), None)
            if following is None:
                waiting.pop()
                path.pop()
            elif following == end:
                found.append([*path, end])
            else:
                path.append(following)
                waiting.append(iter(self.targets(following)))
        return found


Rows = tuple[array, array]  # where the entries of each node begin, and the entries


def _rows(count: int, owners: Sequence[int], entries: Sequence[int]) -> Rows:
    counts = array("q", bytes(8 * (count + 1)))
    for owner in owners:
        counts[owner + 1] += 1
    begins = array("q", accumulate(counts))
    free = array("q", begins)
    sorted_entries = array("i", bytes(4 * len(entries)))
    for owner, entry in zip(owners, entries, strict=True):
        sorted_entries[free[owner]] = entry
        free[owner] += 1
    return begins, sorted_entries


def _neighbours(rows: Rows, node: int) -> list[int]:
    begins, entries = rows
    return list(dict.fromkeys(entries[begins[node] : begins[node + 1]]))


def _reach(start: int, neighbours: Callable[[int], list[int]]) -> set[int]:
    seen: set[int] = set()
    stack = neighbours(start)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack += neighbours(node)
    return seen
