// Colours of classes that can be told apart with any common kind of colour blindness, on light and dark backgrounds.
// Further classes share one grey: the legend still shows and filters each.

const LIGHT = [
  "#3f7fe0", "#cf9a3e", "#43785f", "#b553aa", "#35aee0", "#8a3615",
  "#453095", "#878501", "#512600", "#ec80ab", "#103645", "#4f525a",
];
const DARK = [
  "#5b8ffd", "#ffb227", "#60b286", "#f4a2ee", "#d2ecfd", "#f5690c",
  "#8f70c8", "#f4eb93", "#a8752a", "#f9bab8", "#5f8a8f", "#8d939c",
];
const OTHER = { light: "#a9adb4", dark: "#6a707a" };

export const COLOURS = LIGHT.length;

const scheme = matchMedia("(prefers-color-scheme: dark)");

export const isDark = () => scheme.matches;
export const onSchemeChange = (call) => scheme.addEventListener("change", call);

// The place in the palette of a class; classes without a colour of their own come last.
export const slotOf = (colour) => (colour < COLOURS ? colour : COLOURS);

export function colourOf(colour) {
  const colours = isDark() ? DARK : LIGHT;
  return colours[slotOf(colour)] ?? (isDark() ? OTHER.dark : OTHER.light);
}

// All colours as numbers from 0 to 1, three for each, the shared grey at the end.
export function paletteNumbers() {
  const numbers = [];
  for (let slot = 0; slot <= COLOURS; slot += 1) {
    const colour = colourOf(slot);
    for (const at of [1, 3, 5]) numbers.push(parseInt(colour.slice(at, at + 2), 16) / 255);
  }
  return new Float32Array(numbers);
}
