// @ts-check
/** The form that begins a match: the game and its parameters, who plays, how many rounds, and whose dice. */

import { byId, el } from "./dom.js";

/** @import { GameSetup, Parameter, Setup, Start } from "./types.js" */

/** People are few on one screen; a solitaire game takes as many side by side. */
const SEATS = 4;
/** @type {Record<string, string>} */
const WHO = { human: "A person", optimal: "Best play", random: "Random play", lookahead: "Looking ahead" };

/**
 * @param {Setup} setup
 * @param {(start: Start) => void} start
 * @returns {HTMLElement}
 */
export function drawSetup(setup, start) {
  const games = setup.games;
  const which = /** @type {HTMLSelectElement} */ (
    el("select", { id: "which" }, ...games.map(({ name, title }) => el("option", { value: name }, title)))
  );
  const rest = el("div", { class: "rest" });
  const chosen = () => games.find(({ name }) => name === which.value) ?? games[0];
  const fill = () => rest.replaceChildren(...fieldsOf(chosen(), setup.dice ?? "drawn"));
  which.addEventListener("change", fill);
  fill();
  return el(
    "form",
    {
      class: "setup",
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        start(startOf(chosen()));
      },
    },
    games.length > 1 && field("Game", which),
    rest,
    el("button", { class: "main", id: "play" }, "Play"),
  );
}

/**
 * @param {GameSetup} game
 * @param {"drawn" | "mine"} dice
 */
function fieldsOf(game, dice) {
  const seats = el("div", { class: "seats", role: "group", "aria-label": "Who plays" });
  const add = () => seats.append(seatField(game, seats.children.length));
  add();
  if (game.players === 2) add();
  const more =
    game.players === 1 &&
    el(
      "button",
      {
        type: "button",
        class: "plain",
        onclick: () => {
          if (seats.children.length < SEATS) add();
          /** @type {HTMLButtonElement} */ (more).disabled = seats.children.length >= SEATS;
          seats.lastElementChild?.querySelector("select")?.focus();
        },
      },
      "Add somebody who plays the same game beside you",
    );
  return [
    game.description && el("p", { class: "description" }, game.description),
    game.parameters.length > 0 &&
      el(
        "details",
        { class: "parameters" },
        el("summary", {}, "Rules of this game"),
        ...game.parameters.map(parameterField),
      ),
    el("fieldset", {}, el("legend", {}, "Who plays"), seats, more),
    el(
      "fieldset",
      { class: "two" },
      el("legend", {}, "The match"),
      field("Rounds", el("input", { id: "rounds", type: "number", min: 1, max: 99, value: 1, required: true })),
      field(
        "Seed of the dice (empty: chance)",
        el("input", { id: "seed", type: "number", min: 0, max: 4294967295, placeholder: "any" }),
      ),
    ),
    game.own &&
      el(
        "fieldset",
        {},
        el("legend", {}, "The dice"),
        radio("drawn", "The page throws them", dice),
        radio("mine", "I throw real dice and tap them in", dice),
      ),
  ].filter((one) => one instanceof Node);
}

/**
 * @param {GameSetup} game
 * @param {number} at
 */
function seatField(game, at) {
  const id = `seat-${at}`;
  const own = "named";
  const select = /** @type {HTMLSelectElement} */ (
    el(
      "select",
      { id },
      ...game.seats.map((seat) => el("option", { value: seat }, WHO[seat] ?? seat)),
      game.free && el("option", { value: own }, "A rule by its name"),
    )
  );
  select.value = at === 0 || !game.seats.includes("optimal") ? "human" : "optimal";
  const named = el("input", {
    id: `${id}-${own}`,
    "aria-label": `Rule in seat ${at + 1}`,
    placeholder: "hold-at:20",
    hidden: true,
  });
  select.addEventListener("change", () => named.toggleAttribute("hidden", select.value !== own));
  const words = game.players === 2 ? ["First", "Second"][at] : `Player ${at + 1}`;
  return field(words, select, named);
}

/** @param {Parameter} parameter */
function parameterField({ name, kind, value, choices, help }) {
  const id = `parameter-${name}`;
  const shown = value === null || value === undefined ? "" : String(value);
  if (kind === "bool")
    return el(
      "label",
      { class: "check" },
      el("input", { id, type: "checkbox", checked: value === true, "data-kind": kind }),
      ` ${spoken(name)}`,
    );
  const input = choices?.length
    ? el(
        "select",
        { id, "data-kind": kind },
        ...choices.map((one) => el("option", { value: one, selected: one === shown }, one)),
      )
    : el("input", {
        id,
        type: kind === "int" || kind === "number" ? "number" : "text",
        step: kind === "number" ? "any" : null,
        value: shown,
        "data-kind": kind,
      });
  return field(spoken(name), input, help && el("small", {}, help));
}

/** @param {string} name */
function spoken(name) {
  return name.replaceAll("_", " ");
}

/**
 * @param {string} words
 * @param {HTMLElement} input
 * @param {...(HTMLElement | "" | null | undefined | false)} more
 */
function field(words, input, ...more) {
  return el("div", { class: "field" }, el("label", { for: input.id }, words), input, ...more);
}

/**
 * @param {"drawn" | "mine"} value
 * @param {string} words
 * @param {string} dice
 */
function radio(value, words, dice) {
  return el(
    "label",
    { class: "check" },
    el("input", { type: "radio", name: "dice", value, checked: value === dice }),
    ` ${words}`,
  );
}

/** @param {GameSetup} game */
function startOf(game) {
  const value = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (byId(id)).value;
  const seats = [...document.querySelectorAll(".seats select")].map(({ id }) =>
    value(id) === "named" ? value(`${id}-named`).trim() : value(id),
  );
  /** @type {Record<string, unknown>} */
  const parameters = {};
  for (const { name, kind, value: before } of game.parameters) {
    const input = /** @type {HTMLInputElement} */ (byId(`parameter-${name}`));
    const found =
      kind === "bool"
        ? input.checked
        : kind === "int" || kind === "number"
          ? input.value === ""
            ? null
            : Number(input.value)
          : input.value;
    if (found !== before && String(found) !== String(before ?? "")) parameters[name] = found;
  }
  const seed = value("seed");
  const mine =
    /** @type {HTMLInputElement | null} */ (document.querySelector("input[name=dice]:checked"))?.value === "mine";
  return /** @type {Start} */ ({
    game: game.name,
    parameters,
    seats,
    rounds: Number(value("rounds")),
    dice: mine ? "mine" : "drawn",
    seed: seed === "" ? null : Number(seed),
  });
}
