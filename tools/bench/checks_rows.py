# tools/bench/checks_rows.py -- rows on training steps in anomaly mode and with NaN checks.
"""Reads what benchmarks/python/checks.py prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tools.bench.runner import run_python
from tools.bench.table import Row

if TYPE_CHECKING:
    from tools.bench.runner import Settings

MOST_TIMES = 1.5  # a step in the mode against one without


def checks_rows(settings: Settings) -> list[Row]:
    """Steps of small ops in each mode."""
    rounds = "2" if settings.is_quick else "30"
    report = json.loads(run_python(settings, "checks.py", rounds))
    return [
        Row(
            name,
            "x" if "ratio" in name else "us",
            MOST_TIMES if "ratio" in name and "both" not in name else None,
            [value],
            None,
            f"benchmarks/python/checks.py {rounds}",
        )
        for name, value in report.items()
    ]
