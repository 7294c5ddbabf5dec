// Lists of nodes in the panel: a button for each, with a number or a bar beside it.

import { dot, element } from "./dom.js";
import { colourOf } from "./palette.js";

export const percent = (share) => (share >= 0.0095 ? `${Math.round(100 * share)} %` : "< 1 %");

export class Lists {
  // `open(id)` is called for a node that was clicked, `point(row)` for one under the mouse or with the focus (-1: none).
  constructor(nodes, { open, point }) {
    this.nodes = nodes;
    this.open = open;
    this.point = point;
  }

  colour(id) {
    const row = this.nodes.row(id);
    return row === undefined ? null : colourOf(this.nodes.colours[row]);
  }

  // Colour what is listed inside an element as the map is coloured now.
  recolour(place) {
    for (const button of place.querySelectorAll(".list button")) this._paint(button);
  }

  // Entries are {id, amount, share}: text on the right, which is the class if left out, and a bar if there is a share.
  list(entries, empty) {
    if (!entries.length) return element("p", { class: "empty" }, empty);
    const largest = Math.max(...entries.map((entry) => entry.share ?? 0));
    return element("ul", { class: "list" }, ...entries.map((entry) => element("li", {}, this._button(entry, largest))));
  }

  _button({ id, name, amount, share }, largest) {
    const button = element("button", { type: "button", "data-id": id }, dot(null),
      element("span", { class: "name" }, name ?? id), element("span", { class: amount === undefined ? "amount class" : "amount" }, amount));
    if (share !== undefined) {
      const bar = element("span");
      bar.style.width = `${(100 * share) / largest}%`;
      button.append(element("span", { class: "share", "aria-hidden": "true" }, bar));
    }
    this._paint(button);
    const row = this.nodes.row(id) ?? -1;
    if (row < 0) button.title = "Not on the map, which shows a sample of the nodes";
    for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => this.point(row));
    for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => this.point(-1));
    button.addEventListener("click", () => this.open(id));
    return button;
  }

  _paint(button) {
    const { id } = button.dataset;
    const colour = this.colour(id);
    for (const part of button.querySelectorAll(".dot, .share span")) {
      if (colour) part.style.setProperty("--dot", colour);
    }
    const kind = button.querySelector(".amount.class");
    if (kind) kind.textContent = this.nodes.className(this.nodes.row(id)) ?? "";
  }
}
