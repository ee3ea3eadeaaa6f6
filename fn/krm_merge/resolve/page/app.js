// The page: shows what the server says, and sends what somebody chooses. It merges nothing.

import { Refused, ask } from "./api.js";
import { automatic } from "./automatic.js";
import { Card, KEYS, cardAt } from "./card.js";
import { byId, make } from "./dom.js";
import { alike, conflicts, load, state, update } from "./state.js";
import { countAgain, drawTree } from "./tree.js";

const FILLED_AT_ONCE = 8;
const DRAWN_AT_ONCE = 50;
// A part that is far away costs the browser nothing, however many cards are in it.
const CARDS_IN_PART = 50;

/** @type {Map<string, Card>} */
const cards = new Map();
let current = "";
/** @type {import("./state.js").Decision[]} */
let pending = [];
let isOver = false;
let isBusy = false;

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

// ---- drawing -------------------------------------------------------------------------------------------------------

function drawAll() {
  const main = byId("cards");
  cards.clear();
  near.disconnect();
  nearParts.disconnect();
  main.replaceChildren();
  pending = conflicts();
  if (!pending.length) main.append(make("p", { class: "empty" }, "No conflicts: nothing was changed on both sides in different ways."));
  drawSome(DRAWN_AT_ONCE);
  drawHead();
  main.setAttribute("aria-busy", "false");
  performance.mark("ready");
  if (pending.length) setTimeout(drawRest);
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
    if (!(part instanceof HTMLElement) || cards.size % CARDS_IN_PART === 0) {
      part = make("div", { class: "part" });
      main.append(part);
      nearParts.observe(part);
    }
    let section = part.lastElementChild;
    if (!(section instanceof HTMLElement) || section.dataset.file !== one.file) {
      section = make("section", { "aria-label": one.file, "data-file": one.file }, make("h2", {}, make("code", {}, one.file)));
      part.append(section);
    }
    const card = new Card(one.id, choose, setApart);
    cards.set(one.id, card);
    section.append(card.element);
    if (cards.size <= FILLED_AT_ONCE) card.fill();
  }
}

/** Draws all that is not there yet: what can be seen comes first. */
function drawRest() {
  drawSome(Infinity);
  drawAutomatic();
  drawTree();
  const card = cards.get(current);
  if (card) point(card);
}

function drawAutomatic() {
  document.getElementById("automatic")?.remove();
  const folded = automatic(choose);
  if (folded) byId("cards").append(folded);
}

function drawHead() {
  const settled = conflicts().length - state.open;
  const total = conflicts().length;
  byId("package").textContent = state.package;
  const refs = ["original", "upstream"].flatMap((side) => state.sides[side]?.ref ?? []);
  byId("refs").textContent = refs.length === 2 && refs[0] !== "base" ? refs.join(" → ") : "";
  document.title = `${state.package}: ${state.open ? `${state.open} open` : "all settled"}`;
  const said = state.open ? `${state.open} open · ${settled} settled` : total > 1 ? `All ${total} settled` : total ? "Settled" : "No conflicts";
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
  const isAtOnce = answer.records.every((/** @type {any} */ one) => cards.has(one.id) === (one.status !== "automatic"));
  const stays = cards.has(current);
  const focused = byId("cards").contains(document.activeElement) ? document.activeElement : null;
  update(answer, about || undefined);
  notice("");
  if (isAtOnce && !answer.removed.some((/** @type {string} */ id) => cards.has(id))) {
    for (const one of answer.records) cards.get(one.id)?.draw();
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
  const next = answer.records.find((/** @type {any} */ one) => cards.has(one.id));
  const card = cards.get(current);
  if (card && stays) point(card);
  else if (next) show(/** @type {Card} */ (cards.get(next.id)));
  if (focused && !document.contains(focused)) refocus(cards.get(current), focused.getAttribute("data-choice"));
}

/**
 * Puts the focus back on what was drawn anew.
 * @param {Card | undefined} card
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
  if (isBusy || isOver) return;
  isBusy = true;
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 409) {
      await reload();
      notice(`${error.message}. This is how it is now.`);
    } else {
      refused(error.message);
    }
  } finally {
    isBusy = false;
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
      requestAnimationFrame(() => setTimeout(() => performance.measure("choice", "choose")));
    },
    (text) => card.say(text),
  );
}

/**
 * Lets some packages be settled apart from the others of their group.
 * @param {Card} card
 * @param {string} packages names or patterns
 */
function setApart(card, packages) {
  void busy(
    async () => {
      const answer = await ask("/api/apart", { revision: state.revision, id: card.id, packages });
      take(answer, card.id);
      const added = cards.get(answer.records.at(-1).id);
      if (added) show(added);
    },
    (text) => card.say(text),
  );
}

/** @param {"undo" | "redo"} what */
function step(what) {
  if (!(what === "undo" ? state.canUndo : state.canRedo)) return;
  void busy(async () => {
    const answer = await ask(`/api/${what}`, { revision: state.revision });
    take(answer, current);
    const first = answer.records.find((/** @type {any} */ one) => cards.has(one.id));
    const card = cards.get(first?.id ?? "");
    if (card) show(card);
  });
}

function save() {
  if (!state.canSave) {
    go(1, true);
    notice(state.open === 1 ? "1 conflict is still open." : `${state.open} conflicts are still open.`);
    return;
  }
  void busy(async () => {
    const { files } = await ask("/api/save", { revision: state.revision });
    const noun = files.length === 1 ? "1 file was written." : `${files.length} files were written.`;
    const next = state.packages.size ? " Run the campaign again: it merges the packages that this is about." : "";
    end("Saved", files.length ? `${noun}${next}` : "No file had to change.", files);
    // The server may have ended already: it does not wait for a slow browser.
    await ask("/api/close", {}).catch(() => undefined);
  });
}

function close() {
  void busy(async () => {
    await ask("/api/close", {});
    const kept = state.canUndo ? " What you chose is kept: run the same command again to go on." : "";
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
  for (const one of document.querySelectorAll("header button")) one.setAttribute("disabled", "");
  const names = files.slice(0, 20).map((name) => make("li", {}, make("code", {}, name)));
  const rest = files.length > 20 ? make("p", {}, `and ${files.length - 20} more`) : null;
  const panel = make("div", { class: "end", role: "status", tabindex: "-1" }, make("h2", {}, title), make("p", {}, text), make("ul", {}, ...names), rest, make("p", {}, "You can close this page."));
  notice("");
  byId("tree").replaceChildren();
  byId("layout").className = "over";
  byId("cards").replaceChildren(panel);
  document.title = `${state.package}: ${title.toLowerCase()}`;
  panel.focus();
}

/** @returns {Promise<void>} */
async function reload() {
  const [report, view] = await Promise.all([ask("/api/report"), ask("/api/view")]);
  if (report.revision !== view.revision) return reload();
  load({ ...report, ...view });
  drawAll();
  const named = { upstream: "take", local: "keep", original: "take" };
  for (const [side, verb] of Object.entries(named)) {
    const place = document.querySelector(`#keys [data-side=${side}]`);
    if (place) place.textContent = `${verb} ${state.labels[side]?.toLowerCase()}`;
  }
}

// ---- moving --------------------------------------------------------------------------------------------------------

/** @param {Card} card */
function point(card) {
  const before = cards.get(current);
  before?.element.removeAttribute("aria-current");
  current = card.id;
  card.element.setAttribute("aria-current", "true");
  for (const link of document.querySelectorAll("#tree .on")) link.classList.remove("on");
  document.querySelector(`#tree a[href="#${card.element.id}"]`)?.classList.add("on");
}

/**
 * @param {number} by
 * @param {boolean} amongOpen
 */
function go(by, amongOpen) {
  if (pending.length) drawRest();
  const ids = conflicts().map((one) => one.id);
  let at = ids.indexOf(current);
  for (let tried = 0; tried < ids.length; tried++) {
    at = current || tried ? (at + by + ids.length) % ids.length : 0;
    const card = cards.get(ids[at] ?? "");
    if (card && (!amongOpen || card.record.status === "open")) {
      show(card);
      return;
    }
  }
}

/** @param {Card} card */
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
  "?": () => /** @type {HTMLDialogElement} */ (byId("keys")).showModal(),
};

/** @param {KeyboardEvent} event */
function onKey(event) {
  const at = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || isOver) return;
  if (at instanceof HTMLTextAreaElement || at instanceof HTMLInputElement || (at instanceof Element && at.closest("dialog"))) return;
  const card = cards.get(current);
  const choice = Object.keys(KEYS).find((name) => KEYS[name] === event.key);
  const known = GLOBAL[event.key];
  if (known) known();
  else if (!card) return;
  else if (choice && card.record.choices.includes(choice)) choice === "value" ? card.edit() : choose(card, choice);
  else if (event.key === "a") card.switch("forAll");
  else if (event.key === "w") card.switch("always");
  else if (event.key === "c" && card.record.status === "open" && !state.packages.has(card.id)) card.toggleContext();
  else if (event.key === "x" && state.packages.has(card.id)) card.showPackages();
  else return;
  event.preventDefault();
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
  for (const [id, what] of Object.entries(BUTTONS)) byId(id).addEventListener("click", what);
  byId("cards").addEventListener("focusin", (event) => {
    const card = cardAt(/** @type {Element} */ (event.target));
    if (card && card.id !== current && cards.get(card.id) === card) point(card);
  });
  byId("tree").addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const card = cardAt(document.querySelector(link?.getAttribute("href") ?? "#cards"));
    if (!card) return;
    event.preventDefault();
    byId("layout").classList.remove("with-tree");
    byId("files").setAttribute("aria-expanded", "false");
    show(card);
  });
  await busy(reload);
  const first = cards.get(conflicts().find((one) => one.status === "open")?.id ?? "");
  if (first) point(first);
  if (state.notices.length) notice(state.notices.join(" · "));
}

void begin();
