# tools/bench/branches_rows.py -- rows on running branches of a graph on two threads.
"""Reads what benchmarks/python/branches.py prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tools.bench.runner import run_python
from tools.bench.table import Row

if TYPE_CHECKING:
    from tools.bench.runner import Settings


def branches_rows(settings: Settings) -> list[Row]:
    """Backward through 8 branches of 200 ops on one thread and on two."""
    rounds = "3" if settings.is_quick else "30"
    report = json.loads(run_python(settings, "branches.py", rounds))
    command = f"benchmarks/python/branches.py {rounds}"
    rows = []
    for size in ("8,192", "16,384"):
        name = f"8 branches of {size}"
        one, two, apart = (
            report[f"{name}, {kind}"] for kind in ("1 thread", "2 threads", "two graphs apart")
        )
        rows += [
            Row(f"backward, {name}, 1 thread", "us", None, [one], None, command),
            Row(f"backward, {name}, 2 threads", "us", one / 1.7, [two], None, command),
            Row(
                f"backward, {name}, as two graphs on two threads that share nothing",
                "us",
                None,
                [apart],
                None,
                command,
            ),
        ]
    rows.append(
        Row("backward, chain of 1,600, threads allowed", "us", 1.03 * report["chain, off"],
            [report["chain, on"]], None, command)
    )  # fmt: skip
    return rows + step_rows(settings)


def step_rows(settings: Settings) -> list[Row]:
    """Each workload of train_steps.py with parallel backward over the same without."""
    seconds = "0.2" if settings.is_quick else "5"
    ratios = json.loads(run_python(settings, "parallel_steps.py", seconds))
    command = f"benchmarks/python/parallel_steps.py {seconds}"
    return [
        Row(f"training step, {name}, parallel backward over none", "x", 1.03, [ratio], None,
            command)
        for name, ratio in ratios.items()
    ]  # fmt: skip
