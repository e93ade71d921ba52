# tools/bench/__main__.py -- runs every group of benchmarks, prints one table, writes the report.
"""Usage: python -m tools.bench [GROUP...] [--quick] [--no-write] [--realtime].

Without groups all run, and docs/benchmarks.md is written. --quick is a smoke test: few repeats,
no instructions, nothing written. --realtime keeps other work of a busy machine from interfering.
The exit status tells whether everything ran, not whether it was fast.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tools.bench import (
    branches_rows,
    checks_rows,
    cpp_rows,
    forward_mode_rows,
    function_rows,
    graph_rows,
    hooks_rows,
    limit_rows,
    python_rows,
    report,
    saved_hooks_rows,
    viewer_rows,
)
from tools.bench.runner import InstructionCounter, Settings, Speed
from tools.bench.table import Row, terminal_table

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
GROUPS: dict[str, Callable[[Settings, InstructionCounter], list[Row]]] = {
    "record": cpp_rows.record_rows,
    "engine": cpp_rows.engine_rows,
    "deep": lambda settings, _: cpp_rows.deep_rows(settings),
    "ops": python_rows.op_rows,
    "overhead": python_rows.overhead_rows,
    "functions": lambda settings, _: function_rows.function_rows(settings),
    "size": lambda settings, _: python_rows.size_rows(settings),
    "train": lambda settings, _: python_rows.train_rows(settings),
    "saved": lambda settings, _: saved_hooks_rows.saved_hooks_rows(settings),
    "branches": lambda settings, _: branches_rows.branches_rows(settings),
    "checks": lambda settings, _: checks_rows.checks_rows(settings),
    "threads": lambda settings, _: cpp_rows.thread_rows(settings),
    "limits": lambda settings, _: limit_rows.limit_rows(settings),
    "attention": lambda settings, _: limit_rows.attention_rows(settings),
    "viewer": lambda settings, _: viewer_rows.viewer_rows(settings),
    "graph": lambda settings, _: graph_rows.graph_rows(settings),
    "hooks": lambda settings, _: hooks_rows.hook_rows(settings),
    "bitwise": lambda settings, _: python_rows.bitwise_rows(settings),
    "forward_mode": forward_mode_rows.forward_mode_rows,
}


def measure(settings: Settings, names: list[str]) -> tuple[list[Row], list[str], list[Speed]]:
    """Run groups in order; a group that fails leaves a row that says so.

    Returns rows, names of failed groups, and the machine's speed before each group.
    """
    counter = InstructionCounter(settings)
    if not counter.is_available and not settings.is_quick:
        print("[bench] no instructions: needs valgrind\nhint: apt-get install valgrind")
    rows: list[Row] = []
    failed, speeds = [], []
    for name in names:
        speeds.append(Speed.now(settings))
        started = time.monotonic()
        try:
            rows += GROUPS[name](settings, counter)
            verdict = "done"
        except (RuntimeError, OSError, ValueError, KeyError) as error:
            failed.append(name)
            rows.append(Row(f"group {name}", "", note=str(error).partition("\n")[0]))
            verdict = f"FAILED: {error}"
        print(
            f"[bench] {name}: {verdict} ({time.monotonic() - started:.0f} s,"
            f" {speeds[-1].gigahertz:.2f} GHz)",
            flush=True,
        )
    return rows, failed, speeds


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools.bench", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--quick", action="store_true", help="a smoke test")
    parser.add_argument("--no-write", action="store_true", help="leave docs/benchmarks.md alone")
    parser.add_argument(
        "--realtime", action="store_true", help="ahead of all other processes (needs root, chrt)"
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", metavar="PATH")
    options = parser.parse_args()
    unknown = set(options.groups) - set(GROUPS)
    if unknown:
        parser.error(f"needs groups among {', '.join(GROUPS)}, got {', '.join(sorted(unknown))}")
    settings = Settings(ROOT, options.build.resolve(), options.quick, options.realtime)
    rows, failed, speeds = measure(settings, options.groups or list(GROUPS))
    print(terminal_table(rows))
    short = [row.figure for row in rows if row.verdict == "short"]
    print(f"[bench] {len(short)} figures fall short of their target")
    if not (options.groups or options.quick or options.no_write or failed):
        report.write(settings, rows, speeds)
        print("[bench] wrote docs/benchmarks.md")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
