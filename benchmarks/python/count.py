# benchmarks/python/count.py -- runs one Python hot path N times, for counting its instructions.
"""Usage: python count.py PATH N [LIBRARY].

As `ebb_count` does for C++: the difference of two runs under valgrind, divided by the difference of
N, is the cost of one call. Subtract the path `nothing`, the loop itself. Count the calls alone,
with `--toggle-collect=ffi_call`, the function of ctypes that makes them: imports take a number of
instructions that differs from run to run. LIBRARY is that of location_switch.cpp: ops are told
their location then and do not look for it.
"""

import ctypes
import functools
import sys

import ebb

STATEMENTS = {
    "nothing": "pass",
    "add_not_recorded": "a + b",
    "add_recorded": "x + y",
    "mul_by_number": "x * 2.0",
    "first_row": "x[0]",
    "add_by_keyword": "F.add(x, other=y)",
    "relu_of_a_layer": "layer(x)",
}
LOOP = """
def run(repeat, a, b, x, y, F, layer):
    for _ in repeat:
        {statement}
"""


def build_chain(count):
    """A chain of products with a number, as in overhead.py."""
    end = ebb.ones(1, requires_grad=True)
    for _ in range(count):
        end = end * 1.0001
    return end


def chain(count):
    build_chain(count)  # and destroy it


def chain_run(count):
    build_chain(count).backward()


CHAINS = {"chain": chain, "chain_run": chain_run}


def train(has_autocast, count):
    """Steps of the MLP of autocast_step.py."""
    net = ebb.nn.Sequential(ebb.nn.Linear(64, 128), ebb.nn.ReLU(), ebb.nn.Linear(128, 10))
    optimizer = ebb.optim.AdamW(net.parameters(), lr=1e-3)
    inputs, labels = ebb.randn(32, 64), ebb.arange(32) % 10
    for _ in range(count):
        optimizer.zero_grad()
        with ebb.autocast("cpu", enabled=has_autocast):
            loss = ebb.nn.functional.cross_entropy(net(inputs), labels)
        loss.backward()
        optimizer.step()


STEPS = {
    "mlp_step": functools.partial(train, False),
    "mlp_step_autocast": functools.partial(train, True),
}


def prepare(path, count):
    """Return a function that makes the calls."""
    programs = CHAINS | STEPS
    if path in programs:
        return lambda: programs[path](count)
    names = {}
    exec(LOOP.format(statement=STATEMENTS[path]), names)
    plain = ebb.ones(8, 8), ebb.ones(8, 8)
    leaves = ebb.ones(8, 8, requires_grad=True), ebb.ones(8, 8, requires_grad=True)
    layer = ebb.nn.ReLU()
    return lambda: names["run"](range(count), *plain, *leaves, ebb, layer)


def main():
    ebb.set_num_threads(1)
    calls = prepare(sys.argv[1], int(sys.argv[2]))
    if len(sys.argv) > 3:
        ctypes.CDLL(sys.argv[3]).ebb_tell_location(1)
    call = ctypes.pythonapi.PyObject_CallNoArgs
    call.restype = ctypes.py_object
    call(ctypes.py_object(calls))


main()
