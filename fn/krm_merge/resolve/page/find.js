// What somebody looks for: the server finds it, and the page shows nothing else until that ends.

import { Refused, ask } from "./api.js";
import { byId, grouped, make } from "./dom.js";
import { state } from "./state.js";

/** @typedef {{ query: string, ids: string[], set: Set<string>, choices: Record<string, string>, title: string }} Selection */
/** @typedef {{ name: string, query: string, count: number }} Scope */

/** @type {Selection | null} */
let selection = null;
/** @type {Scope[]} */
let scopes = [];
let asked = 0;

export function selected() {
  return selection;
}

/** @param {string} id */
export function isSelected(id) {
  return !selection || selection.set.has(id);
}

/**
 * Takes a query; "" ends the search.
 * @param {string} query
 * @returns {Promise<boolean>} whether it was answered, and nobody asked for something else meanwhile
 */
export async function find(query) {
  const number = ++asked;
  const answer = query.trim() ? await ask(`/api/find?q=${encodeURIComponent(query)}`) : null;
  if (number !== asked) return false;
  if (answer) {
    const ids = answer.ids.filter((/** @type {string} */ id) => state.records.has(id));
    selection = { query, ids, set: new Set(ids), choices: answer.choices, title: titleOf(query, ids.length) };
  } else {
    selection = null;
  }
  if (!scopes.some((scope) => scope.query === query)) scopes = [];
  drawBar(query);
  return true;
}

/**
 * Takes the nearest group of a conflict; the next wider one where it has one already.
 * @param {string} id of the conflict, "" for that of before
 */
export async function widen(id) {
  const at = scopes.findIndex((scope) => scope.query === selection?.query);
  if (!selection || at < 0) {
    if (!id) return false;
    scopes = (await ask(`/api/scopes?id=${encodeURIComponent(id)}`)).scopes;
    if (!scopes.length) throw new Refused(422, "no other open conflict has anything in common with this one");
    return find(scopes[0]?.query ?? "");
  }
  return find(scopes[(at + 1) % scopes.length]?.query ?? "");
}

/**
 * @param {string} query
 * @param {number} count
 */
function titleOf(query, count) {
  const scope = scopes.find((one) => one.query === query);
  const noun = `${grouped(count)} ${count === 1 ? "conflict" : "conflicts"}`;
  return scope ? `${noun} ${scope.name}` : `${noun} found`;
}

/** @param {string} query */
function drawBar(query) {
  const input = /** @type {HTMLInputElement} */ (byId("query"));
  const select = /** @type {HTMLSelectElement} */ (byId("scope"));
  if (input.value.trim() !== query.trim()) input.value = query;
  select.hidden = !scopes.length;
  select.replaceChildren(...scopes.map((scope) => make("option", { value: scope.query, selected: scope.query === query }, `${grouped(scope.count)} ${scope.name}`)));
  byId("found").textContent = selection && !scopes.length ? `${grouped(selection.ids.length)} of ${grouped(state.conflicts)}` : "";
  byId("clear").hidden = !selection;
}
