# tests/viz/graphs.py -- makes backward graphs of known size in the format of docs/graph_json.md.
"""Graphs of common models, without running them: counts follow from the code, line by line.

A ``Builder`` records ops in forward order, as a model would, and ``data`` lists them backwards.
"""

import math
from dataclasses import dataclass, field

FLOAT = "float32"


@dataclass(frozen=True)
class Value:
    """Output ``index`` of the op or leaf ``node``."""

    node: int
    shape: tuple
    index: int = 0


@dataclass
class Builder:
    """The nodes made so far, as dicts, in forward order."""

    nodes: list = field(default_factory=list)
    modules: list = field(default_factory=list)  # (path, type, parent)
    stack: list = field(default_factory=list)  # modules that are running
    line: int = 0

    def module(self, name, kind):
        """Enter a module, for use with ``with``."""
        return _Entered(self, name, kind)

    def path(self, name):
        prefix = self.modules[self.stack[-1]][0] if self.stack else ""
        return f"{prefix}.{name}" if prefix else name

    def leaf(self, name, shape, requires_grad=True):
        path = self.path(name) if name else ""
        self.nodes.append({"leaf": path, "shape": shape, "requires_grad": requires_grad})
        return Value(len(self.nodes) - 1, shape)

    def op(self, name, inputs, shape, saved=(), attributes=None, kind=0):
        """Record an op; ``saved`` are pairs of a name and the value saved."""
        self.line += 1
        self.nodes.append(
            {
                "name": f"{name}Backward", "inputs": list(inputs), "shape": shape, "saved": saved,
                "attributes": attributes, "module": self.stack[-1] if self.stack else -1,
                "line": self.line, "kind": kind,
            }
        )  # fmt: skip
        return Value(len(self.nodes) - 1, shape)

    def linear(self, name, x, outputs):
        """Three nodes: the op, its weight and its bias."""
        with self.module(name, "Linear"):
            weight = self.leaf("weight", (outputs, x.shape[-1]))
            bias = self.leaf("bias", (outputs,))
            shape = (*x.shape[:-1], outputs)
            return self.op("Linear", (x, weight, bias), shape, (("input", x), ("weight", weight)))

    def norm(self, name, x):
        """Three nodes."""
        with self.module(name, "LayerNorm"):
            weight, bias = self.leaf("weight", x.shape[-1:]), self.leaf("bias", x.shape[-1:])
            return self.op("LayerNorm", (x, weight, bias), x.shape, (("input", x),), {"eps": 1e-5})

    def data(self, *roots, times=False):
        return _Columns(self, roots, times).data()


@dataclass
class _Entered:
    builder: Builder
    name: str
    kind: str

    def __enter__(self):
        parent = self.builder.stack[-1] if self.builder.stack else -1
        entry = (self.builder.path(self.name), self.kind, parent)
        known = [k for k, module in enumerate(self.builder.modules[-3:]) if module[:2] == entry[:2]]
        self.builder.modules.append(entry)
        assert not known, "a module that runs twice in a row would be listed twice"
        self.builder.stack.append(len(self.builder.modules) - 1)

    def __exit__(self, *_):
        self.builder.stack.pop()


class _Columns:
    """The format's columns, filled from a Builder."""

    def __init__(self, builder, roots, times):
        self.builder, self.roots, self.times = builder, roots, times
        self.strings, self.shapes = {}, {}
        ops = [k for k, node in enumerate(builder.nodes) if "name" in node]
        leaves = [k for k, node in enumerate(builder.nodes) if "leaf" in node]
        self.order = [*reversed(ops), *leaves]
        self.number = {old: new for new, old in enumerate(self.order)}

    def text(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def shape(self, shape):
        return self.shapes.setdefault(tuple(shape), len(self.shapes))

    def data(self):
        nodes = [self.builder.nodes[old] for old in self.order]
        modules = self.builder.modules
        lines = [node.get("line", 0) for node in nodes]
        table = {
            "name": [self.text(node.get("name", "AccumulateGrad")) for node in nodes],
            "sequence": [node.get("line", 0) - 1 for node in nodes],
            "module": [node.get("module", -1) for node in nodes],
            "location": [k if "name" in node else -1 for k, node in enumerate(nodes)],
            "kind": [node.get("kind", 1) for node in nodes],
            "attributes": {
                str(k): node["attributes"] for k, node in enumerate(nodes) if node.get("attributes")
            },
            "hooks": {"0": {"tensor": 1, "pre": 0, "post": 2, "post_accumulate": 0}},
            "stacks": {"0": [0, 1]},
        }
        if self.times:
            table["time_ns"] = [1000 + 37 * k % 50_000 for k in range(len(nodes))]
            table["allocated"] = [64 * k for k in range(len(nodes))]
        ops = sum("name" in node for node in nodes)
        return {
            "format": "ebb.graph", "version": 1,
            "modules": {
                "path": [self.text(path) for path, _, _ in modules],
                "type": [self.text(kind) for _, kind, _ in modules],
                "parent": [parent for _, _, parent in modules],
            },
            "locations": {
                "file": [self.text("model.py")] * ops, "line": lines[:ops],
                "function": [self.text("forward")] * ops,
            },
            "nodes": table, "outputs": self._outputs(nodes), "edges": self._edges(nodes),
            "leaves": self._leaves(nodes), "saved": self._saved(nodes),
            "views": {"node": [], "base": []},
            "roots": {
                "node": [self.number[root.node] for root in self.roots],
                "output": [root.index for root in self.roots],
            },
            "strings": list(self.strings), "shapes": [list(shape) for shape in self.shapes],
        }  # fmt: skip

    def _outputs(self, nodes):
        count = len(nodes)
        return {
            "node": list(range(count)), "index": [0] * count,
            "shape": [self.shape(node["shape"]) for node in nodes],
            "dtype": [self.text(FLOAT)] * count, "device": [self.text("cpu")] * count,
        }  # fmt: skip

    def _edges(self, nodes):
        rows = [
            (k, place, self.number[value.node], value.index)
            for k, node in enumerate(nodes)
            for place, value in enumerate(node.get("inputs", ()))
        ]
        return dict(zip(("from", "input", "to", "output"), _columns(rows, 4), strict=True))

    def _leaves(self, nodes):
        rows = [
            (k, self.text(node["leaf"]), int(node["requires_grad"]), 4 * math.prod(node["shape"]))
            for k, node in enumerate(nodes)
            if "leaf" in node
        ]
        return dict(zip(("node", "name", "requires_grad", "bytes"), _columns(rows, 4), strict=True))

    def _saved(self, nodes):
        rows = [
            (k, self.text(name), self.shape(value.shape), self.text(FLOAT),
             4 * math.prod(value.shape), 0, self.number[value.node])
            for k, node in enumerate(nodes)
            for name, value in node.get("saved", ())
        ]  # fmt: skip
        names = ("node", "name", "shape", "dtype", "bytes", "version", "storage")
        return dict(zip(names, _columns(rows, 7), strict=True))


def _columns(rows, count):
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[]] * count


def mean(builder, x):
    return builder.op("Mean", (x,), (), (), {"dim": None, "keepdim": False})


def mlp(layers=3, times=False):
    """4 * layers + 1 nodes: each layer an op, two parameters and a ReLU; then the mean."""
    builder = Builder()
    x = builder.leaf("input", (32, 64))
    with builder.module("net", "Sequential"):
        for layer in range(layers):
            x = builder.linear(str(2 * layer), x, 64)
            if layer < layers - 1:
                with builder.module(str(2 * layer + 1), "ReLU"):
                    x = builder.op("Relu", (x,), x.shape, (("out", x),))
    return builder.data(mean(builder, x), times=times)


def residual_cnn(blocks=4):
    builder = Builder()
    x = builder.leaf("images", (16, 3, 32, 32), requires_grad=False)

    def conv(name, x, channels):
        with builder.module(name, "Conv2d"):
            weight = builder.leaf("weight", (channels, x.shape[1], 3, 3))
            shape = (x.shape[0], channels, *x.shape[2:])
            saved = (("input", x), ("weight", weight))
            return builder.op("Convolution", (x, weight), shape, saved, {"padding": [1, 1]})

    def norm(name, x):
        with builder.module(name, "BatchNorm2d"):
            weight, bias = builder.leaf("weight", x.shape[1:2]), builder.leaf("bias", x.shape[1:2])
            return builder.op("BatchNorm", (x, weight, bias), x.shape, (("input", x),))

    x = norm("stem_norm", conv("stem", x, 64))
    with builder.module("blocks", "Sequential"):
        for block in range(blocks):
            with builder.module(str(block), "ResidualBlock"):
                y = norm("norm1", conv("conv1", x, 64))
                y = builder.op("Relu", (y,), y.shape, (("out", y),))
                y = norm("norm2", conv("conv2", y, 64))
                x = builder.op("Add", (y, x), x.shape, (), {"alpha": 1})
                x = builder.op("Relu", (x,), x.shape, (("out", x),))
    x = builder.op("Mean", (x,), (16, 64), (), {"dim": [2, 3]})
    x = builder.linear("head", x, 10)
    return builder.data(builder.op("CrossEntropy", (x,), (), (("input", x),)))


def rnn(steps=50):
    """4 * steps + 5 nodes: four ops a step; four parameters, a first state and a loss share."""
    builder = Builder()
    shape = (8, 32)
    weights = [
        builder.leaf(name, (32, 32) if "weight" in name else (32,))
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    ]
    state = builder.leaf("", shape, requires_grad=False)
    for _ in range(steps):
        ours = builder.op("Linear", (weights[0], weights[2]), shape, (("weight", weights[0]),))
        other = builder.op("Linear", (state, weights[1], weights[3]), shape, (("input", state),))
        both = builder.op("Add", (ours, other), shape)
        state = builder.op("Tanh", (both,), shape, (("out", both),))
    return builder.data(mean(builder, state))


def gpt_layer(builder, name, x):
    """31 nodes, of which 12 are parameters."""
    tokens, width = x.shape[-2:]
    with builder.module(name, "Block"):
        y = builder.norm("norm1", x)
        with builder.module("attention", "SelfAttention"):
            y = builder.linear("qkv", y, 3 * width)
            parts = [
                builder.op("Transpose", (builder.op("Slice", (y,), x.shape, (), {"index": k}),),
                           x.shape, (), None, 3)
                for k in range(3)
            ]  # fmt: skip
            scores = builder.op("Matmul", parts[:2], (8, tokens, tokens),
                                (("input", parts[0]), ("other", parts[1])))  # fmt: skip
            scores = builder.op("Softmax", (scores,), scores.shape, (("out", scores),), {"dim": -1})
            y = builder.op("Matmul", (scores, parts[2]), x.shape, (("input", scores),))
            y = builder.linear("out", y, width)
        x = builder.op("Add", (x, y), x.shape)
        y = builder.norm("norm2", x)
        with builder.module("mlp", "MLP"):
            y = builder.linear("up", y, 4 * width)
            y = builder.op("Gelu", (y,), y.shape, (("input", y),), {"approximate": "none"})
            y = builder.linear("down", y, width)
        return builder.op("Add", (x, y), x.shape)


def gpt(layers=12, stages=1, times=False):
    """31 nodes a layer; embeddings, last norm, head and loss add 11."""
    builder = Builder()
    with builder.module("model", "GPT"):
        with builder.module("wte", "Embedding"):
            tokens = builder.op("Embedding", (builder.leaf("weight", (256, 128)),), (8, 64, 128))
        with builder.module("wpe", "Embedding"):
            places = builder.op("Embedding", (builder.leaf("weight", (64, 128)),), (64, 128))
        x = builder.op("Add", (tokens, places), (8, 64, 128))
        for stage in range(stages):
            with builder.module(f"stage{stage}" if stages > 1 else "layers", "ModuleList"):
                for layer in range(layers):
                    x = gpt_layer(builder, str(layer), x)
        x = builder.linear("head", builder.norm("norm", x), 256)
    loss = builder.op("CrossEntropy", (x,), (), (("input", x),), {"reduction": "mean"})
    return builder.data(loss, times=times)


def sized(count, times=False):
    """A GPT of about ``count`` nodes, in stages of 33 layers."""
    stages = max(2, round(count / (33 * 31)))
    return gpt(33, stages, times)


def cell(steps=6):
    """A module that runs at every step, with an op outside in between: its group is in a loop."""
    builder = Builder()
    with builder.module("cell", "Cell"):
        weight = builder.leaf("weight", (8, 8))
        own = builder.stack[-1]
    x = builder.leaf("x", (4, 8))
    for _ in range(steps):
        builder.stack.append(own)
        x = builder.op("Matmul", (x, weight), (4, 8), (("input", x),))
        builder.stack.pop()
        x = builder.op("Tanh", (x,), (4, 8), (("out", x),))
    return builder.data(mean(builder, x))


def is_odd(step):
    """The sequence of Thue and Morse, where nothing is repeated three times: no loop to fold."""
    return step.bit_count() % 2 == 1


def towers(width=45, height=45):
    """``width`` chains of ``height`` ops side by side, 1 + width * height + 1 nodes in all."""
    builder = Builder()
    x = builder.leaf("x", (8, 8))
    tops = []
    for _ in range(width):
        top = x
        for step in range(height):
            top = builder.op("Tanh" if is_odd(step) else "Exp", (top,), (8, 8), (("out", top),))
        tops.append(top)
    return builder.data(builder.op("Stack", tops, (width, 8, 8), (), {"dim": 0}))


def flat(count):
    """``count`` nodes without any module: a chain with a parameter for every second op."""
    builder = Builder()
    x = builder.leaf("x", (64,))
    skip = x
    for step in range((count - 2) * 2 // 3):
        if not is_odd(step):
            x = builder.op("Mul", (x, builder.leaf(f"w{step}", (64,))), (64,), (("input", x),))
        elif step % 10 == 9:
            x = skip = builder.op("Add", (x, skip), (64,))
        else:
            x = builder.op("Tanh", (x,), (64,), (("out", x),))
    return builder.data(mean(builder, x))
