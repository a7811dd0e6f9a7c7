// @ts-check
/** What happened, in words: the last moves, the log, the rounds, and what the decisions lost. */

import { counted, el, NOTHING, shownLoss, shownNumber } from "./dom.js";

/** @import { PlayEvent, Review, View } from "./types.js" */
/** @typedef {{seat: number | null, text: string, lost: boolean}} Line */

/** Names of the seats: whoever alone is of a kind needs no number. @param {View} view @returns {string[]} */
export function seatNames({ seats, names }) {
  const alone = (/** @type {string} */ seat) => seats.filter((other) => other === seat).length === 1;
  /** @type {Record<string, string>} */
  const known = { human: alone("human") ? "You" : "Player", optimal: "Best play", random: "Random play" };
  return seats.map((seat, at) => `${known[seat] ?? names?.[at] ?? seat}${alone(seat) ? "" : ` ${at + 1}`}`);
}

/** One line for every choice, with what it led to. @param {PlayEvent[]} events @returns {Line[]} */
function linesOf(events) {
  const lines = /** @type {Line[]} */ ([]);
  let follows = "";
  for (const { kind, seat, words, lost = false } of events) {
    const last = lines.at(-1);
    if (last && follows && (kind === "roll" || kind === "reward") && last.seat === seat) {
      last.text += `${follows === "choice" && kind === "roll" ? " →" : ","} ${words}`;
      last.lost ||= lost;
    } else lines.push({ seat, text: kind === "roll" ? `throw ${words}` : words, lost });
    follows = kind === "choice" || kind === "roll" ? kind : "";
  }
  return lines;
}

/** What happened since one looked last: a paragraph for every turn.
 * @param {PlayEvent[]} events @param {string[]} names */
export function drawNews(events, names) {
  const found = /** @type {HTMLElement[]} */ ([]);
  let before = /** @type {number | null | undefined} */ (undefined);
  for (const { seat, text, lost } of linesOf(events).slice(-8)) {
    if (seat !== before) found.push(el("p", seat !== null && names.length > 1 && el("b", `${names[seat]}: `)));
    found[found.length - 1].append(el(lost ? "span.lost" : "span", text.replace(/[.]?$/, ". ")));
    before = seat;
  }
  return found;
}

/** @param {View} view @param {string[]} names */
export function drawLog(view, names) {
  const lines = linesOf(view.events).reverse();
  if (!lines.length) return el("p.none", "Nothing yet.");
  const listed = lines.map(({ seat, text, lost }) =>
    el("li", seat !== null && names.length > 1 && el("b", `${names[seat]} `), el(lost ? "span.lost" : "span", text)));
  return el("ol.log", { tabindex: 0, "aria-label": "Everything so far, the last first" }, ...listed);
}

/** What every decision lost, and all of them. @param {Review} review @param {View} view @param {string[]} names */
export function drawReview(review, view, names) {
  const chance = view.total === 1;
  const people = [...view.seats.keys()].filter((seat) => view.seats[seat] === "human");
  const decisions = review.decisions.filter(({ seat }) => people.includes(seat));
  const wrong = decisions.filter(({ loss }) => loss >= NOTHING);
  const worst = Math.max(...wrong.map(({ loss }) => loss));
  const several = people.length > 1;
  const sums = people.map((seat) => {
    const [bad, all] = [wrong, decisions].map((some) => some.filter((one) => one.seat === seat).length);
    return el("p", `${several ? names[seat] : "You"} lost `, el("b", shownLoss(review.lost[seat] ?? 0, chance)),
      ` against the best play, in ${bad} of ${counted(all, "decision")}.`);
  });
  const rows = wrong.map(({ seat, words, best_words: best, loss }) =>
    el("tr", several && el("td", names[seat]), el("td", words), el("td", best), el("td.number", shownLoss(loss, chance),
      loss === worst && wrong.length > 1 && el("span.tag.risk", "most"))));
  const head = [...(several ? ["Who"] : []), "Done", "Better", "Lost"];
  const section = el("section", { "aria-label": "Review" }, el("h2", "What your decisions lost"), ...sums,
    rows.length > 0 && scrolled("Decisions that lost something", head, rows));
  return decisions.length > 0 && section;
}

/** The scores of all rounds, and their averages. @param {View} view @param {string[]} names */
export function drawRounds({ scores, rounds }, names) {
  if (!scores.length || (rounds < 2 && names.length < 2)) return null;
  const means = names.map((_, seat) => scores.reduce((sum, row) => sum + (row[seat] ?? 0), 0) / scores.length);
  const drawn = (/** @type {string | number} */ head, /** @type {number[]} */ row) =>
    el("tr", el("th", { scope: "row" }, head), ...row.map((one) => el("td.number", shownNumber(one))));
  const rows = scores.map((row, at) => drawn(at + 1, row));
  if (scores.length > 1) rows.push(drawn("average", means));
  return el("section", { "aria-label": "Rounds" }, el("h2", "Rounds"),
    scrolled("Scores of the rounds", ["Round", ...names], rows));
}

/** A table that may be wider than the page. @param {string} caption @param {string[]} head @param {Node[]} rows */
export function scrolled(caption, head, rows) {
  return el("div.scrolled", { tabindex: 0, role: "region", "aria-label": caption },
    el("table.listed", el("caption.hidden", caption),
      el("thead", el("tr", ...head.map((name) => el("th", { scope: "col" }, name)))), el("tbody", ...rows)));
}
