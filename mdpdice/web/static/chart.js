// @ts-check
/** The strategy as a map or a table, and how plays may end, drawn as SVG. */

import { el, shownNumber, svg } from "./dom.js";
import { scrolled } from "./story.js";

/** @import { Distribution, MapChart, TableChart } from "./types.js" */

const [LEFT, RIGHT, LEVEL, HEIGHT] = [58, 338, 204, 240];
const [BARS, AREAS] = [40, 4];

/** @param {MapChart | TableChart} chart */
export function drawChart(chart) {
  if (chart.kind === "map") return drawMap(chart);
  const rows = chart.rows.map((row, at) => {
    const cells = row.map((cell) =>
      typeof cell === "number" ? el("td.number", shownNumber(cell)) : el("td", cell ?? "–"));
    if (at === chart.at) cells[0].append(el("span.tag", "now"));
    return el(at === chart.at ? "tr.here" : "tr", ...cells);
  });
  return el("figure", el("figcaption", chart.title), scrolled(chart.title, chart.columns, rows));
}

/** Areas differ in their patterns, so that they can be told apart without colours. @param {MapChart} chart */
function drawMap({ title, x, y, cells, names, at }) {
  const [wide, high] = [(RIGHT - LEFT) / x.values.length, LEVEL / y.values.length];
  const top = (/** @type {number} */ row) => LEVEL - (row + 1) * high;
  const used = [...new Set(cells.flat())].filter((choice) => choice !== null);
  const drawn = cells.flatMap((row, up) => {
    const ends = [...row.keys()].filter((one) => row[one] !== row[one + 1]); // of runs of one choice
    return ends.flatMap((end, i) => {
      const [choice, from] = [row[end], (ends[i - 1] ?? -1) + 1];
      const size = { x: LEFT + from * wide, y: top(up), width: (end + 1 - from) * wide + 0.2, height: high + 0.2 };
      return choice === null ? [] : [svg(`rect.area-${Math.min(used.indexOf(choice), AREAS - 1)}`, size)];
    });
  });
  const here = at && names[cells[at[1]]?.[at[0]] ?? -1];
  const said = at && here ? `Here: ${x.label} ${x.values[at[0]]}, ${y.label} ${y.values[at[1]]}: ${here}.` : "";
  if (at) drawn.push(svg("circle.here", { cx: LEFT + (at[0] + 0.5) * wide, cy: top(at[1]) + high / 2, r: 6 }));
  const legend = used.slice(0, AREAS).map((choice, area) => {
    const square = svg(`rect.area-${area}`, { width: 18, height: 18 });
    const name = area === AREAS - 1 && used.length > AREAS ? "another choice" : names[choice];
    return el("li", svg("svg.swatch", { viewBox: "0 0 18 18", "aria-hidden": "true" }, square), name);
  });
  const picture = drawSvg(`${title}. ${said}`, ...drawn, ...axes(x.label, x.values, y.label, y.values));
  return el("figure", el("figcaption", title), picture, el("ul.legend", ...legend), said && el("p.said", said));
}

/** Chances of the final score, in a few bars, and where the mean is. @param {Distribution} distribution */
export function drawDistribution({ totals, chances, mean, goals, plays, error }) {
  const [low, high] = [totals[0], totals[totals.length - 1]];
  const count = Math.max(1, Math.min(BARS, totals.length));
  const heights = new Array(count).fill(0);
  const across = (/** @type {number} */ total) => (high > low ? (total - low) / (high - low) : 0.5);
  totals.forEach((total, i) => (heights[Math.min(count - 1, Math.floor(across(total) * count))] += chances[i]));
  const wide = (RIGHT - LEFT) / count;
  const tall = (LEVEL - 8) / Math.max(...heights);
  const bars = heights.map((height, i) => svg("rect.area-0",
    { x: LEFT + i * wide, y: LEVEL - height * tall, width: Math.max(1, wide - 1), height: height * tall }));
  const middle = LEFT + across(mean) * (RIGHT - LEFT);
  const [few, many] = [0.1, 0.9].map((share) => {
    let sum = 0;
    return shownNumber(totals.find((_, i) => (sum += chances[i]) >= share) ?? high);
  });
  const title = "The final score from here, by the best play";
  const sure = plays ? `, with a standard error of ${shownNumber(error ?? 0)} (${shownNumber(plays)} drawn plays)` : "";
  const said = `Mean ${shownNumber(mean)}${sure}; four in five plays end between ${few} and ${many}.`;
  const met = Object.entries(goals ?? {}).map(([name, chance]) => el("li", `${name}: ${shownNumber(chance, true)}`));
  const line = svg("line.mean", { x1: middle, x2: middle, y1: 0, y2: LEVEL });
  const picture = drawSvg(`${title}. ${said}`, ...bars, line, ...axes("final score", [low, high], "", []));
  return el("figure", el("figcaption", title), picture, el("p.said", said), el("ul", ...met));
}

/** Axes with the first, the middle and the last value.
 * @param {string} across @param {number[]} xs @param {string} up @param {number[]} ys */
function axes(across, xs, up, ys) {
  const three = (/** @type {number[]} */ values) =>
    [values[0], values.length > 2 ? values[Math.floor(values.length / 2)] : undefined, values[values.length - 1]]
      .map((value) => (value === undefined ? "" : shownNumber(value)));
  const middle = (LEFT + RIGHT) / 2;
  /** @param {string} anchor @param {number} x @param {number} y @param {string} text @param {object} [more] */
  const write = (anchor, x, y, text, more) => svg("text", { "text-anchor": anchor, x, y, ...more }, text);
  return [
    svg("path.axis", { d: `M${LEFT} 0V${LEVEL}H${RIGHT}` }),
    ...three(xs).map((text, i) => write(["start", "middle", "end"][i], [LEFT, middle, RIGHT][i], LEVEL + 14, text)),
    ...three(ys).map((text, i) => write("end", LEFT - 5, LEVEL - (i * (LEVEL - 10)) / 2, text)),
    write("middle", middle, HEIGHT - 4, across),
    write("middle", 11, LEVEL / 2, up, { transform: `rotate(-90 11 ${LEVEL / 2})` }),
  ];
}

/** @param {string} text @param {...Node} inside */
const drawSvg = (text, ...inside) =>
  svg("svg.chart", { viewBox: `0 0 ${RIGHT + 8} ${HEIGHT}`, role: "img", "aria-label": text }, ...inside);
