// The colours of what is shown, on light and dark backgrounds; classes without a colour of their own share one grey.

const OTHER = { light: "#a9adb4", dark: "#6a707a" };

export const COLOURS = 64; // at most, besides the grey

const scheme = matchMedia("(prefers-color-scheme: dark)");
let shown = { light: [], dark: [] };

export const isDark = () => scheme.matches;
export const onSchemeChange = (call) => scheme.addEventListener("change", call);

// Use the colours of a colouring: {light, dark}.
export function setColouring(colouring) {
  shown = colouring;
}

const colours = () => (isDark() ? shown.dark : shown.light);

// The place in the palette of a class or of a step on a scale; those without a colour of their own come last.
export const slotOf = (colour) => (colour < shown.light.length ? colour : COLOURS);

export function colourOf(colour) {
  return colours()[colour] ?? (isDark() ? OTHER.dark : OTHER.light);
}

export const gradient = () => `linear-gradient(to right, ${colours().join(", ")})`;

// All colours as numbers from 0 to 1, three for each, the shared grey at the end.
export function paletteNumbers() {
  const numbers = [];
  for (let slot = 0; slot <= COLOURS; slot += 1) {
    const colour = colourOf(slot);
    for (const at of [1, 3, 5]) numbers.push(parseInt(colour.slice(at, at + 2), 16) / 255);
  }
  return new Float32Array(numbers);
}
