// What is drawn over the points: links, rings, names and new nodes.

import { HIDDEN } from "./nodes.js";

const SIZES = [15, 13, 12]; // CSS pixels of the names of regions, by level
const APPEAR = [0, 1.4, 2.8]; // times as large as when everything is visible
const NUDGES = [0, 1, -1, 2, -2]; // heights of a name that it is moved by where it would overlap another
const NAMED_FROM = 8; // times as large as when everything is visible, from which nodes have names
const NAMED_AT_MOST = 300; // nodes in view; more have no names
const RINGED_LINKS = 60; // with more, linked nodes have no rings
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
    this.taken = []; // boxes of names
    this._lines();
    for (const row of this.similar) this._ring(row, 2.5, this.colours.ink, 1.4, [2.5, 2.5]);
    if (this.links.length <= RINGED_LINKS) for (const row of this.links) this._ring(row, 2.5, this.colours.ink, 1.4);
    this._preview();
    if (this.selected >= 0) this._chosen(this.selected);
    if (this.pointed >= 0) {
      this._ring(this.pointed, 6, this.colours.accent, 2.5);
      this._name(this.pointed);
    }
    if (this.selected >= 0) this._name(this.selected, true);
    this._drawPulses();
    if (view.keyboard && document.activeElement === view.canvas) this._cross();
    this._regions();
    this._nodeNames();
    this._newcomers(); // over names, so that none is hidden
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
      const alpha = 0.45 * Math.max(0.25, Math.min(1, RINGED_LINKS / this.links.length));
      for (const row of this.links) if (this._seen(row)) this._line(this._at(this.selected), this._at(row), 1.2, alpha);
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
    const { view } = this;
    const zoom = view.scale / view.fitted;
    const before = this.taken.length;
    for (const { level, name, x, y } of this.regions) {
      if (zoom < APPEAR[level]) continue;
      const size = SIZES[level] - (view.width < 500 ? 1.5 : 0);
      this._write(name, view.toScreen(x, y), `${level ? 500 : 700} ${size}px system-ui, sans-serif`, size, NUDGES, this.colours.ink);
    }
    this.named = this.taken.length - before;
  }

  // Zoomed in far enough, names of nodes as well.
  _nodeNames() {
    const { view, nodes } = this;
    if (view.scale < NAMED_FROM * view.fitted) return;
    const [left, top] = view.toMap(0, 0);
    const [right, bottom] = view.toMap(view.width, view.height);
    const rows = [];
    for (let row = 0; row < nodes.count && rows.length <= NAMED_AT_MOST; row += 1) {
      const [x, y] = [nodes.points[2 * row], nodes.points[2 * row + 1]];
      if (x > left && x < right && y < top && y > bottom && nodes.flags[row] !== HIDDEN && row !== this.selected) rows.push(row);
    }
    if (rows.length > NAMED_AT_MOST) return;
    for (const row of rows) {
      const [x, y] = this._at(row);
      this._write(cut(nodes.ids[row]), [x, y + this.size * 0.5 + 8], "400 11px system-ui, sans-serif", 11, [0], this.colours.soft);
    }
  }

  // Write a name where it is free, in the middle of a place or just above or below it; without room, not at all.
  _write(name, [x, y], font, size, nudges, colour) {
    const { context, view } = this;
    if (x < 0 || y < 0 || x > view.width || y > view.height) return;
    context.font = font;
    const [wide, high] = [context.measureText(name).width / 2 + 5, size / 2 + 4];
    const middle = Math.min(Math.max(x, wide), view.width - wide);
    const places = nudges.map((nudge) => [middle - wide, y + (2 * nudge - 1) * high, middle + wide, y + (2 * nudge + 1) * high]);
    const box = places.find((one) => one[1] >= 0 && one[3] <= view.height && !this.taken.some((other) => overlap(one, other)));
    if (!box) return;
    this.taken.push(box);
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.globalAlpha = this.nodes.stand === null ? 1 : 0.5;
    context.lineWidth = 4;
    context.strokeStyle = this.colours.paper;
    context.fillStyle = colour;
    context.strokeText(name, middle, (box[1] + box[3]) / 2);
    context.fillText(name, middle, (box[1] + box[3]) / 2);
    context.globalAlpha = 1;
  }

  _text(text, [x, y], away, strong, align = null) {
    const { context } = this;
    const shown = cut(text);
    context.font = `${strong ? 650 : 500} 13px system-ui, sans-serif`;
    context.textBaseline = "middle";
    const wide = context.measureText(shown).width;
    const left = x + away + wide > this.view.width - 8;
    context.textAlign = align ?? (left ? "right" : "left");
    context.lineJoin = "round";
    context.lineWidth = 4;
    context.strokeStyle = this.colours.paper;
    context.fillStyle = this.colours.ink;
    const at = left && !align ? x - away : x + away;
    const start = align ? at - wide / 2 : left ? at - wide : at;
    this.taken.push([start - 3, y - 10, start + wide + 3, y + 10]);
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

const overlap = (one, other) => one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];

const cut = (text) => (String(text).length > 40 ? `${String(text).slice(0, 39)}…` : String(text));
