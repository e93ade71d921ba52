# tools/bench/saved_hooks_rows.py -- rows on packing saved tensors and on checkpoints.
"""Reads what benchmarks/python/saved_hooks.py prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tools.bench.runner import run_python
from tools.bench.table import Row

if TYPE_CHECKING:
    from tools.bench.runner import Settings

# Each identity pair is two calls of a Python function and their arguments.
LIMITS = {
    "no hooks": None,
    "identity hooks": 1_500,
    "nested identity hooks": 2_500,
    "save_on_cpu": None,
    "checkpoint": 2_000,
}


def saved_hooks_rows(settings: Settings) -> list[Row]:
    """ns per node of a chain, forward and backward, by how saved tensors are kept."""
    rounds = 1 if settings.is_quick else 5
    reports = [json.loads(run_python(settings, "saved_hooks.py", "ebb")) for _ in range(rounds)]
    return [
        Row(f"chain of sin, per node: {name}", "ns", limit, [report[name] for report in reports],
            None, "benchmarks/python/saved_hooks.py ebb")
        for name, limit in LIMITS.items()
    ]  # fmt: skip
