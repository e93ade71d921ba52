# benchmarks/python/breadth.py -- how fast ops of every kind are beside PyTorch's, by size.
#
# Question: is any op slower than PyTorch's, small, medium or large? Two processes, one per library,
# take turns at each case: a sample is the least of some calls, and a case's figure is the median of
# its rounds. On one thread the clock is the thread's own, so that what else runs does not count; on
# more it is the wall's, and the machine should have nothing else to do: not even the threads of the
# other library, some of which look for work for milliseconds after a call before they sleep.
"""Usage: python breadth.py --peer PYTHON [--rounds N] [--threads N] [--only WORD] [--json FILE].

Prints per case the microseconds of ebb and of PyTorch and how many times faster ebb is, then the
geometric mean of each kind and of all, and the cases below 0.8. PYTHON is one that imports torch.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

SIZES = {"small": 64, "medium": 16_384, "large": 2_097_152}
MATRICES = {"small": 8, "medium": 64, "large": 384}
POINTWISE = (
    *("add", "mul", "div", "pow", "maximum", "where", "exp", "log", "sin", "tanh", "sigmoid"),
    *("sqrt", "rsqrt", "erf", "abs", "clamp", "relu", "gelu", "silu", "floor", "eq", "to_double"),
)
REDUCTIONS = (
    "sum",
    "mean",
    "max",
    "argmax",
    "var",
    "prod",
    "logsumexp",
    "softmax",
    "cumsum",
    "norm",
)
INDEXING = ("gather", "scatter_add", "index_select", "index_add", "masked_select", "nonzero", "cat")
ORDERING = ("sort", "argsort", "topk", "unique", "median", "bincount", "searchsorted")
FOURIER = ("fft", "rfft", "irfft", "fft2", "fft of 1000", "rfft of 256 lines")
LINEAR = ("matmul", "solve", "cholesky", "svd", "eigh", "inv", "qr", "det", "solve of 16")
KINDS = {
    **dict.fromkeys(POINTWISE, "pointwise"),
    **dict.fromkeys(REDUCTIONS, "reductions"),
    **dict.fromkeys(INDEXING, "indexing"),
    **dict.fromkeys(ORDERING, "ordering"),
    **dict.fromkeys(FOURIER, "Fourier transforms"),
    **dict.fromkeys(LINEAR, "linear algebra"),
}


class Cases:
    """The calls of one library, over the same numbers in each."""

    def __init__(self, module: Any):
        self.t = module
        self.functional = importlib.import_module(f"{module.__name__}.nn.functional")
        self.random = np.random.default_rng(7)

    def _tensor(self, values: np.ndarray) -> Any:
        return self.t.from_numpy(np.ascontiguousarray(values))

    def _numbers(self, *shape: int) -> Any:
        return self._tensor(self.random.normal(size=shape).astype(np.float32))

    def _places(self, count: int, below: int) -> Any:
        return self._tensor(self.random.integers(0, below, count))

    def make(self, name: str, size: str) -> Callable[[], Any]:
        """Return the call of a case."""
        makers = {
            "pointwise": self._pointwise, "reductions": self._reduction,
            "indexing": self._indexing, "ordering": self._ordering,
            "Fourier transforms": self._fourier, "linear algebra": self._linear,
        }  # fmt: skip
        return makers[KINDS[name]](name, size)

    def _pointwise(self, name: str, size: str) -> Callable[[], Any]:
        t, count = self.t, SIZES[size]
        x, y = self._numbers(count), self._numbers(count).abs() + 0.1
        binary = {
            "add": t.add, "mul": t.mul, "div": t.div, "maximum": t.maximum, "eq": t.eq,
        }  # fmt: skip
        if name in binary:
            return lambda: binary[name](x, y)
        others = {
            "pow": lambda: t.pow(y, x),
            "where": lambda mask=x > 0: t.where(mask, x, y),
            "clamp": lambda: t.clamp(x, -0.5, 0.5),
            "gelu": lambda: self.functional.gelu(x),
            "silu": lambda: self.functional.silu(x),
            "to_double": lambda: x.to(t.float64),
        }
        if name in others:
            return others[name]
        function = getattr(t, name)
        operand = y if name in ("log", "sqrt", "rsqrt") else x
        return lambda: function(operand)

    def _reduction(self, name: str, size: str) -> Callable[[], Any]:
        t, rows = self.t, {"small": 4, "medium": 64, "large": 1024}[size]
        x = self._numbers(rows, SIZES[size] // rows)
        if name in ("sum", "mean", "norm", "prod"):
            return {
                "sum": lambda: t.sum(x), "mean": lambda: t.mean(x, 1),
                "norm": lambda: t.linalg.vector_norm(x), "prod": lambda: t.prod(x, 1),
            }[name]  # fmt: skip
        function = getattr(t, name)
        return lambda: function(x, 1)

    def _indexing(self, name: str, size: str) -> Callable[[], Any]:
        t, count = self.t, SIZES[size]
        x, y, places = self._numbers(count), self._numbers(count), self._places(count, count)
        rows, chosen = self._numbers(count // 16, 16), self._places(count // 16, count // 16)
        return {
            "gather": lambda: t.gather(x, 0, places),
            "scatter_add": lambda: t.scatter_add(x, 0, places, y),
            "index_select": lambda: t.index_select(rows, 0, chosen),
            "index_add": lambda: t.index_add(rows, 0, chosen, rows),
            "masked_select": lambda mask=x > 0: t.masked_select(x, mask),
            "nonzero": lambda mask=x > 0: t.nonzero(mask),
            "cat": lambda: t.cat([rows, rows], 1),
        }[name]

    def _ordering(self, name: str, size: str) -> Callable[[], Any]:
        t, count = self.t, SIZES[size] // (4 if size == "large" else 1)
        x, whole = self._numbers(count), self._places(count, max(count // 8, 8))
        edges = t.sort(self._numbers(1000))[0]
        return {
            "sort": lambda: t.sort(x),
            "argsort": lambda: t.argsort(x),
            "topk": lambda: t.topk(x, 10),
            "unique": lambda: t.unique(whole),
            "median": lambda: t.median(x),
            "bincount": lambda: t.bincount(whole),
            "searchsorted": lambda: t.searchsorted(edges, x),
        }[name]

    def _fourier(self, name: str, size: str) -> Callable[[], Any]:
        f = self.t.fft
        length = {"small": 64, "medium": 4096, "large": 262_144}[size]
        side = {"small": 8, "medium": 64, "large": 512}[size]
        x, square = self._numbers(length), self._numbers(side, side)
        complex_x, half = f.fft(x), f.rfft(x)
        lines = {"small": 4, "medium": 64, "large": 4096}[size]
        thousands, batch = self._numbers(lines, 1000), self._numbers(lines, 256)
        return {
            "fft": lambda: f.fft(complex_x),
            "rfft": lambda: f.rfft(x),
            "irfft": lambda: f.irfft(half),
            "fft2": lambda: f.fft2(square),
            "fft of 1000": lambda: f.fft(thousands),
            "rfft of 256 lines": lambda: f.rfft(batch),
        }[name]

    def _linear(self, name: str, size: str) -> Callable[[], Any]:
        t, n = self.t, MATRICES[size]
        a = self._numbers(n, n)
        positive = a @ a.mT + n * self._tensor(np.eye(n, dtype=np.float32))
        many = self._numbers({"small": 4, "medium": 64, "large": 2048}[size], 16, 16)
        many = many + 8 * self._tensor(np.eye(16, dtype=np.float32))
        b, column = self._numbers(n, 4), self._numbers(16, 1)
        return {
            "matmul": lambda: a @ positive,
            "solve": lambda: t.linalg.solve(positive, b),
            "cholesky": lambda: t.linalg.cholesky(positive),
            "svd": lambda: t.linalg.svd(a, full_matrices=False),
            "eigh": lambda: t.linalg.eigh(positive),
            "inv": lambda: t.linalg.inv(positive),
            "qr": lambda: t.linalg.qr(a),
            "det": lambda: t.linalg.det(positive),
            "solve of 16": lambda: t.linalg.solve(many, column),
        }[name]


def best_call(run: Callable[[], Any], clock: Callable[[], float], budget: float = 0.02) -> float:
    """Return the seconds of one call: the least of five groups of calls."""
    run()
    start = clock()
    run()
    once = max(clock() - start, 1e-7)
    calls = max(1, min(1000, int(budget / 5 / once)))
    least = math.inf
    for _ in range(5 if once < budget else 2):
        start = clock()
        for _ in range(calls):
            run()
        least = min(least, (clock() - start) / calls)
    return least


UNTIL_OTHERS_SLEEP = 0.03  # seconds: PyTorch's idle threads were seen to spin for 6 to 8 ms


def serve(library: str, threads: int) -> None:
    """Answer each line `name<tab>size` of the input with the seconds of one call."""
    module = importlib.import_module(library)
    module.set_num_threads(threads)
    clock = time.thread_time if threads == 1 else time.perf_counter
    made: dict[str, Callable[[], Any]] = {}
    with module.no_grad():
        for line in sys.stdin:
            if line not in made:
                made.clear()
                made[line] = Cases(module).make(*line.rstrip("\n").split("\t"))
            if threads > 1:
                time.sleep(UNTIL_OTHERS_SLEEP)
            print(best_call(made[line], clock), flush=True)


class Worker:
    """A process with one of the libraries."""

    def __init__(self, python: str, library: str, threads: int):
        command = [python, __file__, "--serve", library, "--threads", str(threads)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def seconds(self, name: str, size: str) -> float:
        """Return how long one call of a case takes."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{name}\t{size}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def measured(
    peer: str, rounds: int, threads: int, only: str
) -> Iterator[tuple[str, str, float, float]]:
    """Yield name, size, and the seconds of ebb and of PyTorch."""
    workers = [Worker(sys.executable, "ebb", threads), Worker(peer, "torch", threads)]
    for name in KINDS:
        for size in SIZES:
            if only in f"{name} {size}":
                pairs = [[one.seconds(name, size) for one in workers] for _ in range(rounds)]
                ebb, other = (statistics.median(column) for column in zip(*pairs, strict=True))
                yield name, size, ebb, other


def mean(ratios: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(statistics.fmean(map(math.log, ratios)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", default="build/peers/bin/python")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.threads)
        return
    found = []
    print(
        "| op | size | ebb, us | PyTorch, us | times faster |\n| --- | --- | ---: | ---: | ---: |"
    )
    for name, size, ebb, other in measured(
        options.peer, options.rounds, options.threads, options.only
    ):
        found.append((name, size, other / ebb))
        print(
            f"| {name} | {size} | {ebb * 1e6:.2f} | {other * 1e6:.2f} | {other / ebb:.2f} |",
            flush=True,
        )
    print()
    for kind in [*dict.fromkeys(KINDS.values()), "all"]:
        ratios = [ratio for name, _, ratio in found if kind in (KINDS[name], "all")]
        if ratios:
            print(f"{kind}: geometric mean {mean(ratios):.2f} of {len(ratios)}")
    slow = [f"{name} {size} {ratio:.2f}" for name, size, ratio in found if ratio < 0.8]
    print(f"below 0.8: {', '.join(slow) or 'none'}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump([list(one) for one in found], file)


if __name__ == "__main__":
    main()
