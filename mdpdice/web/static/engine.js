// @ts-check
/** The engine of a page that is one file: plays, advises and reviews with the data in the page, and asks nobody. */

import { Model } from "./evaluate.js";
import { Future } from "./future.js";
import { Chance32, Play, Throws, shown } from "./match.js";

/** @typedef {import("./types.js").View} View */
/** @typedef {import("./types.js").Start} Start */
/** @typedef {import("./types.js").PlayEvent} PlayEvent */
/** @typedef {import("./types.js").Decision} Decision */
/** @typedef {import("./evaluate.js").Position} Position */

const LISTED = 36; // rolls that are offered one by one; more are tapped in die by die
const MAPPED = 40; // values of a counter on a map

/** @param {number} a @param {number} b @returns {number} */
const divisor = (a, b) => (b ? divisor(b, a % b) : a);

/** The engine of a page. @param {string} [text] the data; by default those in the page */
export async function open(text) {
  const data = text ?? document.getElementById("data")?.textContent ?? "";
  return new FileEngine(await Model.read(data));
}

export class FileEngine {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
    this.throws = model.throws.map((data) => new Throws(data));
    this.data = model.data;
    const rules = this.data.rules.map((/** @type {{name: string}} */ rule) => rule.name);
    this.rules = ["human", "optimal", "random", ...rules];
    this.turn = 0;
    /** @type {Start} */
    this.asked = { game: this.data.about.game, parameters: {}, seats: ["human"], rounds: 1, dice: "drawn", seed: 1 };
    this.chance = new Chance32(1);
    this.two = Boolean(this.data.two);
    this.future = new Future(this.model, !this.two);
    /** @type {Play[]} */
    this.plays = [];
    this.match = this.fresh();
    /** @type {string[]} */
    this.history = [];
  }

  fresh() {
    return {
      round: 0,
      current: 0,
      scores: /** @type {number[][]} */ ([]),
      events: /** @type {PlayEvent[]} */ ([]),
      lines: /** @type {string[]} */ ([]),
      decisions: /** @type {Decision[]} */ ([]),
      brought: /** @type {Record<string, Record<number, number>>[]} */ ([]),
    };
  }

  async setup() {
    const { about } = this.data;
    const parameters = Object.entries(about.parameters).map(([name, value]) => ({ name, value, kind: "text" }));
    const { title, description } = about;
    const players = this.two ? 2 : 1;
    const game = { name: about.game, title, description, players, own: true, seats: this.rules, free: false, parameters: [] };
    return { games: [game], fixed: parameters, dice: /** @type {"drawn"} */ ("drawn") };
  }

  async about() {
    return { ...this.data.about, dice: this.asked.dice };
  }

  /** Begin a match. @param {Partial<Start>} asked */
  async start(asked) {
    const seats = asked.seats?.length ? asked.seats : this.two ? ["human", "optimal"] : ["human"];
    const unknown = seats.find((seat) => !this.rules.includes(seat));
    if (unknown) throw new Error(`There is no seat ${unknown} in this page: it knows ${this.rules.join(", ")}.`);
    if (seats.length > 2) throw new Error("A match has one or two seats.");
    if (this.two && seats.length === 1) seats.push(seats[0]);
    const rounds = Number(asked.rounds ?? 1);
    if (!(Number.isInteger(rounds) && rounds > 0)) throw new Error("Play a whole number of rounds, at least one.");
    const seed = asked.seed ?? Math.floor(Math.random() * 1e6);
    const { game } = this.data.about;
    this.asked = { game, parameters: {}, seats, rounds, dice: asked.dice ?? "drawn", seed };
    this.chance = new Chance32(seed);
    this.match = this.fresh();
    this.history = [];
    this.deal();
    return this.onward();
  }

  /** Lay out the next round. */
  deal() {
    const { seats } = this.asked;
    const order = seats.map((_, seat) => seat);
    if (this.match.round % 2) order.reverse();
    const [{ model }, throws] = [this, this.throws];
    this.plays = this.two ? [new Play(model, throws, order)] : order.map((seat) => new Play(model, throws, [seat, seat]));
    Object.assign(this.match, { current: 0, events: [], brought: seats.map(() => ({})) });
    if (this.asked.rounds > 1) this.tell({ kind: "round", seat: null, words: `round ${this.match.round + 1}` });
  }

  get play() {
    return this.plays[this.match.current];
  }

  /** @param {PlayEvent} event */
  tell(event) {
    this.match.events.push(event);
    this.turn++;
    const { seats } = this.asked;
    const who = event.seat === null || seats.length === 1 ? "" : `${this.names()[event.seat]}: `;
    if (event.words) this.match.lines.push((event.kind === "choice" || event.kind === "end" ? who : event.seat === null ? "" : "  ") + event.words);
  }

  /** Who sits where, for people. */
  names() {
    const { seats } = this.asked;
    const plain = seats.map((seat) => ({ human: "you", optimal: "best play" })[seat] ?? seat);
    return plain[0] === plain[1] ? ["player 1", "player 2"] : plain;
  }

  /** Play on until somebody has to act. @returns {Promise<View>} */
  async onward() {
    for (;;) {
      const { play } = this;
      play.proceed();
      if (play.now.over) {
        if (!this.ended()) return this.view();
      } else if (play.rolling) {
        const throwOf = play.own(0);
        if (this.asked.dice === "mine" && this.data.throws[throwOf].weights.length > 1) return this.view();
        this.throwDice(null);
      } else {
        if (!this.two && this.plays.length > 1 && play.now.moved && this.begins(play)) {
          play.now.moved = false;
          if (this.pass()) continue;
        }
        const name = this.asked.seats[play.mover];
        if (name === "human") return this.view();
        this.take(this.decided(name));
      }
    }
  }

  /** Whether a turn begins: who plays alone is back at the start. @param {Play} play */
  begins(play) {
    return play.now.at.state === 0;
  }

  /** Let the next one play, who is not done yet; false: there is nobody. */
  pass() {
    const { length } = this.plays;
    for (let ahead = 1; ahead < length; ahead++) {
      const next = (this.match.current + ahead) % length;
      if (!this.plays[next].now.over) {
        this.match.current = next;
        return true;
      }
    }
    return false;
  }

  /** A play is over; false: the round is, too. */
  ended() {
    const { play } = this;
    const total = play.now.total;
    const alone = this.two ? "" : `total ${shown(total)}`;
    const words = [play.now.over?.words, alone].filter(Boolean).join(", ");
    if (this.match.events.at(-1)?.kind !== "end") this.tell({ kind: "end", seat: play.mover, words });
    if (this.pass()) return true;
    const scores = this.asked.seats.map(() => 0);
    for (const one of this.plays) {
      scores[one.seats[0]] = one.now.total;
      if (this.two) scores[one.seats[1]] = this.data.total - one.now.total;
    }
    if (this.match.scores.length <= this.match.round) this.match.scores.push(scores);
    return false;
  }

  /** The option that a seat takes. @param {string} name */
  decided(name) {
    const { model, play } = this;
    const options = model.options(play.now.node, play.now.at);
    if (name === "random") return options[Math.floor(this.chance.next() * options.length)];
    const rule = this.data.rules.find((/** @type {{name: string}} */ one) => one.name === name);
    if (rule) {
      const place = this.ruled(rule, play);
      return options.find((option) => option.place === place) ?? options[0];
    }
    const worth = this.worths(play);
    return options[worth.indexOf(Math.max(...worth))];
  }

  /** What a rule does: the place of an option. @param {{choices: any[]}} rule @param {Play} play @returns {number} */
  ruled(rule, play) {
    const choice = rule.choices[play.now.at.state];
    if (typeof choice === "number") return choice;
    if ("at" in choice) return choice.at[play.now.at.index];
    const holds = (/** @type {[number, number]} */ [cond]) => cond < 0 || play.model.exprs[cond](play.now.at.counters);
    return choice.find(holds)?.[1] ?? 0;
  }

  /** What every option is worth, with the sign that makes the largest the best. @param {Play} play */
  worths(play) {
    const { node, at } = play.now;
    const stamp = ++this.model.stamp;
    const sign = this.model.wantsLess(node) ? -1 : 1;
    return this.model.options(node, at).map((option) => sign * this.model.worth(option.node, at, stamp));
  }

  /** @param {{place: number, node: number}} option */
  take(option) {
    const { play } = this;
    const action = play.actions().find((one) => one.place === option.place);
    const words = action ? action.words + (action.pays ? ` (${shown(action.pays, true)})` : "") : "";
    if (action?.tap?.places.length === 1) {
      const { label, places } = action.tap;
      for (const place of places[0]) {
        const brought = (this.match.brought[play.mover][label] ??= {});
        brought[place] = play.pays(option.node);
      }
    }
    this.tell({ kind: "choice", seat: play.mover, words });
    play.take(option.node);
  }

  /** Throw the dice: draw, or take what was tapped in. @param {number | null} roll of the throw, or its outcome */
  throwDice(roll) {
    const { play } = this;
    const [throwOf, mover] = [play.own(0), play.mover];
    const dice = this.throws[throwOf];
    const { chances, of } = this.model.throws[throwOf];
    const listed = of.length > 0;
    const found = roll ?? (listed ? dice.draw(this.chance) : this.chance.among(chances));
    const { words, lost, faces } = play.threw(throwOf, listed ? found : null, listed ? of[found] : found);
    if (chances.length > 1) this.tell({ kind: "roll", seat: mover, words, lost, faces });
  }

  keep() {
    const plays = this.plays.map((play) => ({ seats: play.seats, now: play.now }));
    this.history.push(JSON.stringify({ plays, match: this.match, chance: this.chance.state }));
  }

  /** Choose an action. @param {number} i */
  async choose(i) {
    const { play } = this;
    if (!this.waits("human")) throw new Error("There is nothing to decide now.");
    const options = this.model.options(play.now.node, play.now.at);
    if (!options[i]) throw new Error("There is no such action here.");
    this.keep();
    const actions = play.actions();
    const advice = this.worths(play);
    const best = Math.max(...advice);
    const loss = close(best, advice[i]) ? 0 : best - advice[i];
    const best_words = actions[advice.indexOf(best)].words;
    this.match.decisions.push({ turn: this.turn, seat: play.mover, words: actions[i].words, best_words, loss });
    this.take(options[i]);
    return this.onward();
  }

  /** Tell what one's own dice show. @param {number | (string | number)[]} what the number of an outcome, or the faces */
  async roll(what) {
    const { play } = this;
    if (!this.waits("dice")) throw new Error("Nothing is to be rolled now.");
    const dice = this.throws[play.own(0)];
    const outcomes = dice.rolls.length || this.data.throws[play.own(0)].weights.length;
    const roll = Array.isArray(what) ? dice.find(what) : what;
    if (!(Number.isInteger(roll) && roll >= 0 && roll < outcomes)) throw new Error("These dice cannot show that.");
    this.keep();
    this.throwDice(roll);
    return this.onward();
  }

  /** Whether a person, or their dice, are waited for. @param {"human" | "dice"} whom */
  waits(whom) {
    const { play } = this;
    if (!play || play.now.over) return false;
    if (whom === "dice") return play.rolling && this.asked.dice === "mine";
    return play.deciding && this.asked.seats[play.mover] === "human";
  }

  async undo() {
    const before = this.history.pop();
    if (!before) throw new Error("There is nothing to take back.");
    const { plays, match, chance } = JSON.parse(before);
    this.match = match;
    this.chance.state = chance;
    this.plays = plays.map((/** @type {any} */ { seats, now }) => {
      const play = new Play(this.model, this.throws, seats);
      play.now = now;
      return play;
    });
    this.turn++;
    return this.view();
  }

  /** The next round. */
  async again() {
    if (!this.play?.now.over) throw new Error("This round is not over.");
    if (this.match.round + 1 >= this.asked.rounds) this.asked = { ...this.asked, rounds: this.match.round + 2 };
    this.match.round++;
    this.history = [];
    this.deal();
    return this.onward();
  }

  /** How it stands. @returns {Promise<View>} */
  async view() {
    const { about, sense } = this.data;
    const { match, play, asked } = this;
    const decides = this.waits("human");
    const actions = decides ? play.actions().map(({ words, tap, pays }) => ({ words, tap, pays })) : [];
    const parts = play.parts().map((part) => {
      const points = part.kind === "boxes" && match.brought[part.seat ?? play.mover][part.label];
      return points ? { ...part, points: part.names?.map((_, at) => points[at] ?? null) } : part;
    });
    const over = this.plays.every((one) => one.now.over);
    return {
      id: "file",
      turn: this.turn,
      game: about.game,
      title: about.title,
      ...{ parameters: about.parameters },
      sense,
      total: this.two || about.chance ? 1 : null,
      seats: asked.seats,
      names: this.names(),
      round: match.round + 1,
      rounds: asked.rounds,
      scores: match.scores,
      mover: over ? null : play.mover,
      may_undo: this.history.length > 0,
      parts,
      actions,
      ...this.mine(),
      events: match.events,
      over: over ? { payoff: play.now.total, words: match.events.at(-1)?.words ?? "" } : null,
    };
  }

  /** What one's own dice may show: outcomes, or dice where they are many. */
  mine() {
    const { play } = this;
    if (!this.waits("dice")) return { outcomes: null, dice: null };
    const throwOf = play.own(0);
    const dice = this.throws[throwOf];
    const { weights } = this.data.throws[throwOf];
    if (dice.rolls.length > LISTED) return { outcomes: null, dice: dice.dice.map(({ name, faces }) => ({ name, faces })) };
    const [total, of] = [dice.rolls.length ? dice.total : weights.reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b), dice.rolls];
    const outcomes = (of.length ? of.map((roll) => roll.weight) : weights).map((/** @type {number} */ weight, /** @type {number} */ i) => {
      const common = divisor(weight, total);
      const faces = of.length ? dice.faces(i) : null;
      const told = faces ? [] : this.data.heard[play.own(2)][i].filter((/** @type {number} */ text) => text >= 0);
      const words = faces ? dice.said(i) : told.length ? play.spoken(told[0]) : String(i + 1);
      return { words, chance: `${weight / common}/${total / common}`, faces };
    });
    return { outcomes, dice: null };
  }

  /** What every action is worth. */
  async advice() {
    const { play } = this;
    if (!play?.deciding) return [];
    const worths = this.worths(play);
    const best = Math.max(...worths);
    const sign = this.model.wantsLess(play.now.node) ? -1 : 1;
    return play.actions().map(({ words, node }, i) => ({
      i,
      words,
      value: sign * worths[i],
      loss: close(best, worths[i]) ? 0 : best - worths[i],
      best: close(best, worths[i]),
      goals: this.goals(node),
    }));
  }

  /** Chances of the goals behind an option. @param {number} node @returns {Record<string, number> | null} */
  goals(node) {
    const totals = this.data.goals.length ? this.future.behind(node, this.play.now.at) : null;
    if (!totals) return null;
    const so = this.play.now.total;
    const chance = (/** @type {[string, number | null, number | null]} */ [name, least, most]) => {
      let all = 0;
      for (const [total, mass] of totals) if (so + total >= (least ?? -Infinity) && so + total <= (most ?? Infinity)) all += mass;
      return [name, all];
    };
    return Object.fromEntries(this.data.goals.map(chance));
  }

  /** The totals that best play comes to from here. */
  async distribution() {
    const { play } = this;
    const found = play && !play.now.over ? this.future.behind(play.now.node, play.now.at) : null;
    if (!found) return null;
    const sorted = [...found].map(([total, mass]) => [total + play.now.total, mass]).sort((a, b) => a[0] - b[0]);
    const mean = sorted.reduce((all, [total, mass]) => all + total * mass, 0);
    return { totals: sorted.map(([total]) => total), chances: sorted.map(([, mass]) => mass), mean };
  }

  /** By how much the play is worth less if an open box were gone; of games that come back to their start every turn. */
  async boxes() {
    const { play, model } = this;
    const parts = play.parts().filter((part) => part.kind === "boxes");
    if (!parts.length || play.now.over) return null;
    const turn = (/** @type {number[]} */ counters) => model.kept.at(0, model.placed(0, counters).index, model.points);
    const usual = turn(play.now.at.counters);
    return Object.fromEntries(parts.map((part) => {
      const { used } = this.data.parts.find((/** @type {any} */ one) => one.kind === "boxes" && one.label === part.label);
      return [part.label, used.map((/** @type {any} */ condition) => {
        const tree = condition !== null && typeof condition === "object" ? this.data.exprs[condition.e] : [];
        if (!["has", "any"].includes(tree[0]) || tree[1][0] !== "counter" || play.plain(condition)) return null;
        const counters = play.now.at.counters.map((value, axis) => value + (axis === tree[1][1] ? tree[2] : 0));
        const less = usual - turn(counters);
        return Number.isNaN(less) ? null : less;
      })];
    }));
  }

  /** The strategy as tables, or as a map over two counters where somebody decides. */
  async chart() {
    const { play, data } = this;
    if (data.charts.length) return data.charts;
    if (!play?.deciding) return null;
    const { at, node } = play.now;
    const scores = this.model.table(this.model.shown[at.state]);
    const shownAxes = [...scores].map((part) => data.parts[part]).filter((part) => part.kind === "score" && part.value?.e >= 0)
      .map((part) => ({ label: part.label || (part.of === "mover" ? "mine" : "theirs"), tree: data.exprs[part.value.e] }))
      .filter(({ tree }) => tree[0] === "counter" && data.axes[tree[1]].size > 2);
    if (shownAxes.length < 2) return null;
    const [y, x] = [shownAxes[0], shownAxes[shownAxes.length - 1]].map(({ label, tree }) => {
      const axis = data.axes[tree[1]];
      const stride = Math.ceil(axis.size / MAPPED);
      const values = Array.from({ length: Math.ceil(axis.size / stride) }, (_, i) => axis.first + axis.step * stride * i);
      return { label, values, axis: tree[1] };
    });
    const names = play.actions().map(({ words }) => words.split(/[\s:]+\d/)[0]);
    const cells = y.values.map((down) => x.values.map((across) => {
      const counters = [...at.counters];
      [counters[y.axis], counters[x.axis]] = [down, across];
      return this.bestPlace(node, this.model.placed(at.state, counters));
    }));
    const near = (/** @type {{values: number[], axis: number}} */ { values, axis }) =>
      values.findLastIndex((value) => value <= at.counters[axis]);
    const title = `what is best here, by ${y.label} and ${x.label}`;
    return [{ kind: "map", title, names, cells, at: [near(x), near(y)], x: { label: x.label, values: x.values }, y: { label: y.label, values: y.values } }];
  }

  /** The place of the best option; null where play does not come. @param {number} node @param {Position} at */
  bestPlace(node, at) {
    try {
      const options = this.model.options(node, at);
      const worths = options.map((option) => this.model.worth(option.node, at) * (this.model.wantsLess(node) ? -1 : 1));
      const best = worths.every(Number.isFinite) ? worths.indexOf(Math.max(...worths)) : -1;
      return options[best]?.place ?? null;
    } catch {
      return null; // a counter leaves its range
    }
  }

  /** What people lost by their decisions. */
  async review() {
    const lost = this.asked.seats.map(() => 0);
    for (const { seat, loss } of this.match.decisions) lost[seat] += loss;
    return { decisions: this.match.decisions, lost };
  }

  /** What happened, in the form of `mdpdice play --record`. */
  async record() {
    const { about } = this.data;
    const head = ["# Written by a page of mdpdice, in the form of mdpdice play --record.", `game: ${about.game}`];
    for (const [name, value] of Object.entries(about.parameters)) head.push(`parameter: ${name}=${value}`);
    head.push(`seats: ${this.asked.seats.join(",")}`, `seed: ${this.asked.seed}`);
    if (this.asked.rounds > 1) head.push(`rounds: ${this.asked.rounds}`);
    return [...head, "", ...this.match.lines, ""].join("\n");
  }
}

/** Whether two values are the same but for rounding. @param {number} a @param {number} b */
function close(a, b) {
  return Math.abs(a - b) <= 2e-6 * Math.max(1, Math.abs(a));
}
