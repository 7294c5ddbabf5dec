// The page: loads the map, keeps it up to date, and joins map, legend, search and panel.

import { AddForm } from "./add.js";
import { getBytes, getJson } from "./api.js";
import { Details } from "./details.js";
import { byId, calm, element, number, say } from "./dom.js";
import { Finder } from "./finder.js";
import { Legend } from "./legend.js";
import { Lists } from "./lists.js";
import { Marks } from "./marks.js";
import { Nodes } from "./nodes.js";
import { isOffline } from "./offline.js";
import { onSchemeChange, setColouring } from "./palette.js";
import { Scatter } from "./scatter.js";
import { View } from "./view.js";

const LOOK_AGAIN = 2500; // milliseconds between checks for new nodes and for a better map
const MORPH = 1200; // milliseconds from one map to the next
const REACH = 48; // CSS pixels around the centre, where Enter looks for a node
const READ = 150; // milliseconds that the mouse rests on a node before its text is shown
const MANY = 30000; // points, above which a slow machine draws only a part of them while the map moves
const FEWEST = 20000; // points, below which that part does not go
const SLOW = 45; // milliseconds a frame, above which fewer points are drawn while the map moves
const REST = 400; // milliseconds without a movement, after which all points are drawn
const PAUSE = 150; // milliseconds after a frame, within which the next one belongs to the same movement

const nodes = new Nodes();
const view = new View(byId("points"));
const marks = new Marks(byId("marks"), nodes, view);
const lists = new Lists(nodes, { open: (id) => open(id), point: (row) => { marks.pointed = row; redraw(); } });
const details = new Details(nodes, lists, { close: closePanel, add: (id) => openForm(id) });
const form = new AddForm(nodes, lists, { close: closePanel, changed: linksChanged, placed });
const legend = new Legend(nodes, () => { nodes.mark(); scatter?.setFlags(nodes); redraw(); }, (place) => recolour(place));
let scatter = null;
let info = null;
let arrived = 0; // new nodes received so far
let deleted = 0; // deleted nodes that the map knows of
let share = 1; // of the points that is drawn while the map moves
let moved = 1; // from the map before (0) to this one (1)
let opener = null; // what had the focus before the panel opened

// Drawing

let waiting = false;
let settled = 0;
let asked = 0; // when the next frame was asked for
let painted = 0; // when the last one was

function redraw() {
  if (waiting) return;
  waiting = true;
  asked = performance.now();
  requestAnimationFrame(paint);
}

function pointSize() {
  const base = Math.min(7, Math.max(1.8, 330 / Math.sqrt(nodes.count + 1)));
  const narrow = view.width < 500 ? 0.8 : 1;
  return narrow * Math.min(12, base * Math.max(0.8, (view.scale / view.fitted) ** 0.3));
}

function paint(now) {
  waiting = false;
  const begun = performance.now();
  const size = pointSize();
  scatter?.draw(view, { moved, share, size });
  if (view.keyboard) marks.middle = nodes.nearest(view.x, view.y, REACH / view.scale);
  marks.draw(size);
  if (marks.moving) redraw();
  if (nodes.count > MANY) adapt(performance.now() - begun, now);
}

// Very many points on a slow machine: draw a part of them while the map moves, and all once it rests.
function adapt(spent, now) {
  const slow = Math.max(spent, asked - painted < (view.held ? 10 * PAUSE : PAUSE) ? now - painted : 0);
  if (slow > SLOW) share = Math.max(FEWEST / nodes.count, share * Math.max(0.3, SLOW / slow));
  else if (slow && slow < SLOW / 2) share = Math.min(1, 1.2 * share);
  painted = performance.now();
  clearTimeout(settled);
  if (share < 1) settled = setTimeout(settle, REST);
}

function settle() {
  if (view.held) settled = setTimeout(settle, REST);
  else scatter?.draw(view, { moved, share: 1, size: pointSize() });
}

function resize() {
  const box = byId("map").getBoundingClientRect();
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  for (const canvas of [byId("points"), byId("marks")]) {
    canvas.width = Math.max(1, Math.round(box.width * ratio));
    canvas.height = Math.max(1, Math.round(box.height * ratio));
  }
  view.resize(box.width, box.height, ratio);
  scatter?.draw(view, { moved, share: 1, size: pointSize() });
  marks.draw(pointSize());
}

// Loading

function notice(text, { progress = null, busy = false, large = false, retry = null } = {}) {
  const place = byId("notice");
  place.hidden = !text;
  place.classList.toggle("large", large);
  byId("notice-text").textContent = text ?? "";
  const meter = byId("notice-meter");
  meter.hidden = progress === null && !busy;
  meter.classList.toggle("busy", busy);
  meter.firstElementChild.style.width = progress === null ? "" : `${100 * progress}%`;
  byId("notice-retry").hidden = !retry;
  byId("notice-retry").onclick = retry;
}

function tell() {
  if (!info) return;
  const came = nodes.count - nodes.old;
  const parts = [info.drawn < info.total ? `${number(info.drawn)} of ${number(info.total)} nodes` : `${number(info.total)} nodes`];
  if (came) parts.push(`${number(came)} new`);
  if (info.deleted) parts.push(`${number(info.deleted)} deleted`);
  byId("facts").textContent = parts.join(" · ");
  byId("facts").classList.toggle("telling", info.drawn < info.total || parts.length > 1); // than their number
  if (info.title) document.querySelector(".brand h1").textContent = info.title;
  if (!scatter) notice("This browser cannot draw the map (it has no WebGL 2). Search and details work without it.", { large: true });
  else if (info.progress !== null) notice("Computing the map. Until then, this is a simple one.", { progress: info.progress });
  else if (info.total === 0) notice("There are no nodes yet.", { large: true });
  else notice(null);
}

async function start() {
  notice("Loading the map…", { busy: true, large: true });
  try {
    info = await getJson("v1/map");
    nodes.setIds(await getJson("v1/map/ids"), info.new ?? 0);
    nodes.noColour = info.no_colour;
    await loadPoints();
  } catch (error) {
    notice(error.message, { large: true, retry: start });
    return;
  }
  Object.assign(details, { predicts: info.predicts, names: info.class_names });
  tell();
  openFromAddress();
  if (isOffline) return;
  await follow();
  await forget();
  setTimeout(lookAgain, LOOK_AGAIN);
}

// Points of the map that `info` describes; if it has changed meanwhile, of the current one.
async function loadPoints() {
  const { bytes, version } = await getBytes(`v1/map/points?version=${encodeURIComponent(info.version)}`);
  if (version !== info.version) info = await getJson("v1/map");
  const first = nodes.before.length === 0;
  const moves = nodes.setPoints(new Float32Array(bytes));
  legend.offer(info.colourings);
  marks.regions = await getJson("v1/map/regions");
  arrived = 0;
  await recolour(Math.max(0, info.colourings.findIndex(({ title }) => title === nodes.colouring?.title)));
  if (moves && !calm()) morph();
  showAll(!first);
}

// Colour the points by another of the colourings.
async function recolour(place) {
  const colouring = info.colourings[place];
  const { bytes } = await getBytes(`v1/map/colours?by=${encodeURIComponent(colouring.title)}`);
  setColouring(colouring);
  nodes.setColouring(colouring, place, new Uint16Array(bytes));
  scatter?.setNodes(nodes);
  showColours();
}

// Show the current colours wherever there are any.
function showColours() {
  scatter?.setPalette();
  legend.show();
  lists.recolour(byId("panel"));
  details.recolour();
  redraw();
}

function showAll(glide = true) {
  view.fit(nodes.bounds(), { glide, all: true });
}

function morph() {
  const begun = performance.now();
  const step = (now) => {
    const part = Math.min(1, Math.max(0, (now - begun) / MORPH));
    moved = part < 0.5 ? 2 * part * part : 1 - 2 * (1 - part) ** 2;
    redraw();
    if (part < 1) requestAnimationFrame(step);
  };
  moved = 0;
  requestAnimationFrame(step);
}

// New nodes since the last check.
async function follow(pulse = false) {
  if (info.arrived < arrived) arrived = 0; // a restart forgets nodes that were added and deleted
  while (arrived < info.arrived) {
    const answer = await getJson(`v1/map/arrivals?after=${arrived}`);
    if (answer.version !== info.version || answer.next <= arrived) break;
    arrived = answer.next;
    const rows = nodes.add(answer.nodes);
    if (pulse) marks.pulse(calm() ? [] : rows);
    scatter?.setNodes(nodes);
    legend.show();
    tell();
    redraw();
  }
}

// Deletions since the last check.
async function forget() {
  if (info.deleted === deleted) return;
  nodes.setGone(await getJson("v1/map/deleted"));
  deleted = info.deleted;
  scatter?.setFlags(nodes);
  legend.show();
  redraw();
}

async function lookAgain() {
  if (document.visibilityState === "visible") {
    try {
      const version = info.version;
      info = await getJson("v1/map");
      if (info.version !== version) await loadPoints();
      tell();
      await follow(true);
      await forget();
    } catch (error) {
      notice(error.message);
    }
  }
  setTimeout(lookAgain, info?.progress === null ? LOOK_AGAIN : LOOK_AGAIN / 2);
}

// The panel

function openPanel() {
  const panel = byId("panel");
  if (panel.hidden) {
    opener = document.activeElement;
    panel.hidden = false;
    byId("frame").classList.add("open");
  }
  panel.scrollTop = 0;
}

function closePanel() {
  byId("panel").hidden = true;
  byId("frame").classList.remove("open");
  details.forget();
  form.hide();
  Object.assign(marks, { selected: -1, links: [], similar: [], pointed: -1, preview: null });
  stand(null);
  if (location.hash) history.pushState(null, "", location.pathname + location.search);
  (opener?.isConnected ? opener : byId("points")).focus({ preventScroll: true });
}

function stand(rows) {
  nodes.standOut(rows);
  scatter?.setFlags(nodes);
  redraw();
}

const rowsOf = (ids) => ids.map((id) => nodes.row(id)).filter((row) => row !== undefined);

// Show a node in the panel; `travel` moves the map to it and similar nodes, unless it was clicked there.
async function open(id, { remember = true, travel = true } = {}) {
  if (remember) history.pushState(null, "", `#node=${encodeURIComponent(id)}`);
  form.hide();
  openPanel();
  const row = nodes.row(id) ?? -1;
  Object.assign(marks, { selected: row, links: [], similar: [], pointed: -1, preview: null });
  redraw();
  byId("panel").focus({ preventScroll: true });
  const found = await details.show(id);
  if (!found || nodes.row(found.node.id) !== (row >= 0 ? row : undefined)) return;
  marks.links = rowsOf(found.neighbours ?? []);
  marks.similar = rowsOf(found.similar);
  const rows = [...(row >= 0 ? [row] : []), ...marks.links, ...marks.similar];
  stand(rows);
  if (travel && rows.length) view.fit(nodes.bounds(rows), { closest: 4 });
  say(`${id}: ${found.node.degree ?? "unknown"} links, ${found.similar.length} similar nodes`);
}

details.onRetry = (id) => open(id, { remember: false });

function openForm(link) {
  openPanel();
  details.forget();
  Object.assign(marks, { selected: -1, links: [], similar: [], pointed: -1, preview: null });
  stand(null);
  form.show(info ?? { reads: "links", feature_width: null, predicts: false }, link);
}

function linksChanged(ids) {
  marks.links = rowsOf(ids);
  redraw();
}

// A new node that was embedded: show it with its explanation.
async function placed(answer, place, kept) {
  const parts = (answer.explanation ?? []).filter(({ id }) => String(id) !== String(answer.id))
    .map(({ id, share: part }) => ({ row: nodes.row(id), share: part })).filter(({ row }) => row !== undefined);
  marks.preview = { ...place, name: String(answer.id), parts, kept };
  stand(parts.map(({ row }) => row));
  view.fit(nodes.bounds(parts.map(({ row }) => row), place), { closest: 4 });
  if (!kept) return;
  info = await getJson("v1/map");
  await follow(true);
  stand([...parts.map(({ row }) => row), ...rowsOf([answer.id])]);
}

function openFromAddress() {
  const id = new URLSearchParams(location.hash.slice(1)).get("node");
  if (id !== null) open(id, { remember: false });
  else if (!byId("panel").hidden && !form.opened) closePanel();
}

// Mouse and keyboard

function tip(place) {
  const box = byId("tip");
  const row = place ? nodes.nearest(...view.toMap(...place), Math.max(9, pointSize()) / view.scale) : -1;
  byId("points").classList.toggle("over", row >= 0);
  box.hidden = row < 0;
  if (row < 0) return;
  const label = nodes.describe(row);
  const text = element("p", { hidden: true });
  box.replaceChildren(element("b", {}, nodes.ids[row]), ...(label ? [element("span", {}, ` · ${label}`)] : []), text);
  textOf(row, text, () => put(box, place));
  put(box, place);
}

let reading = 0;

// The text of the node under the mouse, once the mouse rests.
function textOf(row, place, done) {
  clearTimeout(reading);
  reading = setTimeout(async () => {
    const query = new URLSearchParams({ q: nodes.ids[row], limit: 1 });
    const { nodes: found } = await getJson(`v1/search?${query}`).catch(() => ({ nodes: [] }));
    const hit = found.find(({ id }) => String(id) === String(nodes.ids[row]));
    place.textContent = hit?.snippet ?? "";
    place.hidden = !hit?.snippet;
    if (place.isConnected) done();
  }, READ);
}

function put(box, place) {
  const left = place[0] + 14 + box.offsetWidth > view.width ? place[0] - 14 - box.offsetWidth : place[0] + 14;
  box.style.left = `${Math.max(4, left)}px`;
  const below = place[1] + 18 + box.offsetHeight > view.height;
  box.style.top = `${Math.max(4, below ? place[1] - box.offsetHeight - 10 : place[1] + 12)}px`;
}

function choose(row) {
  if (row < 0) return;
  if (form.opened) form.addLink(nodes.ids[row]);
  else open(nodes.ids[row], { travel: false });
}

view.onChange = () => { byId("tip").hidden = true; redraw(); };
view.onHover = tip;
view.onClick = (place) => choose(nodes.nearest(...view.toMap(...place), Math.max(14, pointSize()) / view.scale));
view.onCentre = () => choose(nodes.nearest(view.x, view.y, REACH / view.scale));
byId("zoom-in").addEventListener("click", () => view.zoom(1.6));
byId("zoom-out").addEventListener("click", () => view.zoom(1 / 1.6));
byId("zoom-fit").addEventListener("click", () => showAll());
byId("open-add").addEventListener("click", () => openForm());
byId("search").addEventListener("submit", (event) => event.preventDefault());
new Finder(byId("query"), byId("query-list"), { choose: (id) => open(id), colour: (id) => lists.colour(id) });
addEventListener("popstate", openFromAddress);
addEventListener("keydown", (event) => {
  const typing = event.target.matches?.("input, textarea");
  if (event.key === "Escape" && !byId("panel").hidden && !byId("token").open) closePanel();
  else if (event.key === "/" && !typing) {
    event.preventDefault();
    byId("query").focus();
  } else if (event.key === "0" && event.target === byId("points")) showAll();
});
onSchemeChange(showColours);
if (isOffline) byId("open-add").hidden = true;
try {
  scatter = new Scatter(byId("points"));
  scatter.onRestored = redraw;
} catch {
  byId("points").hidden = true;
}
new ResizeObserver(resize).observe(byId("map"));
resize();
start();
