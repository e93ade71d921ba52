# benchmarks/python/viewer.py -- the HTML file of a graph in headless Chromium: paint, pan, size.
"""Usage: python viewer.py [--quick]

Question: how long until a user sees the graph, and does it move smoothly? Made-up graphs (a GPT in
modules; a chain without any; 45 chains side by side) are written as files and opened from disk.
First paint counts from the start of the navigation to the frame after the graph is drawn. Frames a
second are counted over two seconds of steady panning; Chromium makes at most 60. Prints one JSON
object: name -> seconds, frames a second or bytes.
"""

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from ebb.viz import write_html
from tests.viz import graphs
from tests.viz.browser import Browser

PAINT = "performance.getEntriesByName('ebb-first-paint')[0].startTime / 1000"
PAN = """(async () => {
  const app = ebbViewer;
  let frames = 0;
  const begin = performance.now();
  while (performance.now() - begin < 2000) {
    const sign = frames % 60 < 30 ? 1 : -1;
    app.panBy(7 * sign, 3 * sign);
    await new Promise((done) => requestAnimationFrame(done));
    frames += 1;
  }
  return 1000 * frames / (performance.now() - begin);
})()"""
WHOLE = "ebbViewer.camera.set(ebbViewer.fitted(1)); ebbViewer.drawNow(); 0"


def first_paint(browser, path, rounds):
    """The best of several openings, each in a tab of its own."""
    best = None
    for _ in range(rounds):
        page = browser.open(path)
        page.wait("performance.getEntriesByName('ebb-first-paint').length === 1")
        seconds = page.evaluate(PAINT)
        best = seconds if best is None else min(best, seconds)
        page.close()
    return best


def pan_rates(browser, path, actions):
    """Frames a second after each of some actions on one page."""
    page = browser.open(path)
    rates = []
    for action in actions:
        page.evaluate(action)
        page.settle()
        rates.append(page.evaluate(PAN))
    drawn = page.evaluate("ebbViewer.painter.drawn.items")
    page.close()
    return rates, drawn


def main():
    rounds = 1 if "--quick" in sys.argv else 5
    found = {}
    with Browser() as browser, tempfile.TemporaryDirectory() as folder:
        for name, make, count in (
            ("10,000 nodes", graphs.sized, 10_000),
            ("100,000 nodes", graphs.sized, 100_000),
            ("10,000 nodes without modules", graphs.flat, 10_000),
            ("100,000 nodes without modules", graphs.flat, 100_000),
        ):
            data = make(count)
            path = write_html(data, Path(folder) / "graph.html")
            found[f"HTML of {name}"] = path.stat().st_size / len(data["nodes"]["name"])
            found[f"first paint of {name}"] = first_paint(browser, path, rounds)
        path = write_html(graphs.towers(), Path(folder) / "graph.html")
        (found["panning: 2,000 boxes in sight"],), drawn = pan_rates(
            browser, path, ["ebbViewer.fit()"]
        )
        assert drawn > 2000
        path = write_html(graphs.sized(10_000), Path(folder) / "graph.html")
        actions = ["ebbViewer.unfoldAll()", "ebbViewer.zoomTo(0.6)", WHOLE]
        rates, _ = pan_rates(browser, path, actions)
        for name, rate in zip(
            ("from afar", "with texts", "the whole graph in sight"), rates, strict=True
        ):
            found[f"panning: 10,000 nodes, all unfolded, {name}"] = rate
    print(json.dumps(found))


if __name__ == "__main__":
    main()
