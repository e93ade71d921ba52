# tools/bench/hooks_rows.py -- what hooks and wide graphs cost.
"""Measures one group and returns its rows."""

from __future__ import annotations

import json

from tools.bench.runner import Settings, run_python
from tools.bench.table import Row

COMMAND = "python benchmarks/python/hooks.py"
HOOK_TARGET_NS = 150
WIDE_TARGET_NS = 1000


def hook_rows(settings: Settings) -> list[Row]:
    arguments = ["--quick"] if settings.is_quick else []
    figures = json.loads(run_python(settings, "hooks.py", *arguments))["ns"]
    return [
        Row(f"Python {name}", "ns", HOOK_TARGET_NS if "hook" in name else WIDE_TARGET_NS, samples,
            None, COMMAND)
        for name, samples in figures.items()
    ]  # fmt: skip
