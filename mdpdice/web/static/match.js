// @ts-check
/** One play of a game, move by move: where it stands, what is to be done, what was said. */

import { CHANCE, DECIDE, END, GO, PASS } from "./evaluate.js";

/** @typedef {import("./evaluate.js").Model} Model */
/** @typedef {import("./evaluate.js").Position} Position */
/** @typedef {{throw: number, roll: number} | null} Seen the dice as they lie */
/** @typedef {{place: number, node: number, words: string, tap: import("./types.js").Tap | null, pays: number | null}} Action */

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

  /** One of some weights. @param {number[]} weights */
  among(weights) {
    let left = this.next() * weights.reduce((a, b) => a + b, 0);
    const found = weights.findIndex((weight) => (left -= weight) < 0);
    return found < 0 ? weights.length - 1 : found;
  }
}

/** The dice of a throw, and its rolls in the order of mdpdice.looks.Throw.rolls. */
export class Throws {
  /** @param {Model["throws"][number]} data */
  constructor(data) {
    this.data = data;
    this.dice = data.groups.flatMap(([faces, weights, name, count]) =>
      Array.from({ length: count }, () => ({ faces, weights, name })));
    /** @type {{places: number[], weight: number}[]} */
    this.rolls = data.of.length ? [{ places: [], weight: 1 }] : [];
    for (const [, weights, , count] of data.groups) {
      const group = grouped(weights, count);
      this.rolls = this.rolls.flatMap((before) => group.map((one) =>
        ({ places: [...before.places, ...one.places], weight: before.weight * one.weight })));
    }
    this.total = this.rolls.reduce((all, roll) => all + roll.weight, 0);
    this.number = new Map(this.rolls.map((roll, i) => [roll.places.join(), i]));
  }

  /** Faces of a roll. @param {number} roll */
  faces(roll) {
    return this.rolls[roll].places.map((place, die) => this.dice[die].faces[place]);
  }

  /** The dice in words. @param {number} roll */
  said(roll) {
    return this.faces(roll).map((face, die) => face + (this.dice[die].name && ` (${this.dice[die].name})`)).join(" ");
  }

  /** A roll by the faces of the dice in their order; -1 where there is none. @param {(string | number)[]} faces */
  find(faces) {
    const places = faces.map((face, die) => this.dice[die]?.faces.findIndex((one) => String(one) === String(face)));
    return this.number.get(this.sorted(places).join()) ?? -1;
  }

  /** @param {Chance32} chance */
  draw(chance) {
    return this.number.get(this.sorted(this.dice.map((die) => chance.among(die.weights))).join()) ?? 0;
  }

  /** @param {number[]} places */
  sorted(places) {
    let at = 0;
    return this.data.groups.flatMap(([, , , count]) => places.slice(at, (at += count)).sort((a, b) => a - b));
  }
}

/** All rolls of some dice of one kind, sorted, with their weights. @param {number[]} weights @param {number} count */
function grouped(weights, count) {
  /** @type {{places: number[], weight: number}[]} */
  const found = [];
  /** @param {number[]} places */
  const extend = (places) => {
    if (places.length === count) {
      let weight = 1;
      places.forEach((place, i) => {
        const alike = i - places.indexOf(place) + 1;
        weight = (weight * weights[place] * (i + 1)) / alike;
      });
      found.push({ places, weight });
      return;
    }
    for (let place = places.at(-1) ?? 0; place < weights.length; place++) {
      if (weights[place]) extend([...places, place]);
    }
  };
  extend([]);
  return found;
}

/** A number as people write it. @param {number} number @param {boolean} [signed] */
export function shown(number, signed) {
  return (signed && number >= 0 ? "+" : "") + String(Number(number.toPrecision(10)));
}

/** A play. What changes is in `now`, so that it can be kept and gone back to. */
export class Play {
  /** @param {Model} model @param {Throws[]} throws @param {number[]} seats who sits where: the seat of each player */
  constructor(model, throws, seats) {
    this.model = model;
    this.throws = throws;
    this.seats = seats;
    this.now = {
      at: model.start(),
      node: model.roots[0],
      side: 1,
      total: 0,
      seen: /** @type {Seen} */ (null),
      rolled: false,
      moved: false,
      over: /** @type {{payoff: number, words: string} | null} */ (null),
    };
    this.settle();
    this.collect();
  }

  settle() {
    this.now.node = this.model.settled(this.now.node, this.now.at);
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

  /** The player to move. */
  get player() {
    if (this.now.side < 0) return 1;
    return this.deciding && this.model.numbers[0][this.now.node] === 1 ? 1 : 0;
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
      return "e" in piece ? shown(this.model.number(piece.e, this.now.at)) : seen ? this.throws[seen.throw].said(seen.roll) : "";
    }).join("");
  }

  /** What is shown with the dice that lie there. @param {number} usual @param {number} variants @returns {number} */
  variant(usual, variants) {
    const { seen } = this.now;
    if (!seen) return usual;
    const { of } = this.model.throws[seen.throw];
    const [, , rolls] = this.model.data.variants[variants].find((/** @type {number[]} */ [to, outcome]) =>
      to === seen.throw && outcome === of[seen.roll]) ?? [0, 0, []];
    if (rolls.length < 2) return rolls[0] ?? usual;
    return rolls[of.slice(0, seen.roll).filter((outcome) => outcome === of[seen.roll]).length];
  }

  /** The parts on the table. @returns {import("./types.js").Part[]} */
  parts() {
    const { model, now } = this;
    const table = model.table(this.variant(model.shown[now.at.state], model.variants[now.at.state]));
    return [...table].map((at) => this.filled(model.data.parts[at])).filter((part) => part.when);
  }

  /** A part with its numbers. @param {any} data @returns {any} */
  filled(data) {
    const part = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, this.plain(value)]));
    if (data.kind === "note") part.text = this.spoken(data.text);
    if (data.of === "mover" || data.of === "other") part.of = data.of === "mover" ? this.player : 1 - this.player;
    part.seat = part.of === null ? null : this.seats[part.of];
    part.of = part.seat;
    const lie = data.kind === "dice" && !Array.isArray(data.faces);
    if (lie) {
      const { seen } = this.now;
      part.faces = seen ? this.throws[seen.throw].faces(seen.roll) : [];
      const names = seen ? this.throws[seen.throw].dice.map((die) => die.name) : [];
      part.dice = names.some(Boolean) ? names : [];
    }
    return part;
  }

  /** @param {any} value @returns {any} */
  plain(value) {
    if (Array.isArray(value)) return value.map((one) => this.plain(one));
    if (value === null || typeof value !== "object" || !("e" in value)) return value;
    return this.model.exprs[value.e](this.now.at.counters);
  }

  /** What can be done: place in the decision, node, words, tap, what it pays at once. @returns {Action[]} */
  actions() {
    const { model, now } = this;
    const menu = model.data.menus[this.variant(this.own(1), this.own(2))];
    return model.options(now.node, now.at).map(({ place, node }) => {
      const [text, tap] = model.data.acts[menu[place]];
      const words = this.spoken(text);
      const pays = this.pays(node);
      const said = words.split(" ").at(-1) === String(pays);
      return { place, node, words, tap: tap && { label: tap[0], places: tap[1] }, pays: pays && !said ? pays : null };
    });
  }

  /** What an edge pays at once. @param {number} node */
  pays(node) {
    const kind = this.model.kind[node];
    const column = kind === CHANCE ? 1 : kind === GO || kind === PASS ? 2 : -1;
    return column < 0 ? 0 : this.model.number(this.model.numbers[column][node], this.now.at);
  }

  /** Take an option. @param {number} node */
  take(node) {
    this.now.seen = null;
    this.now.moved = true;
    this.now.node = node;
    this.collect();
  }

  /** Throw: a roll, or an outcome where the dice are not known. @param {number} throwOf @param {number | null} roll @param {number} outcome */
  threw(throwOf, roll, outcome) {
    const { model, now } = this;
    const told = model.data.heard[this.own(2)][outcome];
    const node = model.settled(model.below(now.node)[outcome], now.at);
    const kind = model.kind[node];
    const nothing = kind === END && !this.minimising && model.number(model.numbers[0][node], now.at) === 0;
    const lost = kind === PASS || nothing;
    let text = told[lost ? 1 : 0];
    const seen = roll === null ? null : { throw: throwOf, roll };
    if (Array.isArray(text)) text = text[model.throws[throwOf].of.slice(0, roll ?? 0).filter((one) => one === outcome).length];
    const words = text < 0 ? "" : this.spoken(text, seen);
    now.seen = seen;
    now.rolled = true;
    now.node = node;
    this.collect();
    return { words, lost, faces: seen && this.throws[throwOf].faces(seen.roll) };
  }

  get minimising() {
    return this.model.minimises;
  }

  /** What a node that was come to pays. */
  collect() {
    this.now.total += this.now.side * this.pays(this.now.node);
  }

  /** Go on to where somebody decides, something is thrown, or it is over. */
  proceed() {
    const { model, now } = this;
    for (let moves = 0; moves < 10000; moves++) {
      this.settle();
      if (this.kind === END) {
        const payoff = model.number(this.own(0), now.at);
        now.over = { payoff, words: this.ended(payoff) };
        now.total += now.side * payoff;
        return;
      }
      if (this.kind !== GO && this.kind !== PASS) return;
      const to = model.moved(now.node, now.at);
      if (!to) throw new Error("this move is not there");
      if (this.kind === PASS) {
        now.total += now.side * model.data.total;
        now.side = -now.side;
        now.seen = null;
      }
      now.at = to;
      now.node = model.roots[to.state];
      this.settle();
      this.collect();
    }
    throw new Error("the play goes on without a decision");
  }

  /** How an end is told. @param {number} payoff */
  ended(payoff) {
    if (this.own(1) >= 0) return this.spoken(this.own(1));
    if (this.model.data.total === 1 && (payoff === 0 || payoff === 1)) return payoff ? "wins" : "loses";
    return this.seats.length > 1 && this.seats[0] !== this.seats[1] ? `the end pays ${shown(payoff)}` : "";
  }
}
