// @ts-check
/** What can be done now: the actions as buttons, with advice where it is wanted, and one's own dice to tap in. */

import { counted, el, shownLoss, shownNumber } from "./dom.js";
import { pictureOfFace } from "./dice.js";

/** @import { Advice, View } from "./types.js" */
/** @import { Taps } from "./taps.js" */

/** Choices up to which all are listed; of more, those that are not tapped on the table, and the best. */
const ALL = 9;
const BEST = 5;

/**
 * @param {View} view
 * @param {Taps} taps
 * @param {Advice[] | null} advice
 * @param {(i: number) => void} choose
 */
export function drawChoices(view, taps, advice, choose) {
  const meant = taps.matches();
  const order = [...view.actions.keys()];
  if (advice) order.sort((a, b) => advice[a].loss - advice[b].loss || a - b);
  order.sort((a, b) => Number(meant.includes(b)) - Number(meant.includes(a)));
  const kept = order.filter(
    (i, at) => order.length <= ALL || meant.includes(i) || !view.actions[i].tap || (advice && at < BEST),
  );
  const others = order.filter((i) => !kept.includes(i));
  const worst = advice ? Math.max(...advice.map(({ loss }) => loss)) : 0;
  const chance = view.total === 1;

  /** @param {number} i */
  const button = (i) => {
    const { words, pays } = view.actions[i];
    const known = advice?.[i];
    const key = kept.indexOf(i) + 1;
    const kind = `choice${known?.best ? " best" : ""}${meant.includes(i) ? " meant" : ""}`;
    return el(
      "li",
      {},
      el(
        "button",
        {
          type: "button",
          class: kind,
          "data-key": `choice ${i}`,
          "data-number": key || null,
          onclick: () => choose(i),
        },
        key > 0 && key <= ALL && el("kbd", { "aria-hidden": "true" }, key),
        el("span", { class: "words" }, words, pays ? el("span", { class: "pays" }, ` +${shownNumber(pays)}`) : null),
        known && el("span", { class: "worth" }, shownNumber(known.value, chance)),
        known &&
          el(
            "span",
            { class: "loss" },
            known.best ? "best" : known.loss < 5e-7 ? "as good" : `loses ${shownLoss(known.loss, chance)}`,
          ),
        known &&
          el(
            "span",
            { class: "bar", "aria-hidden": "true" },
            el("i", { style: `width:${worst > 0 ? (100 * known.loss) / worst : 0}%` }),
          ),
      ),
      known?.goals &&
        el(
          "p",
          { class: "goals" },
          Object.entries(known.goals)
            .map(([name, part]) => `${name}: ${shownNumber(part, true)}`)
            .join(" · "),
        ),
    );
  };
  const list = el("ul", { class: "choices" }, ...kept.map(button));
  const many = view.actions.some(({ tap }) => tap);
  const hint =
    meant.length > 1
      ? "What do you mean?"
      : meant.length
        ? "Enter takes the first."
        : taps.chosen.size
          ? "Not yet a choice: tap on."
          : many
            ? "Tap on the table, or choose:"
            : "Choose:";
  return el(
    "div",
    {},
    el("p", { class: "hint" }, hint),
    list,
    others.length > 0 &&
      el(
        "details",
        { class: "others" },
        el("summary", {}, counted(others.length, "other choice")),
        el("ul", { class: "choices" }, ...others.map(button)),
      ),
  );
}

/**
 * Real dice that somebody threw beside the screen: one tap for a throw, or a tap for every die.
 * @param {View} view
 * @param {(string | number)[]} tapped
 * @param {(tapped: (string | number)[]) => void} tap
 * @param {(outcome: number | (string | number)[]) => void} roll
 */
export function drawOwnDice(view, tapped, tap, roll) {
  const { outcomes, dice } = view;
  if (!dice) {
    const buttons = (outcomes ?? []).map((outcome, i) =>
      el(
        "li",
        {},
        el(
          "button",
          {
            type: "button",
            class: "choice throw",
            "data-key": `throw ${i}`,
            "data-number": i + 1,
            onclick: () => roll(i),
          },
          outcome.faces &&
            el("span", { class: "small-dice", "aria-hidden": "true" }, ...outcome.faces.map(pictureOfFace)),
          el("span", { class: outcome.faces ? "hidden" : "words" }, outcome.words),
          el("span", { class: "worth" }, outcome.chance),
        ),
      ),
    );
    return el(
      "div",
      {},
      el("p", { class: "hint" }, "What did you throw?"),
      el("ul", { class: "choices throws" }, ...buttons),
    );
  }
  const next = dice[tapped.length];
  const shown = dice.map(({ name }, at) =>
    el(
      "li",
      {},
      el(
        "span",
        {
          class: `place die ${at < tapped.length ? "" : "waiting"}`,
          role: "img",
          "aria-label": tapped[at] ?? "not yet thrown",
        },
        pictureOfFace(tapped[at] ?? "?"),
        name && el("span", { class: "caption" }, name),
      ),
    ),
  );
  const faces = next
    ? next.faces.map((face, at) =>
        el(
          "li",
          {},
          el(
            "button",
            {
              type: "button",
              class: "place die tappable",
              "aria-label": `threw ${face}`,
              "data-key": `face ${at}`,
              "data-face": face,
              onclick: () => tap([...tapped, face]),
            },
            pictureOfFace(face),
          ),
        ),
      )
    : [];
  return el(
    "div",
    { class: "own" },
    el(
      "p",
      { class: "hint" },
      next
        ? `What did you throw? Die ${tapped.length + 1} of ${dice.length}${next.name ? `, ${next.name}` : ""}:`
        : "Is that your throw?",
    ),
    el("ul", { class: "row dice-row" }, ...shown),
    el("ul", { class: "row dice-row" }, ...faces),
    el(
      "div",
      { class: "buttons" },
      el(
        "button",
        {
          type: "button",
          class: "plain",
          "data-key": "back",
          disabled: !tapped.length,
          onclick: () => tap(tapped.slice(0, -1)),
        },
        "Take the last back",
      ),
      el(
        "button",
        { type: "button", class: "main", "data-key": "thrown", disabled: Boolean(next), onclick: () => roll(tapped) },
        "That is my throw",
      ),
    ),
  );
}
