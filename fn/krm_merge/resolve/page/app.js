// The page: shows what the server says, and sends what somebody chooses. It merges nothing.

import { Refused, ask, askAll } from "./api.js";
import { automatic } from "./automatic.js";
import { Batch } from "./batch.js";
import { Card, KEYS, cardAt } from "./card.js";
import { byId, grouped, make, middle } from "./dom.js";
import { find, isSelected, selected, widen } from "./find.js";
import { alike, conflicts, load, state, update } from "./state.js";
import { countAgain, drawTree } from "./tree.js";

const FILLED_AT_ONCE = 8;
const DRAWN_AT_ONCE = 50;
// A part that is far away costs the browser nothing, however many cards are in it.
const CARDS_IN_PART = 50;

/** @type {Map<string, Card>} */
const cards = new Map();
/** @type {Map<string, Card>} cards that a search hides */
let hidden = new Map();
/** @type {Map<string, Batch>} by its own id, in the order of the page */
const batches = new Map();
/** @type {Set<string>} the first conflicts of bundles that are shown one by one, too */
const unfolded = new Set();
/** @type {Map<string, import("./batch.js").Group>} the bundle that a conflict is in */
let bundles = new Map();
let current = "";
/** where somebody was when a search began */
let origin = "";
/** @type {import("./state.js").Decision[]} */
let pending = [];
let rest = 0;
let isOver = false;
let isBusy = false;
/** @type {(() => void)[]} what somebody typed and clicked before the answer to the one before */
const later = [];

const near = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const card = entry.isIntersecting ? cardAt(entry.target) : undefined;
      if (!card) continue;
      near.unobserve(entry.target);
      if (!card.isFilled) card.fill();
    }
  },
  { rootMargin: "600px" },
);
// Cards are looked at one by one in the parts that are near.
const nearParts = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting && !target.classList.contains("near")) continue;
      target.classList.toggle("near", isIntersecting);
      for (const element of target.querySelectorAll("article")) {
        if (!isIntersecting || cardAt(element)?.isFilled) near.unobserve(element);
        else near.observe(element);
      }
    }
  },
  { rootMargin: "1200px" },
);

const COMMIT = /^[0-9a-f]{40,}$/;
const NO_CONFLICTS = "No conflicts: nothing was changed on both sides in different ways.";
const NOTHING_FOUND = "Nothing found. Each word is searched in file, kind, name, namespace, field, values, nature and rule; with a prefix such as kind:, only there.";

// ---- drawing -------------------------------------------------------------------------------------------------------

/** @param {boolean} [isSearch] whether the records are those of before, and only others of them are shown */
function drawAll(isSearch = false) {
  const main = byId("cards");
  hidden = isSearch ? new Map([...hidden, ...cards]) : new Map();
  cards.clear();
  batches.clear();
  near.disconnect();
  nearParts.disconnect();
  main.replaceChildren();
  pending = conflicts().filter((one) => isSelected(one.id));
  const selection = selected();
  bundles = new Map(selection ? [] : state.bundles.flatMap((bundle) => bundle.ids.map((id) => [id, bundle])));
  if (selection && selection.ids.length > 1) main.append(batch("b-found", selection));
  else if (!pending.length) main.append(make("p", { class: "empty" }, selection ? NOTHING_FOUND : NO_CONFLICTS));
  drawSome(isSearch ? FILLED_AT_ONCE : DRAWN_AT_ONCE);
  drawHead();
  main.setAttribute("aria-busy", "false");
  performance.mark("ready");
  if (!isSearch) setTimeout(drawTreeAround);
  clearTimeout(rest);
  // While somebody types, only what is visible is drawn.
  if (pending.length) rest = setTimeout(drawRest, isSearch ? 200 : 0);
  else drawRest();
}

/**
 * Draws the next of the cards that are not there yet.
 * @param {number} most
 */
function drawSome(most) {
  const main = byId("cards");
  let part = main.lastElementChild;
  for (const one of pending.splice(0, most)) {
    const bundle = bundles.get(one.id);
    const isFirst = bundle?.ids[0] === one.id;
    if (bundle && !isFirst && !unfolded.has(bundle.ids[0] ?? "")) continue;
    if (!(part instanceof HTMLElement) || !part.classList.contains("part") || cards.size % CARDS_IN_PART === 0) {
      part = make("div", { class: "part" });
      main.append(part);
      nearParts.observe(part);
    }
    let section = part.lastElementChild;
    if (!(section instanceof HTMLElement) || section.dataset.file !== one.file) {
      // A file that goes on in another part is named once.
      const before = part.previousElementSibling?.lastElementChild;
      const goesOn = !section && before instanceof HTMLElement && before.dataset.file === one.file;
      const title = goesOn ? null : make("h2", {}, make("code", {}, one.file));
      section = make("section", { "aria-label": goesOn ? null : one.file, "data-file": one.file }, title);
      part.append(section);
    }
    if (bundle && isFirst) section.append(batch(`b-${one.id}`, bundle));
    if (bundle && !unfolded.has(bundle.ids[0] ?? "")) continue;
    const card = hidden.get(one.id) ?? new Card(one.id, choose);
    cards.set(one.id, card);
    section.append(card.element);
    if (cards.size <= FILLED_AT_ONCE && !card.isFilled) card.fill();
  }
}

/**
 * @param {string} id
 * @param {import("./batch.js").Group} group
 */
function batch(id, group) {
  const card = new Batch(id, group, chooseAll, (from, of) => {
    if (!cards.has(of)) {
      unfolded.add(from.group.ids[0] ?? "");
      drawAll();
    }
    if (pending.length) drawRest();
    const single = cards.get(of);
    if (single) show(single);
  });
  batches.set(id, card);
  return card.element;
}

/** @returns {Card | Batch | undefined} */
function here() {
  return cards.get(current) ?? batches.get(current);
}

/** @returns {(Card | Batch)[]} */
function inOrder() {
  return [...byId("cards").querySelectorAll(":scope > article, section > article")].flatMap(({ id }) => cards.get(id.slice(2)) ?? batches.get(id.slice(2)) ?? []);
}

/** Draws all that is not there yet: what can be seen comes first. */
function drawRest() {
  drawSome(Infinity);
  drawAutomatic();
  pointAgain();
}

function drawTreeAround() {
  drawTree();
  // The current card was there before the tree.
  pointAgain();
}

function pointAgain() {
  const card = here();
  if (card) point(card);
}

function drawAutomatic() {
  document.getElementById("automatic")?.remove();
  if (selected()) return;
  const folded = automatic(choose);
  if (folded) byId("cards").append(folded);
}

function drawHead() {
  const total = state.conflicts;
  const settled = total - state.open;
  byId("package").replaceChildren(middle(state.package));
  const refs = ["original", "upstream"].flatMap((side) => state.sides[side]?.ref ?? []).map((ref) => (COMMIT.test(ref) ? ref.slice(0, 7) : ref));
  byId("refs").textContent = refs.length === 2 && refs[0] !== "base" ? refs.join(" → ") : "";
  document.title = `${state.package}: ${state.open ? `${state.open} open` : "all settled"}`;
  const said = state.open ? `${grouped(state.open)} open · ${grouped(settled)} settled` : total > 1 ? `All ${grouped(total)} settled` : total ? "Settled" : "No conflicts";
  const count = byId("count");
  if (count.textContent !== said) count.textContent = said;
  count.className = state.open ? "" : "done";
  const bar = byId("bar");
  bar.setAttribute("aria-valuemax", String(total));
  bar.setAttribute("aria-valuenow", String(settled));
  /** @type {HTMLElement} */ (bar.firstElementChild).style.width = `${total ? (100 * settled) / total : 100}%`;
  enable("undo", state.canUndo);
  enable("redo", state.canRedo);
  enable("save", state.canSave);
  enable("next", state.open > 0);
  enable("previous", state.open > 0);
}

/**
 * @param {string} id
 * @param {boolean} is
 */
function enable(id, is) {
  /** @type {HTMLButtonElement} */ (byId(id)).disabled = !is;
}

/** @param {string} text */
function notice(text) {
  const place = byId("notice");
  place.textContent = text;
  place.hidden = !text;
}

/**
 * Draws what an answer changed.
 * @param {any} answer
 * @param {string} about
 */
function take(answer, about) {
  if (pending.length) drawRest();
  const isConflict = (/** @type {any} */ one) => (one?.status ?? "automatic") !== "automatic";
  const before = (/** @type {string} */ id) => isConflict(state.records.get(id));
  const isAtOnce = answer.records.every((/** @type {any} */ one) => before(one.id) === isConflict(one)) && !answer.removed.some(before);
  const stays = Boolean(here());
  const focused = byId("cards").contains(document.activeElement) ? document.activeElement : null;
  update(answer, about || undefined);
  notice("");
  for (const one of answer.records) hidden.delete(one.id);
  if (isAtOnce) {
    for (const one of answer.records) cards.get(one.id)?.draw();
    for (const one of batches.values()) one.draw();
    countAgain(answer.records);
    drawHead();
    if (answer.removed.length || answer.records.some((/** @type {any} */ one) => one.status === "automatic")) {
      drawAutomatic();
      drawTree();
    }
  } else {
    drawAll();
  }
  // What was chosen may have left another conflict in its place.
  const card = here();
  if (card && stays) point(card);
  else showFirst(answer.records);
  if (focused && !document.contains(focused)) refocus(here(), focused.getAttribute("data-choice"));
}

/**
 * Shows the first of some conflicts that is on the page, alone or in a batch.
 * @param {{ id: string }[]} records
 */
function showFirst(records) {
  if (pending.length) drawRest();
  for (const { id } of records) {
    const card = cards.get(id) ?? batches.get(`b-${bundles.get(id)?.ids[0]}`) ?? (isSelected(id) ? batches.get("b-found") : undefined);
    if (card) return show(card);
  }
}

/**
 * Puts the focus back on what was drawn anew.
 * @param {Card | Batch | undefined} card
 * @param {string | null} choice
 */
function refocus(card, choice) {
  const button = card?.element.querySelector(`[data-choice="${choice ?? ""}"]`);
  const place = button instanceof HTMLElement ? button : card?.element;
  place?.focus({ preventScroll: true });
}

// ---- what is sent --------------------------------------------------------------------------------------------------

/**
 * @param {() => Promise<void>} work
 * @param {(text: string) => void} [refused] shows why something is refused; by default above all
 */
async function busy(work, refused = notice) {
  if (isOver) return;
  if (isBusy) {
    later.push(() => void busy(work, refused));
    return;
  }
  isBusy = true;
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 409) {
      await reload();
      notice(`${error.message}. This is the current state.`);
    } else {
      refused(error.message);
    }
  } finally {
    isBusy = false;
    while (later.length && !isBusy) later.shift()?.();
  }
}

/**
 * @param {Card} card
 * @param {string} choice
 * @param {string} [value]
 */
function choose(card, choice, value) {
  const { forAll, always } = card;
  const ids = forAll ? alike(card.record) : [card.id];
  // Before the answer: somebody may have moved on until then.
  if (cards.has(card.id)) point(card);
  void busy(
    async () => {
      performance.mark("choose");
      const body = { revision: state.revision, ids, choice, ...(value === undefined ? {} : { value }), ...(always ? { always } : {}) };
      const answer = await ask("/api/choose", body);
      card.forAll = card.always = false;
      take(answer, card.id);
      if (current === card.id && cards.get(card.id)?.record.status === "settled") await goOn(card.id);
      requestAnimationFrame(() => setTimeout(() => performance.measure("choice", "choose")));
    },
    (text) => card.say(text),
  );
}

/**
 * Settles all conflicts of a batch that are open; with one step they are open again.
 * @param {Batch} of
 * @param {string} choice
 */
function chooseAll(of, choice) {
  point(of);
  const { ids } = of;
  void busy(
    async () => {
      take(await ask("/api/choose", { revision: state.revision, ids, choice }), "");
      if (!here()?.isOpen) await goOn(selected() ? origin : of.id);
    },
    (text) => of.say(text),
  );
}

/**
 * Goes to the next open conflict; a search of which nothing is open ends.
 * @param {string} from
 */
async function goOn(from) {
  if (!goesOn()) return;
  if (selected()?.ids.every((id) => state.records.get(id)?.status !== "open")) {
    await find("");
    drawAll(true);
    current = cards.has(from) || batches.has(from) ? from : "";
  }
  if (state.open) go(1, true);
}

/**
 * @param {() => Promise<boolean>} search
 * @param {boolean} leads whether what was found gets the focus
 * @returns {Promise<void>}
 */
function look(search, leads) {
  performance.mark("search");
  return search()
    .then((isNew) => {
      if (!isNew) return;
      if (current !== "b-found") origin = current;
      drawAll(true);
      const target = selected() ? batches.get("b-found") ?? cards.values().next().value : cards.get(origin) ?? batches.get(origin);
      if (target && leads) show(target);
      else if (target) point(target);
      requestAnimationFrame(() => setTimeout(() => performance.measure("found", "search")));
    })
    .catch((error) => {
      if (!(error instanceof Refused)) throw error;
      notice(error.message);
    });
}

/** @param {"undo" | "redo"} what */
function step(what) {
  if (!(what === "undo" ? state.canUndo : state.canRedo)) return;
  void busy(async () => {
    const answer = await ask(`/api/${what}`, { revision: state.revision });
    take(answer, current);
    showFirst(answer.records);
  });
}

function save() {
  if (!state.canSave) {
    if (here()?.isOpen) here()?.element.focus();
    else go(1, true);
    notice(state.open === 1 ? "1 conflict is still open." : `${state.open} conflicts are still open.`);
    return;
  }
  const withEarlier = state.earlier !== "";
  if (withEarlier && !window.confirm(`You chose nothing in this session. ${state.earlier}. Save this?`)) return;
  void busy(async () => {
    isSaving(true);
    const { files } = await ask("/api/save", { revision: state.revision, withEarlier }).finally(() => isSaving(false));
    const noun = files.length === 1 ? "1 file was written." : `${files.length} files were written.`;
    const next = state.packages.size ? " Run the campaign again to merge the packages concerned." : "";
    end("Saved", files.length ? `${noun}${next}` : "No file had to change.", files);
    // The server may have ended already: it does not wait for a slow browser.
    await ask("/api/close", {}).catch(() => undefined);
  });
}

/** @param {boolean} is */
function isSaving(is) {
  /** @type {Text} */ (byId("save").firstChild).data = is ? "Saving…" : "Save";
  drawHead();
  enable("save", state.canSave && !is);
  if (is) byId("count").textContent = "Saving…";
}

function close() {
  void busy(async () => {
    await ask("/api/close", {});
    const kept = state.canUndo ? " Your choices are kept: run the same command again to continue." : "";
    end("Closed without saving", `Nothing was changed.${kept}`, []);
  });
}

/**
 * @param {string} title
 * @param {string} text
 * @param {string[]} files
 */
function end(title, text, files) {
  isOver = true;
  for (const one of document.querySelectorAll("header button, header input, header select")) one.setAttribute("disabled", "");
  const names = files.slice(0, 20).map((name) => make("li", {}, make("code", {}, name)));
  const rest = files.length > 20 ? make("p", {}, `and ${files.length - 20} more`) : null;
  const panel = make("div", { class: "end", role: "status", tabindex: "-1" }, make("h2", {}, title), make("p", {}, text), make("ul", {}, ...names), rest, make("p", {}, "You can close this page."));
  notice("");
  byId("count").textContent = title;
  byId("tree").replaceChildren();
  byId("layout").className = "over";
  byId("cards").replaceChildren(panel);
  document.title = `${state.package}: ${title.toLowerCase()}`;
  panel.focus();
}

/** @returns {Promise<void>} */
async function reload() {
  load(await askAll());
  drawAll();
  const named = { upstream: "take", local: "keep", original: "take" };
  for (const [side, verb] of Object.entries(named)) {
    const place = document.querySelector(`#keys [data-side=${side}]`);
    if (place) place.textContent = `${verb} ${state.labels[side]?.toLowerCase()}`;
  }
}

// ---- moving --------------------------------------------------------------------------------------------------------

/** @param {Card | Batch} card */
function point(card) {
  here()?.element.removeAttribute("aria-current");
  current = card.id;
  card.element.setAttribute("aria-current", "true");
  for (const link of document.querySelectorAll("#tree .on")) link.classList.remove("on");
  // The last of them is the nearest: its folders have the same first conflict.
  const first = card instanceof Batch ? card.group.ids[0] : card.id;
  [...document.querySelectorAll(`#tree a[href="#c-${first}"]`)].at(-1)?.classList.add("on");
}

/**
 * @param {number} by
 * @param {boolean} amongOpen
 */
function go(by, amongOpen) {
  if (pending.length) drawRest();
  const all = inOrder();
  let at = all.findIndex((card) => card.id === current);
  for (let tried = 0; tried < all.length; tried++) {
    at = at < 0 ? 0 : (at + by + all.length) % all.length;
    const card = all[at];
    if (card && (!amongOpen || card.isOpen)) {
      show(card);
      return;
    }
  }
}

/** @param {Card | Batch} card */
function show(card) {
  if (!card.isFilled) card.fill();
  point(card);
  card.element.focus({ preventScroll: true });
  card.element.scrollIntoView({ block: "nearest" });
  const tree = byId("tree");
  const link = tree.querySelector(".on");
  if (link instanceof HTMLElement && (link.offsetTop < tree.scrollTop || link.offsetTop > tree.scrollTop + tree.clientHeight - 40)) {
    tree.scrollTop = link.offsetTop - tree.clientHeight / 2;
  }
}

// ---- keys and buttons ----------------------------------------------------------------------------------------------

/** @type {Record<string, () => void>} */
const GLOBAL = {
  j: () => go(1, false),
  k: () => go(-1, false),
  n: () => go(1, true),
  p: () => go(-1, true),
  z: () => step("undo"),
  y: () => step("redo"),
  s: save,
  g: () => group(),
  "/": () => byId("query").focus(),
  Escape: () => selected() && look(() => find(""), true),
  "?": () => /** @type {HTMLDialogElement} */ (byId("keys")).showModal(),
};

/** Selects what the current conflict can be settled together with. */
function group() {
  const card = here();
  const id = card instanceof Batch ? (current === "b-found" ? "" : card.ids[0]) : current;
  look(() => widen(id ?? ""), true);
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  const at = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || isOver) return;
  // A dialog that was just closed still has the focus for a moment.
  if (isTyping(at) || (at instanceof Element && at.closest("dialog[open]"))) return;
  // What follows a slash is typed into the field.
  if (isBusy && event.key.length === 1 && event.key !== "/") {
    // What follows an `e` is a part of the value.
    later.push(() => void (isTyping(document.activeElement) || press(event.key)));
  } else if (!press(event.key)) return;
  event.preventDefault();
}

/** @param {EventTarget | null} at */
function isTyping(at) {
  return at instanceof HTMLTextAreaElement || (at instanceof HTMLInputElement && at.type !== "checkbox");
}

/**
 * @param {string} key
 * @returns {boolean} whether it means something
 */
function press(key) {
  const card = here();
  const choice = Object.keys(KEYS).find((name) => KEYS[name] === key);
  const known = GLOBAL[key];
  if (known) known();
  else if (!card) return false;
  else if (card instanceof Batch) return choice && card.choices.includes(choice) ? (chooseAll(card, choice), true) : false;
  else if (choice && card.choices.includes(choice)) choice === "value" ? card.edit() : choose(card, choice);
  else if (key === "a") card.switch("forAll");
  else if (key === "w") card.switch("always");
  else if (key === "c" && card.record.status === "open" && !state.packages.has(card.id)) card.toggleContext();
  else return false;
  return true;
}

/** Whether the next open conflict is current after a choice. */
function goesOn() {
  return /** @type {HTMLInputElement} */ (byId("goes-on")).checked;
}

/** @type {Record<string, () => void>} */
const BUTTONS = {
  previous: () => go(-1, true),
  next: () => go(1, true),
  undo: () => step("undo"),
  redo: () => step("redo"),
  save,
  close,
  help: () => GLOBAL["?"]?.(),
  files: () => {
    const isShown = byId("layout").classList.toggle("with-tree");
    byId("files").setAttribute("aria-expanded", String(isShown));
  },
};

async function begin() {
  document.addEventListener("keydown", onKey);
  const query = /** @type {HTMLInputElement} */ (byId("query"));
  query.addEventListener("input", () => look(() => find(query.value), false));
  query.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    const text = event.key === "Enter" ? query.value : "";
    if (!text) query.value = "";
    look(() => find(text), true);
  });
  byId("cards").addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("[data-group]")) group();
  });
  byId("scope").addEventListener("change", () => look(() => find(/** @type {HTMLSelectElement} */ (byId("scope")).value), true));
  byId("clear").addEventListener("click", () => look(() => find(""), true));
  for (const [id, what] of Object.entries(BUTTONS)) byId(id).addEventListener("click", what);
  byId("cards").addEventListener("focusin", (event) => {
    const id = /** @type {Element} */ (event.target).closest("article")?.id.slice(2) ?? "";
    const card = cards.get(id) ?? batches.get(id);
    if (card && id !== current) point(card);
  });
  byId("tree").addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || link.getAttribute("href") === "#automatic") return;
    event.preventDefault();
    byId("layout").classList.remove("with-tree");
    byId("files").setAttribute("aria-expanded", "false");
    const folder = link.dataset.folder;
    const id = link.getAttribute("href")?.slice(3) ?? "";
    if (folder) void look(() => find(`folder=${/\s/.test(folder) ? `"${folder}"` : folder}`), true);
    else if (isSelected(id)) showFirst([{ id }]);
    else void look(() => find(""), false).then(() => showFirst([{ id }]));
  });
  await busy(reload);
  const first = inOrder().find((card) => card.isOpen);
  if (first) point(first);
  const notices = [state.earlier, ...state.notices].filter(Boolean);
  if (notices.length) notice(notices.join(" · "));
}

void begin();
