// python/ebb/viz/page/details.js -- everything that the data says about what is selected.

const MAX_LISTED = 200;

class Details {
  constructor(app, element) {
    this.app = app;
    this.element = element;
  }

  render() {
    const { selected } = this.app;
    let parts;
    if (!selected) parts = this._overview();
    else if (selected.kind === "node") parts = this._node(selected.id);
    else if (selected.kind === "group") parts = this._group(selected.id);
    else parts = this._edges(selected.edges, selected.total);
    this.element.replaceChildren(...parts.filter(Boolean));
    this.element.scrollTop = 0;
  }

  _section(title, ...content) {
    return h("section", {}, h("h3", {}, title), ...content);
  }

  _list(rows) {
    const list = h("dl", {});
    for (const [term, value] of rows) {
      if (value === "" || value === null || value === undefined) continue;
      list.append(h("dt", {}, term), h("dd", {}, value));
    }
    return list;
  }

  _table(title, head, rows) {
    if (rows.length === 0) return null;
    const shown = rows.slice(0, MAX_LISTED);
    const body = h("tbody", {}, ...shown.map(
      (row) => h("tr", {}, ...row.map((cell) => h("td", {}, cell)))));
    const line = h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)));
    const table = h("table", {}, h("thead", {}, line), body);
    const more = rows.length > shown.length
      ? [h("p", { class: "note" }, `and ${rows.length - shown.length} more`)] : [];
    return this._section(`${title} (${rows.length})`, table, ...more);
  }

  nodeLink(node) {
    return h("button", { class: "ref", type: "button", "data-node": node,
      onclick: () => this.app.show({ kind: "node", id: node }) },
    ...breakable(`${this.app.model.label(node)} #${node}`));
  }

  groupLink(group) {
    const { groups } = this.app;
    return h("button", { class: "ref", type: "button",
      onclick: () => this.app.show({ kind: "group", id: group }) },
    groups.path[group] || groups.label[group]);
  }

  _overview() {
    const { model, groups } = this.app;
    const all = groups.nodesOf(0);
    const leaves = model.data.leaves.node.length;
    return [
      h("h2", {}, "Backward graph"),
      this._list([
        ["nodes", numberText(model.count)],
        ["edges", numberText(model.edgeCount)],
        ["leaves", numberText(leaves)],
        ["modules", numberText(model.data.modules.path.length)],
        ["saved", `${bytesText(model.uniqueBytes(all))}, shared memory once`],
        ["time", model.hasTimes ? timeText(this._timeOf(all)) : ""],
      ]),
      this._table("Roots", ["node", "output"], model.data.roots.node.map(
        (node, row) => [this.nodeLink(node), String(model.data.roots.output[row])])),
      this._histogram(all),
      h("p", { class: "note" }, "Select a box for its details. Press ? for all keys."),
    ];
  }

  _timeOf(nodes) {
    let sum = 0;
    for (const node of nodes) sum += this.app.model.time(node);
    return sum;
  }

  /** A node's time, or that of one direction, where a profile has it. */
  _part(column, node) {
    const times = this.app.model.data.nodes[column];
    return times && times[node] >= 0 ? timeText(times[node]) : "";
  }

  _allocatedBy(nodes) {
    const { allocated } = this.app.model.data.nodes;
    if (!allocated) return "";
    return bytesText(nodes.reduce((sum, node) => sum + allocated[node], 0));
  }

  _histogram(nodes) {
    const { model } = this.app;
    const counts = new Map();
    for (const node of nodes) {
      const name = model.name(node);
      counts.set(name, (counts.get(name) || 0) + 1);
    }
    const rows = [...counts].sort((a, b) => b[1] - a[1])
      .map(([name, count]) => [name, numberText(count)]);
    return this._table("Ops", ["op", "nodes"], rows);
  }

  _group(group) {
    const { model, groups } = this.app;
    const nodes = groups.nodesOf(group);
    const isOpen = groups.open[group];
    return [
      h("h2", {}, groups.title(group)),
      this._list([
        ["kind", groups.repeat[group] ? `${groups.repeat[group]} siblings of one make` : "module"],
        ["path", groups.path[group]],
        ["class", groups.type[group]],
        ["inside", groups.parent[group] > 0 ? this.groupLink(groups.parent[group]) : ""],
        ["nodes", numberText(nodes.length)],
        ["saved", bytesText(model.uniqueBytes(nodes))],
        ["time", model.hasTimes ? timeText(this._timeOf(nodes)) : ""],
        ["allocated", this._allocatedBy(nodes)],
      ]),
      group === 0 ? null : h("p", {}, h("button", { type: "button",
        onclick: () => this.app.toggleGroup(group) }, isOpen ? "Fold" : "Unfold")),
      this._table("Groups inside", ["module", "nodes"], groups.childrenOf(group).map(
        (child) => [this.groupLink(child), numberText(groups.size(child))])),
      this._histogram(nodes),
    ];
  }

  _node(node) {
    const { model } = this.app;
    const { nodes } = model.data;
    const module = nodes.module[node];
    const base = model.base[node];
    return [
      h("h2", {}, model.label(node)),
      this._list([
        ["op", model.name(node)],
        ["kind", KIND_NAMES[nodes.kind[node]]],
        ["node", `#${node}`],
        ["sequence", nodes.sequence[node] >= 0 ? String(nodes.sequence[node]) : "none"],
        ["module", module >= 0 ? this.groupLink(module + 1) : ""],
        ["class", module >= 0 ? model.text(model.data.modules.type[module]) : ""],
        ["line", this._place(nodes.location[node])],
        ["freed", nodes.freed && nodes.freed[node] ? "yes, what it had saved" : ""],
        ["root", this._rootText(node)],
        ["view of", base >= 0 ? this.nodeLink(base) : ""],
        ["base of", this._viewsOf(node)],
        ["time", this._part("time_ns", node)],
        ["forward", this._part("forward_ns", node)],
        ["backward", this._part("backward_ns", node)],
        ["allocated", nodes.allocated ? bytesText(nodes.allocated[node]) : ""],
        ...model.further(node),
      ]),
      this._leaf(node),
      this._attributes(node),
      this._stack(node),
      this._hooks(node),
      this._outputs(node),
      this._saved(node),
      this._neighbours("Gradient comes from", model.inEdges, node, true),
      this._neighbours("Gradient flows to", model.outEdges, node, false),
      h("p", {}, h("button", { type: "button", onclick: () => this.app.copyLink() }, "Copy link")),
    ];
  }

  _place(location) {
    return location < 0 ? "" : h("span", {}, ...breakable(this.app.model.locationText(location)));
  }

  _rootText(node) {
    const { roots } = this.app.model.data;
    const outputs = roots.output.filter((_, row) => roots.node[row] === node);
    return outputs.length > 0 ? `gradients start at output ${outputs.join(", ")}` : "";
  }

  _viewsOf(node) {
    const { views } = this.app.model.data;
    const found = views.node.filter((_, row) => views.base[row] === node);
    if (found.length === 0) return "";
    return h("span", {}, ...found.slice(0, MAX_LISTED).flatMap(
      (view, k) => [k > 0 ? ", " : "", this.nodeLink(view)]));
  }

  _leaf(node) {
    const { model } = this.app;
    const row = model.leafRow[node];
    if (row < 0) return null;
    const { leaves } = model.data;
    return this._section("Leaf", this._list([
      ["name", model.text(leaves.name[row]) || "none given"],
      ["requires grad", leaves.requires_grad[row] ? "yes" : "no"],
      ["bytes", `${bytesText(leaves.bytes[row])} (${numberText(leaves.bytes[row])} B)`],
    ]));
  }

  _attributes(node) {
    const entries = Object.entries(this.app.model.data.nodes.attributes[node] || {});
    if (entries.length === 0) return null;
    return this._section("Attributes", this._list(
      entries.map(([name, value]) => [name, JSON.stringify(value)])));
  }

  _stack(node) {
    const { model } = this.app;
    const stack = (model.data.nodes.stacks || {})[node];
    if (!stack) return null;
    return this._section("Stack, innermost first", h("ol", { class: "stack" },
      ...stack.map((location) => h("li", {}, this._place(location)))));
  }

  _hooks(node) {
    const hooks = this.app.model.data.nodes.hooks[node];
    if (!hooks) return null;
    return this._section("Hooks", this._list(
      Object.entries(hooks).map(([kind, count]) => [kind.replaceAll("_", " "), String(count)])));
  }

  _outputs(node) {
    const { model } = this.app;
    const table = model.data.outputs;
    return this._table("Outputs", ["", "tensor", "device"], rowsOf(model.outputs, node).map(
      (row) => [String(table.index[row]), this._named(table, row),
        model.text(table.device[row])]));
  }

  /** A tensor, below its name if it was given one. */
  _named(table, row) {
    const { model } = this.app;
    const name = table.name ? model.text(table.name[row]) : "";
    const look = model.tensorText(table, row);
    return name ? h("span", {}, name, h("br", {}), look) : look;
  }

  _saved(node) {
    const { model } = this.app;
    const table = model.data.saved;
    const rows = rowsOf(model.saved, node).map((row) => [
      model.text(table.name[row]), this._placed(table, row),
      h("span", { class: "whole" }, bytesText(table.bytes[row])),
      String(table.version[row]), this._sharing(row, node)]);
    return this._table("Saved tensors", ["name", "tensor", "bytes", "version", "memory"], rows);
  }

  /** A tensor and, below, its device. */
  _placed(table, row) {
    const { model } = this.app;
    const look = model.tensorText(table, row);
    return table.device ? h("span", {}, look, h("br", {}), model.text(table.device[row])) : look;
  }

  _sharing(row, node) {
    const { model } = this.app;
    const { storage, packed } = model.data.saved;
    const id = storage[row];
    if (packed && packed[row]) return "packed by hooks";
    const others = new Set((model.sharers.get(id) || []).map((k) => model.data.saved.node[k]));
    others.delete(node);
    if (others.size === 0) return id >= 0 ? `own (${id})` : "";
    const cell = h("span", {}, `${id}, with `);
    const listed = [...others].slice(0, 3);
    listed.forEach((other, k) => cell.append(k > 0 ? ", " : "", this.nodeLink(other)));
    if (others.size > listed.length) cell.append(` and ${others.size - listed.length} more`);
    return cell;
  }

  _neighbours(title, grouped, node, isUp) {
    const { model } = this.app;
    const { from, to, input, output } = model.data.edges;
    const rows = rowsOf(grouped, node).map((edge) => [
      this.nodeLink(isUp ? from[edge] : to[edge]),
      `${input[edge]} \u2192 ${output[edge]}`, this._flow(edge)]);
    return this._table(title, ["node", "input \u2192 output", "tensor"], rows);
  }

  /** What flows along an edge, where, and whether anybody wants it. */
  _flow(edge) {
    const { model } = this.app;
    const row = model.flowRow(edge);
    const device = row < 0 ? "" : model.text(model.data.outputs.device[row]);
    const wanted = model.wantsGradient(edge) ? "" : ", not wanted";
    return h("span", {}, model.flowText(edge), h("br", {}), device + wanted);
  }

  _edges(edges, total) {
    const { model } = this.app;
    const { from, to, input, output } = model.data.edges;
    const rows = edges.map((edge) => {
      const ends = h("span", {}, this.nodeLink(from[edge]), h("br", {}), this.nodeLink(to[edge]));
      return [ends, `${input[edge]} \u2192 ${output[edge]}`,
        this._flow(edge)];
    });
    const title = total === 1 ? "Edge" : `${numberText(total)} edges`;
    return [
      h("h2", {}, title),
      h("p", { class: "note" }, "The gradient that flows, as large as the tensor made forward."),
      this._table("Tensors", ["from, to", "input \u2192 output", "tensor"], rows),
    ];
  }
}

/** The text with places at its dots and slashes where a line may end. */
function breakable(text) {
  return text.split(/(?<=[./])/).flatMap((part, k) => (k > 0 ? [h("wbr", {}), part] : [part]));
}
