// python/ebb/viz/page/keyboard.js -- every command with its keys, and the overlay that lists them.

const PAN_STEP = 90;

/** Rows of [keys, what they do, action]; the first key is the one that the overlay shows. */
function commandsOf(app) {
  const pan = (dx, dy) => () => app.panBy(dx * PAN_STEP, dy * PAN_STEP);
  return [
    [["ArrowDown"], "go on along an edge", () => app.walk("down")],
    [["ArrowUp"], "go back along an edge", () => app.walk("up")],
    [["ArrowLeft"], "go to the box on the left", () => app.walk("left")],
    [["ArrowRight"], "go to the box on the right", () => app.walk("right")],
    [["Enter", " "], "fold or unfold the selected group", () => app.toggleSelected()],
    [["Shift+ArrowDown", "s"], "move the view down", pan(0, -1)],
    [["Shift+ArrowUp", "w"], "move the view up", pan(0, 1)],
    [["Shift+ArrowLeft", "a"], "move the view left", pan(1, 0)],
    [["Shift+ArrowRight"], "move the view right", pan(-1, 0)],
    [["+", "="], "zoom in", () => app.zoomBy(1.25)],
    [["-"], "zoom out", () => app.zoomBy(0.8)],
    [["0", "f"], "fit the whole graph", () => app.fit()],
    [["1"], "natural size", () => app.zoomTo(1)],
    [["."], "centre what is selected", () => app.centreSelected()],
    [["/", "Ctrl+f"], "search", () => app.focusSearch()],
    [["n"], "next hit", () => app.stepSearch(1)],
    [["p", "Shift+N"], "previous hit", () => app.stepSearch(-1)],
    [["u"], "highlight upstream, towards the roots", () => app.toggleReach("up")],
    [["d"], "highlight downstream, towards the leaves", () => app.toggleReach("down")],
    [["r"], "reveal in the tree", () => app.revealInTree()],
    [["["], "fold all groups", () => app.foldAll()],
    [["]"], "unfold all groups", () => app.unfoldAll()],
    [["\\"], "fold as at the start", () => app.foldAsAtFirst()],
    [["v"], "values flow down, or gradients", () => app.toggleDirection()],
    [["c"], "next colour", () => app.nextMode()],
    [["t"], "next theme: as the system, light, dark", () => app.nextTheme()],
    [["e"], "save what is in sight as SVG", () => app.exportSvg()],
    [["g"], "save what is in sight as DOT", () => app.exportDot()],
    [["l"], "copy the link to what is selected", () => app.copyLink()],
    [["b"], "show or hide the tree", () => app.togglePanel("tree")],
    [["i"], "show or hide the details", () => app.togglePanel("details")],
    [["Escape"], "stop a layout, or clear highlight and selection", () => app.escape()],
    [["?"], "this overlay", () => app.showHelp()],
  ];
}

/** Keys that typing and links need for themselves are left alone outside the canvas. */
const CANVAS_ONLY = new Set(["Enter", " "]);

class Keyboard {
  constructor(app, canvas) {
    this.commands = commandsOf(app);
    this.canvas = canvas;
    this.byKey = new Map();
    for (const [keys, , action] of this.commands) {
      for (const key of keys) this.byKey.set(key, action);
    }
    document.addEventListener("keydown", (event) => this._onKey(event));
  }

  _name(event) {
    if (event.ctrlKey || event.metaKey) return `Ctrl+${event.key}`;
    const isLong = event.key.length > 1 || event.key === "N";
    return event.shiftKey && isLong ? `Shift+${event.key}` : event.key;
  }

  _onKey(event) {
    const { target } = event;
    if (event.altKey || document.querySelector("dialog[open]")) return;
    const name = this._name(event);
    const isTyping = target.matches("input, select, textarea");
    if (isTyping && name !== "Escape" && !name.startsWith("Ctrl+")) return;
    if (CANVAS_ONLY.has(event.key) && target !== this.canvas && target !== document.body) return;
    const action = this.byKey.get(name);
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** Fills the overlay once. */
  list(element) {
    const shown = {
      ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→", " ": "Space", Escape: "Esc",
    };
    const symbol = (key) => key.replace(/(Arrow\w+| |Escape)$/, (name) => shown[name]);
    for (const [keys, text] of this.commands) {
      const caps = keys.map((key) => h("kbd", {}, symbol(key)));
      element.append(h("div", {}, h("dt", {}, ...caps), h("dd", {}, text)));
    }
  }
}
