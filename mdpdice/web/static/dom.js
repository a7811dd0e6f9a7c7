// @ts-check
/** Elements and numbers for people. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an element; a property `on...` is a listener, anything else an attribute (false and null leave it out).
 * @param {string} tag
 * @param {Record<string, unknown>} [properties]
 * @param {...(Node | string | number | null | undefined | false)} children
 * @returns {HTMLElement}
 */
export function el(tag, properties = {}, ...children) {
  return /** @type {HTMLElement} */ (filled(document.createElement(tag), properties, children));
}

/**
 * The same for SVG.
 * @param {string} tag
 * @param {Record<string, unknown>} [properties]
 * @param {...(Node | string | number)} children
 * @returns {SVGElement}
 */
export function svg(tag, properties = {}, ...children) {
  return /** @type {SVGElement} */ (filled(document.createElementNS(SVG, tag), properties, children));
}

/**
 * @param {Element} made
 * @param {Record<string, unknown>} properties
 * @param {(Node | string | number | null | undefined | false)[]} children
 */
function filled(made, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (name === "style") /** @type {HTMLElement} */ (made).style.cssText = String(value);
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (value !== false && value !== null && value !== undefined)
      made.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false)
      made.append(child instanceof Node ? child : String(child));
  }
  return made;
}

/**
 * The element of page.html with this id.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

/**
 * A number for people: four digits behind the point at most, and chances in per cent.
 * @param {number} value
 * @param {boolean} [chance]
 */
export function shownNumber(value, chance = false) {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "?";
  const digits = chance ? 2 : Math.abs(value) >= 1000 ? 1 : 3;
  const text = (chance ? 100 * value : value).toLocaleString("en", { maximumFractionDigits: digits });
  return (text === "-0" ? "0" : text.replace("-", "−")) + (chance ? " %" : "");
}

/**
 * What a choice loses, in words.
 * @param {number} loss
 * @param {boolean} chance
 */
export function shownLoss(loss, chance) {
  if (loss < 5e-7) return "nothing";
  const text = shownNumber(loss, chance);
  return /[1-9]/.test(text) ? text : chance ? "< 0.01 %" : "< 0.001";
}

/**
 * A count and its noun.
 * @param {number} count
 * @param {string} noun
 */
export function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
