# python/ebb/viz/html.py -- writes a backward graph as one interactive HTML file.
#
# The page is put together from the sources in page/; nothing is fetched, then or later. The data
# goes in whole: what read_html() returns is what to_json() gave (docs/graph_json.md). Start reading
# at to_html(). Modules that take time to import are imported where they are used.
"""``write_html``, ``to_html``, ``read_html`` and ``show`` for notebooks."""

import json
import math
import re
from functools import cache
from os import PathLike, fsdecode, fstat
from pathlib import Path
from typing import Any

from ebb import _C
from ebb._base.arguments import check_depth
from ebb.io.reading import check_limit, opened
from ebb.io.writing import write_text

FORMAT, VERSION = "ebb.graph", 1
# In this order: each file may use at once what an earlier one declares.
SCRIPTS = (
    "kernel", "model", "steps", "groups", "scene", "layout", "boxes", "colours", "draw", "view",
    "tree", "details", "search", "export", "keyboard", "app", "actions",
)  # fmt: skip
KERNEL = Path(__file__).parent / "page" / "layout.wasm"  # made by cmake/EbbWasm.cmake
COMPRESS_FROM = 1 << 15  # bytes of JSON from which on gzip is worth a file that grep cannot read
GZIP, BASE64, PLAIN = "gzip+base64", "base64", "json"
MOST_BYTES = 1 << 28  # that read_html takes from a file that it was not told to trust


def write_html(
    graph: Any,
    path: str | PathLike[str],
    *,
    title: str = "Backward graph",
    compress: bool | None = None,
    direction: str = "backward",
) -> Path:
    """Write ``graph`` as one HTML file that works offline, and return its path.

    Args:
        graph: A graph, or what its ``to_json()`` returns: a dict or text (docs/graph_json.md).
        path: The file.
        title: What the page and its tab are called.
        compress: Whether data and code are packed by gzip. By default the data is from 32 KiB on;
            browsers older than 2023 need ``False``.
        direction: What the page shows at first: "backward": gradients flow from top to bottom;
            "forward": values do.
    Raises:
        ValueError: If the data is not a graph of the known version.
        NotImplementedError: If ebb was built without the layout that pages run.
    Example:
        >>> x = ebb.tensor([1.0, 2.0], requires_grad=True)
        >>> path = ebb.viz.write_html(ebb.graph((x * x).sum()), "graph.html")
        >>> path.stat().st_size > 1000
        True
    """
    page = to_html(graph, title=title, compress=compress, direction=direction)
    return write_text("write_html", path, page)


def to_html(
    graph: Any,
    *,
    title: str = "Backward graph",
    compress: bool | None = None,
    direction: str = "backward",
) -> str:
    """Return the page that ``write_html`` writes.

    Example:
        >>> x = ebb.tensor([1.0, 2.0], requires_grad=True)
        >>> page = ebb.viz.to_html(ebb.graph((x * x).sum()), title="A square")
        >>> "<title>A square</title>" in page
        True
    """
    import html

    if direction not in ("backward", "forward"):
        raise _C.ValueError(f"viz: direction needs forward or backward, got {direction!r}")
    text = _dump(graph_data(graph))
    packs = len(text) >= COMPRESS_FROM if compress is None else compress
    style, script = _sources(compress is not False)
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}' 'wasm-unsafe-eval'; "
        f"style-src '{_digest(style)}'; img-src blob: data:; base-uri 'none'; form-action 'none'"
    )
    return _fill(
        _page("page.html"),
        policy=policy,
        title=html.escape(title),
        style=style,
        type="text/plain" if packs else "application/json",
        direction=direction,
        encoding=GZIP if packs else PLAIN,
        data=_pack(text.encode()) if packs else text.replace("<", "\\u003c"),
        script=script,
    )


def read_html(path: str | PathLike[str], *, max_bytes: int = MOST_BYTES) -> dict[Any, Any]:
    """Return the graph's data, as ``to_json()`` gave it, from a file of ``write_html``.

    Args:
        path: The file.
        max_bytes: Refuse a file, or packed data, of more; by default 256 MiB.
    Raises:
        OSError: If the file cannot be read.
        ValueError: If the file holds no graph, or too much.
    Example:
        >>> x = ebb.tensor([1.0, 2.0], requires_grad=True)
        >>> path = ebb.viz.write_html(ebb.graph((x * x).sum()), "graph.html")
        >>> len(ebb.viz.read_html(path)["nodes"]["name"])
        3
    """
    check_limit("read_html", "max_bytes", max_bytes)
    with opened("read_html", path) as file:
        if fstat(file.fileno()).st_size > max_bytes:
            raise _too_much(path, "a file", max_bytes)
        page = file.read()
    try:
        encoding, content = _data_of(page)
        if encoding == GZIP:
            content = _unpacked(content, path, max_bytes)
        return graph_data(json.loads(content.decode()))
    except _C.Error:
        raise
    except (ValueError, RecursionError) as error:
        what = str(error).partition("\n")[0]
        raise _C.ValueError(
            f"read_html: needs a file of write_html, got {fsdecode(path)!r}: {what}"
        ) from None


def _data_of(page: bytes) -> tuple[str, bytes]:
    """Return how the data of a page is encoded, and the data."""
    start = page.find(b'<script id="graph" ')
    end = page.find(b">", start)
    found = re.search(rb' data-encoding="([a-z0-9+]*)"$', page[max(start, end - 200) : end])
    close = page.find(b"<", end)
    if start < 0 or found is None or close < 0:
        raise ValueError("it holds no graph")
    return found[1].decode(), page[end + 1 : close]


def _unpacked(content: bytes, path: Any, most: int) -> bytes:
    """Unpack base64 and gzip; never more than ``most`` bytes."""
    import base64
    import zlib

    unpacker = zlib.decompressobj(wbits=31)
    try:
        text = unpacker.decompress(base64.b64decode(content), most + 1)
    except zlib.error as error:
        raise ValueError(f"its data is damaged: {error}") from None
    if len(text) > most:
        raise _too_much(path, "data", most)
    if not unpacker.eof:
        raise ValueError("its data ends too early")
    return text


def _too_much(path: Any, what: str, most: int) -> Exception:
    return _C.ValueError(
        f"read_html: needs {what} of at most {most:,} bytes, got more in {fsdecode(path)!r}"
        "\nhint: pass max_bytes"
    )


class show:  # noqa: N801 -- used as a function; notebooks then ask the object for its HTML
    """Show ``graph`` in a notebook: ``ebb.viz.show(graph)`` as the last line of a cell.

    Args:
        graph: As for ``write_html``.
        height: Height of the frame in pixels.
        title: What the page is called.
        direction: As for ``write_html``.

    Example:
        >>> x = ebb.tensor([1.0, 2.0], requires_grad=True)
        >>> cell = ebb.viz.show(ebb.graph((x * x).sum()), height=400)
    """

    def __init__(
        self,
        graph: Any,
        *,
        height: int = 640,
        title: str = "Backward graph",
        direction: str = "backward",
    ):
        self._page = to_html(graph, title=title, direction=direction)
        self._height = int(height)

    def _repr_html_(self) -> str:
        import html

        return (
            f'<iframe srcdoc="{html.escape(self._page)}" width="100%" height="{self._height}" '
            'style="border: 1px solid #8884; border-radius: 8px" title="Backward graph"></iframe>'
        )


def graph_data(graph: Any) -> dict[Any, Any]:
    """Return the data of a graph, of its ``to_json()``, or of a dict that is already one.

    Raises:
        ValueError: If it is not a graph of the known version.
    """
    data = graph.to_json() if hasattr(graph, "to_json") else graph
    if isinstance(data, str | bytes):
        try:
            data = json.loads(data)
        except (ValueError, RecursionError) as error:
            what = str(error).partition("\n")[0]
            raise _C.ValueError(
                f"viz: graph needs a text that is JSON, got another: {what}"
            ) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        got = data.get("format") if isinstance(data, dict) else type(data).__name__
        raise _C.ValueError(
            f"viz: graph needs the format {FORMAT}, got {got}\nhint: give a graph of ebb.graph()"
        )
    if data.get("version") != VERSION:
        raise _C.ValueError(f"viz: graph needs version {VERSION}, got {data.get('version')}")
    return data


def _dump(data: dict[Any, Any]) -> str:
    try:
        return json.dumps(data, separators=(",", ":"), allow_nan=False)
    except ValueError:
        # JSON has no infinity, and browsers refuse it: such numbers become the texts of the format.
        return json.dumps(_spelled(data), separators=(",", ":"), allow_nan=False)


def _spelled(data: dict[Any, Any]) -> dict[Any, Any]:
    """Return ``data`` with the non-finite numbers among the attributes as texts."""

    def spell(value: Any, depth: int = 0) -> Any:
        check_depth("viz", depth)
        if isinstance(value, float) and not math.isfinite(value):
            return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
        return (
            [spell(item, depth + 1) for item in value] if isinstance(value, list | tuple) else value
        )

    nodes = dict(data["nodes"])
    nodes["attributes"] = {
        node: {name: spell(value) for name, value in attributes.items()}
        for node, attributes in nodes["attributes"].items()
    }
    return {**data, "nodes": nodes}


def _pack(content: bytes, encoding: str = GZIP) -> str:
    import base64
    import gzip

    if encoding == GZIP:
        content = gzip.compress(content, compresslevel=9, mtime=0)
    return base64.b64encode(content).decode()


def _page(name: str) -> str:
    return (Path(__file__).parent / "page" / name).read_text(encoding="utf-8")


@cache
def _sources(packs: bool) -> tuple[str, str]:
    """Return style and script of the page, comments and indents left out."""
    encoding = GZIP if packs else BASE64
    kernel = _pack(_kernel(), encoding)
    declared = f'const KERNEL = "{kernel}";\nconst KERNEL_ENCODING = "{encoding}";'
    script = "\n".join(_squeezed(_page(f"{name}.js")) for name in SCRIPTS)
    script = f'\n(() => {{\n"use strict";\n{declared}\n{script}\n}})();\n'
    return _squeezed(_page("page.css")), script


def _kernel() -> bytes:
    """Return the layout's code, which the build compiles for pages."""
    if not KERNEL.exists():
        raise _C.NotImplementedError(
            "write_html: needs the layout that is compiled for pages, got a build without it\n"
            "hint: install clang-14 and lld-14, and build ebb again"
        )
    return KERNEL.read_bytes()


def _squeezed(text: str) -> str:
    """Return ``text`` without the lines that are comments, and without indents.

    The sources keep to lines for which this is safe: no text runs over several lines.
    """
    text = re.sub(r"(?ms)^[ ]*/\*.*?\*/\n", "", text)
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def _digest(text: str) -> str:
    """Return what the policy calls an inline text by."""
    import base64
    import hashlib

    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _fill(template: str, **parts: str) -> str:
    """Return ``template`` with each ``{{name}}`` replaced; what is put in is left as it is."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match.group(1)], template)
