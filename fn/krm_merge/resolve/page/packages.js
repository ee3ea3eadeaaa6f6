// The packages of a group of equal conflicts: how many, which, and those that are settled apart from the others.

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

/**
 * Whether a record is about packages that are settled apart: their group has the id before the number.
 * @param {string} id
 */
export function isApart(id) {
  return state.packages.has(id) && id.includes("-");
}

/** @param {import("./card.js").Card} card */
export function packagesOf(card) {
  const { count, first } = state.packages.get(card.id) ?? { count: 0, first: [] };
  const rest = count - first.length;
  const listed = first.map((name) => make("li", {}, make("code", {}, name)));
  const names = make("ul", { tabindex: first.length > 8 ? "0" : null, "aria-label": "Packages" }, ...listed);
  if (rest) names.append(make("li", {}, `and ${grouped(rest)} more`));
  const folded = make("details", { class: "packages" }, make("summary", {}, shortened(first, count)), names);
  if (count > 1 && !isApart(card.id)) folded.append(form(card));
  return folded;
}

/**
 * @param {string[]} first
 * @param {number} count
 */
function shortened(first, count) {
  const shown = first.slice(0, 3).join(", ");
  return count > 3 ? `${shown} and ${grouped(count - 3)} more` : shown;
}

/** @param {import("./card.js").Card} card */
function form(card) {
  const field = make("input", { id: `p-${card.id}`, spellcheck: "false", autocomplete: "off", required: true });
  const use = make("button", {}, "Settle apart");
  const label = make("label", { for: field.id }, "Except these: names or patterns such as teams/a-*");
  const made = make("form", {}, label, make("p", {}, field, use));
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    card.setApart(card, field.value);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") card.element.focus();
  });
  return made;
}
