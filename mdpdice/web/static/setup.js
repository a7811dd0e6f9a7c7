// @ts-check
/** The form that begins a match: the game and its parameters, who plays, how many rounds, and whose dice. */

import { byId, button, capital, el } from "./dom.js";

/** @import { Content } from "./dom.js" */
/** @import { GameSetup, Parameter, Setup, Start } from "./types.js" */

const SEATS = 4; // at most this many play a solitaire game side by side
/** @type {Record<string, string>} */
const WHO = { human: "A person", optimal: "Best play", random: "Random play", lookahead: "Looking ahead" };
const NAMED = "named"; // the choice of a rule by its name

/** @param {Setup} setup @param {(start: Start) => void} start */
export function drawSetup({ games }, start) {
  const options = games.map(({ name, title }) => el("option", { value: name }, capital(title)));
  const which = el("select", { id: "which" }, ...options);
  const rest = el("div");
  const chosen = () => games[/** @type {HTMLSelectElement} */ (which).selectedIndex] ?? games[0];
  const fill = () => rest.replaceChildren(fieldsOf(chosen()));
  which.addEventListener("change", fill);
  fill();
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    start(startOf(chosen()));
  };
  return el("form.setup", { onsubmit: submit }, games.length > 1 && drawField("Game", which), rest,
    el("button.main", { id: "play" }, "Play"));
}

/** @param {GameSetup} game */
function fieldsOf(game) {
  const seats = el("div.seats", drawSeat(game, 0), game.players === 2 && drawSeat(game, 1));
  const more = button(".plain", "more", () => {
    seats.append(drawSeat(game, seats.children.length));
    more.toggleAttribute("disabled", seats.children.length >= SEATS);
    seats.lastElementChild?.querySelector("select")?.focus();
  }, "Add a player beside you, in the same game");
  const rounds = { id: "rounds", type: "number", min: 1, max: 99, value: 1, required: true };
  const seed = { id: "seed", type: "number", min: 0, max: 4294967295, placeholder: "any" };
  return el("div.rest",
    game.description && el("p.description", game.description),
    game.parameters.length > 0 &&
      el("details", el("summary", "Rules of this game"), el("div.two", ...game.parameters.map(drawParameter))),
    el("fieldset", el("legend", "Who plays"), seats, game.players === 1 && el("div.buttons", more)),
    el("fieldset.two", el("legend", "The match"), drawField("Rounds", el("input", rounds)),
      drawField("Seed of the dice", el("input", seed))),
    el("fieldset", el("legend", "The dice"), drawRadio("drawn", "The page throws them"),
      drawRadio("mine", "I throw real dice and tap them in")));
}

/** @param {GameSetup} game @param {number} at */
function drawSeat({ seats, free, players }, at) {
  const id = `seat-${at}`;
  const listed = seats.map((seat) => el("option", { value: seat }, WHO[seat] ?? seat));
  const select = /** @type {HTMLSelectElement} */ (el("select", { id }, ...listed,
    free && el("option", { value: NAMED }, "A rule by its name")));
  select.value = at === 0 || !seats.includes("optimal") ? "human" : "optimal";
  const label = `Rule of seat ${at + 1}`;
  const rule = el("input", { id: `${id}-${NAMED}`, "aria-label": label, placeholder: "hold-at:20", hidden: true });
  select.addEventListener("change", () => rule.toggleAttribute("hidden", select.value !== NAMED));
  return drawField(players === 2 ? ["First", "Second"][at] : `Player ${at + 1}`, select, rule);
}

/** @param {Parameter} parameter */
function drawParameter({ name, kind, value, choices, help }) {
  const id = `parameter-${name}`;
  const words = name.replaceAll("_", " ");
  if (kind === "bool") return el("label.check", el("input", { id, type: "checkbox", checked: value === true }), words);
  const number = kind === "int" || kind === "number";
  const input = choices?.length
    ? el("select", { id }, ...choices.map((one) => el("option", { value: one, selected: one === String(value) }, one)))
    : el("input", { id, type: number ? "number" : "text", step: kind === "number" ? "any" : null, value: value ?? "" });
  return drawField(words, input, help && el("small", help));
}

/** @param {string} words @param {HTMLElement} input @param {...Content} more */
const drawField = (words, input, ...more) => el("div.field", el("label", { for: input.id }, words), input, ...more);

/** @param {string} value @param {string} words */
const drawRadio = (value, words) =>
  el("label.check", el("input", { type: "radio", name: "dice", value, checked: value === "drawn" }), words);

/** What the form says. @param {GameSetup} game @returns {Start} */
function startOf(game) {
  const value = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (byId(id)).value.trim();
  const seat = (/** @type {Element} */ { id }) => (value(id) === NAMED ? value(`${id}-${NAMED}`) : value(id));
  const seats = [...document.querySelectorAll(".seats select")].map(seat);
  const mine = document.querySelector("input[name=dice][value=mine]:checked");
  /** @type {Record<string, unknown>} */
  const parameters = {};
  for (const { name, kind, value: before } of game.parameters) {
    const input = /** @type {HTMLInputElement} */ (byId(`parameter-${name}`));
    const numeral = (kind === "int" || kind === "number") && input.value !== "";
    const found = kind === "bool" ? input.checked : numeral ? Number(input.value) : input.value || null;
    if (String(found ?? "") !== String(before ?? "")) parameters[name] = found;
  }
  const seed = value("seed") === "" ? null : Number(value("seed"));
  return { game: game.name, parameters, seats, rounds: Number(value("rounds")), dice: mine ? "mine" : "drawn", seed };
}
