// One conflict: where it is, what happened, the values of the three sides, what can be chosen, and what comes out.

import { ask } from "./api.js";
import { button, byId, grouped, make } from "./dom.js";
import { countOf, packagesOf } from "./packages.js";
import { SIDES, alike, record, resourceOf, state, textOf } from "./state.js";

/** @typedef {import("./state.js").Decision} Decision */

/** @type {Record<string, string>} */
export const KEYS = {
  higher: "h",
  upstream: "u",
  local: "l",
  original: "o",
  "upstream-then-local": "b",
  "local-then-upstream": "B",
  recognise: "r",
  value: "e",
};

/** @type {Record<string, string>} */
export const NATURES = { upstream: "up", local: "lo", original: "or" };

/** @type {Record<string, string>} */
const MARKS = { "-": "del", "+": "ins" };

const LONGEST = 4000;

// There may be thousands of them: copies are made faster than elements one by one.
const EMPTY = make("article", { tabindex: "-1" }, make("h3", {}, make("code"), make("span", { class: "res" }), make("span")));

/** @type {WeakMap<HTMLElement, Card>} */
const cards = new WeakMap();

/**
 * @param {Element | null} element
 * @returns {Card | undefined}
 */
export function cardAt(element) {
  const article = element?.closest("article");
  return article instanceof HTMLElement ? cards.get(article) : undefined;
}

/** What can be done with a conflict; the host of the cards does it. */
export class Card {
  /**
   * @param {string} id
   * @param {(card: Card, choice: string, value?: string) => void} choose
   */
  constructor(id, choose) {
    this.id = id;
    this.choose = choose;
    this.forAll = false;
    this.always = false;
    this.isFilled = false;
    this.showsContext = false;
    /** @type {Record<string, [string, [string, boolean][]][]>} what sides changed, as lines */
    this.changes = {};
    /** @type {Record<string, string> | null} */
    this.revealed = null;
    /** @type {string | undefined} who made local's value */
    this.change = undefined;
    this.element = /** @type {HTMLElement} */ (EMPTY.cloneNode(true));
    this.element.id = `c-${id}`;
    this.element.setAttribute("aria-labelledby", `t-${id}`);
    const head = /** @type {Element} */ (this.element.firstElementChild);
    head.id = `t-${id}`;
    const [where, about, pill] = /** @type {HTMLElement[]} */ ([...head.children]);
    this.where = where;
    this.about = about;
    this.pill = pill;
    cards.set(this.element, this);
    this.draw();
  }

  get isOpen() {
    return this.record.status === "open";
  }

  get choices() {
    return this.record.choices;
  }

  get record() {
    return record(this.id);
  }

  /** Draws the head, and all below it once somebody comes near. */
  draw() {
    const one = this.record;
    const isOpen = one.status === "open";
    this.element.className = isOpen ? "open" : "settled";
    const status = isOpen ? "open" : one.status === "settled" ? `settled: ${this.outcome()}` : "merged without conflict";
    if (!this.where || !this.about || !this.pill) return;
    this.where.textContent = one.path || resourceOf(one) || one.file;
    this.about.textContent = [one.path ? resourceOf(one) : "", countOf(this.id)].filter((text) => text).join(" · ");
    this.pill.textContent = status;
    this.pill.className = isOpen ? "pill" : "pill done";
    if (this.isFilled) this.fill();
  }

  outcome() {
    const one = this.record;
    const by = one.settledBy ?? "";
    const named = { higher: "the higher version", value: "your own value", recognise: "recognised", ...lower(state.labels) };
    const chosen = one.chosen ? (/** @type {any} */ (named)[one.chosen] ?? "both") : "as merged";
    return by.startsWith("rule") ? `${chosen}, always` : chosen;
  }

  fill() {
    this.isFilled = true;
    const one = this.record;
    while (this.element.childElementCount > 1) this.element.lastElementChild?.remove();
    this.sides = make("div", { class: "sides" }, ...this.shownSides().map((side) => this.side(side)));
    this.result = make("div", { class: "result", hidden: true });
    this.verdict = make("p", { class: "verdict", role: "alert", hidden: true });
    this.element.append(make("p", { class: "why" }, state.words.get(this.id)?.said ?? one.message));
    if (state.packages.has(this.id)) this.element.append(packagesOf(this));
    this.element.append(this.sides, this.result, this.actions(), this.verdict);
    this.enrich();
    this.nameChange();
  }

  /** The sentence of a broken reference names it: its original is no value. Changes have the original in them. */
  shownSides() {
    return this.record.nature === "reference" || Object.keys(this.changes).length ? SIDES.slice(1) : SIDES;
  }

  /**
   * @param {string} side
   * @param {[string, boolean][]} [marks] the value in pieces, each with whether it is new
   */
  side(side, marks) {
    const one = this.record;
    const ref = state.sides[side]?.ref;
    const label = ref && side === "upstream" && ref !== side ? `${state.labels[side]}, ${ref}` : state.labels[side];
    const picked = one.chosen === side;
    return make(
      "div",
      { class: `side ${NATURES[side]}${picked ? " picked" : ""}` },
      make("h4", {}, label, picked ? make("span", { class: "kept" }, "chosen") : ""),
      this.value(side, marks),
    );
  }

  /**
   * @param {string} side
   * @param {[string, boolean][]} [marks]
   */
  value(side, marks) {
    const one = this.record;
    const hidden = this.revealed?.[side];
    if (hidden !== undefined) return make("pre", { class: "v", tabindex: hidden.length > 400 ? "0" : null }, hidden);
    if (one.alike) {
      const letter = one.alike[side];
      const same = SIDES.filter((other) => other !== side && one.alike?.[other] === letter);
      const said = same.length ? `same as ${same.map((name) => state.labels[name]?.toLowerCase()).join(", ")}` : "differs";
      return make("p", { class: "gone" }, letter ? `hidden value, ${said}` : "nothing");
    }
    const changes = this.changes[side];
    if (changes) return this.changed(side, changes);
    const text = textOf(one, side);
    const gone = one.nature === "reference" || !("original" in one) || side === "original" ? "nothing" : "deleted";
    if (text === null) return make("p", { class: "gone" }, gone);
    if (text === "") return make("p", { class: "gone" }, "empty text");
    const long = text.length > LONGEST;
    const pieces = long || !marks ? [text.slice(0, LONGEST)] : marks.flatMap(([piece, isNew]) => (isNew ? marked(piece) : [piece]));
    const more = long ? make("button", { type: "button", class: "link more" }, `Show all ${text.length} characters`) : null;
    const shown = make("pre", { class: "v", tabindex: text.length > 400 ? "0" : null }, ...pieces);
    more?.addEventListener("click", () => {
      shown.textContent = text;
      more.remove();
    });
    return make("div", {}, shown, more);
  }

  /**
   * What a side changed, line by line; all of it on demand.
   * @param {string} side
   * @param {[string, [string, boolean][]][]} changes
   */
  changed(side, changes) {
    if (!changes.length) return make("p", { class: "gone" }, "the same values");
    const lines = changes.map(([mark, pieces]) =>
      make("span", { class: MARKS[mark] ?? null }, `${mark} `, ...pieces.flatMap(([piece, isNew]) => (isNew ? marked(piece) : [piece]))),
    );
    const shown = make("pre", { class: "v changes", tabindex: "0", "aria-label": `What changed: ${state.labels[side]}` }, ...lines);
    const all = make("button", { type: "button", class: "link more" }, "Show all of it");
    all.addEventListener("click", () => {
      shown.textContent = textOf(this.record, side);
      all.remove();
    });
    return make("div", {}, shown, all);
  }

  actions() {
    const one = this.record;
    const words = state.words.get(this.id)?.choices ?? {};
    const group = make("div", { class: "acts", role: "group", "aria-labelledby": `t-${this.id}` });
    for (const choice of one.choices) {
      const pressed = one.chosen === choice;
      const attributes = { class: `${NATURES[choice] ?? ""}${pressed ? " on" : ""}`, "aria-pressed": String(pressed), "data-choice": choice };
      const made = button(words[choice] ?? choice, KEYS[choice] ?? "", attributes);
      made.addEventListener("click", () => (choice === "value" ? this.edit() : this.choose(this, choice)));
      group.append(made);
    }
    group.append(this.more());
    return group;
  }

  more() {
    const one = this.record;
    const more = make("span", { class: "more" });
    const isGroup = state.packages.has(this.id);
    const count = alike(one).length;
    if (count > 1 && !isGroup && !one.redacted) more.append(this.toggle("forAll", `All ${grouped(count)} like this`, "a"));
    if (!isGroup && one.status === "open" && state.conflicts > 1) more.append(button("With others", "g", { class: "link", "data-group": "" }));
    if (this.mayBeRule()) more.append(this.toggle("always", isGroup ? "Always" : "Always here", "w"));
    if (one.path && !one.redacted && one.status === "open" && !isGroup) {
      const label = this.showsContext ? "Hide context" : "Show in context";
      const made = button(label, "c", { class: "link", "aria-expanded": String(this.showsContext) });
      made.addEventListener("click", () => this.toggleContext());
      more.append(made);
    }
    if (one.redacted) {
      const made = button(this.revealed ? "Hide values" : "Show values", "", { class: "link", "aria-pressed": String(!!this.revealed) });
      made.addEventListener("click", () => this.reveal(made));
      more.append(made);
    }
    const rule = button(`Rule ${one.rule}`, "", { class: "link" });
    rule.addEventListener("click", () => this.explain());
    more.append(rule);
    return more;
  }

  /** Shows the text of the rule that decides here. */
  async explain() {
    try {
      const { title, text } = await ask(`/api/rule?id=${encodeURIComponent(this.record.rule)}`);
      byId("rule-title").textContent = title;
      byId("rule-text").textContent = text;
      /** @type {HTMLDialogElement} */ (byId("rule")).showModal();
    } catch (error) {
      this.say(String(/** @type {Error} */ (error).message));
    }
  }

  mayBeRule() {
    const one = this.record;
    return Boolean(state.policyFile && one.resource && !/\[\d+\]/.test(one.path) && one.choices.includes("local"));
  }

  /**
   * @param {"forAll" | "always"} what
   * @param {string} label
   * @param {string} key
   */
  toggle(what, label, key) {
    const made = button(label, key, { class: "link toggle", "aria-pressed": String(this[what]), "data-toggle": what });
    made.addEventListener("click", () => this.switch(what));
    return made;
  }

  /**
   * Says that the next choice is for more than this once; what is chosen already is chosen again.
   * @param {"forAll" | "always"} what
   */
  switch(what) {
    const made = this.element.querySelector(`[data-toggle=${what}]`);
    if (!made) return;
    this[what] = !this[what];
    made.setAttribute("aria-pressed", String(this[what]));
    const chosen = this.record.chosen;
    if (this[what] && chosen && chosen !== "value" && this.record.status === "settled") this.choose(this, chosen);
  }

  toggleContext() {
    this.showsContext = !this.showsContext;
    this.fill();
    this.element.querySelector(/** @type {any} */ (".more [aria-expanded]"))?.focus();
  }

  /**
   * Shows the hidden values, or hides them again: they are asked for, and kept in this card alone.
   * @param {HTMLElement} made
   */
  async reveal(made) {
    const isShown = Boolean(this.revealed);
    try {
      this.revealed = isShown ? null : (await ask("/api/reveal", { id: this.id })).values;
    } catch (error) {
      return this.say(String(/** @type {Error} */ (error).message));
    }
    this.sides?.replaceChildren(...this.shownSides().map((side) => this.side(side)));
    made.textContent = isShown ? "Show values" : "Hide values";
    made.setAttribute("aria-pressed", String(!isShown));
  }

  edit() {
    const open = this.element.querySelector("form");
    if (open) return open.querySelector("textarea")?.focus();
    const one = this.record;
    const known = textOf(one, one.chosen === "value" ? "result" : "local") ?? textOf(one, "upstream") ?? "";
    const area = make("textarea", { id: `v-${this.id}`, spellcheck: "false", rows: String(Math.min(20, known.split("\n").length + 1)) });
    area.value = known;
    const use = make("button", { class: "primary" }, "Use this value");
    const cancel = make("button", { type: "button" }, "Cancel");
    const form = make(
      "form",
      { class: "editor" },
      make("label", { for: area.id }, "A value of your own, as YAML"),
      area,
      make("p", { class: "acts" }, use, cancel),
    );
    const end = () => {
      form.remove();
      this.say("");
      this.element.focus();
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.choose(this, "value", area.value);
    });
    cancel.addEventListener("click", end);
    area.addEventListener("keydown", (event) => {
      if (event.key === "Escape") end();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
    this.verdict?.before(form);
    area.focus();
    area.select();
  }

  /**
   * What the server thinks of a choice; "" where it is right.
   * @param {string} text
   */
  say(text) {
    if (!this.verdict) return;
    this.verdict.hidden = !text;
    this.verdict.textContent = text;
  }

  /** Gets who made local's value, when and why; git may take a while. */
  async nameChange() {
    const sides = this.sides;
    this.change ??= (await ask(`/api/change?id=${encodeURIComponent(this.id)}`).catch(() => null))?.words;
    if (this.change && sides === this.sides) sides?.after(make("p", { class: "change" }, this.change));
  }

  /** Gets what differs, and the lines around. */
  async enrich() {
    const asked = state.revision;
    const found = await ask(`/api/context?id=${encodeURIComponent(this.id)}`).catch(() => null);
    if (!found || !this.sides || !state.records.has(this.id)) return;
    if (asked !== state.revision) {
      // A choice on another card came before the answer, which does not draw this one anew.
      await this.enrich();
      return;
    }
    this.changes = found.changes;
    this.sides.replaceChildren(...this.shownSides().map((side) => this.side(side, found.marks[side])));
    const isShown = this.record.status === "settled" || this.showsContext;
    const context = this.record.status === "open" ? (found.local ?? found.upstream) : found.result;
    if (this.result && isShown) this.drawResult(this.result, context);
  }

  /**
   * @param {HTMLElement} place
   * @param {{ lines: string[], start: number, stop: number }} [context]
   */
  drawResult(place, context) {
    const one = this.record;
    place.hidden = false;
    const heading = make("h4", {}, one.status === "open" ? "In context, as you have it" : "Result");
    if (!context && !("result" in one) && one.chosen && !SIDES.includes(one.chosen)) {
      place.replaceChildren(heading, make("p", { class: "gone" }, "the next run merges it in every package"));
      return;
    }
    if (!context) {
      const gone = !("result" in one) && !one.alike;
      place.replaceChildren(heading, gone ? make("p", { class: "gone" }, "nothing remains here") : this.value("result"));
      return;
    }
    const lines = context.lines.map((line, at) =>
      make("span", { class: at >= context.start && at < context.stop ? "here" : null }, `${line}\n`),
    );
    place.replaceChildren(heading, make("pre", { tabindex: "0", "aria-label": "Lines around" }, ...lines));
  }
}

/**
 * A piece that is new, its white space around apart.
 * @param {string} piece
 * @returns {(string | Node)[]}
 */
function marked(piece) {
  const core = piece.trim();
  const at = piece.indexOf(core);
  return core ? [piece.slice(0, at), make("mark", {}, core), piece.slice(at + core.length)] : [make("mark", {}, piece)];
}

/** @param {Record<string, string>} labels */
function lower(labels) {
  return Object.fromEntries(Object.entries(labels).map(([side, label]) => [side, label.toLowerCase()]));
}
