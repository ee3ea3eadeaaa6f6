// Makes elements. Content is text and never markup: it comes from packages.

/**
 * @typedef {string | Node | null | undefined | false} Content
 */

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, string | boolean | number | null>} [attributes] one that is false or null is left out
 * @param {...Content} content
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function make(name, attributes = {}, ...content) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== false && value !== null) element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...shown(content));
  return element;
}

/**
 * @param {Content[]} content
 * @returns {(string | Node)[]}
 */
function shown(content) {
  return content.flatMap((one) => (one ? [one] : []));
}

/**
 * A number as people read it: 3,000. The browser's own formatter takes 20 ms to begin, while somebody types.
 * @param {number} count
 */
export function grouped(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/**
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no ${id}`);
  return found;
}

/**
 * @param {string} label
 * @param {string} key the key that does the same, "" where there is none
 * @param {Record<string, string | boolean | null>} attributes
 * @returns {HTMLButtonElement}
 */
export function button(label, key, attributes) {
  const keyed = key ? make("kbd", { "aria-hidden": "true" }, key) : null;
  return make("button", { type: "button", "aria-keyshortcuts": key || null, ...attributes }, label, keyed);
}

/**
 * A text that is cut in the middle where it is too long: its end says most. All of it is shown where it has the focus.
 * @param {string} text
 */
export function middle(text) {
  const at = text.length > 24 ? text.length - 16 : text.length;
  return make("span", { class: "middle", title: text }, make("span", {}, text.slice(0, at)), make("span", {}, text.slice(at)));
}
