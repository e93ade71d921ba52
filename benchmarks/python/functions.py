# benchmarks/python/functions.py -- questions: what do a custom function, a no_grad block and an op
# in inference mode cost?
"""Print one JSON object: name -> ns per call, the best of several rounds, the loop subtracted."""

import argparse
import json
import time
from collections.abc import Callable

import ebb
from ebb.autograd import Function, grad


class Identity(Function):
    """As little as a custom function can do."""

    @staticmethod
    def forward(ctx, x):  # noqa: D102
        return x * 1

    @staticmethod
    def backward(ctx, g):  # noqa: D102
        return g


class Alias(Function):
    """Returns its input."""

    @staticmethod
    def forward(ctx, x):  # noqa: D102
        return x

    @staticmethod
    def backward(ctx, g):  # noqa: D102
        return g


class Square(Function):
    """Saves its input."""

    @staticmethod
    def forward(ctx, x):  # noqa: D102
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):  # noqa: D102
        (x,) = ctx.saved_tensors
        return g * x


def loop_nothing(count: int) -> None:
    for _ in range(count):
        pass


def loop_no_grad(count: int) -> None:
    no_grad = ebb.no_grad
    for _ in range(count):
        with no_grad():
            pass


def loop_inference_mode(count: int) -> None:
    inference_mode = ebb.inference_mode
    for _ in range(count):
        with inference_mode():
            pass


def best(loop: Callable[[int], None], count: int, rounds: int) -> float:
    """Return ns per call."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter_ns()
        loop(count)
        times.append(time.perf_counter_ns() - start)
    return min(times) / count


def chain(function: Callable[..., ebb.Tensor], x: ebb.Tensor, depth: int) -> ebb.Tensor:
    y = x
    for _ in range(depth):
        y = function(y)
    return y


def forward_and_backward(function: Callable[..., ebb.Tensor], count: int, rounds: int) -> float:
    """Return ns per call of both passes, in a chain so that the engine's start does not count."""
    x = ebb.ones(1).requires_grad_()
    (g,) = grad(chain(function, x, 3), x)
    assert g.item() > 0
    return best(lambda n: grad(chain(function, x, n), x), count, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--loops", type=int, default=2000)
    settings = parser.parse_args()
    loops, rounds = settings.loops, settings.rounds
    nothing = best(loop_nothing, loops, rounds)
    x = ebb.ones(1)
    a = ebb.ones(1).requires_grad_()

    def loop_op(count: int) -> None:
        for _ in range(count):
            x + x

    def loop_forward(count: int) -> None:
        apply = Alias.apply
        for _ in range(count):
            apply(a)

    results = {
        "Function that returns its input, forward and backward": forward_and_backward(
            Alias.apply, loops, rounds
        ),
        "Function of one op, forward and backward": forward_and_backward(
            Identity.apply, loops, rounds
        ),
        "Function that saves, forward and backward": forward_and_backward(
            Square.apply, loops, rounds
        ),
        "Function that returns its input, forward": best(loop_forward, loops, rounds) - nothing,
        "empty no_grad block": best(loop_no_grad, loops, rounds) - nothing,
        "empty inference_mode block": best(loop_inference_mode, loops, rounds) - nothing,
        "a + b, not recorded": best(loop_op, loops, rounds) - nothing,
    }
    with ebb.inference_mode():
        results["a + b, inference mode"] = best(loop_op, loops, rounds) - nothing
    print(json.dumps({name: round(value, 1) for name, value in results.items()}))


if __name__ == "__main__":
    main()
