# benchmarks/python/forward_mode.py -- what forward mode costs, and that it costs nothing when off.
"""Usage: python forward_mode.py

Question: how much more does an op take when one operand is dual, and does an op on plain tensors
inside a level take longer than outside? Prints one JSON object: name -> samples in ns per call.
"""

import gc
import json
import time

import ebb
from ebb.autograd import functional
from ebb.autograd.forward_ad import dual_level, make_dual, unpack_dual

ebb.set_num_threads(1)


def samples(op, count=5_000, repeats=9):
    """ns per call, one sample per repeat."""
    found = []
    for _ in range(repeats):
        gc.collect()
        gc.disable()
        start = time.perf_counter_ns()
        for _ in range(count):
            op()
        found.append((time.perf_counter_ns() - start) / count)
        gc.enable()
    return found


def main():
    x, y = ebb.randn([8, 8]), ebb.randn([8, 8])
    large, step = ebb.randn([512, 512]), ebb.randn([512, 512])
    out = {"mul 8x8, plain": samples(lambda: x * y)}
    with dual_level():
        dual = make_dual(x, y)
        assert ebb.equal(unpack_dual(dual * y).tangent, y * y)
        out["mul 8x8, plain inside a level"] = samples(lambda: x * y)
        out["mul 8x8, one dual operand"] = samples(lambda: dual * y)
        out["mul 8x8, two dual operands"] = samples(lambda: dual * dual)
        out["exp 8x8, dual"] = samples(lambda: dual.exp())
    out["exp 8x8, plain"] = samples(lambda: x.exp())
    out["exp 512x512, plain"] = samples(lambda: large.exp(), count=100)
    with dual_level():
        wide = make_dual(large, step)
        out["exp 512x512, dual"] = samples(lambda: wide.exp(), count=100)
    out["level entered and left"] = samples(_enter_and_leave)
    net = ebb.nn.Sequential(ebb.nn.Linear(64, 64), ebb.nn.Tanh(), ebb.nn.Linear(64, 64))
    batch, direction = ebb.randn([32, 64]), ebb.randn([32, 64])
    out["mlp 32x64, run"] = samples(lambda: net(batch), count=200)
    out["mlp 32x64, jvp"] = samples(lambda: functional.jvp(net, batch, direction), count=200)
    print(json.dumps(out))


def _enter_and_leave():
    with dual_level():
        pass


if __name__ == "__main__":
    main()
