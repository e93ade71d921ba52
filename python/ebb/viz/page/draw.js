// python/ebb/viz/page/draw.js -- draws the part of a Scene that is in sight on the canvas.
//
// Far out, boxes become plain rectangles, bends become straight lines and texts vanish; the names
// of open groups keep their size on the screen and give way to each other, as on a map.

const TEXT_SCALE = 0.52;  // below it a box's text could not be read
const BEND_SCALE = 0.3;
const SPECK_SCALE = 0.05;  // below it boxes are about as small as pixels

class Painter {
  constructor(canvas, labels) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.labels = labels;
    this.drawn = { items: 0, links: 0 };
    this.whole = {};
  }

  resize(width, height, ratio) {
    this.width = width;
    this.height = height;
    this.ratio = ratio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
  }

  /**
   * `look` is what app.js keeps: scene, camera, colouring, theme; the items selected and hovered;
   * lit: per item whether it stays bright (null: all do); bright: links to stress; found: per item.
   */
  draw(look) {
    const { context, ratio } = this;
    const { scene, camera } = look;
    this.look = look;
    this.theme = THEMES[look.theme];
    this.groupFills = [0.09, 0.05].map((share) => mix(this.theme.group, this.theme.neutral, share));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = this.theme.canvas;
    context.fillRect(0, 0, this.width, this.height);
    if (!scene) return;
    const { scale } = camera;
    context.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * camera.x, ratio * camera.y);
    const world = camera.world(this.width, this.height);
    this._collect(world);
    for (const item of this.open) this._drawOpen(item, scale);
    this._drawLinks(scale);
    if (scale >= TEXT_SCALE) for (const item of this.boxes) this._drawBox(item);
    else this._drawPlainBoxes(scale);
    this._drawRings(scale);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this._drawGroupNames(scale);
  }

  /** Finds what is in sight; while all of it is, a pan needs no new look. */
  _collect(world) {
    const { scene, camera } = this.look;
    const isAll = world[0] < 0 && world[1] < 0 && world[2] > scene.w[0] && world[3] > scene.h[0];
    const isKnown = isAll && this.whole.scene === scene && this.whole.scale === camera.scale;
    if (!isKnown) this._find(world);
    this.whole = isAll ? { scene, scale: camera.scale } : {};
    [this.open, this.boxes, this.links] = this.found;
    if (camera.scale < SPECK_SCALE) this._dropHidden(camera);
    this.drawn = { items: this.boxes.length + this.open.length, links: this.links.length };
  }

  _find([left, top, right, bottom]) {
    const { scene, camera } = this.look;
    const [open, boxes, links] = [[], [], []];
    scene.items.query(left, top, right, bottom, (item) => {
      (scene.kind[item] === OPEN ? open : boxes).push(item);
    });
    open.sort((a, b) => a - b);
    const least = 1.5 / camera.scale;  // what is shorter on the screen shows nothing
    const { bounds } = scene.links;
    scene.links.query(left, top, right, bottom, (link) => {
      const at = link * 4;
      const long = bounds[at + 3] - bounds[at + 1] + bounds[at + 2] - bounds[at];
      if (long > least) links.push(link);
    });
    this.found = [open, boxes, links];
  }

  /** Very far out many boxes share a pixel: the first one found for each pixel stands for all. */
  _dropHidden({ scale, x, y }) {
    const { scene } = this.look;
    const width = Math.ceil(this.width);
    const taken = new Uint8Array(width * Math.ceil(this.height));
    const isFirst = (item) => {
      if (scene.w[item] * scale > 2 && scene.h[item] * scale > 2) return true;
      const column = Math.min(width - 1, Math.max(0, Math.floor(scene.x[item] * scale + x)));
      const at = Math.max(0, Math.floor(scene.y[item] * scale + y)) * width + column;
      if (taken[at]) return false;
      taken[at] = 1;
      return true;
    };
    this.boxes = this.boxes.filter(isFirst);
    taken.fill(0);
    this.open = this.open.filter(isFirst);
  }

  _isDim(item) {
    const { lit } = this.look;
    return lit !== null && !lit[item];
  }

  _drawOpen(item, scale) {
    const { context, theme } = this;
    const { scene } = this.look;
    const [x, y, w, h] = [scene.x[item], scene.y[item], scene.w[item], scene.h[item]];
    context.fillStyle = this._groupFill(item);
    context.strokeStyle = theme.border;
    context.lineWidth = Math.max(1, 0.5 / scale);
    context.beginPath();
    if (scale > BEND_SCALE) context.roundRect(x, y, w, h, 8);
    else context.rect(x, y, w, h);
    context.fill();
    context.stroke();
  }

  _groupFill(item) {
    return this.groupFills[this.look.scene.depth[item] % 2];
  }

  _drawLinks(scale) {
    const { theme } = this;
    const { scene, lit, bright: stressed } = this.look;
    const [plain, dim, bright] = [[], [], []];
    for (const link of this.links) {
      if (stressed.has(link)) bright.push(link);
      else if (lit === null) plain.push(link);
      else dim.push(link);
    }
    const far = plain.filter((link) => scene.isFar[link]);
    const near = far.length > 0 ? plain.filter((link) => !scene.isFar[link]) : plain;
    const width = Math.max(1.2, 0.6 / scale);
    this._strokeLinks(far, mix(theme.canvas, theme.edge, 0.35), width, scale);
    this._strokeLinks(dim, mix(theme.canvas, theme.edge, 0.4), width, scale);
    this._strokeLinks(near, theme.edge, width, scale);
    this._strokeLinks(bright, theme.lit, Math.max(1.8, 1.2 / scale), scale);
    const { hoveredLink } = this.look;
    if (hoveredLink >= 0) this._strokeLinks([hoveredLink], theme.accent, 2 / scale ** 0.5, scale);
  }

  _strokeLinks(links, colour, width, scale) {
    const { context } = this;
    const { scene } = this.look;
    context.strokeStyle = colour;
    context.lineWidth = width;
    for (let from = 0; from < links.length; from += 256) {  // huge paths are slow to fill
      context.beginPath();
      for (const link of links.slice(from, from + 256)) {
        if (scale >= BEND_SCALE) traceBends(context, scene.points[link]);
        else traceStraight(context, scene.points[link]);
      }
      context.stroke();
    }
    if (scale < BEND_SCALE || links.length === 0) return;
    context.fillStyle = colour;
    context.beginPath();
    for (const link of links) traceHead(context, scene, link);
    context.fill();
  }

  _drawPlainBoxes(scale) {
    const { context, theme } = this;
    const { scene, colouring } = this.look;
    const least = 1 / scale;
    const share = Math.min(1, Math.max(0.35, 1.25 - 2 * scale));
    let before = "";
    for (const item of this.boxes) {
      const style = colouring.style(scene, item);
      let colour = style.strong === style.fill ? style.fill : this._blend(style, share);
      if (this._isDim(item)) colour = mix(theme.canvas, colour, 0.3);
      if (colour !== before) context.fillStyle = colour;
      before = colour;
      const [w, h] = [Math.max(least, scene.w[item]), Math.max(least, scene.h[item])];
      context.fillRect(scene.x[item], scene.y[item], w, h);
    }
  }

  _blend(style, share) {
    if (style.share !== share) {
      style.share = share;
      style.blend = mix(style.fill, style.strong, share);
    }
    return style.blend;
  }

  _drawBox(item) {
    const { context } = this;
    const { scene, colouring } = this.look;
    const [x, y, w, h] = [scene.x[item], scene.y[item], scene.w[item], scene.h[item]];
    const style = colouring.style(scene, item);
    const isGroup = scene.kind[item] === FOLDED;
    const radius = isGroup ? 8 : this._isLeaf(item) ? h / 2 : 5;
    context.globalAlpha = this._isDim(item) ? 0.3 : 1;
    if (isGroup && this.labels.groups.repeat[scene.ref[item]] > 0) {
      for (const shift of [6, 3]) this._outline(x + shift, y + shift, w, h, radius, style);
    }
    context.setLineDash(dashOf(scene, item));
    this._outline(x, y, w, h, radius, style);
    context.setLineDash([]);
    if (!isGroup && !this._isLeaf(item) && style.strong !== style.fill) {
      context.fillStyle = style.strong;
      context.beginPath();
      context.roundRect(x, y, 4, h, [radius, 0, 0, radius]);
      context.fill();
    }
    this._drawTexts(item, x, y, w, h, style, isGroup);
    context.globalAlpha = 1;
    if (isGroup) this._drawSign(x + w - 16, y + 15, style.faint);
  }

  _isLeaf(item) {
    const { scene } = this.look;
    return scene.kind[item] === OP && scene.model.isLeaf(scene.ref[item]);
  }

  _outline(x, y, w, h, radius, style) {
    const { context, theme } = this;
    context.beginPath();
    context.roundRect(x, y, w, h, radius);
    context.fillStyle = style.fill;
    context.fill();
    context.strokeStyle = style.strong === style.fill ? theme.border : this._edgeOf(style);
    context.lineWidth = 1;
    context.stroke();
  }

  _edgeOf(style) {
    if (!style.edge) style.edge = mix(style.fill, style.strong, 0.55);
    return style.edge;
  }

  _drawTexts(item, x, y, w, h, style, isGroup) {
    const { context, labels } = this;
    const { scene } = this.look;
    const detail = labels.detail(scene, item);
    const room = w - 2 * TEXT_PAD + 4;
    const middle = y + h / 2;
    context.textBaseline = "middle";
    context.textAlign = isGroup ? "left" : "center";
    const left = isGroup ? x + TEXT_PAD : x + w / 2 + (this._isLeaf(item) ? 0 : 2);
    context.fillStyle = style.ink;
    context.font = TITLE_FONT;
    const title = labels.measure.fit(
      labels.title(scene, item), TITLE_FONT, room - (isGroup ? 16 : 0), this._isLeaf(item));
    context.fillText(title, left, detail ? middle - 7.5 : middle);
    if (!detail) return;
    context.fillStyle = style.faint;
    context.font = DETAIL_FONT;
    context.fillText(labels.measure.fit(detail, DETAIL_FONT, room), left, middle + 8.5);
  }

  /** The plus of a folded group. */
  _drawSign(x, y, colour) {
    const { context } = this;
    context.strokeStyle = colour;
    context.lineWidth = 1.4;
    context.beginPath();
    context.moveTo(x - 4, y);
    context.lineTo(x + 4, y);
    context.moveTo(x, y - 4);
    context.lineTo(x, y + 4);
    context.stroke();
  }

  /** Rings around what is selected, found or under the pointer. */
  _drawRings(scale) {
    const { theme } = this;
    const { found, selected, hovered, isFocused } = this.look;
    if (found !== null) {
      for (const item of this.boxes) if (found[item]) this._ring(item, theme.lit, 1.5, scale);
    }
    if (hovered >= 0) this._ring(hovered, theme.accent, 1, scale);
    if (selected >= 0) this._ring(selected, theme.accent, isFocused ? 3 : 2.2, scale);
  }

  _ring(item, colour, width, scale) {
    const { context } = this;
    const { scene } = this.look;
    if (item >= scene.count) return;
    const pad = Math.max(2, 2 / scale);
    context.strokeStyle = colour;
    context.lineWidth = Math.max(width, width / scale);
    context.beginPath();
    context.roundRect(scene.x[item] - pad, scene.y[item] - pad, scene.w[item] + 2 * pad,
      scene.h[item] + 2 * pad, 8);
    context.stroke();
  }

  /** Names of open groups: on their header, or on a plate of their own where that is too small. */
  _drawGroupNames(scale) {
    const { context, theme } = this;
    const { scene, camera } = this.look;
    const taken = [];
    context.textBaseline = "middle";
    context.textAlign = "left";
    for (const item of this.open) {
      const width = scene.w[item] * scale;
      const size = Math.min(14, Math.max(11, 12 * scale));
      const right = scene.x[item] * scale + camera.x + width;
      const bottom = (scene.y[item] + scene.h[item]) * scale + camera.y;
      const x = Math.max(scene.x[item] * scale + camera.x, 0) + 10;
      const y = Math.max(scene.y[item] * scale + camera.y, 0) + Math.max(9, 14 * scale);
      const room = right - x - 12;
      if (room < 40 || bottom - y < 12) continue;
      const text = this._groupText(item, room * (12 / size));
      const long = this.labels.measure.width(text, TITLE_FONT) * (size / 12);
      const plate = [x - 4, y - 8, x + long + 4, y + 8];
      if (taken.some((other) => overlap(other, plate))) continue;
      taken.push(plate);
      context.fillStyle = `${this._groupFill(item)}e6`;
      context.fillRect(plate[0], plate[1], long + 8, 16);
      context.font = `600 ${size}px ${FONT}`;
      context.fillStyle = theme.text;
      context.fillText(text, x, y);
      if (scale >= TEXT_SCALE) this._drawType(item, x + long + 8, y, right - 26, scale);
    }
  }

  _groupText(item, room) {
    return this.labels.measure.fit(this.look.scene.title(item), TITLE_FONT, room);
  }

  /** The class of an open group after its name, and the minus that folds it. */
  _drawType(item, x, y, right, scale) {
    const { context, theme, labels } = this;
    const group = this.look.scene.ref[item];
    const type = labels.groups.type[group];
    if (type && type !== labels.groups.label[group] && right - x > 30) {
      const text = labels.measure.fit(type, DETAIL_FONT, right - x);
      const grown = Math.min(1.2, Math.max(0.9, scale));
      context.fillStyle = this._groupFill(item);
      context.fillRect(x - 4, y - 8, labels.measure.width(text, DETAIL_FONT) * grown + 8, 16);
      context.font = `${11 * grown}px ${FONT}`;
      context.fillStyle = theme.muted;
      context.fillText(text, x, y);
    }
    context.strokeStyle = theme.muted;
    context.lineWidth = 1.4;
    context.beginPath();
    context.moveTo(right + 26 - 16 * scale - 4 * scale, y);
    context.lineTo(right + 26 - 16 * scale + 4 * scale, y);
    context.stroke();
  }
}

/** Custom functions have a dashed border, views and writes in place a dotted one. */
function dashOf(scene, item) {
  if (scene.kind[item] !== OP) return [];
  return [[], [], [5, 3], [2, 2]][scene.model.data.nodes.kind[scene.ref[item]]] || [];
}

function overlap(a, b) {
  return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}

/** Calls the path's lineTo and bezierCurveTo; export.js has one that writes SVG. */
function traceBends(path, points) {
  let [x, y] = points;
  path.moveTo(x, y);
  for (let k = 2; k < points.length; k += 2) {
    const [nextX, nextY] = [points[k], points[k + 1]];
    if (nextX === x) {
      path.lineTo(nextX, nextY);
    } else {
      const middle = (y + nextY) / 2;
      path.bezierCurveTo(x, middle, nextX, middle, nextX, nextY);
    }
    x = nextX;
    y = nextY;
  }
}

function traceStraight(path, points) {
  path.moveTo(points[0], points[1]);
  for (let k = 2; k < points.length; k += 2) path.lineTo(points[k], points[k + 1]);
}

/** An arrow head where the gradient arrives: at boxes, not where a link joins a lane or port. */
function traceHead(path, scene, link) {
  const points = scene.points[link];
  const isUpward = scene.isUpward[link];
  if (scene.linkTo[link] < 0 || (scene.linkTail[link] >= 0 && !isUpward)) return;
  if (scene.kind[scene.linkTo[link]] === OPEN) return;
  const x = points[isUpward ? 0 : points.length - 2];
  const y = points[isUpward ? 1 : points.length - 1];
  const back = isUpward ? 6 : -6;
  path.moveTo(x, y);
  path.lineTo(x - 3.5, y + back);
  path.lineTo(x + 3.5, y + back);
  path.closePath();
}
