# tools/bench/report.py -- writes docs/benchmarks.md from the measured rows.
"""What falls short is listed with the reason that benchmarks/short.md gives, if it gives one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.bench import machine
from tools.bench.table import Row, markdown_table

if TYPE_CHECKING:
    from tools.bench.runner import Settings, Speed

INTRODUCTION = """\
# Benchmarks

`make bench` measured these figures and wrote this page. One thread, default settings, locations on,
unless a figure says otherwise. Times are those of the thread's own clock and the lower quartile of
repeats that alternate with the others of their program (upper quartile where more is better); the
median stands beside it. Instructions are counted by callgrind with AVX2 kernels, as the difference
of two runs of different length, so they do not depend on what else the machine does.
"""

REALTIME_NOTE = """\
Measured with `--realtime` (`chrt --rr 20` before every command), since the machine had other
work."""


def reasons(settings: Settings) -> dict[str, str]:
    """Figure -> reason, from lines of the form `- figure: reason`."""
    path = settings.root / "benchmarks" / "short.md"
    found = {}
    if path.exists():
        for line in path.read_text().splitlines():
            figure, separator, reason = line.removeprefix("- ").partition(" -- ")
            if line.startswith("- ") and separator:
                found[figure] = reason
    return found


def short_section(settings: Settings, rows: list[Row]) -> str:
    short = [row for row in rows if row.verdict in ("short", "not measured")]
    if not short:
        return "Every figure with a target keeps it."
    known = reasons(settings)
    lines = []
    for row in short:
        reason = known.get(row.figure) or row.note or "no reason written down yet"
        lines.append(f"- {row.figure} ({row.verdict}): {reason}")
    return "\n".join(lines)


def command_list(rows: list[Row]) -> str:
    """Each command once, with the figures that it gives."""
    by_command: dict[str, list[str]] = {}
    for row in rows:
        by_command.setdefault(row.command, []).append(row.figure)
    return "\n".join(f"- `{command}`: {'; '.join(names)}" for command, names in by_command.items())


def speed_text(speeds: list[Speed]) -> str:
    """The range over the groups: what a time here can be compared with."""
    clock = sorted(speed.gigahertz for speed in speeds)
    additions = sorted(speed.additions for speed in speeds)
    return (
        f"{clock[0]:.1f} to {clock[-1]:.1f} GHz,"
        f" {additions[0]:.1f} to {additions[-1]:.1f} additions side by side per ns"
        " (build/release/bin/machine_bench, before each group)"
    )


def write(settings: Settings, rows: list[Row], speeds: list[Speed]) -> None:
    """Replace docs/benchmarks.md."""
    described = machine.describe(settings.root, settings.build)
    described["speed while measuring"] = speed_text(speeds)
    facts = "\n".join(f"| {name} | {value} |" for name, value in described.items())
    sections = [
        INTRODUCTION,
        markdown_table(rows),
        "## What falls short, and why",
        short_section(settings, rows),
        "## Where",
        f"| | |\n| --- | --- |\n{facts}",
        "## How",
        "Instructions: `EBB_ISA=avx2 valgrind --tool=callgrind --toggle-collect=main"
        " build/release/bin/ebb_count PATH N`, and `benchmarks/python/count.py` in the same way"
        " with `--toggle-collect=ffi_call`. Python scripts need `PYTHONPATH=build/release/python`;"
        " everything runs under `EBB_NUM_THREADS=1`.",
        REALTIME_NOTE if settings.is_realtime else "",
        command_list(rows),
    ]
    path = settings.root / "docs" / "benchmarks.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n\n".join(section.strip() for section in sections if section) + "\n")
