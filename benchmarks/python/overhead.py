# benchmarks/python/overhead.py -- per-op and per-node cost of an eager framework, from Python.
"""Usage: python overhead.py MODULE [threads]     MODULE: torch, ebb, or any with torch's names.

Prints one JSON object: ns per call (minimum and median over repeats), bytes per recorded node.
Run peers in alternation and compare ratios: single absolute times are noisy.
"""

import gc
import importlib
import json
import resource
import statistics
import sys
import time

T = importlib.import_module(sys.argv[1])
THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
if hasattr(T, "set_num_threads"):
    T.set_num_threads(THREADS)


def timed(body, count, repeats=9):
    """ns per call of body(), which performs `count` calls."""
    body()
    samples = []
    for _ in range(repeats):
        gc.collect()
        gc.disable()
        start = time.perf_counter_ns()
        body()
        samples.append((time.perf_counter_ns() - start) / count)
        gc.enable()
    return {"min": round(min(samples), 1), "median": round(statistics.median(samples), 1)}


def loop(op, count=20_000):
    def body():
        for _ in range(count):
            op()

    return timed(body, count)


def rss():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()


def measure_ops():
    """One call at a time on 8x8 tensors, the result dropped at once."""
    a = T.randn(8, 8)
    b = T.randn(8, 8)
    x = T.randn(8, 8, requires_grad=True)
    y = T.randn(8, 8, requires_grad=True)
    out = {"python loop": loop(lambda: None)}
    out["add, untracked"] = loop(lambda: a + b)
    out["add, recorded"] = loop(lambda: x + y)
    out["mul, recorded"] = loop(lambda: x * y)
    out["mul by scalar, recorded"] = loop(lambda: x * 2.0)
    out["matmul 8x8, recorded"] = loop(lambda: x @ y)
    out["sum, recorded"] = loop(lambda: x.sum())
    out["reshape, recorded"] = loop(lambda: x.reshape(64))
    out["transpose, recorded"] = loop(lambda: x.transpose(0, 1))
    out["x[0], recorded"] = loop(lambda: x[0])
    out["x[2:5, 1], recorded"] = loop(lambda: x[2:5, 1])
    out["relu, recorded"] = loop(lambda: x.relu())
    out["where, recorded"] = loop(lambda: T.where(a > 0, x, y))

    def no_grad_add():
        with T.no_grad():
            return a + b

    out["no_grad block with one add"] = loop(no_grad_add)
    return out


def measure_chain(n):
    """Building, running and dropping a chain of n products with a number."""
    one = T.ones(1, requires_grad=True)
    times = {"forward": [], "backward": [], "free": []}
    for _ in range(5):
        one.grad = None
        gc.collect()
        start = time.perf_counter_ns()
        end = one
        for _ in range(n):
            end = end * 1.0001
        mid = time.perf_counter_ns()
        end.backward()
        stop = time.perf_counter_ns()
        del end
        freed = time.perf_counter_ns()
        times["forward"].append((mid - start) / n)
        times["backward"].append((stop - mid) / n)
        times["free"].append((freed - stop) / n)
    return {
        f"chain of {n}: {phase} per node": {"median": round(statistics.median(samples), 1)}
        for phase, samples in times.items()
    }


def bytes_per_add(keep):
    """Resident bytes a recorded one-element add leaves behind, with or without its output."""
    gc.collect()
    one = T.ones(1, requires_grad=True)
    kept = [None] * 1_000_000
    before = rss()
    end = one
    for i in range(1_000_000):
        end = end + one
        if keep:
            kept[i] = end
    return round((rss() - before) / 1e6)


def measure_functions():
    """A custom Function, where the module has them."""

    class Double(T.autograd.Function):
        """Twice its input, by hand."""

        @staticmethod
        def forward(ctx, v):
            ctx.save_for_backward(v)
            return v * 2.0

        @staticmethod
        def backward(ctx, grad):
            return grad * 2.0

    x = T.randn(8, 8, requires_grad=True)
    seeds = T.ones(8, 8)

    def run_function():
        z = x
        for _ in range(1000):
            z = Double.apply(z)
        z.backward(seeds)
        x.grad = None

    return {
        "custom Function, forward": loop(lambda: Double.apply(x), 5_000),
        "custom Function, forward and backward": timed(run_function, 1000),
    }


def measure_fan_in():
    """Many leaves summed one by one."""
    leaves = [T.ones(1, requires_grad=True) for _ in range(1000)]

    def fan_in():
        total = leaves[0]
        for leaf in leaves[1:]:
            total = total + leaf
        total.backward()
        for leaf in leaves:
            leaf.grad = None

    return {"1,000 leaves summed, forward and backward, per leaf": timed(fan_in, 1000)}


def main():
    out = measure_ops()
    out |= measure_chain(1_000) | measure_chain(100_000)
    out["bytes, recorded add, output dead"] = bytes_per_add(keep=False)
    out["bytes, recorded add, output kept"] = bytes_per_add(keep=True)
    if hasattr(T.autograd, "Function"):
        out |= measure_functions()
    out |= measure_fan_in()
    version = getattr(T, "__version__", "?")
    print(
        json.dumps(
            {"module": sys.argv[1], "version": version, "threads": THREADS, "ns": out}, indent=1
        )
    )


main()
