# tests/python/graphs/test_queries.py -- finding nodes, walking, comparing, and the ways out.
import json
import sys
from pathlib import Path

import pytest

import ebb
from ebb.graphs.node import FIELDS, GraphNode
from ebb.graphs.snapshot import Snapshot
from tests.python.graphs import graph_models as models
from tests.python.leaves import leaf


@pytest.fixture(scope="module")
def transformer():
    net = models.Transformer(3)
    return ebb.graph(net(ebb.arange(0, 6).reshape(2, 3)).mean(), net)


@pytest.fixture
def diamond():
    """d = b * c with b = exp(a), c = sin(a): two ways from d to a."""
    a = leaf(1.0)
    b, c = ebb.exp(a), ebb.sin(a)
    return ebb.graph(b * c, {"a": a, "b": b})


def test_find_by_name(transformer):
    assert len(transformer.find("Softmax")) == len(transformer.find("SoftmaxBackward")) == 3
    assert len(transformer.find("softmax")) == len(transformer.find("SOFT*")) == 3
    assert len(transformer.find("*Norm")) == len(transformer.find("layer_norm")) == 6
    assert [node.leaf for node in transformer.find("blocks.1.*.q.weight")] == [
        "blocks.1.attn.q.weight"
    ]


def test_find_by_module_type_kind_and_line(transformer):
    assert {node.module for node in transformer.find(module="blocks.1.attn")} == {
        "blocks.1.attn", "blocks.1.attn.q", "blocks.1.attn.out",
    }  # fmt: skip
    assert len(transformer.find(type="LayerNorm")) == 6
    assert len(transformer.find(kind="leaf")) == len(transformer.leaves)
    line = transformer.find("Softmax")[0].location.line
    assert len(transformer.find("Softmax", line=line)) == 3
    assert len(transformer.find("Softmax", line=f"graph_models.py:{line}")) == 3
    assert transformer.find("Softmax", line="other.py") == []
    with pytest.raises(ValueError, match="kind needs op, leaf, custom or write, got 'ops'"):
        transformer.find(kind="ops")


def test_ancestors_and_descendants(diamond):
    top, end = diamond[0], diamond.leaves[0]
    assert len(diamond.descendants(top)) == 3 and diamond.descendants(end) == []
    assert diamond.ancestors(end) == diamond.nodes[:3] and diamond.ancestors(0) == []
    (exp,) = diamond.find("Exp")
    assert diamond.ancestors(exp) == [top] and exp.users == [top]


def test_paths(diamond):
    ways = diamond.paths(0, diamond.leaves[0])
    names = sorted([node.name for node in way[1:-1]] for way in ways)
    assert names == [["ExpBackward"], ["SinBackward"]]
    assert len(diamond.paths(0, 3, limit=1)) == 1
    assert diamond.paths(3, 0) == [] and diamond.paths(1, 1) == [[diamond[1]]]


def test_paths_are_bounded_where_there_are_many():
    x = leaf(1.0)
    y = x
    for _ in range(60):
        y = ebb.exp(y) + ebb.sin(y)  # 2^60 ways
    graph = ebb.graph(y)
    assert len(graph.paths(0, graph.leaves[0], limit=7)) == 7


def test_walks_do_not_recurse():
    y = leaf(1.0)
    for _ in range(20_000):
        y = y + 1
    graph = ebb.graph(y)
    assert len(graph.descendants(0)) == 20_000
    assert len(graph.paths(0, graph.leaves[0])[0]) == 20_001
    assert graph.tree().splitlines()[1].endswith("x 20000")


def test_comparing_tells_what_appeared_vanished_and_changed():
    def run(rows, is_new):
        x = ebb.ones(rows, 2, requires_grad=True)
        y = ebb.exp(x)
        return ebb.graph((ebb.sin(y) if is_new else ebb.cos(y)).sum(), {"x": x})

    difference = run(3, False).compare(run(4, True))
    assert [node.name for node in difference.appeared] == ["SinBackward"]
    assert [node.name for node in difference.vanished] == ["CosBackward"]
    fields = {before.leaf or before.name: what for before, _, what in difference.changed}
    assert fields["ExpBackward"] == {"shape": ((3, 2), (4, 2)), "saved_bytes": (24, 32)}
    assert fields["x"] == {"shape": ((3, 2), (4, 2))}
    assert "~ AccumulateGrad x: shape [3, 2] -> [4, 2]" in str(difference)


def test_equal_graphs_do_not_differ():
    net = models.Cell(4)
    one, other = (ebb.graph(models.unrolled(net, 3), net) for _ in range(2))
    assert not one.compare(other) and str(one.compare(other)) == "no difference"


def test_json_is_what_the_viewer_reads(transformer, tmp_path):
    data = json.loads(transformer.to_json())
    assert (data["format"], data["version"]) == ("ebb.graph", 1)
    path = transformer.write_html(tmp_path / "graph.html")
    assert ebb.viz.read_html(path) == data
    assert "<iframe" in transformer.show(height=100)._repr_html_()
    assert "<iframe" in transformer._repr_html_()


def test_the_manual_names_each_column_of_the_json(transformer):
    page = (Path(__file__).parents[3] / "docs" / "graph_json.md").read_text()
    tables = [one for one in json.loads(transformer.to_json()).values() if isinstance(one, dict)]
    names = {name for table in tables for name in table}
    assert len(names) > 20
    assert {name for name in names if f"`{name}`" not in page} == set()


class OneMoreColumn:
    """The tables of a snapshot, and a column of nodes that nobody knows."""

    def __init__(self, tables):
        self.tables = tables

    def __getattr__(self, name):
        return getattr(self.tables, name)

    def column_names(self):
        return [*self.tables.column_names(), "nodes.priority"]

    def column(self, name):
        count = len(self.tables.column("nodes.name"))
        return range(-1, count - 1) if name == "nodes.priority" else self.tables.column(name)


def test_a_further_column_of_nodes_is_an_attribute_of_each(diamond, monkeypatch):
    graph = Snapshot(OneMoreColumn(diamond._tables))
    assert [node.priority for node in graph] == [None, 0, 1, 2]
    monkeypatch.setitem(sys.modules, "networkx", FakeNetworkx)
    assert graph.to_networkx().nodes[2]["priority"] == 1
    with pytest.raises(AttributeError, match="needs an attribute of a node, got priority"):
        diamond[0].priority  # noqa: B018


def test_dot_needs_no_graphviz(transformer):
    dot = transformer.to_dot(show_attrs=True, show_saved=True, show_shapes=True)
    assert dot.startswith("digraph {") and "fillcolor=orange" in dot and "dim: -1" in dot
    with pytest.raises(ValueError, match="max_attr_chars of at least 0, got -1"):
        transformer.to_dot(max_attr_chars=-1)


class FakeNetworkx:
    """Notes what is added, as the package's class would."""

    class MultiDiGraph:
        def __init__(self):
            self.nodes, self.edges = {}, []

        def add_node(self, node, **what):
            self.nodes[node] = what

        def add_edge(self, source, target, **what):
            self.edges.append((source, target, what))


def test_networkx_gets_nodes_and_edges(diamond, monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", FakeNetworkx)
    made = diamond.to_networkx()
    assert len(made.nodes) == 4 and made.nodes[3]["leaf"] == "a"
    assert [(one, other) for one, other, _ in made.edges] == [(0, 2), (0, 1), (1, 3), (2, 3)]
    assert made.edges[0][2]["shape"] == (1,)
    assert made.nodes[0].keys() == {"base", *FIELDS}


def test_the_list_of_fields_is_complete():
    properties = {name for name, made in vars(GraphNode).items() if isinstance(made, property)}
    derived = {"shape", "dtype", "device", "is_leaf", "edges", "users", "base", "titles"}
    assert properties - derived == set(FIELDS)


def test_networkx_need_not_be_installed(diamond, monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match="needs the package networkx, got none"):
        diamond.to_networkx()


# Text.


def test_the_tree_folds_equal_siblings(transformer):
    lines = transformer.tree().splitlines()
    assert any("0..2 (Layer) x 3: 13 ops" in line for line in lines)
    assert sum("SoftmaxBackward" in line for line in lines) == 1
    assert lines[-1] == "└─ MeanBackward"


def test_the_tree_folds_steps_of_a_loop():
    cell = models.Cell(4)
    lines = ebb.graph(models.unrolled(cell, 50).sum(), cell).tree().splitlines()
    assert any(line.endswith("(AddBackward, TanhBackward) x 50") for line in lines)
    assert len(lines) == 8


def test_the_tree_stops_at_a_depth(transformer):
    assert [line.lstrip("│├└─ ").split(":")[0] for line in transformer.tree(2).splitlines()] == [
        "graph", "Transformer", "embedding (Embedding)", "blocks (ModuleList)", "head (Linear)",
        "MeanBackward",
    ]  # fmt: skip


def test_the_tree_keeps_siblings_that_differ():
    net = ebb.nn.Sequential(ebb.nn.Linear(2, 2), ebb.nn.Linear(2, 2), ebb.nn.Linear(2, 8))
    text = ebb.graph(net(ebb.ones(1, 2)), net).tree()
    assert "0..2" not in text and "2 (Linear)" in text


def test_the_table_has_a_row_per_node(diamond):
    lines = diamond.table().splitlines()
    assert lines[0].split() == ["#", "node", "output", "module", "line", "saved"]
    assert len(lines) == 2 + len(diamond)
    assert "... and 3 more nodes" in diamond.table(limit=1)


def test_the_table_sums_up(transformer):
    lines = transformer.table("op").splitlines()
    assert lines[2].startswith("LinearBackward") and "13" in lines[2]
    assert "more modules" in transformer.table("module", limit=2)
    with pytest.raises(ValueError, match="by needs op, module or line, got 'file'"):
        transformer.table("file")


def test_print_gives_a_summary(diamond):
    text = str(diamond)
    assert text.startswith("backward graph from MulBackward (float32 [1])")
    assert "3 ops, 1 leaves, 4 edges, 0 modules" in text
    assert repr(diamond) == "<graph of 4 nodes and 4 edges>"
    assert repr(diamond[3]) == "<node 3: AccumulateGrad a, float32 [1]>"


def test_nodes_of_a_graph_are_equal_by_number(diamond):
    assert diamond[0] == diamond[0] and diamond[0] != diamond[1]
    assert len({diamond[0], diamond[0], diamond[1]}) == 2
    assert diamond[0].outputs[0].name == "" and diamond.find("Exp")[0].outputs[0].name == "b"
