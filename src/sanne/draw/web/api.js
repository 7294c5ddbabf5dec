// Requests to this server, and to no other. Asks for a token if the server requires one.

import { byId } from "./dom.js";
import { answer, isOffline } from "./offline.js";

const KEPT = "sanne-token"; // in the session storage of this tab

export class Failure extends Error {
  constructor(status, code, message, field) {
    super(message);
    this.status = status;
    this.code = code;
    this.field = field;
  }
}

export async function getJson(path, options = {}) {
  return isOffline ? answer(path) : (await request(path, options)).json();
}

export async function postJson(path, body) {
  const headers = { "content-type": "application/json" };
  return (await request(path, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

// The bytes of an answer, and the version in its headers.
export async function getBytes(path) {
  if (isOffline) return { bytes: await answer(path), version: "" };
  const response = await request(path);
  return { bytes: await response.arrayBuffer(), version: response.headers.get("x-map-version") };
}

export const nodePath = (id) => `v1/nodes/${String(id).split("/").map(encodeURIComponent).join("/")}`;
export const similarPath = (id, k) => `v1/similar/${String(id).split("/").map(encodeURIComponent).join("/")}?k=${k}`;

async function request(path, options = {}) {
  for (;;) {
    const token = sessionStorage.getItem(KEPT);
    const headers = { ...(options.headers ?? {}), ...(token ? { authorization: `Bearer ${token}` } : {}) };
    let response;
    try {
      response = await fetch(new URL(path, document.baseURI), { ...options, headers });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Failure(0, "unreachable", "The server does not answer. Is it still running?");
    }
    if (response.ok) return response;
    if (response.status === 401) await askForToken(token);
    else throw await failureOf(response);
  }
}

async function failureOf(response) {
  try {
    const { error } = await response.json();
    return new Failure(response.status, error.code, error.message, error.field);
  } catch {
    return new Failure(response.status, "http", `The server answered ${response.status}.`);
  }
}

let asking = null;

// Opens the prompt once, however many requests wait for it. If the token changed meanwhile, tries that first.
function askForToken(refused) {
  const kept = sessionStorage.getItem(KEPT);
  if (kept && kept !== refused) return Promise.resolve();
  asking ??= new Promise((resolve) => {
    const dialog = byId("token");
    const value = byId("token-value");
    if (refused) byId("token-text").textContent = "That token was not accepted. Try another one.";
    value.value = "";
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    byId("token-form").onsubmit = (event) => {
      event.preventDefault();
      sessionStorage.setItem(KEPT, value.value.trim());
      dialog.close();
      asking = null;
      resolve();
    };
    dialog.showModal();
    value.focus();
  });
  return asking;
}
