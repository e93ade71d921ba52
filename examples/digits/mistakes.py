# examples/digits/mistakes.py -- draws the digits that the network reads wrongly.
"""One function: ``write_mistakes``."""

from pathlib import Path

import ebb

PIXEL, GAP, TITLE = 12, 20, 48
SIDE = 8 * PIXEL
COLUMNS = 5
TEXT = 'font-family="Helvetica, Arial, sans-serif" fill="#333333"'


def write_mistakes(path: Path, model, images, labels) -> int:
    """Write an SVG with every image whose highest score is not at its label.

    Args:
        images: float32 [n, 64], 0 (paper) to 1 (ink).
        labels: int64 [n].
    Returns:
        The number of mistakes.
    """
    model.eval()
    with ebb.no_grad():
        read = model(images).argmax(1)
    wrong = [place for place, same in enumerate((read == labels).tolist()) if not same]
    rows = max(1, -(-len(wrong) // COLUMNS))
    width = GAP + COLUMNS * (SIDE + GAP)
    height = TITLE + rows * (SIDE + 2 * GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{GAP}" y="28" font-size="17" {TEXT}>Read wrongly: {len(wrong)} of '
        f"{len(labels)} held-out digits</text>",
    ]
    for number, place in enumerate(wrong):
        x = GAP + number % COLUMNS * (SIDE + GAP)
        y = TITLE + number // COLUMNS * (SIDE + 2 * GAP)
        caption = f"{labels[place].item()} read as {read[place].item()}"
        parts += _digit(images[place].tolist(), x, y, caption)
    path.write_text("\n".join([*parts, "</svg>\n"]), encoding="utf-8")
    return len(wrong)


def _digit(pixels: list[float], x: int, y: int, caption: str) -> list[str]:
    parts = []
    for place, ink in enumerate(pixels):
        shade = round(255 * (1 - ink))
        parts.append(
            f'<rect x="{x + place % 8 * PIXEL}" y="{y + place // 8 * PIXEL}" width="{PIXEL}" '
            f'height="{PIXEL}" fill="#{shade:02x}{shade:02x}{shade:02x}"/>'
        )
    parts.append(
        f'<rect x="{x}" y="{y}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#bbbbbb"/>'
    )
    parts.append(f'<text x="{x}" y="{y + SIDE + 15}" font-size="12" {TEXT}>{caption}</text>')
    return parts
