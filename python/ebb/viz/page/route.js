// python/ebb/viz/page/route.js -- which items are joined, and the links that draw it by level.
//
// A pair is two neighbours on one level with any edge between what they hold. Inside open groups
// its edges run from a source to an exit, and from an entry to a target. Edges of one source share
// its exit, edges of one target its entry: few lines cross a border, and none crosses another.

/** Finds which items are joined, and by how many edges. */
function* collectEdges(scene) {
  const { model } = scene;
  const { edges, ends } = model.flow;
  const slot = new Int32Array(scene.count);
  const seenFrom = new Int32Array(scene.count).fill(-1);
  let steps = 0;
  for (let item = 0; item < scene.count; item += 1) {
    if (scene.kind[item] === OPEN) continue;
    for (const node of scene.nodesOf(item)) {
      for (let k = edges.start[node]; k < edges.start[node + 1]; k += 1) {
        const edge = edges.rows[k];
        const other = scene.itemOfNode[ends[edge]];
        if (other === item) continue;
        if (seenFrom[other] !== item) {
          seenFrom[other] = item;
          slot[other] = scene.edgeFrom.push(item) - 1;
          scene.edgeTo.push(other);
          scene.edgeCount.push(0);
          scene.edgeFirst.push(edge);
        }
        scene.edgeCount[slot[other]] += 1;
      }
      steps += 1;
      if (steps % SLICE === 0) yield;
    }
  }
}

/** What a pair's edges go through on the border of a group: one key per exit or entry. */
function portKey(scene, pair, isSource) {
  const single = isSource ? scene.pairFrom[pair] : scene.pairTo[pair];
  const isBottom = isSource ^ scene.pairIsUpward[pair];
  return (single >= 0 ? single : scene.count + pair) * 4 + 2 * isBottom + isSource;
}

class Router {
  constructor(scene, levels) {
    this.scene = scene;
    this.levels = levels;
    this.pairs = new Map();
    this.ports = new Map();
    this.linkOfPair = new Map();
    this.linkOfPort = new Map();
    this.pairOf = new Int32Array(scene.edgeFrom.length);
    this.top = new Int32Array(scene.edgeFrom.length);  // the pair's items, around each edge's ends
    this.bottom = new Int32Array(scene.edgeFrom.length);
  }

  /** Finds the pair of an edge, and whether all its edges have one source or target. */
  match(edge) {
    const { scene } = this;
    const [from, to] = [scene.edgeFrom[edge], scene.edgeTo[edge]];
    let [top, bottom] = [from, to];
    while (scene.parent[top] !== scene.parent[bottom]) {
      const [above, below] = [scene.depth[top], scene.depth[bottom]];
      if (above >= below) top = scene.parent[top];
      if (below >= above) bottom = scene.parent[bottom];
    }
    const pair = number(this.pairs, top * scene.count + bottom);
    this.pairOf[edge] = pair;
    this.top[edge] = top;
    this.bottom[edge] = bottom;
    if (pair === scene.pairFrom.length) {
      scene.pairFrom.push(from);
      scene.pairTo.push(to);
      // Against the common order, as in a loop through a group: out at the top, in at the bottom.
      scene.pairIsUpward.push(scene.first(top) > scene.first(bottom) ? 1 : 0);
    } else {
      if (scene.pairFrom[pair] !== from) scene.pairFrom[pair] = -1;
      if (scene.pairTo[pair] !== to) scene.pairTo[pair] = -1;
    }
  }

  /** Cuts an edge into one link per level that it passes; equal links become one. */
  route(edge) {
    const { scene } = this;
    const [top, bottom, pair] = [this.top[edge], this.bottom[edge], this.pairOf[edge]];
    for (let child = scene.edgeFrom[edge]; child !== top; child = scene.parent[child]) {
      this._link(edge, scene.parent[child], child, ~this._port(child, pair, 1));
    }
    this._link(edge, scene.parent[top], top, bottom);
    for (let child = scene.edgeTo[edge]; child !== bottom; child = scene.parent[child]) {
      this._link(edge, scene.parent[child], ~this._port(child, pair, 0), child);
    }
    scene.edgeLinks.push(scene.linkList.length);
  }

  /** The port of a pair on the border of the group around `child`. */
  _port(child, pair, isSource) {
    const { scene } = this;
    const level = scene.parent[child];
    const key = portKey(scene, pair, isSource);
    const port = number(this.ports, key * scene.count + level);
    if (port === scene.portKey.length) {
      scene.portKey.push(key);
      scene.portIsBottom.push(isSource ^ scene.pairIsUpward[pair]);
      scene.portX.push(0);
      this.levels.get(level).ports.push(port);
    }
    return port;
  }

  _link(edge, level, from, to) {
    const { scene } = this;
    const pair = this.pairOf[edge];
    // A pair is linked once on its own level; elsewhere port and item say which link it is.
    const isPair = from >= 0 && to >= 0;
    const port = from < 0 ? ~from : ~to;
    const map = isPair ? this.linkOfPair : this.linkOfPort;
    const key = isPair ? pair : port * scene.count + (from < 0 ? to : from);
    let link = map.get(key);
    if (link === undefined) {
      link = scene.linkLevel.push(level) - 1;
      map.set(key, link);
      scene.linkFrom.push(from);
      scene.linkTo.push(to);
      scene.linkPair.push(pair);
      scene.linkCount.push(0);
      scene.linkFirst.push(scene.edgeFirst[edge]);
      this.levels.get(level).links.push(link);
    }
    scene.linkCount[link] += scene.edgeCount[edge];
    scene.linkList.push(link);
  }
}

/** The number of a key, the next free one if it is new. */
function number(map, key) {
  const known = map.get(key);
  if (known !== undefined) return known;
  map.set(key, map.size);
  return map.size - 1;
}

function* routeEdges(scene, levels) {
  const router = new Router(scene, levels);
  for (const step of ["match", "route"]) {
    for (let edge = 0; edge < scene.edgeFrom.length; edge += 1) {
      router[step](edge);
      if (edge % SLICE === 0) yield;
    }
  }
  const count = scene.linkFrom.length;
  scene.linkTail = new Array(count).fill(-1);
  scene.points = new Array(count);
  scene.isUpward = new Array(count).fill(false);
  scene.isFar = new Array(count).fill(false);
}
