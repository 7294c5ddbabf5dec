// A field that finds nodes by id or text as you type: a list to choose from with mouse or keyboard.

import { getJson } from "./api.js";
import { dot, element, say } from "./dom.js";

const WAIT = 160; // milliseconds after the last key before the server is asked
const LIMIT = 12;

export class Finder {
  // `choose(id)` is called with the node that was chosen; `colour(id)` gives its colour, if it has one.
  constructor(input, list, { choose, colour }) {
    this.input = input;
    this.list = list;
    this.choose = choose;
    this.colour = colour;
    this.found = [];
    this.at = -1;
    this._timer = 0;
    this._asked = null;
    input.addEventListener("input", () => this._typed());
    input.addEventListener("keydown", (event) => this._key(event));
    input.addEventListener("focus", () => { if (this.found.length) this._open(true); });
    input.addEventListener("blur", () => this._open(false));
    list.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
  }

  _typed() {
    clearTimeout(this._timer);
    this._asked?.abort();
    const text = this.input.value.trim();
    if (!text) {
      this._show([], null);
      return;
    }
    this._timer = setTimeout(() => this._ask(text), WAIT);
  }

  async _ask(text) {
    this._asked = new AbortController();
    const query = new URLSearchParams({ q: text, limit: LIMIT });
    try {
      const answer = await getJson(`v1/search?${query}`, { signal: this._asked.signal });
      const more = answer.complete ? "" : " (not all were looked at)";
      this._show(answer.nodes, answer.nodes.length ? null : `No node has “${text}” in its id or text${more}.`);
    } catch (error) {
      if (error.name !== "AbortError") this._show([], error.message);
    }
  }

  _show(found, message) {
    this.found = found;
    this.at = found.length ? 0 : -1;
    this.list.replaceChildren(...found.map((node, place) => this._option(node, place)));
    if (message) {
      this.list.append(element("li", { class: "none", role: "option", "aria-disabled": "true" }, message));
      say(message);
    }
    this._open(found.length > 0 || message !== null);
    this._mark();
  }

  _option(node, place) {
    const name = element("span", { class: "name" }, dot(this.colour(node.id)), node.id);
    const snippet = node.snippet && element("span", { class: "snippet" }, node.snippet);
    const option = element("li", { role: "option", id: `${this.list.id}-${place}` }, name, snippet);
    option.addEventListener("click", () => this._take(place));
    return option;
  }

  _open(open) {
    this.list.hidden = !open || document.activeElement !== this.input;
    this.input.setAttribute("aria-expanded", String(!this.list.hidden));
  }

  _mark() {
    [...this.list.children].forEach((option, place) => option.setAttribute("aria-selected", String(place === this.at)));
    if (this.at >= 0) {
      this.input.setAttribute("aria-activedescendant", `${this.list.id}-${this.at}`);
      this.list.children[this.at].scrollIntoView({ block: "nearest" });
    } else this.input.removeAttribute("aria-activedescendant");
  }

  _key(event) {
    const last = this.found.length - 1;
    if (event.key === "Escape" && !this.list.hidden) {
      event.stopPropagation();
      this._open(false);
    } else if (event.key === "ArrowDown" && last >= 0) this._move(event, this.at < last ? this.at + 1 : 0);
    else if (event.key === "ArrowUp" && last >= 0) this._move(event, this.at > 0 ? this.at - 1 : last);
    else if (event.key === "Enter") {
      event.preventDefault();
      if (!this.list.hidden && this.at >= 0) this._take(this.at);
    }
  }

  _move(event, place) {
    event.preventDefault();
    this.at = place;
    this._open(true);
    this._mark();
  }

  _take(place) {
    const { id } = this.found[place];
    this.input.value = "";
    this._show([], null);
    this.choose(id);
  }
}
