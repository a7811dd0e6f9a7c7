// @ts-check
/** The face of a die, with pips where it has up to six and text where it has not. */

import { svg } from "./dom.js";

const CENTRE = [[50, 50]];
const CORNERS = [[27, 27], [73, 73], [73, 27], [27, 73]];
const SIDES = [[27, 50], [73, 50]];
/** @type {Record<string, number[][]>} */
const PIPS = {
  1: CENTRE,
  2: CORNERS.slice(0, 2),
  3: [...CENTRE, ...CORNERS.slice(0, 2)],
  4: CORNERS,
  5: [...CENTRE, ...CORNERS],
  6: [...CORNERS, ...SIDES],
};

/** A picture of a face; whoever holds it says its text. @param {string | number} face */
export function pictureOfFace(face) {
  const text = String(face);
  const size = text.length > 5 ? 20 : text.length > 2 ? 28 : 46;
  const marks = PIPS[text]
    ? PIPS[text].map(([x, y]) => svg("circle.pip", { cx: x, cy: y, r: 9.5 }))
    : [svg("text.numeral", { x: 50, y: 52, "font-size": size }, text)];
  const body = svg("rect.body", { x: 3, y: 3, width: 94, height: 94, rx: 18 });
  return svg("svg.face", { viewBox: "0 0 100 100", "aria-hidden": "true" }, body, ...marks);
}
