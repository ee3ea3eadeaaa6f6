// Asks the server. The token comes in the fragment of the address, which is never sent, and is kept for reloads.

const NAME = "krm-merge";

/**
 * What the server answers; an error of it has a status.
 */
export class Refused extends Error {
  /**
   * @param {number} status 0 where the server is gone
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

function token() {
  const given = location.hash.slice(1);
  if (/^[\w-]{40,}$/.test(given)) {
    sessionStorage.setItem(NAME, given);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(NAME) ?? "";
}

const bearer = token();

/**
 * @param {string} path
 * @param {object} [body] with it, it is a POST
 * @returns {Promise<any>}
 */
export async function ask(path, body) {
  /** @type {Record<string, string>} */
  const headers = { Authorization: `Bearer ${bearer}` };
  if (body) headers["Content-Type"] = "application/json";
  let answer, value;
  try {
    answer = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) });
    value = await answer.json();
  } catch {
    throw new Refused(0, "krm-merge has ended. Your choices are kept: run the same command again to continue.");
  }
  if (!answer.ok) throw new Refused(answer.status, String(value.error));
  return value;
}

/**
 * All that the page shows, of one revision.
 * @returns {Promise<any>}
 */
export async function askAll() {
  const [report, view] = await (first ?? reportAndView());
  first = null;
  return report.revision === view.revision ? { ...report, ...view } : askAll();
}

function reportAndView() {
  return Promise.all([ask("/api/report"), ask("/api/view")]);
}

// The page is ready sooner where this does not wait for the other modules.
/** @type {Promise<any[]> | null} */
let first = reportAndView();
first.catch(() => {});
