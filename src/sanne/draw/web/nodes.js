// The nodes that the page knows: ids, points, colours, which are shown, which are highlighted. New nodes come last.

import { slotOf } from "./palette.js";

export const SHOWN = 0;
export const DIMMED = 1;
export const HIDDEN = 2;
export const BRIGHT = 3;

export class Nodes {
  constructor() {
    this.ids = [];
    this.rows = new Map(); // id as text -> row
    this.points = new Float32Array(0); // x, y
    this.before = new Float32Array(0); // where they came from, while they move
    this.colours = new Uint16Array(0);
    this.flags = new Uint8Array(0);
    this.classes = [];
    this.noColour = 65535;
    this.count = 0;
    this.own = 0; // without those that arrived since the page was opened
    this.old = 0; // without new nodes, which come last
    this.hidden = new Set(); // colours hidden in the legend
    this.stand = null; // highlighted rows, or null for none
    this.arrived = new Map(); // row -> its colour in each colouring
    this.colouring = null;
    this.at = 0; // which of the colourings it is
    this.gone = new Set(); // ids, as text, of nodes that were deleted
  }

  setIds(ids, fresh = 0) {
    this.old = ids.length - fresh;
    this.ids = ids;
    this.rows = new Map(ids.map((id, row) => [String(id), row]));
    this.own = ids.length;
  }

  // Points of a map; new nodes are left out until they are placed on it.
  setPoints(points) {
    const moved = this.before.length && points.length <= this.points.length ? this.points.slice(0, points.length) : points;
    for (let row = this.own; row < this.count; row += 1) this.rows.delete(String(this.ids[row]));
    this.ids.length = this.own;
    this.count = this.own;
    this.points = points;
    this.before = moved;
    this.colours = new Uint16Array(this.count).fill(this.noColour);
    this.flags = new Uint8Array(this.count);
    this.mark();
    return moved !== points;
  }

  // Other colours for the same points; those that arrived since the page was opened keep theirs of this colouring.
  setColouring(colouring, at, colours) {
    this.colouring = colouring;
    this.at = at;
    this.classes = colouring.classes;
    this.hidden.clear();
    this.colours = grown(colours, Uint16Array, this.count);
    for (let row = this.own; row < this.count; row += 1) this.colours[row] = this.arrived.get(row)?.[at] ?? this.noColour;
    this.mark();
  }

  settle() {
    this.before = this.points;
  }

  // New nodes with their points; known ones move there.
  add(arrivals) {
    const fresh = arrivals.filter((node) => !this.rows.has(String(node.id)));
    const count = this.count + fresh.length;
    if (fresh.length) {
      this.points = grown(this.points, Float32Array, 2 * count);
      this.colours = grown(this.colours, Uint16Array, count);
      this.flags = grown(this.flags, Uint8Array, count);
      for (const node of fresh) {
        this.ids[this.count] = node.id;
        this.rows.set(String(node.id), this.count);
        this.count += 1;
      }
    }
    for (const node of arrivals) {
      const row = this.rows.get(String(node.id));
      this.points[2 * row] = node.x;
      this.points[2 * row + 1] = node.y;
      if (row >= this.own) this.arrived.set(row, node.colours);
      if (row >= this.own) this.colours[row] = node.colours[this.at] ?? this.noColour;
    }
    this.settle();
    this.mark();
    return arrivals.map((node) => this.rows.get(String(node.id)));
  }

  // Deleted nodes are no longer drawn, and cannot be hit.
  setGone(ids) {
    this.gone = new Set(ids.map(String));
    this.mark();
  }

  row(id) {
    return this.rows.get(String(id));
  }

  isNew(row) {
    return row >= this.old;
  }

  className(row) {
    const colour = row === undefined ? this.noColour : this.colours[row];
    if (this.colouring?.kind !== "number" || colour === this.noColour) return this.classes[colour];
    const { low, high, light } = this.colouring;
    return `about ${Number((low + ((colour + 0.5) / light.length) * (high - low)).toPrecision(2))}`;
  }

  // The class of a node, or what is measured with its value.
  describe(row) {
    const name = this.className(row);
    return name !== undefined && this.colouring?.kind === "number" ? `${this.colouring.title} ${name}` : name;
  }

  x(row) {
    return this.points[2 * row];
  }

  y(row) {
    return this.points[2 * row + 1];
  }

  // Which rows are highlighted; null for none.
  standOut(rows) {
    this.stand = rows && new Set(rows);
    this.mark();
  }

  mark() {
    for (let row = 0; row < this.count; row += 1) {
      if (this.hidden.has(this.colours[row]) || (this.gone.size && this.gone.has(String(this.ids[row])))) this.flags[row] = HIDDEN;
      else if (this.stand === null) this.flags[row] = SHOWN;
      else this.flags[row] = this.stand.has(row) ? BRIGHT : DIMMED;
    }
  }

  counts() {
    const counts = new Map();
    for (let row = 0; row < this.count; row += 1) {
      if (this.gone.size && this.gone.has(String(this.ids[row]))) continue;
      counts.set(this.colours[row], (counts.get(this.colours[row]) ?? 0) + 1);
    }
    return counts;
  }

  slots() {
    return Uint8Array.from(this.colours.subarray(0, this.count), slotOf);
  }

  // The row nearest to a place, within a reach, that is not hidden; -1 if there is none.
  nearest(x, y, reach) {
    let found = -1;
    let least = reach * reach;
    for (let row = 0; row < this.count; row += 1) {
      if (this.flags[row] === HIDDEN) continue;
      const dx = this.points[2 * row] - x;
      const dy = this.points[2 * row + 1] - y;
      const square = dx * dx + dy * dy;
      const weighed = this.flags[row] === BRIGHT ? square * 0.5 : square; // highlighted points are easier to hit
      if (weighed < least) {
        least = weighed;
        found = row;
      }
    }
    return found;
  }

  // The frame around some rows (all by default), and around one more place.
  bounds(rows = null, place = null) {
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    const include = (x, y) => {
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = Math.max(bottom, y);
    };
    const count = rows ? rows.length : this.count;
    for (let i = 0; i < count; i += 1) {
      const row = rows ? rows[i] : i;
      include(this.points[2 * row], this.points[2 * row + 1]);
    }
    if (place) include(place.x, place.y);
    return left <= right ? { left, right, top, bottom } : { left: -1, right: 1, top: -1, bottom: 1 };
  }
}

function grown(array, kind, length) {
  const larger = new kind(length);
  larger.set(array.subarray(0, Math.min(array.length, length)));
  return larger;
}
