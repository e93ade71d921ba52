# tools/bench/function_rows.py -- custom functions, no_grad blocks, inference mode.
"""Figures of benchmarks/python/functions.py."""

from __future__ import annotations

import json

from tools.bench.runner import Settings, run_python
from tools.bench.table import Row

FIGURES = (
    ("function, both ways", "Python Function that returns its input, forward and backward", 1500),
    ("function of one op, both ways", "Python Function of one op, forward and backward", 1500),
    ("function that saves, both ways", "Python Function that saves, forward and backward", None),
    ("no_grad block", "Python empty no_grad block", 100),
    ("inference_mode block", "Python empty inference_mode block", 100),
    ("add, inference mode", "Python a + b, inference mode", None),
)


def function_rows(settings: Settings) -> list[Row]:
    """Rounds of the script are samples; each prints its best."""
    arguments = ["--rounds", "3", "--loops", "500"] if settings.is_quick else ["--rounds", "5"]
    repeats = 1 if settings.is_quick else 7
    reports = [json.loads(run_python(settings, "functions.py", *arguments)) for _ in range(repeats)]
    command = "benchmarks/python/functions.py"
    return [
        Row(figure, "ns", limit, [report[name] for report in reports], None, command)
        for name, figure, limit in FIGURES
    ]
