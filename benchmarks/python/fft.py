# benchmarks/python/fft.py -- how long Fourier transforms take, beside NumPy's and PyTorch's.
#
# Question: what does a transform cost by length, batch and kind? Lengths: powers of two, 1000 (of
# small factors), 1009 (a prime). Prints a line per case, the
# best of several rounds, float32. One library per process.
"""Times rfft and fft of float32; usage: fft.py [--library ebb|numpy|torch] [--threads N]."""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable

import numpy as np

CASES = [
    *((1, n) for n in (64, 1024, 1000, 1009, 1 << 20)),
    *((256, n) for n in (64, 1024, 1000, 1009)),
    (4, 1 << 18),
]


def best_of(run: Callable[[], object]) -> float:
    """Return the seconds of one call: the least of 7 rounds of about 20 ms."""
    run()
    start = time.perf_counter()
    run()
    calls = max(1, int(0.02 / (time.perf_counter() - start)))
    rounds = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(calls):
            run()
        rounds.append((time.perf_counter() - start) / calls)
    return min(rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", default="ebb", choices=("ebb", "numpy", "torch"))
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    library = importlib.import_module(options.library)
    if options.library != "numpy":
        library.set_num_threads(options.threads)
    make = library.from_numpy if options.library == "torch" else library.asarray
    if options.library == "ebb":
        make = library.tensor
    rng = np.random.default_rng(0)
    print(f"{options.library}, {options.threads} threads: microseconds of fft and rfft")
    for batch, size in CASES:
        real = rng.standard_normal((batch, size)).astype(np.float32)
        whole = make(real + 0j * real)
        half = make(real)
        times = [best_of(lambda x=whole: library.fft.fft(x)), 0.0]
        times[1] = best_of(lambda x=half: library.fft.rfft(x))
        print(f"{batch:4} x {size:8}: {times[0] * 1e6:10.1f} {times[1] * 1e6:10.1f}")


if __name__ == "__main__":
    main()
