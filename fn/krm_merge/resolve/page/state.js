// What the server said last: records in their order, and what people read of them. Nothing is decided here.

/**
 * @typedef {{ apiVersion: string, kind: string, namespace: string, name: string }} Resource
 * @typedef {{ id: string, file: string, resource?: Resource, path: string, rule: string, nature: string,
 *   status: "open" | "settled" | "automatic", settledBy?: string, message: string, choices: string[], chosen?: string,
 *   fingerprint: string, redacted?: boolean, alike?: Record<string, string>, [side: string]: any }} Decision
 * @typedef {{ said: string, choices: Record<string, string> }} Words
 */

export const SIDES = ["original", "upstream", "local"];

export const state = {
  package: "",
  /** @type {Record<string, { ref: string, commit?: string }>} */
  sides: {},
  /** @type {Record<string, string>} */
  labels: {},
  /** @type {string[]} */
  notices: [],
  policyFile: "",
  revision: 0,
  open: 0,
  /** all conflicts, settled ones too */
  conflicts: 0,
  canUndo: false,
  canRedo: false,
  canSave: false,
  /** choices of an earlier session, where nothing was chosen in this one */
  earlier: "",
  /** @type {string[]} */
  order: [],
  /** @type {Map<string, Decision>} */
  records: new Map(),
  /** @type {Map<string, Words>} */
  words: new Map(),
  /** @type {Map<string, Record<string, string>>} */
  texts: new Map(),
  /** @type {Map<string, { count: number, first: string[] }>} where a record is about several packages, which */
  packages: new Map(),
  /** @type {import("./batch.js").Group[]} deletions that are alike */
  bundles: [],
  /** @type {Map<string, Set<string>>} */
  alike: new Map(),
};

/** @param {any} report */
export function load(report) {
  state.package = report.package;
  state.sides = report.sides;
  state.labels = report.labels;
  state.notices = report.notices;
  state.policyFile = report.policyFile;
  state.order = [];
  state.records = new Map();
  state.alike = new Map();
  state.bundles = report.bundles;
  update(report);
  // As the list of files has them.
  state.order.sort((a, b) => byFolder(record(a).file, record(b).file));
}

/**
 * Takes an answer in.
 * @param {any} answer
 * @param {string} [near] new records come behind this one
 */
export function update(answer, near) {
  const { revision, open, canUndo, canRedo, canSave, earlier } = answer;
  let at = near === undefined ? state.order.length : state.order.indexOf(near) + 1;
  Object.assign(state, { revision, open, canUndo, canRedo, canSave, earlier });
  for (const id of answer.removed ?? []) {
    if (state.order.indexOf(id) < at) at--;
    const gone = state.records.get(id);
    if (gone) state.alike.get(gone.fingerprint)?.delete(id);
    state.records.delete(id);
  }
  if (answer.removed?.length) state.order = state.order.filter((id) => state.records.has(id));
  for (const record of answer.records) {
    if (!state.records.has(record.id)) state.order.splice(at++, 0, record.id);
    state.records.set(record.id, record);
    state.words.set(record.id, answer.wordings[answer.words[record.id]]);
    state.texts.set(record.id, answer.texts[record.id] ?? {});
    const packages = answer.packages[record.id];
    if (packages) state.packages.set(record.id, packages);
    if (!record.choices.length) continue;
    const known = state.alike.get(record.fingerprint);
    if (known) known.add(record.id);
    else state.alike.set(record.fingerprint, new Set([record.id]));
  }
  state.conflicts = conflicts().length;
  for (const bundle of state.bundles) bundle.ids = bundle.ids.filter(isConflict);
  state.bundles = state.bundles.filter((bundle) => bundle.ids.length > 1);
}

/**
 * The order of files: those of one folder together, in their order, before the folders in it.
 * @param {string} a
 * @param {string} b
 */
function byFolder(a, b) {
  if (a === b) return 0;
  const [left, right] = [chain(a), chain(b)];
  const at = left.findIndex((one, index) => one !== right[index]);
  if (at < 0) return left.length - right.length;
  return right[at] === undefined ? 1 : (left[at] ?? "") < (right[at] ?? "") ? -1 : 1;
}

/**
 * The folders of a file, each with a slash behind it, the outermost first.
 * @param {string} file
 */
export function chain(file) {
  const parts = file.split("/").slice(0, -1);
  return parts.map((_, at) => `${parts.slice(0, at + 1).join("/")}/`);
}

/** @param {string} id */
function isConflict(id) {
  return (state.records.get(id)?.status ?? "automatic") !== "automatic";
}

/** @returns {Decision[]} */
export function conflicts() {
  return state.order.map(record).filter((one) => one.status !== "automatic");
}

/**
 * @param {string} id
 * @returns {Decision}
 */
export function record(id) {
  const found = state.records.get(id);
  if (!found) throw new Error(`there is no record ${id}`);
  return found;
}

/**
 * The ids of those that are the same conflict, itself among them.
 * @param {Decision} one
 * @returns {string[]}
 */
export function alike(one) {
  return [...(state.alike.get(one.fingerprint) ?? [])];
}

/**
 * @param {Decision} one
 * @returns {string}
 */
export function resourceOf(one) {
  const about = one.resource;
  return about ? `${about.kind} ${about.namespace ? `${about.namespace}/` : ""}${about.name}`.trim() : "";
}

/**
 * A side's value as people read it; null where it has nothing there.
 * @param {Decision} one
 * @param {string} side
 * @returns {string | null}
 */
export function textOf(one, side) {
  const written = state.texts.get(one.id)?.[side];
  if (written !== undefined) return written;
  return side in one ? String(one[side]) : null;
}
