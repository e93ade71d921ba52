# tools/bench/runner.py -- runs programs and reads their figures.
"""Google Benchmark repetitions alternate at random; instructions come from callgrind."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

# valgrind 3.19 knows no AVX-512, and a report should not depend on its version.
COUNTING_ISA = "avx2"
# A fixed priority above all ordinary processes (util-linux).
REALTIME = ("chrt", "--rr", "20")


@dataclass(frozen=True)
class Settings:
    """Where things are, and how long to take."""

    root: Path
    build: Path
    is_quick: bool
    is_realtime: bool = False

    @property
    def repetitions(self) -> int:
        """How often each benchmark of a program runs."""
        return 3 if self.is_quick else 15

    @property
    def package(self) -> Path:
        """The folder to import ebb from."""
        return self.build / "python"

    def program(self, name: str) -> str:
        """Path of a built program."""
        return str(self.build / "bin" / name)

    def script(self, name: str) -> str:
        """Path of a file in benchmarks/python."""
        return str(self.root / "benchmarks" / "python" / name)


def default_settings() -> dict[str, str]:
    """The environment without what would choose other kernels of OpenBLAS than users get."""
    return {name: text for name, text in os.environ.items() if not name.startswith("OPENBLAS_")}


def run(settings: Settings, command: list[str], **environment: str) -> str:
    """Run a command on one thread and return what it prints; raise with its text if it fails."""
    variables = {"EBB_NUM_THREADS": "1", "PYTHONPATH": str(settings.package), **environment}
    if settings.is_realtime:
        command = [*REALTIME, *command]
    done = subprocess.run(
        command,
        env={**default_settings(), **variables},
        capture_output=True,
        text=True,
        cwd=settings.root,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def run_python(settings: Settings, script: str, *arguments: str, **environment: str) -> str:
    return run(settings, [sys.executable, settings.script(script), *arguments], **environment)


def google_benchmark(
    settings: Settings,
    program: str,
    clock: str = "cpu_time",
    seconds: float = 0.1,
    **environment: str,
) -> dict[str, list[float]]:
    """Run one program, each repetition ``seconds`` long; return the ns of each, by benchmark."""
    command = [
        settings.program(program),
        f"--benchmark_repetitions={settings.repetitions}",
        "--benchmark_enable_random_interleaving=true",
        f"--benchmark_min_time={0.01 if settings.is_quick else seconds}",
        "--benchmark_format=json",
    ]
    samples: dict[str, list[float]] = {}
    for entry in json.loads(run(settings, command, **environment))["benchmarks"]:
        if entry["run_type"] != "iteration":
            continue
        is_manual = entry["name"].endswith("manual_time")
        name = re.sub(r"/(iterations:\d+|manual_time|real_time)", "", entry["name"])
        value = entry["real_time" if is_manual else clock]
        samples.setdefault(name, []).append(value)
    return samples


@dataclass(frozen=True)
class Speed:
    """What the processor does at the moment, whatever it is given."""

    gigahertz: float
    additions: float  # per ns, side by side

    @classmethod
    def now(cls, settings: Settings) -> Speed:
        """Measure it; see benchmarks/core/machine_bench.cpp."""
        times = google_benchmark(replace(settings, is_quick=True), "machine_bench")
        steps, cycles_of_a_multiplication = 1_000, 3
        return cls(
            cycles_of_a_multiplication * steps / min(times["bench_multiplication_chain"]),
            steps / min(times["bench_independent_additions"]),
        )


class InstructionCounter:
    """Instructions per call of a hot path: the difference of two counted runs."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.is_available = shutil.which("valgrind") is not None and not settings.is_quick

    def _count(self, command: list[str], *options: str) -> int:
        tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *options]
        done = subprocess.run(
            [*tool, *command],
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "EBB_NUM_THREADS": "1",
                "EBB_ISA": COUNTING_ISA,
                "PYTHONPATH": str(self.settings.package),
                "PYTHONHASHSEED": "0",
            },
        )
        found = re.search(r"Collected : (\d+)", done.stderr)
        if done.returncode != 0 or found is None:
            raise RuntimeError(f"{' '.join(command)}: valgrind failed\n{done.stderr[-2000:]}")
        return int(found[1])

    def per_call(self, command: list[str], *options: str, last: tuple[str, ...] = ()) -> float:
        """Instructions of one call of `command N last`, from two runs with different N."""
        first, second = 2_000, 12_000
        low, high = (self._count([*command, str(n), *last], *options) for n in (first, second))
        return (high - low) / (second - first)

    def cpp(self, path: str) -> float | None:
        """Instructions of one call of a path of ebb_count; a chain runs past the cold start."""
        if not self.is_available:
            return None
        # Not what happens before main(): a library calibrates its clock there, however often.
        program = self.settings.program("ebb_count")
        return self.per_call([program, path], "--toggle-collect=main")

    def python(self, path: str, *library: str) -> float | None:
        """Instructions of one call of a path of benchmarks/python/count.py."""
        if not self.is_available:
            return None
        # Not the imports, which take a number of instructions that differs from run to run.
        command = [sys.executable, self.settings.script("count.py"), path]
        return self.per_call(command, "--toggle-collect=ffi_call", last=library)


def minus(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left - right
