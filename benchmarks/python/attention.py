# benchmarks/python/attention.py -- time and memory of attention over many tokens.
"""Usage: python attention.py MODULE [TOKENS]     MODULE: torch, ebb, or any with torch's names.

Four heads of 64 features, one thread, forward and backward. Uses scaled_dot_product_attention where
MODULE has it, else the explicit form: softmax of a square matrix of scores. Prints one JSON object:
ns per step, and how far the process grew beyond its size with operands and a small step done.
"""

import importlib
import json
import math
import resource
import statistics
import sys
import time

T = importlib.import_module(sys.argv[1])
F = importlib.import_module(f"{sys.argv[1]}.nn.functional")
TOKENS = int(sys.argv[2]) if len(sys.argv) > 2 else 4096
HEADS, FEATURES, REPEATS = 4, 64, 5
T.set_num_threads(1)


def explicit_attention(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(FEATURES)
    return T.softmax(scores, dim=-1) @ value


attention = getattr(F, "scaled_dot_product_attention", explicit_attention)


def operands(tokens):
    return [T.randn(1, HEADS, tokens, FEATURES, requires_grad=True) for _ in range(3)]


def step(leaves):
    attention(*leaves).sum().backward()
    for leaf in leaves:
        leaf.grad = None


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


step(operands(64))
leaves = operands(TOKENS)
before = peak()
step(leaves)
grown = peak() - before
samples = []
for _ in range(REPEATS):
    start = time.perf_counter_ns()
    step(leaves)
    samples.append(time.perf_counter_ns() - start)
what = f"attention, {TOKENS} tokens, {HEADS} heads of {FEATURES}"
print(
    json.dumps(
        {
            "ns": {
                f"{what}: forward and backward": round(statistics.median(samples)),
                f"{what}: peak bytes beyond the operands": grown,
            }
        }
    )
)
