# tools/bench/peers.py -- `make bench-peers`: the same Python scripts for ebb and for PyTorch.
"""Usage: python -m tools.bench.peers [--rounds N] [--python PATH] [--realtime].

Runs overhead.py, train_steps.py and attention.py of benchmarks/python for ebb and for PyTorch in
alternation, checks that the losses agree, prints ratios and writes docs/benchmarks_peers.md and a
picture of them.
PyTorch is looked for in build/peers (a virtual environment) and in Debian's Python; never in
.venv.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from tools.bench import machine
from tools.bench.picture import write_ratios
from tools.bench.runner import REALTIME, Settings, default_settings, run_python

ROOT = Path(__file__).resolve().parents[2]
TOLERANCE = 1e-3  # of losses
STEP = "training step in us, "
# What ebb is to reach on one thread, as times faster than PyTorch 1.13.1.
TARGETS = {
    "mlp 64-128-10, batch 32, sgd": 4.0,
    "mlp 64-128-10, batch 32, adamw": 4.0,
    "deep narrow mlp, 50 layers of 32, batch 16": 5.0,
    "gpt 2x64, length 32, batch 4": 2.0,
    "mlp 784-512-512-10, batch 128": 1.0,
    "lenet, batch 64": 1.0,
    "residual block 64x56x56, batch 8": 1.0,
    "lstm 256, length 35, batch 20": 1.0,
    "gpt 4x256, length 128, batch 8": 1.0,
}
LARGE = [name for name, limit in TARGETS.items() if limit == 1.0]
LARGE_MEAN, TWO_THREADS = 1.15, 1.5
HINT = """\
bench-peers: needs PyTorch, found none in build/peers or /usr/bin/python3
hint: apt-get install python3-torch python3-numpy, or
      python3 -m venv build/peers && build/peers/bin/pip install torch numpy"""
TRAIN = ("--seconds", "1")


def find_peer(root: Path, wanted: str | None) -> str | None:
    """A Python that can import torch."""
    places = [wanted] if wanted else [str(root / "build/peers/bin/python"), "/usr/bin/python3"]
    for python in places:
        try:
            subprocess.run([python, "-c", "import torch"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return python
    return None


def run_peer(settings: Settings, python: str, script: str, *arguments: str) -> Any:
    """Run one script for PyTorch; its own Python path only."""
    variables = {name: text for name, text in default_settings().items() if name != "PYTHONPATH"}
    command = [python, settings.script(script), "torch", *arguments]
    if settings.is_realtime:
        command = [*REALTIME, *command]
    done = subprocess.run(command, capture_output=True, text=True, env=variables)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def flatten(train: dict[str, Any], *others: dict[str, Any]) -> dict[str, float]:
    """Figure -> number, of one round."""
    figures = {
        name: float(value["median"] if isinstance(value, dict) else value)
        for report in others
        for name, value in report["ns"].items()
    }
    for name, result in train["workloads"].items():
        figures[STEP + name] = result["ms"] * 1e3
    return figures


def loss_difference(ours: dict[str, Any], theirs: dict[str, Any]) -> float:
    """The largest difference of two losses at the same step."""
    return max(
        abs(a - b)
        for name, result in ours["workloads"].items()
        for a, b in zip(result["losses"], theirs["workloads"][name]["losses"], strict=True)
    )


def table(ours: list[dict[str, float]], theirs: list[dict[str, float]]) -> str:
    """One line per figure that both have: medians and the spread of the ratio over rounds."""
    lines = [
        "| figure (ns or bytes, unless it says otherwise) | ebb | PyTorch | ratio | over rounds |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name in (name for name in ours[0] if name in theirs[0]):
        left, right = [each[name] for each in ours], [each[name] for each in theirs]
        ratios = sorted(b / a for a, b in zip(left, right, strict=True) if a > 0)
        if not ratios:
            continue
        cells = (
            f"{statistics.median(left):,.1f}",
            f"{statistics.median(right):,.1f}",
            f"{statistics.median(ratios):.1f}",
            f"{ratios[0]:.1f} to {ratios[-1]:.1f}",
        )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def ratios_of(name: str, ours: list[dict], theirs: list[dict]) -> list[float]:
    """How many times faster ebb was, in each round."""
    return sorted(b[STEP + name] / a[STEP + name] for a, b in zip(ours, theirs, strict=True))


def targets_table(ours: list[dict], theirs: list[dict], two: list[dict]) -> str:
    """The targets of training steps, and whether they are kept."""
    lines = ["| training steps | at least | measured | |", "| --- | ---: | ---: | --- |"]

    def add(what: str, limit: float, value: float) -> None:
        lines.append(
            f"| {what} | {limit:g} | {value:.2f} | {'ok' if value >= limit else 'short'} |"
        )

    medians = {name: statistics.median(ratios_of(name, ours, theirs)) for name in TARGETS}
    for name, limit in TARGETS.items():
        add(f"{name}: times PyTorch's speed", limit, medians[name])
    mean = statistics.geometric_mean(medians[name] for name in LARGE)
    add("geometric mean of the five large ones", LARGE_MEAN, mean)
    for name in LARGE:
        one = statistics.median(each[STEP + name] for each in ours)
        both = statistics.median(each[STEP + name] for each in two)
        add(f"{name}: two threads against one", TWO_THREADS, one / both)
    return "\n".join(lines)


def write(settings: Settings, tables: list[str], version: str, difference: float, rounds: int):
    """Replace docs/benchmarks_peers.md."""
    described = machine.describe(settings.root, settings.build)
    facts = "\n".join(f"| {name} | {value} |" for name, value in described.items())
    introduction = f"""\
# Times of training steps, ebb beside PyTorch

`make bench-peers` measured these figures and wrote this page and the picture:
`overhead.py`, `train_steps.py` and `attention.py` of `benchmarks/python`, one thread each, for ebb
and for PyTorch {version} in alternation (rounds: {rounds}). A ratio above 1 means that ebb takes
less. The Python loop and the call of a lambda (first line) are part of every op's figure. The
losses of the training steps differ by at most {difference:.1e}.

![Training steps, times PyTorch's speed](benchmarks_peers.svg)"""
    path = settings.root / "docs" / "benchmarks_peers.md"
    text = "\n\n".join(tables)
    path.write_text(f"{introduction}\n\n{text}\n\n## Where\n\n| | |\n| --- | --- |\n{facts}\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.peers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--python", help="a Python that has PyTorch")
    parser.add_argument("--realtime", action="store_true", help="ahead of all other processes")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", metavar="PATH")
    options = parser.parse_args()
    settings = Settings(ROOT, options.build.resolve(), False, options.realtime)
    python = find_peer(ROOT, options.python)
    if python is None:
        print(HINT, file=sys.stderr)
        return 1
    ours, theirs, two, differences = [], [], [], []
    version = ""
    for number in range(options.rounds):
        peer_overhead = run_peer(settings, python, "overhead.py")
        own_overhead = json.loads(run_python(settings, "overhead.py", "ebb"))
        peer_train = run_peer(settings, python, "train_steps.py", *TRAIN)
        own_train = json.loads(run_python(settings, "train_steps.py", "ebb", *TRAIN))
        peer_attention = run_peer(settings, python, "attention.py")
        own_attention = json.loads(run_python(settings, "attention.py", "ebb"))
        both = run_python(settings, "train_steps.py", "ebb", "--threads", "2", "--only", *LARGE)
        ours.append(flatten(own_train, own_overhead, own_attention))
        theirs.append(flatten(peer_train, peer_overhead, peer_attention))
        two.append(flatten(json.loads(both)))
        differences.append(loss_difference(own_train, peer_train))
        version = peer_overhead["version"]
        print(f"[bench-peers] round {number + 1} of {options.rounds}", flush=True)
    tables = [targets_table(ours, theirs, two), table(ours, theirs)]
    print("\n\n".join(tables))
    bars = {name: ratios_of(name, ours, theirs) for name in TARGETS}
    write_ratios(settings.root / "docs" / "benchmarks_peers.svg", f"PyTorch {version}", bars)
    write(settings, tables, version, max(differences), options.rounds)
    print("[bench-peers] wrote docs/benchmarks_peers.md and .svg")
    if max(differences) > TOLERANCE:
        print(f"bench-peers: losses need to agree to {TOLERANCE}, differ by {max(differences):.1e}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
