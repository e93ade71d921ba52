# benchmarks/python/devices.py -- what OpenCL costs: queueing an op, large kernels, first uses.
"""Usage: python -m benchmarks.python.devices [queue|large|first ...], from the repository's root.

Questions: how much longer does the host take to record and queue an add than the CPU's op takes?
How fast are 64 MB through PoCL's kernels, against ebb's own on the same cores? How long does the
first use of an op take, compiled and from disk?

What is compared alternates; the figure is the lower quartile of its repeats. For the first question
the layer of tests/devices/opencl lets launches return at once, so that OpenCL's own time is left
out: it is the difference to launches that run.
"""

import functools
import os
import subprocess
import sys
import tempfile
import time

from tests.python.opencl import layer as layers

layers.choose()
import ebb  # noqa: E402  after the layer is named
from ebb.nn import functional as F  # noqa: E402

DEVICE = "opencl:0"
REPEATS = 41
CALLS = 2000  # of a small op, before the queue is emptied
MEGABYTES_64 = 1 << 24  # floats


def lower_quartile(times):
    return sorted(times)[len(times) // 4]


def alternate(functions, repeats=REPEATS):
    """Lower quartile of the seconds that each function says it took, by name."""
    times = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            times[name].append(function())
    return {name: lower_quartile(one[1:]) for name, one in times.items()}


def queue():
    """Print the microseconds of a recorded add."""
    layer = layers.Layer()

    def adder(device, is_idle):
        x = ebb.ones(1).to(device).requires_grad_()
        y = ebb.ones(1).to(device)
        assert (x + y).item() == 2

        def timed():
            layer.set_idle(is_idle)
            start = time.perf_counter()
            for _ in range(CALLS):
                x + y
            taken = time.perf_counter() - start
            layer.set_idle(False)
            ebb.synchronize(DEVICE)
            return taken / CALLS * 1e6

        return timed

    found = alternate(
        {
            "cpu": adder("cpu", False),
            "queued": adder(DEVICE, True),
            "with OpenCL": adder(DEVICE, False),
        }
    )
    print("one recorded add of one element, us: " + say(found, 2))
    print(f"queued over cpu: {found['queued'] / found['cpu']:.2f}")


def say(found, digits):
    return ", ".join(f"{name} {value:.{digits}f}" for name, value in found.items())


LARGE = {
    "add": lambda x, y: x + y,
    "mul by a number": lambda x, y: x * 1.5,
    "exp": lambda x, y: x.exp(),
    "gelu": lambda x, y: F.gelu(x),
    "where": lambda x, y: ebb.where(x > y, x, y),
    "sum": lambda x, y: x.sum(),
    "amax": lambda x, y: x.amax(),
    "sum of rows": lambda x, y: x.view(4096, 4096).sum(1),
    "sum of columns": lambda x, y: x.view(4096, 4096).sum(0),
    "amax of columns": lambda x, y: x.view(4096, 4096).amax(0),
    "var of rows": lambda x, y: x.view(4096, 4096).var(1),
    "sum of short rows": lambda x, y: x.view(-1, 64).sum(1),
    "var of short rows": lambda x, y: x.view(-1, 64).var(1),
    "softmax of short rows": lambda x, y: x.view(-1, 64).softmax(1),
    "var of columns": lambda x, y: x.view(4096, 4096).var(0),
    "softmax of rows": lambda x, y: x.view(4096, 4096).softmax(1),
    "softmax of columns": lambda x, y: x.view(4096, 4096).softmax(0),
    "transposed copy": lambda x, y: x.view(4096, 4096).t().contiguous(),
    "layer_norm": lambda x, y: F.layer_norm(x.view(4096, 4096), (4096,)),
    "layer_norm of short rows": lambda x, y: F.layer_norm(x.view(-1, 64), (64,)),
    "cumsum of rows": lambda x, y: x.view(4096, 4096).cumsum(1),
    "cumsum of columns": lambda x, y: x.view(4096, 4096).cumsum(0),
    "index_select": lambda x, y: x.view(4096, 4096).index_select(0, places(x)),
    "embedding": lambda x, y: F.embedding(places(x).repeat(64), x.view(-1, 64)),
    "index_add": lambda x, y: x.view(4096, 4096).index_add(0, places(x), y.view(4096, 4096)),
    "sort of rows": lambda x, y: x.view(4096, 4096).sort(1)[0],
}


@functools.cache
def places_on(device):
    order = ebb.randperm(4096, generator=ebb.Generator().manual_seed(1))
    return order.to(device)


def places(x):
    """4,096 of rows, each once, on the device of ``x``."""
    return places_on(str(x.device))


def large():
    """Print the milliseconds of ops over 64 MB."""
    ebb.manual_seed(0)
    x, y = ebb.randn(MEGABYTES_64), ebb.randn(MEGABYTES_64)
    operands = {"cpu": (x, y), "PoCL": (x.to(DEVICE), y.to(DEVICE))}

    def timer(function, name):
        def timed():
            start = time.perf_counter()
            function(*operands[name])
            ebb.synchronize(DEVICE)
            return (time.perf_counter() - start) * 1e3

        return timed

    for op, function in LARGE.items():
        results = [function(*one).cpu() for one in operands.values()]
        ebb.testing.assert_close(results[1], results[0], rtol=1e-4, atol=1e-2)
        found = alternate({name: timer(function, name) for name in operands}, repeats=13)
        print(f"{op}, ms: {say(found, 1)}; cpu over PoCL: {found['cpu'] / found['PoCL']:.2f}")


FIRST = """
import time, ebb
from ebb.nn import functional as F
device = "opencl:0"
x, square = ebb.ones(3, 5, device=device), ebb.ones(64, 64, device=device)
index = ebb.zeros(3, dtype=ebb.int64).to(device)
ebb.synchronize(device)
calls = {
    "tanh": lambda: x.tanh(),
    "sum": lambda: x.sum(),
    "softmax": lambda: x.softmax(1),
    "layer_norm": lambda: F.layer_norm(x, (5,)),
    "matmul": lambda: square @ square,
    "sort": lambda: x.sort(),
    "index_select": lambda: x.index_select(0, index),
    "nll_loss": lambda: F.nll_loss(x, index),
}
for name, call in calls.items():
    start = time.perf_counter()
    call()
    ebb.synchronize(device)
    print(name, (time.perf_counter() - start) * 1e3)
"""


def first():
    """Print the milliseconds of ops' first uses, in processes of their own: the best of several."""
    with tempfile.TemporaryDirectory() as folder:
        variables = {"EBB_KERNEL_CACHE": f"{folder}/ebb", "POCL_CACHE_DIR": f"{folder}/pocl"}
        environment = {**os.environ, **variables}
        environment.pop("OPENCL_LAYERS", None)

        def uses():
            command = [sys.executable, "-c", FIRST]
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            )
            return {name: float(time) for name, time in map(str.split, done.stdout.splitlines())}

        print("first uses, compiled, ms: " + say(uses(), 0))
        runs = [uses() for _ in range(9)]
        print(
            "from disk, ms: " + say({name: min(run[name] for run in runs) for name in runs[0]}, 1)
        )


if __name__ == "__main__":
    parts = {"queue": queue, "large": large, "first": first}
    for part in sys.argv[1:] or parts:
        parts[part]()
