# benchmarks/python/narrow.py -- question: what do float16 and bfloat16 kernels take for as many
# bytes as float32's?
"""Print one JSON object: kernel -> its time over 64 MB of a narrow dtype, for float32's.

Both have the same bytes, so the narrow one twice the elements. `--all` prints a table of more ops.
"""

import argparse
import json
import time
from collections.abc import Callable

import ebb
from ebb.nn import functional as F

ROW = 1024
Function = Callable[[ebb.Tensor, ebb.Tensor], object]
TARGETS: dict[str, Function] = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "relu": lambda x, y: x.relu(),
    "copy": lambda x, y: x.clone(),
}
MORE: dict[str, Function] = {
    "add in place": lambda x, y: x.add_(y),
    "mul by a number": lambda x, y: x * 1.5,
    "add of a row": lambda x, y: x.reshape(-1, ROW) + y[:ROW],
    "add of a transposed matrix": lambda x, y: x.reshape(-1, ROW).t() + y.reshape(ROW, -1),
    "mul of every second": lambda x, y: x[::2] * 1.5,
    "where": lambda x, y: ebb.where(x > 0, x, y),
    "greater": lambda x, y: x > y,
    "exp": lambda x, y: x.exp(),
    "gelu": lambda x, y: F.gelu(x),
    "sum": lambda x, y: x.sum(),
    "sum of columns": lambda x, y: x.reshape(-1, ROW).sum(0),
    "var of rows": lambda x, y: x.reshape(-1, ROW).var(1),
    "argmax": lambda x, y: x.argmax(),
    "cumsum of rows": lambda x, y: x.reshape(-1, ROW).cumsum(1),
    "softmax of rows": lambda x, y: x.reshape(-1, ROW).softmax(1),
    "softmax of columns": lambda x, y: x.reshape(ROW, -1).softmax(0),
    "layer_norm": lambda x, y: F.layer_norm(x.reshape(-1, ROW), (ROW,)),
    "batch_norm": lambda x, y: F.batch_norm(x.reshape(-1, 64, ROW), None, None, training=True),
}


def seconds(function: Function, operands: tuple[ebb.Tensor, ebb.Tensor]) -> float:
    start = time.thread_time()
    function(*operands)
    return time.thread_time() - start


def ratios(function: Function, megabytes: int, rounds: int) -> dict[str, float]:
    """Return a narrow dtype's best time over that of float32, for both."""
    best: dict[str, float] = {}
    operands = {}
    for dtype in (ebb.float32, ebb.bfloat16, ebb.float16):
        count = (megabytes << 20) // dtype.itemsize
        operands[str(dtype).removeprefix("ebb.")] = (
            ebb.randn(count).to(dtype),
            ebb.rand(count).to(dtype),
        )
    for _ in range(rounds):  # in turns: the machine changes its speed all the time
        for name, pair in operands.items():
            best[name] = min(best.get(name, 1e9), seconds(function, pair))
    return {name: best[name] / best["float32"] for name in ("bfloat16", "float16")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke test")
    parser.add_argument("--all", action="store_true", help="a table of more ops")
    settings = parser.parse_args()
    ebb.set_num_threads(1)
    ebb.manual_seed(0)
    megabytes, rounds = (1, 2) if settings.quick else (64, 15)
    with ebb.no_grad():
        if settings.all:
            for name, function in (TARGETS | MORE).items():
                found = ratios(function, megabytes, rounds)
                cells = (f"{narrow} {1 / ratio:5.2f}" for narrow, ratio in found.items())
                print(f"{name:28} bytes per second for float32's:", *cells, flush=True)
            return
        report = {
            f"{name} of {narrow}, time for float32's": ratio
            for name, function in TARGETS.items()
            for narrow, ratio in ratios(function, megabytes, rounds).items()
        }
    print(json.dumps({name: round(value, 3) for name, value in report.items()}))


if __name__ == "__main__":
    main()
