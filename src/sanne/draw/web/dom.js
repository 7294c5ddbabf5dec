// Small helpers for elements. What comes from the server is only ever set as text.

export const byId = (id) => document.getElementById(id);

// element("button", {class: "plain", "aria-label": "Close", onclick: close}, "text or element", ...)
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined).map((child) =>
    child instanceof Node ? child : document.createTextNode(String(child))));
  return made;
}

export function dot(colour) {
  const made = element("span", { class: "dot", "aria-hidden": "true" });
  if (colour) made.style.setProperty("--dot", colour);
  return made;
}

// Tell people who cannot see the map what happened on it.
export function say(text) {
  byId("said").textContent = text;
}

export const number = (value) => Number(value).toLocaleString("en");

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
