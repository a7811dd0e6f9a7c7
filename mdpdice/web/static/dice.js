// @ts-check
/** The face of a die, with pips where it has up to six and text where it has not. */

import { svg } from "./dom.js";

const AT = { left: 27, middle: 50, right: 73 };
const CORNERS = [
  [AT.left, AT.left],
  [AT.right, AT.right],
  [AT.right, AT.left],
  [AT.left, AT.right],
];
const SIDES = [
  [AT.left, AT.middle],
  [AT.right, AT.middle],
];
const CENTRE = [[AT.middle, AT.middle]];
/** @type {Record<string, number[][]>} */
const PIPS = {
  1: CENTRE,
  2: CORNERS.slice(0, 2),
  3: [...CENTRE, ...CORNERS.slice(0, 2)],
  4: CORNERS,
  5: [...CENTRE, ...CORNERS],
  6: [...CORNERS, ...SIDES],
};

/**
 * A picture of a face; whoever holds it says its text.
 * @param {string | number} face
 */
export function pictureOfFace(face) {
  const text = String(face);
  const size = text.length > 5 ? 20 : text.length > 2 ? 28 : 46;
  const marks = PIPS[text]
    ? PIPS[text].map(([x, y]) => svg("circle", { class: "pip", cx: x, cy: y, r: 9.5 }))
    : [svg("text", { class: "numeral", x: 50, y: 52, "font-size": size }, text)];
  return svg(
    "svg",
    { class: "face", viewBox: "0 0 100 100", "aria-hidden": "true" },
    svg("rect", { class: "body", x: 3, y: 3, width: 94, height: 94, rx: 18 }),
    ...marks,
  );
}
