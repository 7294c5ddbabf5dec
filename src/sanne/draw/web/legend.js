// What the points are coloured by: the classes with their colours and counts, each of which can be hidden, or a scale.

import { byId, dot, element, number, say } from "./dom.js";
import { colourOf, gradient } from "./palette.js";

export class Legend {
  // `onFilter()` is called when classes were hidden or shown, `onColour(place)` when another colouring was chosen.
  constructor(nodes, onFilter, onColour) {
    this.nodes = nodes;
    this.onFilter = onFilter;
    byId("colour-by").addEventListener("change", (event) => onColour(Number(event.target.value)));
    byId("show-all").addEventListener("click", () => {
      nodes.hidden.clear();
      this._changed("all shown");
    });
  }

  // What can be chosen.
  offer(colourings) {
    byId("colour-by").replaceChildren(...colourings.map(({ title }, place) => element("option", { value: place }, title)));
    byId("colour-by").disabled = colourings.length < 2;
  }

  // Rebuild the list for a map.
  show() {
    const { colouring, noColour } = this.nodes;
    byId("legend").hidden = !colouring?.title;
    if (!colouring) return;
    byId("colour-by").value = String(this.nodes.at);
    const counts = this.nodes.counts();
    const scale = colouring.kind === "number";
    const entries = colouring.classes.map((name, colour) => ({ name, colour }));
    if (counts.get(noColour)) entries.push({ name: `no ${colouring.title}`, colour: noColour });
    const items = entries.map((entry) => this._entry(entry, counts.get(entry.colour) ?? 0));
    const own = colouring.light.length;
    if (!scale && colouring.classes.length > own) items.splice(own, 0, element("li", { class: "rest" }, "other"));
    byId("classes").replaceChildren(...(scale ? [this._scale(colouring)] : []), ...items);
    this._update();
  }

  _scale({ low, high }) {
    const bar = element("span", { class: "bar", "aria-hidden": "true" });
    bar.style.backgroundImage = gradient();
    const show = (value) => String(Number(value.toPrecision(3)));
    return element("li", { class: "scale" }, bar, element("span", {}, show(low)), element("span", {}, show(high)));
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
