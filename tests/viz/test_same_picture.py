# tests/viz/test_same_picture.py -- the page and to_svg() put one graph's boxes in the same places.
from array import array

import pytest

import ebb
from ebb import nn
from ebb.graphs.layout import Layout
from ebb.graphs.picture import Options, Picture
from ebb.graphs.repeats import Repeats
from tests.python.graphs.graph_models import recorded
from tests.viz import graphs

GRAPHS = {
    "gpt": graphs.gpt,
    "cell": graphs.cell,
    "rnn": graphs.rnn,
    "towers": lambda: graphs.towers(12, 12),
}
COLUMNS = ["x", "y", "w", "h", "linkFrom", "linkTo", "linkTail", "linkList"]
# What the page hands to its layout, and what that found.
LAID_OUT = f"""(() => {{
  const {{ scene, labels }} = ebbViewer;
  const items = Array.from(scene.kind.keys());
  const sizes = items.map((item) => item === 0 ? [0, 0] : labels.size(scene, item));
  return {{
    given: [scene.parent, scene.kind.map((kind) => kind === 2 ? 1 : 0),
      items.map((item) => scene.first(item)), sizes.map((size) => size[0]),
      sizes.map((size) => size[1]), scene.edgeFrom, scene.edgeTo],
    found: Object.fromEntries({COLUMNS}.map((name) => [name, Array.from(scene[name])])),
    points: scene.points.flatMap((points) => Array.from(points)),
  }};
}})()"""
MIDDLES = """(() => {
  const { scene, model } = ebbViewer;
  return Array.from({ length: model.count }, (_, node) => {
    const item = scene.itemOfNode[node];
    return [scene.x[item] + scene.w[item] / 2, scene.y[item]];
  });
})()"""


# The module of each node; steps of loops lie inside one.
HOMES = """(() => {
  const { groups, model } = ebbViewer;
  const modules = model.data.modules.path.length;
  return Array.from(groups.home, (home) => {
    let group = home;
    while (group > modules) group = groups.parent[group];
    return group - 1;
  });
})()"""


class Mixer(nn.Module):
    """Has leaves of its own, one of them used outside as well."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def forward(self, x):
        self.made = ebb.ones(2, requires_grad=True)
        return self.inner(x) * self.made


def odd_leaves(names):
    """Leaves whose names say of no module, or of a strange one, that they are its."""
    net = nn.Sequential(Mixer(), nn.Sequential(Mixer(), nn.Tanh()))
    x = ebb.ones(2, requires_grad=True)
    y = net(x) + net[0].made
    made = [x, net[0].made, net[1][0].made, *net.parameters()]
    return ebb.graph(y, dict(zip(names, made, strict=False)))


LEAVES = {
    "unnamed": lambda: odd_leaves([]),
    "of other modules": lambda: odd_leaves(["1.0.x", "1.made", "0.inner.made"]),
    "of none": lambda: odd_leaves(["x", "2.made", ".made", "nowhere.weight"]),
    "with dots": lambda: odd_leaves(["0.", "1..", ".", "..x"]),
}


def flat_graph():
    """A graph without modules or loops, whose lines cross."""
    x, y = ebb.ones(3, requires_grad=True), ebb.ones(3, requires_grad=True)
    values = [x, y]
    for step in range(23):
        one, other = values[-1 - step % 2], values[step * 5 // 7 % len(values)]
        values.append(one * other if step % 3 else (one + other).exp())
    return ebb.graph(values[-1] * values[-2] + values[-3], {"x": x, "y": y})


FLAT = {name: make for name, make in recorded().items() if not make().modules}
FLAT["crossing lines"] = flat_graph


def rows(middles):
    """The nodes of each row from left to right, from the uppermost row to the lowest."""
    found = {}
    for node, (x, y) in enumerate(middles):
        found.setdefault(round(y, 3), []).append((x, node))
    return [[node for _, node in sorted(found[y])] for y in sorted(found)]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_python_and_the_page_place_the_same_boxes_alike(view, name, direction):
    page = view(GRAPHS[name](), direction=direction)
    page.evaluate("ebbViewer.unfoldAll()")
    page.settle()
    laid_out = page.evaluate(LAID_OUT)
    kinds = ["i", "B", "d", "d", "d", "i", "i"]
    given = [array(kind, column) for kind, column in zip(kinds, laid_out["given"], strict=True)]
    found = ebb._C._lay_out(*given)
    assert {key: found[key].tolist() for key in COLUMNS} == laid_out["found"]
    starts, ends = found["pointStart"], found["pointEnd"]
    points = [
        number
        for link in range(len(starts))
        for number in found["points"][2 * starts[link] : 2 * ends[link]]
    ]
    assert points == laid_out["points"]


@pytest.mark.parametrize("name", [*recorded(), *LEAVES])
def test_a_leaf_lies_in_the_same_module_of_both(view, name):
    graph = {**recorded(), **LEAVES}[name]()
    assert view(graph).evaluate(HOMES) == Repeats(graph, folds=False).home


@pytest.mark.parametrize("name", FLAT)
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_the_two_pictures_of_a_graph_have_the_same_rows(view, name, direction):
    graph = FLAT[name]()
    picture = Picture(graph, Options(False, False, direction, False, None, 20_000, 50))
    layout = Layout(picture)
    boxes = [picture.box_of[node] for node in range(len(graph))]
    page = view(graph, direction=direction)
    page.evaluate("ebbViewer.unfoldAll()")
    page.settle()
    drawn = [(layout.x[box] + layout.w[box] / 2, layout.y[box]) for box in boxes]
    assert rows(drawn) == rows(page.evaluate(MIDDLES))
