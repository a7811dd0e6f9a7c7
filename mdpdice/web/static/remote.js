// @ts-check
/** The engine behind a server (docs/server.md): calls are requests, and what must be solved first is waited for. */

/** @import { Engine, Parameter, Setup, Start, View } from "./types.js" */
/** @typedef {{name: string, help: string, allowed: string, value: unknown, required: boolean}} Told */
/** @typedef {{name: string, title: string, description: string, players: number | null, seats: string[],
 *   parameters: Told[]}} Offer */
/** @typedef {{phase: string, done: number, total: number | null, figures?: Record<string, number>}} Share */

/** What is said while a phase of solving goes on. @type {Record<string, string>} */
const PHASES = { wait: "Waiting for its turn", explore: "Exploring", compile: "Compiling", bounds: "Proving",
  solve: "Solving", certify: "Proving" };
/** How a parameter is typed in, by what may be written for it. @type {Record<string, string>} */
const KINDS = { "a whole number": "int", "a number": "number", "true or false": "bool" };

/** A match at the server that the page is from. @implements {Engine} */
export class Remote {
  table = /** @type {View | null} */ (null);
  auto = /** @type {Start | null} */ (null);
  solving = ""; // the key of what is being solved
  /** Told how far solving is, whatever asked for it. @type {Engine["progress"]} */
  progress = null;

  /** What can be played; after a reload one sits down at the same table again. @returns {Promise<Setup>} */
  async setup() {
    const id = encodeURIComponent(location.hash.slice(1));
    const seated = id ? await this.change(`tables/${id}`).catch(() => null) : null;
    this.auto = seated && { ...seated, parameters: {}, dice: "drawn", seed: null };
    const offers = /** @type {Offer[]} */ (await this.ask("games"));
    const wanted = new URLSearchParams(location.search).get("game");
    offers.sort((a, b) => Number(b.name === wanted) - Number(a.name === wanted));
    const games = offers.map(({ players, seats, parameters, ...told }) => ({ ...told, players: players ?? 1, free: true,
      seats: ["human", ...seats], parameters: parameters.map(parameterOf) }));
    return { games, auto: this.auto };
  }

  /** @type {Engine["start"]} */
  async start(start) {
    if (start === this.auto && this.table) return this.table;
    const view = await this.change("tables", start);
    history.replaceState(null, "", `${location.pathname}${location.search}#${view.id}`);
    return view;
  }

  cancel = () => this.solving && send(`solving/${this.solving}/cancel`, {});
  choose = (/** @type {number} */ i) => this.say("choose", { i });
  undo = () => this.say("undo");
  again = () => this.say("again");
  /** @type {Engine["roll"]} */
  roll = (outcome) => this.say("roll", typeof outcome === "number" ? { i: outcome } : { faces: outcome });

  advice = () => this.look("advice");
  review = () => this.look("review");
  boxes = () => this.look("boxes");
  chart = () => this.look("chart");
  distribution = () => this.look("distribution");
  record = async () => (await this.look("record")).text;
  about = async () => (this.table ? this.look("about") : {});

  /** What is known at the table. */
  look = (/** @type {string} */ what) => this.ask(`tables/${this.table?.id}/${what}`);
  /** Change the table as it was seen. @param {string} how @param {object} [said] */
  say = (how, said) => this.change(`tables/${this.table?.id}/${how}`, { turn: this.table?.turn, ...said });

  /** @param {string} path @param {object} [said] @returns {Promise<View>} */
  async change(path, said) {
    return (this.table = await this.ask(path, said));
  }

  /** The answer; what must be solved first is waited for.
   * @param {string} path @param {object} [said] @returns {Promise<any>} */
  async ask(path, said) {
    for (;;) {
      const response = await send(path, said);
      const data = await response.json();
      if (!response.ok) throw new Error(data.error);
      if (response.status !== 202) return data;
      this.solving = data.solving;
      try {
        await solved(data.solving, this.progress);
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

/** Wait until a game is solved. @param {string} key @param {Engine["progress"]} progress @returns {Promise<void>} */
function solved(key, progress) {
  return new Promise((resolve, reject) => {
    const events = new EventSource(`solving/${encodeURIComponent(key)}`);
    const end = (/** @type {string | null} */ error) => {
      events.close();
      return error === null ? resolve() : reject(new Error(error));
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
  if (choice) return { name, kind: "choice", value: shown, choices, help };
  return { name, kind: "text", value: shown, help: [help, allowed].filter(Boolean).join("; ") };
}
