# tests/viz/test_viewer.py -- the page in Chromium: loading, folding, search, tree, details.
import json
import xml.etree.ElementTree as ElementTree

import pytest

from tests.viz import graphs
from tests.viz.drive import after_layout, node_called, place, selected, text, titles

RUN = "layers.0..11 \u00d7 12"


# -- loading ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("compress", [True, False])
def test_the_page_holds_the_data_in_full(view, compress):
    data = graphs.gpt(2, times=True)
    page = view(data, compress=compress)
    assert page.evaluate("ebbViewer.model.data") == data


def test_the_page_asks_for_nothing_but_itself(view, browser):
    page = view(graphs.mlp())
    page.send("Network.enable")
    page.go(page.evaluate("location.href"))
    page.wait("document.documentElement?.dataset.ready === 'yes'")
    asked = [
        event["params"]["request"]["url"]
        for event in browser.events
        if event["method"] == "Network.requestWillBeSent" and event["sessionId"] == page.session
    ]
    assert [url for url in asked if not url.endswith("graph0.html")] == []


def test_names_in_the_data_stay_texts(view):
    data = graphs.mlp()
    evil = "<img src=x onerror=window.hacked=1></script><script>window.hacked=1</script>"
    data["strings"] = [f"{evil} {text}" for text in data["strings"]]
    page = view(data, compress=False)
    page.evaluate("ebbViewer.show({ kind: 'node', id: 3 })")
    page.settle()
    assert page.evaluate("window.hacked") is None
    assert evil in text(page, "details")
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    ElementTree.fromstring(page.evaluate("ebbViewer.svg()"))


def test_another_format_says_so(browser, tmp_path):
    from ebb.viz import to_html

    path = tmp_path / "graph.html"
    text = to_html(graphs.mlp(), compress=False)
    path.write_text(text.replace('"version":1', '"version":9'))
    page = browser.open(path, wait=False)
    page.wait("document.querySelector('[data-part=fault]')?.hidden === false")
    message = page.evaluate("document.querySelector('[data-part=fault]').innerText")
    assert message == "viewer: needs ebb.graph version 1, got ebb.graph 9"
    page.close()


def test_a_graph_without_nodes_opens(view):
    data = graphs.mlp(1)
    for table in ("nodes", "edges", "outputs", "leaves", "saved", "views", "roots"):
        data[table] = {name: {} if isinstance(column, dict) else []
                       for name, column in data[table].items()}  # fmt: skip
    page = view(data)
    for key in ("f", "u", "ArrowDown", "Enter", "]", "."):
        page.key(key)
    assert "nodes\n0" in text(page, "details")


def test_a_notebook_frame_runs_the_page(browser, tmp_path):
    from ebb.viz import show

    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><body>{show(graphs.mlp())._repr_html_()}</body>")
    page = browser.open(path, wait=False)
    page.wait("window.frames[0]?.document.documentElement?.dataset.ready === 'yes'")
    assert page.evaluate("window.frames[0].ebbViewer.model.count") == 13
    page.close()


# -- folding ---------------------------------------------------------------------------------------


def test_repeated_siblings_start_as_one_box(view):
    page = view(graphs.gpt(12))
    assert RUN in titles(page)
    assert "Block" not in " ".join(titles(page))


def test_a_double_click_unfolds_and_folds(view):
    page = view(graphs.gpt(12))
    before = titles(page)
    after_layout(page, lambda: page.click(*place(page, RUN)["middle"], count=2))
    assert {str(layer) for layer in range(12)} <= set(titles(page))
    after_layout(page, lambda: page.click(*place(page, RUN)["middle"], count=2))
    assert titles(page) == before


def test_the_sign_in_the_corner_unfolds_and_the_box_stays_in_place(view):
    page = view(graphs.gpt(12))
    before = place(page, RUN)["middle"]
    after_layout(page, lambda: page.click(*place(page, RUN)["sign"]))
    assert place(page, RUN)["middle"][0] == pytest.approx(before[0], abs=2)
    assert page.evaluate("ebbViewer.groups.open.reduce((a, b) => a + b)") > 2


def test_a_double_tap_unfolds(view):
    page = view(graphs.gpt(12), touch=True)
    x, y = place(page, RUN)["middle"]
    page.evaluate("window.oldScene = ebbViewer.scene; performance.now = () => 1000; 0")
    for _ in range(2):
        page.touch("touchStart", (x, y))
        page.touch("touchEnd")
    page.wait("ebbViewer.scene !== window.oldScene")
    assert "11" in titles(page)


def test_enter_folds_the_selected_group(view):
    page = view(graphs.gpt(12))
    page.click(*place(page, RUN)["middle"])
    assert selected(page)["kind"] == "group"
    after_layout(page, lambda: page.key("Enter"))
    assert "11" in titles(page)


def test_brackets_fold_and_unfold_all(view):
    data = graphs.gpt(3)
    page = view(data)
    after_layout(page, lambda: page.key("]"))
    assert page.evaluate("ebbViewer.scene.kind.filter((kind) => kind === 0).length") == len(
        data["nodes"]["name"]
    )
    after_layout(page, lambda: page.key("["))
    assert titles(page) == ["CrossEntropyBackward", "model"]


def test_escape_stops_a_long_layout(view):
    page = view(graphs.sized(40_000))
    count = page.evaluate("ebbViewer.scene.count")
    page.evaluate("ebbViewer.unfoldAll(); 0")
    page.wait("!ebbViewer.page.busy.hidden")
    page.key("Escape")
    page.settle()
    assert page.evaluate("ebbViewer.page.busy.hidden")
    assert page.evaluate("ebbViewer.scene.count") == count
    assert page.evaluate("ebbViewer.groups.open.reduce((a, b) => a + b)") < 20


def test_the_page_lives_while_it_lays_out(view):
    page = view(graphs.sized(30_000))
    frames = page.evaluate(
        """(async () => {
          let frames = 0;
          let isDone = false;
          const count = () => { frames += 1; if (!isDone) requestAnimationFrame(count); };
          requestAnimationFrame(count);
          await ebbViewer.unfoldAll();
          isDone = true;
          return frames;
        })()"""
    )
    assert frames > 5


# -- search and tree -------------------------------------------------------------------------------


def test_search_steps_through_the_hits(view):
    page = view(graphs.gpt(12))
    page.key("/")
    page.type("softmax")
    assert text(page, "hits") == "12"
    after_layout(page, lambda: page.key("Enter"))
    assert text(page, "hits") == "1 / 12"
    first = selected(page)["id"]
    page.key("Enter")
    page.wait("ebbViewer.page.hits.innerText === '2 / 12'")
    page.wait(f"ebbViewer.selected.id > {first}")
    page.key("Enter", "Shift")
    page.wait(f"ebbViewer.selected.id === {first}")
    assert text(page, "hits") == "1 / 12"
    assert "SoftmaxBackward" in titles(page)


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        ("layers.7", 24 + 6),
        ("attention softmax", 12),
        ("model.py:3", 75),
        ("nothing", 0),
        ("#4", 1),
    ],
)
def test_search_looks_at_modules_lines_and_numbers(view, query, hits):
    data = graphs.gpt(12)
    page = view(data)
    page.evaluate(f"ebbViewer.searchFor({json.dumps(query)})")
    found = page.evaluate("ebbViewer.search.hits")
    if query == "layers.7":
        strings, leaves = data["strings"], data["leaves"]
        in_module = sum(
            "layers.7" in strings[data["modules"]["path"][module]]
            for module in data["nodes"]["module"]
            if module >= 0
        )
        hits = in_module + sum("layers.7" in strings[name] for name in leaves["name"])
    elif query == "model.py:3":
        hits = sum(str(line).startswith("3") for line in data["locations"]["line"])
    assert len(found) == hits
    assert found == sorted(set(found))


def test_a_hit_is_shown_in_sight_and_in_the_tree(view):
    page = view(graphs.gpt(12))
    node = node_called(graphs.gpt(12), "SoftmaxBackward", 5)
    after_layout(page, lambda: page.evaluate(f"ebbViewer.show({{ kind: 'node', id: {node} }}); 0"))
    page.wait("document.querySelector('.row[aria-selected=true]') !== null")
    row = page.evaluate("document.querySelector('.row[aria-selected=true]').innerText")
    assert row.strip() == "SoftmaxBackward"
    x, y = place(page, "SoftmaxBackward")["middle"]
    assert 250 < x < 1050 and 44 < y < 900


def test_the_tree_is_driven_by_keys(view):
    page = view(graphs.gpt(12))
    page.evaluate("ebbViewer.page.tree.focus()")
    page.key("End")
    page.key("ArrowRight")
    page.key("ArrowRight")
    rows = page.evaluate("[...document.querySelectorAll('.row .name')].map((e) => e.innerText)")
    assert rows[:3] == ["graph", "CrossEntropyBackward", "model"]
    assert RUN in rows
    page.key("Enter")
    page.wait("ebbViewer.selected !== null")
    active = page.evaluate(
        "document.getElementById(ebbViewer.page.tree.getAttribute('aria-activedescendant'))"
        ".getAttribute('aria-selected')"
    )
    assert active == "true"


def test_a_click_in_the_tree_selects_and_reveals(view):
    page = view(graphs.gpt(12))
    box = page.evaluate(
        "(() => { const r = document.querySelectorAll('.row')[1].getBoundingClientRect();"
        " return [r.left + 90, r.top + 12]; })()"
    )
    page.click(*box)
    page.wait("ebbViewer.selected?.kind === 'node'")
    assert selected(page)["id"] == 0


# -- details ---------------------------------------------------------------------------------------


def test_the_details_of_a_node_hold_everything(view):
    data = graphs.gpt(2, times=True)
    data["strings"] += ["base"]
    data["views"] = {"node": [0], "base": [1]}
    node = node_called(data, "MatmulBackward")
    data["nodes"]["hooks"] = {str(node): {"tensor": 1, "pre": 4, "post": 2, "post_accumulate": 0}}
    data["nodes"]["stacks"] = {str(node): [node, 3]}
    storage = data["saved"]["storage"]
    storage[data["saved"]["node"].index(node)] = storage[0]
    page = view(data, f"#node={node}")
    page.wait("ebbViewer.selected !== null")
    shown = text(page, "details")
    line = data["locations"]["line"][data["nodes"]["location"][node]]
    for part in ("MatmulBackward", f"#{node}", "model.layers.1.attention", "SelfAttention",
                 f"model.py:{line} in forward", "Stack", "post accumulate", "float32 [8, 64, 64]",
                 "Saved tensors (1)", "input", "128 KiB", "with CrossEntropyBackward",
                 "Gradient comes from (1)", "Gradient flows to (2)", "time", "allocated",
                 str(data["nodes"]["sequence"][node])):  # fmt: skip
        assert part in shown, part
    page.evaluate("ebbViewer.show({ kind: 'node', id: 0 })")
    page.settle()
    assert "view of" in text(page, "details")
    assert "gradients start at output 0" in text(page, "details")
    page.evaluate("ebbViewer.show({ kind: 'node', id: 1 })")
    assert "base of\nCrossEntropyBackward #0" in text(page, "details")
    page.evaluate("ebbViewer.show({ kind: 'node', id: 0 })")
    assert 'reduction\n"mean"' in text(page, "details")


def test_the_details_name_a_column_that_the_page_does_not_know(view):
    data = graphs.mlp()
    data["nodes"]["stream_number"] = [7, *[-1] * (len(data["nodes"]["name"]) - 1)]
    page = view(data, "#node=0")
    page.wait("ebbViewer.selected !== null")
    assert "stream number\n7" in text(page, "details")
    page.evaluate("ebbViewer.show({ kind: 'node', id: 1 })")
    page.settle()
    assert "stream number" not in text(page, "details")


def test_the_details_of_a_leaf_and_a_link_in_them(view):
    data = graphs.mlp()
    leaf = data["leaves"]["node"][1]
    page = view(data, f"#node={leaf}")
    page.wait("ebbViewer.selected !== null")
    shown = text(page, "details")
    assert "net.0.weight" in shown
    assert "16.0 KiB (16,384 B)" in shown
    assert "requires grad\nyes" in shown
    page.evaluate("document.querySelector('aside .ref[data-node]').click()")
    page.wait(f"ebbViewer.selected.id !== {leaf}")
    assert "LinearBackward" in text(page, "details")


def test_without_a_selection_the_whole_graph_is_summed_up(view):
    data = graphs.residual_cnn()
    shown = text(view(data), "details")
    assert f"nodes\n{len(data['nodes']['name'])}" in shown
    assert f"edges\n{len(data['edges']['from'])}" in shown
    storages = dict(zip(data["saved"]["storage"], data["saved"]["bytes"], strict=True))
    assert f"saved\n{sum(storages.values()) / 2**20:.0f} MiB" in shown


def test_a_click_on_an_edge_shows_the_tensor_that_flows(view):
    data = graphs.mlp()
    page = view(data)
    edge = next(k for k, node in enumerate(data["edges"]["to"]) if node == 2)
    point = page.evaluate(
        f"""(() => {{
          const {{ scene, camera, page }} = ebbViewer;
          const link = scene.linkFirst.indexOf({edge});
          const points = scene.points[link];
          const [x, y] = camera.toScreen(points[0], (points[1] + points[3]) / 2);
          const frame = page.canvas.getBoundingClientRect();
          return [x + frame.left, y + frame.top];
        }})()"""
    )
    page.mouse("mouseMoved", *point)
    assert text(page, "tip") == "float32 [32, 64]\nLinearBackward \u2192 ReluBackward"
    page.click(*point)
    shown = text(page, "details")
    assert shown.startswith("Edge\n")
    assert "float32 [32, 64]" in shown and "cpu" in shown
    assert selected(page)["edges"] == [edge]


def test_hovering_tells_where_an_op_was_made(view):
    page = view(graphs.mlp())
    page.mouse("mouseMoved", *place(page, "MeanBackward")["middle"])
    tip = text(page, "tip")
    assert "MeanBackward" in tip and "model.py:6 in forward" in tip
    assert selected(page) is None
    page.mouse("mouseMoved", 300, 880)
    page.settle()
    assert page.evaluate("ebbViewer.page.tip.hidden")
