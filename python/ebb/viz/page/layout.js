// python/ebb/viz/page/layout.js -- from the fold state to a Scene with every box in its place.
//
// Start reading at layoutScene(). Each open group is a level of its own, laid out from the
// innermost to the outermost; a group inside is one box there. An edge that crosses a group's
// border leaves through an exit and enters through an entry, which are boxes of no height in
// first and last layer.

const GAP_X = 26;
const GAP_Y = 30;
const PAD = 18;
const HEADER = 28;

/** Yields now and then, so that the caller may pause or drop the work; returns the Scene. */
function* layoutScene(model, groups, measure) {
  const scene = yield* collectItems(model, groups);
  const levels = new Map();
  for (let item = 0; item < scene.count; item += 1) {
    if (scene.kind[item] === OPEN) levels.set(item, { item, children: [], ports: [], links: [] });
  }
  for (let item = 1; item < scene.count; item += 1) {
    levels.get(scene.parent[item]).children.push(item);
  }
  yield* collectEdges(scene);
  yield* routeEdges(scene, levels);
  for (const name of ["x", "y", "w", "h", "anchor"]) scene[name] = new Float64Array(scene.count);
  for (let item = 0; item < scene.count; item += 1) {
    if (scene.kind[item] !== OPEN) [scene.w[item], scene.h[item]] = measure(scene, item);
    scene.anchor[item] = scene.w[item] / 2;
    if (item % SLICE === 0) yield;
  }
  scene.boxNumber = new Int32Array(scene.count);
  scene.portNumber = new Int32Array(scene.portX.length);
  const inner = [...levels.keys()].reverse();
  for (const item of inner) yield* layoutLevel(scene, levels.get(item), measure);
  yield* placeAbsolutely(scene, levels);
  yield* scene.makeIndex();
  return scene;
}

function* collectItems(model, groups) {
  const scene = new Scene(model, groups);
  const stack = [[0, -1]];
  while (stack.length > 0) {
    const [group, parent] = stack.pop();
    const item = scene.add(groups.open[group] ? OPEN : FOLDED, group, parent);
    scene.itemOfGroup[group] = item;
    if (!groups.open[group]) {
      for (const node of groups.nodesOf(group)) scene.itemOfNode[node] = item;
      continue;
    }
    for (const node of groups.ownNodes(group)) {
      scene.itemOfNode[node] = scene.add(OP, node, item);
    }
    for (const child of groups.childrenOf(group)) stack.push([child, item]);
    if (scene.count % 64 === 0) yield;
  }
  return scene;
}

/** Numbers what a level shows from top to bottom: entries, then children by their first node. */
function numberBoxes(scene, level) {
  const entries = level.ports.filter((port) => !scene.portIsBottom[port]).map((port) => ~port);
  const exits = level.ports.filter((port) => scene.portIsBottom[port]).map((port) => ~port);
  const children = level.children.slice().sort((a, b) => scene.first(a) - scene.first(b));
  const boxes = [...entries, ...children, ...exits];
  boxes.forEach((box, index) => {
    if (box >= 0) scene.boxNumber[box] = index;
    else scene.portNumber[~box] = index;
  });
  const numberOf = (box) => (box >= 0 ? scene.boxNumber[box] : scene.portNumber[~box]);
  const from = Int32Array.from(level.links, (link) => numberOf(scene.linkFrom[link]));
  const to = Int32Array.from(level.links, (link) => numberOf(scene.linkTo[link]));
  return {
    boxes,
    count: boxes.length,
    port: Uint8Array.from(boxes, (box) => {
      if (box >= 0) return 0;
      return scene.portIsBottom[~box] ? EXIT : ENTRY;
    }),
    low: from.map((box, k) => Math.min(box, to[k])),
    high: from.map((box, k) => Math.max(box, to[k])),
    isUpward: level.links.map((_, k) => from[k] > to[k]),
  };
}

function* layoutLevel(scene, level, measure) {
  const numbered = numberBoxes(scene, level);
  if (numbered.count === 0) return;  // an empty graph
  yield;
  const { layer, layers } = yield* assignLayers(numbered);
  const graph = yield* makeLanes(numbered, layer, layers);
  const ordering = yield* new Ordering(graph).sweeps();
  const left = new Float64Array(graph.count).fill(2);
  numbered.boxes.forEach((box, index) => { left[index] = box >= 0 ? scene.anchor[box] : 5; });
  const right = left.slice();
  numbered.boxes.forEach((box, index) => {
    if (box >= 0) right[index] = scene.w[box] - scene.anchor[box];
  });
  const x = yield* new Alignment(ordering, left, right, GAP_X).solve();
  const sizes = new LevelSizes(scene, level, numbered, graph);
  sizes.place(x, left, right, measure);
  yield;
  yield* drawLinks(scene, level, numbered, graph, sizes);
}

/** Where the layers of one level lie, and with that its boxes and its own size. */
class LevelSizes {
  constructor(scene, level, numbered, graph) {
    this.scene = scene;
    this.level = level;
    this.numbered = numbered;
    this.graph = graph;
    this.isOutermost = level.item === 0;
  }

  place(x, toLeft, toRight, measure) {
    const { scene, level, numbered } = this;
    let left = Infinity;
    let right = -Infinity;
    for (let node = 0; node < x.length; node += 1) {
      left = Math.min(left, x[node] - toLeft[node]);
      right = Math.max(right, x[node] + toRight[node]);
    }
    const pad = this.isOutermost ? 8 : PAD;
    const wide = this.isOutermost ? 0 : measure(scene, level.item)[0];
    const width = Math.max(right - left + 2 * pad, wide);
    const shift = (width - (right - left)) / 2 - left;
    this.x = x.map((value) => value + shift);
    this._placeLayers();
    scene.w[level.item] = width;
    scene.h[level.item] = this.height;
    numbered.boxes.forEach((box, index) => {
      if (box < 0) {
        scene.portX[~box] = this.x[index];
      } else {
        scene.x[box] = this.x[index] - scene.anchor[box];
        scene.y[box] = this.top[this.graph.layerOf[index]];
      }
    });
    scene.anchor[level.item] = this._anchor(width);
  }

  /** Where the group is lined up with those above and below: where its main flow passes. */
  _anchor(width) {
    const { numbered, graph } = this;
    let best = -1;
    graph.spine.forEach((isSpine, link) => {
      if (!isSpine) return;
      const [low, high] = [numbered.low[link], numbered.high[link]];
      if (numbered.port[low] === ENTRY) best = low;
      else if (numbered.port[high] === EXIT && best < 0) best = high;
    });
    if (best < 0) best = numbered.port.findIndex((port) => port !== 0);
    return best < 0 ? width / 2 : this.x[best];
  }

  _placeLayers() {
    const { scene, numbered, graph } = this;
    const tall = new Float64Array(graph.layers);
    numbered.boxes.forEach((box, index) => {
      const layer = graph.layerOf[index];
      if (box >= 0) tall[layer] = Math.max(tall[layer], scene.h[box]);
    });
    const shift = new Float64Array(graph.layers);  // the widest move to the layer below
    graph.upper.forEach((upper, link) => {
      const layer = graph.layerOf[upper];
      const move = Math.abs(this.x[upper] - this.x[graph.lower[link]]);
      shift[layer] = Math.max(shift[layer], move);
    });
    const hasEntry = numbered.port.indexOf(ENTRY) >= 0;
    const hasExit = numbered.port.indexOf(EXIT) >= 0;
    this.top = new Float64Array(graph.layers);
    this.bottom = new Float64Array(graph.layers);
    let y = this.isOutermost ? 8 : hasEntry ? 0 : HEADER + 6;
    for (let layer = 0; layer < graph.layers; layer += 1) {
      this.top[layer] = y;
      this.bottom[layer] = y + tall[layer];
      y = this.bottom[layer] + GAP_Y + Math.min(60, shift[layer] / 12);
      if (layer === 0 && hasEntry) y = Math.max(y, HEADER + 14);
    }
    const last = graph.layers - 1;
    this.height = this.bottom[last] + (hasExit ? 0 : this.isOutermost ? 8 : PAD);
  }
}

/** Spreads the ends of links over the upper or lower side of each box, in the order of x. */
class Attachments {
  constructor(scene, level, numbered, graph, sizes) {
    Object.assign(this, { scene, level, numbered, graph, sizes });
    this.portAt = new Map();
    this.topEnd = new Float64Array(level.links.length);
    this.bottomEnd = new Float64Array(level.links.length);
    this._spread(numbered.low, this.topEnd, true);
    this._spread(numbered.high, this.bottomEnd, false);
  }

  _nextX(k, isTop) {
    const path = this.graph.path[k];
    if (path) return this.sizes.x[isTop ? path[1] : path[path.length - 2]];
    return this.sizes.x[isTop ? this.numbered.high[k] : this.numbered.low[k]];
  }

  _spread(boxOf, ends, isTop) {
    const { scene, numbered, graph, sizes } = this;
    const grouped = groupRows(boxOf, numbered.count);
    for (let index = 0; index < numbered.count; index += 1) {
      const box = numbered.boxes[index];
      let links = rowsOf(grouped, index);
      for (const k of links) ends[k] = sizes.x[index];
      if (box < 0) continue;
      if (scene.kind[box] === OPEN) {
        for (const k of links) ends[k] = this._portX(box, this.level.links[k], ends[k]);
        continue;
      }
      if (!isTop) links = links.filter((k) => graph.tail[k] < 0);
      if (links.length < 2) continue;
      links.sort((a, b) => this._nextX(a, isTop) - this._nextX(b, isTop));
      const step = Math.min(14, (scene.w[box] - 20) / (links.length - 1));
      const spine = links.findIndex((k) => graph.spine[k]);  // stays in the middle
      const middle = spine >= 0 ? spine : (links.length - 1) / 2;
      const most = scene.w[box] / 2 - 8;
      links.forEach((k, place) => {
        ends[k] += Math.min(most, Math.max(-most, (place - middle) * step));
      });
    }
  }

  /** Where the group's own picture lets this link out or in. */
  _portX(box, link, fallback) {
    const { scene } = this;
    if (!this.portAt.get(box)) {
      const ports = new Map();
      this.portAt.set(box, ports);
      for (const port of scene.portsOf.get(box) || []) {
        ports.set(scene.portKey[port], scene.portX[port]);
      }
    }
    const isSource = scene.linkFrom[link] === box ? 1 : 0;
    const inside = this.portAt.get(box).get(portKey(scene, scene.linkPair[link], isSource));
    return inside === undefined ? fallback : scene.x[box] + inside;
  }
}

function* drawLinks(scene, level, numbered, graph, sizes) {
  scene.portsOf = scene.portsOf || new Map();
  scene.portsOf.set(level.item, level.ports);
  const ends = new Attachments(scene, level, numbered, graph, sizes);
  for (let k = 0; k < level.links.length; k += 1) {
    const link = level.links[k];
    scene.isUpward[link] = numbered.isUpward[k];
    scene.points[link] = pointsOf(scene, numbered, graph, sizes, ends, k);
    scene.isFar[link] = graph.path[k] === null;
    if (graph.tail[k] >= 0) scene.linkTail[link] = level.links[graph.tail[k]];
    if (k % SLICE === 0) yield;
  }
}

function pointsOf(scene, numbered, graph, sizes, ends, k) {
  const points = [];
  const add = (x, y) => {
    const count = points.length;
    if (count >= 4 && points[count - 2] === x && points[count - 4] === x) points[count - 1] = y;
    else points.push(x, y);
  };
  const [low, high] = [numbered.low[k], numbered.high[k]];
  const [upper, lower] = [numbered.boxes[low], numbered.boxes[high]];
  const layer = graph.layerOf[low];
  const base = sizes.top[layer] + (upper >= 0 ? scene.h[upper] : 0);
  add(ends.topEnd[k], base);
  const path = graph.path[k];
  if (path !== null && sizes.bottom[layer] > base + 1) add(ends.topEnd[k], sizes.bottom[layer]);
  if (path !== null) {
    for (const node of path.slice(1)) {
      if (!graph.isLane(node)) break;
      add(sizes.x[node], sizes.top[graph.layerOf[node]]);
      if (graph.tail[k] < 0) add(sizes.x[node], sizes.bottom[graph.layerOf[node]]);
    }
  }
  if (graph.tail[k] < 0) {
    const end = lower < 0 && numbered.port[high] === EXIT ? sizes.height : NaN;
    add(ends.bottomEnd[k], Number.isNaN(end) ? sizes.top[graph.layerOf[high]] : end);
  }
  return points;
}

/** From places inside each group to places in the whole picture, outermost first. */
function* placeAbsolutely(scene, levels) {
  let steps = 0;
  for (const [item, level] of levels) {
    const [left, top] = [scene.x[item], scene.y[item]];
    for (const child of level.children) {
      scene.x[child] += left;
      scene.y[child] += top;
    }
    for (const link of level.links) {
      const points = scene.points[link];
      for (let k = 0; k < points.length; k += 2) {
        points[k] += left;
        points[k + 1] += top;
      }
      steps += 1;
      if (steps % SLICE === 0) yield;
    }
  }
}
