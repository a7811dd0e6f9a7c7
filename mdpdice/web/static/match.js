// @ts-check
/** One play of a game, move by move: where it stands, what can be done, and the words for it. */

import { CHANCE, DECIDE, END, PASS } from "./evaluate.js";

/** @import { Model } from "./evaluate.js" */
/** @import { Part, Tap } from "./types.js" */
/** @typedef {{throw: number, roll: number} | null} Seen the dice as they lie */
/** @typedef {{place: number, node: number, words: string, tap: Tap | null, pays: number | null}} Action */

/** Random numbers from 0 to 1: mulberry32, whose state is one whole number. */
export class Chance32 {
  /** @param {number} state */
  constructor(state) {
    this.state = state >>> 0;
  }

  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A place, by weights. @param {number[]} weights */
  among(weights) {
    let left = this.next() * weights.reduce((a, b) => a + b, 0);
    return Math.max(0, weights.findIndex((weight) => (left -= weight) < 0));
  }
}

/** The dice of a throw, and its rolls in the order of mdpdice.looks.Throw.rolls. */
export class Throws {
  /** @param {Model["throws"][number]} data */
  constructor({ groups, of, weights }) {
    this.groups = groups;
    this.weights = weights; // of outcomes
    this.dice = groups.flatMap(([faces, weights, name, count]) => Array(count).fill({ faces, weights, name }));
    this.rolls = of.length ? [{ places: /** @type {number[]} */ ([]), weight: 1 }] : [];
    for (const [, weights, , count] of groups) {
      this.rolls = this.rolls.flatMap((before) => grouped(weights, count).map((one) =>
        ({ places: [...before.places, ...one.places], weight: before.weight * one.weight })));
    }
    this.number = new Map(this.rolls.map((roll, i) => [roll.places.join(), i]));
  }

  /** Faces of a roll. @param {number} roll @returns {(string | number)[]} */
  faces(roll) {
    return this.rolls[roll].places.map((place, die) => this.dice[die].faces[place]);
  }

  /** The dice in words. @param {number} roll */
  said(roll) {
    return this.faces(roll).map((face, die) => face + (this.dice[die].name && ` (${this.dice[die].name})`)).join(" ");
  }

  /** A roll by the faces of the dice in their order; -1: there is none. @param {(string | number)[]} faces */
  find(faces) {
    return this.at(faces.map((face, die) => this.dice[die]?.faces.map(String).indexOf(String(face))));
  }

  /** A roll, or an outcome where the dice are not known. @param {Chance32} chance */
  draw(chance) {
    if (!this.rolls.length) return chance.among(this.weights);
    return this.at(this.dice.map((die) => chance.among(die.weights)));
  }

  /** A roll by the places of its faces, dice of a group in any order. @param {number[]} places */
  at(places) {
    let first = 0;
    const sorted = this.groups.flatMap(([, , , count]) => places.slice(first, (first += count)).sort((a, b) => a - b));
    return this.number.get(sorted.join()) ?? -1;
  }
}

/** All rolls of some dice of one kind, sorted, with their weights. @param {number[]} weights @param {number} count */
function grouped(weights, count) {
  let found = [{ places: /** @type {number[]} */ ([]), weight: 1 }];
  for (let die = 1; die <= count; die++) {
    found = found.flatMap(({ places, weight }) => weights.flatMap((one, place) => {
      if (!one || place < (places.at(-1) ?? 0)) return [];
      const alike = places.filter((other) => other === place).length + 1;
      return [{ places: [...places, place], weight: (weight * one * die) / alike }];
    }));
  }
  return found;
}

/** A number as people write it. @param {number} number @param {boolean} [signed] */
export const shown = (number, signed) => `${signed && number >= 0 ? "+" : ""}${Number(number.toPrecision(10))}`;

/** A play. What changes is in `now`, so that it can be kept and gone back to. */
export class Play {
  /** @param {Model} model @param {Throws[]} throws @param {number[]} seats the seat of each player */
  constructor(model, throws, seats) {
    this.model = model;
    this.throws = throws;
    this.seats = seats;
    const over = /** @type {{payoff: number, words: string} | null} */ (null);
    this.now = { at: model.start(), node: 0, side: 1, total: 0, seen: /** @type {Seen} */ (null), moved: false, over };
    this.reach(model.roots[0]);
  }

  /** Come to a node, which may pay. @param {number} node */
  reach(node) {
    this.now.node = this.model.settled(node, this.now.at);
    this.now.total += this.now.side * this.model.pays(this.now.node, this.now.at);
  }

  get kind() {
    return this.model.kind[this.now.node];
  }

  get deciding() {
    return !this.now.over && this.kind === DECIDE;
  }

  get rolling() {
    return !this.now.over && this.kind === CHANCE;
  }

  get player() {
    return this.now.side < 0 || (this.deciding && this.own(0) === 1) ? 1 : 0;
  }

  get mover() {
    return this.seats[this.player];
  }

  /** @param {number} which a column of the node's numbers */
  own(which) {
    return this.model.numbers[which][this.now.node];
  }

  /** A text with its numbers and dice. @param {number} text @param {Seen} [seen] @returns {string} */
  spoken(text, seen = null) {
    return this.model.data.texts[text].map((/** @type {any} */ piece) => {
      if (typeof piece === "string") return piece;
      if ("e" in piece) return shown(this.model.number(piece.e, this.now.at));
      return seen ? this.throws[seen.throw].said(seen.roll) : "";
    }).join("");
  }

  /** What is said of a roll, from a list by the rolls of its outcome, or from one for all.
   * @param {number[]} each @param {Seen} seen */
  byRoll(each, seen) {
    if (each.length < 2 || !seen) return each[0];
    const { of } = this.model.throws[seen.throw];
    return each[of.slice(0, seen.roll).filter((outcome) => outcome === of[seen.roll]).length];
  }

  /** What is shown with the dice that lie there. @param {number} usual @param {number} variants @returns {number} */
  variant(usual, variants) {
    const { seen } = this.now;
    const found = seen && this.model.data.variants[variants].find((/** @type {number[]} */ [to, outcome]) =>
      to === seen.throw && outcome === this.model.throws[to].of[seen.roll]);
    return found ? this.byRoll(found[2], seen) : usual;
  }

  /** The parts on the table. @returns {Part[]} */
  parts() {
    const { shown: usual, variants, data, table } = this.model;
    const { state } = this.now.at;
    const parts = [...table(this.variant(usual[state], variants[state]))].map((at) => this.filled(data.parts[at]));
    return parts.filter((part) => part.when);
  }

  /** A part with its numbers. @param {any} data @returns {any} */
  filled(data) {
    const part = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, this.plain(value)]));
    const { seen } = this.now;
    if (data.kind === "note") part.text = this.spoken(data.text);
    const player = { mover: this.player, other: 1 - this.player }[/** @type {string} */ (data.of)] ?? data.of;
    if (player !== null) part.of = this.seats[player];
    if (data.kind === "dice" && !Array.isArray(data.faces)) {
      const dice = seen && this.throws[seen.throw];
      part.faces = dice ? dice.faces(seen.roll) : [];
      part.dice = dice?.dice.some((die) => die.name) ? dice.dice.map((die) => die.name) : [];
    }
    return { ...part, seat: part.of };
  }

  /** @param {any} value @returns {any} */
  plain(value) {
    if (Array.isArray(value)) return value.map((one) => this.plain(one));
    return value?.e >= 0 ? this.model.exprs[value.e](this.now.at.counters) : value;
  }

  /** Texts of the options of a decision, whether they are there or not, and what is tapped. @returns {any[]} */
  menu() {
    const { data } = this.model;
    return data.menus[this.variant(this.own(1), this.own(2))].map((/** @type {number} */ act) => data.acts[act]);
  }

  /** The same as names, up to the first number that depends on counters. @returns {string[]} */
  names() {
    const words = (/** @type {any} */ piece) => (typeof piece === "string" ? piece : "\n");
    const texts = this.menu().map(([text]) => this.model.data.texts[text].map(words).join(""));
    return texts.map((text) => text.split("\n")[0].replace(/[\s,;:]+$/, ""));
  }

  /** What can be done, with its words, and what it pays at once. @returns {Action[]} */
  actions() {
    const menu = this.menu();
    return this.model.options(this.now.node, this.now.at).map((option) => {
      const [text, tap] = menu[option.place];
      const [words, pays] = [this.spoken(text), this.model.pays(option.node, this.now.at)];
      const told = !pays || words.split(" ").at(-1) === String(pays);
      return { ...option, words, tap: tap && { label: tap[0], places: tap[1] }, pays: told ? null : pays };
    });
  }

  /** See a roll, or an outcome where the dice are not known. @param {number} roll */
  threw(roll) {
    const [{ model, now }, from] = [this, this.own(0)];
    const { of } = model.throws[from];
    const [seen, outcome] = of.length ? [{ throw: from, roll }, of[roll]] : [null, roll];
    const node = model.settled(model.below(now.node)[outcome], now.at);
    const nothing = model.kind[node] === END && !model.number(model.numbers[0][node], now.at);
    const lost = model.kind[node] === PASS || (nothing && model.data.sense === "max");
    const text = this.byRoll([model.data.heard[this.own(2)][outcome][lost ? 1 : 0]].flat(), seen);
    const words = text < 0 ? "" : this.spoken(text, seen);
    now.seen = seen;
    this.reach(node);
    return { words, lost, faces: seen && this.throws[from].faces(roll) };
  }

  /** Go on to the next decision or throw, or to the end. */
  proceed() {
    const { model, now } = this;
    for (let moves = 0; !now.over && this.kind !== DECIDE && this.kind !== CHANCE; moves++) {
      if (moves > 10_000) throw new Error("The play goes on without a decision.");
      if (this.kind === END) {
        const payoff = model.number(this.own(0), now.at);
        const result = model.data.total === 1 && (payoff === 0 || payoff === 1);
        const usual = model.data.two ? `the end pays ${shown(payoff)}` : "";
        const words = result ? (payoff ? "wins" : "loses") : usual;
        now.over = { payoff, words: this.own(1) >= 0 ? this.spoken(this.own(1)) : words };
        now.total += now.side * payoff;
        return;
      }
      if (this.kind === PASS) {
        now.total += now.side * model.data.total;
        Object.assign(now, { side: -now.side, seen: null });
      }
      Object.assign(now, { at: model.moved(now.node, now.at), moved: true });
      this.reach(model.roots[now.at.state]);
    }
  }
}
