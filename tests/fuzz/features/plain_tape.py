# tests/fuzz/features/plain_tape.py -- a reverse mode of its own in NumPy's float64 and complex128.
#
# The reference of programs of features (programs.py). A Node is a value and edges, each to
# a parent with a function from the node's gradient to the parent's; these functions are made of
# the operations below, so derivatives have derivatives. Nothing is ever written: writes and views
# are nodes too (plain_tensors.py). Start reading at reached().
"""Plain reverse mode over NumPy values."""

from __future__ import annotations

import itertools

import numpy as np

_numbers = itertools.count()


class Node:
    """A value, and where its gradient goes."""

    __slots__ = (
        "after",
        "before",
        "captured",
        "edges",
        "freed",
        "hooks",
        "keeper",
        "leaf",
        "loose",
        "made",
        "needs",
        "results",
        "retained",
        "saved",
        "seq",
        "value",
    )

    def __init__(self, value, edges=(), leaf=None):
        self.value = np.asarray(value)
        self.edges = [(parent, back) for parent, back in edges if parent.needs]
        self.needs = leaf is not None or bool(self.edges)
        self.seq = next(_numbers)
        self.hooks, self.before, self.after = [], [], []
        self.keeper = None  # the tensor that retains the gradient here
        self.leaf = leaf
        self.saved = []  # (storage, places, time) that a run of this node reads
        self.retained = False  # whether saved was decided: a node of the program, not of a run
        self.freed = False
        self.captured, self.results = (), None
        self.loose = False  # what it saves is not known
        self.made = None  # when the recorded run that made it did


def constant(value):
    return Node(value)


def identity(parent, value=None):
    """The parent, with another value if one is given."""
    return Node(parent.value if value is None else value, [(parent, lambda g: g)])


def add(one, other):
    return Node(
        one.value + other.value,
        [
            (one, lambda g: sum_to(g, one.value.shape)),
            (other, lambda g: sum_to(g, other.value.shape)),
        ],
    )


def scale(one, number):
    return Node(one.value * number, [(one, lambda g: scale(g, np.conj(number)))])


def plus_number(one, number):
    return Node(one.value + number, [(one, lambda g: g)])


def subtract(one, other):
    return add(one, scale(other, -1.0))


def mul(one, other):
    return Node(
        one.value * other.value,
        [
            (one, lambda g: sum_to(mul(g, conj(other)), one.value.shape)),
            (other, lambda g: sum_to(mul(g, conj(one)), other.value.shape)),
        ],
    )


def conj(one):
    if not np.iscomplexobj(one.value):
        return one
    return Node(one.value.conj(), [(one, conj)])


def real(one):
    if not np.iscomplexobj(one.value):
        return one
    return Node(one.value.real.copy(), [(one, lambda g: g)])


def imag(one):
    return Node(one.value.imag.copy(), [(one, lambda g: scale(g, 1j))])


def sin(one):
    return Node(np.sin(one.value), [(one, lambda g: mul(g, conj(cos(one))))])


def cos(one):
    return Node(np.cos(one.value), [(one, lambda g: scale(mul(g, conj(sin(one))), -1.0))])


def tanh(one):
    def back(g):
        return mul(g, conj(plus_number(scale(mul(out, out), -1.0), 1.0)))

    out = Node(np.tanh(one.value), [(one, back)])
    return out


def sigmoid(one):
    return scale(plus_number(tanh(scale(one, 0.5)), 1.0), 0.5)


def sum_to(one, shape):
    """Undo a broadcast from `shape`."""
    if one.value.shape == tuple(shape):
        return one
    lead = one.value.ndim - len(shape)
    dims = tuple(range(lead)) + tuple(
        lead + dim
        for dim, size in enumerate(shape)
        if size == 1 and one.value.shape[lead + dim] != 1
    )
    value = one.value.sum(axis=dims).reshape(shape)
    return Node(value, [(one, lambda g: expand_to(g, one.value.shape))])


def expand_to(one, shape):
    if one.value.shape == tuple(shape):
        return one
    value = np.broadcast_to(one.value, shape)
    return Node(value, [(one, lambda g: sum_to(g, one.value.shape))])


def total(one):
    return Node(one.value.sum(), [(one, lambda g: expand_to(g, one.value.shape))])


def sum_last(one):
    """The sum over the last dim, which is kept."""
    value = one.value.sum(axis=-1, keepdims=True)
    return Node(value, [(one, lambda g: expand_to(g, one.value.shape))])


def take(one, places):
    """The elements at `places` of the flat value."""
    shape = one.value.shape
    return Node(one.value.reshape(-1)[places], [(one, lambda g: spread(g, places, shape))])


def spread(one, places, shape):
    """The transpose of take()."""
    flat = np.zeros(int(np.prod(shape)), one.value.dtype)
    np.add.at(flat, places, one.value)
    return Node(flat.reshape(shape), [(one, lambda g: take(g, places))])


def put(base, places, part):
    """`base` with `part` in the places; no place comes twice."""
    kind = np.result_type(base.value, part.value)
    flat = base.value.astype(kind).reshape(-1).copy()
    flat[places] = part.value
    rest = np.ones(flat.size)
    rest[places] = 0.0
    rest = Node(rest.reshape(base.value.shape))
    return Node(
        flat.reshape(base.value.shape),
        [(base, lambda g: mul(g, rest)), (part, lambda g: take(g, places))],
    )


def matmul(one, other):
    return Node(
        one.value @ other.value,
        [
            (one, lambda g: matmul(g, conj(transpose(other)))),
            (other, lambda g: matmul(conj(transpose(one)), g)),
        ],
    )


def transpose(one):
    return Node(one.value.T, [(one, transpose)])


def stack(nodes):
    def back(number):
        places = np.arange(value.size).reshape(value.shape)[number]
        return lambda g: take(g, places)

    value = np.stack([node.value for node in nodes])
    return Node(value, [(node, back(number)) for number, node in enumerate(nodes)])


def fitted(gradient, parent):
    """A gradient as its receiver takes it: real for real."""
    if np.iscomplexobj(gradient.value) and not np.iscomplexobj(parent.value):
        return real(gradient)
    if np.iscomplexobj(parent.value) and not np.iscomplexobj(gradient.value):
        return Node(gradient.value.astype(complex), [(gradient, real)])
    return gradient


def reached(roots, targets=None):
    """The nodes below `roots` on a path to a target, or to any leaf, the last made first."""
    seen, stack_of = {}, list(roots)
    while stack_of:
        node = stack_of.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            stack_of += [parent for parent, _ in node.edges]
    nodes = sorted(seen.values(), key=lambda node: -node.seq)
    if targets is None:
        return nodes
    useful = {id(node) for node in targets}
    for node in reversed(nodes):
        if any(id(parent) in useful for parent, _ in node.edges):
            useful.add(id(node))
    return [node for node in nodes if id(node) in useful]


class ReadError(Exception):
    """A run needs what was written or freed since."""


class Sweep:
    """One run: `visit` gets each node with its gradient and returns what goes on."""

    def __init__(self, roots, targets=None):
        self.nodes = reached(roots, targets)
        self.allowed = {id(node) for node in self.nodes}
        self.sums = {}

    def feed(self, node, gradient):
        if id(node) in self.allowed:
            gradient = fitted(gradient, node)
            before = self.sums.get(id(node))
            self.sums[id(node)] = gradient if before is None else add(before, gradient)

    def run(self, visit, passes):
        """`passes(node, gradient)`: whether the node's own function runs."""
        for node in self.nodes:
            gradient = self.sums.get(id(node))
            if gradient is None:
                continue
            gradient = visit(node, gradient)
            if not passes(node, gradient):
                continue
            for hook in list(node.before):
                gradient = hook(gradient) or gradient
            for parent, back in node.edges:
                if id(parent) in self.allowed:
                    share = back(gradient)
                    for hook in list(node.after):
                        share = hook(share, gradient) or share
                    self.feed(parent, share)
