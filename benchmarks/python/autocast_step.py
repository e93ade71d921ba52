# benchmarks/python/autocast_step.py -- a step of small ops under autocast over one without.
"""Usage: python autocast_step.py MODULE     MODULE: torch, ebb, or any with torch's names.

Trains an MLP (64-128-10, batch 32, AdamW) on one thread with and without autocast in bfloat16, in
alternation, and prints one JSON object: microseconds per step of both, and the median ratio.
"""

import contextlib
import importlib
import json
import statistics
import sys
import time

import numpy as np

T = importlib.import_module(sys.argv[1])
nn = importlib.import_module(sys.argv[1] + ".nn")
T.set_num_threads(1)
RNG = np.random.default_rng(0)

NET = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
OPTIMIZER = importlib.import_module(sys.argv[1] + ".optim").AdamW(NET.parameters(), lr=1e-3)
INPUTS = T.from_numpy(RNG.standard_normal((32, 64)).astype(np.float32))
LABELS = T.from_numpy(RNG.integers(0, 10, 32))


def step(has_autocast):
    OPTIMIZER.zero_grad()
    block = T.autocast("cpu", dtype=T.bfloat16) if has_autocast else contextlib.nullcontext()
    with block:
        loss = nn.functional.cross_entropy(NET(INPUTS), LABELS)
    loss.backward()
    OPTIMIZER.step()


def time_of(has_autocast, steps=200):
    start = time.process_time()
    for _ in range(steps):
        step(has_autocast)
    return (time.process_time() - start) / steps * 1e6


def main():
    for has_autocast in (True, False):
        time_of(has_autocast, 50)
    pairs = [(time_of(False), time_of(True)) for _ in range(15)]
    print(
        json.dumps(
            {
                "module": f"{sys.argv[1]} {T.__version__}",
                "float32 us": round(statistics.median(plain for plain, _ in pairs), 1),
                "autocast us": round(statistics.median(cast for _, cast in pairs), 1),
                "ratio": round(statistics.median(cast / plain for plain, cast in pairs), 2),
            }
        )
    )


main()
