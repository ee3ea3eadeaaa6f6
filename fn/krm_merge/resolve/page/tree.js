// The files and resources with conflicts, and how many of each are open.

import { byId, make } from "./dom.js";
import { conflicts, resourceOf, state } from "./state.js";

/** @typedef {import("./state.js").Decision} Decision */

/** @typedef {{ first: string, open: Set<string>, pill: HTMLElement }} Row */

const MOST_FILES_WITH_RESOURCES = 300;
// A part that is far away costs the browser nothing.
const FILES_IN_PART = 50;

/** @type {Map<string, Row>} rows by file, and by file and resource */
let rows = new Map();

export function drawTree() {
  rows = new Map();
  /** @type {Map<string, Set<string>>} */
  const files = new Map();
  for (const one of conflicts()) {
    const names = files.get(one.file) ?? new Set();
    files.set(one.file, names);
    names.add(resourceOf(one));
    for (const key of keysOf(one)) {
      const row = rows.get(key) ?? { first: one.id, open: new Set(), pill: make("span", { role: "img" }) };
      rows.set(key, row);
      if (one.status === "open") row.open.add(one.id);
    }
  }
  const list = make("div", { role: "list" });
  let count = 0;
  for (const [file, names] of files) {
    const item = make("div", { role: "listitem" }, link(file, file, ""));
    const named = [...names].filter((name) => name && name !== file);
    if (named.length && files.size <= MOST_FILES_WITH_RESOURCES) {
      item.append(make("ul", {}, ...named.map((name) => make("li", {}, link(`${file}\n${name}`, name, "sub")))));
    }
    if (count++ % FILES_IN_PART === 0) list.append(make("div", { class: "part" }));
    list.lastElementChild?.append(item);
  }
  for (const row of rows.values()) drawCount(row);
  const automatic = state.order.length - conflicts().length;
  const place = byId("tree");
  place.replaceChildren(make("h2", {}, "Conflicts"), list);
  if (automatic) {
    const rest = make("a", { href: "#automatic" }, make("span", {}, `${automatic} without conflict`));
    place.append(make("h2", {}, "Merged by itself"), rest);
  }
}

/**
 * Counts anew where records changed.
 * @param {Decision[]} changed
 */
export function countAgain(changed) {
  for (const one of changed) {
    for (const key of keysOf(one)) {
      const row = rows.get(key);
      if (!row) continue;
      if (one.status === "open") row.open.add(one.id);
      else row.open.delete(one.id);
      drawCount(row);
    }
  }
}

/** @param {Decision} one */
function keysOf(one) {
  return [one.file, `${one.file}\n${resourceOf(one)}`];
}

/** @param {Row} row */
function drawCount({ open, pill }) {
  pill.className = open.size ? "pill" : "pill done";
  pill.textContent = open.size ? String(open.size) : "✓";
  pill.setAttribute("aria-label", open.size ? `${open.size} open` : "settled");
}

/**
 * @param {string} key
 * @param {string} name
 * @param {string} kind
 */
function link(key, name, kind) {
  const row = /** @type {Row} */ (rows.get(key));
  return make("a", { href: `#c-${row.first}`, class: kind, title: name }, make("span", {}, name), row.pill);
}
