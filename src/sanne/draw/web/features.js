// A row of features as people type it: all numbers, or only the non-zero ones with their indices.

const HELP = "Give all of them (0.5, 1, 0, …), or only the non-zero ones by index: 12, 45:2.5 means 1 at index 12 and 2.5 at 45.";

export const featureHelp = (width) => `${width.toLocaleString("en")} numbers. ${HELP}`;

// As the server takes it, or null for an empty field; throws an Error that says what is wrong.
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
    if (index >= width) throw new Error(`Index ${index} is out of range: the model reads 0 to ${width - 1}.`);
    if (row.has(index)) throw new Error(`Index ${index} appears twice.`);
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
  if (!Number.isFinite(Number(part))) return `“${part}” is neither a number nor an index with a number, like 45:2.5.`;
  const given = count === 1 ? "There is 1 number" : `There are ${count} numbers`;
  return `${given}, but the model reads ${width}; “${part}” is not an index from 0 to ${width - 1}.`;
}
