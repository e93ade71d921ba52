# benchmarks/python/saved_hooks.py -- what a pair of saved-tensor hooks costs per saved tensor.
"""Usage: python saved_hooks.py [MODULE]     MODULE: ebb (default) or torch.

Question: what does packing and unpacking one saved tensor cost, against keeping it? Prints one JSON
object: ns per node of a chain of 20,000 `sin` (one saved tensor each), forward and backward.
"""

import contextlib
import gc
import importlib
import json
import sys
import time

T = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "ebb")
NODES = 20_000


def identity(value):
    return value


def chain(x):
    for _ in range(NODES):
        x = x.sin()
    return x


def checkpointed(x):
    checkpoint = importlib.import_module(T.__name__ + ".utils.checkpoint").checkpoint
    return checkpoint(chain, x, use_reentrant=False)


def best(context, function=chain, repeats=5):
    """The least ns per node of several runs."""
    samples = []
    for _ in range(repeats):
        x = T.ones(1, requires_grad=True)
        gc.collect()
        gc.disable()
        start = time.perf_counter_ns()
        with context():
            y = function(x)
        y.backward()
        samples.append((time.perf_counter_ns() - start) / NODES)
        gc.enable()
        assert 0 < x.grad.item() < 1
    return round(min(samples), 1)


def main():
    hooks = T.autograd.graph.saved_tensors_hooks
    report = {
        "no hooks": best(contextlib.nullcontext),
        "identity hooks": best(lambda: hooks(identity, identity)),
        "nested identity hooks": best(nested),
        "save_on_cpu": best(T.autograd.graph.save_on_cpu),
        "checkpoint": best(contextlib.nullcontext, checkpointed),
    }
    print(json.dumps(report))


@contextlib.contextmanager
def nested():
    hooks = T.autograd.graph.saved_tensors_hooks
    with hooks(identity, identity), hooks(identity, identity):
        yield


if __name__ == "__main__":
    main()
