# tools/bench/machine.py -- on what a figure was measured: processor, compiler, versions.
"""Everything that a reader needs to judge whether two reports can be compared."""

from __future__ import annotations

import datetime
import os
import platform
import re
import subprocess
from pathlib import Path

PACKAGES = ("libopenblas0-serial", "libdnnl2", "libhwy1")


def output_of(*command: str) -> str:
    """What a command prints, or nothing if it is not there or fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def processor() -> str:
    """Model and widest vector instructions, as the kernel names them."""
    text = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*:\s*(.*)$", text, re.M)
    flags = re.search(r"^flags\s*:\s*(.*)$", text, re.M)
    words = flags[1].split() if flags else []
    widest = next((name for name in ("avx512f", "avx2") if name in words), "neither AVX2")
    return f"{model[1] if model else platform.machine()}, {widest}"


def compiler(build: Path) -> str:
    """The first line of the compiler's own description."""
    cache = build / "CMakeCache.txt"
    found = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache.read_text(), re.M)
    return output_of(found[1], "--version").partition("\n")[0] if found else "unknown"


def describe(root: Path, build: Path) -> dict[str, str]:
    """Names and values, in the order in which the report shows them."""
    memory = re.search(r"^MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text(), re.M)
    system = re.search(r'^PRETTY_NAME="(.*)"$', Path("/etc/os-release").read_text(), re.M)
    versions = [
        f"{name} {output_of('dpkg-query', '-W', '-f=${Version}', name)}" for name in PACKAGES
    ]
    changed = (
        " with changes" if output_of("git", "-C", str(root), "status", "--short", "-uno") else ""
    )
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": output_of("git", "-C", str(root), "rev-parse", "--short=12", "HEAD") + changed,
        "processor": f"{processor()}, {os.cpu_count()} cores",
        "memory": f"{int(memory[1]) / 2**20:.0f} GiB" if memory else "unknown",
        "system": f"{system[1] if system else platform.system()}, Linux {platform.release()}",
        "load when started": ", ".join(f"{value:.1f}" for value in os.getloadavg()),
        "compiler": compiler(build),
        "libraries": ", ".join(versions),
        "Python": platform.python_version(),
    }
