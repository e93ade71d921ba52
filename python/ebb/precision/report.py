# python/ebb/precision/report.py -- how two runs of a step differ: rows, table and picture.
"""``PrecisionReport``: what ``compare_precision`` found."""

from __future__ import annotations

import math
from collections.abc import Iterator
from os import PathLike
from typing import NamedTuple

from ebb._base.svg import clean, document, element
from ebb.graphs.node import Location
from ebb.graphs.table import NO_LINE, NO_MODULE, aligned
from ebb.io.writing import write_text

ROW, LABEL, BARS, VALUE, TOP = 18, 420, 320, 90, 52
PLAIN, TO_BLAME, INK = "#2f5597", "#d01c8b", "#333333"
FONT = "Helvetica, Arial, sans-serif"
LEAST, MOST = -2.0, 6.0  # powers of ten that bars show


class PrecisionRow(NamedTuple):
    """One op or node of a step, as it came out in two precisions.

    Attributes:
        index: Its place in the order in which the narrow run made them.
        name: Of the op (``mul``) or the node (``MulBackward``), or ``gradient of`` a leaf.
        is_backward: Whether it is gradients that are compared.
        module: Path of the module that called the op, "" for the outermost, None outside of all.
        place: File, line and function that called the op, None if unknown.
        dtypes: Of the result in the narrow run and in the wide one.
        max_abs: The largest difference of an element.
        max_rel: The largest difference of an element, as a part of its wide value.
        drift: The root of the mean squared difference over that of the wide values, in ulps of
            the narrow dtype.
        explained: The drift that roundings explain: one ulp of its own, and that of its operands;
            infinite where that is not known.
        overflowed: Elements that are finite in the wide run and infinite or NaN in the narrow one.
        underflowed: Elements that are 0 in the narrow run only.

    Example:
        >>> x = ebb.tensor([1000.0, 1000.5], requires_grad=True)
        >>> report = ebb.compare_precision(lambda: (x @ ebb.eye(2) - 1000.0).sum())
        >>> row = report.first
        >>> row.name, row.dtypes, row.excess > 8
        ('sub', ('bfloat16', 'float32'), True)
    """

    index: int
    name: str
    is_backward: bool
    module: str | None
    place: Location | None
    dtypes: tuple[str, str]
    max_abs: float
    max_rel: float
    drift: float
    explained: float
    overflowed: int
    underflowed: int

    @property
    def excess(self) -> float:
        """How many times more it drifted than roundings explain."""
        return self.drift / self.explained if math.isfinite(self.explained) else 0.0

    @property
    def title(self) -> str:
        """The op, its module and its line."""
        module = "" if self.module is None else f" in {self.module or '(outermost)'}"
        return f"{self.name}{module} at {self.place or NO_LINE}"


class PrecisionReport:
    """What ``compare_precision`` found: ``print`` shows a table, ``to_svg`` draws it.

    Attributes:
        rows: All ops and nodes of both runs, in order.
        first: The first that drifted beyond what roundings explain, or None.
        narrow: The name of the narrow precision.
        wide: That of the wide one.
        tolerance: How many times more than explained counts as beyond.
        unmatched: How many results of the narrow run have no counterpart in the wide one.

    Example:
        >>> x = ebb.tensor([1000.0, 1000.5], requires_grad=True)
        >>> report = ebb.compare_precision(lambda: (x @ ebb.eye(2) - 1000.0).sum())
        >>> report
        <PrecisionReport: bfloat16 against float32, ... rows>
        >>> report.worst(1)[0].name
        'sub'
    """

    def __init__(
        self, rows: list[PrecisionRow], narrow: str, wide: str, tolerance: float, unmatched: int
    ) -> None:
        self.rows: list[PrecisionRow] = rows
        self.narrow: str = narrow
        self.wide: str = wide
        self.tolerance: float = tolerance
        self.unmatched: int = unmatched
        self.first: PrecisionRow | None = next((row for row in rows if self.is_to_blame(row)), None)

    def is_to_blame(self, row: PrecisionRow) -> bool:
        """Whether a row drifted beyond what the narrow dtype explains."""
        return row.excess > self.tolerance

    def __iter__(self) -> Iterator[PrecisionRow]:
        return iter(self.rows)

    def worst(self, limit: int = 20) -> list[PrecisionRow]:
        """Return the rows that exceed most what is explained, and after them drifted most."""
        order = sorted(self.rows, key=lambda row: (-row.excess, -row.drift, row.index))
        return order[:limit]

    def table(self, limit: int = 20) -> str:
        """Return the worst rows as a table, worst first."""
        head = ("#", "op", "module", "line", "dtypes", "max abs", "max rel", "ulps", "explained",
                "times", "")  # fmt: skip
        lines = [head, *(self._cells(row) for row in self.worst(limit))]
        text = aligned(lines, "><<<<>>>>><")
        left = len(self.rows) - limit
        return text + (f"\n... and {left:,} more" if left > 0 else "")

    def _cells(self, row: PrecisionRow) -> tuple[str, ...]:
        module = NO_MODULE if row.module is None else row.module or "(outermost)"
        lost = [(row.overflowed, "overflowed"), (row.underflowed, "underflowed")]
        note = ", ".join(f"{count:,} {what}" for count, what in lost if count)
        numbers = (row.max_abs, row.max_rel, row.drift, row.explained, row.excess)
        dtypes = " / ".join(row.dtypes)
        texts = [f"{number:.3g}" for number in numbers]
        if math.isinf(row.explained):
            texts[-2:] = ["-", "-"]
        return str(row.index), row.name, module, str(row.place or NO_LINE), dtypes, *texts, note

    def __str__(self) -> str:
        head = f"{self.narrow} against {self.wide}: {len(self.rows):,} results compared"
        if self.unmatched:
            head += f", {self.unmatched:,} without counterpart"
        if self.first is None:
            return f"{head}, none drifts beyond roundings\n{self.table()}"
        first = self.first
        lost = f", {first.overflowed:,} overflowed" if first.overflowed else ""
        return (
            f"{head}\nthe first to drift: {first.title}: {first.drift:.3g} ulps where roundings "
            f"explain {first.explained:.3g}{lost}\n{self.table()}"
        )

    def __repr__(self) -> str:
        return f"<PrecisionReport: {self.narrow} against {self.wide}, {len(self.rows)} rows>"

    def to_svg(self, path: str | PathLike[str] | None = None, *, limit: int = 60) -> str:
        """Return a picture of the worst rows in order: a bar of ulps each, those to blame marked.

        Args:
            path: A file to write it to as well.
            limit: The most rows.
        """
        shown = sorted(self.worst(limit), key=lambda row: row.index)
        width, height = LABEL + BARS + VALUE, TOP + ROW * len(shown) + 16
        title = f"drift of {self.narrow} against {self.wide}, in ulps of {self.narrow}"
        parts = [element("rect", width=width, height=height, fill="#ffffff"), _text(12, 24, title)]
        for power in range(int(LEAST), int(MOST) + 1, 2):
            x = LABEL + _length(10.0**power)
            line = f"M{x:.1f} {TOP - 4}V{height - 12}"
            parts.append(element("path", d=line, stroke="#dddddd"))
            parts.append(_text(x, TOP - 8, f"{10.0**power:g}", text_anchor="middle"))
        for place, row in enumerate(shown):
            parts += self._bar(TOP + ROW * place, row)
        picture = document(width, height, parts)
        if path is not None:
            write_text("to_svg", path, picture)
        return picture

    def _bar(self, y: float, row: PrecisionRow) -> list[str]:
        is_first = self.first is not None and row.index == self.first.index
        colour = TO_BLAME if self.is_to_blame(row) else PLAIN
        label = row.title if len(row.title) <= 62 else row.title[:61] + "\u2026"
        length = _length(row.drift)
        bar = element("rect", element("title", clean(row.title)), x=LABEL, y=y, width=length,
                      height=ROW - 5, fill=colour)  # fmt: skip
        return [
            _text(LABEL - 8, y + 11, label, text_anchor="end",
                  font_weight="bold" if is_first else "normal"),
            bar,
            _text(LABEL + length + 6, y + 11, f"{row.drift:.3g}"),
        ]  # fmt: skip


def _length(drift: float) -> float:
    """Return how long a bar is: by the power of ten."""
    power = math.log10(drift) if 0 < drift < math.inf else MOST if drift > 0 else LEAST
    return BARS * (min(max(power, LEAST), MOST) - LEAST) / (MOST - LEAST)


def _text(x: float, y: float, text: str, **attributes: str) -> str:
    return element("text", clean(text), x=x, y=y, font_size=11, font_family=FONT, fill=INK,
                   **attributes)  # fmt: skip
