// Conflicts that are settled at once: those that a search found, or deletions that are alike. A card with a list.

import { button, grouped, make, middle } from "./dom.js";
import { KEYS, NATURES } from "./card.js";
import { record, resourceOf, state, textOf } from "./state.js";

const MOST_ROWS = 100;
const LONGEST_VALUE = 60;

/** @typedef {{ title: string, ids: string[], choices: Record<string, string> }} Group */

export class Batch {
  /**
   * @param {string} id
   * @param {Group} group
   * @param {(batch: Batch, choice: string) => void} choose
   * @param {(batch: Batch, id: string) => void} look shows one of its conflicts
   */
  constructor(id, group, choose, look) {
    this.id = id;
    this.group = group;
    this.choose = choose;
    this.isFilled = true;
    this.pill = make("span");
    this.acts = make("div", { class: "acts", role: "group", "aria-labelledby": `t-${id}` });
    this.verdict = make("p", { class: "verdict", role: "alert", hidden: true });
    this.isOfOneField = group.ids.every((other) => record(other).path === record(group.ids[0] ?? "").path);
    const rows = group.ids.slice(0, MOST_ROWS).map((one) => make("li", {}, this.row(one, look)));
    const rest = group.ids.length - rows.length;
    if (rest) rows.push(make("li", { class: "gone" }, `and ${grouped(rest)} more`));
    this.element = make(
      "article",
      { id: `c-${id}`, class: "batch", tabindex: "-1", "aria-labelledby": `t-${id}` },
      make(id === "b-found" ? "h2" : "h3", { id: `t-${id}` }, make("span", {}, group.title), this.pill),
      make("ul", { class: "rows", tabindex: group.ids.length > 8 ? "0" : null, "aria-label": "Conflicts" }, ...rows),
      this.acts,
      this.verdict,
    );
    this.draw();
  }

  /** The conflicts that a choice is for: the open ones, or all where none is. */
  get ids() {
    const open = this.group.ids.filter((id) => record(id).status === "open");
    return open.length ? open : this.group.ids;
  }

  get isOpen() {
    return this.group.ids.some((id) => record(id).status === "open");
  }

  get choices() {
    return Object.keys(this.group.choices);
  }

  draw() {
    const { ids, isOpen } = this;
    this.pill.className = isOpen ? "pill" : "pill done";
    this.pill.textContent = isOpen ? `${grouped(ids.length)} open` : "settled";
    const buttons = this.choices.map((choice) => {
      const label = (this.group.choices[choice] ?? "").replace("{n}", grouped(ids.length));
      const isChosen = !isOpen && ids.every((id) => record(id).chosen === choice);
      const choose = button(label, KEYS[choice] ?? "", { class: `${NATURES[choice] ?? ""}${isChosen ? " on" : ""}`, "data-choice": choice, "aria-pressed": String(isChosen) });
      choose.addEventListener("click", () => this.choose(this, choice));
      return choose;
    });
    this.acts.replaceChildren(...buttons);
  }

  /**
   * @param {string} id
   * @param {(batch: Batch, id: string) => void} look
   */
  row(id, look) {
    const one = record(id);
    const place = this.isOfOneField ? "" : one.path;
    const about = [one.file, resourceOf(one), place].map((text) => (text ? middle(text) : null));
    const values = make("span", { class: "v" }, ["local", "upstream"].flatMap((side) => short(one, side) ?? []).join(" | "));
    const row = make("button", { type: "button", class: "row" }, ...about, values);
    row.addEventListener("click", () => look(this, id));
    return row;
  }

  /** @param {string} text what the server thinks of a choice */
  say(text) {
    this.verdict.hidden = !text;
    this.verdict.textContent = text;
  }

  fill() {}
}

/**
 * What a side has, on a part of a line; null where that says nothing.
 * @param {import("./state.js").Decision} one
 * @param {string} side
 */
function short(one, side) {
  const label = state.labels[side]?.toLowerCase();
  const text = one.alike ? (one.alike[side] ? "hidden" : null) : textOf(one, side)?.replace(/\s+/g, " ");
  if (text === null || text === undefined) return `${label}: ${"original" in one ? "deleted" : "nothing"}`;
  if (one.nature === "resource" || one.nature === "file") return null;
  return `${label}: ${text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text}`;
}
