// python/ebb/viz/page/scene.js -- what is on the canvas: items (boxes) and links (drawn edges).
//
// An item is an op, a folded group or an open group; item 0 is the whole graph. A visible edge
// joins two items; it may pass the borders of open groups, so it is drawn as one link per level.
// Columns again: item i is row i of kind, ref, parent, x, y, w, h.

const OP = 0;
const FOLDED = 1;
const OPEN = 2;

class Scene {
  constructor(model, groups) {
    this.model = model;
    this.groups = groups;
    this.kind = [];
    this.ref = [];  // the node of an op, the group of the others
    this.parent = [];
    this.depth = [];
    this.itemOfNode = new Int32Array(model.count);
    this.itemOfGroup = new Int32Array(groups.count).fill(-1);
    this.edgeFrom = [];  // visible edges, between items
    this.edgeTo = [];
    this.edgeCount = [];  // how many of the graph's edges each one stands for
    this.edgeFirst = [];
  }

  /** Takes the places of items and the links of edges (kernel.js). */
  take(columns) {
    const { pointStart, pointEnd, points, linkLevel } = columns;
    // linkLevel: the open item in which a link is drawn; linkFrom, linkTo: an item, or ~port;
    // linkTail: the link whose lane this one joins, or -1; x, y, w, h of items;
    // links of visible edge e: linkList[edgeLinks[e]] to linkList[edgeLinks[e + 1]].
    Object.assign(this, columns);
    // Of each link: x, y, x, y, ... from top to bottom.
    this.points = Array.from(linkLevel, (_, link) =>
      points.subarray(2 * pointStart[link], 2 * pointEnd[link]));
    this.linkCount = new Int32Array(linkLevel.length);
    this.linkFirst = new Array(linkLevel.length).fill(-1);
    for (let edge = 0; edge < this.edgeFrom.length; edge += 1) {
      for (let k = this.edgeLinks[edge]; k < this.edgeLinks[edge + 1]; k += 1) {
        const link = this.linkList[k];
        if (this.linkFirst[link] < 0) this.linkFirst[link] = this.edgeFirst[edge];
        this.linkCount[link] += this.edgeCount[edge];
      }
    }
  }

  get count() { return this.kind.length; }

  add(kind, ref, parent) {
    this.kind.push(kind);
    this.ref.push(ref);
    this.parent.push(parent);
    this.depth.push(parent < 0 ? 0 : this.depth[parent] + 1);
    return this.kind.length - 1;
  }

  /** The nodes for which an item stands. */
  nodesOf(item) {
    return this.kind[item] === OP ? [this.ref[item]] : this.groups.nodesOf(this.ref[item]);
  }

  /** The place of an item in the common order from top to bottom: that of its first node. */
  first(item) {
    const ref = this.ref[item];
    const { first, last } = this.groups;
    if (!this.model.isForward) return this.kind[item] === OP ? ref : first[ref];
    return -(this.kind[item] === OP ? ref : last[ref] < 0 ? first[ref] : last[ref]);
  }

  title(item) {
    if (this.kind[item] === OP) return this.model.label(this.ref[item]);
    return this.groups.title(this.ref[item]);
  }

  /** The item that shows a group: its own, or the folded one around it. */
  itemShowing(group) {
    for (let above = group; above >= 0; above = this.groups.parent[above]) {
      if (this.itemOfGroup[above] >= 0) return this.itemOfGroup[above];
    }
    return 0;
  }

  isInside(item, ancestor) {
    let above = item;
    while (above > ancestor) above = this.parent[above];
    return above === ancestor;
  }

  /** The graph's edges for which a link stands, at most `limit` of them. */
  edgesOf(link, limit) {
    const found = [];
    const joined = new Set([link]);
    this.linkTail.forEach((owner, other) => { if (owner === link) joined.add(other); });
    for (let edge = 0; edge < this.edgeFrom.length && found.length < limit; edge += 1) {
      for (let k = this.edgeLinks[edge]; k < this.edgeLinks[edge + 1]; k += 1) {
        if (!joined.has(this.linkList[k])) continue;
        this._addEdges(edge, found, limit);
        break;
      }
    }
    return found;
  }

  _addEdges(edge, found, limit) {
    const { model } = this;
    for (const node of this.nodesOf(this.edgeFrom[edge])) {
      eachRow(model.flow.edges, node, (row) => {
        const isSame = this.itemOfNode[model.flow.ends[row]] === this.edgeTo[edge];
        if (isSame && found.length < limit) found.push(row);
      });
    }
  }

  /** Adds what is drawn of a visible edge to `links`, the shared part of lanes included. */
  addLinksOf(edge, links) {
    for (let k = this.edgeLinks[edge]; k < this.edgeLinks[edge + 1]; k += 1) {
      links.add(this.linkList[k]);
    }
  }

  /** Builds the index: which items and links touch a cell of a grid over the picture. */
  * makeIndex() {
    this.items = new SpatialIndex(this.w[0], this.h[0], this.count);
    for (let item = 1; item < this.count; item += 1) {
      const right = this.x[item] + this.w[item];
      this.items.add(item, this.x[item], this.y[item], right, this.y[item] + this.h[item]);
      if (item % SLICE === 0) yield;
    }
    this.links = new SpatialIndex(this.w[0], this.h[0], this.points.length);
    for (let link = 0; link < this.points.length; link += 1) {
      this.links.add(link, ...boundsOf(this.points[link]));
      if (link % SLICE === 0) yield;
    }
    this.items.finish();
    yield;
    this.links.finish();
  }

  /** The innermost item at a point, or -1. Inside an open group only its title counts. */
  itemAt(x, y) {
    let best = -1;
    this.items.query(x, y, x, y, (item) => {
      const isIn = x >= this.x[item] && x <= this.x[item] + this.w[item] &&
        y >= this.y[item] && y <= this.y[item] + this.h[item];
      if (isIn && item > best) best = item;
    });
    return best;
  }

  /** The link nearest to a point within `reach`, or -1. */
  linkAt(x, y, reach) {
    let best = -1;
    let least = reach;
    this.links.query(x - reach, y - reach, x + reach, y + reach, (link) => {
      const distance = distanceTo(this.points[link], x, y);
      if (distance < least) {
        least = distance;
        best = link;
      }
    });
    return best;
  }
}

function boundsOf(points) {
  let [left, top] = points;
  let [right, bottom] = points;
  for (let k = 2; k < points.length; k += 2) {
    left = Math.min(left, points[k]);
    right = Math.max(right, points[k]);
    top = Math.min(top, points[k + 1]);
    bottom = Math.max(bottom, points[k + 1]);
  }
  return [left, top, right, bottom];
}

/** Distance from a point to a link; a bend is taken as six straight pieces. */
function distanceTo(points, x, y) {
  let least = Infinity;
  for (let k = 2; k < points.length; k += 2) {
    const [x0, y0, x1, y1] = points.slice(k - 2, k + 2);
    const pieces = x0 === x1 ? 1 : 6;
    let [px, py] = [x0, y0];
    for (let piece = 1; piece <= pieces; piece += 1) {
      const t = piece / pieces;
      const bend = t * t * (3 - 2 * t);
      const [qx, qy] = [x0 + (x1 - x0) * bend, y0 + (y1 - y0) * t];
      least = Math.min(least, distanceToPiece(x, y, px, py, qx, qy));
      [px, py] = [qx, qy];
    }
  }
  return least;
}

function distanceToPiece(x, y, x0, y0, x1, y1) {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const length = dx * dx + dy * dy;
  const t = length === 0 ? 0 : ((x - x0) * dx + (y - y0) * dy) / length;
  const at = Math.min(1, Math.max(0, t));
  return Math.hypot(x - x0 - at * dx, y - y0 - at * dy);
}

/** A grid of about count / 4 cells; what spans many cells is kept aside and always tested. */
class SpatialIndex {
  constructor(width, height, count) {
    const cells = Math.max(1, count / 4);
    const side = Math.max(40, Math.sqrt(Math.max(1, width * height) / cells));
    this.side = side;
    this.columns = Math.max(1, Math.ceil(width / side));
    this.rows = Math.max(1, Math.ceil(height / side));
    this.bounds = new Float32Array(count * 4);
    this.cell = [];
    this.entry = [];
    this.large = [];
    this.stamp = new Int32Array(count);
    this.now = 0;
  }

  _clamp(value, most) { return Math.min(most, Math.max(0, Math.floor(value / this.side))); }

  _range(left, top, right, bottom) {
    return [this._clamp(left, this.columns - 1), this._clamp(top, this.rows - 1),
      this._clamp(right, this.columns - 1), this._clamp(bottom, this.rows - 1)];
  }

  add(id, left, top, right, bottom) {
    this.bounds.set([left, top, right, bottom], id * 4);
    const [c0, r0, c1, r1] = this._range(left, top, right, bottom);
    if ((c1 - c0 + 1) * (r1 - r0 + 1) > 64) {
      this.large.push(id);
      return;
    }
    for (let row = r0; row <= r1; row += 1) {
      for (let column = c0; column <= c1; column += 1) {
        this.cell.push(row * this.columns + column);
        this.entry.push(id);
      }
    }
  }

  finish() {
    const grouped = groupRows(this.cell, this.columns * this.rows);
    this.start = grouped.start;
    this.ids = grouped.rows.map((row) => this.entry[row]);
    this.cell = null;
    this.entry = null;
  }

  _test(id, left, top, right, bottom, visit) {
    const at = id * 4;
    if (this.stamp[id] === this.now) return;
    this.stamp[id] = this.now;
    const { bounds } = this;
    if (bounds[at] > right || bounds[at + 2] < left) return;
    if (bounds[at + 1] > bottom || bounds[at + 3] < top) return;
    visit(id);
  }

  query(left, top, right, bottom, visit) {
    this.now += 1;
    for (const id of this.large) this._test(id, left, top, right, bottom, visit);
    const [c0, r0, c1, r1] = this._range(left, top, right, bottom);
    for (let row = r0; row <= r1; row += 1) {
      const from = this.start[row * this.columns + c0];
      const to = this.start[row * this.columns + c1 + 1];
      for (let k = from; k < to; k += 1) {
        this._test(this.ids[k], left, top, right, bottom, visit);
      }
    }
  }
}
