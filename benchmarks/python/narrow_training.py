# benchmarks/python/narrow_training.py -- question: what do parts of training take in float16 and
# bfloat16, for float32's time?
"""Print, for float16 and bfloat16, the time of parts of training over that of float32.

An embedding's gradient, an LSTM's step, cross_entropy and AdamW: the same numbers in each dtype,
forward and backward, on one thread, in turns; the best of some rounds.
"""

import argparse
import time
from collections.abc import Callable

import ebb
from ebb import nn
from ebb.nn import functional as F

DTYPES = (ebb.float32, ebb.bfloat16, ebb.float16)
Step = Callable[[], object]


def embedding(dtype: ebb.dtype, small: int) -> Step:
    weight = ebb.randn(50000 // small, 512, dtype=dtype, requires_grad=True)
    index = ebb.randint(0, 50000 // small, (4096,))
    grad = ebb.randn(4096, 512).to(dtype)
    return lambda: ebb.autograd.grad([F.embedding(index, weight)], [weight], [grad])


def lstm(dtype: ebb.dtype, small: int) -> Step:
    layer = nn.LSTM(64, 256 // small).to(dtype)
    x = ebb.randn(64, 32, 64).to(dtype)
    parameters = list(layer.parameters())
    return lambda: ebb.autograd.grad([layer(x)[0].sum()], parameters)


def cross_entropy(dtype: ebb.dtype, small: int) -> Step:
    scores = ebb.randn(1000, 1000 // small).to(dtype).requires_grad_()
    targets = ebb.randint(0, 1000 // small, (1000,))
    return lambda: ebb.autograd.grad([F.cross_entropy(scores, targets)], [scores])


def adamw(dtype: ebb.dtype, small: int, masters: bool = False) -> Step:
    weight = ebb.randn(10**7 // small).to(dtype).requires_grad_()
    weight.grad = ebb.randn(10**7 // small).to(dtype)
    is_half = masters and dtype != ebb.float32
    return ebb.optim.AdamW([weight], master_weights=is_half).step


PARTS: dict[str, Callable[[ebb.dtype, int], Step]] = {
    "embedding [50000, 512], 4096 rows": embedding,
    "LSTM 64 to 256, 64 times, batch 32": lstm,
    "cross_entropy [1000, 1000]": cross_entropy,
    "AdamW of 1e7": adamw,
    "AdamW of 1e7, float32 masters": lambda dtype, small: adamw(dtype, small, masters=True),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke test")
    settings = parser.parse_args()
    ebb.set_num_threads(1)
    ebb.manual_seed(0)
    small, rounds = (50, 2) if settings.quick else (1, 11)
    for name, part in PARTS.items():
        steps = [part(dtype, small) for dtype in DTYPES]
        best = [1e9] * len(steps)
        for _ in range(rounds):  # in turns: the machine changes its speed all the time
            for i, step in enumerate(steps):
                start = time.thread_time()
                step()
                best[i] = min(best[i], time.thread_time() - start)
        cells = [f"{dtype} {took / best[0]:5.2f}" for dtype, took in zip(DTYPES, best, strict=True)]
        print(f"{name:36} {best[0] * 1e3:7.2f} ms, times float32's:", *cells[1:], flush=True)


if __name__ == "__main__":
    main()
