# benchmarks/python/autocast_gpt.py -- a GPT step under autocast, and products of narrow matrices.
"""Usage: python autocast_gpt.py MODULE [--seconds S].

MODULE needs torch's names. Prints one JSON object: milliseconds of a step of train_steps.py's GPT
(4 layers of 256, length 128, batch 8, AdamW), by itself and under autocast in turn, losses of both
and, for ebb, the peak of live memory of each; GFLOP/s of a product of 1024 x 1024. Times are CPU
time of one thread, medians.
"""

import json
import statistics
import sys
import time

import train_steps
from train_steps import MODULE, SECONDS, WORKLOADS, T, seed_parameters

NAME = "gpt 4x256, length 128, batch 8"


def stepper(is_narrow):
    train_steps.RNG = train_steps.np.random.default_rng(0)
    model, loss_of, optimizer_of = WORKLOADS[NAME]()
    seed_parameters(model)
    optimizer = optimizer_of(model)

    def step():
        optimizer.zero_grad()
        with T.autocast("cpu", dtype=T.bfloat16, enabled=is_narrow):
            loss = loss_of(model)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def timed(call):
    start = time.process_time()
    call()
    return time.process_time() - start


def peak(step):
    """Bytes beyond those alive before the step."""
    T.reset_peak_memory()
    before = T.memory_stats()["live"]
    step()
    return T.memory_stats()["peak"] - before


def product_rate(dtype, seconds):
    side = 1024
    x, y = T.ones(side, side).to(dtype), T.ones(side, side).to(dtype)
    times, end = [], time.time() + seconds
    while time.time() < end:
        times.append(timed(lambda: x @ y))
    return 2 * side**3 / statistics.median(times) / 1e9


def main():
    steps = {"float32": stepper(False), "autocast": stepper(True)}
    result = {f"loss, {name}": [step() for _ in range(5)][-1] for name, step in steps.items()}
    times = {name: [] for name in steps}
    end = time.time() + 2 * SECONDS
    while time.time() < end:
        for name, step in steps.items():
            times[name].append(1e3 * timed(step))
    for name, step in steps.items():
        result[f"step in ms, {name}"] = statistics.median(times[name])
        if hasattr(T, "reset_peak_memory"):
            result[f"peak bytes, {name}"] = peak(step)
    for dtype in ("float32", "float16", "bfloat16"):
        result[f"1024 x 1024 GFLOP/s, {dtype}"] = product_rate(getattr(T, dtype), SECONDS / 4)
    json.dump({"module": MODULE, **result}, sys.stdout, indent=2)


main()
