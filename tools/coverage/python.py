# tools/coverage/python.py -- combines what coverage.py counted and reads it by file.
"""Interpreters count from their start (start/sitecustomize.py), those that tests start too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tools.coverage.counts import Branch, FileCounts

SETTINGS = Path("tools/coverage/python.ini")
DATA = Path("build/coverage/python_data")


def environment() -> dict[str, str]:
    """What makes interpreters count."""
    return {
        "COVERAGE_PROCESS_START": str(SETTINGS.resolve()),
        "COVERAGE_FILE": str((DATA / "counts").resolve()),
        "EBB_ROOT": os.getcwd(),
    }


def read() -> dict[str, FileCounts]:
    """The counts of each module, by its path in the repository."""
    report = DATA.with_name("python_counts.json")
    combined = os.environ | environment()
    tool = [sys.executable, "-m", "coverage"]
    settings = [f"--rcfile={SETTINGS}"]
    if not (DATA / "counts").exists():
        combine = [*tool, "combine", "-q", *settings, str(DATA)]
        subprocess.run(combine, check=True, env=combined)
    subprocess.run([*tool, "json", "-q", *settings, "-o", str(report)], check=True, env=combined)
    files = json.loads(report.read_text())["files"]
    inside = {os.path.relpath(name): entry for name, entry in files.items()}
    return {
        name: counts_of(entry, Path(name).read_text().splitlines())
        for name, entry in inside.items()
        if not name.startswith("..")  # a copy that a test made
    }


def counts_of(entry: dict, source: list[str]) -> FileCounts:
    """What coverage.py says of one module."""
    summary = entry["summary"]
    counts = FileCounts(summary["num_statements"], summary["covered_lines"])
    for key, taken in (("executed_branches", True), ("missing_branches", False)):
        for line, onward in entry[key]:
            outcome = "return" if onward < 0 else f"to line {onward}"
            counts.add(Branch(line, " ".join(source[line - 1].split()), outcome), taken)
    return counts
