# tests/python/graphs/test_models.py -- node and edge counts of known models, in closed form.
"""Counts follow from the code of each model, op by op."""

from collections import Counter

import pytest

import ebb
from tests.python.graphs import graph_models as models


def counts(graph):
    """Ops, leaves and edges."""
    leaves = len(graph.leaves)
    return len(graph) - leaves, leaves, graph.edge_count


@pytest.mark.parametrize("layers", [1, 2, 7])
def test_fully_connected_net(layers):
    # Each layer: a linear op with two parameters; relu between layers; the mean.
    net = models.fully_connected(layers)
    graph = ebb.graph(net(ebb.ones(4, 8)).mean(), net)
    # Linear nodes have 3 edges where the input has a history, else 2; relu and mean 1 each.
    assert counts(graph) == (2 * layers, 2 * layers, 2 * layers + (layers - 1) * 2 + 1)


def test_rnn_over_50_steps():
    steps = 50
    cell = models.Cell(4)
    graph = ebb.graph(models.unrolled(cell, steps).sum(), cell)
    # A step: two linear ops, add, tanh; the sum. The first state has no history.
    edges = 2 * steps + (3 * steps - 1) + 2 * steps + steps + 1
    assert counts(graph) == (4 * steps + 1, 4, edges)
    assert Counter(node.leaf for node in graph.leaves).keys() == {
        "ours.weight", "ours.bias", "theirs.weight", "theirs.bias",
    }  # fmt: skip


def test_residual_cnn():
    blocks = 3
    net = models.ResidualNet(blocks)
    graph = ebb.graph(net(ebb.ones(2, 3, 8, 8)).sum(), net)
    # stem; a block: two convolutions, relu, add, relu; mean, head and sum.
    ops, leaves = 1 + 5 * blocks + 3, 2 + 4 * blocks + 2
    # A convolution and a linear op have 3 edges (the stem 2), an add 2, the others 1.
    edges = 2 + blocks * (3 + 3 + 1 + 2 + 1) + 1 + 3 + 1
    assert counts(graph) == (ops, leaves, edges)
    assert len(graph.find(name="Add")) == blocks


def test_gpt_of_12_layers():
    layers = 12
    net = models.Transformer(layers)
    graph = ebb.graph(net(ebb.arange(0, 10).reshape(2, 5)).mean(), net)
    # A layer: two norms, four linear ops, transpose, two products, softmax, gelu, two adds = 13.
    # Parameters: 2 per norm and linear op. Before and after: embedding, head and mean.
    assert counts(graph)[:2] == (13 * layers + 3, 12 * layers + 3)
    # Edges of a layer: 3 per norm and linear op, 1 + 2 + 2 + 1 + 1 + 2 + 2 for the others.
    assert counts(graph)[2] == layers * (6 * 3 + 11) + 1 + 3 + 1
    assert len(graph.find(module="blocks.*", name="Softmax")) == layers


def test_double_backward():
    x = ebb.tensor([1.0, 2.0], requires_grad=True)
    (slope,) = ebb.autograd.grad((x * x * x).sum(), x, create_graph=True)
    graph = ebb.graph(slope.sum(), {"x": x})
    names = Counter(node.name for node in graph)
    assert names["AccumulateGrad"] == 1
    # x * x is shared with the forward graph; every path ends in x.
    assert all(graph.paths(0, leaf) for leaf in graph.leaves)
    assert len(graph.ancestors(graph.leaves[0])) == len(graph) - 1
    assert sum(1 for edge in graph.edges if edge.target.is_leaf) >= 3


def test_custom_functions():
    x = ebb.tensor([1.0, 2.0], requires_grad=True)
    graph = ebb.graph(models.Cube.apply(models.Cube.apply(x)).sum())
    assert counts(graph) == (3, 1, 3)
    found = graph.find(kind="custom")
    assert [node.name for node in found] == ["CubeBackward", "CubeBackward"]
    assert found[0].saved[0].name == "saved_tensors[0]"


def test_views_and_in_place_writes():
    x = ebb.ones(4, 4, requires_grad=True)
    y = x * 2
    row = y[0]
    row.mul_(3)
    graph = ebb.graph(y.sum())
    # The sum sees what the write made of y: y as it was, and the row that was written.
    names = [node.name for node in graph]
    assert names[:3] == ["SumBackward", "WriteToViewBackward", "MulScalarBackward"]
    assert counts(graph) == (5, 1, 6)
    assert [node.name for node in graph.find(kind="write")] == ["WriteToViewBackward"]


def test_views_lead_to_their_base():
    x = ebb.ones(4, 4, requires_grad=True)
    made = ebb.exp(x)
    graph = ebb.graph(ebb.exp(made.t()[1:]).sum())
    views = [node for node in graph if node.base is not None]
    assert len(views) == 2
    assert {node.base.name for node in views} == {"ExpBackward"}
