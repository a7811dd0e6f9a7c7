// @ts-check
/** Elements and numbers for people. */

/** @typedef {Node | string | number | null | undefined | false} Content */
/** Content, or properties: a listener `on...`, else an attribute. @typedef {Content | Record<string, unknown>} Given */

/** Make an element: `el("p.hint", { id: "why" }, "text")`. @param {string} kind @param {...Given} given */
export function el(kind, ...given) {
  return filled(document.createElement(kind.split(".")[0]), kind, given);
}

/** The same for SVG. @param {string} kind @param {...Given} given */
export function svg(kind, ...given) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", kind.split(".")[0]), kind, given);
}

/** @template {HTMLElement | SVGElement} T @param {T} made @param {string} kind @param {Given[]} given @returns {T} */
function filled(made, kind, given) {
  if (kind.includes(".")) made.setAttribute("class", kind.split(".").slice(1).join(" "));
  for (const one of given.filter((one) => one !== null && one !== undefined && one !== false)) {
    if (one instanceof Node || typeof one !== "object") made.append(one instanceof Node ? one : String(one));
    else for (const [name, value] of Object.entries(one)) {
      if (name === "style") made.style.cssText = String(value); // the server forbids the attribute
      else if (name.startsWith("on")) made.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
      else if (value !== false && value !== null && value !== undefined) {
        made.setAttribute(name, value === true ? "" : String(value));
      }
    }
  }
  return made;
}

/** A button; its key finds it again after everything was redrawn.
 * @param {string} kind @param {string} key @param {() => void} press @param {...Given} given */
export function button(kind, key, press, ...given) {
  return el(`button${kind}`, { type: "button", "data-key": key, onclick: press }, ...given);
}

/** The element of page.html with this id. @param {string} id */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

/** A number for people; chances in per cent. @param {number} value @param {boolean} [chance] @param {number} [fixed] */
export function shownNumber(value, chance = false, fixed = undefined) {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "?";
  const digits = fixed ?? (chance ? 2 : 3);
  const rounding = { minimumFractionDigits: fixed ?? 0, maximumFractionDigits: digits };
  const text = (chance ? 100 * value : value).toLocaleString("en", rounding);
  return text.replace(/^-(?=[0.]*$)/, "").replace("-", "−") + (chance ? " %" : "");
}

/** Losses below this are rounding. */
export const NOTHING = 5e-7;

/** What a choice loses, in words. @param {number} loss @param {boolean} chance */
export function shownLoss(loss, chance) {
  if (loss < NOTHING) return "nothing";
  const text = shownNumber(loss, chance);
  return /[1-9]/.test(text) ? text : chance ? "< 0.01 %" : "< 0.001";
}

/** Words as a title: `pig-race` is "Pig race". @param {string} words */
export const capital = (words) =>
  words.charAt(0).toUpperCase() + words.slice(1).replace(/(?<=[a-z])-(?=[a-z])/g, " ");

/** A count and its noun. @param {number} count @param {string} noun */
export const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
