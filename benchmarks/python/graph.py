# benchmarks/python/graph.py -- what snapshots, explanations and calls of modules cost.
"""Usage: python graph.py [--quick]. Prints one JSON object: figure -> value.

A value is scaled to the size that its figure names. The graphs are a chain of products, where each
node saves both operands, and rows of linear layers in modules; residual blocks are drawn as SVG. A
module's call is compared with a call of its forward().
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
    """The shortest time, scaled to 1,000,000 nodes, and the snapshot."""
    best = 1e9
    for _ in range(REPEATS):
        start = time.perf_counter()
        graph = ebb.graph(root, names)
        best = min(best, time.perf_counter() - start)
    return best * 1_000_000 / len(graph), graph


def explain_seconds():
    """The shortest time to explain 1,000 parameters, scaled to a graph of 100,000 nodes."""
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
    return best * 1_000_000 / NODES


def picture_seconds():
    """The shortest time to draw 10,000 nodes of a graph, nothing folded; 19 to a block."""
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
    return best * 10_000 / len(graph)


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
call, plain = (min(column) for column in zip(*calls, strict=True))
figures = {
    "ebb.graph of 1,000,000 products, each with two saved tensors": chain_seconds,
    "ebb.graph of linear layers in modules, for 1,000,000 nodes": net_seconds,
    "ebb.explain of 1,000 parameters, 100 of them unused, in 100,000 nodes": explain_seconds(),
    "to_svg of a graph of 10,000 nodes in modules, nothing folded": picture_seconds(),
    "memory of a snapshot, per product": chain_graph._tables.memory_bytes() / len(chain_graph),
    "call of a module over that of its forward()": call - plain,
}
print(json.dumps(figures))
