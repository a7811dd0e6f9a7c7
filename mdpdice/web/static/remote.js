// @ts-check
/** The engine behind a server (docs/server.md): every call is a request, and what must be solved first is waited for. */

/** @import { Advice, About, Distribution, Engine, MapChart, Parameter, Review, Setup, Start, TableChart, View } from "./types.js" */

/** @typedef {(text: string, share: number | null) => void} Progress */
/** @typedef {{name: string, help: string, allowed: string, value: unknown, required: boolean}} Told */
/** @typedef {{name: string, title: string, description: string, players: number | null, seats: string[],
 *   parameters: Told[]}} Offer */
/** @typedef {{phase: string, done: number, total: number | null, figures?: Record<string, number>}} Share */

/** What is said while a phase of solving goes on. @type {Record<string, string>} */
const PHASES = { wait: "Waiting for its turn", explore: "Exploring", compile: "Compiling", bounds: "Proving",
  solve: "Solving", certify: "Proving" };
/** How a parameter is typed in, by what may be written for it. @type {Record<string, string>} */
const KINDS = { "a whole number": "int", "a number": "number", "true or false": "bool" };

/** The engine of the page, at the server that the page is from. @returns {Promise<Engine>} */
export async function openServer() {
  const engine = new Remote();
  await engine.resume(location.hash.slice(1));
  return engine;
}

/** A match at the server. @implements {Engine} */
class Remote {
  constructor() {
    this.table = /** @type {View | null} */ (null);
    this.auto = /** @type {Start | null} */ (null);
    this.solving = "";
    /** Told how far solving is, whatever asked for it. @type {Progress | null} */
    this.progress = null;
  }

  /** Sit down at a table again, after the page was loaded anew. @param {string} id */
  async resume(id) {
    if (!id) return;
    try {
      const view = /** @type {View} */ (await this.ask(`tables/${encodeURIComponent(id)}`));
      this.table = view;
      const { game, seats, rounds } = view;
      this.auto = { game, parameters: {}, seats, rounds, dice: /** @type {const} */ ("drawn"), seed: null };
    } catch {
      history.replaceState(null, "", location.pathname + location.search);
    }
  }

  /** @returns {Promise<Setup>} */
  async setup() {
    const offers = /** @type {Offer[]} */ (await this.ask("games"));
    const wanted = new URLSearchParams(location.search).get("game");
    offers.sort((a, b) => Number(b.name === wanted) - Number(a.name === wanted));
    const games = offers.map(({ name, title, description, players, seats, parameters }) => ({
      name, title, description, players: players ?? 1, own: true, free: true,
      seats: ["human", ...seats], parameters: parameters.map(parameterOf),
    }));
    return { games, dice: "drawn", auto: this.auto };
  }

  /** @param {Start} start @param {Progress} [progress] @returns {Promise<View>} */
  async start(start, progress) {
    if (start === this.auto && this.table) return this.table;
    const view = await this.change("tables", start, progress);
    history.replaceState(null, "", `${location.pathname}${location.search}#${view.id}`);
    return view;
  }

  /** Stop solving. */
  cancel() {
    if (this.solving) void send(`solving/${this.solving}/cancel`, {});
  }

  /** @returns {Promise<View>} */
  async view() {
    this.table = /** @type {View} */ (await this.ask(this.path("")));
    return this.table;
  }

  /** @param {number} i */
  choose(i) {
    return this.change(this.path("/choose"), { turn: this.turn, i });
  }

  /** @param {number | (string | number)[]} outcome */
  roll(outcome) {
    const said = typeof outcome === "number" ? { i: outcome } : { faces: outcome };
    return this.change(this.path("/roll"), { turn: this.turn, ...said });
  }

  undo() {
    return this.change(this.path("/undo"), { turn: this.turn });
  }

  again() {
    return this.change(this.path("/again"), { turn: this.turn });
  }

  /** @returns {Promise<Advice[]>} */
  async advice() {
    return /** @type {Advice[]} */ (await this.ask(this.path("/advice")));
  }

  /** @returns {Promise<Review>} */
  async review() {
    return /** @type {Review} */ (await this.ask(this.path("/review")));
  }

  /** @returns {Promise<string>} */
  async record() {
    return /** @type {{text: string}} */ (await this.ask(this.path("/record"))).text;
  }

  /** @returns {Promise<About>} */
  async about() {
    return this.table ? /** @type {About} */ (await this.ask(this.path("/about"))) : {};
  }

  /** @returns {Promise<Record<string, (number | null)[]> | null>} */
  async boxes() {
    return /** @type {Record<string, (number | null)[]> | null} */ (await this.ask(this.path("/boxes")));
  }

  /** @returns {Promise<(MapChart | TableChart)[] | null>} */
  async chart() {
    return /** @type {(MapChart | TableChart)[] | null} */ (await this.ask(this.path("/chart")));
  }

  /** @returns {Promise<Distribution | null>} */
  async distribution() {
    return /** @type {Distribution | null} */ (await this.ask(this.path("/distribution")));
  }

  get turn() {
    return this.table?.turn ?? 0;
  }

  /** @param {string} what */
  path(what) {
    return `tables/${this.table?.id ?? ""}${what}`;
  }

  /** @param {string} path @param {object} said @param {Progress} [progress] @returns {Promise<View>} */
  async change(path, said, progress) {
    this.table = /** @type {View} */ (await this.ask(path, said, progress));
    return this.table;
  }

  /** The answer; what must be solved first is waited for. @param {string} path @param {object} [said]
   * @param {Progress} [progress] @returns {Promise<unknown>} */
  async ask(path, said, progress) {
    for (;;) {
      const response = await send(path, said);
      const data = await response.json();
      if (!response.ok) throw new Error(data.error);
      if (response.status !== 202) return data;
      this.solving = data.solving;
      try {
        await solved(data.solving, progress ?? this.progress);
      } finally {
        this.solving = "";
      }
    }
  }
}

/** @param {string} path @param {object} [said] */
async function send(path, said) {
  const how = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(said) };
  try {
    return await fetch(path, said && how);
  } catch {
    throw new Error("the server does not answer; is it still running?");
  }
}

/** Wait until a game is solved. @param {string} key @param {Progress | null} progress @returns {Promise<void>} */
function solved(key, progress) {
  return new Promise((resolve, reject) => {
    const events = new EventSource(`solving/${encodeURIComponent(key)}`);
    const end = (/** @type {string | null} */ error) => {
      events.close();
      if (error === null) resolve();
      else reject(new Error(error));
    };
    events.addEventListener("progress", ({ data }) => progress?.(...shareOf(JSON.parse(data))));
    events.addEventListener("done", () => end(null));
    events.addEventListener("failed", ({ data }) => end(JSON.parse(data).error ?? "solving was cancelled"));
    events.addEventListener("error", () => end("the server does not answer; is it still running?"));
  });
}

/** How far it is, in words and as a share. @param {Share} said @returns {[string, number | null]} */
function shareOf({ phase, done, total, figures = {} }) {
  const told = Object.entries(figures).map(([name, figure]) => `${figure.toLocaleString("en")} ${name}`);
  const words = [PHASES[phase] ?? phase, ...told].join(", ");
  return [words, total ? Math.min(done / total, 1) : null];
}

/** A field of the form. @param {Told} told @returns {Parameter} */
function parameterOf({ name, help, allowed, value }) {
  const kind = KINDS[allowed];
  if (kind) return { name, kind, value, help };
  const choices = allowed.split(/, | or /);
  const choice = choices.length > 1 && choices.every((one) => /^[\w-]+$/.test(one));
  const shown = Array.isArray(value) ? value.join(",") : value;
  const more = [help, choice ? "" : allowed].filter(Boolean).join("; ");
  return choice ? { name, kind: "choice", value: shown, choices, help } : { name, kind: "text", value: shown, help: more };
}
