// python/ebb/viz/page/align.js -- x of each node of a layered graph: straight lanes, no overlap.
//
// The method of Brandes and Koepf: each node is lined up with the median of its neighbours, once
// for each of four corners; blocks of lined-up nodes are packed; x is the mean of the middle two
// of the four results. Pieces of lanes and of the main flow win, so long edges are straight.

const MANY_NODES = 8000;

class Alignment {
  /** `left` and `right`: how far each node reaches from its x to both sides. */
  constructor(ordering, left, right, gap) {
    this.ordering = ordering;
    this.graph = ordering.graph;
    this.left = left;
    this.right = right;
    this.gap = gap;
    this.crossed = new Uint8Array(this.graph.upper.length);
  }

  * solve() {
    this._findStraight();
    this._findPairs();
    yield* this._markConflicts();
    const results = [];
    // Two corners do for very large levels, whose bends nobody follows from end to end.
    const directions = this.graph.count > MANY_NODES ? [true] : [true, false];
    for (const isDown of directions) {
      for (const isLeft of [true, false]) {
        const root = yield* this._align(isDown, isLeft);
        results.push({ isLeft, x: yield* this._pack(root, isLeft) });
      }
    }
    return this._balance(results);
  }

  /** All neighbours in a layer, and how far apart they must be. */
  _findPairs() {
    const { ordering, graph } = this;
    const count = graph.count - graph.layers;
    this.pairLeft = new Int32Array(count);
    this.pairRight = new Int32Array(count);
    this.pairWidth = new Float64Array(count);
    let pair = 0;
    for (let layer = 0; layer < graph.layers; layer += 1) {
      for (let k = ordering.start[layer] + 1; k < ordering.start[layer + 1]; k += 1) {
        const [left, right] = [ordering.nodes[k - 1], ordering.nodes[k]];
        this.pairLeft[pair] = left;
        this.pairRight[pair] = right;
        this.pairWidth[pair] = this._distance(left, right);
        pair += 1;
      }
    }
  }

  /** Marks links that cross a straight one: they must not be lined up. */
  * _markConflicts() {
    const { ordering, graph } = this;
    const { start, nodes, place } = ordering;
    let steps = 0;
    for (let layer = 1; layer < graph.layers; layer += 1) {
      let from = 0;
      let scanned = start[layer];
      const end = start[layer + 1];
      const width = start[layer] - start[layer - 1];
      for (let k = start[layer]; k < end; k += 1) {
        const above = this._straightAbove(nodes[k]);
        if (above < 0 && k < end - 1) continue;
        const to = above >= 0 ? place[above] : width;
        for (; scanned <= k; scanned += 1) this._markOutside(nodes[scanned], from, to);
        from = to;
      }
      steps += end - start[layer];
      if (steps > SLICE) {
        steps = 0;
        yield;
      }
    }
  }

  _straightAbove(node) {
    const link = this.straightUp[node];
    return link < 0 ? -1 : this.graph.upper[link];
  }

  /** For each node its straight link upwards and downwards, or -1. */
  _findStraight() {
    const { graph } = this;
    this.straightUp = new Int32Array(graph.count).fill(-1);
    this.straightDown = new Int32Array(graph.count).fill(-1);
    graph.isStraight.forEach((isStraight, link) => {
      if (!isStraight) return;
      this.straightUp[graph.lower[link]] = link;
      this.straightDown[graph.upper[link]] = link;
    });
  }

  _markOutside(node, from, to) {
    const { up, place } = this.ordering;
    for (let k = up.start[node]; k < up.start[node + 1]; k += 1) {
      const link = up.rows[k];
      const above = this.graph.upper[link];
      const isOutside = place[above] < from || place[above] > to;
      if (isOutside && !this.graph.isStraight[link]) this.crossed[link] = 1;
    }
  }

  /** Chains nodes into vertical blocks; returns for each node the first of its block. */
  * _align(isDown, isLeft) {
    const { ordering, graph } = this;
    const root = new Int32Array(graph.count);
    for (let node = 0; node < root.length; node += 1) root[node] = node;
    const next = root.slice();
    let steps = 0;
    for (let k = 1; k < graph.layers; k += 1) {
      const layer = isDown ? k : graph.layers - 1 - k;
      const from = ordering.start[layer];
      const size = ordering.start[layer + 1] - from;
      let limit = isLeft ? -1 : 0x7fffffff;
      for (let j = 0; j < size; j += 1) {
        const node = ordering.nodes[from + (isLeft ? j : size - 1 - j)];
        this._findMedians(node, isDown, isLeft);
        for (let turn = 0; turn < 2 && next[node] === node; turn += 1) {
          const link = turn === 0 ? this.first : this.second;
          if (link < 0 || this.crossed[link]) continue;
          const other = isDown ? graph.upper[link] : graph.lower[link];
          const place = ordering.place[other];
          const wanted = isDown ? this.straightDown[other] : this.straightUp[other];
          if (wanted >= 0 && wanted !== link) continue;
          if (isLeft ? place <= limit : place >= limit) continue;
          next[other] = node;
          root[node] = root[other];
          next[node] = root[node];
          limit = place;
        }
      }
      steps += size;
      if (steps > SLICE) {
        steps = 0;
        yield;
      }
    }
    return root;
  }

  /** Sets `first` and `second` to the links to try: a straight one, else the middle one or two. */
  _findMedians(node, isUp, isLeft) {
    const { start, rows } = isUp ? this.ordering.up : this.ordering.down;
    const count = start[node + 1] - start[node];
    const straight = isUp ? this.straightUp[node] : this.straightDown[node];
    this.second = -1;
    this.first = straight;
    if (straight >= 0 || count === 0) return;
    const low = rows[start[node] + ((count - 1) >> 1)];
    const high = rows[start[node] + (count >> 1)];
    this.first = isLeft ? low : high;
    this.second = isLeft ? high : low;
  }

  _distance(left, right) {
    const gap = this.graph.isLane(left) && this.graph.isLane(right) ? this.gap / 2 : this.gap;
    return this.right[left] + this.left[right] + gap;
  }

  /** Packs the blocks to the left, then moves each as far right as its right neighbours allow. */
  * _pack(root, isLeft) {
    const [left, right] = isLeft ? [this.pairLeft, this.pairRight]
      : [this.pairRight, this.pairLeft];
    const width = this.pairWidth;
    const from = left.map((node) => root[node]);
    const to = right.map((node) => root[node]);
    const degree = new Int32Array(root.length);
    for (const block of to) degree[block] += 1;
    const { start, rows } = groupRows(from, root.length);
    yield;
    const order = [];
    const x = new Float64Array(root.length);
    for (let node = 0; node < root.length; node += 1) {
      if (root[node] === node && degree[node] === 0) order.push(node);
    }
    for (let k = 0; k < order.length; k += 1) {
      const block = order[k];
      for (let at = start[block]; at < start[block + 1]; at += 1) {
        const after = to[rows[at]];
        x[after] = Math.max(x[after], x[block] + width[rows[at]]);
        degree[after] -= 1;
        if (degree[after] === 0) order.push(after);
      }
      if (k % SLICE === SLICE - 1) yield;
    }
    for (let k = order.length - 1; k >= 0; k -= 1) {
      const block = order[k];
      let most = Infinity;
      for (let at = start[block]; at < start[block + 1]; at += 1) {
        most = Math.min(most, x[to[rows[at]]] - width[rows[at]]);
      }
      if (most !== Infinity) x[block] = Math.max(x[block], most);
    }
    yield;
    const sign = isLeft ? 1 : -1;
    const places = new Float64Array(root.length);
    for (let node = 0; node < root.length; node += 1) places[node] = sign * x[root[node]];
    return places;
  }

  _balance(results) {
    const { left, right } = this;
    for (const result of results) {
      result.low = Infinity;
      result.high = -Infinity;
      for (let node = 0; node < left.length; node += 1) {
        result.low = Math.min(result.low, result.x[node] - left[node]);
        result.high = Math.max(result.high, result.x[node] + right[node]);
      }
    }
    const narrow = results.reduce((a, b) => (b.high - b.low < a.high - a.low ? b : a));
    for (const result of results) {
      result.shift = result.isLeft ? narrow.low - result.low : narrow.high - result.high;
    }
    const x = new Float64Array(left.length);
    for (let node = 0; node < x.length; node += 1) {
      let [sum, low, high] = [0, Infinity, -Infinity];
      for (const result of results) {
        const place = result.x[node] + result.shift;
        sum += place;
        low = Math.min(low, place);
        high = Math.max(high, place);
      }
      x[node] = results.length === 4 ? (sum - low - high) / 2 : sum / 2;
    }
    return x;
  }
}
