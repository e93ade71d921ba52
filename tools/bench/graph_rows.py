# tools/bench/graph_rows.py -- what snapshots of graphs cost.
"""Measures one group and returns its rows."""

from __future__ import annotations

import json

from tools.bench.runner import Settings, run_python
from tools.bench.table import Row

COMMAND = "python benchmarks/python/graph.py"


def graph_rows(settings: Settings) -> list[Row]:
    arguments = ["--quick"] if settings.is_quick else []
    found = json.loads(run_python(settings, "graph.py", *arguments))
    scale = 1_000_000 / found["nodes"]
    return [
        Row("Python ebb.graph of 1,000,000 products, each with two saved tensors", "s", 1.5,
            [found["seconds"] * scale], None, COMMAND),
        Row("Python ebb.graph of linear layers in modules, for 1,000,000 nodes", "s", 1.5,
            [found["net_seconds"] * scale], None, COMMAND),
        Row("memory of that snapshot, per product", "B", 300, [found["bytes"]], None, COMMAND),
        Row("Python ebb.explain of 1,000 parameters, 100 of them unused, in 100,000 nodes", "s", 2,
            [found["explain_seconds"] * scale], None, COMMAND),
        Row("Python to_svg of a graph of 10,000 nodes in modules, nothing folded", "s", 10,
            [found["picture_seconds"] * 10_000 / found["drawn"]], None, COMMAND),
        Row("Python call of a module over that of its forward()", "ns", None,
            [found["call_ns"]], None, COMMAND),
    ]  # fmt: skip
