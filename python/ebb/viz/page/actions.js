// python/ebb/viz/page/actions.js -- the rest of App: drawing, colours, themes, links, export.

Object.assign(App.prototype, {
  // -- drawing --------------------------------------------------------------------------------

  /** Recomputes what is highlighted, then draws. */
  refresh() {
    if (!this.scene) return;
    const lit = this._lit();
    const { scene, camera, colouring } = this;
    this.look = {
      scene, camera, colouring, theme: this.theme, lit, bright: this._bright(lit),
      found: this._found(), selected: this.selectedItem(), hovered: this.hovered,
      isFocused: document.activeElement === this.page.canvas,
    };
    this.page.hits.textContent = this.search.countText;
    for (const way of ["up", "down"]) {
      this.page[way].setAttribute("aria-pressed", this.reach[way]);
    }
    this.draw();
  },

  /** Draws in the next frame; many calls before it draw once. */
  draw() {
    if (this.isDrawing) return;
    this.isDrawing = true;
    requestAnimationFrame(() => {
      this.isDrawing = false;
      this.drawNow();
    });
  },

  drawNow() {
    if (!this.look) return;
    this.look.hovered = this.hovered;
    this.look.hoveredLink = this.hoveredLink;
    this.painter.draw(this.look);
    const percent = Math.round(this.camera.scale * 100);
    this.page.zoom.textContent = `${percent < 1 ? "<1" : percent} %`;
  },

  /** Shows what is under the pointer: a box, or a link with the tensor that flows. */
  hover(item, x, y, link) {
    const isNew = item !== this.hovered || link !== this.hoveredLink;
    this.hovered = item;
    this.hoveredLink = link;
    const { tip, canvas } = this.page;
    const isOver = item >= 0 || link >= 0;
    canvas.style.cursor = isOver ? "pointer" : "";
    tip.hidden = !isOver;
    if (isOver) {
      if (isNew && item >= 0) this._fillTip(item);
      else if (isNew) this._fillLinkTip(link);
      const { width, height } = this.painter;
      tip.style.left = `${Math.max(4, Math.min(x + 14, width - tip.offsetWidth - 8))}px`;
      tip.style.top = `${Math.max(4, Math.min(y + 16, height - tip.offsetHeight - 8))}px`;
    }
    if (isNew) this.draw();
  },

  _fillLinkTip(link) {
    const { scene, model } = this;
    const edge = scene.linkFirst[link];
    const count = scene.linkCount[link];
    const lines = [h("strong", {}, count === 1 ? model.flowText(edge) : countText(count, "edge"))];
    const ends = model.flowEnds(edge).map((node) => model.label(node));
    if (count === 1) lines.push(ends.join(" \u2192 "));
    this.page.tip.replaceChildren(...lines.map((line) => h("div", {}, line)));
  },

  /** Where it was made, innermost frame first: what people look for most. */
  _fillTip(item) {
    const { scene, model } = this;
    const lines = [h("strong", {}, scene.title(item)), this.labels.detail(scene, item)];
    if (scene.kind[item] === OP) {
      const node = scene.ref[item];
      const { nodes } = model.data;
      const stack = (nodes.stacks || {})[node] || [nodes.location[node]];
      lines.push(model.modulePath(node), ...stack.slice(0, 6).map((at) => model.locationText(at)));
      const bytes = model.savedBytes(node);
      if (bytes > 0) lines.push(`saves ${bytesText(bytes)}`);
      if (model.hasTimes) lines.push(timeText(model.time(node)));
    }
    this.page.tip.replaceChildren(...lines.filter(Boolean).map((line) => h("div", {}, line)));
  },

  // -- colours and themes ---------------------------------------------------------------------

  setMode(mode) {
    this.mode = mode;
    this.page.mode.value = mode;
    this.recolour();
    this.refresh();
  },

  nextMode() {
    const modes = [...this.page.mode.options].filter((option) => !option.disabled);
    const at = modes.findIndex((option) => option.value === this.mode);
    this.setMode(modes[(at + 1) % modes.length].value);
    this.say(`Colour by ${this.page.mode.selectedOptions[0].textContent}`);
  },

  recolour() {
    const isKept = this.colouring && this.colouring.mode === this.mode &&
      this.colouring.theme === THEMES[this.theme];
    if (!isKept) this.colouring = new Colouring(this.model, this.mode, this.theme);
    if (!this.scene) return;
    this.colouring.setScene(this.scene);
    this._fillLegend();
  },

  _fillLegend() {
    const { legend } = this.page;
    if (this.mode in SCALE_NAMES) {
      const { low, high } = THEMES[this.theme];
      const bar = h("span", { class: "bar", "aria-hidden": "true" });
      bar.style.background = `linear-gradient(90deg, ${low}, ${high})`;
      legend.replaceChildren(h("div", { class: "scale" }, "0", bar,
        `${this.colouring.show(this.colouring.top)} a box`));
      return;
    }
    legend.replaceChildren(...this.colouring.legend.map(({ key, count, colour }) => {
      const chip = h("span", { class: "chip", "aria-hidden": "true" });
      chip.style.background = colour;
      const row = h("button", { type: "button", title: key ? `Search for ${key}` : "all others" },
        chip, key || "others", h("span", { class: "count" }, numberText(count)));
      if (key && this.mode === "op") row.addEventListener("click", () => this.searchFor(key));
      return row;
    }));
  },

  searchFor(text) {
    this.page.query.value = text;
    this.runSearch();
  },

  readTheme() {
    let theme = null;
    try { theme = localStorage.getItem("ebb-theme"); } catch { /* a sandboxed frame has none */ }
    document.documentElement.dataset.theme = ["light", "dark"].includes(theme) ? theme : "auto";
    this.applyTheme();
  },

  nextTheme() {
    const themes = ["auto", "light", "dark"];
    const { dataset } = document.documentElement;
    dataset.theme = themes[(themes.indexOf(dataset.theme) + 1) % 3];
    try { localStorage.setItem("ebb-theme", dataset.theme); } catch { /* kept until reload */ }
    this.applyTheme();
    this.say(`Theme: ${dataset.theme}`);
  },

  applyTheme() {
    const { theme } = document.documentElement.dataset;
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    this.theme = theme === "auto" ? (isDark ? "dark" : "light") : theme;
    document.documentElement.dataset.shown = this.theme;
    this.page.theme.textContent = `Theme: ${theme}`;
    this.recolour();
    this.refresh();
  },

  // -- links ----------------------------------------------------------------------------------

  writeLink() {
    const { selected } = this;
    let hash = "#";
    if (selected && selected.kind === "node") hash = `#node=${selected.id}`;
    if (selected && selected.kind === "group") {
      hash = `#module=${encodeURIComponent(this.groups.path[selected.id])}`;
    }
    try { history.replaceState(null, "", hash); } catch { /* about:srcdoc in some browsers */ }
  },

  followLink() {
    const [, kind, value] = /^#(node|module)=(.*)$/.exec(location.hash) || [];
    if (kind === "node" && Number(value) < this.model.count) {
      this.show({ kind: "node", id: Number(value) });
    } else if (kind === "module") {
      const group = this.groups.path.indexOf(decodeURIComponent(value));
      if (group > 0) this.show({ kind: "group", id: group });
    }
  },

  async copyLink() {
    this.writeLink();
    try {
      await navigator.clipboard.writeText(location.href);
      this.say("Link copied");
    } catch {
      this.say(`The link is ${location.href}`);
    }
  },

  // -- export, panels, help -------------------------------------------------------------------

  _world() { return this.camera.world(this.painter.width, this.painter.height); },

  svg() { return writeSvg(this.look, this.labels, this._world()); },
  dot() { return writeDot(this.look, this.labels, this._world()); },

  exportSvg() {
    download("graph.svg", "image/svg+xml", this.svg());
    this.say("Saved graph.svg");
  },

  exportDot() {
    download("graph.dot", "text/vnd.graphviz", this.dot());
    this.say("Saved graph.dot");
  },

  togglePanel(name) { this.page.body.classList.toggle(`no-${name}`); },

  showHelp() { this.page.help.showModal(); },
});

/** The embedded data, as it was given to the writer. */
function readData() {
  const element = document.getElementById("graph");
  return unpack(element.textContent, element.dataset.encoding).json();
}

function findParts() {
  const page = { body: document.body };
  for (const element of document.querySelectorAll("[data-part]")) {
    page[element.dataset.part] = element;
  }
  return page;
}

async function main() {
  const page = findParts();
  try {
    const [data] = await Promise.all([readData(), loadKernel()]);
    window.ebbViewer = new App(data, page);  // for the browser's console
    await window.ebbViewer.start();
  } catch (error) {
    page.fault.hidden = false;
    page.fault.textContent = error.message;
    throw error;
  }
}

main();
