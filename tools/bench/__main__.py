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

from tools.bench import branches_rows, cpp_rows, limit_rows, python_rows, report, script_rows
from tools.bench.runner import InstructionCounter, Settings, Speed
from tools.bench.table import Row, terminal_table

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
GROUPS: dict[str, Callable[[Settings], list[Row]] | script_rows.Script] = {
    "record": cpp_rows.record_rows,
    "engine": cpp_rows.engine_rows,
    "deep": cpp_rows.deep_rows,
    "ops": python_rows.op_rows,
    "overhead": python_rows.overhead_rows,
    "functions": script_rows.FUNCTIONS,
    "size": python_rows.size_rows,
    "train": python_rows.train_rows,
    "saved": script_rows.SAVED_HOOKS,
    "branches": branches_rows.branches_rows,
    "checks": script_rows.CHECKS,
    "threads": cpp_rows.thread_rows,
    "limits": limit_rows.limit_rows,
    "attention": limit_rows.attention_rows,
    "viewer": script_rows.VIEWER,
    "graph": script_rows.GRAPH,
    "hooks": script_rows.HOOKS,
    "bitwise": python_rows.bitwise_rows,
    "forward_mode": script_rows.FORWARD_MODE,
    "narrow": script_rows.NARROW,
}


def measure(settings: Settings, names: list[str]) -> tuple[list[Row], list[str], list[Speed]]:
    """Run groups in order; a group that fails leaves a row that says so.

    Returns rows, names of failed groups, and the machine's speed before each group.
    """
    if not InstructionCounter(settings).is_available and not settings.is_quick:
        print("[bench] no instructions: needs valgrind\nhint: apt-get install valgrind")
    rows: list[Row] = []
    failed, speeds = [], []
    for name in names:
        speeds.append(Speed.now(settings))
        started = time.monotonic()
        try:
            group = GROUPS[name]
            is_script = isinstance(group, script_rows.Script)
            rows += script_rows.script_rows(settings, group) if is_script else group(settings)
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
