# python/ebb/profiler/tables.py -- ranges as text: one line per op, module, line, kind or thread.
"""The rows of ``profile.table``."""

from __future__ import annotations

from collections.abc import Callable

from ebb.profiler.ranges import Range, module_text, place_text

GROUPS: dict[str, Callable[[Range], str]] = {
    "op": lambda one: one.name,
    "operands": lambda one: f"{one.name}({', '.join(one.operands)})",
    "module": lambda one: module_text(one.module),
    "line": lambda one: place_text(one.place),
    "kind": lambda one: f"{one.kind}, backward" if one.is_backward else one.kind,
    "thread": lambda one: str(one.thread),
}


class Row:
    """A row of the table."""

    def __init__(self) -> None:
        self.own: float = 0.0
        self.whole: float = 0.0
        self.calls: int = 0
        self.bytes: int = 0
        self.allocations: int = 0
        self.allocated: int = 0
        self.peak: int = 0

    def add(self, one: Range, own: float, count: int, size: int) -> None:
        """Add a range, with its own time, blocks and bytes."""
        self.own += own
        self.whole += one.duration
        self.calls += 1
        self.bytes += one.bytes
        self.allocations += count
        self.allocated += size
        self.peak = max(self.peak, one.peak)

    def cells(self, total: float) -> tuple[str, ...]:
        """Return the row as text."""
        return (
            f"{self.own / 1e3:,.1f}",
            f"{100 * self.own / total if total else 0:.1f}",
            f"{self.whole / 1e3:,.1f}",
            f"{self.calls:,}",
            f"{self.whole / self.calls / 1e3:,.2f}",
            f"{self.bytes:,}",
            f"{self.allocations:,}",
            f"{self.allocated:,}",
            f"{self.peak:,}",
        )


def aligned(rows: list[tuple[str, ...]]) -> str:
    """Return rows as text: the first column flush left, the others right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if index else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
