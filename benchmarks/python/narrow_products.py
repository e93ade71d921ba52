# benchmarks/python/narrow_products.py -- how fast are products of float16 and bfloat16 matrices?
"""Usage: python narrow_products.py MODULE [--quick]     MODULE: torch, ebb, or any with its names.

Prints a line of GFLOP/s for each shape, plain and with the first operand stored by columns, as in
the gradient of a weight. Times are CPU time of one thread, the best of some rounds in which the
dtypes take turns: the machine changes its speed all the time.
"""

import importlib
import sys
import time

T = importlib.import_module(sys.argv[1])
ROUNDS = 2 if "--quick" in sys.argv else 12
LEAST_SECONDS = 0.002  # of a sample: small products are repeated
DTYPES = ("float32", "bfloat16", "float16")
SHAPES = [  # batch, m, k, n
    (1, 1024, 1024, 1024),
    (1, 1024, 256, 768),
    (1, 1024, 768, 256),
    (1, 32, 1024, 1024),
    (32, 128, 64, 128),
    (1, 64, 64, 64),
    (16, 32, 32, 32),
    (64, 1, 64, 512),
]


def operands(shape, dtype, is_turned):
    batch, m, k, n = shape
    stored = T.rand(batch, k, m).mT if is_turned else T.rand(batch, m, k)
    x, y = stored.to(getattr(T, dtype)), T.rand(batch, k, n).to(getattr(T, dtype))
    if is_turned and x.is_contiguous():
        x = x.mT.contiguous().mT
    return (x[0], y[0]) if batch == 1 else (x, y)


def seconds(x, y, count):
    start = time.thread_time()
    for _ in range(count):
        x @ y
    return (time.thread_time() - start) / count


def rates(shape, is_turned):
    """GFLOP/s of each dtype."""
    flops = 2 * shape[0] * shape[1] * shape[2] * shape[3]
    pairs = {dtype: operands(shape, dtype, is_turned) for dtype in DTYPES}
    counts = {
        dtype: 1 + int(LEAST_SECONDS / max(seconds(*pair, 2), 1e-7))
        for dtype, pair in pairs.items()
    }
    best = dict.fromkeys(DTYPES, float("inf"))
    for _ in range(ROUNDS):
        for dtype, pair in pairs.items():
            best[dtype] = min(best[dtype], seconds(*pair, counts[dtype]))
    return [flops / best[dtype] / 1e9 for dtype in DTYPES]


def main():
    T.set_num_threads(1)
    print(f"{sys.argv[1]} {T.__version__}:", *DTYPES, "and the same turned")
    with T.no_grad():
        for shape in SHAPES:
            found = rates(shape, False) + rates(shape, True)
            print(f"{shape!s:24}", *(f"{rate:8.1f}" for rate in found), flush=True)


main()
