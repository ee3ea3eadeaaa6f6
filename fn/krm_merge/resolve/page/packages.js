// The packages of a group of equal conflicts: how many, and which.

import { grouped, make } from "./dom.js";
import { state } from "./state.js";

/**
 * @param {string} id
 * @returns {string} "" where a record is about one package, of which the page says nothing
 */
export function countOf(id) {
  const count = state.packages.get(id)?.count ?? 0;
  return count ? `${grouped(count)} ${count === 1 ? "package" : "packages"}` : "";
}

/** @param {import("./card.js").Card} card */
export function packagesOf(card) {
  const { count, first } = state.packages.get(card.id) ?? { count: 0, first: [] };
  const rest = count - first.length;
  const listed = first.map((name) => make("li", {}, make("code", {}, name)));
  const names = make("ul", { tabindex: first.length > 8 ? "0" : null, "aria-label": "Packages" }, ...listed);
  if (rest) names.append(make("li", {}, `and ${grouped(rest)} more`));
  return make("details", { class: "packages" }, make("summary", {}, shortened(first, count)), names);
}

/**
 * @param {string[]} first
 * @param {number} count
 */
function shortened(first, count) {
  const shown = first.slice(0, 3).join(", ");
  return count > 3 ? `${shown} and ${grouped(count - 3)} more` : shown;
}
