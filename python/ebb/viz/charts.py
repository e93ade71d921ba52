# python/ebb/viz/charts.py -- writes line charts as SVG, with nothing but the standard library.
"""One function: ``write_line_chart``."""

import math
from pathlib import Path
from typing import Any

from ebb._base.svg import clean, decimal, document, element
from ebb.io.writing import write_text

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 48, 56
COLOURS = ("#1f5fa8", "#d1602a", "#3b8f4a", "#7a4fa0")
FONT, INK = "Helvetica, Arial, sans-serif", "#333333"


def ticks(low: float, high: float, count: int = 6) -> list[float]:
    """Return about ``count`` round numbers that span ``low`` to ``high``."""
    rough = max(high - low, 1e-12) / count
    unit = 10.0 ** math.floor(math.log10(rough))
    step = unit * next(factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    first = math.floor(low / step)
    last = math.ceil(high / step - 1e-9)
    return [step * place for place in range(first, last + 1)]


def write_line_chart(
    path: Path, title: str, x_label: str, y_label: str, curves: dict[Any, Any]
) -> None:
    """Write a chart of ``curves``: name -> y values at x = 1, 2, ...

    Args:
        path: The SVG file.

    Example:
        >>> from pathlib import Path
        >>> curves = {"train": [1.0, 0.5, 0.3], "test": [1.1, 0.7, 0.6]}
        >>> ebb.viz.write_line_chart(Path("loss.svg"), "loss", "epoch", "loss", curves)
        >>> Path("loss.svg").exists()
        True
    """
    length = max(len(values) for values in curves.values())
    x_ticks = [tick for tick in ticks(0, length) if tick <= length]
    y_ticks = ticks(0, max(max(values) for values in curves.values()))

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + (WIDTH - LEFT - RIGHT) * x / max(length, 1),
            HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / y_ticks[-1],
        )

    middle = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    parts = [
        element("rect", width=WIDTH, height=HEIGHT, fill="#ffffff"),
        _text(LEFT, 28, title, 17),
        *_axes(x_ticks, y_ticks, place),
        _text(middle[0], HEIGHT - 14, x_label, 13, text_anchor="middle"),
        _text(0, 0, y_label, 13, text_anchor="middle",
              transform=f"translate(18 {decimal(middle[1])}) rotate(-90)"),
    ]  # fmt: skip
    for index, (name, values) in enumerate(curves.items()):
        parts += _curve(index, name, values, place)
    write_text("write_line_chart", path, document(WIDTH, HEIGHT, parts))


def _text(x: float, y: float, text: str, size: float, **attributes: str) -> str:
    return element("text", clean(text), x=x, y=y, font_size=size, font_family=FONT, fill=INK,
                   **attributes)  # fmt: skip


def _axes(x_ticks: list[float], y_ticks: list[float], place) -> list[str]:
    parts = []
    for tick in y_ticks:
        _, y = place(0, tick)
        colour = INK if tick == 0 else "#dddddd"
        parts.append(element("path", d=f"M{LEFT} {decimal(y)}H{WIDTH - RIGHT}", stroke=colour))
        parts.append(_text(LEFT - 8, y + 4, f"{tick:g}", 12, text_anchor="end"))
    for tick in x_ticks:
        x, y = place(tick, 0)
        parts.append(element("path", d=f"M{decimal(x)} {decimal(y)}v5", stroke=INK))
        parts.append(_text(x, y + 20, f"{tick:g}", 12, text_anchor="middle"))
    return parts


def _curve(index: int, name: str, values: list[float], place) -> list[str]:
    look = {"stroke": COLOURS[index % len(COLOURS)], "stroke_width": 2}
    places = (place(x, y) for x, y in enumerate(values, start=1))
    points = " ".join(f"{decimal(x)},{decimal(y)}" for x, y in places)
    x, y = WIDTH - RIGHT - 150, TOP + 16 + 20 * index
    return [
        element("polyline", points=points, fill="none", stroke_linejoin="round", **look),
        element("path", d=f"M{x} {y}h24", **look),
        _text(x + 32, y + 4, name, 13),
    ]
