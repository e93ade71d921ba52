# tools/bench/python_rows.py -- the Python figures: ops, memory, import, training, determinism.
"""Each function measures one group and returns its rows."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tools.bench.runner import InstructionCounter, Settings, minus, run, run_python
from tools.bench.table import Row

OPS = (
    ("a + b, recorded", "add, recorded", 75, "add_recorded"),
    ("a + b, not recorded", "add, not recorded", 45, "add_not_recorded"),
    ("x * 2.0, recorded", "mul by a number, recorded", 75, "mul_by_number"),
    ("x[0], recorded", "x[0], recorded", 120, "first_row"),
    ("F.add(a, other=b), recorded", "F.add(a, other=b), recorded", 85, "add_by_keyword"),
)
LOCATIONS = (
    ("location of a recorded op", "x + y", 3, "add_recorded"),
    ("location of a recorded op inside a layer", "layer(x)", 10, "relu_of_a_layer"),
)
PAIRED = "median difference of neighbouring runs"
IMPORT = "import time; t = time.perf_counter(); import ebb; print(time.perf_counter() - t)"


def op_rows(settings: Settings) -> list[Row]:
    """One op, the loop subtracted, before and after the process has a second thread."""
    counter = InstructionCounter(settings)
    loops = ["--rounds", "3", "--loops", "2000"] if settings.is_quick else ["--rounds", "25"]
    switch = settings.build / "lib" / "libebb_location_switch.so"
    alone = json.loads(run_python(settings, "ops.py", "ebb", *loops, "--location", str(switch)))
    shared = json.loads(run_python(settings, "ops.py", "ebb", *loops, "--second-thread"))
    loop = counter.python("nothing")
    command = "benchmarks/python/ops.py ebb"
    rows = [
        Row(
            f"Python {figure}", "ns", limit, alone[name], minus(counter.python(path), loop), command
        )
        for figure, name, limit, path in OPS
    ]
    rows += [
        Row(f"Python {figure}, process with a second thread", "ns", None, shared[name], None,
            f"{command} --second-thread")
        for figure, name, _, _ in OPS[:2]
    ]  # fmt: skip
    rows += [
        Row(f"Python {figure}", "ns", limit, alone[f"location of: {name}"],
            minus(counter.python(path), counter.python(path, str(switch))),
            f"{command} --location build/release/lib/{switch.name}", note=PAIRED)
        for figure, name, limit, path in LOCATIONS
    ]  # fmt: skip
    return rows


def overhead_rows(settings: Settings) -> list[Row]:
    """What the script of the peers says: backward per node, bytes per node."""
    counter = InstructionCounter(settings)
    rounds = 1 if settings.is_quick else 5
    reports = [json.loads(run_python(settings, "overhead.py", "ebb"))["ns"] for _ in range(rounds)]
    chain = minus(counter.python("chain_run"), counter.python("chain"))
    command = "benchmarks/python/overhead.py ebb"

    def medians(name: str) -> list[float]:
        return [report[name]["median"] for report in reports]

    def values(name: str) -> list[float]:
        return [float(report[name]) for report in reports]

    return [
        Row("Python backward per node, chain of 100,000", "ns", 60,
            medians("chain of 100000: backward per node"), chain, command),
        Row("Python forward per node, chain of 100,000", "ns", None,
            medians("chain of 100000: forward per node"), None, command),
        Row("resident bytes per recorded add, output dead", "B", 130,
            values("bytes, recorded add, output dead"), None, command),
        Row("resident bytes per recorded add, output kept", "B", 400,
            values("bytes, recorded add, output kept"), None, command),
    ]  # fmt: skip


def own_libraries(settings: Settings) -> list[Path]:
    """The shared libraries that ebb ships: the core and the extension module."""
    found = [settings.build / "lib" / "libebb.so", *settings.package.glob("ebb/*.so")]
    return sorted({path.resolve() for path in found})


def size_rows(settings: Settings) -> list[Row]:
    """Time of the first import in fresh processes, and bytes on disk."""
    rounds = 3 if settings.is_quick else 15
    seconds = [float(run(settings, [sys.executable, "-c", IMPORT])) for _ in range(rounds)]
    libraries = own_libraries(settings)
    size = sum(path.stat().st_size for path in libraries) / 1e6
    names = " + ".join(path.name for path in libraries)
    return [
        Row("import ebb, fresh process", "s", 0.12, seconds, None, 'python -c "import ebb"'),
        Row("ebb's own libraries", "MB", 15, [size], None, f"ls -l {names}", note=names),
    ]


def worst_loss_difference(workloads: dict[str, Any], reference: dict[str, list[float]]) -> float:
    """The largest difference to the losses of the peer, over all workloads and steps."""
    return max(
        abs(ours - theirs)
        for name, losses in reference.items()
        for ours, theirs in zip(workloads[name]["losses"], losses, strict=True)
    )


def train_rows(settings: Settings) -> list[Row]:
    """Whole training steps, and their losses against those of the peer."""
    rounds, seconds = (1, "0.2") if settings.is_quick else (5, "1")
    command = ("train_steps.py", "ebb", "--only", "mlp", "--seconds", seconds)
    reports = [json.loads(run_python(settings, *command))["workloads"] for _ in range(rounds)]
    reference = json.loads(Path(settings.script("reference_losses.json")).read_text())
    difference = max(worst_loss_difference(each, reference["losses"]) for each in reports)
    limits = {
        "mlp 64-128-10, batch 32, adamw": 0.05,
        "deep narrow mlp, 50 layers of 32, batch 16": 0.6,
    }
    shown = "benchmarks/python/train_steps.py ebb --only mlp"
    rows = [
        Row(
            f"training step, {name}",
            "ms",
            limits.get(name),
            [each[name]["ms"] for each in reports],
            command=shown,
        )
        for name in reports[0]
    ]
    rows.append(
        Row("largest difference of the first five losses to the peer's", "", 1e-4, [difference],
            None, shown, note=f"peer: {reference['source']}")
    )  # fmt: skip
    return rows


def bitwise_rows(settings: Settings) -> list[Row]:
    """Values and gradients for several numbers of threads: how many different results."""
    runs = 2 if settings.is_quick else 20
    report = json.loads(run_python(settings, "bitwise.py", "--runs", str(runs)))
    threads = ", ".join(str(count) for count in report["threads"])
    return [
        Row(f"different results for {threads} threads, {runs} runs each", "", 1,
            [float(report["different_results"])], None, "benchmarks/python/bitwise.py",
            note="values, gradients and parameters, compared bit by bit")
    ]  # fmt: skip
