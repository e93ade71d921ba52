# tests/viz/test_viewer_snapshot.py -- snapshots of graphs that were recorded, in the page.
import json

import pytest

import ebb
from ebb.profiler import profile
from tests.python import graph_models as models
from tests.viz.drive import text, titles


def test_a_recorded_transformer_folds_its_layers(view):
    net = models.Transformer(4)
    graph = ebb.graph(net(ebb.arange(0, 6).reshape(2, 3)).mean(), net)
    page = view(graph)
    assert page.evaluate("ebbViewer.model.data") == json.loads(graph.to_json())
    assert any("blocks.0..3" in title for title in titles(page))
    assert any("Transformer" in title for title in titles(page))


def test_a_graph_of_two_models_opens(view):
    one, other = models.Cell(4), models.fully_connected(2, 4)
    graph = ebb.graph(other(models.unrolled(one, 2)).sum(), {"one": one, "other": other})
    page = view(graph)
    assert page.evaluate("ebbViewer.model.count") == len(graph)


def test_a_profiled_network_is_coloured_by_time_and_tells_both_directions(view):
    net = models.Transformer(2)
    with profile(profile_memory=True) as prof:
        loss = net(ebb.arange(0, 6).reshape(2, 3)).mean()
        graph = ebb.graph(loss, net)
        loss.backward()
    graph = graph.with_times(prof)
    node = graph.find("Linear")[0]
    page = view(graph, f"#node={node.index}")
    page.wait("ebbViewer.selected !== null")
    shown = text(page, "details").splitlines()
    for title, ns in (("time", node.time_ns), ("forward", node.forward_ns),
                      ("backward", node.backward_ns)):  # fmt: skip
        number, unit = shown[shown.index(title) + 1].split()
        scale = {"ns": 1, "us": 1e3, "ms": 1e6}[unit]
        assert float(number) == pytest.approx(ns / scale, abs=0.0501)
    assert "allocated" in shown
    assert not page.evaluate("ebbViewer.page.mode.querySelector('[value=time]').disabled")
    for _ in range(4):
        page.key("c")
    assert page.evaluate("ebbViewer.mode") == "time"
    assert "a box" in text(page, "legend")
    longest = max(one.time_ns or 0 for one in graph)
    assert page.evaluate("ebbViewer.colouring.most") == longest
    page.evaluate(f"ebbViewer.show({{ kind: 'node', id: {len(graph) - 1} }})")
    assert "time" not in text(page, "details").splitlines()  # of a leaf
