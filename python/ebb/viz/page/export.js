// python/ebb/viz/page/export.js -- what is in sight as SVG (vectors, texts at any zoom) or as DOT.

function escapeXml(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

function round(value) { return Math.round(value * 10) / 10; }

/** Takes the calls of a canvas path and writes the `d` of an SVG path. */
class SvgPath {
  constructor() { this.parts = []; }
  get text() { return this.parts.join(""); }
  moveTo(x, y) { this.parts.push(`M${round(x)} ${round(y)}`); }
  lineTo(x, y) { this.parts.push(`L${round(x)} ${round(y)}`); }
  bezierCurveTo(...at) { this.parts.push(`C${at.map(round).join(" ")}`); }
  closePath() { this.parts.push("Z"); }
}

/** What of a scene meets a rectangle: items in painting order, and links. */
function inSight(scene, [left, top, right, bottom]) {
  const items = [];
  const links = [];
  scene.items.query(left, top, right, bottom, (item) => items.push(item));
  scene.links.query(left, top, right, bottom, (link) => links.push(link));
  return { items: items.sort((a, b) => a - b), links: links.sort((a, b) => a - b) };
}

class SvgWriter {
  constructor(look, labels) {
    this.look = look;
    this.labels = labels;
    this.theme = THEMES[look.theme];
    this.parts = [];
  }

  write(world) {
    const { scene } = this.look;
    const margin = 12;
    const left = Math.max(world[0], -margin);
    const top = Math.max(world[1], -margin);
    const width = Math.min(world[2], scene.w[0] + margin) - left;
    const height = Math.min(world[3], scene.h[0] + margin) - top;
    const box = [left, top, width, height].map(round).join(" ");
    const { items, links } = inSight(scene, world);
    this.parts.push(
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${box}" width="${round(width)}" ` +
      `height="${round(height)}" font-family='${FONT}' font-size="12">`,
      `<title>Backward graph</title>`,
      `<rect x="${round(left)}" y="${round(top)}" width="${round(width)}" ` +
      `height="${round(height)}" fill="${this.theme.canvas}"/>`);
    for (const item of items) if (scene.kind[item] === OPEN) this._group(item);
    this._links(links.filter((link) => !this.look.bright.has(link)), this.theme.edge);
    this._links(links.filter((link) => this.look.bright.has(link)), this.theme.lit);
    for (const item of items) if (scene.kind[item] !== OPEN) this._box(item);
    return `${this.parts.join("\n")}\n</svg>\n`;
  }

  _rect(item, radius, fill, stroke, shift = 0) {
    const { scene } = this.look;
    return `<rect x="${round(scene.x[item] + shift)}" y="${round(scene.y[item] + shift)}" ` +
      `width="${round(scene.w[item])}" height="${round(scene.h[item])}" rx="${radius}" ` +
      `fill="${fill}" stroke="${stroke}"/>`;
  }

  _text(x, y, text, style) {
    return `<text x="${round(x)}" y="${round(y)}" ${style}>${escapeXml(text)}</text>`;
  }

  _group(item) {
    const { scene } = this.look;
    const fill = mix(this.theme.group, this.theme.neutral, scene.depth[item] % 2 ? 0.05 : 0.09);
    const type = this.labels.groups.type[scene.ref[item]];
    const title = scene.title(item);
    this.parts.push(this._rect(item, 8, fill, this.theme.border),
      this._text(scene.x[item] + 10, scene.y[item] + 18, title,
        `font-weight="600" fill="${this.theme.text}"`));
    const after = scene.x[item] + 18 + this.labels.measure.width(title, TITLE_FONT);
    if (type) {
      this.parts.push(this._text(after, scene.y[item] + 18, type,
        `font-size="11" fill="${this.theme.muted}"`));
    }
  }

  _links(links, colour) {
    const { scene } = this.look;
    if (links.length === 0) return;
    const lines = new SvgPath();
    const heads = new SvgPath();
    for (const link of links) {
      traceBends(lines, scene.points[link]);
      traceHead(heads, scene, link);
    }
    this.parts.push(`<path d="${lines.text}" fill="none" stroke="${colour}" stroke-width="1.2"/>`,
      `<path d="${heads.text}" fill="${colour}"/>`);
  }

  _box(item) {
    const { scene, colouring, lit } = this.look;
    const style = colouring.style(scene, item);
    const isGroup = scene.kind[item] === FOLDED;
    const isLeaf = !isGroup && scene.model.isLeaf(scene.ref[item]);
    const stroke = style.strong === style.fill ? this.theme.border
      : mix(style.fill, style.strong, 0.55);
    const radius = isGroup ? 8 : isLeaf ? scene.h[item] / 2 : 5;
    const isDim = lit !== null && !lit[item];
    this.parts.push(isDim ? '<g opacity="0.3">' : "<g>");
    if (isGroup && this.labels.groups.repeat[scene.ref[item]] > 0) {
      for (const shift of [6, 3]) {
        this.parts.push(this._rect(item, radius, style.fill, stroke, shift));
      }
    }
    const dash = dashOf(scene, item);
    const dashed = dash.length > 0 ? `${stroke}" stroke-dasharray="${dash.join(" ")}` : stroke;
    this.parts.push(this._rect(item, radius, style.fill, dashed));
    if (!isGroup && !isLeaf && style.strong !== style.fill) {
      this.parts.push(`<rect x="${round(scene.x[item])}" y="${round(scene.y[item])}" width="4" ` +
        `height="${scene.h[item]}" rx="2" fill="${style.strong}"/>`);
    }
    this._boxTexts(item, style, isGroup);
    this.parts.push("</g>");
  }

  _boxTexts(item, style, isGroup) {
    const { scene } = this.look;
    const { labels } = this;
    const room = scene.w[item] - 2 * TEXT_PAD + 4;
    const detail = labels.detail(scene, item);
    const middle = scene.y[item] + scene.h[item] / 2;
    const x = isGroup ? scene.x[item] + TEXT_PAD : scene.x[item] + scene.w[item] / 2;
    const anchor = isGroup ? "start" : "middle";
    const title = labels.measure.fit(labels.title(scene, item), TITLE_FONT, room, !isGroup);
    this.parts.push(this._text(x, middle + (detail ? -3.5 : 4), title,
      `text-anchor="${anchor}" font-weight="600" fill="${style.ink}"`));
    if (!detail) return;
    this.parts.push(this._text(x, middle + 12.5, labels.measure.fit(detail, DETAIL_FONT, room),
      `text-anchor="${anchor}" font-size="11" fill="${style.faint}"`));
  }
}

/** Boxes in sight as a DOT digraph, open groups as clusters. */
function writeDot(look, labels, world) {
  const { scene, colouring } = look;
  const quote = (text) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
  const lines = ["digraph backward {", '  node [shape=box, style="rounded,filled"];'];
  const { items } = inSight(scene, world);
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
