# tools/bench/viewer_rows.py -- how fast the HTML file of a graph shows and moves.
"""One run of benchmarks/python/viewer.py gives all rows."""

from __future__ import annotations

import json

from tools.bench.runner import Settings, run_python
from tools.bench.table import Row

COMMAND = "benchmarks/python/viewer.py"
FRAMES = 30
PAINTS = (
    ("10,000 nodes", 0.5),
    ("100,000 nodes", 2),
    ("10,000 nodes without modules", 0.5),
    ("100,000 nodes without modules", 2),
)
PANS = (
    ("2,000 boxes", "2,000 boxes in sight"),
    ("10,000 nodes unfolded, far", "10,000 nodes, all unfolded, from afar"),
    ("10,000 nodes unfolded, near", "10,000 nodes, all unfolded, with texts"),
    ("10,000 nodes unfolded, whole", "10,000 nodes, all unfolded, the whole graph in sight"),
)


def viewer_rows(settings: Settings) -> list[Row]:
    """First paint, panning and size of the graph viewer in headless Chromium."""
    options = ["--quick"] if settings.is_quick else []
    found = json.loads(run_python(settings, "viewer.py", *options))
    rows = [
        Row(f"Viewer, first paint of {name}", "s", limit, [found[f"first paint, {name}"]],
            None, COMMAND)
        for name, limit in PAINTS
    ]  # fmt: skip
    rows += [
        Row(f"Viewer, panning: {text}", "frames/s", FRAMES, [found[f"pan, {name}"]], None, COMMAND,
            at_least=True)
        for name, text in PANS
    ]  # fmt: skip
    rows += [
        Row(f"Viewer, HTML of {name}", "bytes/node", 100, [found[f"bytes per node, {name}"]],
            None, COMMAND)
        for name, _ in PAINTS[:2]
    ]  # fmt: skip
    return rows
