// python/ebb/viz/page/model.js -- the graph's columns, indexed for questions about one node.
//
// The data stays as it came (docs/graph_json.md); a Model adds for each node the lists of its
// edges, outputs and saved tensors. Each list is a slice of one array, so 100,000 nodes cost no
// objects.

const KIND_NAMES = ["op", "leaf", "custom function", "view or write in place"];
const LEAF = 1;
// What the page says in words of its own; a further column of nodes shows under its name.
const KNOWN_COLUMNS = new Set(["name", "sequence", "module", "location", "kind", "freed",
  "attributes", "hooks", "stacks", "time_ns", "forward_ns", "backward_ns", "allocated"]);

/** Sorts the rows 0..keys.length-1 by key into one array; the rows of key k lie in start[k]... */
function groupRows(keys, count) {
  const start = new Int32Array(count + 1);
  for (let row = 0; row < keys.length; row += 1) if (keys[row] >= 0) start[keys[row] + 1] += 1;
  for (let key = 0; key < count; key += 1) start[key + 1] += start[key];
  const rows = new Int32Array(start[count]);
  const next = start.slice(0, count);
  for (let row = 0; row < keys.length; row += 1) {
    if (keys[row] >= 0) rows[next[keys[row]]++] = row;
  }
  return { start, rows };
}

/** Calls visit(row) for each row of one key. */
function eachRow(grouped, key, visit) {
  for (let k = grouped.start[key]; k < grouped.start[key + 1]; k += 1) visit(grouped.rows[k]);
}

function rowsOf(grouped, key) {
  const { start, rows } = grouped;
  const found = [];
  for (let k = start[key]; k < start[key + 1]; k += 1) found.push(rows[k]);
  return found;
}

class Model {
  constructor(data) {
    if (data.format !== "ebb.graph" || data.version !== 1) {
      throw new Error(`viewer: needs ebb.graph version 1, got ${data.format} ${data.version}`);
    }
    this.data = data;
    this.count = data.nodes.name.length;
    this.edgeCount = data.edges.from.length;
    this.outEdges = groupRows(data.edges.from, this.count);
    this.inEdges = groupRows(data.edges.to, this.count);
    this.outputs = groupRows(data.outputs.node, this.count);
    this.saved = groupRows(data.saved.node, this.count);
    this.leafRow = new Int32Array(this.count).fill(-1);
    data.leaves.node.forEach((node, row) => { this.leafRow[node] = row; });
    this.base = new Int32Array(this.count).fill(-1);
    data.views.node.forEach((node, row) => { this.base[node] = data.views.base[row]; });
    this.isRoot = new Uint8Array(this.count);
    for (const node of data.roots.node) this.isRoot[node] = 1;
    this.hasTimes = Array.isArray(data.nodes.time_ns);
    this.sharers = this._findSharers();
    this.draw(false);
  }

  /** Edges are drawn along the gradients or, forward, along the values: see flowEnds(). */
  draw(isForward) {
    const { from, to } = this.data.edges;
    this.isForward = isForward;
    this.flow = isForward ? { edges: this.inEdges, ends: from }
      : { edges: this.outEdges, ends: to };
  }

  /** The nodes at the upper and lower end of an edge as it is drawn. */
  flowEnds(edge) {
    const { from, to } = this.data.edges;
    return this.isForward ? [to[edge], from[edge]] : [from[edge], to[edge]];
  }

  _findSharers() {
    const rows = new Map();
    this.data.saved.storage.forEach((id, row) => {
      if (id < 0) return;
      const known = rows.get(id);
      if (known) known.push(row);
      else rows.set(id, [row]);
    });
    return rows;
  }

  text(index) { return index >= 0 ? this.data.strings[index] : ""; }
  name(node) { return this.text(this.data.nodes.name[node]); }
  isLeaf(node) { return this.data.nodes.kind[node] === LEAF; }

  leafName(node) {
    const row = this.leafRow[node];
    return row >= 0 ? this.text(this.data.leaves.name[row]) : "";
  }

  /** What the box and the tree say: a leaf's own name where it has one, else the op. */
  label(node) { return this.leafName(node) || this.name(node); }

  modulePath(node) {
    const module = this.data.nodes.module[node];
    return module >= 0 ? this.text(this.data.modules.path[module]) : "";
  }

  shapeText(shape) {
    return shape >= 0 ? `[${this.data.shapes[shape].join(", ")}]` : "[?]";
  }

  tensorText(table, row) {
    return `${this.text(table.dtype[row])} ${this.shapeText(table.shape[row])}`.trim();
  }

  /** The second line of a box: what the op made forward. */
  outputText(node) {
    const { start, rows } = this.outputs;
    const count = start[node + 1] - start[node];
    if (count === 0) return "";
    const more = count > 1 ? ` +${count - 1}` : "";
    return this.tensorText(this.data.outputs, rows[start[node]]) + more;
  }

  /** The row of `outputs` that holds what flows along an edge; -1 if the data lacks it. */
  flowRow(edge) {
    const { to, output } = this.data.edges;
    const { start, rows } = this.outputs;
    for (let k = start[to[edge]]; k < start[to[edge] + 1]; k += 1) {
      if (this.data.outputs.index[rows[k]] === output[edge]) return rows[k];
    }
    return -1;
  }

  flowText(edge) {
    const row = this.flowRow(edge);
    return row < 0 ? "unknown" : this.tensorText(this.data.outputs, row);
  }

  /** Whether a gradient is wanted where an edge leads to: not by leaves that were told so. */
  wantsGradient(edge) {
    const row = this.leafRow[this.data.edges.to[edge]];
    return row < 0 || this.data.leaves.requires_grad[row] !== 0;
  }

  /** Names and values of a node's columns that the page does not know; -1 stands for none. */
  further(node) {
    return Object.entries(this.data.nodes).filter(([name]) => !KNOWN_COLUMNS.has(name))
      .map(([name, column]) => [name.replaceAll("_", " "), column[node]])
      .map(([name, value]) => [name, value === -1 ? "" : String(value)]);
  }

  dtype(node) { return this._firstOutput(node, "dtype"); }
  device(node) { return this._firstOutput(node, "device"); }

  _firstOutput(node, column) {
    const { start, rows } = this.outputs;
    if (start[node] === start[node + 1]) return "";
    return this.text(this.data.outputs[column][rows[start[node]]]);
  }

  location(index) {
    if (index < 0) return null;
    const { file, line, function: fn } = this.data.locations;
    return { file: this.text(file[index]), line: line[index], fn: this.text(fn[index]) };
  }

  locationText(index) {
    const at = this.location(index);
    if (!at) return "";
    return `${at.file}:${at.line}${at.fn ? ` in ${at.fn}` : ""}`;
  }

  savedBytes(node) {
    let sum = 0;
    eachRow(this.saved, node, (row) => { sum += this.data.saved.bytes[row]; });
    return sum;
  }

  time(node) { return this.hasTimes ? Math.max(0, this.data.nodes.time_ns[node]) : 0; }

  /** Bytes that the nodes keep alive: tensors that share a storage count once, by the largest. */
  uniqueBytes(nodes) {
    const largest = new Map();
    let sum = 0;
    for (const node of nodes) {
      eachRow(this.saved, node, (row) => {
        const id = this.data.saved.storage[row];
        const bytes = this.data.saved.bytes[row];
        const before = id >= 0 ? largest.get(id) || 0 : 0;
        if (bytes > before) {
          sum += bytes - before;
          if (id >= 0) largest.set(id, bytes);
        }
      });
    }
    return sum;
  }

  /** Marks all that is reached from `starts`: against the flow (up) or along it (down). */
  reach(starts, isUp, marks = new Uint8Array(this.count)) {
    const grouped = isUp ? this.inEdges : this.outEdges;
    const ends = isUp ? this.data.edges.from : this.data.edges.to;
    const seen = new Uint8Array(this.count);
    const stack = Array.from(starts);
    for (const node of stack) seen[node] = 1;
    while (stack.length > 0) {
      const node = stack.pop();
      marks[node] = 1;
      for (let k = grouped.start[node]; k < grouped.start[node + 1]; k += 1) {
        const next = ends[grouped.rows[k]];
        if (!seen[next]) {
          seen[next] = 1;
          stack.push(next);
        }
      }
    }
    return marks;
  }
}

function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

function timeText(ns) {
  if (ns < 1000) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${(ns / 1e3).toFixed(1)} us`;
  return ns < 1e9 ? `${(ns / 1e6).toFixed(2)} ms` : `${(ns / 1e9).toFixed(2)} s`;
}

/** A whole number with commas; toLocaleString() would first load its tables, for 20 ms. */
function numberText(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

function countText(count, noun) {
  return `${numberText(count)} ${noun}${count === 1 ? "" : "s"}`;
}
