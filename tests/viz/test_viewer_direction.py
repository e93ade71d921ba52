# tests/viz/test_viewer_direction.py -- the page with values flowing down instead of gradients.
import pytest

from tests.viz import graphs
from tests.viz.drive import after_layout, node_called
from tests.viz.test_viewer_layout import CHECK, GRAPHS, unfold

# How many drawn edges lead from a box to one above it, by the direction of the data.
UPWARD = """(() => {
  const { scene, model } = ebbViewer;
  const { from, to } = model.data.edges;
  const count = { up: 0, down: 0 };
  from.forEach((node, edge) => {
    const [a, b] = [scene.itemOfNode[node], scene.itemOfNode[to[edge]]];
    if (a !== b) count[scene.y[b] < scene.y[a] ? "up" : "down"] += 1;
  });
  return count;
})()"""


@pytest.mark.parametrize("name", GRAPHS)
def test_a_forward_picture_keeps_the_rules_of_layout(view, name):
    page = view(GRAPHS[name](), direction="forward")
    unfold(page)
    assert page.evaluate(CHECK) == {"overlaps": 0, "outside": 0, "loose": 0, "bad": 0}


@pytest.mark.parametrize("name", ["mlp", "residual_cnn", "rnn", "gpt", "flat"])
def test_values_flow_down(view, name):
    data = GRAPHS[name]()
    page = view(data, direction="forward")
    unfold(page)
    assert page.evaluate(UPWARD) == {"up": len(data["edges"]["from"]), "down": 0}
    assert not page.evaluate("ebbViewer.scene.isUpward.some(Boolean)")


def test_a_key_and_a_button_switch_the_direction(view):
    page = view(graphs.gpt(4))
    assert page.evaluate(UPWARD)["up"] == 0
    pressed = "ebbViewer.page.forward.getAttribute('aria-pressed')"
    after_layout(page, lambda: page.key("v"))
    assert page.evaluate(UPWARD)["down"] == 0 and page.evaluate(pressed) == "true"
    after_layout(page, lambda: page.evaluate("ebbViewer.page.forward.click()"))
    assert page.evaluate(UPWARD)["up"] == 0 and page.evaluate(pressed) == "false"


def test_arrow_keys_follow_the_values(view):
    data = graphs.mlp()
    page = view(data, f"#node={node_called(data, 'ReluBackward')}", direction="forward")
    page.wait("ebbViewer.selected !== null")
    page.evaluate("ebbViewer.page.canvas.focus()")
    page.key("ArrowDown")
    chosen = page.evaluate("ebbViewer.selected.id")
    assert chosen == node_called(data, "LinearBackward")


def test_the_parts_of_a_forward_edge_are_those_of_the_data(view):
    data = graphs.gpt(4)
    page = view(data, direction="forward")
    unfold(page)
    wrong = page.evaluate(
        """(() => {
          const { scene, model } = ebbViewer;
          let wrong = 0;
          for (let link = 0; link < scene.points.length; link += 1) {
            for (const edge of scene.edgesOf(link, 50)) {
              const [upper, lower] = model.flowEnds(edge).map((node) => scene.itemOfNode[node]);
              const known = scene.edgeFrom.some((from, k) => from === upper &&
                scene.edgeTo[k] === lower);
              if (!known) wrong += 1;
            }
          }
          return wrong;
        })()"""
    )
    assert wrong == 0
