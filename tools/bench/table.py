# tools/bench/table.py -- one measured figure with its target, and tables of them.
"""A row is ok if its lower quartile keeps the target; rows that do not are listed as short."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

DIFFERENCE = "difference of two lower quartiles"


def lower_quartile(samples: list[float]) -> float:
    """The first quartile, or the only sample."""
    if len(samples) == 1:
        return samples[0]
    return statistics.quantiles(samples, n=4, method="inclusive")[0]


@dataclass
class Row:
    """A figure of the report. Without samples it was not measured; without a limit it informs."""

    figure: str
    unit: str
    limit: float | None = None
    samples: list[float] = field(default_factory=list)
    instructions: float | None = None
    command: str = ""
    at_least: bool = False
    note: str = ""

    @property
    def quartile(self) -> float | None:
        """The lower quartile, or the upper one of a figure that should be large."""
        if not self.samples:
            return None
        if self.at_least:
            return -lower_quartile([-sample for sample in self.samples])
        return lower_quartile(self.samples)

    @property
    def median(self) -> float | None:
        """The median of all samples."""
        return statistics.median(self.samples) if self.samples else None

    @property
    def verdict(self) -> str:
        """Whether the figure keeps its target: ok, short, not measured, or nothing without one."""
        if self.quartile is None:
            return "not measured"
        if self.limit is None:
            return ""
        value = round(self.quartile, 4)
        return "ok" if (value >= self.limit if self.at_least else value <= self.limit) else "short"


def number(value: float | None) -> str:
    """Three significant digits, never in scientific notation."""
    if value is None:
        return "-"
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 1 else f"{value:.3g}"


def target(row: Row) -> str:
    if row.limit is None:
        return "-"
    return f"{'at least ' if row.at_least else ''}{row.limit:,g} {row.unit}".rstrip()


HEAD = ("figure", "target", "quartile", "median", "instructions", "verdict")


def cells(row: Row) -> tuple[str, ...]:
    """One line of the table as text."""
    unit = f" {row.unit}".rstrip()
    quartile, median = number(row.quartile), number(row.median)
    return (
        row.figure,
        target(row),
        quartile + unit if row.samples else "-",
        median + unit if row.samples else "-",
        number(row.instructions),
        row.verdict,
    )


def terminal_table(rows: list[Row]) -> str:
    """Columns aligned for a terminal."""
    lines = [HEAD, *(cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    text = []
    for line in lines:
        parts = [line[0].ljust(widths[0])]
        parts += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        text.append("  ".join(parts).rstrip())
    return "\n".join(text)


def markdown_table(rows: list[Row]) -> str:
    """The same in Markdown, with notes below their figure."""
    lines = [f"| {' | '.join(HEAD)} |", "| --- |" + " ---: |" * (len(HEAD) - 2) + " --- |"]
    for row in rows:
        figure, *rest = cells(row)
        text = f"{figure} ({row.note})" if row.note else figure
        lines.append(f"| {' | '.join([text.replace('|', '/'), *rest])} |")
    return "\n".join(lines)
