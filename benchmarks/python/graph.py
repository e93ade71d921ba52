# benchmarks/python/graph.py -- what snapshots, explanations and calls of modules cost.
"""Usage: python graph.py [--quick]. Prints one JSON object: figure -> value.

The graphs are a chain of products, where each node saves both operands, and rows of linear layers
in modules; residual blocks are drawn as SVG. A module's call is compared with a call of its
forward().
"""

import json
import sys
import time

import ebb

QUICK = "--quick" in sys.argv
NODES = 20_000 if QUICK else 1_000_000
CALLS = 20_000 if QUICK else 200_000
DRAWN = 1_000 if QUICK else 10_000
REPEATS = 2 if QUICK else 5
ebb.set_num_threads(1)


def chain():
    """A product of so many factors, and the last one."""
    factor = ebb.ones(4, requires_grad=True)
    y = factor
    for _ in range(NODES):
        y = y * factor
    return y


def layers():
    """Linear layers, one after the other: three nodes each."""
    net = ebb.nn.Sequential(*(ebb.nn.Linear(2, 2) for _ in range(NODES // 30)))
    x = ebb.ones(1, 2, requires_grad=True)
    for _ in range(10):
        x = net(x)
    return x, net


def snapshot_seconds(root, names=None):
    """The shortest time, and the snapshot."""
    best = 1e9
    for _ in range(REPEATS):
        start = time.perf_counter()
        graph = ebb.graph(root, names)
        best = min(best, time.perf_counter() - start)
    return best, graph


def explain_seconds():
    """The shortest time to explain 1,000 parameters in a graph of 100,000 nodes."""
    parameters = {f"w{i}": ebb.ones(2, requires_grad=True) for i in range(1_000)}
    used = list(parameters.values())[:900]
    x = ebb.ones(2)
    for step in range(NODES // 20):
        x = (x * used[step % 900]).tanh()
    best = 1e9
    for _ in range(REPEATS):
        start = time.perf_counter()
        table = ebb.explain(x, parameters)
        best = min(best, time.perf_counter() - start)
    assert len(table.without_gradient) == 100 or QUICK
    return best


def picture_seconds():
    """The shortest time to draw a graph of so many nodes, nothing folded; 19 to a block."""
    blocks = [
        ebb.nn.Sequential(*(ebb.nn.Linear(2, 2) for _ in range(6))) for _ in range(DRAWN // 19)
    ]
    net = ebb.nn.Sequential(*blocks)
    x = ebb.ones(1, 2, requires_grad=True)
    for block in blocks:
        x = x + block(x)
    graph = ebb.graph(x, net)
    best = 1e9
    for _ in range(REPEATS):
        start = time.perf_counter()
        graph.to_svg(fold=False)
        best = min(best, time.perf_counter() - start)
    return best * DRAWN / len(graph)


class Same(ebb.nn.Module):
    """Does nothing."""

    def forward(self, x):
        """Return ``x``."""
        return x


def call_ns(function, x):
    start = time.perf_counter_ns()
    for _ in range(CALLS):
        function(x)
    return (time.perf_counter_ns() - start) / CALLS


chain_seconds, chain_graph = snapshot_seconds(chain())
net_seconds, net_graph = snapshot_seconds(*layers())
module, x = Same(), ebb.ones(2)
calls = [(call_ns(module, x), call_ns(module.forward, x)) for _ in range(REPEATS)]
print(json.dumps({
    "nodes": len(chain_graph),
    "seconds": chain_seconds,
    "net_seconds": net_seconds * NODES / len(net_graph),
    "bytes": chain_graph._tables.memory_bytes() / len(chain_graph),
    "explain_seconds": explain_seconds(),
    "drawn": DRAWN,
    "picture_seconds": picture_seconds(),
    "call_ns": min(call for call, _ in calls) - min(plain for _, plain in calls),
}))  # fmt: skip
