# python/ebb/graphs/layout.py -- from a picture's boxes and edges to places.
#
# The places themselves are found in C++ (ebb/graph/layout), which the page of ebb.viz runs, too.
"""``Layout``: where boxes are, and the lines of edges."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ebb import _C

if TYPE_CHECKING:
    from ebb.graphs.picture import Picture

TITLE_CHAR, LINE_CHAR = 6.7, 6.1  # widths of letters in a monospaced font of 11 and 10 points
TITLE_HEIGHT, LINE_HEIGHT = 15.0, 13.0
BOX_PAD_X, BOX_PAD_Y = 9.0, 5.0
TITLE_PAD = 14.0  # beside the title of a frame
LINE_LIMIT = 64  # letters of a line


@dataclass
class Line:
    """A piece of an edge."""

    points: list[tuple[float, float]]  # from its upper to its lower end
    look: str
    is_far: bool  # it is drawn across what is between
    head: tuple[float, float, int] | None  # the tip of an arrow, and 1 if that points down, else -1


class Layout:
    """Places of a picture's boxes: ``x``, ``y`` of the upper left corner, ``w``, ``h``."""

    def __init__(self, picture: Picture):
        self.picture = picture
        boxes = picture.boxes
        is_flipped = picture.options.direction == "backward"
        makers = array("i", [maker for maker, _ in picture.edges])
        users = array("i", [user for _, user in picture.edges])
        sizes = [box_size(box.lines, box.kind == "frame") for box in boxes]
        self._columns = _C._lay_out(
            array("i", [box.frame for box in boxes]),
            bytes(box.kind == "frame" for box in boxes),
            array("d", self._ranks(is_flipped)),
            array("d", [width for width, _ in sizes]),
            array("d", [height for _, height in sizes]),
            users if is_flipped else makers,
            makers if is_flipped else users,
        )
        self.x: Any = self._columns["x"]
        self.y: Any = self._columns["y"]
        self.w: Any = self._columns["w"]
        self.h: Any = self._columns["h"]
        self.lines: list[Line] = self._lines()

    def _ranks(self, is_flipped: bool) -> list[int]:
        """The order from top to bottom, as on the page: leaves first; a frame as its first op."""
        boxes = self.picture.boxes
        leaves = [number for number, box in enumerate(boxes) if box.kind == "leaf"]
        others = [number for number, box in enumerate(boxes) if box.kind not in ("leaf", "frame")]
        order = [*reversed(leaves), *others][:: -1 if is_flipped else 1]
        ranks = [-1] * len(boxes)
        for place, number in enumerate(order):
            ranks[number] = place
        for number in sorted(order, key=lambda number: boxes[number].kind == "leaf"):
            frame = boxes[number].frame
            while frame >= 0 and ranks[frame] < 0:
                ranks[frame] = ranks[number]
                frame = boxes[frame].frame
        return ranks

    def _lines(self) -> list[Line]:
        columns = self._columns
        looks = [""] * len(columns["linkTo"])
        starts, links = columns["edgeLinks"], columns["linkList"]
        for edge, look in enumerate(self.picture.edges.values()):
            for row in range(starts[edge], starts[edge + 1]):
                looks[links[row]] = look
        return [self._line(link, look) for link, look in enumerate(looks)]

    def _line(self, link: int, look: str) -> Line:
        columns = self._columns
        begin, end = columns["pointStart"][link], columns["pointEnd"][link]
        numbers = columns["points"][2 * begin : 2 * end].tolist()
        points = list(zip(numbers[::2], numbers[1::2], strict=True))
        is_upward, target = columns["isUpward"][link], columns["linkTo"][link]
        joins_another = columns["linkTail"][link] >= 0 and not is_upward
        is_at_box = target >= 0 and self.picture.boxes[target].kind != "frame"
        head = None
        if look != "saved" and is_at_box and not joins_another:
            head = (*points[0], -1) if is_upward else (*points[-1], 1)
        return Line(points, look, bool(columns["isFar"][link]), head)


def box_size(lines: list[str], is_frame: bool) -> tuple[float, float]:
    """Return width and height of a box with these lines; of a frame, the least width."""
    if is_frame:
        title = sum(len(line) + 2 for line in lines) * TITLE_CHAR
        return (title + TITLE_PAD if lines else 0.0), 0.0
    width = max(
        (min(len(line), LINE_LIMIT) * (LINE_CHAR if k else TITLE_CHAR))
        for k, line in enumerate(lines)
    )
    height = TITLE_HEIGHT + LINE_HEIGHT * (len(lines) - 1)
    return max(44.0, width + 2 * BOX_PAD_X), height + 2 * BOX_PAD_Y
