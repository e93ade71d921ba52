# benchmarks/python/parallel_steps.py -- training steps with parallel backward over those without.
"""Usage: python parallel_steps.py [SECONDS [TEXT ...]].

Question: is any workload of train_steps.py slower because backward may use a second thread? Both
have two threads for their kernels. Steps with and without alternate in one process; each pair gives
a ratio, and their median is printed: one JSON object, from workload to ratio.
"""

import gc
import json
import statistics
import sys
import time

import ebb

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
ONLY = sys.argv[2:]
sys.argv = [sys.argv[0], "ebb", "--threads", "2"]

from train_steps import WORKLOADS, make_step  # noqa: E402


def timed(step, enabled):
    with ebb.autograd.set_multithreading_enabled(enabled):
        start = time.perf_counter()
        step()
        return time.perf_counter() - start


def median_ratio(name):
    """Steps with over steps without, each pair in the other order than the one before."""
    step = make_step(name)
    for enabled in (True, False) * 5:
        timed(step, enabled)
    ratios = []
    end = time.perf_counter() + SECONDS
    gc.disable()
    while len(ratios) < 10 or time.perf_counter() < end:
        first = len(ratios) % 2 == 0
        seconds = {enabled: timed(step, enabled) for enabled in (first, not first)}
        ratios.append(seconds[True] / seconds[False])
    gc.enable()
    return statistics.median(ratios)


chosen = [name for name in WORKLOADS if not ONLY or any(text in name for text in ONLY)]
print(json.dumps({name: round(median_ratio(name), 4) for name in chosen}))
