# benchmarks/python/checks.py -- what looking for faults costs a training step.
"""Usage: python checks.py [ROUNDS]

Question: how much longer do steps of small ops take in anomaly mode, with NaN checks, in a profile,
in one that notes memory too, with cuts traced? The loss is read as a number, so that tracing notes
the whole graph of each step.
The modes take turns, so that a noisy moment meets all of them. Prints one JSON object: us per step
in each mode, and the ratios to the step without.
"""

import contextlib
import gc
import json
import sys
import time

import ebb
from ebb.autograd import check_nan_inf, detect_anomaly, trace_cuts
from ebb.profiler import profile

ebb.set_num_threads(1)
STEPS = 20


@contextlib.contextmanager
def both():
    with detect_anomaly(), check_nan_inf():
        yield


def profile_with_memory():
    return profile(profile_memory=True)


MODES = {
    "plain": contextlib.nullcontext,
    "anomaly mode": detect_anomaly,
    "NaN checks": check_nan_inf,
    "both": both,
    "profile": profile,
    "profile with memory": profile_with_memory,
    "traced cuts": trace_cuts,
}


def small_mlp():
    """The smallest workload of train_steps.py."""
    net = ebb.nn.Sequential(ebb.nn.Linear(64, 128), ebb.nn.ReLU(), ebb.nn.Linear(128, 10))
    return stepper(net, ebb.randn([32, 64]), ebb.arange(32) % 10)


def deep_narrow():
    """Its workload of many small ops."""
    layers = []
    for _ in range(50):
        layers += [ebb.nn.Linear(32, 32), ebb.nn.ReLU()]
    return stepper(ebb.nn.Sequential(*layers), ebb.randn([16, 32]), ebb.arange(16) % 32)


def stepper(net, x, y):
    """A training step, whose loss is read as a number."""
    optimizer = ebb.optim.SGD(net.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        loss = ebb.nn.functional.cross_entropy(net(x), y)
        loss.item()
        loss.backward()
        optimizer.step()

    return step


def us_of(step, mode):
    gc.collect()
    gc.disable()
    with mode():
        step()
        start = time.perf_counter()
        for _ in range(STEPS):
            step()
        taken = time.perf_counter() - start
    gc.enable()
    return 1e6 * taken / STEPS


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    out = {}
    for name, build in {"MLP 64-128-10": small_mlp, "50 layers of 32": deep_narrow}.items():
        ebb.manual_seed(0)
        step = build()
        best = {mode: float("inf") for mode in MODES}
        for _ in range(rounds):
            for mode, scope in MODES.items():
                best[mode] = min(best[mode], us_of(step, scope))
        out[f"step of {name}"] = best["plain"]
        for mode in list(MODES)[1:]:
            out[f"step of {name}, {mode}, ratio"] = best[mode] / best["plain"]
    print(json.dumps(out))


if __name__ == "__main__":
    main()
