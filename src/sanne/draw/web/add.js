// The form for a new node: described by text or features and links, previewed or kept, and explained.

import { Failure, postJson } from "./api.js";
import { noteLine, predictionLine, uncertaintyFact } from "./details.js";
import { byId, element, say } from "./dom.js";
import { featureHelp, parseFeatures } from "./features.js";
import { Finder } from "./finder.js";
import { percent } from "./lists.js";

const LISTED = 8; // nodes in an explanation, and similar ones
const HELP = {
  text: "The words that describe it, as in the texts that the model was fitted on.",
  links: "Find nodes here, or click them on the map.",
};

export class AddForm {
  constructor(nodes, lists, { close, changed, placed }) {
    this.nodes = nodes;
    this.lists = lists;
    this.close = close;
    this.changed = changed; // called when the links change
    this.placed = placed; // called with (answer, place, kept)
    this.links = [];
    this.draft = { id: "", body: "" };
    this.opened = false;
  }

  // `reads` and `feature_width` are the model's; `link` is the first node to link to.
  show(info, link) {
    this.info = info;
    this.opened = true;
    if (link !== undefined) this.addLink(link, false);
    const close = element("button", { type: "button", class: "close", "aria-label": "Close", title: "Close (Esc)" }, "×");
    close.addEventListener("click", this.close);
    this.form = element("form", { novalidate: true }, this._idField(), this._bodyField(), this._linksField(),
      element("div", { class: "row" },
        element("button", { type: "button", class: "button", id: "add-preview" }, "Preview"),
        element("button", { type: "submit", class: "button primary", id: "add-keep" }, "Keep")));
    this.fault = element("p", { class: "fault", role: "alert", hidden: true });
    this.answer = element("div", { class: "answer", hidden: true, "aria-live": "polite" });
    const head = element("div", { class: "panel-head" }, element("h2", {}, "Add a node"), close);
    byId("panel").replaceChildren(head, this.form, this.fault, this.answer);
    byId("add-preview").addEventListener("click", () => this._send(false));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this._send(true);
    });
    this._drawLinks();
    (this.info.reads === "links" ? byId("add-id") : byId("add-body")).focus({ preventScroll: true });
  }

  hide() {
    this.opened = false;
  }

  addLink(id, draw = true) {
    if (!this.links.some((other) => String(other) === String(id))) this.links.push(id);
    if (draw) this._drawLinks();
  }

  _idField() {
    const input = element("input", { id: "add-id", autocomplete: "off", spellcheck: "false", maxlength: 512 });
    input.value = this.draft.id || this._freeId();
    input.addEventListener("input", () => { this.draft.id = input.value; });
    return element("div", { class: "field" }, element("label", { for: "add-id" }, "Id"), input);
  }

  _freeId() {
    let number = 1;
    while (this.nodes.row(`new-${number}`) !== undefined) number += 1;
    return `new-${number}`;
  }

  _bodyField() {
    const { reads, feature_width: width } = this.info;
    if (reads === "links") {
      return element("p", { class: "field empty" }, "This model reads only the links of a node.");
    }
    const area = element("textarea", { id: "add-body", rows: 4, spellcheck: reads === "text", "aria-describedby": "add-help" });
    area.value = this.draft.body;
    area.addEventListener("input", () => { this.draft.body = area.value; });
    const name = reads === "text" ? "Text" : "Features";
    const help = reads === "text" ? HELP.text : featureHelp(width);
    return element("div", { class: "field" }, element("label", { for: "add-body" }, name), area,
      element("p", { class: "help", id: "add-help" }, help));
  }

  _linksField() {
    this.chips = element("div", { class: "chips" });
    const input = element("input", {
      id: "add-link", type: "search", placeholder: "Find a node to link to", autocomplete: "off", spellcheck: "false",
      role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": "add-link-list",
      "aria-describedby": "add-link-help",
    });
    const list = element("ul", { id: "add-link-list", class: "options", role: "listbox", "aria-label": "Nodes found" });
    list.hidden = true;
    new Finder(input, list, { choose: (id) => this.addLink(id), colour: (id) => this.lists.colour(id) });
    return element("div", { class: "field" }, element("label", { for: "add-link" }, "Links"), this.chips,
      element("div", { class: "picker" }, input, list), element("p", { class: "help", id: "add-link-help" }, HELP.links));
  }

  _drawLinks() {
    this.chips.replaceChildren(...this.links.map((id) => {
      const remove = element("button", { type: "button", "aria-label": `Remove the link to ${id}` }, "×");
      remove.addEventListener("click", () => {
        this.links = this.links.filter((other) => other !== id);
        this._drawLinks();
        byId("add-link").focus();
      });
      return element("span", { class: "chip" }, id, remove);
    }));
    this.changed(this.links);
  }

  _node() {
    const id = byId("add-id").value.trim();
    if (!id) throw new Error("Give the node an id.");
    const node = { id, links: this.links };
    const body = byId("add-body")?.value ?? "";
    if (this.info.reads === "text" && body.trim()) node.text = body;
    if (this.info.reads === "features") {
      const features = parseFeatures(body, this.info.feature_width);
      if (features) node.features = features;
    }
    if (!node.text && !node.features && !node.links.length) throw new Error("Describe the node, or link it to others: there is nothing to embed yet.");
    return node;
  }

  async _send(keep) {
    this.fault.hidden = true;
    const buttons = [byId("add-preview"), byId("add-keep")];
    for (const button of buttons) button.disabled = true;
    try {
      const node = this._node();
      const query = { nodes: [node], explain: LISTED, similar: LISTED, predict: this.info.predicts };
      const { nodes: [answer] } = await postJson(keep ? "v1/nodes" : "v1/embed", query);
      const { nodes: [place] } = await postJson("v1/map/place", { nodes: [{ vector: answer.vector }] });
      this._explain(answer, keep, node.links.length);
      await this.placed(answer, place, keep); // from then on its id is known to be taken
      if (keep) this._begin();
    } catch (error) {
      this._complain(error);
    } finally {
      for (const button of buttons) button.disabled = false;
    }
  }

  // After a node is kept, clear the form for the next one.
  _begin() {
    this.links = [];
    this.draft = { id: "", body: "" };
    this.form.querySelector("#add-id").value = this._freeId();
    const body = this.form.querySelector("#add-body");
    if (body) body.value = "";
    this._drawLinks();
  }

  _complain(error) {
    const where = error instanceof Failure && error.field ? ` (${error.field})` : "";
    this.answer.hidden = true;
    this.fault.textContent = error.message + where;
    this.fault.hidden = false;
    this.fault.scrollIntoView({ block: "nearest" });
  }

  _explain(answer, kept, links) {
    const shares = (answer.explanation ?? []).map(({ id, share }) => ({
      id, share, amount: percent(share), name: String(id) === String(answer.id) ? `${id} (itself)` : id,
    }));
    const similar = (answer.similar ?? []).map(({ id, similarity }) => ({ id, amount: similarity.toFixed(3) }));
    const verdict = kept ? `${answer.id} was added. It can be found, linked to and walked through.` : `Preview of ${answer.id}. It has not been added yet.`;
    this.answer.replaceChildren(
      element("p", { class: "verdict" }, verdict),
      answer.prediction ? predictionLine(answer.prediction, this.info.class_names) : "",
      element("p", { class: "facts" }, uncertaintyFact(answer.uncertainty)),
      noteLine(links, answer.note),
      element("h3", {}, "Explanation", element("span", { class: "soft" }, "share of the vector")),
      this.lists.list(shares, "No explanation."),
      element("h3", {}, "Similar", element("span", { class: "soft" }, "cosine")),
      this.lists.list(similar, "No other nodes."),
    );
    this.answer.hidden = false;
    this.answer.scrollIntoView({ block: "nearest" });
    say(verdict);
  }
}
