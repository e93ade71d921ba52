# python/ebb/graphs/layout.py -- from a picture's boxes and edges to places, frame by frame.
#
# Each frame is a level of its own, laid out from the innermost to the outermost; a frame inside is
# one box there. An edge that crosses a frame's border goes through a port, a box of no size in the
# first or last layer: edges of one source share its way out, edges of one target its way in.
"""``Layout``: where boxes are, and the lines of edges."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ebb.graphs.layered import Arranged, Level, arrange

if TYPE_CHECKING:
    from ebb.graphs.picture import Picture

PAD = 14.0
HEADER = 26.0
TITLE_CHAR, LINE_CHAR = 6.7, 6.1  # widths of letters in a monospaced font of 11 and 10 points
TITLE_HEIGHT, LINE_HEIGHT = 15.0, 13.0
BOX_PAD_X, BOX_PAD_Y = 9.0, 5.0
LINE_LIMIT = 64  # letters of a line


@dataclass
class Line:
    """A piece of an edge: points from its upper to its lower end."""

    points: list[tuple[float, float]]
    look: str
    heads: tuple[bool, bool] = (False, False)  # an arrow head at the first point, at the last


@dataclass
class _Frame:
    """What is inside one frame."""

    boxes: list[int]
    links: dict[tuple, str] = field(default_factory=dict)  # (upper, lower), boxes or ports
    ports: dict[tuple, bool] = field(default_factory=dict)  # whether it is in the lower border


class Layout:
    """Places of a picture's boxes: ``x``, ``y`` of the upper left corner, ``w``, ``h``."""

    def __init__(self, picture: Picture):
        self.picture = picture
        count = len(picture.boxes)
        self.is_flipped = picture.options.direction == "backward"
        self.x, self.y = [0.0] * count, [0.0] * count
        self.w, self.h = [0.0] * count, [0.0] * count
        self.anchor = [0.0] * count  # from the left side: what is lined up with others
        self.lines: list[tuple[int, Line]] = []  # with the frame that they are in
        self.title_x: dict[int, float] = {}  # of frames, from their left side
        self._port_x: dict[tuple[int, tuple], float] = {}
        self._rank = self._ranks()
        self._depth = [0] * count
        self._frames = {0: _Frame([])}
        for number, box in enumerate(picture.boxes):
            if number > 0:
                self._depth[number] = self._depth[box.frame] + 1
            if box.kind == "frame":
                self._frames[number] = _Frame(sorted(box.inside, key=self._rank.__getitem__))
            else:
                self.w[number], self.h[number] = box_size(box.lines)
                self.anchor[number] = self.w[number] / 2
        self._loose: list[tuple[int, int, str]] = []
        for (maker, user), look in picture.edges.items():
            self._route(maker, user, look)
        for number in sorted(self._frames, reverse=True):
            self._arrange(number)
        self._place_absolutely()
        self._draw_loose()

    def _ranks(self) -> list[int]:
        """The place of each box in the order from top to bottom; of a frame, its first box's."""
        count = len(self.picture.boxes)
        order = range(count - 1, -1, -1) if self.is_flipped else range(count)
        rank = [-1] * count
        for place, number in enumerate(order):
            if self.picture.boxes[number].kind == "frame":
                continue
            while number >= 0 and rank[number] < 0:
                rank[number] = place
                number = self.picture.boxes[number].frame
        return rank

    # Links: an edge cut at the borders of frames.

    def _route(self, maker: int, user: int, look: str) -> None:
        boxes = self.picture.boxes
        start, end = (user, maker) if self.is_flipped else (maker, user)
        upper, lower = start, end
        while boxes[upper].frame != boxes[lower].frame:
            above, below = self._depth[upper], self._depth[lower]
            if above >= below:
                upper = boxes[upper].frame
            if below >= above:
                lower = boxes[lower].frame
        if self._rank[upper] >= self._rank[lower]:
            self._loose.append((start, end, look))  # against the order, as in a loop
            return
        way_out, way_in = ("out", start), ("in", end)
        child = start
        while child != upper:
            frame = self._frames[boxes[child].frame]
            frame.ports[way_out] = True
            frame.links[(child, way_out), way_out] = look
            child = boxes[child].frame
        child = end
        while child != lower:
            frame = self._frames[boxes[child].frame]
            frame.ports[way_in] = False
            frame.links[way_in, (child, way_in)] = look
            child = boxes[child].frame
        outer = self._frames[boxes[upper].frame]
        outer.links[(upper, way_out), (lower, way_in)] = look

    # One level.

    def _arrange(self, number: int) -> None:
        frame, is_outermost = self._frames[number], number == 0
        level, numbers = Level(), {}
        for port, is_lower in frame.ports.items():
            if not is_lower:
                numbers[port] = level.add(3, 3, 0)
                level.entries.add(numbers[port])
        for box in frame.boxes:
            left = self.anchor[box]
            numbers[box] = level.add(left, self.w[box] - left, self.h[box])
        for port, is_lower in frame.ports.items():
            if is_lower:
                numbers[port] = level.add(3, 3, 0)
                level.exits.add(numbers[port])
        ends = [(numbers[_box_of(upper)], numbers[_box_of(lower)]) for upper, lower in frame.links]
        level.links = ends
        pad = 8.0 if is_outermost else PAD
        found = arrange(level, 8.0 if is_outermost else HEADER + 4, pad)
        width = found.high - found.low + 2 * pad
        title = self._title_width(number)
        shift = pad - found.low + max(0.0, (title - width) / 2)
        self.w[number] = max(width, title)
        self.h[number] = found.bottom[-1]
        for box in frame.boxes:
            node = numbers[box]
            layer = found.layer[node]
            self.x[box] = found.x[node] + shift - self.anchor[box]
            self.y[box] = found.top[layer]
            if found.is_source[node]:
                base = found.bottom[layer]
                if layer == len(found.bottom) - 1 and not level.exits:
                    base -= pad
                self.y[box] = base - self.h[box]
        for port in frame.ports:
            self._port_x[number, port] = found.x[numbers[port]] + shift
        self.anchor[number] = self._anchor(number, level, found, shift)
        self.title_x[number] = self._title_x(number, title)
        for k, ((upper, lower), look) in enumerate(frame.links.items()):
            self._draw(number, found, shift, (upper, lower), ends[k], found.paths[k], look)

    def _title_width(self, number: int) -> float:
        lines = self.picture.boxes[number].lines
        return sum(len(line) + 2 for line in lines) * TITLE_CHAR + PAD if lines else 0.0

    def _title_x(self, number: int, width: float) -> float:
        """The first place from the left for the title where no edge comes in."""
        found = PAD - 3
        ports = self._frames[number].ports.items()
        places = sorted(self._port_x[number, port] for port, is_lower in ports if not is_lower)
        for place in places:
            if found - 4 < place < found + width - PAD:
                found = place + 7
        return found if found + width - PAD <= self.w[number] else PAD - 3

    def _anchor(self, number: int, level: Level, found: Arranged, shift: float) -> float:
        """Where the main flow passes through a frame."""
        for link in sorted(found.spine):
            upper, lower = level.links[link]
            if upper in level.entries:
                return found.x[upper] + shift
            if lower in level.exits:
                return found.x[lower] + shift
        ports = [*level.entries, *level.exits]
        return found.x[ports[0]] + shift if ports else self.w[number] / 2

    def _draw(self, number, found, shift, link, ends, path, look) -> None:
        (upper, lower), (top, bottom) = link, ends
        start = (self._end_x(upper, found.x[top] + shift), self._end_y(number, upper, True))
        end = (self._end_x(lower, found.x[bottom] + shift), self._end_y(number, lower, False))
        points = [start]
        for node in path or ():
            x, layer = found.x[node] + shift, found.layer[node]
            if node == top:
                points.append((start[0], max(start[1], found.bottom[layer])))
            elif node == bottom:
                points.append((end[0], min(end[1], found.top[layer])))
            else:
                points += [(x, found.top[layer]), (x, found.bottom[layer])]
        points.append(end)
        if look == "saved":
            heads = (False, False)
        else:
            heads = (False, not self._is_frame(lower))
        self.lines.append((number, Line(points, look if path else f"{look} far", heads)))

    def _is_frame(self, end: tuple) -> bool:
        return isinstance(end[0], str) or self.picture.boxes[end[0]].kind == "frame"

    def _end_x(self, end: tuple, middle: float) -> float:
        """Where a link leaves or enters: a frame at its port."""
        if isinstance(end[0], str) or self.picture.boxes[end[0]].kind != "frame":
            return middle
        return self.x[end[0]] + self._port_x[end[0], end[1]]

    def _end_y(self, number: int, end: tuple, is_upper: bool) -> float:
        if isinstance(end[0], str):  # a port of this frame
            return 0.0 if is_upper else self.h[number]
        return self.y[end[0]] + (self.h[end[0]] if is_upper else 0.0)

    # The whole picture.

    def _place_absolutely(self) -> None:
        for number in sorted(self._frames):
            for box in self._frames[number].boxes:
                self.x[box] += self.x[number]
                self.y[box] += self.y[number]
        for number, line in self.lines:
            left, top = self.x[number], self.y[number]
            line.points = [(x + left, y + top) for x, y in line.points]

    def _draw_loose(self) -> None:
        """Edges against the order go up beside the boxes."""
        for start, end, look in self._loose:
            first = (self.x[start] + self.w[start] / 2, self.y[start] + self.h[start])
            last = (self.x[end] + self.w[end] / 2, self.y[end])
            heads = (False, look != "saved")
            self.lines.append((0, Line([first, last], f"{look} far", heads)))


def _box_of(end: tuple) -> tuple | int:
    """A link's end is a port, or a box with the port of a frame that it goes through."""
    return end if isinstance(end[0], str) else end[0]


def box_size(lines: list[str]) -> tuple[float, float]:
    """Return width and height of a box with these lines."""
    width = max(
        (min(len(line), LINE_LIMIT) * (LINE_CHAR if k else TITLE_CHAR))
        for k, line in enumerate(lines)
    )
    height = TITLE_HEIGHT + LINE_HEIGHT * (len(lines) - 1)
    return max(44.0, width + 2 * BOX_PAD_X), height + 2 * BOX_PAD_Y
