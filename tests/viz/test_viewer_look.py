# tests/viz/test_viewer_look.py -- the page in Chromium: highlights, colours, links, export.
import re
import time
import xml.etree.ElementTree as ElementTree

import pytest

from tests.viz import graphs
from tests.viz.drive import node_called, reach, selected, text

SVG = "{http://www.w3.org/2000/svg}"


# -- highlights and colours ------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "is_up"), [("u", True), ("d", False)])
def test_upstream_and_downstream_are_what_a_walk_finds(view, key, is_up):
    data = graphs.residual_cnn()
    node = node_called(data, "AddBackward", 2)
    page = view(data, f"#node={node}")
    page.wait("ebbViewer.selected !== null")
    page.key(key)
    page.settle()
    marked = page.evaluate("Array.from(ebbViewer.marks.keys()).filter((n) => ebbViewer.marks[n])")
    assert set(marked) == reach(data, node, is_up)
    dim = page.evaluate("Array.from(ebbViewer.look.lit).filter((bit, k) => k && !bit).length")
    assert dim > 0
    page.key("Escape")
    page.settle()
    assert page.evaluate("ebbViewer.look.lit") is None


def test_colours_follow_the_mode(view):
    page = view(graphs.gpt(2, times=True))
    ops = text(page, "legend")
    assert "AccumulateGrad" in ops
    for mode, part in (("saved", "MiB a box"), ("dtype", "float32"), ("device", "cpu"),
                       ("time", "a box"), ("op", "AccumulateGrad")):  # fmt: skip
        page.key("c")
        assert page.evaluate("ebbViewer.mode") == mode
        assert part in text(page, "legend")


def test_colour_by_time_needs_times(view):
    page = view(graphs.mlp())
    assert page.evaluate("ebbViewer.page.mode.querySelector('[value=time]').disabled")
    for _ in range(4):
        page.key("c")
    assert page.evaluate("ebbViewer.mode") == "op"


def test_the_legend_searches(view):
    page = view(graphs.mlp())
    page.evaluate("document.querySelector('.legend button').click()")
    assert text(page, "hits") == "7"


# -- themes ----------------------------------------------------------------------------------------


def corner_colour(page):
    page.settle()
    return page.evaluate(
        "Array.from(ebbViewer.painter.context.getImageData(3, 3, 1, 1).data).slice(0, 3)"
    )


def test_the_theme_follows_the_system_and_the_switch(view):
    page = view(graphs.mlp(), dark=True)
    assert page.evaluate("document.documentElement.dataset.shown") == "dark"
    assert max(corner_colour(page)) < 60
    page.set_dark(False)
    page.wait("document.documentElement.dataset.shown === 'light'")
    assert min(corner_colour(page)) > 200
    page.key("t")
    page.key("t")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert max(corner_colour(page)) < 60
    page.key("t")
    assert page.evaluate("document.documentElement.dataset.theme") == "auto"


# -- links -----------------------------------------------------------------------------------------


def test_a_link_leads_to_its_node_and_a_selection_makes_one(view):
    data = graphs.gpt(12)
    node = node_called(data, "GeluBackward", 6)
    page = view(data, f"#node={node}")
    page.wait("ebbViewer.selected !== null")
    assert selected(page) == {"kind": "node", "id": node}
    page.wait("ebbViewer.page.details.innerText.includes('GeluBackward')")
    page.evaluate("ebbViewer.show({ kind: 'node', id: 0 })")
    page.settle()
    assert page.evaluate("location.hash") == "#node=0"
    page.evaluate("location.hash = '#module=model.layers.3.mlp'; 0")
    page.wait("ebbViewer.selected.kind === 'group'")
    assert text(page, "details").startswith("mlp")


def test_a_link_to_nowhere_is_ignored(view):
    page = view(graphs.mlp(), "#node=9999")
    assert selected(page) is None


# -- export ----------------------------------------------------------------------------------------


def downloaded(browser, name):
    path = browser.downloads / name
    for _ in range(500):
        if path.exists():
            content = path.read_text()
            path.unlink()
            return content
        time.sleep(0.02)
    raise AssertionError(f"no {name} was saved")


def test_svg_export_draws_what_is_in_sight(view, browser):
    page = view(graphs.mlp())
    page.evaluate("document.querySelector('[data-do=exportSvg]').click()")
    whole = ElementTree.fromstring(downloaded(browser, "graph.svg"))
    texts = [element.text for element in whole.iter(f"{SVG}text")]
    assert texts.count("weight") == 3 and texts.count("bias") == 3
    assert {"net", "Sequential", "MeanBackward", "float32 [32, 64]"} <= set(texts)
    page.evaluate("ebbViewer.show({ kind: 'node', id: 0 })")
    page.evaluate("ebbViewer.zoomTo(3)")
    page.settle()
    page.key("e")
    part = ElementTree.fromstring(downloaded(browser, "graph.svg"))
    assert [element.text for element in part.iter(f"{SVG}text")].count("bias") < 3


def test_custom_functions_and_views_have_borders_of_their_own(view):
    data = graphs.mlp()
    data["nodes"]["kind"][0], data["nodes"]["kind"][1] = 2, 3
    page = view(data)
    svg = ElementTree.fromstring(page.evaluate("ebbViewer.svg()"))
    dashes = [element.get("stroke-dasharray") for element in svg.iter(f"{SVG}rect")]
    assert sorted(dash for dash in dashes if dash) == ["2 2", "5 3"]


def test_dot_export_names_boxes_edges_and_groups(view, browser):
    page = view(graphs.mlp())
    page.key("g")
    dot = downloaded(browser, "graph.dot")
    assert dot.startswith("digraph backward {") and dot.count("{") == dot.count("}")
    assert len(re.findall(r"^  n\d+ \[label=", dot, re.M)) == 13
    assert len(re.findall(r"^  n\d+ -> n\d+", dot, re.M)) == 12
    assert dot.count("subgraph cluster_") == 6
    assert dot.count("shape=ellipse") == 7
    assert 'label="float32 [32, 64]"' in dot
