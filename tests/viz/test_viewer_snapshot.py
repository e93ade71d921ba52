# tests/viz/test_viewer_snapshot.py -- snapshots of graphs that were recorded, in the page.
import json

import ebb
from tests.python import graph_models as models
from tests.viz.drive import titles


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
