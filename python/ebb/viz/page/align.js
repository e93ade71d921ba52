// python/ebb/viz/page/align.js -- x of each node of a layered graph: straight lanes, no overlap.
//
// The method of Brandes and Koepf: each node is lined up with the median of its neighbours, once
// for each of four corners; blocks of lined-up nodes are packed; x is the mean of the middle two
// of the four results. Pieces of lanes and of the main flow win, so long edges are straight.

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
    yield* this._markConflicts();
    const results = [];
    for (const isDown of [true, false]) {
      for (const isLeft of [true, false]) {
        const root = yield* this._align(isDown, isLeft);
        results.push({ isLeft, x: yield* this._pack(root, isLeft) });
      }
    }
    return this._balance(results);
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
    const root = Int32Array.from({ length: graph.count }, (_, node) => node);
    const next = root.slice();
    let steps = 0;
    for (let k = 1; k < graph.layers; k += 1) {
      const layer = isDown ? k : graph.layers - 1 - k;
      const from = ordering.start[layer];
      const size = ordering.start[layer + 1] - from;
      let limit = isLeft ? -1 : 0x7fffffff;
      for (let j = 0; j < size; j += 1) {
        const node = ordering.nodes[from + (isLeft ? j : size - 1 - j)];
        for (const link of this._medians(node, isDown, isLeft)) {
          const other = isDown ? graph.upper[link] : graph.lower[link];
          const place = ordering.place[other];
          const wanted = isDown ? this.straightDown[other] : this.straightUp[other];
          const isFree = (wanted < 0 || wanted === link) &&
            (isLeft ? place > limit : place < limit);
          if (next[node] !== node || this.crossed[link] || !isFree) continue;
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

  /** The links to try, best first: a straight one, else the middle one or two. */
  _medians(node, isUp, isLeft) {
    const { start, rows } = isUp ? this.ordering.up : this.ordering.down;
    const count = start[node + 1] - start[node];
    if (count === 0) return [];
    const straight = isUp ? this.straightUp[node] : this.straightDown[node];
    if (straight >= 0) return [straight];
    const middle = start[node] + (count - 1) / 2;
    const [first, second] = [rows[Math.floor(middle)], rows[Math.ceil(middle)]];
    if (first === second) return [first];
    return isLeft ? [first, second] : [second, first];
  }

  _distance(left, right) {
    const gap = this.graph.isLane(left) && this.graph.isLane(right) ? this.gap / 2 : this.gap;
    return this.right[left] + this.left[right] + gap;
  }

  /** Packs the blocks to the left, then moves each as far right as its right neighbours allow. */
  * _pack(root, isLeft) {
    const { ordering, graph } = this;
    const from = [];
    const to = [];
    const width = [];
    const degree = new Int32Array(graph.count);
    for (let layer = 0; layer < graph.layers; layer += 1) {
      for (let k = ordering.start[layer] + 1; k < ordering.start[layer + 1]; k += 1) {
        const left = ordering.nodes[k - 1];
        const right = ordering.nodes[k];
        from.push(root[isLeft ? left : right]);
        to.push(root[isLeft ? right : left]);
        width.push(this._distance(left, right));
        degree[to[to.length - 1]] += 1;
      }
    }
    yield;
    const after = groupRows(from, graph.count);
    const order = [];
    const x = new Float64Array(graph.count);
    for (let node = 0; node < graph.count; node += 1) {
      if (root[node] === node && degree[node] === 0) order.push(node);
    }
    for (let k = 0; k < order.length; k += 1) {
      const block = order[k];
      eachRow(after, block, (row) => {
        x[to[row]] = Math.max(x[to[row]], x[block] + width[row]);
        degree[to[row]] -= 1;
        if (degree[to[row]] === 0) order.push(to[row]);
      });
      if (k % SLICE === SLICE - 1) yield;
    }
    for (let k = order.length - 1; k >= 0; k -= 1) {
      let most = Infinity;
      eachRow(after, order[k], (row) => { most = Math.min(most, x[to[row]] - width[row]); });
      if (most !== Infinity) x[order[k]] = Math.max(x[order[k]], most);
    }
    yield;
    const sign = isLeft ? 1 : -1;
    return Float64Array.from(root, (block) => sign * x[block]);
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
    const four = new Float64Array(4);
    return Float64Array.from(left, (_, node) => {
      for (let k = 0; k < 4; k += 1) four[k] = results[k].x[node] + results[k].shift;
      four.sort();
      return (four[1] + four[2]) / 2;
    });
  }
}
