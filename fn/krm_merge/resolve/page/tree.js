// The folders, files and resources with conflicts: how many each has, and how many of them are open.

import { byId, grouped, make, middle } from "./dom.js";
import { chain, conflicts, resourceOf, state } from "./state.js";

/** @typedef {import("./state.js").Decision} Decision */

/** @typedef {{ first: string, total: number, open: Set<string>, pill: HTMLElement }} Row */

const MOST_FILES_WITH_RESOURCES = 300;
// A part that is far away costs the browser nothing.
const FILES_IN_PART = 50;

/** @type {Map<string, Row>} rows by folder with a slash behind it, by file, and by file and resource */
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
      const row = rows.get(key) ?? { first: one.id, total: 0, open: new Set(), pill: make("span", { role: "img" }) };
      rows.set(key, row);
      row.total++;
      if (one.status === "open") row.open.add(one.id);
    }
  }
  const list = make("div", { role: "list" });
  let count = 0;
  let above = "";
  for (const [file, names] of files) {
    const item = make("div", { role: "listitem" });
    const folder = file.slice(0, file.lastIndexOf("/") + 1);
    if (folder !== above) item.append(...foldersOf(folder, above));
    above = folder;
    const depth = depthOf(folder);
    item.append(link(file, file.slice(folder.length), depth));
    const named = [...names].filter((name) => name && name !== file);
    if (named.length > 1 && files.size <= MOST_FILES_WITH_RESOURCES) {
      item.append(make("ul", {}, ...named.map((name) => make("li", {}, link(`${file}\n${name}`, name, depth + 1)))));
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
  return [...chain(one.file), one.file, `${one.file}\n${resourceOf(one)}`];
}

/**
 * The folders that are rows: one with a single folder and nothing else in it is a row with that.
 * @param {string} folder
 */
function rowsAbove(folder) {
  const all = chain(folder);
  return all.filter((one, at) => at === all.length - 1 || rows.get(one)?.total !== rows.get(all[at + 1] ?? "")?.total);
}

/** @param {string} folder */
function depthOf(folder) {
  return rowsAbove(folder).length;
}

/**
 * The rows of folders that a file is the first in.
 * @param {string} folder
 * @param {string} above the folder of the file before
 */
function foldersOf(folder, above) {
  const known = new Set(rowsAbove(above));
  const all = rowsAbove(folder);
  return all.flatMap((one, at) => (known.has(one) ? [] : [link(one, one.slice((all[at - 1] ?? "").length), at)]));
}

/** @param {Row} row */
function drawCount({ open, total, pill }) {
  pill.className = open.size ? "pill" : "pill done";
  pill.textContent = !open.size ? "✓" : open.size === total ? grouped(total) : `${grouped(open.size)}/${grouped(total)}`;
  pill.setAttribute("aria-label", open.size ? `${grouped(open.size)} of ${grouped(total)} open` : "settled");
}

/**
 * @param {string} key
 * @param {string} name
 * @param {number} depth
 */
function link(key, name, depth) {
  const row = /** @type {Row} */ (rows.get(key));
  const isFolder = key.endsWith("/");
  const kind = isFolder ? "folder" : key.includes("\n") ? "sub" : "";
  const made = make("a", { href: `#c-${row.first}`, class: `${kind} d${Math.min(depth, 6)}`, title: key.replace("\n", " "), "data-folder": isFolder ? key.slice(0, -1) : null }, middle(name), row.pill);
  made.firstElementChild?.removeAttribute("title");
  return made;
}
