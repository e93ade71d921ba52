# tests/python/graphs/test_viz_html.py -- the HTML file of a graph: what is in it, how large, how
# safe.
import base64
import hashlib
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import ebb
from ebb.viz import html, read_html, show, to_html, write_html
from ebb.viz.html import SCRIPTS
from tests.viz import graphs

PAGE = Path(__file__).resolve().parents[3] / "python" / "ebb" / "viz" / "page"
PAGE_BYTES = 150_000  # for browsers that cannot unpack
PACKED_BYTES = 135_000


class Parts(HTMLParser):
    """Collects tags with their attributes, and the text of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.is_text = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.texts.append([tag, dict(attrs), ""])
            self.is_text = True

    def handle_endtag(self, tag):
        self.is_text = False

    def handle_data(self, data):
        if self.is_text:
            self.texts[-1][2] += data


class Snapshot:
    def __init__(self, answer):
        self.answer = answer

    def to_json(self):
        return self.answer


@pytest.mark.parametrize("compress", [True, False, None])
def test_the_file_holds_the_data_in_full(tmp_path, compress):
    data = graphs.gpt(3, times=True)
    path = write_html(data, tmp_path / "graph.html", compress=compress)
    assert read_html(path) == data


def test_a_graph_gives_its_data_as_dict_or_as_text(tmp_path):
    data = graphs.mlp()
    for answer in (data, json.dumps(data)):
        assert read_html(write_html(Snapshot(answer), tmp_path / "graph.html")) == data


def test_small_data_is_plain_and_large_data_is_packed():
    assert 'data-encoding="json"' in to_html(graphs.mlp())
    assert 'data-encoding="gzip+base64"' in to_html(graphs.gpt())


@pytest.mark.parametrize(("compress", "most"), [(False, PAGE_BYTES), (None, PACKED_BYTES)])
def test_the_page_without_data_is_small(compress, most):
    data = graphs.mlp(1)
    text = to_html(data, compress=compress)
    assert len(text.encode()) - len(json.dumps(data)) < most


def test_a_large_graph_takes_at_most_100_bytes_a_node(tmp_path):
    data = graphs.sized(10_000)
    path = write_html(data, tmp_path / "graph.html")
    assert path.stat().st_size / len(data["nodes"]["name"]) < 100


def test_nothing_is_fetched_from_anywhere():
    text = to_html(graphs.mlp())
    for tag, attributes in Parts(text).tags:
        assert tag not in ("link", "img", "iframe", "object", "base")
        assert "src" not in attributes and "href" not in attributes
    assert set(re.findall(r"https?://[^\"'\s]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|importScripts|eval)\s*\(", text)


def test_the_policy_allows_this_script_and_style_only():
    parts = Parts(to_html(graphs.mlp()))
    policy = next(
        attributes["content"]
        for tag, attributes in parts.tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    # The layout is WebAssembly, for which browsers ask this; it allows no text to become code.
    assert "unsafe" not in policy.replace(" 'wasm-unsafe-eval';", ";")
    for tag, attributes, text in parts.texts:
        if attributes.get("id") != "graph":
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"{tag}-src 'sha256-{digest}'" in policy


def test_no_text_of_the_data_ends_its_script(tmp_path):
    data = graphs.mlp()
    data["strings"][0] = "</script><script>alert(1)</script><!--"
    path = write_html(data, tmp_path / "graph.html", compress=False)
    scripts = [text for text in Parts(path.read_text()).texts if text[0] == "script"]
    assert len(scripts) == 2
    assert read_html(path) == data


def test_the_title_is_escaped():
    text = to_html(graphs.mlp(), title="<b>{{data}} & more")
    assert "<title>&lt;b&gt;{{data}} &amp; more</title>" in text


def test_the_same_graph_gives_the_same_bytes():
    assert to_html(graphs.gpt()) == to_html(graphs.gpt())


def test_infinite_attributes_become_texts(tmp_path):
    data = graphs.mlp()
    data["nodes"]["attributes"] = {"0": {"value": -math.inf, "list": [math.nan, 1.0, math.inf]}}
    found = read_html(write_html(data, tmp_path / "graph.html"))
    assert found["nodes"]["attributes"] == {"0": {"value": "-inf", "list": ["nan", 1.0, "inf"]}}


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ({"format": "other"}, "viz: graph needs the format ebb.graph, got other\nhint: "),
        (17, "viz: graph needs the format ebb.graph, got int\nhint: "),
        ({"format": "ebb.graph", "version": 2}, "viz: graph needs version 1, got 2"),
        ("[" * 100_000, "viz: graph needs a text that is JSON, got another: maximum recursion"),
        ("{", "viz: graph needs a text that is JSON, got another: Expecting"),
    ],
)
def test_what_is_no_graph_is_refused(graph, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        to_html(graph)


def test_a_build_without_the_layout_for_pages_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(html, "KERNEL", tmp_path / "layout.wasm")
    html._sources.cache_clear()
    with pytest.raises(ebb.errors.NotImplementedError, match="needs the layout that is compiled"):
        write_html(graphs.mlp(), tmp_path / "graph.html")


def test_reading_another_file_is_refused(tmp_path):
    path = tmp_path / "other.html"
    path.write_text("<p>no graph</p>")
    with pytest.raises(ValueError, match="read_html: needs a file of write_html, got"):
        read_html(path)


def test_a_notebook_shows_the_page_in_a_frame():
    frame = show(graphs.mlp(), height=300, title="A & B")._repr_html_()
    tag, attributes = Parts(frame).tags[0]
    assert tag == "iframe" and attributes["height"] == "300"
    assert attributes["srcdoc"] == to_html(graphs.mlp(), title="A & B")


def test_the_writer_is_public():
    assert ebb.viz.write_html is write_html


def test_every_script_of_the_page_is_in_the_file():
    assert {path.stem for path in PAGE.glob("*.js")} == set(SCRIPTS)


@pytest.mark.parametrize("path", sorted(PAGE.iterdir()), ids=lambda path: path.name)
def test_page_sources_keep_to_the_limits_of_size(path):
    lines = path.read_text().splitlines()
    assert len(lines) <= 600
    assert max(len(line) for line in lines) <= 100
    if path.suffix == ".js":
        assert lines[0].startswith(f"// python/ebb/viz/page/{path.name} -- ")
        assert longest_function(lines) <= 60


def longest_function(lines):
    """Lines of the longest function or method: from its head to the brace below the head."""
    longest = 0
    for number, line in enumerate(lines):
        head = re.match(r"( *)(?=\S)[\w* ]+\(.*\) \{$", line)
        if head and not re.match(r" *(if|for|while|switch)\b", line):
            end = next(k for k in range(number, len(lines)) if lines[k].startswith(head[1] + "}"))
            longest = max(longest, end - number + 1)
    return longest
