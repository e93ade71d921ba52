# tools/bench/picture.py -- draws ratios to a peer as horizontal bars on a logarithmic scale.
"""One function: ``write_ratios``."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

WIDTH, LEFT, RIGHT, TOP, BAR, GAP = 860, 330, 90, 62, 20, 12
TEXT = 'font-family="Helvetica, Arial, sans-serif" fill="#333333"'


def write_ratios(path: Path, peer: str, ratios: dict[str, list[float]]) -> None:
    """Write an SVG: name -> how many times faster than the peer, in each round.

    A bar ends at the median; the thin line is the spread over rounds.
    """
    most = max(2.0, *(max(values) for values in ratios.values()))
    least = min(1.0, *(min(values) for values in ratios.values())) / 1.2
    height = TOP + len(ratios) * (BAR + GAP) + 34

    def place(ratio: float) -> float:
        share = math.log(ratio / least) / math.log(most / least)
        return LEFT + (WIDTH - LEFT - RIGHT) * share

    bottom = height - 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="20" y="30" font-size="17" {TEXT}>Training steps: times the speed of {peer}, '
        "one thread</text>",
    ]
    for tick in (0.5, 1, 2, 5, 10, 20, 50):
        if least <= tick <= most:
            x = place(tick)
            colour = "#333333" if tick == 1 else "#dddddd"
            parts.append(f'<path d="M{x:.1f} {TOP - 8}V{bottom}" stroke="{colour}"/>')
            parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" font-size="12" '
                         f'text-anchor="middle" {TEXT}>{tick:g}</text>')  # fmt: skip
    for number, (name, values) in enumerate(ratios.items()):
        parts += _bar(TOP + number * (BAR + GAP), name, values, place)
    path.write_text("\n".join([*parts, "</svg>\n"]), encoding="utf-8")


def _bar(y: int, name: str, values: list[float], place) -> list[str]:
    median = statistics.median(values)
    start, end = sorted((place(1.0), place(median)))
    middle = y + BAR / 2
    colour = "#1f5fa8" if median >= 1 else "#d1602a"
    return [
        f'<text x="{LEFT - 12}" y="{middle + 4}" font-size="13" text-anchor="end" {TEXT}>'
        f"{name}</text>",
        f'<rect x="{start:.1f}" y="{y}" width="{end - start:.1f}" height="{BAR}" fill="{colour}"/>',
        f'<path d="M{place(min(values)):.1f} {middle}H{place(max(values)):.1f}" '
        'stroke="#111111" stroke-width="1.5"/>',
        f'<text x="{max(place(max(values)), end) + 8:.1f}" y="{middle + 4}" font-size="13" {TEXT}>'
        f"{median:.1f}</text>",
    ]
