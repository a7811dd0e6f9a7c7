// @ts-check
/** The strategy as a map or a table, and how plays may end, drawn as SVG. */

import { el, shownNumber, svg } from "./dom.js";
import { scrolled } from "./story.js";

/** @import { Distribution, MapChart, TableChart } from "./types.js" */

const WIDTH = 320;
const HEIGHT = 240;
const LEFT = 40;
const BOTTOM = 36;

/** @param {MapChart | TableChart} chart */
export function drawChart(chart) {
  if (chart.kind === "map") return drawMap(chart);
  const rows = chart.rows.map((row, at) =>
    el(
      "tr",
      { class: at === chart.at ? "here" : "" },
      ...row.map((cell, column) =>
        el(
          "td",
          { class: typeof cell === "number" ? "number" : "" },
          typeof cell === "number" ? shownNumber(cell) : (cell ?? "–"),
          at === chart.at && column === 0 ? el("span", { class: "tag" }, "now") : null,
        ),
      ),
    ),
  );
  return el("figure", {}, el("figcaption", {}, chart.title), scrolled(chart.title, chart.columns, rows));
}

/** @param {MapChart} chart */
function drawMap({ title, x, y, cells, names, at }) {
  const [across, up] = [(WIDTH - LEFT) / x.values.length, (HEIGHT - BOTTOM) / y.values.length];
  const tops = cells.map((_, row) => HEIGHT - BOTTOM - (row + 1) * up);
  /** @type {SVGElement[]} */
  const drawn = [];
  cells.forEach((cellsOfRow, row) => {
    for (let from = 0, to = 1; from < cellsOfRow.length; from = to++) {
      while (to < cellsOfRow.length && cellsOfRow[to] === cellsOfRow[from]) to++;
      const choice = cellsOfRow[from];
      if (choice !== null) {
        drawn.push(
          svg("rect", {
            class: `area-${choice % 4}`,
            x: LEFT + from * across,
            y: tops[row],
            width: (to - from) * across + 0.2,
            height: up + 0.2,
          }),
        );
      }
    }
  });
  const here = at && names[cells[at[1]]?.[at[0]] ?? -1];
  const said = here ? `Here: ${x.label} ${x.values[at[0]]}, ${y.label} ${y.values[at[1]]}: ${here}.` : "";
  if (at)
    drawn.push(svg("circle", { class: "here", cx: LEFT + (at[0] + 0.5) * across, cy: tops[at[1]] + up / 2, r: 6 }));
  const legend = names.map((name, choice) => el("li", {}, swatch(choice % 4), name));
  return el(
    "figure",
    {},
    el("figcaption", {}, title),
    svg(
      "svg",
      { class: "chart", viewBox: `0 0 ${WIDTH + 8} ${HEIGHT}`, role: "img", "aria-label": `${title}. ${said}` },
      ...drawn,
      ...axes(x.label, x.values, y.label, y.values),
    ),
    el("ul", { class: "legend" }, ...legend),
    said && el("p", { class: "said" }, said),
  );
}

/**
 * Chances of the final score, in at most forty bars, and where the mean is.
 * @param {Distribution} distribution
 */
export function drawDistribution({ totals, chances, mean }) {
  const [low, high] = [Math.min(...totals), Math.max(...totals)];
  const bars = Math.max(1, Math.min(40, totals.length));
  const step = (high - low) / bars || 1;
  const heights = new Array(bars).fill(0);
  totals.forEach((total, i) => (heights[Math.min(bars - 1, Math.floor((total - low) / step))] += chances[i]));
  const most = Math.max(...heights);
  const wide = (WIDTH - LEFT) / bars;
  const level = HEIGHT - BOTTOM;
  const middle = LEFT + (high > low ? (mean - low) / (high - low) : 0.5) * (WIDTH - LEFT);
  const title = "The final score from here, by the best play";
  const said = `Mean ${shownNumber(mean)}; four in five plays end between ${shownNumber(quantile(totals, chances, 0.1))} and ${shownNumber(quantile(totals, chances, 0.9))}.`;
  return el(
    "figure",
    {},
    el("figcaption", {}, title),
    svg(
      "svg",
      { class: "chart", viewBox: `0 0 ${WIDTH + 8} ${HEIGHT}`, role: "img", "aria-label": `${title}. ${said}` },
      ...heights.map((height, i) =>
        svg("rect", {
          class: "area-0",
          x: LEFT + i * wide,
          y: level - (height / most) * (level - 8),
          width: Math.max(1, wide - 1),
          height: (height / most) * (level - 8),
        }),
      ),
      svg("line", { class: "mean", x1: middle, x2: middle, y1: 0, y2: level }),
      ...axes("final score", [low, high], "", [0, most]),
    ),
    el("p", { class: "said" }, said),
  );
}

/**
 * The least total that a play exceeds with at most this chance.
 * @param {number[]} totals
 * @param {number[]} chances
 * @param {number} share
 */
function quantile(totals, chances, share) {
  const order = [...totals.keys()].sort((a, b) => totals[a] - totals[b]);
  let sum = 0;
  return totals[order.find((i) => (sum += chances[i]) >= share) ?? order[order.length - 1]];
}

/**
 * Axes with the first, the middle and the last value.
 * @param {string} across
 * @param {number[]} xs
 * @param {string} up
 * @param {number[]} ys
 */
function axes(across, xs, up, ys) {
  const level = HEIGHT - BOTTOM;
  /** @param {number[]} values */
  const three = (values) => [
    values[0],
    values.length > 2 ? values[Math.floor(values.length / 2)] : null,
    values[values.length - 1],
  ];
  const [x, y] = [three(xs), three(ys)];
  const marks = ["start", "middle", "end"].map((anchor, i) =>
    svg(
      "text",
      { x: LEFT + (i * (WIDTH - LEFT)) / 2, y: level + 14, "text-anchor": anchor },
      x[i] === null ? "" : shownNumber(Number(x[i])),
    ),
  );
  const sides = up
    ? y.map((value, i) =>
        svg(
          "text",
          { x: LEFT - 5, y: level - (i * (level - 10)) / 2, "text-anchor": "end" },
          value === null ? "" : shownNumber(value),
        ),
      )
    : [];
  return [
    svg("path", { class: "axis", d: `M${LEFT} 0V${level}H${WIDTH}` }),
    ...marks,
    ...sides,
    svg("text", { x: LEFT + (WIDTH - LEFT) / 2, y: HEIGHT - 4, "text-anchor": "middle" }, across),
    svg("text", { x: 11, y: level / 2, "text-anchor": "middle", transform: `rotate(-90 11 ${level / 2})` }, up),
  ];
}

/** @param {number} choice */
function swatch(choice) {
  return svg(
    "svg",
    { class: "swatch", viewBox: "0 0 18 18", "aria-hidden": "true" },
    svg("rect", { class: `area-${choice}`, width: 18, height: 18 }),
  );
}
