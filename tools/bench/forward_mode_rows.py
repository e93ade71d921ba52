# tools/bench/forward_mode_rows.py -- forward mode: a dual operand against none.
"""The figures of benchmarks/python/forward_mode.py."""

from __future__ import annotations

import json

from tools.bench.runner import InstructionCounter, Settings, run_python
from tools.bench.table import Row

SCRIPT = "forward_mode.py"
TARGETS = {  # ns
    "mul 8x8, plain": None,
    "mul 8x8, plain inside a level": None,
    "mul 8x8, one dual operand": 250,
    "mul 8x8, two dual operands": 350,
    "exp 8x8, plain": None,
    "exp 8x8, dual": 300,
    "exp 512x512, plain": None,
    "exp 512x512, dual": None,
    "level entered and left": 500,
    "mlp 32x64, run": None,
    "mlp 32x64, jvp": None,
}


def forward_mode_rows(settings: Settings, _: InstructionCounter) -> list[Row]:
    """One row per figure of the script."""
    found = json.loads(run_python(settings, SCRIPT))
    return [
        Row(
            f"Python forward mode: {name}",
            "ns",
            limit,
            found[name],
            None,
            f"benchmarks/python/{SCRIPT}",
        )
        for name, limit in TARGETS.items()
    ]
