// @ts-check
/** What best play comes to from here on: totals and their chances, of games for one player that are not large. */

import { CHANCE, DECIDE, END } from "./evaluate.js";

/** @typedef {import("./evaluate.js").Position} Position */
/** @typedef {Map<number, number>} Totals totals, and the chance of each */

const SMALL = 10_000; // kept values up to which all that may come is followed
const FIRST = 5_000_000; // steps that are gone at first, and then for one question; what was found is kept
const STEPS = 60_000;

export class Future {
  /** @param {import("./evaluate.js").Model} model @param {boolean} alone */
  constructor(model, alone) {
    this.model = model;
    this.small = alone && model.values.length <= SMALL;
    this.left = 0;
    this.known = /** @type {Map<number, Totals | null>} */ (new Map());
  }

  /** Follow the game from its start once; where that takes long, nothing is followed. */
  prepare() {
    this.left = FIRST;
    this.small &&= this.from(this.model.start()) !== null;
  }

  /** The totals behind a node; null where that would take long. @param {number} node @param {Position} at */
  behind(node, at) {
    this.left = STEPS;
    return this.small ? this.of(node, at) : null;
  }

  /** @param {number} node @param {Position} at @returns {Totals | null} */
  of(node, at) {
    if (--this.left < 0) return null;
    const { model } = this;
    const here = model.settled(node, at);
    const kind = model.kind[here];
    const [first, second, third] = model.numbers.map((column) => column[here]);
    if (kind === END) return new Map([[model.number(first, at), 1]]);
    if (kind === DECIDE) return this.of(model.best(here, at).node, at);
    const pays = model.number(kind === CHANCE ? second : third, at);
    const all = /** @type {Totals} */ (new Map());
    const chances = kind === CHANCE ? model.throws[first].chances : [1];
    for (const [i, chance] of chances.entries()) {
      const found = kind === CHANCE ? this.of(model.below(here)[i], at) : this.from(model.moved(here, at));
      if (!found) return null;
      this.left -= found.size;
      for (const [total, mass] of found) all.set(total + pays, (all.get(total + pays) ?? 0) + mass * chance);
    }
    return all;
  }

  /** The totals from a state on. @param {Position} at */
  from(at) {
    const key = at.state * this.model.points + at.index;
    const known = this.known.get(key);
    if (known !== undefined) return known;
    this.known.set(key, null); // a play that comes back here cycles, and is not followed
    const found = this.of(this.model.roots[at.state], at);
    if (found || this.left >= 0) this.known.set(key, found);
    else this.known.delete(key);
    return found;
  }
}
