// @ts-check
/** What happened, in words: the last moves, the log, and what the decisions lost. */

import { counted, el, shownLoss, shownNumber } from "./dom.js";

/** @import { PlayEvent, Review, View } from "./types.js" */
/** @typedef {{seat: number | null, text: string, lost: boolean}} Line */

/**
 * Names of the seats: who sits there alone needs no number.
 * @param {View} view
 * @returns {string[]}
 */
export function seatNames(view) {
  /** @type {Record<string, string>} */
  const known = {
    human: view.seats.filter((seat) => seat === "human").length > 1 ? "Player" : "You",
    optimal: "Best play",
    random: "Random",
  };
  return view.seats.map((seat, at) => {
    const name = view.names?.[at] ?? known[seat] ?? seat;
    const same = view.seats.filter((other) => other === seat).length > 1;
    return same ? `${name} ${at + 1}` : name;
  });
}

/**
 * One line for every choice, with what it led to.
 * @param {PlayEvent[]} events
 * @returns {Line[]}
 */
export function linesOf(events) {
  /** @type {Line[]} */
  const lines = [];
  let follows = false;
  for (const { kind, seat, words, lost = false } of events) {
    const last = lines.at(-1);
    if (last && follows && (kind === "roll" || kind === "reward") && last.seat === seat) {
      last.text += `${kind === "roll" && !last.text.includes(" → ") ? " →" : ","} ${words}`;
      last.lost ||= lost;
    } else lines.push({ seat, text: kind === "roll" ? `throw ${words}` : words, lost });
    follows = kind === "choice" || kind === "roll";
  }
  return lines;
}

/**
 * What happened since one looked last: a paragraph for every seat in a row.
 * @param {PlayEvent[]} events
 * @param {string[]} names
 */
export function drawNews(events, names) {
  const lines = linesOf(events).slice(-8);
  /** @type {HTMLElement[]} */
  const found = [];
  let seat = /** @type {number | null | undefined} */ (undefined);
  for (const line of lines) {
    const text = `${line.text}${/[.!?]$/.test(line.text) ? "" : "."} `;
    if (line.seat !== seat || !found.length) {
      found.push(el("p", {}, line.seat !== null && names.length > 1 ? el("b", {}, `${names[line.seat]}: `) : null));
    }
    found[found.length - 1].append(el("span", { class: line.lost ? "lost" : "" }, text));
    seat = line.seat;
  }
  return found;
}

/**
 * @param {View} view
 * @param {string[]} names
 */
export function drawLog(view, names) {
  const lines = linesOf(view.events).reverse();
  if (!lines.length) return el("p", { class: "none" }, "Nothing yet.");
  return el(
    "ol",
    {
      class: "log",
      reversed: true,
      start: lines.length,
      tabindex: 0,
      "aria-label": "Everything so far, the last first",
    },
    ...lines.map(({ seat, text, lost }) =>
      el(
        "li",
        {},
        seat !== null && names.length > 1 ? el("b", { class: `seat-${seat}` }, `${names[seat]} `) : null,
        el("span", { class: lost ? "lost" : "" }, text),
      ),
    ),
  );
}

/**
 * What every decision lost, and all of them.
 * @param {Review} review
 * @param {View} view
 * @param {string[]} names
 */
export function drawReview(review, view, names) {
  const chance = view.total === 1;
  const people = view.seats.flatMap((seat, at) => (seat === "human" ? [at] : []));
  const decisions = review.decisions.filter(({ seat }) => people.includes(seat));
  if (!decisions.length) return null;
  const worst = Math.max(...decisions.map(({ loss }) => loss));
  const several = people.length > 1;
  const sums = people.map((seat) => {
    const own = decisions.filter((one) => one.seat === seat);
    const wrong = own.filter(({ loss }) => loss >= 5e-7).length;
    return el(
      "p",
      { class: "sum" },
      several ? `${names[seat]} lost ` : "You lost ",
      el("b", {}, shownLoss(review.lost[seat] ?? 0, chance)),
      ` against the best play, in ${wrong} of ${counted(own.length, "decision")}.`,
    );
  });
  const rows = decisions
    .filter(({ loss }) => loss >= 5e-7)
    .map(({ seat, words, best_words: best, loss }) =>
      el(
        "tr",
        {},
        several && el("td", {}, names[seat]),
        el("td", {}, words),
        el("td", {}, best),
        el(
          "td",
          { class: "number" },
          shownLoss(loss, chance),
          loss === worst && rowsMany(decisions) ? el("span", { class: "tag risk" }, "most") : null,
        ),
      ),
    );
  const head = [...(several ? ["Who"] : []), "You did", "Better", "Lost"];
  return el(
    "section",
    { "aria-label": "Review" },
    el("h2", {}, "What your decisions lost"),
    ...sums,
    rows.length > 0 && scrolled("Decisions that lost something", head, rows),
  );
}

/** @param {{loss: number}[]} decisions */
function rowsMany(decisions) {
  return decisions.filter(({ loss }) => loss >= 5e-7).length > 1;
}

/**
 * The scores of all rounds, and their averages.
 * @param {View} view
 * @param {string[]} names
 */
export function drawRounds(view, names) {
  const { scores } = view;
  if (!scores.length || (view.rounds < 2 && names.length < 2)) return null;
  const means = names.map((_, seat) => scores.reduce((sum, row) => sum + (row[seat] ?? 0), 0) / scores.length);
  const rows = scores.map((row, at) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, at + 1),
      ...row.map((one) => el("td", { class: "number" }, shownNumber(one))),
    ),
  );
  if (scores.length > 1)
    rows.push(
      el(
        "tr",
        { class: "mean" },
        el("th", { scope: "row" }, "average"),
        ...means.map((one) => el("td", { class: "number" }, shownNumber(one))),
      ),
    );
  return el(
    "section",
    { "aria-label": "Rounds" },
    el("h2", {}, "Rounds"),
    scrolled("Scores of the rounds", ["Round", ...names], rows),
  );
}

/**
 * A table that may be wider than the page.
 * @param {string} caption
 * @param {string[]} head
 * @param {Node[]} rows
 */
export function scrolled(caption, head, rows) {
  return el(
    "div",
    { class: "scrolled", tabindex: 0, role: "region", "aria-label": caption },
    el(
      "table",
      { class: "listed" },
      el("caption", { class: "hidden" }, caption),
      el("thead", {}, el("tr", {}, ...head.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, ...rows),
    ),
  );
}
