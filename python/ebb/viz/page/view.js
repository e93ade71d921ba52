// python/ebb/viz/page/view.js -- the camera, and what mouse, fingers and wheel do to it.

const MAX_SCALE = 4;
const CLICK_SLACK = 4;  // pixels that a hand may tremble during a click
const DOUBLE_TAP_MS = 400;

class Camera {
  constructor() {
    this.scale = 1;
    this.x = 0;
    this.y = 0;
    this.least = 0.02;
  }

  /** The part of the picture that a window of this size shows. */
  world(width, height) {
    const [left, top] = this.toWorld(0, 0);
    const [right, bottom] = this.toWorld(width, height);
    return [left, top, right, bottom];
  }

  toWorld(x, y) { return [(x - this.x) / this.scale, (y - this.y) / this.scale]; }
  toScreen(x, y) { return [x * this.scale + this.x, y * this.scale + this.y]; }

  pan(dx, dy) {
    this.x += dx;
    this.y += dy;
  }

  /** Scales so that the point of the picture below (x, y) stays there. */
  zoom(factor, x, y) {
    const scale = Math.min(MAX_SCALE, Math.max(this.least, this.scale * factor));
    const real = scale / this.scale;
    this.x = x - (x - this.x) * real;
    this.y = y - (y - this.y) * real;
    this.scale = scale;
  }

  /** A camera state that shows the rectangle as large as it fits, at most at `most`. */
  fitting([left, top, right, bottom], width, height, most) {
    const margin = 24;
    const scale = Math.min(most, (width - 2 * margin) / Math.max(1, right - left),
      (height - 2 * margin) / Math.max(1, bottom - top));
    return {
      scale,
      x: (width - (left + right) * scale) / 2,
      y: (height - (top + bottom) * scale) / 2,
    };
  }

  set({ scale, x, y }) {
    this.scale = scale;
    this.x = x;
    this.y = y;
  }
}

/** Turns pointer events on the canvas into pans, zooms, hovers and clicks of its `app`. */
class Pointers {
  constructor(app, canvas) {
    this.app = app;
    this.canvas = canvas;
    this.down = new Map();
    this.lastTap = { time: -Infinity, item: -1 };
    this.wasToggled = false;  // by the click before
    canvas.addEventListener("pointerdown", (event) => this._onDown(event));
    canvas.addEventListener("pointermove", (event) => this._onMove(event));
    canvas.addEventListener("pointerup", (event) => this._onUp(event));
    canvas.addEventListener("pointercancel", (event) => this.down.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => app.hover(-1, 0, 0, -1));
    canvas.addEventListener("dblclick", (event) => this._onDoubleClick(event));
    canvas.addEventListener("wheel", (event) => this._onWheel(event), { passive: false });
  }

  _at(event) {
    const frame = this.canvas.getBoundingClientRect();
    return { x: event.clientX - frame.left, y: event.clientY - frame.top };
  }

  _onDown(event) {
    if (event.button > 1) return;
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    const at = this._at(event);
    this.down.set(event.pointerId, at);
    if (this.down.size === 1) this.press = { ...at, moved: false };
    else this.press.moved = true;  // a second finger: no click will follow
  }

  _onMove(event) {
    const at = this._at(event);
    const before = this.down.get(event.pointerId);
    if (!before) {
      const item = this._itemAt(at);
      this.app.hover(item, at.x, at.y, item < 0 ? this._linkAt(at) : -1);
      return;
    }
    const far = Math.hypot(at.x - this.press.x, at.y - this.press.y) > CLICK_SLACK;
    this.press.moved = this.press.moved || far;
    if (this.down.size === 2) this._pinch(event.pointerId, before, at);
    else if (this.press.moved) this.app.panBy(at.x - before.x, at.y - before.y);
    else return;  // keep the first place: the pan then starts where the press was
    this.down.set(event.pointerId, at);
  }

  _pinch(id, before, at) {
    const [, other] = [...this.down].find(([key]) => key !== id);
    const was = Math.hypot(before.x - other.x, before.y - other.y);
    const is = Math.hypot(at.x - other.x, at.y - other.y);
    const middle = { x: (at.x + other.x) / 2, y: (at.y + other.y) / 2 };
    this.app.panBy((at.x - before.x) / 2, (at.y - before.y) / 2);
    if (was > 0 && is > 0) this.app.zoomBy(is / was, middle.x, middle.y);
  }

  _onUp(event) {
    const at = this._at(event);
    this.down.delete(event.pointerId);
    const isTouch = event.pointerType === "touch";
    if (this.down.size === 0 && this.press && !this.press.moved) this._click(at, isTouch);
  }

  _click(at, isTouch) {
    const item = this._itemAt(at);
    this.isTouch = isTouch;
    this.wasToggled = item >= 0 && (this._isOnSign(item, at) || (isTouch && this._isDouble(item)));
    if (item < 0) this.app.clickLink(this._linkAt(at));
    else if (this.wasToggled) this.app.toggleItem(item);
    else this.app.selectItem(item);
  }

  /** Whether a tap is the second on an item; of clicks the browser itself tells. */
  _isDouble(item) {
    const now = performance.now();
    const isDouble = item === this.lastTap.item && now - this.lastTap.time < DOUBLE_TAP_MS;
    this.lastTap = { time: isDouble ? -Infinity : now, item };
    return isDouble;
  }

  _onDoubleClick(event) {
    const item = this._itemAt(this._at(event));
    if (item >= 0 && !this.isTouch && !this.wasToggled) this.app.toggleItem(item);
  }

  /** The box at a place of the canvas; of an open group only its header counts. */
  _itemAt(at) {
    const { scene, camera } = this.app;
    if (!scene) return -1;
    const [x, y] = camera.toWorld(at.x, at.y);
    const item = scene.itemAt(x, y);
    if (item < 0 || scene.kind[item] !== OPEN) return item;
    const header = Math.max(kernel.header(), 18 / camera.scale);
    return y - scene.y[item] <= header ? item : -1;
  }

  _linkAt(at) {
    const { scene, camera } = this.app;
    if (!scene) return -1;
    return scene.linkAt(...camera.toWorld(at.x, at.y), 6 / camera.scale);
  }

  _isOnSign(item, at) {
    const { scene, camera } = this.app;
    if (scene.kind[item] === OP || camera.scale < TEXT_SCALE) return false;
    const [x, y] = camera.toWorld(at.x, at.y);
    const right = scene.x[item] + scene.w[item];
    return x > right - 28 && y < scene.y[item] + 28;
  }

  _onWheel(event) {
    event.preventDefault();
    const at = this._at(event);
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    if (event.shiftKey) this.app.panBy(-(dx || dy), 0);
    else this.app.zoomBy(Math.exp(-dy * (event.ctrlKey ? 0.01 : 0.0016)), at.x, at.y);
  }
}
