// @ts-check
/** The engine of a page that is one file: plays, advises and reviews with the data in the page, without a server. */

import { Model } from "./evaluate.js";
import { Future } from "./future.js";
import { Chance32, Play, Throws, shown } from "./match.js";

/** @import { Advice, Decision, Engine, PlayEvent, Start, View } from "./types.js" */

const LISTED = 36; // rolls that are offered one by one; more are tapped in die by die
const [MOST_SEATS, MOST_ROUNDS, MAPPED] = [4, 100, 40]; // the last: values of a counter on a map

/** @param {number} a @param {number} b @returns {number} */
const divisor = (a, b) => (b ? divisor(b, a % b) : a);

/** The engine of a page. @param {string} [text] the data; by default those in the page */
export async function open(text) {
  return new FileEngine(await Model.read(text ?? document.getElementById("data")?.textContent ?? ""));
}

/** A match in this page. @implements {Engine} */
class FileEngine {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
    this.data = model.data;
    this.throws = model.throws.map((data) => new Throws(data));
    this.seated = /** @type {{name: string, choices: any[]}[]} */ (this.data.rules);
    this.rules = ["human", "optimal", "random", ...this.seated.map(({ name }) => name)];
    this.two = Boolean(this.data.two);
    this.future = new Future(model, !this.two);
    this.turn = 0;
    this.advised = { turn: -1, rows: /** @type {Advice[]} */ ([]) };
    this.chance = new Chance32(1);
    /** @type {Start} */
    this.asked = { game: this.data.about.game, parameters: {}, seats: ["human"], rounds: 1, dice: "drawn", seed: 1 };
    this.plays = /** @type {Play[]} */ ([]);
    this.match = this.fresh();
    this.history = /** @type {string[]} */ ([]);
  }

  fresh() {
    return {
      round: 0,
      current: 0,
      scores: /** @type {number[][]} */ ([]),
      events: /** @type {PlayEvent[]} */ ([]),
      lines: /** @type {string[]} */ ([]),
      open: false, // whether the last line may go on
      moves: /** @type {(number | (string | number)[])[]} */ ([]), // places of actions, faces, or numbers of outcomes
      decisions: /** @type {Decision[]} */ ([]),
      brought: /** @type {Record<string, Record<number, number>>[]} */ ([]),
    };
  }

  async setup() {
    const { game: name, title, description } = this.data.about;
    return { games: [{ name, title, description, players: this.two ? 2 : 1, seats: this.rules, parameters: [] }] };
  }

  async about() {
    return { ...this.data.about, dice: this.asked.dice };
  }

  /** Begin a match. @param {Partial<Start>} asked @returns {Promise<View>} */
  async start(asked) {
    const seats = [...(asked.seats ?? ["human"])];
    if (this.two && seats.length === 1) seats.push(seats[0]);
    const [rounds, most] = [asked.rounds ?? 1, this.two ? 2 : MOST_SEATS];
    if (!seats.length || seats.length > most) throw new Error(`Up to ${most} play this game.`);
    if (!seats.every((name) => this.rules.includes(name))) throw new Error("This page does not know who that is.");
    const many = Number.isInteger(rounds) && rounds > 0 && rounds <= MOST_ROUNDS;
    if (!many) throw new Error(`Rounds: 1 to ${MOST_ROUNDS}.`);
    const seed = asked.seed ?? Math.floor(Math.random() * 1e6);
    this.asked = { ...this.asked, ...asked, seats, seed };
    this.chance = new Chance32(seed);
    this.match = this.fresh();
    this.turn++;
    this.future.prepare();
    return this.deal();
  }

  /** Lay out a round. */
  deal() {
    const { seats, rounds } = this.asked;
    const order = seats.map((_, seat) => (this.match.round % 2 ? seats.length - 1 - seat : seat));
    const tables = this.two ? [order] : order.map((seat) => [seat, seat]);
    this.plays = tables.map((table) => new Play(this.model, this.throws, table));
    this.history = [];
    Object.assign(this.match, { current: 0, events: [], brought: seats.map(() => ({})) });
    if (rounds > 1) this.tell({ kind: "round", seat: null, words: `round ${this.match.round + 1}` });
    return this.onward();
  }

  get play() {
    return this.plays[this.match.current];
  }

  /** @param {PlayEvent} event */
  tell(event) {
    const { lines, events, open } = this.match;
    const goes = open && events.at(-1)?.seat === event.seat;
    this.match.open = event.kind === "choice" || event.kind === "roll";
    events.push(event);
    this.turn++;
    const who = event.seat === null || this.asked.seats.length === 1 ? "" : `${this.names()[event.seat]}: `;
    if (event.kind !== "roll") lines.push(...(event.words ? [who + event.words] : []));
    else if (goes && events.at(-2)?.kind === "roll") lines.push(`${lines.pop()}, ${event.words}`);
    else lines.push(`${goes ? lines.pop() : `${who}roll`} → ${event.words}`);
  }

  /** The names of the seats, for people. */
  names() {
    const plain = this.asked.seats.map((seat) => ({ human: "you" })[seat] ?? seat);
    return new Set(plain).size < plain.length ? plain.map((_, seat) => `player ${seat + 1}`) : plain;
  }

  /** Play on until a person has to act. */
  async onward() {
    for (;;) {
      const { play } = this;
      play.proceed();
      const next = !this.two && play.now.moved && play.now.at.state === 0; // alone, and back at the start
      play.now.moved &&= !next;
      this.match.open &&= !next;
      if (play.now.over) {
        if (!this.ended()) return this.view();
      } else if (next && this.pass()) {
        continue;
      } else if (play.rolling) {
        if (this.asked.dice === "mine" && this.dice.weights.length > 1) return this.view();
        this.throwDice(null);
      } else {
        const name = this.asked.seats[play.mover];
        if (name === "human") return this.view();
        this.take(this.decided(name));
      }
    }
  }

  /** What is to be thrown now. */
  get dice() {
    return this.throws[this.play.own(0)];
  }

  /** Let the next unfinished seat play; false: there is none. */
  pass() {
    const { plays, match } = this;
    const next = plays.map((_, i) => (match.current + i + 1) % plays.length).find((i) => !plays[i].now.over);
    if (next === undefined || next === match.current) return false;
    match.current = next;
    return true;
  }

  /** A play is over; false: the round is, too. */
  ended() {
    const { now, mover } = this.play;
    const words = [now.over?.words, this.two ? "" : `total ${shown(now.total)}`].filter(Boolean).join(", ");
    this.tell({ kind: "end", seat: mover, words });
    if (this.pass()) return true;
    const scores = this.asked.seats.map(() => 0);
    for (const one of this.plays) {
      scores[one.seats[0]] = one.now.total;
      if (this.two) scores[one.seats[1]] = this.data.total - one.now.total;
    }
    this.match.scores.push(scores);
    return false;
  }

  /** The place of the option that a seat takes. @param {string} name */
  decided(name) {
    const { play, model } = this;
    const { node, at } = play.now;
    if (name === "optimal") return model.best(node, at).place;
    const options = model.options(node, at);
    const rule = this.seated.find((one) => one.name === name);
    if (!rule) return options[Math.floor(this.chance.next() * options.length)].place;
    let choice = rule.choices[at.state];
    if (choice.at) choice = choice.at[at.index];
    if (Array.isArray(choice)) choice = choice.find(([when]) => when < 0 || model.exprs[when](at.counters))?.[1];
    return options.some((option) => option.place === choice) ? choice : options[0].place;
  }

  /** Take an option. @param {number} place its place in the decision */
  take(place) {
    const { play, model } = this;
    const actions = play.actions();
    const action = actions.find((one) => one.place === place);
    if (!action) throw new Error("There is no such action here.");
    const [box] = action.tap?.places.length === 1 ? action.tap.places[0] : [];
    const brought = this.match.brought[play.mover];
    if (action.tap && box !== undefined) (brought[action.tap.label] ??= {})[box] = model.pays(action.node, play.now.at);
    const words = action.words + (action.pays ? ` (${shown(action.pays, true)})` : "");
    this.match.moves.push(actions.indexOf(action));
    this.tell({ kind: "choice", seat: play.mover, words });
    play.now.seen = null;
    play.reach(action.node);
  }

  /** Throw the dice: draw them, or take what was tapped in. @param {number | null} roll of the throw, or its outcome */
  throwDice(roll) {
    const { dice, play: { mover: seat } } = this;
    const thrown = roll ?? dice.draw(this.chance);
    const told = this.play.threw(thrown);
    if (dice.weights.length < 2) return;
    this.match.moves.push(told.faces ?? thrown);
    this.tell({ kind: "roll", seat, ...told });
  }

  keep() {
    const plays = this.plays.map((play) => play.now);
    this.history.push(JSON.stringify({ plays, match: this.match, chance: this.chance.state }));
  }

  /** Choose an action. @param {number} i */
  async choose(i) {
    if (!this.waits("human")) throw new Error("There is nothing to decide now.");
    const [{ play, turn }, advice] = [this, await this.advice()];
    const [action, best] = [advice[i], advice.find((one) => one.best)];
    if (!action || !best) throw new Error("There is no such action here.");
    this.keep();
    const { words, loss } = action;
    this.match.decisions.push({ turn, seat: play.mover, words, best_words: best.words, loss });
    this.take(play.actions()[i].place);
    return this.onward();
  }

  /** Enter what your own dice show. @param {number | (string | number)[]} what number of an outcome, or faces */
  async roll(what) {
    if (!this.waits("dice")) throw new Error("Nothing is to be rolled now.");
    const roll = Array.isArray(what) ? this.dice.find(what) : what;
    const most = this.dice.rolls.length || this.dice.weights.length;
    if (!(Number.isInteger(roll) && roll >= 0 && roll < most)) throw new Error("These dice cannot show that.");
    this.keep();
    this.throwDice(roll);
    return this.onward();
  }

  /** Whether a person, or their dice, are waited for. @param {"human" | "dice"} whom */
  waits(whom) {
    if (!this.play) return false;
    if (whom === "dice") return this.play.rolling && this.asked.dice === "mine";
    return this.play.deciding && this.asked.seats[this.play.mover] === "human";
  }

  async undo() {
    const before = this.history.pop();
    if (!before) throw new Error("There is nothing to take back.");
    const { plays, match, chance } = JSON.parse(before);
    this.match = match;
    this.chance.state = chance;
    this.plays.forEach((play, i) => (play.now = plays[i]));
    this.turn++;
    return this.view();
  }

  /** The next round. */
  async again() {
    if (!this.plays.length || !this.plays.every((play) => play.now.over)) throw new Error("This round is not over.");
    this.match.round++;
    this.asked.rounds = Math.max(this.asked.rounds, this.match.round + 1);
    return this.deal();
  }

  /** How it stands. @returns {Promise<View>} */
  async view() {
    const { match, play, asked, turn, data: { about, sense } } = this;
    const decides = this.waits("human");
    const over = this.plays.every((one) => one.now.over);
    const parts = play.parts().map((part) => {
      const points = part.kind === "boxes" && match.brought[part.seat ?? play.mover][part.label];
      return points ? { ...part, points: part.names?.map((_, at) => points[at] ?? null) } : part;
    });
    const { game, title, chance } = about;
    return {
      ...{ turn, game, title, sense, total: chance ? 1 : null, seats: asked.seats, names: this.names() },
      ...{ round: match.round + 1, rounds: asked.rounds, scores: match.scores, mover: over ? null : play.mover },
      may_undo: this.history.length > 0,
      parts,
      actions: decides ? play.actions().map(({ words, tap, pays }) => ({ words, tap, pays })) : [],
      ...(this.waits("dice") ? this.mine() : { outcomes: null, dice: null }),
      events: match.events,
      over: over ? { payoff: play.now.total, words: match.events.at(-1)?.words ?? "" } : null,
    };
  }

  /** What one's own dice may show: outcomes, or dice where they are many. */
  mine() {
    const { play, dice } = this;
    if (dice.rolls.length > LISTED) return { outcomes: null, dice: dice.dice };
    const weights = dice.rolls.length ? dice.rolls.map((roll) => roll.weight) : dice.weights;
    const total = weights.reduce((a, b) => a + b);
    const outcomes = weights.map((weight, i) => {
      const chance = `${weight / divisor(weight, total)}/${total / divisor(weight, total)}`;
      if (dice.rolls.length) return { words: dice.said(i), chance, faces: dice.faces(i) };
      const text = this.data.heard[play.own(2)][i].find((/** @type {number} */ one) => one >= 0);
      return { words: text === undefined ? String(i + 1) : play.spoken(text), chance, faces: null };
    });
    return { outcomes, dice: null };
  }

  /** What every action is worth; of one position this is worked out once. */
  async advice() {
    const { play, model, turn } = this;
    if (!play?.deciding || this.advised.turn === turn) return play?.deciding ? this.advised.rows : [];
    const rated = model.rated(play.now.node, play.now.at);
    const [best, sign] = [Math.max(...rated.map((one) => one.worth)), model.wantsLess(play.now.node) ? -1 : 1];
    const totals = this.data.goals.length ? this.future.behind(rated.map(({ node }) => node), play.now.at) : [];
    const rows = play.actions().map(({ words }, i) => {
      const { worth } = rated[i];
      const same = best - worth <= 2e-6 * Math.max(1, Math.abs(best)); // but for rounding
      return { i, words, value: sign * worth, loss: same ? 0 : best - worth, best: same, goals: this.goals(totals[i]) };
    });
    this.advised = { turn, rows };
    return rows;
  }

  /** Chances of the goals with these totals to come. @param {Map<number, number> | null} [totals] */
  goals(totals) {
    const so = this.play.now.total;
    return totals ? Object.fromEntries(this.data.goals.map((/** @type {any[]} */ [name, least, most]) => {
      const meets = (/** @type {number} */ all) => all >= (least ?? -Infinity) && all <= (most ?? Infinity);
      let sum = 0;
      totals.forEach((mass, total) => (sum += meets(so + total) ? mass : 0));
      return [name, sum];
    })) : null;
  }

  /** The totals that best play comes to from here. */
  async distribution() {
    const { now } = this.play ?? {};
    const [found] = now && !now.over ? this.future.behind([now.node], now.at) : [];
    if (!now || !found) return null;
    const sorted = [...found].map(([total, mass]) => [total + now.total, mass]).sort((a, b) => a[0] - b[0]);
    const mean = sorted.reduce((all, [total, mass]) => all + total * mass, 0);
    const [totals, chances] = [0, 1].map((column) => sorted.map((one) => one[column]));
    return { totals, chances, mean, goals: this.goals(found) };
  }

  /** By how much the play is worth less without an open box, in games that come back to their start every turn. */
  async boxes() {
    const { play, model, data } = this;
    if (!play || play.now.over) return null;
    const { counters, state } = play.now.at;
    const now = model.kept(0, model.index(counters));
    const all = [...model.table(model.shown[state])].map((at) => data.parts[at]).filter(({ kind }) => kind === "boxes");
    const worths = all.map(({ label, used }) => [label, used.map((/** @type {any} */ one) => {
      const [op, counter, mask] = one.e >= 0 ? data.exprs[one.e] : [];
      if (!["has", "any"].includes(op) || counter[0] !== "counter" || play.plain(one)) return null;
      const without = counters.map((value, axis) => value + (axis === counter[1] ? mask : 0));
      const less = now - model.kept(0, model.index(without));
      return Number.isNaN(less) ? null : less;
    })]);
    return worths.length ? Object.fromEntries(worths) : null;
  }

  /** The strategy as tables, or as a map over two counters, which is drawn if it is `open`. @param {boolean} [open] */
  async chart(open = true) {
    const { play, data, model } = this;
    if (data.charts.length) return data.charts;
    if (!play?.deciding) return null;
    const { at, node } = play.now;
    const scores = [...model.table(model.shown[at.state])].map((part) => data.parts[part])
      .filter(({ kind, value }) => kind === "score" && data.exprs[value.e]?.[0] === "counter")
      .map(({ label, of, value }) => [label || `${of === "mover" ? "your" : "their"} score`, data.exprs[value.e][1]]);
    if (scores.length < 2) return null;
    if (!open) return [];
    const [y, x] = [scores[0], scores[scores.length - 1]].map(([label, axis]) => {
      const { first, step, size } = model.axes[axis];
      const stride = Math.ceil(size / MAPPED);
      const values = Array.from({ length: Math.ceil(size / stride) }, (_, i) => first + step * stride * i);
      return { label, values, axis, here: values.findLastIndex((value) => value <= at.counters[axis]) };
    });
    const cells = y.values.map((down) => x.values.map((across) => {
      const counters = at.counters.with(y.axis, down).with(x.axis, across);
      try {
        const options = model.rated(node, model.placed(at.state, model.index(counters)));
        if (!options.every(({ worth }) => Number.isFinite(worth))) return null; // play does not come there
        return options.reduce((best, one) => (one.worth > best.worth ? one : best)).place;
      } catch {
        return null; // a counter leaves its range
      }
    }));
    const title = `what is best here, by ${y.label} and ${x.label}`;
    return [{ kind: /** @type {"map"} */ ("map"), title, names: play.names(), cells, at: [x.here, y.here], x, y }];
  }

  /** What people lost by their decisions. */
  async review() {
    const { decisions } = this.match;
    const of = (/** @type {number} */ seat) => decisions.filter((one) => one.seat === seat);
    return { decisions, lost: this.asked.seats.map((_, seat) => of(seat).reduce((all, { loss }) => all + loss, 0)) };
  }

  /** What happened, in the form of `mdpdice play --record`. */
  async record() {
    const { about } = this.data;
    const head = ["# Written by a page: mdpdice play --replay reads it.", `game: ${about.game}`];
    for (const [name, value] of Object.entries(about.parameters)) head.push(`parameter: ${name}=${value ?? "none"}`);
    head.push(`seats: ${this.asked.seats.join(",")}`, `seed: ${this.asked.seed}`);
    if (this.asked.rounds > 1) head.push(`rounds: ${this.asked.rounds}`);
    head.push(`moves: ${JSON.stringify(this.match.moves)}`);
    return [...head, "", ...this.match.lines, ""].join("\n");
  }
}
