# tests/python/graphs/test_svg.py -- pictures drawn without Graphviz: what is on them, and
# where.
import itertools
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import ebb
from ebb.graphs.layout import Layout
from ebb.graphs.picture import Options, Picture
from tests.python.graphs import graph_models as models
from tests.python.graphs.graph_models import recorded

ROOT = Path(__file__).resolve().parents[3]
SVG = "{http://www.w3.org/2000/svg}"
NAMES = list(recorded())


def picture_of(graph, **changed):
    """The boxes, edges and places of a picture."""
    options = {"show_attrs": False, "show_saved": False, "direction": "forward", "fold": True,
               "depth": None, "max_nodes": 20_000, "max_attr_chars": 50}  # fmt: skip
    picture = Picture(graph, Options(**{**options, **changed}))
    return picture, Layout(picture)


def titles(text):
    """The texts on the boxes and frames."""
    root = ElementTree.fromstring(text)
    return [found.text for found in root.iter(f"{SVG}text")]


def kinds(text):
    """How many boxes of each kind there are."""
    root = ElementTree.fromstring(text)
    names = [group.get("class") for group in root.iter(f"{SVG}g")]
    return {name: names.count(name) for name in names}


def overlaps(layout, one, other):
    return (
        layout.x[one] < layout.x[other] + layout.w[other] - 0.5
        and layout.x[other] < layout.x[one] + layout.w[one] - 0.5
        and layout.y[one] < layout.y[other] + layout.h[other] - 0.5
        and layout.y[other] < layout.y[one] + layout.h[one] - 0.5
    )


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("fold", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_boxes_lie_in_their_frames_and_none_overlaps(name, fold, direction):
    picture, layout = picture_of(recorded()[name](), fold=fold, direction=direction,
                                 show_saved=True)  # fmt: skip
    for number, box in enumerate(picture.boxes):
        for inner in box.inside:
            assert layout.x[inner] >= layout.x[number] - 0.1
            assert layout.y[inner] >= layout.y[number] - 0.1
            assert layout.x[inner] + layout.w[inner] <= layout.x[number] + layout.w[number] + 0.1
            assert layout.y[inner] + layout.h[inner] <= layout.y[number] + layout.h[number] + 0.1
        for k, inner in enumerate(box.inside):
            assert not any(overlaps(layout, inner, other) for other in box.inside[k + 1 :])


@pytest.mark.parametrize("name", NAMES)
def test_every_edge_leads_down_or_up_as_asked(name):
    graph = recorded()[name]()
    for direction, sign in (("forward", 1), ("backward", -1)):
        picture, layout = picture_of(graph, direction=direction)
        for maker, user in picture.edges:
            assert (layout.y[user] - layout.y[maker]) * sign > 0


@pytest.mark.parametrize("name", NAMES)
def test_an_unfolded_picture_has_a_box_for_each_node_and_root(name):
    graph = recorded()[name]()
    found = kinds(graph.to_svg(fold=False))
    assert found["leaf"] == len(graph.leaves)
    assert found["result"] == len(graph.roots)
    assert found.get("op", 0) + found.get("base", 0) == len(graph) - len(graph.leaves)


@pytest.mark.parametrize("name", NAMES)
def test_the_lines_of_an_edge_join_without_a_gap(name):
    _, layout = picture_of(recorded()[name]())
    boxes = [number for number, box in enumerate(layout.picture.boxes) if box.kind != "frame"]
    for number, line in enumerate(layout.lines):
        for x, y in (line.points[0], line.points[-1]):
            at_box = any(
                layout.x[box] - 0.1 <= x <= layout.x[box] + layout.w[box] + 0.1
                and min(abs(y - layout.y[box]), abs(y - layout.y[box] - layout.h[box])) < 0.1
                for box in boxes
            )
            # At a frame's border a line goes on; into one lane several lines come together.
            at_line = any(
                abs(x - other_x) < 0.1 and top - 0.1 <= y <= bottom + 0.1
                for other, twin in enumerate(layout.lines)
                if other != number
                for (other_x, top), (_, bottom) in pieces(twin)
            )
            assert at_box or at_line


def pieces(line):
    """The upright pieces of a line, and its ends."""
    upright = [
        (one, other)
        for one, other in itertools.pairwise(line.points)
        if abs(one[0] - other[0]) < 0.1
    ]
    return [*upright, (line.points[0], line.points[0]), (line.points[-1], line.points[-1])]


def test_layers_of_one_make_are_drawn_once():
    graph = recorded()["gpt of 12 layers"]()
    found = titles(graph.to_svg())
    assert "blocks.0..11 \u00d7 12" in found and "Layer" in found
    # A layer: 13 ops, 12 parameters. Beside them: embedding, head and mean; the result.
    assert kinds(graph.to_svg()) == {"leaf": 12 + 3, "op": 12 + 3, "base": 1, "result": 1}
    assert not any("\u00d7" in text for text in titles(graph.to_svg(fold=False)))


def test_steps_of_a_loop_are_drawn_once():
    graph = recorded()["rnn over 50 steps"]()
    found = titles(graph.to_svg())
    assert found.count("LinearBackward \u00d7 50") == 2
    assert "\u2190 TanhBackward, a step before" in found
    assert kinds(graph.to_svg()) == {"leaf": 4, "op": 5, "result": 1}


def test_ops_that_are_joined_otherwise_are_no_loop():
    x = ebb.ones(2, requires_grad=True)
    y = x * x
    z = y * (y * x)
    graph = ebb.graph((z * y).sum(), {"x": x})
    assert kinds(graph.to_svg())["op"] == 5


def test_slices_that_hand_nothing_on_are_drawn_each_while_they_are_few():
    def drawn(count):
        x = ebb.ones(count, requires_grad=True)
        y = x * 2
        return kinds(ebb.graph([y[k] for k in range(count)]).to_svg())

    assert drawn(4)["op"] == 4
    assert drawn(20)["op"] == 1


def test_siblings_that_differ_are_drawn_each():
    net = ebb.nn.Sequential(*(ebb.nn.Linear(width, width + 1) for width in range(2, 6)))
    graph = ebb.graph(net(ebb.ones(1, 2)).sum(), net)
    assert kinds(graph.to_svg())["op"] == 5


def test_colours_are_torchviz_s_and_dark_ones_where_it_is_dark():
    text = recorded()["views"]().to_svg(show_saved=True)
    assert {"leaf", "op", "base", "saved", "result"} == kinds(text).keys()
    light, dark = text.split("@media (prefers-color-scheme:dark)")
    for kind, colour in (("leaf", "#add8e6"), ("result", "#caff70"), ("base", "#a2cd5a")):
        assert f".ebb-graph .{kind} rect{{fill:{colour}" in light
        assert f".ebb-graph .{kind} rect{{fill:{colour}" not in dark
    assert 'class="e v"' in text


def test_attributes_and_saved_tensors_are_shown_if_asked():
    graph = ebb.graph(ebb.ones(2, 3, requires_grad=True).exp().sum(0, keepdim=True))
    assert "keepdim: True" not in titles(graph.to_svg())
    found = titles(graph.to_svg(show_attrs=True, show_saved=True, max_attr_chars=6))
    assert "keepdim: True" in found and "dim: [0]" in found
    assert "out: float3..." in found
    assert kinds(graph.to_svg(show_saved=True))["saved"] == 1


def test_deep_modules_become_boxes():
    graph = recorded()["gpt of 12 layers"]()
    found = kinds(graph.to_svg(depth=1, fold=False))
    assert found["module"] == 1 + 1 + 1
    assert "ModuleList, 156 ops" in titles(graph.to_svg(depth=1, fold=False))
    assert "Attention, 6 ops" in titles(graph.to_svg(depth=3))


def test_odd_names_are_valid_xml():
    x = ebb.ones(2, requires_grad=True)
    graph = ebb.graph(x * 2, {'<a href="x"> & \x01\u2028 ]]> \U0001f600': x})
    assert any("<a href=" in text for text in titles(graph.to_svg()))


def test_odd_names_in_a_chart_are_valid_xml(tmp_path):
    odd = "a < b & c\x01"
    ebb.viz.write_line_chart(tmp_path / "chart.svg", odd, odd, odd, {odd: [1.0, 2.0, 0.5]})
    assert titles((tmp_path / "chart.svg").read_text()).count("a < b & c\ufffd") == 4


def test_a_picture_is_written_and_shown_by_notebooks(tmp_path):
    graph = recorded()["custom functions"]()
    text = graph.to_svg(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text(encoding="utf-8") == text == text._repr_svg_()
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_the_same_program_gives_the_same_picture():
    assert recorded()["residual cnn"]().to_svg() == recorded()["residual cnn"]().to_svg()


def test_the_picture_of_the_readme_is_what_its_lines_draw(tmp_path):
    draw = [sys.executable, ROOT / "tools" / "draw_readme.py", tmp_path]
    subprocess.run(draw, check=True, capture_output=True, timeout=250)
    drawn, shown = ((folder / "graph.svg").read_text() for folder in (tmp_path, ROOT / "docs"))
    assert drawn == shown, "make picture draws it anew"


def test_too_many_nodes_are_refused_with_a_way_out():
    graph = recorded()["gpt of 12 layers"]()
    with pytest.raises(ebb.errors.ValueError, match=r"draws at most 100 nodes, got 306 of 306"):
        graph.to_svg(fold=False, max_nodes=100)
    with pytest.raises(ebb.errors.ValueError, match=r"hint: write_html\(\)"):
        graph.to_svg(max_nodes=20)
    graph.to_svg(max_nodes=100)


@pytest.mark.parametrize("call", ["to_svg", "to_dot"])
def test_another_direction_is_refused(call):
    graph = recorded()["views"]()
    with pytest.raises(ebb.errors.ValueError, match=f"{call}: direction needs forward or backward"):
        getattr(graph, call)(direction="down")


def test_dot_points_either_way():
    graph = recorded()["views"]()
    forward, backward = graph.to_dot(), graph.to_dot(direction="backward")
    assert "  n1 -> n0\n" in forward and "  n0 -> n1\n" in backward
    swapped = re.sub(r"(\w+) -> (\w+)", r"\2 -> \1", forward)
    assert swapped == backward


def test_a_chain_of_thousands_needs_no_deep_stack():
    x = ebb.ones(2, requires_grad=True)
    y = x
    for step in range(3000):
        y = y * x if step % 7 else y.exp()
    graph = ebb.graph(y.sum(), {"x": x})
    assert kinds(graph.to_svg(fold=False))["op"] == 3001
    assert kinds(graph.to_svg())["op"] < 20


def test_modules_of_two_models_keep_their_frames():
    one, other = models.Cell(4), models.fully_connected(2, 4)
    graph = ebb.graph(other(models.unrolled(one, 2)).sum(), {"one": one, "other": other})
    found = titles(graph.to_svg())
    assert "Cell" in found and "Sequential" in found
