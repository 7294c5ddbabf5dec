// What is drawn over the points: links, rings, names and new nodes.

import { HIDDEN } from "./nodes.js";

const SIZES = [15, 13, 12]; // CSS pixels of the names of regions, by level
const APPEAR = [0, 1.4, 2.8]; // times as large as when everything is visible
const PULSE = 1400; // milliseconds
const RINGED_AT_MOST = 4000; // new nodes

export class Marks {
  constructor(canvas, nodes, view) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.nodes = nodes;
    this.view = view;
    this.selected = -1;
    this.links = []; // rows
    this.similar = []; // rows
    this.pointed = -1; // a row that a list points at
    this.preview = null; // {x, y, name, parts: [{row, share}], links: [row], kept}
    this.middle = -1; // the row that Enter would open
    this.regions = []; // {level, name, x, y}, the most important first
    this._pulses = []; // {row, begun}
  }

  pulse(rows) {
    const begun = performance.now();
    this._pulses.push(...rows.map((row) => ({ row, begun })));
  }

  // Whether something is still moving.
  get moving() {
    return this._pulses.length > 0;
  }

  draw(size) {
    const { context, view, canvas } = this;
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    this.colours = { ink: read("--ink"), paper: read("--paper"), soft: read("--soft"), accent: read("--accent") };
    context.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    this.size = size;
    this._lines();
    this._newcomers();
    for (const row of this.similar) this._ring(row, 2.5, this.colours.ink, 1.4, [2.5, 2.5]);
    for (const row of this.links) this._ring(row, 2.5, this.colours.ink, 1.4);
    this._preview();
    if (this.selected >= 0) this._chosen(this.selected);
    if (this.pointed >= 0) {
      this._ring(this.pointed, 6, this.colours.accent, 2.5);
      this._name(this.pointed);
    }
    if (this.selected >= 0) this._name(this.selected, true);
    this._drawPulses();
    this._regions();
    if (view.keyboard && document.activeElement === view.canvas) this._cross();
  }

  _at(row) {
    return this.view.toScreen(this.nodes.x(row), this.nodes.y(row));
  }

  _seen(row) {
    return row >= 0 && row < this.nodes.count && this.nodes.flags[row] !== HIDDEN;
  }

  _line(from, to, width, alpha) {
    const { context } = this;
    context.globalAlpha = alpha;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...to);
    context.stroke();
    context.globalAlpha = 1;
  }

  _lines() {
    this.context.strokeStyle = this.colours.ink;
    this.context.lineCap = "round";
    if (this.selected >= 0) {
      for (const row of this.links) if (this._seen(row)) this._line(this._at(this.selected), this._at(row), 1.2, 0.45);
    }
    if (!this.preview) return;
    const at = this.view.toScreen(this.preview.x, this.preview.y);
    this.context.strokeStyle = this.colours.accent;
    for (const { row, share } of this.preview.parts) {
      if (this._seen(row)) this._line(at, this._at(row), 1 + 9 * share, 0.55);
    }
  }

  _circle([x, y], radius) {
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 2 * Math.PI);
  }

  _ring(row, gap, colour, width, dashes = []) {
    if (!this._seen(row)) return;
    const { context } = this;
    this._circle(this._at(row), this.size * 0.65 + gap);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.setLineDash(dashes);
    context.stroke();
    context.setLineDash([]);
  }

  _newcomers() {
    const { nodes } = this;
    const first = Math.max(nodes.old, nodes.count - RINGED_AT_MOST);
    const alpha = nodes.stand === null ? 0.9 : 0.3;
    this.context.globalAlpha = alpha;
    for (let row = first; row < nodes.count; row += 1) this._ring(row, 1, this.colours.ink, 1.1);
    this.context.globalAlpha = 1;
  }

  _chosen(row) {
    const at = this._at(row);
    this._circle(at, this.size * 0.65 + 4.5);
    this.context.strokeStyle = this.colours.paper;
    this.context.lineWidth = 5;
    this.context.stroke();
    this.context.strokeStyle = this.colours.ink;
    this.context.lineWidth = 2.5;
    this.context.stroke();
  }

  _preview() {
    if (!this.preview) return;
    const { context, view, colours } = this;
    const { x, y, parts, kept, name } = this.preview;
    const at = view.toScreen(x, y);
    for (const { row } of parts) this._ring(row, 3, colours.accent, 1.6);
    const half = Math.max(7, this.size * 0.8 + 3);
    context.save();
    context.translate(...at);
    context.rotate(Math.PI / 4);
    context.fillStyle = kept ? colours.accent : colours.paper;
    context.strokeStyle = colours.paper;
    context.lineWidth = 5;
    context.strokeRect(-half / 1.4, -half / 1.4, 2 * half / 1.4, 2 * half / 1.4);
    context.fillRect(-half / 1.4, -half / 1.4, 2 * half / 1.4, 2 * half / 1.4);
    context.strokeStyle = colours.accent;
    context.lineWidth = 2.5;
    context.strokeRect(-half / 1.4, -half / 1.4, 2 * half / 1.4, 2 * half / 1.4);
    context.restore();
    this._text(name, [at[0], at[1] - half - 14], 0, true, "center");
  }

  _name(row, strong = false) {
    if (this._seen(row)) this._text(String(this.nodes.ids[row]), this._at(row), this.size * 0.65 + 9, strong);
  }

  // Names of regions, where they do not overlap; zooming in shows finer ones.
  _regions() {
    const { context, view } = this;
    const zoom = view.scale / view.fitted;
    const taken = [];
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    for (const { level, name, x, y } of this.regions) {
      if (zoom < APPEAR[level]) continue;
      const [left, top] = view.toScreen(x, y);
      context.font = `${level ? 500 : 700} ${SIZES[level] - (view.width < 500 ? 1.5 : 0)}px system-ui, sans-serif`;
      const [wide, high] = [context.measureText(name).width / 2 + 5, SIZES[level] / 2 + 4];
      const box = [left - wide, top - high, left + wide, top + high];
      if (box[0] < 0 || box[1] < 0 || box[2] > view.width || box[3] > view.height) continue;
      if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
      taken.push(box);
      context.globalAlpha = this.nodes.stand === null ? 1 : 0.5;
      context.lineWidth = 4;
      context.strokeStyle = this.colours.paper;
      context.fillStyle = this.colours.ink;
      context.strokeText(name, left, top);
      context.fillText(name, left, top);
      context.globalAlpha = 1;
    }
    this.named = taken.length;
  }

  _text(text, [x, y], away, strong, align = null) {
    const { context } = this;
    const shown = text.length > 40 ? `${text.slice(0, 39)}…` : text;
    context.font = `${strong ? 650 : 500} 13px system-ui, sans-serif`;
    context.textBaseline = "middle";
    const left = x + away + context.measureText(shown).width > this.view.width - 8;
    context.textAlign = align ?? (left ? "right" : "left");
    context.lineJoin = "round";
    context.lineWidth = 4;
    context.strokeStyle = this.colours.paper;
    context.fillStyle = this.colours.ink;
    const at = left && !align ? x - away : x + away;
    context.strokeText(shown, at, y);
    context.fillText(shown, at, y);
  }

  _drawPulses() {
    const now = performance.now();
    this._pulses = this._pulses.filter(({ row, begun }) => now - begun < PULSE && row < this.nodes.count);
    for (const { row, begun } of this._pulses) {
      const part = Math.max(0, (now - begun) / PULSE);
      this._circle(this._at(row), this.size + 26 * part);
      this.context.globalAlpha = 1 - part;
      this.context.strokeStyle = this.colours.accent;
      this.context.lineWidth = 2;
      this.context.stroke();
      this.context.globalAlpha = 1;
    }
  }

  _cross() {
    const { context, view } = this;
    const [x, y] = [view.width / 2, view.height / 2];
    context.strokeStyle = this.colours.ink;
    context.lineWidth = 1.5;
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(x + 6 * dx, y + 6 * dy);
      context.lineTo(x + 15 * dx, y + 15 * dy);
    }
    context.stroke();
    if (this.middle >= 0) {
      this._ring(this.middle, 5, this.colours.accent, 2);
      this._name(this.middle);
    }
  }
}
