# benchmarks/python/ops.py -- what one op costs from Python, the loop around it left out.
"""Usage: python ops.py MODULE [--rounds N] [--loops N] [--second-thread] [--location LIBRARY].

Prints one JSON object: for each statement the ns per call of every round. The statements alternate
within a round, and the empty loop measured in the same round is subtracted. With --second-thread a
thread is started and joined first: reference counts are atomic from then on. --location names the
library of location_switch.cpp and adds what it costs to find the line of an op, and of one inside a
layer of nn, whose line is its caller's: short runs that are told it alternate with runs that look,
and the median of the differences of neighbours is a round's sample.
"""

import argparse
import ctypes
import importlib
import json
import threading
import time
import timeit

from pairs import median_difference

STATEMENTS = {
    "add, not recorded": "a + b",
    "add, recorded": "x + y",
    "mul, recorded": "x * y",
    "mul by a number, recorded": "x * 2.0",
    "x[0], recorded": "x[0]",
    "F.add(a, other=b), recorded": "F.add(x, other=y)",
    "matmul 8x8, recorded": "x @ y",
    "sum, recorded": "x.sum()",
    "relu, recorded": "x.relu()",
}
SETUP = "a, b, x, y, F = operands"
LOCATED = ("x + y", "layer(x)")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--loops", type=int, default=20_000)
    parser.add_argument("--second-thread", action="store_true")
    parser.add_argument("--location", metavar="LIBRARY")
    return parser.parse_args()


def _timer(statement, names):
    # The thread's own clock: what else runs on the machine does not count.
    return timeit.Timer(statement, SETUP, time.thread_time, names)


def make_timers(module):
    """One timer per statement, over 8x8 tensors."""
    operands = (
        module.ones(8, 8),
        module.ones(8, 8),
        module.ones(8, 8, requires_grad=True),
        module.ones(8, 8, requires_grad=True),
        module,
    )
    names = {"operands": operands}
    timers = {name: _timer(text, names) for name, text in STATEMENTS.items()}
    return timers, _timer("pass", names)


class Locations:
    """Ops that are told where they were called, and the same that have to find out."""

    def __init__(self, module, library):
        self._tell = ctypes.CDLL(library).ebb_tell_location
        ones = module.ones(8, 8, requires_grad=True)
        names = {"x": ones, "y": ones, "layer": module.nn.ReLU()}
        self._timers = {
            text: timeit.Timer(text, timer=time.thread_time, globals=names) for text in LOCATED
        }
        self.samples = {f"location of: {text}": [] for text in LOCATED}

    def _time(self, timer, loops, is_told):
        self._tell(is_told)
        return timer.timeit(loops) / loops * 1e9

    def measure(self, loops):
        """Add a sample of each."""
        for text, timer in self._timers.items():
            cost = median_difference(lambda looks, t=timer: self._time(t, loops, not looks))
            self.samples[f"location of: {text}"].append(cost)
        self._tell(0)


def main():
    options = arguments()
    module = importlib.import_module(options.module)
    module.set_num_threads(1)
    if options.second_thread:
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
    timers, empty = make_timers(module)
    locations = Locations(module, options.location) if options.location else None
    samples = {name: [] for name in timers}
    for _ in range(options.rounds):
        base = empty.timeit(options.loops)
        for name, timer in timers.items():
            samples[name].append((timer.timeit(options.loops) - base) / options.loops * 1e9)
        if locations:
            locations.measure(options.loops // 10)
    print(json.dumps(samples | (locations.samples if locations else {})))


main()
