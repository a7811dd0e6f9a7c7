// @ts-check
/** Everything that can lie on the table: one function for each kind of part. */

import { button, el, shownNumber } from "./dom.js";
import { pictureOfFace } from "./dice.js";

/** @import { Part } from "./types.js" */
/** How a part may be tapped: the places that may be, those that are, and what to do.
 * @typedef {{allowed: Set<number>, chosen: Set<number>, tap: (place: number) => void}} Tapping */
/** What its places are worth. @typedef {(number | null)[] | null} Worth */

/** @type {Record<string, (part: Part, tapping: Tapping | null, worths: Worth) => HTMLElement>} */
const KINDS = {
  dice({ faces = [], dice: names = [], held = [] }, tapping) {
    return drawRow("dice-row", faces.map((face, at) => {
      const aside = held.includes(at);
      const text = `${names[at] ? `${names[at]}: ` : ""}${face}${aside ? ", set aside" : ""}`;
      const caption = el("span.caption", names[at] || (aside ? "set aside" : face));
      return drawPlace(at, text, aside ? ".die.held" : ".die", tapping, pictureOfFace(face), caption);
    }));
  },

  tokens({ items = [], lit }, tapping) {
    if (!items.length) return el("p.none", "none");
    return drawRow("token-row", items.map((item, at) => {
      if (!lit || lit.includes(at)) return drawPlace(at, String(item), ".token", tapping, el("span", item));
      return drawPlace(at, `${item}, not there`, ".token.missing", null, el("span", item));
    }));
  },

  grid({ rows = [], foot = [], label }, tapping) {
    const heads = [...(rows[0] ?? []).keys()].map((at) =>
      el("th", { scope: "col" }, drawPlace(at, `column ${at + 1}`, ".column", tapping, el("span", at + 1))));
    const cell = (/** @type {string | number} */ one, /** @type {number} */ at) => {
      const inside = one === "" ? el("span.empty", "–") : !/^[1-6]$/.test(String(one)) ? one
        : el("span.small-dice", { role: "img", "aria-label": one }, pictureOfFace(one));
      return el("td", tapping?.allowed.has(at) && { onclick: () => tapping.tap(at) }, inside);
    };
    return el("table.grid", el("caption.hidden", label || "board"), tapping && el("thead", el("tr", ...heads)),
      el("tbody", ...rows.map((row) => el("tr", ...row.map(cell)))),
      foot.length > 0 && el("tfoot", el("tr", ...foot.map((sum) => el("td", shownNumber(sum))))));
  },

  score({ value = 0, goal, risk }) {
    const share = goal ? Math.max(0, Math.min(100, (100 * value) / goal)) : 0;
    return el("div.figure", el("b", shownNumber(value)), goal && el("span.of", ` of ${shownNumber(goal)}`),
      risk && value !== 0 && el("span.tag.risk", "at risk"),
      goal && el("div.way", { "aria-hidden": "true" }, el("i", { style: `width:${share}%` })));
  },

  boxes({ names = [], used = [], points = [] }, tapping, worths) {
    return drawRow("sheet", names.map((name, at) => {
      const [brought, worth] = [points[at] ?? null, worths?.[at] ?? null];
      const open = worth === null ? "open" : `worth ${shownNumber(worth, false, 2)}`;
      const state = !used[at] ? open : brought === null ? "used" : shownNumber(brought);
      return drawPlace(at, `${name}: ${state}`, used[at] ? ".box.used" : ".box", used[at] ? null : tapping,
        el("span.name", name), el("span.state", state));
    }));
  },

  note({ text }) {
    return el("p.said", text);
  },
};

/** A part with its label; an unknown kind is shown as a note.
 * @param {Part} part @param {Tapping | null} [tapping] @param {Worth} [worths] */
export function drawPart(part, tapping = null, worths = null) {
  const brought = (part.points ?? []).filter((one) => one !== null);
  const sum = brought.length ? `: ${shownNumber(brought.reduce((a, b) => a + b, 0))} so far` : "";
  const label = (part.label || (part.kind === "score" ? "points" : "")) + sum;
  return el(`div.part.${part.kind}`, { role: "group", "aria-label": label || part.kind },
    label && el("p.label", label), (KINDS[part.kind] ?? KINDS.note)(part, tapping, worths));
}

/** @param {string} kind @param {Node[]} things */
const drawRow = (kind, things) => el(`ul.row.${kind}`, ...things.map((thing) => el("li", thing)));

/** A thing at a place: a button where it may be tapped, else a picture with a text.
 * @param {number} at @param {string} text @param {string} kind
 * @param {Tapping | null} tapping @param {...Node} inside */
function drawPlace(at, text, kind, tapping, ...inside) {
  if (!tapping) return el(`span.place${kind}`, { role: "img", "aria-label": text }, ...inside);
  const [open, chosen] = [tapping.allowed.has(at), tapping.chosen.has(at)];
  const said = { "aria-label": text, "aria-pressed": String(chosen), "aria-disabled": open ? null : "true" };
  return button(`.place.tappable${kind}`, `place${kind} ${at}`, () => open && tapping.tap(at), said, ...inside,
    chosen && el("span.mark", { "aria-hidden": "true" }, "✓"));
}
