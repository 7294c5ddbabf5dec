// The visible part of the map, and how mouse, touch and keyboard change it.

import { calm } from "./dom.js";

const STEP = 1.35; // of a zoom key
const MOVE = 60; // CSS pixels of an arrow key
const CLICK = 5; // CSS pixels that a click may move

export class View {
  constructor(canvas) {
    this.canvas = canvas;
    this.x = 0;
    this.y = 0;
    this.scale = 1; // CSS pixels per unit of the map
    this.fitted = 1; // the scale at which everything is visible
    this.width = 1;
    this.height = 1;
    this.ratio = 1;
    this.onChange = () => {};
    this.onHover = () => {}; // (x, y) in CSS pixels, or null
    this.onClick = () => {};
    this.onCentre = () => {}; // Enter: acts on the centre
    this.keyboard = false; // whether keys were used last
    this._pointers = new Map();
    this._glide = 0;
    this._listen();
  }

  // Whether the map is being dragged.
  get held() {
    return this._pointers.size > 0;
  }

  resize(width, height, ratio) {
    Object.assign(this, { width: Math.max(1, width), height: Math.max(1, height), ratio });
  }

  toMap(x, y) {
    return [this.x + (x - this.width / 2) / this.scale, this.y - (y - this.height / 2) / this.scale];
  }

  toScreen(x, y) {
    return [this.width / 2 + (x - this.x) * this.scale, this.height / 2 - (y - this.y) * this.scale];
  }

  // Show a part of the map, at most `closest` times as large as when everything is visible; `all`: it is everything.
  fit(bounds, { glide = true, all = false, closest = Infinity } = {}) {
    const margin = Math.min(all ? 48 : 90, (all ? 0.07 : 0.16) * Math.min(this.width, this.height));
    const width = Math.max(bounds.right - bounds.left, 1e-6);
    const height = Math.max(bounds.bottom - bounds.top, 1e-6);
    let scale = Math.min((this.width - 2 * margin) / width, (this.height - 2 * margin) / height);
    if (all) this.fitted = scale;
    scale = Math.max(Math.min(scale, closest * this.fitted), 0.9 * this.fitted);
    this.go({ x: (bounds.left + bounds.right) / 2, y: (bounds.top + bounds.bottom) / 2, scale }, glide);
  }

  go(there, glide = true) {
    cancelAnimationFrame(this._glide);
    if (!glide || calm()) {
      Object.assign(this, there);
      this.onChange();
      return;
    }
    const from = { x: this.x, y: this.y, scale: this.scale };
    const begun = performance.now();
    const step = (now) => {
      const part = Math.min(1, (now - begun) / 450);
      const eased = 1 - (1 - part) ** 3;
      this.x = from.x + (there.x - from.x) * eased;
      this.y = from.y + (there.y - from.y) * eased;
      this.scale = from.scale * (there.scale / from.scale) ** eased;
      this.onChange();
      if (part < 1) this._glide = requestAnimationFrame(step);
    };
    this._glide = requestAnimationFrame(step);
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    cancelAnimationFrame(this._glide);
    const [mapX, mapY] = this.toMap(x, y);
    this.scale = Math.min(Math.max(this.scale * factor, this.fitted / 4), this.fitted * 400);
    this.x = mapX - (x - this.width / 2) / this.scale;
    this.y = mapY + (y - this.height / 2) / this.scale;
    this.onChange();
  }

  pan(dx, dy) {
    cancelAnimationFrame(this._glide);
    this.x -= dx / this.scale;
    this.y += dy / this.scale;
    this.onChange();
  }

  _listen() {
    const canvas = this.canvas;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 16 : 1;
      this.zoom(Math.exp(-Math.max(-200, Math.min(200, event.deltaY * lines)) * 0.0022), ...this._place(event));
    }, { passive: false });
    canvas.addEventListener("dblclick", (event) => this.zoom(2, ...this._place(event)));
    canvas.addEventListener("pointerdown", (event) => this._down(event));
    canvas.addEventListener("pointermove", (event) => this._moved(event));
    canvas.addEventListener("pointerup", (event) => this._up(event));
    canvas.addEventListener("pointercancel", (event) => this._pointers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => this.onHover(null));
    canvas.addEventListener("keydown", (event) => this._key(event));
    canvas.addEventListener("blur", () => { this.keyboard = false; this.onChange(); });
  }

  _place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  _down(event) {
    if (event.button !== 0) return;
    this.keyboard = false;
    this.canvas.setPointerCapture(event.pointerId);
    this._pointers.set(event.pointerId, this._place(event));
    this._start = this._place(event);
    this._dragged = this._pointers.size > 1;
  }

  _moved(event) {
    const place = this._place(event);
    const last = this._pointers.get(event.pointerId);
    if (!last) {
      this.onHover(place);
      return;
    }
    if (Math.hypot(place[0] - this._start[0], place[1] - this._start[1]) > CLICK) this._dragged = true;
    if (!this._dragged) return;
    this.canvas.classList.add("held");
    this.onHover(null);
    if (this._pointers.size === 1) this.pan(place[0] - last[0], place[1] - last[1]);
    else this._pinch(event.pointerId, last, place);
    this._pointers.set(event.pointerId, place);
  }

  _pinch(id, last, place) {
    const [, other] = [...this._pointers].find(([key]) => key !== id);
    const before = Math.hypot(last[0] - other[0], last[1] - other[1]);
    const now = Math.hypot(place[0] - other[0], place[1] - other[1]);
    this.pan((place[0] - last[0]) / 2, (place[1] - last[1]) / 2);
    if (before > 0 && now > 0) this.zoom(now / before, (place[0] + other[0]) / 2, (place[1] + other[1]) / 2);
  }

  _up(event) {
    this._pointers.delete(event.pointerId);
    this.canvas.classList.remove("held");
    if (!this._dragged && event.button === 0) this.onClick(this._place(event));
  }

  _key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const far = event.shiftKey ? 3 * MOVE : MOVE;
    const keys = {
      ArrowLeft: () => this.pan(far, 0),
      ArrowRight: () => this.pan(-far, 0),
      ArrowUp: () => this.pan(0, far),
      ArrowDown: () => this.pan(0, -far),
      "+": () => this.zoom(STEP),
      "=": () => this.zoom(STEP),
      "-": () => this.zoom(1 / STEP),
      _: () => this.zoom(1 / STEP),
      Enter: () => this.onCentre(),
      " ": () => this.onCentre(),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    this.keyboard = true;
    keys[event.key]();
    this.onChange();
  }
}
