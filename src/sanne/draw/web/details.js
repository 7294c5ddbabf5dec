// The panel for one node: its facts, its links, and similar nodes.

import { getJson, nodePath, postJson, similarPath } from "./api.js";
import { byId, dot, element, number } from "./dom.js";
import { percent } from "./lists.js";
import { isOffline } from "./offline.js";

const SIMILAR = 10;
const FIRST = 12; // neighbours listed before “Show more”

const UNCERTAINTY = "How undecided its vector is, from 0 to 1: the higher, the more often a prediction from it is wrong";
const NO_LINKS = "It has no links: its vector is made of its own words or features alone.";
const UNKNOWN_LINKS = "This file has no links of it.";

// What a classifier says of a node: its labels and the runner-up, by their `names`, with their probabilities.
export function predictionLine({ labels, runner_up: other }, names = {}) {
  const likely = ({ label, probability }) => [element("b", {}, names[label] ?? label), ` ${percent(probability)}`];
  const parts = labels.flatMap((one, place) => [place ? ", " : "", ...likely(one)]);
  return element("p", { class: "facts prediction" }, element("span", {}, "predicted ", ...parts),
    other && element("span", {}, "runner-up ", ...likely(other)));
}

export function uncertaintyFact(value) {
  const shown = Number.isFinite(value) ? value.toFixed(3) : "unknown";
  return element("span", { title: UNCERTAINTY }, "uncertainty ", element("b", {}, shown));
}

// The server's remark on a node; without one, what a number of links says, which is undefined where they are unknown.
export function noteLine(count, note) {
  if (note) return element("p", { class: "facts alone" }, `${note[0].toUpperCase()}${note.slice(1)}.`);
  if (count === undefined) return element("p", { class: "facts" }, UNKNOWN_LINKS);
  return count === 0 ? element("p", { class: "facts alone" }, NO_LINKS) : "";
}

export class Details {
  predicts = false; // whether the server has a classifier
  names = {}; // of its labels, where they are numbers of classes with names

  constructor(nodes, lists, { close, add }) {
    this.nodes = nodes;
    this.lists = lists;
    this.close = close;
    this.add = add;
  }

  // Load a node; returns its neighbours and similar nodes, for the map. A later call overrides an earlier one.
  async show(id) {
    this.current = id;
    const panel = byId("panel");
    panel.replaceChildren(this._head(String(id)), element("p", { class: "empty" }, "Loading…"));
    try {
      const [node, like, said] = await Promise.all([
        getJson(nodePath(id)), isOffline ? { similar: [] } : getJson(similarPath(id, SIMILAR)),
        this.predicts ? postJson("v1/predict", { ids: [id] }) : null,
      ]);
      if (this.current !== id) return null;
      panel.replaceChildren(this._head(String(node.id)), ...this._parts(node, like.similar, said?.nodes[0]));
      this.recolour();
      return { node, neighbours: node.neighbours?.map((entry) => entry.id), similar: like.similar.map((entry) => entry.id) };
    } catch (error) {
      if (this.current !== id) return null;
      const retry = element("button", { type: "button", class: "button" }, "Try again");
      retry.addEventListener("click", () => this.onRetry?.(id));
      panel.replaceChildren(this._head(String(id)), element("p", { class: "fault", role: "alert" }, error.message),
        error.status === 404 ? "" : element("div", { class: "actions" }, retry));
      return null;
    }
  }

  forget() {
    this.current = undefined;
  }

  // Show the class of the node as the map is coloured now.
  recolour() {
    if (!this.kind?.isConnected) return;
    const { colouring } = this.nodes;
    const label = this.nodes.describe(this.nodes.row(this.node.id)) ?? this.node.label ?? null;
    this.kind.hidden = label === null || colouring?.title === "uncertainty";
    this.kind.replaceChildren(dot(this.lists.colour(this.node.id)), label ?? "");
  }

  _head(title) {
    const button = element("button", { type: "button", class: "close", "aria-label": "Close", title: "Close (Esc)" }, "×");
    button.addEventListener("click", this.close);
    return element("div", { class: "panel-head" }, element("h2", {}, title), button);
  }

  _parts(node, similar, prediction) {
    this.node = node;
    this.kind = element("span", { class: "kind" });
    const facts = element("p", { class: "facts" }, this.kind);
    if (node.added) facts.append(element("span", {}, "added after the fit"));
    facts.append(uncertaintyFact(node.uncertainty));
    if (node.stale) facts.append(element("span", {}, "its vector is out of date: something changed nearby"));
    const add = element("button", { type: "button", class: "button" }, "Add a node linked to it");
    add.addEventListener("click", () => this.add(node.id));
    return [
      facts,
      prediction ? predictionLine(prediction.prediction ?? prediction, this.names) : "",
      noteLine(node.degree, node.note),
      node.text ? element("p", { class: "body" }, node.text) : "",
      isOffline ? "" : element("div", { class: "actions" }, add),
      ...(node.neighbours ? [element("h3", {}, "Linked", element("span", { class: "soft" }, number(node.degree))),
        ...this._neighbours(node)] : []),
      ...(isOffline ? [] : [element("h3", {}, "Similar", element("span", { class: "soft" }, "cosine")),
      this.lists.list(similar.map(({ id, similarity }) => ({ id, amount: similarity.toFixed(3) })), "No other nodes.")]),
    ];
  }

  _neighbours(node) {
    const weighted = node.neighbours.some(({ weight }) => weight !== 1);
    const entries = node.neighbours.map(({ id, weight }) => (weighted ? { id, amount: weight.toPrecision(3) } : { id }));
    const list = (count) => this.lists.list(entries.slice(0, count), "No links.");
    if (entries.length <= FIRST) return [list(FIRST)];
    const place = element("div", {}, list(FIRST));
    const more = element("button", { type: "button", class: "plain more" }, `Show ${entries.length - FIRST} more`);
    more.addEventListener("click", () => {
      place.replaceChildren(list(entries.length));
      if (node.degree > entries.length) place.append(element("p", { class: "empty" }, `the first ${entries.length} of ${number(node.degree)}`));
      more.remove();
      place.querySelectorAll("button")[FIRST]?.focus();
    });
    return [place, more];
  }
}
