// python/ebb/viz/page/boxes.js -- what is written on a box, and how large that makes it.

const FONT = 'system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif';
const TITLE_FONT = `600 12px ${FONT}`;
const DETAIL_FONT = `11px ${FONT}`;
const BOX_HEIGHT = 40;
const MIN_WIDTH = 76;
const MAX_WIDTH = 236;
const TEXT_PAD = 12;

/** Widths of texts, from those of the single characters: 100,000 labels take no time. */
class TextMeasure {
  constructor() {
    const context = document.createElement("canvas").getContext("2d");
    this.widths = {};
    for (const font of [TITLE_FONT, DETAIL_FONT]) {
      context.font = font;
      const table = new Float64Array(128);
      for (let code = 32; code < 127; code += 1) {
        table[code] = context.measureText(String.fromCharCode(code)).width;
      }
      this.widths[font] = table;
    }
  }

  width(text, font) {
    const table = this.widths[font];
    let sum = 0;
    for (let k = 0; k < text.length; k += 1) {
      const code = text.charCodeAt(k);
      sum += code < 128 ? table[code] : table[77];
    }
    return sum;
  }

  /** The text, or as much of it as fits, with an ellipsis; names lose their beginning. */
  fit(text, font, room, losesStart = false) {
    if (this.width(text, font) <= room) return text;
    let [low, high] = [0, text.length];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      const part = losesStart ? text.slice(text.length - middle) : text.slice(0, middle);
      if (this.width(part, font) + 10 <= room) low = middle;
      else high = middle - 1;
    }
    return losesStart ? `\u2026${text.slice(text.length - low)}` : `${text.slice(0, low)}\u2026`;
  }
}

/** Two lines of text for an item; the details of a group say how much it hides. */
class Labels {
  constructor(model, groups) {
    this.model = model;
    this.groups = groups;
    this.measure = new TextMeasure();
    this.bytes = new Map();
  }

  title(scene, item) {
    if (scene.kind[item] !== OP) return this.groups.title(scene.ref[item]);
    const node = scene.ref[item];
    const name = this.model.leafName(node);
    if (!name) return this.model.isLeaf(node) ? "leaf" : this.model.name(node);
    const around = this.groups.path[scene.ref[scene.parent[item]]];
    return around && name.startsWith(`${around}.`) ? name.slice(around.length + 1) : name;
  }

  detail(scene, item) {
    if (scene.kind[item] === OP) return this.model.outputText(scene.ref[item]);
    const group = scene.ref[item];
    const type = this.groups.type[group];
    const count = countText(this.groups.size(group), "node");
    return type && type !== this.groups.label[group] ? `${type} \u00b7 ${count}` : count;
  }

  /** Width and height of a folded box, or the least width of an open one. */
  size(scene, item) {
    const title = this.measure.width(this.title(scene, item), TITLE_FONT);
    const isGroup = scene.kind[item] !== OP;
    const detail = scene.kind[item] === OPEN
      ? this.measure.width(this.groups.type[scene.ref[item]], DETAIL_FONT)
      : this.measure.width(this.detail(scene, item), DETAIL_FONT);
    if (scene.kind[item] === OPEN) return [Math.min(420, title + detail + 64), 0];
    const text = Math.max(title + (isGroup ? 20 : 0), detail);
    const width = Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, text + 2 * TEXT_PAD + 4));
    return [2 * Math.round(width / 2), isGroup ? BOX_HEIGHT + 8 : BOX_HEIGHT];
  }
}
