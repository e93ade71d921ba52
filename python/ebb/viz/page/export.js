// python/ebb/viz/page/export.js -- what is in sight as SVG (vectors, texts at any zoom) or as DOT.

function escapeXml(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

function round(value) { return Math.round(value * 10) / 10; }

/** Takes what draw.js asks of a canvas and writes it as SVG. */
class SvgContext {
  constructor() {
    this.parts = [];
    this.globalAlpha = 1;
    this.setLineDash([]);
    this.beginPath();
  }

  /** All that was drawn: texts, lines and boxes in the colours of the canvas. */
  picture(width, height) {
    const box = [0, 0, width, height].map(round).join(" ");
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${box}" width="${round(width)}" ` +
      `height="${round(height)}" font-family='${FONT}'>\n<title>Backward graph</title>\n` +
      `<g>\n${this.parts.join("\n")}\n</g>\n</svg>\n`;
  }

  setTransform(...matrix) {
    this.parts.push(`</g>`, `<g transform="matrix(${matrix.map(round).join(" ")})">`);
  }
  setLineDash(dash) {
    this.dash = dash.length > 0 ? ` stroke-dasharray="${dash.join(" ")}"` : "";
  }

  beginPath() {
    this.path = [];
    this.box = "";  // a path that is one rectangle
    this.filled = null;
  }
  moveTo(x, y) { this.path.push(`M${round(x)} ${round(y)}`); }
  lineTo(x, y) { this.path.push(`L${round(x)} ${round(y)}`); }
  bezierCurveTo(...at) { this.path.push(`C${at.map(round).join(" ")}`); }
  closePath() { this.path.push("Z"); }
  roundRect(x, y, w, h, radius) {
    this.box = `rect x="${round(x)}" y="${round(y)}" width="${round(w)}" height="${round(h)}" ` +
      `rx="${round(Array.isArray(radius) ? w / 2 : radius)}"`;
  }

  get _shape() { return this.box || `path d="${this.path.join("")}"`; }
  get _opacity() { return this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : ""; }
  get _outline() {
    return ` stroke="${this.strokeStyle}" stroke-width="${round(this.lineWidth)}"${this.dash}`;
  }

  fill() {
    // Without the alpha of a plate behind a name, which not all that reads SVG knows.
    this.filled = this._draw(`fill="${this.fillStyle.slice(0, 7)}"`);
  }
  stroke() {
    if (this.filled) this.parts.pop();  // one element for both
    this._draw((this.filled || 'fill="none"') + this._outline);
  }
  _draw(look) {
    this.parts.push(`<${this._shape} ${look}${this._opacity}/>`);
    return look;
  }
  fillRect(x, y, w, h) {
    this.beginPath();
    this.roundRect(x, y, w, h, 0);
    this.fill();
  }

  fillText(text, x, y) {
    const [, weight, size] = /^(?:(\d+) )?([\d.]+)px/.exec(this.font);
    const anchor = this.textAlign === "center" ? ' text-anchor="middle"' : "";
    const bold = weight ? ` font-weight="${weight}"` : "";
    this.parts.push(`<text x="${round(x)}" y="${round(y + 0.35 * size)}" font-size="${size}"` +
      `${bold}${anchor} fill="${this.fillStyle}"${this._opacity}>${escapeXml(text)}</text>`);
  }
}

/** What is in sight as SVG, by the painter of the canvas, at scale 1. */
function writeSvg(look, labels, world) {
  const { scene } = look;
  const margin = 12;
  const [left, top] = [Math.max(world[0], -margin), Math.max(world[1], -margin)];
  const width = Math.min(world[2], scene.w[0] + margin) - left;
  const height = Math.min(world[3], scene.h[0] + margin) - top;
  const context = new SvgContext();
  const painter = new Painter({ getContext: () => context }, labels);
  const camera = new Camera();
  camera.set({ scale: 1, x: -left, y: -top });
  painter.resize(width, height, 1);
  painter.draw({ ...look, camera, found: null, selected: -1, hovered: -1, hoveredLink: -1 });
  return context.picture(width, height);
}

/** Boxes in sight as a DOT digraph, open groups as clusters. */
function writeDot(look, labels, world) {
  const { scene, colouring } = look;
  const quote = (text) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
  const lines = ["digraph backward {", '  node [shape=box, style="rounded,filled"];'];
  const items = [];
  scene.items.query(...world, (item) => items.push(item));
  items.sort((a, b) => a - b);
  const isIn = new Uint8Array(scene.count);
  const open = [];
  for (const item of items) {
    while (open.length > 0 && !scene.isInside(item, open[open.length - 1])) {
      open.pop();
      lines.push("  }");
    }
    if (scene.kind[item] === OPEN) {
      open.push(item);
      lines.push(`  subgraph cluster_${item} {`, `  label=${quote(scene.title(item))};`);
      continue;
    }
    isIn[item] = 1;
    const text = [labels.title(scene, item), labels.detail(scene, item)].filter(Boolean);
    const label = text.map((line) => quote(line).slice(1, -1)).join("\\n");
    const fill = colouring.style(scene, item);
    const isLeaf = scene.kind[item] === OP && scene.model.isLeaf(scene.ref[item]);
    const shape = isLeaf ? ", shape=ellipse" : "";
    lines.push(`  n${item} [label="${label}", fillcolor="${fill.fill}", ` +
      `color="${fill.strong}", fontcolor="${fill.ink}"${shape}];`);
  }
  for (; open.length > 0; open.pop()) lines.push("  }");
  scene.edgeFrom.forEach((from, edge) => {
    const to = scene.edgeTo[edge];
    if (!isIn[from] || !isIn[to]) return;
    const count = scene.edgeCount[edge];
    const label = count > 1 ? `${count} edges` : scene.model.flowText(scene.edgeFirst[edge]);
    lines.push(`  n${from} -> n${to} [label=${quote(label)}];`);
  });
  return `${lines.join("\n")}\n}\n`;
}

function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
