// @ts-check
/** Everything that can lie on the table: one function for each kind of part. */

import { el, shownNumber } from "./dom.js";
import { pictureOfFace } from "./dice.js";

/** @import { Part } from "./types.js" */
/**
 * How a part may be tapped: the places that may be, those that are, and what to do.
 * @typedef {{allowed: Set<number>, chosen: Set<number>, tap: (place: number) => void, worth: (number | null)[] | null}} Tapping
 */

/** @type {Record<string, (part: Part, tapping: Tapping | null) => HTMLElement>} */
const KINDS = {
  dice(part, tapping) {
    const names = part.dice ?? [];
    const faces = part.faces ?? [];
    return row(
      "dice-row",
      faces.map((face, at) => {
        const held = part.held?.includes(at);
        const text = `${names[at] ? `${names[at]}: ` : ""}${face}${held ? ", set aside" : ""}`;
        const caption = el("span", { class: "caption" }, names[at] || (held ? "set aside" : face));
        return place(at, text, `die ${held ? "held" : ""}`, tapping, pictureOfFace(face), caption);
      }),
    );
  },

  tokens(part, tapping) {
    const items = part.items ?? [];
    if (!items.length) return el("p", { class: "none" }, "none");
    return row(
      "token-row",
      items.map((item, at) => {
        const there = !part.lit || part.lit.includes(at);
        const text = `${item}${there ? "" : ", not there"}`;
        return place(at, text, `token ${there ? "" : "missing"}`, there ? tapping : null, el("span", {}, item));
      }),
    );
  },

  grid(part, tapping) {
    const rows = part.rows ?? [];
    const columns = [...(rows[0] ?? []).keys()];
    const head =
      tapping &&
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ...columns.map((at) =>
            el("th", { scope: "col" }, place(at, `column ${at + 1}`, "column", tapping, el("span", {}, at + 1))),
          ),
        ),
      );
    const cells = rows.map((cellsOfRow) =>
      el(
        "tr",
        {},
        ...cellsOfRow.map((cell, at) =>
          el(
            "td",
            tapping?.allowed.has(at) ? { class: "open", onclick: () => tapping.tap(at) } : {},
            cell === "" ? el("span", { class: "empty" }, "–") : typeof cell === "number" && cell < 7 ? die(cell) : cell,
          ),
        ),
      ),
    );
    const foot = part.foot?.length
      ? el("tfoot", {}, el("tr", {}, ...part.foot.map((sum) => el("td", {}, shownNumber(sum)))))
      : null;
    return el(
      "table",
      { class: "grid" },
      el("caption", { class: "hidden" }, part.label || "board"),
      head,
      el("tbody", {}, ...cells),
      foot,
    );
  },

  score(part) {
    const { value = 0, goal, risk } = part;
    const share = goal ? Math.max(0, Math.min(100, (100 * value) / goal)) : 0;
    return el(
      "div",
      { class: "figure" },
      el("b", {}, shownNumber(value)),
      goal ? el("span", { class: "of" }, ` of ${shownNumber(goal)}`) : null,
      risk && value ? el("span", { class: "tag risk" }, "at risk") : null,
      goal ? el("div", { class: "way", "aria-hidden": "true" }, el("i", { style: `width:${share}%` })) : null,
    );
  },

  boxes(part, tapping) {
    const names = part.names ?? [];
    return row(
      "sheet",
      names.map((name, at) => {
        const used = part.used?.[at];
        const points = part.points?.[at];
        const worth = tapping?.worth?.[at];
        const state = used
          ? points === null || points === undefined
            ? "used"
            : shownNumber(points)
          : worth === null || worth === undefined
            ? "open"
            : `worth ${shownNumber(worth)}`;
        return place(
          at,
          `${name}: ${state}`,
          `box ${used ? "used" : ""}`,
          used ? null : tapping,
          el("span", { class: "name" }, name),
          el("span", { class: "state" }, state),
        );
      }),
    );
  },

  note(part) {
    return el("p", { class: "said" }, part.text);
  },
};

/**
 * A part with its label; a kind that nobody knows yet is shown as a note.
 * @param {Part} part
 * @param {Tapping | null} tapping
 */
export function drawPart(part, tapping) {
  const draw = KINDS[part.kind] ?? KINDS.note;
  const label = part.label || (part.kind === "score" ? "points" : "");
  return el(
    "div",
    { class: `part ${part.kind}`, role: "group", "aria-label": label || part.kind },
    label && el("p", { class: "label" }, label),
    draw(part, tapping),
  );
}

/** @param {string | number} face */
function die(face) {
  return el("span", { class: "small-die", role: "img", "aria-label": face }, pictureOfFace(face));
}

/**
 * @param {string} kind
 * @param {Node[]} things
 */
function row(kind, things) {
  return el("ul", { class: `row ${kind}` }, ...things.map((thing) => el("li", {}, thing)));
}

/**
 * A thing at a place: a button where it may be tapped, else a picture with a text.
 * @param {number} at
 * @param {string} text
 * @param {string} kind
 * @param {Tapping | null} tapping
 * @param {...Node} inside
 */
function place(at, text, kind, tapping, ...inside) {
  if (!tapping) return el("span", { class: `place ${kind}`, role: "img", "aria-label": text }, ...inside);
  const [open, chosen] = [tapping.allowed.has(at), tapping.chosen.has(at)];
  return el(
    "button",
    {
      type: "button",
      class: `place tappable ${kind}`,
      "aria-label": chosen ? `${text}, chosen` : text,
      "aria-pressed": chosen ? "true" : "false",
      "aria-disabled": open ? null : "true",
      "data-key": `place ${kind.split(" ")[0]} ${at}`,
      onclick: () => open && tapping.tap(at),
    },
    ...inside,
    chosen && el("span", { class: "mark", "aria-hidden": "true" }, "✓"),
  );
}
