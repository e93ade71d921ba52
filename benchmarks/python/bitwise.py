# benchmarks/python/bitwise.py -- whether values and gradients depend on the number of threads.
"""Usage: python bitwise.py [--runs N].

Runs large ops and a training step with 1, 2, 3, 4 and 8 threads, N times each, and compares every
byte of results, gradients and parameters with the first run's. Prints one JSON object; the exit
status is 1 if anything differs.
"""

import argparse
import hashlib
import json
import sys

import numpy as np

import ebb
import ebb.nn.functional as F
from ebb import nn, optim

THREADS = (1, 2, 3, 4, 8)


def run_ops(digest):
    """Reductions and scattering, where the order of additions decides the last bits."""
    rng = np.random.default_rng(0)
    x = ebb.from_numpy(rng.standard_normal((2048, 515)).astype(np.float32)).requires_grad_()
    index = ebb.from_numpy(rng.integers(0, 37, 2048))
    rows = ebb.zeros(37, 515).index_add(0, index, x)
    out = F.log_softmax(rows, 1).sum() + x.sum(0).exp().mean() + (x * x).mean()
    out.backward()
    for tensor in (rows.detach(), out.detach(), x.grad):
        digest.update(tensor.numpy().tobytes())


def run_training(digest):
    """Three steps of a perceptron with large matrix products."""
    rng = np.random.default_rng(1)
    layers = [nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10)]
    model = nn.Sequential(*layers)
    with ebb.no_grad():
        for p in model.parameters():
            value = rng.standard_normal(tuple(p.shape)).astype(np.float32) * 0.05
            p.copy_(ebb.from_numpy(value))
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)
    x = ebb.from_numpy(rng.standard_normal((256, 784)).astype(np.float32))
    y = ebb.from_numpy(rng.integers(0, 10, 256))
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        digest.update(loss.detach().numpy().tobytes())
    for p in model.parameters():
        digest.update(p.grad.numpy().tobytes())
        digest.update(p.detach().numpy().tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    digests = {}
    for _ in range(runs):
        for threads in THREADS:
            ebb.set_num_threads(threads)
            digest = hashlib.sha256()
            run_ops(digest)
            run_training(digest)
            digests.setdefault(digest.hexdigest(), set()).add(threads)
    report = {"runs": runs, "threads": THREADS, "different_results": len(digests)}
    print(json.dumps(report))
    return 0 if len(digests) == 1 else 1


sys.exit(main())
