# benchmarks/python/branches.py -- a wide graph on one thread and on two; a chain beside it.
"""Usage: python branches.py [ROUNDS].

Question: how much faster is backward through 8 independent branches of 200 small ops on two
threads, and what do graphs pay that have no branches? What two cores can do at all, two threads
show that run a graph of 4 branches each and share nothing. All kinds alternate. Prints one JSON
object: us per backward, the least of all rounds.
"""

import gc
import json
import sys
import threading
import time

import ebb

BRANCHES, LENGTH = 8, 200
SIZES = {"8,192": 8192, "16,384": 16384}


def branches(size, count=BRANCHES):
    """Every op is below the grain of the kernels' own threads."""
    x = ebb.ones(size, requires_grad=True)
    total = None
    for branch in range(count):
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


def run(losses, threads=1, enabled=True):
    """Microseconds until all are run: one by this thread, each further one by its own."""
    ebb.set_num_threads(threads)
    start = threading.Barrier(len(losses))
    ends = []

    def go(loss):
        with ebb.autograd.set_multithreading_enabled(enabled):
            start.wait()
            loss.backward()
        ends.append(time.perf_counter())

    others = [threading.Thread(target=go, args=(loss,)) for loss in losses[1:]]
    gc.disable()
    for other in others:
        other.start()
    while start.n_waiting < len(others):
        time.sleep(0)
    begin = time.perf_counter()
    go(losses[0])
    for other in others:
        other.join()
    gc.enable()
    return 1e6 * (max(ends) - begin)


def best(kinds, rounds):
    """The least result of each function, called in alternation."""
    samples = [[kind() for kind in kinds] for _ in range(rounds)]
    return [min(column) for column in zip(*samples, strict=True)]


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
        one, two, apart = best(
            [
                lambda size=size: run([branches(size)], threads=1),
                lambda size=size: run([branches(size)], threads=2),
                lambda size=size: run([branches(size, BRANCHES // 2) for _ in range(2)]),
            ],
            rounds,
        )
        result[f"8 branches of {name}, 1 thread"] = one
        result[f"8 branches of {name}, 2 threads"] = two
        result[f"8 branches of {name}, two graphs apart"] = apart
        result[f"8 branches of {name}, speedup"] = one / two
    on, off = best(
        [lambda on=on: run([chain(64)], threads=2, enabled=on) for on in (True, False)], rounds
    )
    result["chain, on"], result["chain, off"] = on, off
    print(json.dumps(result))


main()
