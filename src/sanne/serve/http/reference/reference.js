// A page for people, made from openapi.json: what each route does, its fields, and a form that calls it.

const KEPT = "sanne-token"; // in the session storage of this tab, where the map's page keeps it too
const main = document.getElementById("operations");
const tokenForm = document.getElementById("token");

function make(tag, content = [], attributes = {}) {
  const element = document.createElement(tag);
  element.append(...[content].flat());
  return Object.assign(element, attributes);
}

function ask(path, options = {}) {
  const token = sessionStorage.getItem(KEPT);
  const headers = { ...options.headers, ...(token ? { authorization: `Bearer ${token}` } : {}) };
  return fetch(new URL(path, document.baseURI), { ...options, headers });
}

// Fields of a schema as rows of [name, type and description], those of nested objects indented by their path.
function fieldsOf(schema, all, prefix = "", depth = 0) {
  const found = resolve(schema, all);
  return Object.entries(found.properties ?? {}).flatMap(([name, field]) => {
    const text = [typeOf(field, all), field.description, found.required?.includes(name) ? "" : defaultOf(field)];
    const row = [prefix + name, text.filter(Boolean).join(". ")];
    const inner = [field, ...(field.anyOf ?? [])].map((part) => part.items ?? part);
    const nested = depth < 2 ? inner.flatMap((part) => [part, ...(part.anyOf ?? [])]) : [];
    const list = field.type === "array" || field.anyOf?.some((part) => part.type === "array");
    return [row, ...nested.flatMap((part) => fieldsOf(part, all, `${prefix}${name}${list ? "[]" : ""}.`, depth + 1))];
  });
}

const resolve = (schema, all) => (schema.$ref ? all[schema.$ref.split("/").pop()] : schema);

function typeOf(schema, all) {
  const found = resolve(schema, all);
  if (found.anyOf) return [...new Set(found.anyOf.map((part) => typeOf(part, all)))].join(" or ");
  if (found.type === "array") return `list of ${typeOf(found.items ?? {}, all)}`;
  return found.enum?.map((value) => JSON.stringify(value)).join(", ") ?? found.const ?? found.type ?? "anything";
}

const defaultOf = (field) =>
  field.default === undefined || field.default === null ? "" : `Default: ${JSON.stringify(field.default)}`;

function table(title, rows) {
  return rows.length ? [make("h2", title), make("dl", rows.flatMap(([a, b]) => [make("dt", make("code", a)), make("dd", b)]))] : [];
}

// The form of a route: an input for each parameter, the body as JSON, and the answer.
function form(path, method, operation) {
  const inputs = (operation.parameters ?? []).map((part) => {
    const value = part.example ?? part.schema.default ?? "";
    return { part, input: make("input", [], { value, ariaLabel: part.name, name: part.name }) };
  });
  const example = operation.requestBody?.content?.["application/json"]?.example;
  const text = example === undefined ? "" : pretty(example);
  const body = operation.requestBody && make("textarea", text, { rows: Math.min(20, text.split("\n").length + 1), ariaLabel: "Body", spellcheck: false });
  const answer = make("pre", "", { hidden: true });
  const button = make("button", "Try it", { type: "button" });
  button.onclick = async () => {
    let place = path.slice(1);
    const query = new URLSearchParams();
    for (const { part, input } of inputs) {
      if (part.in === "path") place = place.replace(`{${part.name}}`, encodeURIComponent(input.value));
      else if (input.value !== "") query.set(part.name, input.value);
    }
    const options = { method: method.toUpperCase(), ...(body ? { body: body.value, headers: { "content-type": "application/json" } } : {}) };
    const response = await ask(query.size ? `${place}?${query}` : place, options).catch((error) => error);
    answer.hidden = false;
    answer.className = response.ok ? "" : "failed";
    answer.textContent = response instanceof Error ? "The server does not answer." : `${response.status} ${await shown(response)}`;
  };
  const rows = inputs.map(({ part, input }) => [make("dt", make("code", part.name)), make("dd", [part.description ?? part.schema.description ?? "", make("div", input)])]);
  const parameters = rows.length ? [make("h2", "Parameters"), make("dl", rows.flat())] : [];
  return [...parameters, ...(body ? [make("h2", "Body"), body] : []), button, answer];
}

async function shown(response) {
  const type = response.headers.get("content-type") ?? "";
  if (type.includes("octet-stream")) return `${(await response.blob()).size} bytes`;
  const text = await response.text();
  return (type.includes("json") ? pretty(JSON.parse(text)) : text).slice(0, 20000);
}

// JSON with small objects and lists of numbers on one line.
function pretty(value) {
  const short = (text) => (text.length < 160 || text[0] === "[" ? text.replace(/\s+/g, " ") : text);
  return JSON.stringify(value, null, 2).replace(/\{[^{}[\]]*\}/g, short).replace(/\[[^{}[\]]*\]/g, short);
}

function show(description) {
  const all = description.components.schemas;
  document.getElementById("about").textContent = description.info.description;
  const routes = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const asked = operation.requestBody?.content?.["application/json"]?.schema;
      const given = operation.responses["200"]?.content?.["application/json"]?.schema;
      const item = given?.type === "array" ? given.items : given;
      const inside = [
        make("p", operation.description ?? ""),
        ...form(path, method, operation),
        ...table("Fields of the body", asked ? fieldsOf(asked, all) : []),
        ...table("Fields of the answer", item ? fieldsOf(item, all) : []),
      ];
      const head = make("summary", [make("b", method.toUpperCase()), make("code", path), make("span", operation.summary)]);
      return make("details", [head, make("div", inside, { className: "inside" })], { id: operation.operationId });
    }),
  );
  main.replaceChildren(...routes);
  if (location.hash) document.getElementById(location.hash.slice(1))?.setAttribute("open", "");
}

async function start() {
  const response = await ask("openapi.json").catch(() => null);
  tokenForm.hidden = response?.status !== 401;
  if (response?.ok) show(await response.json());
  else main.textContent = response?.status === 401 ? "" : "The server does not answer. Is it still running?";
}

tokenForm.onsubmit = (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEPT, new FormData(tokenForm).get("value").trim());
  start();
};

start();
