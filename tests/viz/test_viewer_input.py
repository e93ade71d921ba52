# tests/viz/test_viewer_input.py -- the page in Chromium: mouse, wheel, fingers, keys, names.
import pytest

from tests.viz import graphs
from tests.viz.drive import camera, place, selected, text

# -- camera ----------------------------------------------------------------------------------------


def test_a_drag_moves_the_picture_with_the_hand(view):
    page = view(graphs.mlp())
    before = camera(page)
    page.drag((400, 700), (460, 640))
    after = camera(page)
    assert (after["x"] - before["x"], after["y"] - before["y"]) == pytest.approx((60, -60), abs=1)
    assert selected(page) is None


def test_the_wheel_zooms_around_the_pointer(view):
    page = view(graphs.mlp())
    x, y = place(page, "input")["middle"]
    before = camera(page)
    page.wheel(x, y, -200)
    page.wait(f"ebbViewer.camera.scale > {before['scale']}")
    assert place(page, "input")["middle"] == pytest.approx([x, y], abs=8)


def test_fingers_move_and_pinch(view):
    page = view(graphs.mlp(), touch=True)
    before = camera(page)
    page.touch("touchStart", (400, 600))
    page.touch("touchMove", (430, 640))
    page.touch("touchEnd")
    moved = camera(page)
    assert moved["y"] - before["y"] == pytest.approx(40, abs=12)
    page.touch("touchStart", (500, 400), (600, 400))
    page.touch("touchMove", (450, 400), (650, 400))
    page.touch("touchMove", (400, 400), (700, 400))
    page.touch("touchEnd")
    assert camera(page)["scale"] > 1.5 * moved["scale"]


def test_keys_move_zoom_and_fit(view):
    page = view(graphs.mlp())
    page.evaluate("ebbViewer.page.canvas.focus()")
    start = camera(page)
    page.key("ArrowDown", "Shift")
    assert camera(page)["y"] == start["y"] - 90
    page.key("+")
    assert camera(page)["scale"] == pytest.approx(1.25 * start["scale"])
    page.key("1")
    assert camera(page)["scale"] == pytest.approx(1)
    page.key("0")
    assert camera(page) == pytest.approx(start)


# -- keyboard and accessibility --------------------------------------------------------------------


def test_arrow_keys_walk_along_the_edges(view):
    data = graphs.mlp()
    page = view(data)
    page.evaluate("ebbViewer.page.canvas.focus()")
    page.key("ArrowDown")
    assert selected(page) == {"kind": "node", "id": 0}
    page.key("ArrowDown")
    assert selected(page) == {"kind": "node", "id": 1}
    assert "LinearBackward, node 1" in text(page, "status")
    page.key("ArrowUp")
    assert selected(page) == {"kind": "node", "id": 0}


def test_the_help_lists_every_key_and_closes(view):
    page = view(graphs.mlp())
    page.key("?")
    assert page.evaluate("ebbViewer.page.help.open")
    listed = page.evaluate("document.querySelectorAll('.keys dt').length")
    assert listed == page.evaluate("ebbViewer.keyboard.commands.length") >= 30
    page.key("Escape")
    page.wait("!ebbViewer.page.help.open")


def test_every_control_has_a_name_and_takes_focus(view):
    page = view(graphs.gpt(2))
    page.send("Accessibility.enable")
    nodes = page.send("Accessibility.getFullAXTree")["nodes"]
    named = [
        (node["role"]["value"], node["name"]["value"])
        for node in nodes
        if not node["ignored"] and "name" in node
    ]
    roles = {role for role, _ in named}
    assert {"button", "searchbox", "combobox", "tree", "treeitem", "application"} <= roles
    controls = ("button", "searchbox", "combobox", "tree", "treeitem", "application", "dialog")
    assert [pair for pair in named if pair[0] in controls and not pair[1].strip()] == []
    seen = []
    for _ in range(60):
        page.key("Tab")
        seen.append(page.evaluate("document.activeElement.dataset.part"))
    assert {"query", "mode", "tree", "canvas", "details"} <= set(seen)


def test_typing_in_the_search_is_no_command(view):
    page = view(graphs.mlp())
    page.key("/")
    page.type("fold")
    assert page.evaluate("ebbViewer.page.query.value") == "fold"
    assert page.evaluate("ebbViewer.camera.scale < 2")


def test_panels_hide_and_come_back(view):
    page = view(graphs.mlp())
    wide = page.evaluate("ebbViewer.painter.width")
    page.key("b")
    page.key("i")
    page.wait(f"ebbViewer.painter.width === {wide} + 600")
    page.key("b")
    page.key("i")
    page.wait(f"ebbViewer.painter.width === {wide}")
