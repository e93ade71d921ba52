# tests/viz/test_viewer_snapshot.py -- snapshots of graphs that were recorded, in the page.
#
# Each model is recorded under record_stacks(), opened once, and gone through as a user would.
import json
import xml.etree.ElementTree as ElementTree

import pytest

import ebb
from ebb.profiler import profile
from tests.python.graphs import graph_models as models
from tests.viz.drive import after_layout, selected, text, titles
from tests.viz.test_viewer_layout import CHECK

NAMES = list(models.recorded())
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def graphs():
    """Each graph by its name."""
    with ebb.autograd.record_stacks():
        return {name: record() for name, record in models.recorded().items()}


def words(shown):
    """What the panel says, without its line breaks."""
    return " ".join(shown.split())


def expected(page, node):
    """All texts that the panel owes to a node."""
    yield from (node.leaf or node.name, node.name, f"#{node.index}")
    yield str(node.sequence) if node.sequence >= 0 else "none"
    if node.module is not None:
        yield from (node.module, node.module_type)
    for place in node.stack:
        yield f"{place.file}:{place.line} in {place.function}"
    for name, value in node.attributes.items():
        yield f"{name} {page.evaluate(f'JSON.stringify({json.dumps(value)})')}"
    for output in node.outputs:
        yield from (f"{output.dtype} {list(output.shape)}", output.device, output.name)
    for saved in node.saved:
        yield from (saved.name, f"{saved.dtype} {list(saved.shape)} {saved.device}")
    for edge in node.edges:
        yield f"{edge.target.leaf or edge.target.name} #{edge.target.index}"
        yield f"{edge.input} \u2192 {edge.output} {edge.dtype} {list(edge.shape)} {edge.device}"
    for user in node.users:
        yield f"{user.name} #{user.index}"
    if node.base is not None:
        yield f"view of {node.base.name} #{node.base.index}"


def one_of_each(graph):
    """The first node of each op, and of the leaves."""
    found = {}
    for node in graph:
        found.setdefault(node.name, node)
    return found.values()


@pytest.mark.parametrize("name", NAMES)
def test_the_page_holds_all_of_a_recorded_graph(view, graphs, name):
    graph = graphs[name]
    page = view(graph)
    assert page.evaluate("ebbViewer.model.data") == json.loads(graph.to_json())
    for node in one_of_each(graph):
        page.evaluate(f"ebbViewer.show({{ kind: 'node', id: {node.index} }})")
        shown = words(text(page, "details"))
        missing = [part for part in expected(page, node) if part not in shown]
        assert not missing


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_graph_can_be_searched_folded_and_kept(view, graphs, name):
    graph = graphs[name]
    page = view(graph, dark=True)
    after_layout(page, lambda: page.key("]"))
    assert page.evaluate(CHECK) == {"overlaps": 0, "outside": 0, "loose": 0, "bad": 0}
    assert page.evaluate("ebbViewer.scene.kind.filter((kind) => kind === 0).length") == len(graph)
    hits = [node.index for node in graph if "AccumulateGrad" in node.name]
    page.key("/")
    page.type("accumulategrad")
    for key, at in (("Enter", 0), ("Enter", 1 % len(hits))):
        page.key(key)
        page.wait(f"ebbViewer.selected?.id === {hits[at]}")
    page.key("Enter", "Shift")
    page.wait(f"ebbViewer.selected?.id === {hits[0]}")
    page.evaluate("ebbViewer.fit()")
    page.settle()
    svg = ElementTree.fromstring(page.evaluate("ebbViewer.svg()"))
    assert svg.find(f".//{SVG}rect").get("fill") == "#0e1217"
    after_layout(page, lambda: page.evaluate("ebbViewer.page.canvas.focus(); ebbViewer.foldAll()"))
    page.key("Escape")
    page.key("ArrowDown")
    assert selected(page) is not None


def test_a_recorded_transformer_folds_its_layers(view, graphs):
    page = view(graphs["gpt of 12 layers"])
    assert any("blocks.0..11" in title for title in titles(page))
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


def test_what_was_freed_packed_or_wants_no_gradient_is_said(view):
    x, w = (ebb.ones(2, requires_grad=True) for _ in range(2))
    y = x * w
    w.requires_grad_(False)
    page = view(ebb.graph(y))
    page.evaluate("ebbViewer.show({ kind: 'node', id: 0 })")
    assert "cpu, not wanted" in text(page, "details")
    loss = x.exp().sum()
    loss.backward()
    page = view(ebb.graph(loss))
    page.evaluate("ebbViewer.show({ kind: 'node', id: 1 })")
    assert "yes, what it had saved" in text(page, "details")
    with ebb.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.numpy(), ebb.tensor):
        packed = ebb.ones(2, requires_grad=True).exp()
    page = view(ebb.graph(packed))
    page.evaluate("ebbViewer.show({ kind: 'node', id: 0 })")
    assert "packed by hooks" in text(page, "details")
