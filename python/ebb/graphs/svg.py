# python/ebb/graphs/svg.py -- a picture of a graph as SVG, with nothing but this package.
#
# The text is set in a monospaced font, whose letters are as wide as layout.py takes them to be.
# Colours are torchviz's, and darker ones where the system is dark. Start reading at draw().
"""``draw``: what ``Snapshot.to_svg`` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebb._base.svg import clean, decimal, document, element
from ebb.graphs.layout import (
    BOX_PAD_Y,
    LINE_HEIGHT,
    LINE_LIMIT,
    TITLE_CHAR,
    TITLE_HEIGHT,
    Layout,
    Line,
)  # fmt: skip
from ebb.graphs.picture import Box, Options, Picture

if TYPE_CHECKING:
    from ebb.graphs.node import Graph

MARGIN = 6.0
NAME_X, NAME_Y = 11.0, 19.0  # where the title of a frame begins
# Fill, border and ink of each kind of box: on a light ground, on a dark one.
COLOURS = {
    "op": (("#e4e4e4", "#9a9a9a", "#1b1b1b"), ("#363b42", "#6b737d", "#e6e8eb")),
    "leaf": (("#add8e6", "#5d9db3", "#10252c"), ("#1d4a5c", "#4c93ad", "#def2f9")),
    "result": (("#caff70", "#7fb02a", "#1d2a08"), ("#3f5c14", "#86b83a", "#edfbd6")),
    "base": (("#a2cd5a", "#6f9334", "#182406"), ("#2f4712", "#7ba23c", "#e3f3c8")),
    "saved": (("#ffc466", "#d18400", "#2e1d00"), ("#6b4706", "#d1922e", "#ffefd2")),
    "module": (("#f3e9ff", "#9a7cc4", "#21123a"), ("#3a2b55", "#8f74bd", "#eee5fb")),
}
GROUND = (("#ffffff", "#fbfbfc", "#c3c9d1", "#1b1b1b", "#5d6670", "#8a929c"),
          ("#0d1117", "#12171e", "#3c4550", "#e6e8eb", "#9aa4af", "#77818c"))  # fmt: skip
FONT = 'ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", "Liberation Mono", monospace'


class Svg(str):
    """A picture as text; as the last line of a notebook's cell it is shown."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


def draw(graph: Graph, options: Options) -> Svg:
    """Return the picture of a graph."""
    picture = Picture(graph, options)
    return Svg(_Writer(picture, Layout(picture)).write())


def _style() -> str:
    """Rules for both grounds; the names keep to this picture."""
    rules = [
        f".ebb-graph text{{font:10px {FONT}}}",
        ".ebb-graph .t{font-size:11px;font-weight:600}",
        ".ebb-graph .e{fill:none;stroke-width:1.1}.ebb-graph .far{opacity:.35}",
        ".ebb-graph .v{stroke-dasharray:2 3}.ebb-graph .frame{stroke-width:1}",
    ]
    for number in (0, 1):
        ground, frame, border, ink, faint, edge = GROUND[number]
        part = [
            f".ebb-graph .ground{{fill:{ground}}}",
            f".ebb-graph .frame{{fill:{frame};stroke:{border}}}",
            f".ebb-graph .name{{fill:{ink};stroke:{frame}}}",
            f".ebb-graph .type{{fill:{faint};stroke:{frame}}}",
            f".ebb-graph .e{{stroke:{edge}}}.ebb-graph .h{{fill:{edge}}}",
        ]
        for kind, looks in COLOURS.items():
            fill, line, text = looks[number]
            part.append(f".ebb-graph .{kind} rect{{fill:{fill};stroke:{line}}}"
                        f".ebb-graph .{kind} text{{fill:{text}}}")  # fmt: skip
        text = "".join(part)
        rules.append(f"@media (prefers-color-scheme:dark){{{text}}}" if number else text)
    rules.append(".ebb-graph .name,.ebb-graph .type{paint-order:stroke;stroke-width:4px}")
    return "\n".join(rules)


class _Writer:
    def __init__(self, picture: Picture, layout: Layout):
        self.picture = picture
        self.layout = layout
        self.parts: list[str] = []

    def write(self) -> str:
        layout, boxes = self.layout, self.picture.boxes
        width, height = layout.w[0] + 2 * MARGIN, layout.h[0] + 2 * MARGIN
        size = {"width": width, "height": height}
        self.parts += [
            element("title", clean(self._title())),
            element("style", _style()),
            element("rect", class_="ground", x=-MARGIN, y=-MARGIN, **size),
        ]
        frames = [number for number, box in enumerate(boxes) if box.kind == "frame" and number > 0]
        for number in frames:
            self._frame(number)
        for line in layout.lines:
            self._line(line)
        for number in frames:
            self._frame_title(number)
        for number, box in enumerate(boxes):
            if box.kind != "frame":
                self._box(number, box)
        sides = " ".join(decimal(side) for side in (-MARGIN, -MARGIN, width, height))
        return document(**size, parts=self.parts, viewBox=sides, class_="ebb-graph", role="img")

    def _title(self) -> str:
        graph = self.picture.graph
        leaves = len(graph.leaves)
        return f"Backward graph: {len(graph) - leaves:,} ops, {leaves:,} leaves"

    def _rect(self, box: int, radius: float, shift: float = 0.0, **look: str) -> str:
        layout = self.layout
        return element("rect", x=layout.x[box] + shift, y=layout.y[box] + shift,
                       width=layout.w[box], height=layout.h[box], rx=radius, **look)  # fmt: skip

    def _frame(self, box: int) -> None:
        shifts = (5.0, 2.5, 0.0) if self.picture.boxes[box].times > 1 else (0.0,)
        # Several sheets: it stands for several modules.
        self.parts += [self._rect(box, 7, shift, class_="frame") for shift in shifts]

    def _frame_title(self, box: int) -> None:
        title, *kind = self.picture.boxes[box].lines
        x, y = self.layout.x[box] + NAME_X, self.layout.y[box] + NAME_Y
        self.parts.append(element("text", clean(title), class_="t name", x=x, y=y))
        if kind:
            x += (len(title) + 1.5) * TITLE_CHAR
            self.parts.append(element("text", clean(kind[0]), class_="type", x=x, y=y))

    def _box(self, number: int, box: Box) -> None:
        layout = self.layout
        radius = min(11.0, layout.h[number] / 2) if box.kind == "leaf" else 3.0
        inside = [element("title", clean(box.tip))] if box.tip else []
        shifts = (4.0, 2.0, 0.0) if box.times > 1 else (0.0,)
        inside += [self._rect(number, radius, shift) for shift in shifts]
        x = layout.x[number] + layout.w[number] / 2
        y = layout.y[number] + BOX_PAD_Y + TITLE_HEIGHT - 4
        for k, line in enumerate(box.lines):
            cut = line if len(line) <= LINE_LIMIT else f"{line[: LINE_LIMIT - 1]}\u2026"
            look = {} if k else {"class_": "t"}
            inside.append(element("text", clean(cut), **look, x=x, y=y, text_anchor="middle"))
            y += LINE_HEIGHT
        self.parts.append(element("g", "\n".join(inside), class_=box.kind))

    def _line(self, line: Line) -> None:
        kind = "e" + (" v" if line.look == "view" else "") + (" far" if line.is_far else "")
        self.parts.append(element("path", class_=kind, d=_path(line.points)))
        if line.head:
            x, y, sign = line.head
            tip = f"M{decimal(x)} {decimal(y)}l-3.2 {-6.5 * sign}h6.4z"
            self.parts.append(element("path", class_="h", d=tip))


def _path(points: list[tuple[float, float]]) -> str:
    """A line that is upright at all points."""
    x, y = points[0]
    parts = [f"M{decimal(x)} {decimal(y)}"]
    for next_x, next_y in points[1:]:
        if next_x == x and next_y == y:
            continue
        if abs(next_x - x) < 0.05:
            parts.append(f"V{decimal(next_y)}")
        else:
            middle = (y + next_y) / 2
            bend = (x, middle, next_x, middle, next_x, next_y)
            parts.append(f"C{' '.join(map(decimal, bend))}")
        x, y = next_x, next_y
    return "".join(parts)
