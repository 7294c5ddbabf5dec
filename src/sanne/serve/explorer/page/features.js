// A row of features as people type it: all numbers, or only those that are not zero with their places.

const HELP = "Write them all (0.5, 1, 0, …), or only those that are not zero, by place: 12, 45:2.5 means 1 at 12 and 2.5 at 45.";

export const featureHelp = (width) => `${width.toLocaleString("en")} numbers. ${HELP}`;

// What the server takes, or null for an empty field; throws an Error that says what is wrong.
export function parseFeatures(text, width) {
  const parts = text.split(/[\s,;]+/).filter(Boolean);
  if (!parts.length) return null;
  const places = parts.some((part) => part.includes(":"));
  if (!places && parts.length === width) return parts.map((part) => numberOf(part));
  const row = new Map();
  for (const part of parts) {
    const [place, value = "1"] = part.split(":");
    const index = Number(place);
    if (!/^\d+$/.test(place)) throw new Error(countFault(part, parts.length, width));
    if (index >= width) throw new Error(`Place ${index} is out of range: the model reads places 0 to ${width - 1}.`);
    if (row.has(index)) throw new Error(`Place ${index} stands there twice.`);
    row.set(index, numberOf(value));
  }
  return { indices: [...row.keys()], values: [...row.values()] };
}

function numberOf(text) {
  const value = Number(text);
  if (text === "" || !Number.isFinite(value)) throw new Error(`“${text}” is not a number.`);
  return value;
}

function countFault(part, count, width) {
  if (!Number.isFinite(Number(part))) return `“${part}” is neither a number nor a place with a number, as in 45:2.5.`;
  return `There are ${count} numbers, and the model reads ${width}; or are they places? “${part}” is no whole number.`;
}
