// python/ebb/viz/page/layers.js -- puts the boxes of one level into layers and orders each layer.
//
// A level is what one open group shows: boxes 0..count-1, numbered so that gradients flow to
// larger numbers (the few edges that do not are drawn upwards), and links between them. Every
// step is a pass over boxes and links, and a generator, so that a large level never blocks the
// page.
//
// An edge over several layers takes a place in each: a lane. Edges that end at the same box share
// one lane. Lanes that would need too many places are given up: such an edge is drawn straight.

const SLICE = 4096;  // steps between two chances for the page to act
const SHORT_LAYER = 16;  // boxes up to which a layer is sorted by insertion
const ENTRY = 1;  // where links from outside the group come in: the first layer
const MAX_SPAN = 8;  // longer links to a box without a lane are drawn across
const EXIT = 2;  // where links to the outside leave: the last layer

/** Layer of each box: one below the lowest of those that flow into it. */
function* assignLayers(level) {
  const { count, port, low, high } = level;
  const down = groupRows(low, count);
  const layer = new Int32Array(count);
  const hasAbove = new Uint8Array(count);
  const base = port.indexOf(ENTRY) >= 0 ? 1 : 0;
  let last = base;
  for (let box = 0; box < count; box += 1) {
    if (port[box] === 0 && layer[box] < base) layer[box] = base;
    for (let k = down.start[box]; k < down.start[box + 1]; k += 1) {
      const below = high[down.rows[k]];
      hasAbove[below] = 1;
      layer[below] = Math.max(layer[below], layer[box] + 1);
    }
    if (port[box] !== EXIT) last = Math.max(last, layer[box]);
    if (box % SLICE === 0) yield;
  }
  for (let box = count - 1; box >= 0; box -= 1) {
    if (port[box] === EXIT) layer[box] = last + 1;
    if (port[box] !== 0 || hasAbove[box]) continue;
    let nearest = 0x7fffffff;  // nothing flows in: stay close to what is below
    for (let k = down.start[box]; k < down.start[box + 1]; k += 1) {
      nearest = Math.min(nearest, layer[high[down.rows[k]]]);
    }
    if (nearest !== 0x7fffffff) layer[box] = Math.max(base, nearest - 1);
  }
  return dropEmptyLayers(layer);
}

function dropEmptyLayers(layer) {
  let last = -1;
  for (const value of layer) last = Math.max(last, value);
  const used = new Int32Array(last + 2);
  for (const value of layer) used[value + 1] = 1;
  for (let k = 0; k <= last; k += 1) used[k + 1] += used[k];
  return { layer: layer.map((value) => used[value]), layers: used[last + 1] };
}

/** Which boxes get a lane: those with the shortest, while all places keep in proportion. */
function chooseLanes(level, layer) {
  const span = new Int32Array(level.count);
  level.high.forEach((box, link) => {
    span[box] = Math.max(span[box], layer[box] - layer[level.low[link]]);
  });
  const order = Int32Array.from(span.keys()).sort((a, b) => span[a] - span[b]);
  const hasLane = new Uint8Array(level.count);
  let left = 4000 + 6 * (level.count + level.low.length);
  for (const box of order) {
    left -= span[box];
    if (left < 0) break;
    hasLane[box] = 1;
  }
  return hasLane;
}

/**
 * Links that should be drawn straight: the way on from a box that leads farthest, if it is also the
 * way in that comes from farthest. Parameters then stand beside the flow, not in it.
 */
function findSpine(level) {
  const { count, port, low, high } = level;
  const far = 1 << 20;  // what leaves or enters the group leads farther than anything inside
  const height = new Int32Array(count);
  const depth = new Int32Array(count);
  const mainDown = new Int32Array(count).fill(-1);
  const mainUp = new Int32Array(count).fill(-1);
  const down = groupRows(low, count);
  const up = groupRows(high, count);
  for (let box = count - 1; box >= 0; box -= 1) {
    height[box] = port[box] === EXIT ? far : 0;
    mainDown[box] = farthest(down, box, high, height);
    eachRow(down, box, (link) => { height[box] = Math.max(height[box], height[high[link]] + 1); });
  }
  for (let box = 0; box < count; box += 1) {
    depth[box] = port[box] === ENTRY ? far : 0;
    mainUp[box] = farthest(up, box, low, depth);
    eachRow(up, box, (link) => { depth[box] = Math.max(depth[box], depth[low[link]] + 1); });
  }
  return Array.from(low, (box, link) => mainDown[box] === link && mainUp[high[link]] === link);
}

/** The link of a box whose other end has the largest value; -1 if two have. */
function farthest(grouped, box, ends, value) {
  let best = -1;
  let most = -1;
  for (let k = grouped.start[box]; k < grouped.start[box + 1]; k += 1) {
    const link = grouped.rows[k];
    const now = value[ends[link]];
    if (now > most) [best, most] = [link, now];
    else if (now === most) best = -1;
  }
  return best;
}

/** A graph whose links join neighbouring layers only: boxes first, then places of lanes. */
class Layered {
  constructor(level, layer, layers) {
    this.level = level;
    this.boxes = level.count;
    this.layers = layers;
    this.layerOf = Array.from(layer);
    this.upper = [];
    this.lower = [];
    this.isStraight = [];  // of each piece of a link: wins over others when nodes are lined up
    const links = level.low.length;
    this.spine = findSpine(level);
    this.path = Array.from({ length: links }, () => null);  // nodes from top to bottom
    this.tail = new Int32Array(links).fill(-1);  // the link whose lane this one joins
  }

  get count() { return this.layerOf.length; }

  link(upper, lower, isSpine) {
    this.upper.push(upper);
    this.lower.push(lower);
    this.isStraight.push(isSpine || (this.isLane(upper) && this.isLane(lower)));
  }

  /** Turns what has grown into arrays of numbers, which are quicker to go through. */
  finish() {
    this.layerOf = Int32Array.from(this.layerOf);
    this.upper = Int32Array.from(this.upper);
    this.lower = Int32Array.from(this.lower);
  }

  place(layer) {
    this.layerOf.push(layer);
    return this.layerOf.length - 1;
  }

  isLane(node) { return node >= this.boxes; }
}

function* makeLanes(level, layer, layers) {
  const graph = new Layered(level, layer, layers);
  const hasLane = chooseLanes(level, layer);
  const into = groupRows(level.high, level.count);
  let steps = 0;
  for (let box = 0; box < level.count; box += 1) {
    const links = rowsOf(into, box).sort((a, b) => layer[level.low[a]] - layer[level.low[b]]);
    let owner = -1;
    for (const link of links) {
      const top = level.low[link];
      const span = layer[box] - layer[top];
      steps += 1;
      if (!hasLane[box] && span > MAX_SPAN) continue;
      if (span === 1) {
        graph.path[link] = [top, box];
        graph.link(top, box, graph.spine[link]);
      } else if (owner >= 0) {
        joinLane(graph, link, owner, layer[top]);
      } else {
        owner = link;
        steps += makeLane(graph, link, top, box);
      }
      if (steps > SLICE) {
        steps = 0;
        yield;
      }
    }
  }
  graph.finish();
  return graph;
}

function makeLane(graph, link, top, bottom) {
  const path = [top];
  for (let layer = graph.layerOf[top] + 1; layer < graph.layerOf[bottom]; layer += 1) {
    const node = graph.place(layer);
    graph.link(path[path.length - 1], node, graph.spine[link]);
    path.push(node);
  }
  graph.link(path[path.length - 1], bottom, graph.spine[link]);
  path.push(bottom);
  graph.path[link] = path;
  return path.length;
}

function joinLane(graph, link, owner, topLayer) {
  const lane = graph.path[owner];
  const at = lane[topLayer + 1 - graph.layerOf[lane[0]]];
  graph.path[link] = [graph.level.low[link], at];
  graph.tail[link] = owner;
  graph.link(graph.level.low[link], at, false);
}

/** Orders each layer by the mean place of the neighbours, to and fro; keeps the best order. */
class Ordering {
  constructor(graph) {
    this.graph = graph;
    this.up = groupRows(graph.lower, graph.count);
    this.down = groupRows(graph.upper, graph.count);
    const byLayer = groupRows(graph.layerOf, graph.layers);
    this.start = byLayer.start;
    this.nodes = byLayer.rows;
    this.place = new Int32Array(graph.count);
    this.keys = new Int32Array(graph.count);
    this._number();
  }

  _number() {
    for (let layer = 0; layer < this.graph.layers; layer += 1) this._numberLayer(layer);
  }

  _numberLayer(layer) {
    for (let k = this.start[layer]; k < this.start[layer + 1]; k += 1) {
      this.place[this.nodes[k]] = k - this.start[layer];
    }
  }

  * sweeps() {
    const { graph } = this;
    const links = graph.upper.length;
    const rounds = links < 5000 ? 8 : links < 50000 ? 4 : 2;
    const counts = links < 5000;  // counting crossings costs as much as a sweep
    let best = Infinity;
    let bestNodes = null;
    for (let round = 0; round < rounds && best > 0; round += 1) {
      yield* this._sweep(round % 2 === 0);
      if (!counts) continue;
      const crossings = this.crossings();
      if (crossings < best) {
        best = crossings;
        bestNodes = this.nodes.slice();
      }
    }
    if (bestNodes) {
      this.nodes = bestNodes;
      this._number();
    }
    this._sortNeighbours();
    return this;
  }

  /** Puts the links of each node into the order of their other ends, without comparing any. */
  _sortNeighbours() {
    const { upper, lower } = this.graph;
    const sorted = (mine, others, along) => {
      const next = mine.start.slice();
      for (const node of this.nodes) {
        eachRow(others, node, (link) => { mine.rows[next[along[link]]++] = link; });
      }
    };
    sorted(this.up, this.down, lower);
    sorted(this.down, this.up, upper);
  }

  * _sweep(isDown) {
    const { layers } = this.graph;
    let steps = 0;
    for (let k = 1; k < layers; k += 1) {
      const layer = isDown ? k : layers - 1 - k;
      this._sortLayer(layer, isDown);
      steps += this.start[layer + 1] - this.start[layer];
      if (steps > SLICE) {
        steps = 0;
        yield;
      }
    }
  }

  /** Sorts by the mean place, stably, so that ties stay in order. */
  _sortLayer(layer, isDown) {
    const from = this.start[layer];
    const size = this.start[layer + 1] - from;
    if (size < 2) return;
    const beside = isDown ? layer - 1 : layer + 1;
    const width = this.start[beside + 1] - this.start[beside];
    const { keys, nodes } = this;
    for (let k = 0; k < size; k += 1) {
      const mean = this._meanPlace(nodes[from + k], isDown);
      keys[k] = Math.round(8 * (mean >= 0 ? mean : (k * width) / size));
    }
    if (size <= SHORT_LAYER) this._insert(from, size);
    else this._count(from, size, 8 * width + 1);
    this._numberLayer(layer);
  }

  /** Insertion sort: the quickest for a handful, and it allocates nothing. */
  _insert(from, size) {
    const { keys, nodes } = this;
    for (let k = 1; k < size; k += 1) {
      const [key, node] = [keys[k], nodes[from + k]];
      let at = k;
      for (; at > 0 && keys[at - 1] > key; at -= 1) {
        keys[at] = keys[at - 1];
        nodes[from + at] = nodes[from + at - 1];
      }
      keys[at] = key;
      nodes[from + at] = node;
    }
  }

  /** Counting sort: linear in the width of the layer. */
  _count(from, size, values) {
    const sorted = groupRows(this.keys.subarray(0, size), values).rows;
    const before = this.nodes.slice(from, from + size);
    for (let k = 0; k < size; k += 1) this.nodes[from + k] = before[sorted[k]];
  }

  _meanPlace(node, isDown) {
    const grouped = isDown ? this.up : this.down;
    const ends = isDown ? this.graph.upper : this.graph.lower;
    const count = grouped.start[node + 1] - grouped.start[node];
    if (count === 0) return -1;
    let sum = 0;
    for (let k = grouped.start[node]; k < grouped.start[node + 1]; k += 1) {
      sum += this.place[ends[grouped.rows[k]]];
    }
    return sum / count;
  }

  crossings() {
    let sum = 0;
    for (let layer = 1; layer < this.graph.layers; layer += 1) sum += this._crossingsAbove(layer);
    return sum;
  }

  /** Counts, with a tree of partial sums, the earlier links that end to the right of each one. */
  _crossingsAbove(layer) {
    const width = this.start[layer] - this.start[layer - 1];
    const tree = new Int32Array(width + 1);
    let seen = 0;
    let crossings = 0;
    for (let k = this.start[layer]; k < this.start[layer + 1]; k += 1) {
      const places = rowsOf(this.up, this.nodes[k])
        .map((link) => this.place[this.graph.upper[link]]).sort((a, b) => a - b);
      for (const place of places) {
        let upTo = 0;
        for (let at = place + 1; at > 0; at -= at & -at) upTo += tree[at];
        crossings += seen - upTo;
      }
      for (const place of places) {
        seen += 1;
        for (let at = place + 1; at <= width; at += at & -at) tree[at] += 1;
      }
    }
    return crossings;
  }
}
