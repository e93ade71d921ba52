# benchmarks/python/branches.py -- a wide graph on one thread and on two; a chain beside it.
"""Usage: python branches.py [ROUNDS].

Question: how much faster is backward through 8 independent branches of 200 small ops on two
threads, and what do graphs pay that have no branches? Prints one JSON object: us per backward.
"""

import gc
import json
import sys
import time

import ebb

BRANCHES, LENGTH = 8, 200
SIZES = {"8,192": 8192, "16,384": 16384}


def branches(size):
    """Every op is below the grain of the kernels' own threads."""
    x = ebb.ones(size, requires_grad=True)
    total = None
    for branch in range(BRANCHES):
        value = x * (1.0 + branch)
        for _ in range(LENGTH):
            value = value.tanh()
        total = value if total is None else total + value
    return total.sum()


def chain(size):
    value = ebb.ones(size, requires_grad=True)
    for _ in range(BRANCHES * LENGTH):
        value = value.tanh()
    return value.sum()


def best(build, size, threads, enabled, rounds):
    """The least microseconds of one backward."""
    ebb.set_num_threads(threads)
    samples = []
    with ebb.autograd.set_multithreading_enabled(enabled):
        for _ in range(rounds):
            loss = build(size)
            gc.disable()
            start = time.perf_counter()
            loss.backward()
            samples.append(1e6 * (time.perf_counter() - start))
            gc.enable()
    return min(samples)


def start_threads():
    """A process with threads counts references atomically: the same for all that is measured."""
    ebb.set_num_threads(2)
    big = ebb.ones(512, 512)
    big @ big


def main():
    start_threads()
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    result = {}
    for name, size in SIZES.items():
        one = best(branches, size, 1, True, rounds)
        two = best(branches, size, 2, True, rounds)
        result[f"8 branches of {name}, 1 thread"] = one
        result[f"8 branches of {name}, 2 threads"] = two
        result[f"8 branches of {name}, speedup"] = one / two
    on, off = (best(chain, 64, 2, enabled, rounds) for enabled in (True, False))
    result["chain, on"], result["chain, off"] = on, off
    print(json.dumps(result))


main()
