// The answers of a server that is not there: the data of a map that was written as a file.

const place = document.getElementById("offline");

export const isOffline = place !== null;

const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

async function load() {
  const stream = new Blob([bytesOf(place.textContent)]).stream().pipeThrough(new DecompressionStream("gzip"));
  const data = await new Response(stream).json();
  place.remove();
  data.rows = new Map(data.ids.map((id, row) => [String(id), row]));
  data.uncertainty = data.uncertainty && new Float32Array(bytesOf(data.uncertainty).buffer);
  data.links = data.links?.map((packed) => new Uint32Array(bytesOf(packed).buffer));
  return data;
}

let loading = null;

// What the server would answer, as an object or as bytes.
export async function answer(path) {
  loading ??= load();
  const data = await loading;
  const url = new URL(path, "file:///");
  const route = url.pathname.slice(1);
  if (route === "v1/map") return data.info;
  if (route === "v1/map/ids") return data.ids;
  if (route === "v1/map/regions") return data.regions;
  if (route === "v1/map/points") return bytesOf(data.points).buffer;
  if (route === "v1/map/colours") {
    return bytesOf(data.colours[data.info.colourings.findIndex(({ title }) => title === url.searchParams.get("by"))]).buffer;
  }
  if (route === "v1/search") return find(data, url.searchParams.get("q"), Number(url.searchParams.get("limit")));
  if (route.startsWith("v1/nodes/")) return node(data, decodeURIComponent(route.slice("v1/nodes/".length)));
  throw new Error(`${path} needs a server`);
}

function node(data, id) {
  const row = data.rows.get(id);
  if (row === undefined) throw Object.assign(new Error(`There is no node “${id}” on this map.`), { status: 404 });
  const added = row >= data.ids.length - data.info.new;
  let ends = data.links && [...data.links[1].subarray(data.links[0][row], data.links[0][row + 1])];
  if (added && !ends?.length) ends = null; // the graph may be older than the node: its links are unknown
  const neighbours = ends?.map((end) => ({ id: data.ids[end], weight: 1 }));
  return { id: data.ids[row], text: data.texts?.[row], degree: ends?.length, neighbours, added, uncertainty: data.uncertainty?.[row] };
}

function find(data, query, limit) {
  const whole = query.trim().toLowerCase();
  const words = whole.split(/\s+/);
  const rank = (row) => {
    const name = String(data.ids[row]).toLowerCase();
    if (name === whole) return 0;
    if (name.startsWith(whole)) return 1;
    if (name.includes(whole)) return 2;
    const text = data.texts?.[row].toLowerCase();
    return text && words.every((word) => text.includes(word)) ? 3 : 4;
  };
  const found = data.ids.map((id, row) => [rank(row), row]).filter(([place]) => place < 4).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return { nodes: found.slice(0, limit).map(([, row]) => ({ id: data.ids[row], snippet: data.texts?.[row].slice(0, 160) })), complete: true };
}
