# tools/bench/cpp_rows.py -- the C++ figures: recording, running and destroying graphs; threads.
"""Each function measures one group and returns its rows."""

from __future__ import annotations

import json

from tools.bench.runner import InstructionCounter, Settings, google_benchmark, minus, run
from tools.bench.table import DIFFERENCE, Row, lower_quartile, number

DEEP_STACK_KIB = 512


def record_rows(settings: Settings) -> list[Row]:
    """One op, before and after the process has a second thread."""
    counter = InstructionCounter(settings)
    alone = google_benchmark(settings, "record_bench")
    shared = google_benchmark(settings, "record_bench", EBB_BENCH_SECOND_THREAD="1")
    counts = {
        name: counter.cpp(name)
        for name in ("add_recorded", "add_not_recorded", "mul_recorded", "add_location_told")
    }
    command = "build/release/bin/record_bench"
    specs = (
        ("add 8x8, recorded", "bench_add_recorded", 50, counts["add_recorded"]),
        ("add 8x8, not recorded", "bench_add_not_recorded", 20, counts["add_not_recorded"]),
        (
            "mul 8x8, recorded (two edges, two saved)",
            "bench_mul_recorded",
            75,
            counts["mul_recorded"],
        ),
    )
    rows = [
        Row(f"C++ {figure}", "ns", limit, alone[name], instructions, command)
        for figure, name, limit, instructions in specs
    ]
    rows += [
        Row(f"C++ {figure}, process with a second thread", "ns", None, shared[name], None,
            f"EBB_BENCH_SECOND_THREAD=1 {command}")
        for figure, name, _, _ in specs
    ]  # fmt: skip
    found, told = (
        lower_quartile(alone[f"bench_add_recorded{suffix}"]) for suffix in ("", "_location_told")
    )
    rows.append(
        Row(
            "C++ location of a recorded op",
            "ns",
            3,
            [found - told],
            minus(counts["add_recorded"], counts["add_location_told"]),
            command,
            note=DIFFERENCE,
        )
    )
    return rows


def engine_rows(settings: Settings) -> list[Row]:
    """Chains of v = v + c over 64 floats."""
    counter = InstructionCounter(settings)
    samples = google_benchmark(settings, "engine_bench")
    alive, destroyed, ran, node, node_ran = (
        counter.cpp(name)
        for name in (
            "chain_left_alive",
            "chain_destroyed",
            "chain_run_and_destroyed",
            "one_node",
            "one_node_run",
        )
    )
    command = "build/release/bin/engine_bench"
    per_node = "C++ backward per node of v = v + c, 64 floats, chain of"
    return [
        Row(f"{per_node} 1,000", "ns", 20, samples["bench_chain_backward/1000"],
            minus(ran, destroyed), command),
        Row(f"{per_node} 100,000", "ns", 25, samples["bench_chain_backward/100000"], None, command),
        Row("C++ one whole backward call over one node", "ns", 120,
            samples["bench_backward_of_one_node"], minus(node_ran, node), command),
        Row("C++ destroy per node, chain of 1,000", "ns", None,
            samples["bench_chain_destroy/1000"], minus(destroyed, alive), command),
        Row("C++ destroy per node, chain of 100,000", "ns", 8,
            samples["bench_chain_destroy/100000"], None, command),
        Row("C++ build per node, chain of 1,000", "ns", None, samples["bench_chain_build/1000"],
            alive, command),
        Row("C++ build per node, chain of 100,000", "ns", None,
            samples["bench_chain_build/100000"], None, command),
    ]  # fmt: skip


def run_deep(settings: Settings, nodes: int) -> dict[str, float]:
    """Seconds to build, run and destroy a chain on a small stack, in a process of its own."""
    program = settings.program("ebb_count")
    shell = f"ulimit -s {DEEP_STACK_KIB} && exec {program} deep {nodes}"
    return json.loads(run(settings, ["bash", "-c", shell]))


def deep_rows(settings: Settings) -> list[Row]:
    """Ten million nodes on a stack of 512 KB, and how the time grows with the length."""
    long, short = (1_000_000, 100_000) if settings.is_quick else (10_000_000, 1_000_000)
    rounds = 2 if settings.is_quick else 5
    pairs = [(run_deep(settings, long), run_deep(settings, short)) for _ in range(rounds)]
    command = f"ulimit -s {DEEP_STACK_KIB}; build/release/bin/ebb_count deep {long}"
    name = f"C++ chain of {long:,} on a 512 KB stack"

    def per_node(phase: str) -> list[float]:
        return [deep[phase] / long * 1e9 for deep, _ in pairs]

    ratios = [sum(deep.values()) / sum(shallow.values()) for deep, shallow in pairs]
    return [
        Row(f"{name}: backward per node", "ns", 50, per_node("backward"), None, command),
        Row(f"{name}: build per node", "ns", None, per_node("build"), None, command),
        Row(f"{name}: destroy per node", "ns", None, per_node("destroy"), None, command),
        Row(f"{name}: time of all three over that of a tenth of the nodes", "", 12, ratios, None,
            command, note="processes of their own, page faults included"),
    ]  # fmt: skip


def thread_rows(settings: Settings) -> list[Row]:
    """Two threads against one, from repetitions that alternate."""
    samples = google_benchmark(settings, "threads_bench", clock="real_time")
    command = "build/release/bin/threads_bench"
    rows = []
    for name, what in (
        ("sum", "sum of 4M"),
        ("log_softmax", "log_softmax of 4M"),
        ("index_add", "index_add of 4M"),
        ("mul", "mul of 4M"),
        ("matmul", "matmul 1024"),
    ):
        one, two = (lower_quartile(samples[f"bench_{name}/{count}"]) for count in (1, 2))
        note = f"{number(one / 1e3)} and {number(two / 1e3)} us"
        rows.append(Row(f"C++ {what}: two threads against one", "times", 1.6, [one / two], None,
                        command, at_least=True, note=note))  # fmt: skip
    return rows
