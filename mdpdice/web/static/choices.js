// @ts-check
/** What can be done now: the actions as buttons, with advice where it is wanted, and one's own dice to tap in. */

import { button, counted, el, NOTHING, shownLoss, shownNumber } from "./dom.js";
import { pictureOfFace } from "./dice.js";

/** @import { Advice, Face, View } from "./types.js" */
/** @import { Taps } from "./taps.js" */
/** Choices up to which all are listed; of more, those that are not tapped on the table, and the best. */
const [ALL, BEST] = [9, 5];

/** @param {View} view @param {Taps} taps @param {Advice[] | null} advice @param {(i: number) => void} choose */
export function drawChoices(view, taps, advice, choose) {
  const meant = taps.matches();
  const order = [...view.actions.keys()];
  if (advice) order.sort((a, b) => advice[a].loss - advice[b].loss || a - b);
  order.sort((a, b) => Number(meant.includes(b)) - Number(meant.includes(a)));
  const listed = order.filter((i, at) =>
    order.length <= ALL || meant.includes(i) || !view.actions[i].tap || (advice && at < BEST));
  const others = order.filter((i) => !listed.includes(i));
  const worst = advice ? Math.max(...advice.map(({ loss }) => loss)) : 0;
  const chance = view.total === 1;
  const usual = view.actions.some(({ tap }) => tap) ? "Tap on the table, or choose:" : "Choose:";
  const unfinished = taps.chosen.size ? "Not a choice yet: tap on." : usual;
  const hint = meant.length > 1 ? "Which of these?" : meant.length ? "Enter takes it:" : unfinished;

  /** @param {number} i */
  const drawn = (i) => {
    const { words, pays } = view.actions[i];
    const key = listed.indexOf(i) + 1;
    const extra = pays && !words.includes(`${pays}`) && ` ${pays > 0 ? "+" : ""}${shownNumber(pays)}`;
    const { value = 0, loss = 0, best = false, goals: chances = null } = advice?.[i] ?? {};
    const goals = Object.entries(chances ?? {}).map(([name, part]) => `${name}: ${shownNumber(part, true)}`);
    const worth = advice ? [
      el("span.worth", shownNumber(value, chance, chance ? 2 : 3)),
      el("span.loss", best ? "best" : loss < NOTHING ? "as good" : `loses ${shownLoss(loss, chance)}`),
      el("span.bar", { "aria-hidden": "true" }, el("i", { style: `width:${worst > 0 ? (100 * loss) / worst : 0}%` })),
    ] : [];
    const kind = `.choice${best ? ".best" : ""}${meant.includes(i) ? ".meant" : ""}`;
    return el("li", button(kind, `choice ${i}`, () => choose(i), key > 0 && { "data-number": key },
      key > 0 && key <= ALL && el("kbd", { "aria-hidden": "true" }, key),
      el("span.words", words, extra && el("span.pays", extra)),
      ...worth), goals.length > 0 && el("p.goals", goals.join(" · ")));
  };
  return el("div", el("p.hint", hint), el("ul.choices", ...listed.map(drawn)),
    others.length > 0 && el("details.others", el("summary", counted(others.length, "other choice")),
      el("ul.choices", ...others.map(drawn))));
}

/** Real dice thrown beside the screen: one tap for a throw, or a tap for every die.
 * @param {View} view @param {Face[]} tapped @param {(tapped: Face[]) => void} tap
 * @param {(outcome: number | Face[]) => void} roll */
export function drawOwnDice(view, tapped, tap, roll) {
  if (!view.dice) {
    const throws = (view.outcomes ?? []).map(({ words, chance, faces }, i) =>
      el("li", button(".choice.throw", `throw ${i}`, () => roll(i), { "data-number": i + 1 },
        faces && el("span.small-dice", { "aria-hidden": "true" }, ...faces.map(pictureOfFace)),
        el(faces ? "span.hidden" : "span.words", words), el("span.worth", chance))));
    return el("div", el("p.hint", "What did you throw?"), el("ul.choices.throws", ...throws));
  }
  const next = view.dice[tapped.length];
  const which = next && `${tapped.length + 1} of ${view.dice.length}${next.name ? `, ${next.name}` : ""}`;
  const thrown = view.dice.map(({ name }, at) => el("li",
    el(`span.place.die${at < tapped.length ? "" : ".unthrown"}`,
      { role: "img", "aria-label": tapped[at] ?? "not yet thrown" },
      pictureOfFace(tapped[at] ?? "?"), name && el("span.caption", name))));
  const faces = (next?.faces ?? []).map((face, at) =>
    el("li", button(".place.die.tappable", `face ${at}`, () => tap([...tapped, face]),
      { "aria-label": `threw ${face}`, "data-number": face }, pictureOfFace(face))));
  return el("div.own", el("p.hint", which ? `What did you throw? Die ${which}:` : "Is that your throw?"),
    el("ul.row", ...thrown), el("ul.row", ...faces), el("div.buttons",
      button(".plain", "back", () => tap(tapped.slice(0, -1)), { disabled: !tapped.length }, "Take the last back"),
      button(".main", "thrown", () => roll(tapped), { disabled: Boolean(next) }, "That is my throw")));
}
