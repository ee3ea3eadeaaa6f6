// What was merged without a conflict: folded, drawn when somebody looks.

import { Card } from "./card.js";
import { make } from "./dom.js";
import { record, resourceOf, state } from "./state.js";

/** @typedef {import("./state.js").Decision} Decision */

const LONGEST = 120;

/**
 * @param {(card: Card, choice: string, value?: string) => void} choose
 * @returns {HTMLElement | null}
 */
export function automatic(choose) {
  /** @type {Map<string, Decision[]>} */
  const files = new Map();
  for (const one of state.order.map(record)) {
    if (one.status === "automatic") files.set(one.file, [...(files.get(one.file) ?? []), one]);
  }
  const count = [...files.values()].reduce((sum, held) => sum + held.length, 0);
  if (!count) return null;
  const noun = count === 1 ? "1 change" : `${count} changes`;
  const folded = make("details", { id: "automatic" }, make("summary", {}, `${noun} in ${files.size} ${files.size === 1 ? "file" : "files"} merged without conflict`));
  folded.addEventListener("toggle", () => {
    if (folded.childElementCount > 1) return;
    for (const [file, held] of files) {
      const inner = make("details", {}, make("summary", {}, make("code", {}, file), ` ${held.length}`));
      inner.addEventListener("toggle", () => {
        if (inner.childElementCount < 2) inner.append(make("ul", {}, ...held.map((one) => line(one, choose))));
      });
      folded.append(inner);
      inner.open = files.size === 1;
    }
  });
  return folded;
}

/**
 * @param {Decision} one
 * @param {(card: Card, choice: string, value?: string) => void} choose
 */
function line(one, choose) {
  const values = one.alike ? "hidden value" : one.path ? `${short(one, "local")} → ${short(one, "result")}` : "";
  const item = make(
    "li",
    {},
    make("code", {}, one.path || resourceOf(one) || one.file),
    " ",
    make("span", { class: "v" }, values),
    make("small", {}, ` ${one.message} (${one.rule}) `),
  );
  if (one.choices.length) {
    const overrule = make("button", { type: "button", class: "link" }, "Overrule");
    overrule.addEventListener("click", () => {
      const card = new Card(one.id, choose);
      card.fill();
      item.replaceChildren(card.element);
      card.element.focus();
    });
    item.append(overrule);
  }
  return item;
}

/**
 * @param {Decision} one
 * @param {string} side
 */
function short(one, side) {
  if (!(side in one)) return "nothing";
  const text = typeof one[side] === "string" ? one[side] : JSON.stringify(one[side]);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
