// @ts-check
/** What best play comes to from here on: totals and their chances, of games for one player that are not large. */

import { CHANCE, DECIDE, END } from "./evaluate.js";

/** @typedef {import("./evaluate.js").Position} Position */
/** @typedef {Map<number, number>} Totals totals, and the chance of each */

const SMALL = 10_000; // kept values up to which all that may come is followed
const FIRST = 5_000_000; // steps that are gone at first, and then for all options of a decision; what is found is kept
const STEPS = 25_000;

export class Future {
  /** @param {import("./evaluate.js").Model} model @param {boolean} alone */
  constructor(model, alone) {
    this.model = model;
    this.small = alone && model.values.length <= SMALL;
    this.left = 0; // of the steps
    // Totals, then chances.  As many small objects they would keep the garbage collector busy during the play.
    this.known = /** @type {Map<number, Float64Array | null>} */ (new Map());
  }

  /** Follow the game from its start once; where that takes long, nothing is followed. */
  prepare() {
    this.left = FIRST;
    this.small &&= this.from(this.model.start()) !== null;
  }

  /** The totals behind some nodes; null where that would take long. @param {number[]} nodes @param {Position} at */
  behind(nodes, at) {
    this.left = STEPS;
    return (this.small ? nodes : []).map((node) => {
      const all = /** @type {Totals} */ (new Map());
      return this.add(all, node, at, 0, 1) ? all : null;
    });
  }

  /** Add the totals behind a node to others, with what was paid before and by their chance; false: that takes long.
   * @param {Totals} all @param {number} node @param {Position} at @param {number} paid @param {number} chance
   * @returns {boolean} */
  add(all, node, at, paid, chance) {
    if (--this.left < 0) return false;
    const { model } = this;
    const here = model.settled(node, at);
    const kind = model.kind[here];
    if (kind === DECIDE) return this.add(all, model.best(here, at).node, at, paid, chance);
    const total = paid + (kind === END ? model.number(model.numbers[0][here], at) : model.pays(here, at));
    if (kind === END) return Boolean(all.set(total, (all.get(total) ?? 0) + chance));
    if (kind === CHANCE) {
      const { chances } = model.throws[model.numbers[0][here]];
      return model.below(here).every((child, i) => this.add(all, child, at, total, chance * chances[i]));
    }
    const found = this.from(model.moved(here, at));
    const half = (found?.length ?? 0) / 2;
    for (let i = 0; found && i < half; i++) {
      all.set(total + found[i], (all.get(total + found[i]) ?? 0) + chance * found[half + i]);
    }
    this.left -= half;
    return found !== null;
  }

  /** The totals from a state on. @param {Position} at */
  from(at) {
    const key = at.state * this.model.points + at.index;
    const known = this.known.get(key);
    if (known !== undefined) return known;
    this.known.set(key, null); // a play that comes back here cycles, and is not followed
    const all = /** @type {Totals} */ (new Map());
    const whole = this.add(all, this.model.roots[at.state], at, 0, 1);
    const found = whole ? Float64Array.from([...all.keys(), ...all.values()]) : null;
    if (found || this.left >= 0) this.known.set(key, found);
    else this.known.delete(key);
    return found;
  }
}
