// python/ebb/viz/page/app.js -- the state of the page, and all that a user can make it do.
//
// Start reading at start(). Every change of the fold state ends in relayout(), which works in
// slices of a few milliseconds and is dropped when a newer one begins; every other change ends in
// refresh().

const DEFAULT_BOXES = 60;
const LEAST_FIT = 0.04;
const SLICE_MS = 9;
const BUSY_AFTER_MS = 150;
const EDGES_LISTED = 500;

const tasks = new MessageChannel();

/** Lets the browser handle input and paint before the work goes on. */
function nextTask() {
  return new Promise((resolve) => {
    tasks.port1.addEventListener("message", resolve, { once: true });
    tasks.port1.start();
    tasks.port2.postMessage(null);
  });
}

function nextFrame() {
  return new Promise(requestAnimationFrame);
}

class App {
  constructor(data, page) {
    this.page = page;
    this.model = new Model(data);
    this.groups = new Groups(this.model);
    this.labels = new Labels(this.model, this.groups);
    this.painter = new Painter(page.canvas, this.labels);
    this.camera = new Camera();
    this.search = new Search(this.model);
    this.tree = new Tree(this, page.tree);
    this.details = new Details(this, page.details);
    this.keyboard = new Keyboard(this, page.canvas);
    this.selected = null;  // { kind: "node" | "group", id } or { kind: "edges", edges, total }
    this.reach = { up: false, down: false };
    this.hovered = -1;  // the item under the pointer
    this.hoveredLink = -1;
    this.ticket = 0;
    this.mode = "op";
    this.scene = null;
    this.look = null;
    new Pointers(this, page.canvas);
  }

  async start() {
    this.groups.openByDefault(DEFAULT_BOXES);
    this.model.draw(document.getElementById("graph").dataset.direction === "forward");
    this._showDirection();
    this.readTheme();
    this.wire();
    this.resize();
    await this.relayout();
    this.fitAtFirst();
    await nextFrame();
    await nextFrame();  // the one after that which draws: by then the picture is on the screen
    performance.mark("ebb-first-paint");
    await nextTask();  // what stands beside it comes next
    this.keyboard.list(this.page.keys);
    this.tree.rebuild();
    this.details.render();
    this.followLink();
    document.documentElement.dataset.ready = "yes";
  }

  wire() {
    const { page } = this;
    new ResizeObserver(() => this.resize()).observe(page.canvas.parentElement);
    window.addEventListener("hashchange", () => this.followLink());
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => this.applyTheme());
    for (const button of document.querySelectorAll("button[data-do]")) {
      button.addEventListener("click", () => this[button.dataset.do](...this._arguments(button)));
    }
    page.query.addEventListener("input", () => this.runSearch());
    page.query.addEventListener("keydown", (event) => this.onSearchKey(event));
    page.mode.addEventListener("change", () => this.setMode(page.mode.value));
    page.canvas.addEventListener("focus", () => this.refresh());
    page.canvas.addEventListener("blur", () => this.refresh());
    if (!this.model.hasTimes) page.mode.querySelector("[value=time]").disabled = true;
  }

  _arguments(button) {
    const argument = button.dataset.with;
    if (argument === undefined) return [];
    return [Number.isNaN(Number(argument)) ? argument : Number(argument)];
  }

  resize() {
    const frame = this.page.canvas.parentElement.getBoundingClientRect();
    this.painter.resize(Math.max(1, frame.width), Math.max(1, frame.height),
      window.devicePixelRatio || 1);
    this.tree.render();
    if (this.scene) this.draw();
  }

  // -- layout ---------------------------------------------------------------------------------

  /** Lays out what is unfolded; returns whether it was finished, not overtaken or stopped. */
  async relayout() {
    this.ticket += 1;
    const { ticket } = this;
    const began = performance.now();
    const work = layoutScene(this.model, this.groups,
      (scene, item) => this.labels.size(scene, item));
    let pause = began + SLICE_MS;
    let step = work.next();
    while (!step.done) {
      if (performance.now() > pause) {
        if (performance.now() - began > BUSY_AFTER_MS) this.page.busy.hidden = false;
        await nextTask();
        if (ticket !== this.ticket) return false;
        pause = performance.now() + SLICE_MS;
      }
      step = work.next();
    }
    this.page.busy.hidden = true;
    this.scene = step.value;
    this.layoutMs = performance.now() - began;
    this.openBefore = this.groups.open.slice();
    this.hovered = -1;
    this.hoveredLink = -1;
    this.camera.least = Math.min(0.02, this.fitted(1).scale / 2);
    this.recolour();
    this.refresh();
    return true;
  }

  stopLayout() {
    if (this.page.busy.hidden) return false;
    this.ticket += 1;
    this.page.busy.hidden = true;
    this.groups.open.set(this.openBefore);
    this.say("Layout stopped");
    return true;
  }

  /** Changes what is unfolded and keeps `group` where it is on the screen. */
  async refold(change, group) {
    const before = this._placeOf(group);
    change();
    if (!await this.relayout()) return;
    const after = this._placeOf(group);
    this.camera.pan(before[0] - after[0], before[1] - after[1]);
    this.draw();
    this.details.render();
  }

  _placeOf(group) {
    const { scene, camera } = this;
    const item = scene.itemShowing(group);
    if (item === 0) return [0, 0];
    const [x, y] = camera.toScreen(scene.x[item] + scene.w[item] / 2, scene.y[item]);
    return [x, y];
  }

  async toggleGroup(group) {
    if (group === 0) return;
    const { open } = this.groups;
    await this.refold(() => { open[group] = open[group] ? 0 : 1; }, group);
    this.say(`${this.groups.title(group)} ${open[group] ? "unfolded" : "folded"}`);
  }

  toggleItem(item) {
    if (this.scene.kind[item] === OP) return;
    this.selectItem(item);
    this.toggleGroup(this.scene.ref[item]);
  }

  toggleSelected() {
    if (this.selected && this.selected.kind === "group") this.toggleGroup(this.selected.id);
  }

  async foldAll() {
    this.groups.openAll(false);
    if (await this.relayout()) this.fit();
  }

  async unfoldAll() {
    this.groups.openAll(true);
    if (await this.relayout()) this.fit();
  }

  async foldAsAtFirst() {
    this.groups.openByDefault(DEFAULT_BOXES);
    if (await this.relayout()) this.fitAtFirst();
  }

  /** Draws the loss on top and gradients downwards or, forward, the leaves on top and values. */
  async toggleDirection() {
    this.model.draw(!this.model.isForward);
    this._showDirection();
    if (await this.relayout()) this.fitAtFirst();
    this.say(this.model.isForward ? "Values flow down" : "Gradients flow down");
  }

  _showDirection() {
    this.page.forward.setAttribute("aria-pressed", this.model.isForward);
  }

  // -- camera ---------------------------------------------------------------------------------

  panBy(dx, dy) {
    this.camera.pan(dx, dy);
    this.draw();
  }

  zoomBy(factor, x = this.painter.width / 2, y = this.painter.height / 2) {
    this.camera.zoom(factor, x, y);
    this.draw();
  }

  zoomTo(scale) { this.zoomBy(scale / this.camera.scale); }

  fitted(most) {
    const { scene, painter } = this;
    return this.camera.fitting([0, 0, scene.w[0], scene.h[0]], painter.width, painter.height, most);
  }

  /** All of it; of what is so long that it would become a hair, the top. */
  fit() {
    const all = this.fitted(1);
    this._fitOr(all, all.scale < LEAST_FIT ? LEAST_FIT : 0);
  }

  _fitOr(all, scale) {
    if (scale > 0) {
      const root = this.scene.itemOfNode[this.model.data.roots.node[0] ?? 0];
      all.scale = scale;
      all.x = this.painter.width / 2 - scale * (this.scene.x[root] + this.scene.w[root] / 2);
      all.y = 24;
    }
    this.camera.set(all);
    this.draw();
  }

  /** All of it where that is readable, else its top. */
  fitAtFirst() {
    const all = this.fitted(1);
    this._fitOr(all, all.scale < 0.55 ? 0.8 : 0);
  }

  centreOn(item) {
    const { scene, camera, painter } = this;
    if (camera.scale < 0.6) camera.scale = 0.85;
    const height = Math.min(scene.h[item], painter.height / camera.scale / 2);
    camera.x = painter.width / 2 - (scene.x[item] + scene.w[item] / 2) * camera.scale;
    camera.y = painter.height / 2 - (scene.y[item] + height / 2) * camera.scale;
    this.draw();
  }

  centreSelected() {
    const item = this.selectedItem();
    if (item > 0) this.centreOn(item);
  }

  /** Moves the view just enough that a box is in sight. */
  keepInSight(item) {
    const { scene, camera, painter } = this;
    const [left, top] = camera.toScreen(scene.x[item], scene.y[item]);
    const [right, bottom] = [left + scene.w[item] * camera.scale, top + 40 * camera.scale];
    if (left < 0 || top < 0 || right > painter.width || bottom > painter.height) {
      this.centreOn(item);
    }
  }

  // -- selection ------------------------------------------------------------------------------

  selectedItem() {
    if (!this.selected || !this.scene) return -1;
    if (this.selected.kind === "node") return this.scene.itemOfNode[this.selected.id];
    return this.selected.kind === "group" ? this.scene.itemShowing(this.selected.id) : -1;
  }

  select(selected) {
    this.selected = selected;
    this.writeLink();
    this.details.render();
    this.tree.render();
    this.refresh();
    if (selected && selected.kind !== "edges") this.announce();
  }

  selectItem(item) {
    const kind = this.scene.kind[item] === OP ? "node" : "group";
    this.select({ kind, id: this.scene.ref[item] });
  }

  /** Selects a node or group, unfolds what hides it and brings it into sight. */
  async show(selected) {
    const { groups } = this;
    const around = selected.kind === "node" ? groups.home[selected.id]
      : groups.parent[selected.id];
    if (groups.reveal(around) && !await this.relayout()) return;
    this.select(selected);
    const item = this.selectedItem();
    if (item > 0) this.centreOn(item);
    else this.fit();
    this.tree.reveal(selected.kind === "node" ? ~selected.id : selected.id);
  }

  clickLink(link) {
    if (link < 0) {
      this.select(null);
      return;
    }
    const edges = this.scene.edgesOf(link, EDGES_LISTED);
    this.select({ kind: "edges", edges, total: Math.max(edges.length, this._edgeTotal(link)) });
    this.say(edges.length === 1 ? `Edge, ${this.model.flowText(edges[0])}`
      : countText(this.selected.total, "edge"));
  }

  _edgeTotal(link) {
    let sum = this.scene.linkCount[link];
    this.scene.linkTail.forEach((owner, other) => {
      if (owner === link) sum += this.scene.linkCount[other];
    });
    return sum;
  }

  announce() {
    const { selected, model, groups } = this;
    const text = selected.kind === "node"
      ? `${model.label(selected.id)}, node ${selected.id}, ${model.outputText(selected.id)}`
      : `${groups.title(selected.id)}, ${countText(groups.size(selected.id), "node")}, ` +
        `${groups.open[selected.id] ? "unfolded" : "folded"}`;
    this.say(text);
  }

  say(text) { this.page.status.textContent = text; }

  revealInTree() {
    const { selected } = this;
    if (!selected || selected.kind === "edges") return;
    this.page.body.classList.remove("no-tree");
    this.tree.reveal(selected.kind === "node" ? ~selected.id : selected.id);
    this.page.tree.focus();
  }

  /** Arrow keys: along the edges, or to the nearest box on that side. */
  walk(direction) {
    const { scene } = this;
    const item = this.selectedItem();
    if (this.model.count === 0) return;
    if (item <= 0) {
      this.selectItem(scene.itemOfNode[this.model.data.roots.node[0] ?? 0]);
    } else {
      const next = this._beside(item, direction);
      if (next > 0) this.selectItem(next);
    }
    const now = this.selectedItem();
    if (now > 0) this.keepInSight(now);
  }

  _beside(item, direction) {
    const { scene } = this;
    const along = { down: [scene.edgeFrom, scene.edgeTo], up: [scene.edgeTo, scene.edgeFrom] };
    const candidates = new Set();
    if (direction in along && scene.kind[item] !== OPEN) {
      const [ends, others] = along[direction];
      ends.forEach((end, edge) => { if (end === item) candidates.add(others[edge]); });
    }
    const isByEdge = candidates.size > 0;
    if (!isByEdge) for (let other = 1; other < scene.count; other += 1) candidates.add(other);
    const middle = (k) => [scene.x[k] + scene.w[k] / 2,
      scene.kind[k] === OPEN ? scene.y[k] : scene.y[k] + scene.h[k] / 2];
    const [x, y] = middle(item);
    const [ux, uy] = { down: [0, 1], up: [0, -1], left: [-1, 0], right: [1, 0] }[direction];
    let best = -1;
    let least = Infinity;
    for (const other of candidates) {
      const [dx, dy] = [middle(other)[0] - x, middle(other)[1] - y];
      const ahead = dx * ux + dy * uy;
      const aside = Math.abs(dx * uy) + Math.abs(dy * ux);
      if (other === item || (!isByEdge && (ahead <= 1 || aside > 4 * ahead))) continue;
      const distance = Math.abs(ahead) + 2 * aside;
      if (distance < least) [best, least] = [other, distance];
    }
    return best;
  }

  // -- highlighting ---------------------------------------------------------------------------

  toggleReach(direction) {
    if (!this.selected || this.selected.kind === "edges") {
      this.say("Select a box first");
      return;
    }
    this.reach[direction] = !this.reach[direction];
    this.refresh();
    this.say(`${direction === "up" ? "Upstream" : "Downstream"} highlight ` +
      `${this.reach[direction] ? "on" : "off"}`);
  }

  _selectedNodes() {
    const { selected, groups } = this;
    if (!selected || selected.kind === "edges") return [];
    return selected.kind === "node" ? [selected.id] : groups.nodesOf(selected.id);
  }

  _lit() {
    const { scene, model, reach } = this;
    const nodes = this._selectedNodes();
    if (nodes.length === 0 || !(reach.up || reach.down)) return null;
    const marks = new Uint8Array(model.count);
    if (reach.up) model.reach(nodes, true, marks);
    if (reach.down) model.reach(nodes, false, marks);
    this.marks = marks;
    const lit = new Uint8Array(scene.count);
    for (let node = 0; node < model.count; node += 1) {
      if (!marks[node]) continue;
      for (let item = scene.itemOfNode[node]; item > 0 && !lit[item]; item = scene.parent[item]) {
        lit[item] = 1;
      }
    }
    return lit;
  }

  /** Links to stress: inside the highlight, of the selected box, or the selected edge. */
  _bright(lit) {
    const { scene, selected, model } = this;
    const bright = new Set();
    const item = this.selectedItem();
    const chosen = new Set();
    if (selected && selected.kind === "edges") {
      for (const edge of selected.edges) {
        const [upper, lower] = model.flowEnds(edge).map((node) => scene.itemOfNode[node]);
        chosen.add(upper * scene.count + lower);
      }
    }
    for (let edge = 0; edge < scene.edgeFrom.length; edge += 1) {
      const [from, to] = [scene.edgeFrom[edge], scene.edgeTo[edge]];
      const isBright = lit !== null ? lit[from] && lit[to]
        : from === item || to === item || chosen.has(from * scene.count + to);
      if (isBright) scene.addLinksOf(edge, bright);
    }
    return bright;
  }

  _found() {
    const { scene, search } = this;
    if (search.hits.length === 0) return null;
    const found = new Uint8Array(scene.count);
    for (const node of search.hits) found[scene.itemOfNode[node]] = 1;
    return found;
  }

  escape() {
    if (this.stopLayout()) return;
    if (this.reach.up || this.reach.down) {
      this.reach = { up: false, down: false };
    } else if (this.page.query.value !== "" && document.activeElement === this.page.query) {
      this.page.query.value = "";
      this.runSearch();
    } else {
      this.select(null);
    }
    this.page.canvas.focus();
    this.refresh();
  }

  // -- search ---------------------------------------------------------------------------------

  runSearch() {
    this.search.run(this.page.query.value);
    this.refresh();
  }

  stepSearch(by) {
    const node = this.search.step(by);
    if (node >= 0) this.show({ kind: "node", id: node });
    this.page.hits.textContent = this.search.countText;
  }

  onSearchKey(event) {
    if (event.key !== "Enter") return;
    event.preventDefault();
    this.stepSearch(event.shiftKey ? -1 : 1);
  }

  focusSearch() {
    this.page.query.focus();
    this.page.query.select();
  }
}
