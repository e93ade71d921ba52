# tools/bench/script_rows.py -- figures that scripts of benchmarks/python print, and their targets.
"""A script prints one JSON object: figure -> a number, or the samples of every round."""

from __future__ import annotations

import json
from typing import NamedTuple

from tools.bench.runner import Settings, run_python
from tools.bench.table import Row

MORE_IS_BETTER = ("frames/s",)


class Script(NamedTuple):
    """A script, its targets, its arguments, and how often it runs: every run adds samples."""

    file: str
    targets: dict[str, dict[str, float | None]]  # unit -> figure -> target, or none
    prefix: str = "Python "
    arguments: tuple[str, ...] = ()
    quick_arguments: tuple[str, ...] = ("--quick",)
    runs: int = 1


FUNCTIONS = Script(
    "functions.py",
    {
        "ns": {
            "Function that returns its input, forward and backward": 1500,
            "Function of one op, forward and backward": 1500,
            "Function that saves, forward and backward": None,
            "empty no_grad block": 100,
            "empty inference_mode block": 100,
            "a + b, inference mode": None,
        }
    },
    arguments=("--rounds", "5"),
    quick_arguments=("--rounds", "3", "--loops", "500"),
    runs=7,
)
SAVED_HOOKS = Script(
    "saved_hooks.py",
    {
        "ns": {  # each identity pair is two calls of a Python function and their arguments
            "no hooks": None,
            "identity hooks": 1_500,
            "nested identity hooks": 2_500,
            "save_on_cpu": None,
            "checkpoint": 2_000,
        }
    },
    prefix="chain of sin, per node: ",
    quick_arguments=(),
    runs=5,
)
STEPS = ("step of MLP 64-128-10", "step of 50 layers of 32")
MODES = {
    "anomaly mode": 1.5,
    "NaN checks": 1.5,
    "both": None,
    "profile": 1.3,
    "profile with memory": None,
    "traced cuts": 1.5,
}
CHECKS = Script(
    "checks.py",
    {
        "us": dict.fromkeys(STEPS),
        "x": {f"{step}, {mode}, ratio": most for step in STEPS for mode, most in MODES.items()},
    },
    prefix="",
    arguments=("30",),
    quick_arguments=("2",),
)
VIEWER = Script(
    "viewer.py",
    {
        "s": {
            "first paint of 10,000 nodes": 0.5,
            "first paint of 100,000 nodes": 2,
            "first paint of 10,000 nodes without modules": 0.5,
            "first paint of 100,000 nodes without modules": 2,
        },
        "frames/s": {
            "panning: 2,000 boxes in sight": 30,
            "panning: 10,000 nodes, all unfolded, from afar": 30,
            "panning: 10,000 nodes, all unfolded, with texts": 30,
            "panning: 10,000 nodes, all unfolded, the whole graph in sight": 30,
        },
        "bytes/node": {"HTML of 10,000 nodes": 100, "HTML of 100,000 nodes": 100},
    },
    prefix="Viewer, ",
)
GRAPH = Script(
    "graph.py",
    {
        "s": {
            "ebb.graph of 1,000,000 products, each with two saved tensors": 1.5,
            "ebb.graph of linear layers in modules, for 1,000,000 nodes": 1.5,
            "ebb.explain of 1,000 parameters, 100 of them unused, in 100,000 nodes": 2,
            "to_svg of a graph of 10,000 nodes in modules, nothing folded": 10,
        },
        "B": {"memory of a snapshot, per product": 300},
        "ns": {"call of a module over that of its forward()": None},
    },
)
HOOKS = Script(
    "hooks.py",
    {
        "ns": {
            "a Python tensor hook over none": 150,
            "fan-in: 1,000,000 edges into one leaf, per edge": 1000,
            "fan-out: 1,000,000 outputs of one node, per output": 1000,
            "100,000 roots, per root": 1000,
            "grad of 100,000 inputs, per input": 1000,
        }
    },
)
FORWARD_MODE = Script(
    "forward_mode.py",
    {
        "ns": {
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
    },
    prefix="Python forward mode: ",
    quick_arguments=(),
)

NARROW = Script(
    "narrow.py",
    {
        "x": {  # 0.9 of float32's bytes per second
            f"{op} of {dtype}, time for float32's": 1.11
            for op in ("add", "mul", "relu", "copy")
            for dtype in ("bfloat16", "float16")
        }
    },
    prefix="64 MB, ",
)


def script_rows(settings: Settings, script: Script) -> list[Row]:
    """One row per figure of the script."""
    arguments = script.quick_arguments if settings.is_quick else script.arguments
    runs = 1 if settings.is_quick else script.runs
    reports = [json.loads(run_python(settings, script.file, *arguments)) for _ in range(runs)]
    command = " ".join((f"benchmarks/python/{script.file}", *arguments))

    def samples(figure: str) -> list[float]:
        values = [report[figure] for report in reports]
        return values[0] if isinstance(values[0], list) else values

    return [
        Row(script.prefix + figure, unit, limit, samples(figure), None, command,
            at_least=unit in MORE_IS_BETTER)
        for unit, limits in script.targets.items()
        for figure, limit in limits.items()
    ]  # fmt: skip
