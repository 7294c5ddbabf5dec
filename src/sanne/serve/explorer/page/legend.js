// The classes on the map with their colours and counts; each can be hidden and shown.

import { byId, dot, element, number, say } from "./dom.js";
import { colourOf } from "./palette.js";

const TITLES = { label: "Labels", community: "Communities", none: "Nodes" };

export class Legend {
  constructor(nodes, onFilter) {
    this.nodes = nodes;
    this.onFilter = onFilter;
    byId("show-all").addEventListener("click", () => {
      nodes.hidden.clear();
      this._changed("all shown");
    });
  }

  // Rebuild the list for a map.
  show(colouring) {
    byId("legend").hidden = colouring === "none";
    byId("legend-title").textContent = TITLES[colouring];
    const counts = this.nodes.counts();
    const classes = this.nodes.classes.map((name, colour) => ({ name, colour }));
    if (counts.get(this.nodes.noColour)) {
      const name = colouring === "label" ? "no label" : "others";
      classes.push({ name, colour: this.nodes.noColour });
    }
    byId("classes").replaceChildren(...classes.map((entry) => this._entry(entry, counts.get(entry.colour) ?? 0)));
    this._update();
  }

  _entry({ name, colour }, count) {
    const title = "Click to hide or show; double-click to show only this";
    const button = element("button", { type: "button", class: "class", title, "data-colour": colour },
      dot(colourOf(colour)), element("span", { class: "name" }, name), element("span", { class: "count" }, number(count)));
    button.addEventListener("click", (event) => this._clicked(colour, name, event.detail === 2 || event.shiftKey));
    return element("li", {}, button);
  }

  _clicked(colour, name, alone) {
    const { hidden } = this.nodes;
    if (alone) {
      const others = [...byId("classes").querySelectorAll("button")].map((button) => Number(button.dataset.colour));
      hidden.clear();
      for (const other of others) if (other !== colour) hidden.add(other);
      this._changed(`only ${name} shown`);
    } else if (hidden.delete(colour)) this._changed(`${name} shown`);
    else {
      hidden.add(colour);
      this._changed(`${name} hidden`);
    }
  }

  _changed(what) {
    say(what);
    this._update();
    this.onFilter();
  }

  _update() {
    const { hidden } = this.nodes;
    for (const button of byId("classes").querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(!hidden.has(Number(button.dataset.colour))));
    }
    byId("show-all").hidden = hidden.size === 0;
  }
}
