# tools/bench/checks_rows.py -- rows on training steps with checks, traced, in a profile.
"""Reads what benchmarks/python/checks.py prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tools.bench.runner import run_python
from tools.bench.table import Row

if TYPE_CHECKING:
    from tools.bench.runner import Settings

# A step in the mode against one without.
MOST_TIMES = {  # a profile with memory has no aim
    "anomaly mode": 1.5,
    "NaN checks": 1.5,
    "profile": 1.3,
    "traced cuts": 1.5,
}


def checks_rows(settings: Settings) -> list[Row]:
    """Steps of small ops in each mode."""
    rounds = "2" if settings.is_quick else "30"
    report = json.loads(run_python(settings, "checks.py", rounds))
    return [
        Row(
            name,
            "x" if "ratio" in name else "us",
            next((most for mode, most in MOST_TIMES.items() if f"{mode}, ratio" in name), None),
            [value],
            None,
            f"benchmarks/python/checks.py {rounds}",
        )
        for name, value in report.items()
    ]
