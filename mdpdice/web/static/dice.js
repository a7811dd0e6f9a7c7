// @ts-check
/** The face of a die, with pips where it has up to six and text where it has not. */

import { svg } from "./dom.js";

const CENTRE = [[50, 50]];
const CORNERS = [[27, 27], [73, 73], [73, 27], [27, 73]];
const SIDES = [[27, 50], [73, 50]];
const PIPS = [[], CENTRE, CORNERS.slice(0, 2), [...CENTRE, ...CORNERS.slice(0, 2)], CORNERS, [...CENTRE, ...CORNERS],
  [...CORNERS, ...SIDES]];

/** A picture of a face; whoever holds it says its text. @param {string | number} face */
export function pictureOfFace(face) {
  const text = String(face);
  const size = text.length > 5 ? 20 : text.length > 2 ? 28 : 46;
  const marks = /^[1-6]$/.test(text)
    ? PIPS[Number(text)].map(([x, y]) => svg("circle.pip", { cx: x, cy: y, r: 9.5 }))
    : [svg("text.numeral", { x: 50, y: 52, "font-size": size }, text)];
  const body = svg("rect.body", { x: 3, y: 3, width: 94, height: 94, rx: 18 });
  return svg("svg.face", { viewBox: "0 0 100 100", "aria-hidden": "true" }, body, ...marks);
}
