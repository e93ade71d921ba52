# python/ebb/info.py -- `python -m ebb.info`: what a bug report needs to say about this machine.
"""Versions, libraries, instruction sets, threads and memory, as a dict or as text."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import ebb
from ebb import _C

__all__ = ["collect", "report"]

_CHECKS = ("EBB_CHECK_NAN_INF", "EBB_DETECT_ANOMALY")


def collect() -> dict[str, str]:
    """Return what is known, by name, all as text.

    Example:
        >>> ebb.info.collect()["ebb"] == ebb.__version__
        True
    """
    built = _C._build_info()
    return {
        "ebb": ebb.__version__,
        "commit": _commit() or "unknown",
        "package": str(Path(__file__).parent),
        "build type": built.pop("build type"),
        "compiler": built.pop("compiler"),
        "instruction sets compiled": built.pop("instruction sets compiled"),
        "instruction set in use": built.pop("instruction set in use"),
        "EBB_ISA": os.environ.get("EBB_ISA", "not set"),
        **built,
        "threads": f"{_C.get_num_threads()} of {os.cpu_count()} cores",
        "EBB_NUM_THREADS": os.environ.get("EBB_NUM_THREADS", "not set"),
        **_memory(),
        **{name: os.environ.get(name, "not set") for name in _CHECKS},
        "NumPy": _numpy(),
        "Python": f"{platform.python_version()} ({sys.executable})",
        "platform": platform.platform(),
        "processor": _processor(),
    }


def report() -> str:
    """Return the same as lines of text.

    Example:
        >>> print(ebb.info.report())
        ebb ...
    """
    known = collect()
    width = max(map(len, known))
    return "\n".join(f"{name:{width}}  {text}" for name, text in known.items())


def _memory() -> dict[str, str]:
    return {f"memory {name}": f"{count / 2**20:.1f} MiB"
            for name, count in _C.memory_stats().items()}  # fmt: skip


def _numpy() -> str:
    try:
        import numpy
    except ImportError:
        return "not installed"
    return numpy.__version__


def _commit() -> str | None:
    """Return the commit of the wheel, or of the repository that this file lies in."""
    build = Path(__file__).with_name("_build.json")
    if build.exists():
        return json.loads(build.read_text())["commit"]
    folder = Path(__file__).resolve().parent
    if not (folder.parents[1] / "tools" / "setup.sh").exists():
        return None  # some other repository, such as one that holds a virtual environment
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.strip() if result.returncode == 0 else None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


if __name__ == "__main__":
    print(ebb.cmake_prefix_path() if sys.argv[1:] == ["--cmake-prefix"] else report())
