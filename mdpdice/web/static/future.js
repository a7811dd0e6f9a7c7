// @ts-check
/** What best play comes to from here on: totals and their chances, of games for one player that are not large. */

import { CHANCE, DECIDE, END } from "./evaluate.js";

/** @typedef {import("./evaluate.js").Position} Position */
/** @typedef {Map<number, number>} Totals totals, and the chance of each */

const SMALL = 10_000; // kept values up to which all that may come is followed
const STEPS = 60_000; // nodes that are followed for one question; what was found is kept for the next one

export class Future {
  /** @param {import("./evaluate.js").Model} model @param {boolean} alone */
  constructor(model, alone) {
    this.model = model;
    this.small = alone && model.kept.values.length <= SMALL;
    this.left = 0;
    /** @type {Map<number, Totals | null>} */
    this.known = new Map();
  }

  /** The totals behind a node; null where that would take long. @param {number} node @param {Position} at */
  behind(node, at) {
    this.left = STEPS;
    return this.small ? this.of(node, at) : null;
  }

  /** @param {number} node @param {Position} at @returns {Totals | null} */
  of(node, at) {
    if (this.left-- < 0) return null;
    const { model } = this;
    const here = model.settled(node, at);
    const [first, second, third] = model.numbers.map((column) => column[here]);
    const kind = model.kind[here];
    if (kind === END) return new Map([[model.number(first, at), 1]]);
    if (kind === DECIDE) return this.of(this.best(here, at), at);
    if (kind !== CHANCE) {
      const to = model.moved(here, at);
      const found = to && this.from(to);
      const pays = model.number(third, at);
      return found && pays ? new Map([...found].map(([total, mass]) => [total + pays, mass])) : found;
    }
    const [all, pays] = [/** @type {Totals} */ (new Map()), model.number(second, at)];
    for (const [i, child] of model.below(here).entries()) {
      const found = this.of(child, at);
      if (!found) return null;
      const chance = model.throws[first].chances[i];
      for (const [total, mass] of found) all.set(total + pays, (all.get(total + pays) ?? 0) + mass * chance);
    }
    return all;
  }

  /** The totals from a state on. @param {Position} at */
  from(at) {
    const key = at.state * this.model.points + at.index;
    const known = this.known.get(key);
    if (known !== undefined) return known;
    this.known.set(key, null); // who comes back here goes round, and that is not followed
    const found = this.of(this.model.roots[at.state], at);
    if (found || this.left >= 0) this.known.set(key, found);
    else this.known.delete(key);
    return found;
  }

  /** The best option of a decision. @param {number} node @param {Position} at */
  best(node, at) {
    const sign = this.model.wantsLess(node) ? -1 : 1;
    const stamp = ++this.model.stamp;
    let [best, found] = [-Infinity, node];
    for (const option of this.model.options(node, at)) {
      const worth = sign * this.model.worth(option.node, at, stamp);
      if (worth > best) [best, found] = [worth, option.node];
    }
    return found;
  }
}
