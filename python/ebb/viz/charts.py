# python/ebb/viz/charts.py -- writes line charts as SVG, with nothing but the standard library.
"""One function: ``write_line_chart``."""

import math
from pathlib import Path

from ebb.io.writing import write_text

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 48, 56
COLOURS = ("#1f5fa8", "#d1602a", "#3b8f4a", "#7a4fa0")
TEXT = 'font-family="Helvetica, Arial, sans-serif" fill="#333333"'


def ticks(low: float, high: float, count: int = 6) -> list[float]:
    """Return about ``count`` round numbers that span ``low`` to ``high``."""
    rough = max(high - low, 1e-12) / count
    unit = 10.0 ** math.floor(math.log10(rough))
    step = unit * next(factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    first = math.floor(low / step)
    last = math.ceil(high / step - 1e-9)
    return [step * number for number in range(first, last + 1)]


def write_line_chart(path: Path, title: str, x_label: str, y_label: str, curves: dict) -> None:
    """Write a chart of ``curves``: name -> y values at x = 1, 2, ...

    Args:
        path: The SVG file.
    """
    length = max(len(values) for values in curves.values())
    x_ticks = [tick for tick in ticks(0, length) if tick <= length]
    y_ticks = ticks(0, max(max(values) for values in curves.values()))

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + (WIDTH - LEFT - RIGHT) * x / max(length, 1),
            HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / y_ticks[-1],
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="28" font-size="17" {TEXT}>{title}</text>',
        *_axes(x_ticks, y_ticks, place),
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 14}" font-size="13" '
        f'text-anchor="middle" {TEXT}>{x_label}</text>',
        f'<text transform="translate(18 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" '
        f'font-size="13" text-anchor="middle" {TEXT}>{y_label}</text>',
    ]
    for number, (name, values) in enumerate(curves.items()):
        parts += _curve(number, name, values, place)
    write_text("write_line_chart", path, "\n".join([*parts, "</svg>\n"]))


def _axes(x_ticks: list[float], y_ticks: list[float], place) -> list[str]:
    parts = []
    right = WIDTH - RIGHT
    for tick in y_ticks:
        _, y = place(0, tick)
        colour = "#333333" if tick == 0 else "#dddddd"
        parts.append(f'<path d="M{LEFT} {y:.1f}H{right}" stroke="{colour}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" font-size="12" '
                     f'text-anchor="end" {TEXT}>{tick:g}</text>')  # fmt: skip
    for tick in x_ticks:
        x, y = place(tick, 0)
        parts.append(f'<path d="M{x:.1f} {y:.1f}v5" stroke="#333333"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 20:.1f}" font-size="12" '
                     f'text-anchor="middle" {TEXT}>{tick:g}</text>')  # fmt: skip
    return parts


def _curve(number: int, name: str, values: list[float], place) -> list[str]:
    colour = COLOURS[number % len(COLOURS)]
    points = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in enumerate(values, start=1))
    y = TOP + 16 + 20 * number
    x = WIDTH - RIGHT - 150
    return [
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" '
        'stroke-linejoin="round"/>',
        f'<path d="M{x} {y}h24" stroke="{colour}" stroke-width="2"/>',
        f'<text x="{x + 32}" y="{y + 4}" font-size="13" {TEXT}>{name}</text>',
    ]
