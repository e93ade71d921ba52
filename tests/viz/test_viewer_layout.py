# tests/viz/test_viewer_layout.py -- pictures: no overlap, nothing outside its group, all joined.
import pytest

from tests.viz import graphs

GRAPHS = {
    "mlp": graphs.mlp,
    "residual_cnn": graphs.residual_cnn,
    "rnn": graphs.rnn,
    "gpt": graphs.gpt,
    "cell": graphs.cell,
    "towers": lambda: graphs.towers(12, 12),
    "flat": lambda: graphs.flat(2000),
}
# Siblings that overlap, children that stick out, and links that do not touch what they join.
CHECK = """(() => {
  const { scene } = ebbViewer;
  const { x, y, w, h, kind, parent } = scene;
  const wrong = { overlaps: 0, outside: 0, loose: 0, bad: 0 };
  for (let a = 1; a < scene.count; a += 1) {
    if (!(w[a] > 0 && h[a] > 0 && Number.isFinite(x[a] + y[a]))) wrong.bad += 1;
    const p = parent[a];
    if (x[a] < x[p] - 0.5 || y[a] < y[p] - 0.5 || x[a] + w[a] > x[p] + w[p] + 0.5 ||
        y[a] + h[a] > y[p] + h[p] + 0.5) wrong.outside += 1;
    scene.items.query(x[a], y[a], x[a] + w[a], y[a] + h[a], (b) => {
      if (b <= a || parent[b] !== p) return;
      if (x[a] < x[b] + w[b] - 1 && x[b] < x[a] + w[a] - 1 &&
          y[a] < y[b] + h[b] - 1 && y[b] < y[a] + h[a] - 1) wrong.overlaps += 1;
    });
  }
  const touches = (item, px, py) => px > x[item] - 1 && px < x[item] + w[item] + 1 &&
    py > y[item] - 1 && py < y[item] + h[item] + 1;
  scene.points.forEach((points, link) => {
    let [top, bottom] = [scene.linkFrom[link], scene.linkTo[link]];
    if (scene.isUpward[link]) [top, bottom] = [bottom, top];
    if (top >= 0 && !touches(top, points[0], points[1])) wrong.loose += 1;
    const end = points.length - 2;
    if (bottom >= 0 && scene.linkTail[link] < 0 &&
        !touches(bottom, points[end], points[end + 1])) wrong.loose += 1;
  });
  return wrong;
})()"""

RUNS = "ebbViewer.groups.repeat.flatMap((n, group) => n ? [ebbViewer.groups.title(group)] : [])"


def unfold(page):
    page.evaluate("ebbViewer.unfoldAll()")
    page.settle()


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("is_open", [False, True])
def test_no_box_overlaps_and_every_link_touches_its_boxes(view, name, is_open):
    page = view(GRAPHS[name]())
    if is_open:
        unfold(page)
    assert page.evaluate(CHECK) == {"overlaps": 0, "outside": 0, "loose": 0, "bad": 0}


@pytest.mark.parametrize("name", GRAPHS)
def test_every_edge_of_the_data_is_on_the_picture(view, name):
    data = GRAPHS[name]()
    page = view(data)
    unfold(page)
    drawn = page.evaluate("ebbViewer.scene.edgeCount.reduce((a, b) => a + b, 0)")
    assert drawn == len(data["edges"]["from"])
    assert page.evaluate("ebbViewer.scene.kind.filter((k) => k === 0).length") == len(
        data["nodes"]["name"]
    )


def test_gradients_flow_downwards_except_in_loops(view):
    for name in ("gpt", "rnn"):
        page = view(GRAPHS[name]())
        unfold(page)
        assert not page.evaluate("ebbViewer.scene.isUpward.some(Boolean)")
    page = view(graphs.cell())
    after = page.evaluate("(async () => { await ebbViewer.foldAll();"
                          " return ebbViewer.scene.isUpward.some(Boolean); })()")  # fmt: skip
    assert after


def test_a_loop_through_a_group_enters_from_below_and_stays_joined(view):
    page = view(graphs.cell())
    loose = page.evaluate(
        """(() => {
          const { scene } = ebbViewer;
          const ends = new Map();  // of each pair: where its links end, as x and y
          scene.points.forEach((points, link) => {
            const key = scene.linkPair[link];
            if (!ends.has(key)) ends.set(key, []);
            const last = points.length - 2;
            ends.get(key).push({ level: scene.linkLevel[link], from: scene.linkFrom[link],
              to: scene.linkTo[link], isUpward: Boolean(scene.isUpward[link]),
              top: [points[0], points[1]], bottom: [points[last], points[last + 1]] });
          });
          let loose = 0;
          for (const links of ends.values()) {
            const outer = links.find((link) => link.from >= 0 && link.to >= 0);
            for (const link of links) {
              if (link === outer) continue;
              // Inside a group: the end at the port must be the outer link's end at that group.
              const isSource = link.to < 0;
              const [px, py] = isSource === link.isUpward ? link.top : link.bottom;
              const [ox, oy] = isSource === outer.isUpward ? outer.bottom : outer.top;
              if (Math.hypot(px - ox, py - oy) > 1) loose += 1;
            }
          }
          return loose;
        })()"""
    )
    assert page.evaluate("ebbViewer.scene.isUpward.some(Boolean)")
    assert loose == 0


def test_edges_to_one_op_enter_its_group_at_one_place(view):
    page = view(graphs.gpt(1))
    unfold(page)
    entries = page.evaluate(
        """(() => {
          const { scene, groups } = ebbViewer;
          const item = scene.itemOfGroup[groups.path.indexOf("model.layers.0.attention.qkv")];
          const into = scene.linkTo.keys().filter((link) => scene.linkTo[link] === item);
          return Array.from(into, (link) => Array.from(scene.points[link].slice(-2)));
        })()"""
    )
    assert len(entries) == 3  # from the slices of query, key and value
    assert entries[0] == entries[1] == entries[2]


def test_the_main_flow_is_one_straight_line(view):
    page = view(graphs.gpt(12))
    unfold(page)
    places = page.evaluate(
        """(() => {
          const { scene, model } = ebbViewer;
          const middles = [];
          for (let item = 1; item < scene.count; item += 1) {
            if (scene.kind[item] !== 0 || model.name(scene.ref[item]) !== "AddBackward") continue;
            middles.push(Math.round(scene.x[item] + scene.w[item] / 2));
          }
          return middles;
        })()"""
    )
    assert len(places) == 25
    assert max(places) - min(places) <= 2


def test_equal_siblings_get_equal_pictures(view):
    page = view(graphs.gpt(12))
    unfold(page)
    sizes = page.evaluate(
        """(() => {
          const { scene, groups } = ebbViewer;
          return groups.type.flatMap((type, group) => type !== "Block" ? [] :
            [[scene.w, scene.h].map((side) => Math.round(side[scene.itemOfGroup[group]])).join()]);
        })()"""
    )
    assert len(sizes) == 12
    assert len(set(sizes[:-1])) == 1


def test_a_chain_of_20000_needs_no_deep_stack(view):
    page = view(graphs.flat(20_000))
    assert page.evaluate("ebbViewer.scene.count") == 20_001
    page.evaluate("ebbViewer.select({ kind: 'node', id: 0 })")
    page.key("d")
    page.settle()
    assert page.evaluate("ebbViewer.marks.reduce((a, b) => a + b)") == 20_000


def test_parameters_live_in_the_module_of_their_name(view):
    page = view(graphs.gpt(2))
    homes = page.evaluate(
        """ebbViewer.model.data.leaves.node.map((node) => [ebbViewer.model.leafName(node),
          ebbViewer.groups.path[ebbViewer.groups.home[node]]])"""
    )
    assert all(name.rpartition(".")[0] == home for name, home in homes)


def test_siblings_of_another_make_are_not_folded_together(view):
    page = view(graphs.mlp(6))  # Linear and ReLU in turn: no run of equal siblings
    assert page.evaluate("ebbViewer.groups.repeat.every((count) => count === 0)")


def test_consecutive_siblings_among_others_become_a_run(view):
    page = view(graphs.gpt(4, stages=5))
    assert "stage0..4 \u00d7 5" in page.evaluate(RUNS)


def test_steps_of_a_loop_are_folded_as_one_box(view):
    page = view(graphs.rnn(50))
    assert page.evaluate(RUNS) == ["step.0..49 \u00d7 50"]
    # The graph itself, the mean, four weights and the loop.
    assert page.evaluate("ebbViewer.scene.count") == 7
    homes = page.evaluate(
        """ebbViewer.model.data.nodes.name.map((_, node) =>
          ebbViewer.groups.path[ebbViewer.groups.home[node]])"""
    )
    by_step = [homes.count(f"step.{step}") for step in range(50)]
    assert by_step == [5] + [4] * 49  # the first state is used by the first step only


def test_short_loops_and_steps_that_differ_stay_open(view):
    assert view(graphs.rnn(5)).evaluate(RUNS) == []  # 20 ops
    assert view(graphs.flat(2000)).evaluate(RUNS) == []


def test_a_loop_inside_a_module_folds_there(view):
    builder = graphs.Builder()
    x = builder.leaf("x", (4,))
    with builder.module("cell", "Cell"):
        for _ in range(12):
            x = builder.op("Tanh", (builder.op("Exp", (x,), (4,)),), (4,))
    page = view(builder.data(graphs.mean(builder, x)))
    assert page.evaluate("ebbViewer.groups.path.slice(1, 3)") == ["cell", "cell.step"]
    page.evaluate("ebbViewer.show({ kind: 'node', id: 5 })")
    page.settle()
    assert page.evaluate("ebbViewer.groups.open[ebbViewer.groups.home[5]]") == 1
