// python/ebb/viz/page/colours.js -- the two themes, and what the colour of a box means.

const THEMES = {
  light: {
    canvas: "#f6f7f9", surface: "#ffffff", group: "#ffffff", border: "#c9d0da", text: "#1b2330",
    muted: "#667085", edge: "#a7b1c0", accent: "#2563eb", lit: "#c2410c", neutral: "#8593a8",
    low: "#dbe7fb", high: "#0b3f94",
  },
  dark: {
    canvas: "#0e1217", surface: "#1a2029", group: "#131920", border: "#3a4452", text: "#e6eaf0",
    muted: "#95a1b2", edge: "#566274", accent: "#6ea8fe", lit: "#fb923c", neutral: "#7b8798",
    low: "#1d2c42", high: "#8fc0ff",
  },
};
const CATEGORIES = [
  "#4c78a8", "#e4812f", "#4a9a4d", "#b0699f", "#d9534f",
  "#4fa6a2", "#95725a", "#c9a227", "#7a6fc0", "#c06c84",
];
const OTHER = "#8a94a3";
const CATEGORY_NAMES = { op: "op", dtype: "dtype", device: "device" };
const SCALE_NAMES = { saved: "saved bytes", time: "time" };

function channels(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

/** `share` of `to` in `from`. */
function mix(from, to, share) {
  const [a, b] = [channels(from), channels(to)];
  const hex = a.map((value, k) => Math.round(value + (b[k] - value) * share));
  return `#${hex.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

function luminance(colour) {
  const [r, g, b] = channels(colour).map((value) => (value / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Black or white ink, whichever reads better on a colour. */
function inkOn(colour) {
  return luminance(colour) > 0.3 ? "#10151c" : "#ffffff";
}

/** Gives each item its colours under one mode; what it computes per node is kept. */
class Colouring {
  constructor(model, mode, theme) {
    this.model = model;
    this.mode = mode;
    this.theme = THEMES[theme];
    this.styles = new Map();
    if (mode in SCALE_NAMES) this._prepareScale();
    else this._prepareCategories();
  }

  _key(node) {
    if (this.mode === "op") return this.model.name(node);
    return this.mode === "dtype" ? this.model.dtype(node) : this.model.device(node);
  }

  _prepareCategories() {
    const counts = new Map();
    this.keys = new Array(this.model.count);
    for (let node = 0; node < this.model.count; node += 1) {
      const key = this._key(node) || "none";
      this.keys[node] = key;
      counts.set(key, (counts.get(key) || 0) + 1);
    }
    const ranked = [...counts].sort((a, b) => b[1] - a[1]);
    this.colourOf = new Map();
    this.legend = ranked.slice(0, CATEGORIES.length).map(([key, count], rank) => {
      this.colourOf.set(key, CATEGORIES[rank]);
      return { key, count, colour: CATEGORIES[rank] };
    });
    const rest = ranked.slice(CATEGORIES.length).reduce((sum, [, count]) => sum + count, 0);
    if (rest > 0) this.legend.push({ key: "", count: rest, colour: OTHER });
  }

  _prepareScale() {
    const { model } = this;
    this.values = new Float64Array(model.count);
    this.most = 0;
    for (let node = 0; node < model.count; node += 1) {
      this.values[node] = this.mode === "time" ? model.time(node) : model.savedBytes(node);
      this.most = Math.max(this.most, this.values[node]);
    }
    this.show = this.mode === "time" ? timeText : bytesText;
  }

  /** The largest value of any one item: groups sum up, and the scale must hold them. */
  setScene(scene) {
    this.common = new Map();
    if (!(this.mode in SCALE_NAMES)) return;
    this.sums = new Float64Array(scene.count);
    for (let item = 1; item < scene.count; item += 1) {
      if (scene.kind[item] === OPEN) continue;
      for (const node of scene.nodesOf(item)) this.sums[item] += this.values[node];
    }
    this.top = this.sums.reduce((a, b) => Math.max(a, b), 0);
  }

  /** Fill, strong colour and ink of an item. */
  style(scene, item) {
    if (this.mode in SCALE_NAMES) return this._scaleStyle(this.sums[item]);
    if (scene.kind[item] === OP) return this._categoryStyle(this.keys[scene.ref[item]]);
    if (this.mode === "op") return this._categoryStyle(null);
    if (!this.common.has(item)) this.common.set(item, this._commonKey(scene.nodesOf(item)));
    return this._categoryStyle(this.common.get(item));
  }

  /** The key that all nodes share, or null. */
  _commonKey(nodes) {
    const key = this.keys[nodes[0]];
    return nodes.every((node) => this.keys[node] === key) ? key : null;
  }

  _categoryStyle(key) {
    const known = this.styles.get(key);
    if (known) return known;
    const strong = key === null ? this.theme.neutral : this.colourOf.get(key) || OTHER;
    const style = {
      fill: mix(this.theme.surface, strong, key === null ? 0.1 : 0.16),
      strong, ink: this.theme.text, faint: this.theme.muted,
    };
    this.styles.set(key, style);
    return style;
  }

  _scaleStyle(value) {
    const share = this.top > 0 ? (value / this.top) ** 0.4 : 0;  // small values differ visibly
    const step = value > 0 ? 1 + Math.round(share * 30) : 0;
    const known = this.styles.get(step);
    if (known) return known;
    const { low, high, surface, text, muted } = this.theme;
    const fill = step === 0 ? surface : mix(low, high, (step - 1) / 30);
    const ink = step === 0 ? text : inkOn(fill);
    const style = { fill, strong: fill, ink, faint: step === 0 ? muted : mix(ink, fill, 0.25) };
    this.styles.set(step, style);
    return style;
  }
}
