# benchmarks/python/hooks.py -- what a hook costs, and wide graphs.
"""Usage: python hooks.py [--quick]. Prints one JSON object: figure -> ns of every round.

A hook's cost is the median of the differences between short runs over a graph with hooks and their
neighbours over one without, of each round. A wide graph is run once per repeat; its figure is the
time per edge, root or input. --quick counts fewer than a figure's name says.
"""

import json
import sys
import time

from pairs import median_difference

import ebb

QUICK = "--quick" in sys.argv
MANY = 10_000 if QUICK else 1_000_000
SOME = 10_000 if QUICK else 100_000
REPEATS = 3 if QUICK else 5
ROUNDS = 3 if QUICK else 15
RUNS = 100
NODES = 20
ebb.set_num_threads(1)


def chain():
    """A leaf, and NODES results that each come from the one before."""
    tensors = [ebb.ones(1, requires_grad=True)]
    for _ in range(NODES):
        tensors.append(tensors[-1].tanh())
    return tensors


def time_runs(tensors):
    start = time.perf_counter_ns()
    for _ in range(RUNS):
        tensors[-1].backward(retain_graph=True)
    return (time.perf_counter_ns() - start) / RUNS / NODES


def ignore(grad):
    pass


def hook_costs():
    """ns that a tensor hook adds to a node, of each round."""
    plain, hooked = chain(), chain()
    for tensor in hooked[1:]:
        tensor.register_hook(ignore)
    return [
        median_difference(lambda way: time_runs(hooked if way else plain)) for _ in range(ROUNDS)
    ]


def best_of(prepare, run, count):
    """ns per item of the fastest repeat, as the only round."""
    elapsed = []
    for _ in range(REPEATS):
        prepared = prepare()
        start = time.perf_counter_ns()
        run(prepared)
        elapsed.append((time.perf_counter_ns() - start) / count)
    return [min(elapsed)]


def fan_in():
    x = ebb.ones(1, requires_grad=True)
    return ebb.cat([x] * MANY).sum()


def fan_out():
    x = ebb.ones(MANY, requires_grad=True)
    return ebb.cat(ebb.split(x, 1)).sum()


def roots():
    x = ebb.ones((), requires_grad=True)
    return [x * 2 for _ in range(SOME)]


def inputs():
    leaves = [ebb.ones(1, requires_grad=True) for _ in range(SOME)]
    return ebb.cat(leaves).sum(), leaves


figures = {
    "a Python tensor hook over none": hook_costs(),
    "fan-in: 1,000,000 edges into one leaf, per edge": best_of(
        fan_in, lambda y: y.backward(), MANY
    ),
    "fan-out: 1,000,000 outputs of one node, per output": best_of(
        fan_out, lambda y: y.backward(), MANY
    ),
    "100,000 roots, per root": best_of(roots, ebb.autograd.backward, SOME),
    "grad of 100,000 inputs, per input": best_of(
        inputs, lambda pair: ebb.autograd.grad(*pair), SOME
    ),
}
print(json.dumps(figures))
