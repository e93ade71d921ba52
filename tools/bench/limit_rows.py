# tools/bench/limit_rows.py -- how close large ops come to libraries and to memory.
"""Each function measures one group and returns its rows."""

from __future__ import annotations

import json

from tools.bench.runner import Settings, google_benchmark, run_python
from tools.bench.table import Row, lower_quartile, number

COMMAND = "build/release/bin/limits_bench"
SMALL_SIDE = 64
ARRAY_BYTES = 64 << 20
# What each op reads and writes, in arrays of 64 MB.
STREAMS = {"clone": 2, "mul": 3, "relu": 2, "sum": 1}


def is_small(shape: str) -> bool:
    """Whether any side of a product such as 8x128x128x64,B^T is below 64."""
    sides = [int(side) for side in shape.split(",")[0].split("x")][-3:]
    return min(sides) < SMALL_SIDE


def matmul_rows(samples: dict[str, list[float]]) -> list[Row]:
    """The op against the better of the two libraries: the worst of all shapes."""
    ratios, excess = {}, {}
    for name in samples:
        engine, _, shape = name.partition("/")
        if engine != "matmul_ebb":
            continue
        ours, openblas, onednn = (
            lower_quartile(samples[f"matmul_{who}/{shape}"])
            for who in ("ebb", "openblas", "onednn")
        )
        best = min(openblas, onednn)
        if is_small(shape):
            excess[shape] = ours - best
        else:
            ratios[shape] = best / ours
    worst, slowest = min(ratios, key=ratios.get), max(excess, key=excess.get)
    return [
        Row(f"C++ matmul, the worst of {len(ratios)} shapes from 64 to 2048: speed over the better "
            "library's", "times", 0.95, [ratios[worst]], None, COMMAND, at_least=True, note=worst),
        Row(f"C++ matmul below 64, the worst of {len(excess)} shapes: more than the better library",
            "ns", 120, [excess[slowest]], None, COMMAND, note=slowest),
    ]  # fmt: skip


def stream_rows(samples: dict[str, list[float]]) -> list[Row]:
    """Bytes per second over 64 MB, against a copy by plain stores in the same run."""

    def rate(name: str, arrays: int) -> float:
        return arrays * ARRAY_BYTES / lower_quartile(samples[f"stream_{name}"])

    copy = rate("copy", 2)
    rows = [
        Row(f"C++ {name} over 64 MB: bytes per second over those of a copy", "times", 0.85,
            [rate(name, arrays) / copy], None, COMMAND, at_least=True,
            note=f"{number(rate(name, arrays))} GB/s")
        for name, arrays in STREAMS.items()
    ]  # fmt: skip
    note = f"memcpy, which bypasses the caches: {number(rate('memcpy', 2))} GB/s"
    rows.append(Row("C++ copy of 64 MB by plain stores", "GB/s", None, [copy], None, COMMAND,
                    at_least=True, note=note))  # fmt: skip
    return rows


def limit_rows(settings: Settings) -> list[Row]:
    """Products and streams, from repetitions that alternate."""
    samples = google_benchmark(settings, "limits_bench", seconds=0.03)
    return matmul_rows(samples) + stream_rows(samples)


def attention_rows(settings: Settings) -> list[Row]:
    """Attention over many tokens: how its memory grows when the tokens double, and its time."""
    short, long = (1024, 2048) if settings.is_quick else (2048, 4096)
    times, grown = {}, {}
    for tokens in (short, long):
        report = json.loads(run_python(settings, "attention.py", "ebb", str(tokens)))["ns"]
        times[tokens], grown[tokens] = report.values()
    command = "benchmarks/python/attention.py ebb"
    return [
        Row(f"Python attention: peak bytes for {long} tokens over those for {short}", "times", 2.2,
            [grown[long] / grown[short]], None, command,
            note=f"{grown[long] / 1e6:.0f} MB beyond the operands"),
        Row(f"Python attention, {long} tokens, 4 heads of 64, forward and backward", "ms", None,
            [times[long] / 1e6], None, command),
    ]  # fmt: skip
