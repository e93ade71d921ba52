// python/ebb/viz/page/groups.js -- modules as groups of nodes that fold, repeated siblings as one.
//
// Group 0 is the whole graph; steps of loops (steps.js) are groups too. Nodes are sorted so that a
// group with all below it is one slice of `members`. A run stands for equal siblings with
// consecutive numbers, such as layers.0 to layers.47.

const MIN_RUN = 3;

class Groups {
  constructor(model) {
    this.model = model;
    this.label = ["graph"];
    this.path = [""];
    this.type = [""];
    this.parent = [-1];
    this.repeat = [0];  // how many siblings a run stands for
    this._addModules();
    this.home = this._findHomes();
    this._findSteps();
    this._findRuns();
    this._sortMembers();
    this.count = this.label.length;
    this.open = new Uint8Array(this.count);
    this.open[0] = 1;
  }

  _add(label, path, type, parent, repeat) {
    this.label.push(label);
    this.path.push(path);
    this.type.push(type);
    this.parent.push(parent);
    this.repeat.push(repeat);
    return this.label.length - 1;
  }

  _addModules() {
    const { path, type, parent } = this.model.data.modules;
    this.byPath = new Map();
    for (let module = 0; module < path.length; module += 1) {
      const full = this.model.text(path[module]);
      const kind = this.model.text(type[module]);
      const above = parent[module] + 1;
      const prefix = this.path[above] ? `${this.path[above]}.` : "";
      const label = full.startsWith(prefix) ? full.slice(prefix.length) : full;
      this.byPath.set(full, this._add(label || kind || "model", full, kind, above, 0));
    }
  }

  /** The group of each node. A leaf belongs where its name says, else where all its users are;
   *  python/ebb/graphs/repeats.py says the same of pictures. */
  _findHomes() {
    const { model } = this;
    const home = new Int32Array(model.count);
    for (let node = 0; node < model.count; node += 1) {
      const module = model.data.nodes.module[node];
      if (module >= 0) home[node] = module + 1;
    }
    for (const node of model.data.leaves.node) {
      const name = model.leafName(node);
      const owner = this.byPath.get(name.slice(0, Math.max(0, name.lastIndexOf("."))));
      home[node] = owner === undefined || !name ? this._commonHome(node, home) : owner;
    }
    return home;
  }

  _commonHome(node, home) {
    let common = -1;
    eachRow(this.model.inEdges, node, (edge) => {
      const user = home[this.model.data.edges.from[edge]];
      common = common < 0 ? user : this.commonAncestor(common, user);
    });
    return Math.max(common, 0);
  }

  /** Groups above have smaller numbers than those below, except for runs, which come last. */
  commonAncestor(one, other) {
    const above = new Set();
    for (let group = one; group >= 0; group = this.parent[group]) above.add(group);
    let group = other;
    while (!above.has(group)) group = this.parent[group];
    return group;
  }

  /** Steps of a loop become groups below one for all of them; a leaf of one step goes there. */
  _findSteps() {
    const loops = new Loops(this.model);
    const own = groupRows(this.home, this.label.length);
    const modules = this.label.length;
    for (let group = 0; group < modules; group += 1) {
      const ops = rowsOf(own, group).filter((node) => !this.model.isLeaf(node)).reverse();
      for (const [begin, step, times] of loops.find(ops)) {
        const all = this._addSteps(group);
        for (let k = 0; k < times; k += 1) {
          const made = this._add(String(k), `${this.path[all]}.${k}`, "", all, 0);
          for (let at = 0; at < step; at += 1) this.home[ops[begin + k * step + at]] = made;
        }
      }
    }
    if (this.label.length === modules) return;
    for (const node of this.model.data.leaves.node) {
      const step = this._commonHome(node, this.home);
      const all = this.parent[step];
      if (all >= modules && this.parent[all] === this.home[node]) this.home[node] = step;
    }
  }

  _addSteps(group) {
    const prefix = this.path[group] ? `${this.path[group]}.` : "";
    let label = "step";
    for (let k = 2; this.byPath.has(prefix + label); k += 1) label = `step${k}`;
    const made = this._add(label, prefix + label, "", group, 0);
    this.byPath.set(prefix + label, made);
    return made;
  }

  /** A number per module that is equal for modules of equal type and equal children. */
  _signatures() {
    const count = this.label.length;
    const text = new Map();
    const number = (key) => {
      if (!text.has(key)) text.set(key, text.size);
      return text.get(key);
    };
    const children = Array.from({ length: count }, () => []);
    const signature = new Int32Array(count);
    for (let group = count - 1; group >= 0; group -= 1) {  // children before their parents
      signature[group] = number(`${this.type[group]}(${children[group].reverse().join()})`);
      if (group > 0) {
        children[this.parent[group]].push(`${this.label[group]}:${signature[group]}`);
      }
    }
    return signature;
  }

  _findRuns() {
    const signature = this._signatures();
    const own = new Int32Array(this.label.length);
    for (const group of this.home) own[group] += 1;
    const siblings = groupRows(this.parent, this.label.length);
    for (let group = 0, count = this.label.length; group < count; group += 1) {
      const children = rowsOf(siblings, group);
      if (children.length < MIN_RUN) continue;
      for (const run of this._runsAmong(children, signature)) {
        if (run.length === children.length && own[group] === 0 && group > 0) {
          this.repeat[group] = run.length;  // a list of layers: the list itself is the run
        } else {
          this._makeRun(group, run);
        }
      }
    }
  }

  _runsAmong(children, signature) {
    const runs = [];
    let run = [];
    let before = null;
    for (const child of children) {
      const [, stem, digits] = /^(.*?)(\d*)$/.exec(this.label[child]);
      const now = { stem, number: digits === "" ? -1 : Number(digits), key: signature[child] };
      const continues = before !== null && now.number === before.number + 1 &&
        now.stem === before.stem && now.key === before.key && before.number >= 0;
      if (!continues) {
        if (run.length >= MIN_RUN) runs.push(run);
        run = [];
      }
      run.push(child);
      before = now;
    }
    if (run.length >= MIN_RUN) runs.push(run);
    return runs;
  }

  _makeRun(parent, run) {
    const first = this.label[run[0]];
    const last = /\d+$/.exec(this.label[run[run.length - 1]])[0];
    const label = `${first}..${last}`;
    const prefix = this.path[parent] ? `${this.path[parent]}.` : "";
    const made = this._add(label, prefix + label, this.type[run[0]], parent, run.length);
    for (const child of run) this.parent[child] = made;
  }

  _sortMembers() {
    const count = this.label.length;
    const own = groupRows(this.home, count);
    this.own = own;
    this.children = groupRows(this.parent, count);
    this.start = new Int32Array(count);
    this.end = new Int32Array(count);
    this.first = new Int32Array(count).fill(0x7fffffff);
    this.last = new Int32Array(count).fill(-1);  // of the ops: leaves come after all of those
    this.depth = new Int32Array(count);
    this.members = new Int32Array(this.model.count);
    let filled = 0;
    const stack = [0];
    while (stack.length > 0) {
      const group = stack.pop();
      if (group < 0) {  // all below ~group is done
        this._close(~group, filled);
        continue;
      }
      this.start[group] = filled;
      this.depth[group] = group === 0 ? 0 : this.depth[this.parent[group]] + 1;
      eachRow(own, group, (node) => { this.members[filled++] = node; });
      if (own.start[group] < own.start[group + 1]) this.first[group] = own.rows[own.start[group]];
      eachRow(own, group, (node) => { if (!this.model.isLeaf(node)) this.last[group] = node; });
      stack.push(~group);
      for (const child of rowsOf(this.children, group).reverse()) stack.push(child);
    }
  }

  _close(group, filled) {
    this.end[group] = filled;
    const above = this.parent[group];
    if (above < 0) return;
    this.first[above] = Math.min(this.first[above], this.first[group]);
    this.last[above] = Math.max(this.last[above], this.last[group]);
  }

  size(group) { return this.end[group] - this.start[group]; }
  nodesOf(group) { return this.members.subarray(this.start[group], this.end[group]); }

  /** The groups directly below that hold any node. */
  childrenOf(group) {
    return rowsOf(this.children, group).filter((child) => this.size(child) > 0);
  }

  ownNodes(group) {
    return this.own.rows.subarray(this.own.start[group], this.own.start[group + 1]);
  }

  /** The text on a group's box; a run says what it stands for. */
  title(group) {
    const repeat = this.repeat[group];
    if (repeat === 0) return this.label[group];
    if (this.label[group].includes("..")) return `${this.label[group]} \u00d7 ${repeat}`;
    return `${this.label[group]}.0..${repeat - 1} \u00d7 ${repeat}`;
  }

  /** Opens groups from the top while at most `budget` boxes show; runs stay folded. */
  openByDefault(budget) {
    this.open.fill(0);
    this.open[0] = 1;
    let shown = this.childrenOf(0).length + this.ownNodes(0).length;
    let queue = this.childrenOf(0);
    while (queue.length > 0) {
      const next = [];
      for (const group of queue) {
        const children = this.childrenOf(group);
        const inside = children.length + this.ownNodes(group).length;
        if (this.repeat[group] > 0 || shown + inside - 1 > budget) continue;
        this.open[group] = 1;
        shown += inside - 1;
        next.push(...children);
      }
      queue = next;
    }
  }

  openAll(isOpen) {
    this.open.fill(isOpen ? 1 : 0);
    this.open[0] = 1;
  }

  /** Opens all groups around a group or a node's home; returns whether any was folded. */
  reveal(group) {
    let changed = false;
    for (let above = group; above > 0; above = this.parent[above]) {
      if (!this.open[above]) changed = true;
      this.open[above] = 1;
    }
    return changed;
  }
}
