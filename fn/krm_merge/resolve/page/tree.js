// The files and resources with conflicts, and how many of each are open.

import { byId, make } from "./dom.js";
import { conflicts, resourceOf, state } from "./state.js";

/** @typedef {import("./state.js").Decision} Decision */

/** @typedef {{ open: number, first: string, resources: Map<string, { open: number, first: string }> }} Row */

export function drawTree() {
  /** @type {Map<string, Row>} */
  const files = new Map();
  for (const one of conflicts()) {
    const file = files.get(one.file) ?? { open: 0, first: one.id, resources: new Map() };
    files.set(one.file, file);
    const name = resourceOf(one);
    const resource = file.resources.get(name) ?? { open: 0, first: one.id };
    file.resources.set(name, resource);
    if (one.status === "open") {
      file.open++;
      resource.open++;
    }
  }
  const list = make("ul", {});
  for (const [name, file] of files) {
    const item = make("li", {}, link(file.first, name, file.open, ""));
    const named = [...file.resources].filter(([resource]) => resource);
    if (named.length && files.size <= 300) {
      const inner = named.map(([resource, row]) => make("li", {}, link(row.first, resource, row.open, "sub")));
      item.append(make("ul", {}, ...inner));
    }
    list.append(item);
  }
  const automatic = state.order.length - conflicts().length;
  const place = byId("tree");
  place.replaceChildren(make("h2", {}, "Conflicts"), list);
  if (automatic) {
    const rest = make("a", { href: "#automatic" }, make("span", {}, `${automatic} without conflict`));
    place.append(make("h2", {}, "Merged by itself"), rest);
  }
}

/**
 * @param {string} id
 * @param {string} name
 * @param {number} open
 * @param {string} kind
 */
function link(id, name, open, kind) {
  const pill = make("span", { class: `pill ${open ? "" : "done"}` }, open ? String(open) : "✓");
  pill.setAttribute("aria-label", open ? `${open} open` : "settled");
  pill.setAttribute("role", "img");
  return make("a", { href: `#c-${id}`, class: kind, title: name }, make("span", {}, name), pill);
}
