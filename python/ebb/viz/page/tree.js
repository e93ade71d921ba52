// python/ebb/viz/page/tree.js -- the tree of modules and their nodes, left of the canvas.
//
// Only the rows in sight exist as elements, so a tree of 100,000 rows costs no more than a short
// one. A row is a number: a group, or ~node. The whole tree is one tab stop
// (aria-activedescendant).

const ROW_HEIGHT = 24;

class Tree {
  constructor(app, element) {
    this.app = app;
    this.element = element;
    this.body = element.firstElementChild;
    this.expanded = new Set([0]);
    this.current = 0;  // an index into rows
    element.addEventListener("scroll", () => this.render());
    element.addEventListener("keydown", (event) => this._onKey(event));
    element.addEventListener("click", (event) => this._onClick(event));
    // Rows must live from mouse down to mouse up, or the click would miss them: no render() here.
    element.addEventListener("focus", () => this._markCurrent(true));
    element.addEventListener("blur", () => this._markCurrent(false));
  }

  rebuild() {
    const { groups } = this.app;
    this.rows = [];
    this.levels = [];
    const stack = [0];
    while (stack.length > 0) {
      const group = stack.pop();
      this.rows.push(group);
      this.levels.push(groups.depth[group] + 1);
      if (!this.expanded.has(group)) continue;
      const children = groups.childrenOf(group);
      if (children.length === 0) {
        this._pushNodes(group);
        continue;
      }
      // A group's own nodes come right below it, before the groups inside.
      this._pushNodes(group);
      for (const child of children.reverse()) stack.push(child);
    }
    this.indexOf = new Map(this.rows.map((row, index) => [row, index]));
    this.current = Math.min(this.current, this.rows.length - 1);
    this.body.style.height = `${this.rows.length * ROW_HEIGHT}px`;
    this.render();
  }

  _pushNodes(group) {
    const { groups } = this.app;
    for (const node of groups.ownNodes(group)) {
      this.rows.push(~node);
      this.levels.push(groups.depth[group] + 2);
    }
  }

  render() {
    if (!this.rows) return;
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW_HEIGHT) - 4);
    const shown = Math.ceil(this.element.clientHeight / ROW_HEIGHT) + 8;
    const last = Math.min(this.rows.length, first + shown);
    const parts = [];
    for (let index = first; index < last; index += 1) parts.push(this._row(index));
    this.body.replaceChildren(...parts);
    this.element.setAttribute("aria-activedescendant", `row${this.current}`);
  }

  _markCurrent(isFocused) {
    const row = document.getElementById(`row${this.current}`);
    if (row) row.classList.toggle("current", isFocused);
  }

  _row(index) {
    const { model, groups } = this.app;
    const row = this.rows[index];
    const isGroup = row >= 0;
    const isOpen = isGroup && this.expanded.has(row);
    const element = h("div", {
      id: `row${index}`, role: "treeitem", class: isGroup ? "row group" : "row",
      "aria-level": this.levels[index], "aria-selected": this._isSelected(row),
      title: isGroup ? groups.path[row] || "the whole graph" : model.locationText(
        model.data.nodes.location[~row]),
    });
    if (isGroup) element.setAttribute("aria-expanded", isOpen);
    if (index === this.current && document.activeElement === this.element) {
      element.classList.add("current");
    }
    element.style.top = `${index * ROW_HEIGHT}px`;
    element.style.paddingLeft = `${6 + 14 * Math.min(12, this.levels[index] - 1)}px`;
    element.append(
      h("span", { class: "twisty", "aria-hidden": "true" }, isGroup ? (isOpen ? "▾" : "▸") : ""),
      h("span", { class: "name" }, isGroup ? groups.title(row) : this._nodeText(~row)),
      h("span", { class: "count" }, isGroup ? numberText(groups.size(row)) : ""));
    return element;
  }

  _nodeText(node) {
    const { model, groups } = this.app;
    const name = model.leafName(node);
    const prefix = `${groups.path[groups.home[node]]}.`;
    if (name && prefix.length > 1 && name.startsWith(prefix)) return name.slice(prefix.length);
    return model.label(node);
  }

  _isSelected(row) {
    const { selected } = this.app;
    if (!selected) return false;
    return row >= 0 ? selected.kind === "group" && selected.id === row
      : selected.kind === "node" && selected.id === ~row;
  }

  /** Expands what is around a node or group, selects its row and scrolls to it. */
  reveal(row) {
    const { groups } = this.app;
    const from = row >= 0 ? groups.parent[row] : groups.home[~row];
    let changed = false;
    for (let group = from; group >= 0; group = groups.parent[group]) {
      changed = changed || !this.expanded.has(group);
      this.expanded.add(group);
    }
    if (changed || !this.indexOf) this.rebuild();
    this._goTo(this.indexOf.get(row));
  }

  _goTo(index) {
    if (index === undefined) return;
    this.current = Math.max(0, Math.min(this.rows.length - 1, index));
    const top = this.current * ROW_HEIGHT;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop || top > scrollTop + clientHeight - 2 * ROW_HEIGHT) {
      this.element.scrollTop = Math.max(0, top - clientHeight / 2);
    }
    this.render();
  }

  _toggle(index, isOpen) {
    const row = this.rows[index];
    if (row < 0) return;
    if (isOpen) this.expanded.add(row);
    else this.expanded.delete(row);
    this.rebuild();
  }

  _choose(index) {
    const row = this.rows[index];
    this._goTo(index);
    if (row >= 0) this.app.show({ kind: "group", id: row });
    else this.app.show({ kind: "node", id: ~row });
  }

  _onClick(event) {
    const element = event.target.closest(".row");
    if (!element) return;
    const index = Number(element.id.slice(3));
    if (event.target.classList.contains("twisty") && this.rows[index] >= 0) {
      this.current = index;
      this._toggle(index, !this.expanded.has(this.rows[index]));
    } else {
      this._choose(index);
    }
  }

  _onKey(event) {
    const row = this.rows[this.current];
    const isOpen = row >= 0 && this.expanded.has(row);
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW_HEIGHT) - 1);
    const moves = {
      ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9,
    };
    if (event.key in moves) this._goTo(this.current + moves[event.key]);
    else if (event.key === "Enter" || event.key === " ") this._choose(this.current);
    else if (event.key === "ArrowRight" && row >= 0 && !isOpen) this._toggle(this.current, true);
    else if (event.key === "ArrowRight" && isOpen) this._goTo(this.current + 1);
    else if (event.key === "ArrowLeft" && isOpen) this._toggle(this.current, false);
    else if (event.key === "ArrowLeft") this._goTo(this._parentOf(this.current));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  _parentOf(index) {
    let above = index;
    while (above > 0 && this.levels[above] >= this.levels[index]) above -= 1;
    return above;
  }
}

/** An element with attributes and children; texts are never parsed as HTML. */
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
