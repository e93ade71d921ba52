# benchmarks/python/count.py -- runs one Python hot path N times, for counting its instructions.
"""Usage: python count.py PATH N.

As `ebb_count` does for C++: the difference of two runs under valgrind, divided by the difference of
N, is the cost of one call. Subtract the path `nothing`, the loop itself.
"""

import sys

import ebb

STATEMENTS = {
    "nothing": "pass",
    "add_not_recorded": "a + b",
    "add_recorded": "x + y",
    "mul_by_number": "x * 2.0",
    "first_row": "x[0]",
    "add_by_keyword": "F.add(x, other=y)",
}
LOOP = """
def run(repeat, a, b, x, y, F):
    for _ in repeat:
        {statement}
"""


def build_chain(count):
    """A chain of products with a number, as in overhead.py."""
    end = ebb.ones(1, requires_grad=True)
    for _ in range(count):
        end = end * 1.0001
    return end


def main():
    path, count = sys.argv[1], int(sys.argv[2])
    ebb.set_num_threads(1)
    if path == "chain":
        build_chain(count)
    elif path == "chain_run":
        build_chain(count).backward()
    else:
        names = {}
        exec(LOOP.format(statement=STATEMENTS[path]), names)
        plain = ebb.ones(8, 8), ebb.ones(8, 8)
        leaves = ebb.ones(8, 8, requires_grad=True), ebb.ones(8, 8, requires_grad=True)
        names["run"](range(count), *plain, *leaves, ebb)


main()
