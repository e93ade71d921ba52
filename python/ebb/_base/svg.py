# python/ebb/_base/svg.py -- elements of SVG as text: what all pictures of the package are made of.
"""``document``, ``element``, ``decimal``, ``clean``."""

from collections.abc import Iterable


def document(width: float, height: float, parts: Iterable[str], **attributes: str | float) -> str:
    """Return a picture; ``viewBox`` is the whole of it by default."""
    shown = {"viewBox": f"0 0 {decimal(width)} {decimal(height)}", **attributes}
    head = element(
        "svg", "", xmlns="http://www.w3.org/2000/svg", width=width, height=height, **shown
    )
    return "\n".join([head.removesuffix("</svg>"), *parts, "</svg>\n"])


def element(name: str, content: str | None = None, **attributes: str | float) -> str:
    """Return an element; in names of attributes ``_`` stands for ``-``, one at the end for nothing.

    Args:
        content: What is inside, as it is: ``clean`` texts, or other elements.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="'
        f'{clean(value) if isinstance(value, str) else decimal(value)}"'
        for key, value in attributes.items()
    )
    return f"<{name}{given}/>" if content is None else f"<{name}{given}>{content}</{name}>"


def decimal(value: float) -> str:
    """Return a number with one digit after the point, if that is not 0."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def clean(text: str) -> str:
    """Return text for XML, which has no control characters."""
    import re  # neither at every import of ebb
    from html import escape

    return escape(re.sub("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text))
