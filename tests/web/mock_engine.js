// @ts-check
/** An engine without a game: a race of Pig against a rule, with invented advice; for the look of the page alone. */

const GOAL = 30;
const SETUP = {
  games: [
    {
      name: "mock", title: "Mock Pig", description: "Roll as often as you like; a 1 loses the turn.", players: 2, own: true, free: true,
      seats: ["human", "optimal", "random", "hold-at:20"], parameters: [],
    },
  ],
};

/** @param {Record<string, any>} [scene] a view to show in place of the game */
export function open(scene) {
  /** @type {any} */
  let view;
  /** @type {string[]} */
  const past = [];

  const parts = () => [
    { kind: "score", label: "", of: 0, seat: 0, value: view.mine[0], goal: GOAL, risk: false },
    { kind: "score", label: "", of: 1, seat: 1, value: view.mine[1], goal: GOAL, risk: false },
    { kind: "score", label: "this turn", of: null, seat: null, value: view.points, goal: null, risk: true },
  ];
  const shown = () => {
    const human = !view.over && !view.waits && view.seats[view.mover] === "human";
    return structuredClone({
      ...view,
      turn: view.events.length,
      parts: parts(),
      actions: human ? [{ words: `hold ${view.points}: ${view.mine[view.mover] + view.points} in all`, tap: null }, { words: "roll", tap: null }] : [],
      outcomes: view.waits ? [1, 2, 3, 4, 5, 6].map((face) => ({ words: String(face), chance: "1/6", faces: [face] })) : null,
      dice: null,
    });
  };
  /** @param {string} kind @param {string} words @param {boolean} [lost] */
  const say = (kind, words, lost = false) => view.events.push({ kind, seat: view.mover, words, lost });
  const pass = () => ([view.mover, view.points] = [1 - view.mover, 0]);
  /** @param {number} face */
  const thrown = (face) => {
    say("roll", face === 1 ? `1: bust, ${view.points} lost` : String(face), face === 1);
    if (face === 1) return void pass();
    view.points += face;
    if (view.mine[view.mover] + view.points >= GOAL) {
      view.mine[view.mover] += view.points;
      view.points = 0;
      view.over = { payoff: 1, words: `wins with ${view.mine[view.mover]}` };
      view.scores.push([0, 1].map((seat) => Number(seat === view.mover)));
      say("end", view.over.words);
    }
  };
  /** @param {number} i */
  const choose = (i) => {
    say("choice", i ? "roll" : `hold ${view.points}`);
    if (i && view.dice === "mine") view.waits = true;
    else if (i) thrown(1 + Math.floor(Math.random() * 6));
    else {
      view.mine[view.mover] += view.points;
      pass();
    }
  };
  const others = () => {
    while (!view.over && !view.waits && view.seats[view.mover] !== "human") choose(Number(view.points < 12));
    return shown();
  };
  const round = () => ({ ...view, mine: [0, 0], points: 0, mover: 0, waits: false, events: [], over: null });

  return {
    setup: async () => ({ ...SETUP, auto: scene ? {} : null }),
    about: async () => ({ title: "Mock Pig", value: 0.53, lower: 0.53, upper: 0.53, status: "certified", digest: "0123456789abcdef".repeat(4), version: "0" }),
    /** @param {any} start */
    start: async (start) => {
      if (scene) return (view = scene);
      view = { ...start, game: "mock", title: "Mock Pig", sense: "max", total: 1, round: 1, scores: [] };
      view = round();
      return others();
    },
    view: async () => (scene ? view : shown()),
    /** @param {number} i */
    choose: async (i) => {
      if (scene) return view;
      past.push(JSON.stringify(view));
      choose(i);
      return others();
    },
    /** @param {number} i */
    roll: async (i) => {
      view.waits = false;
      thrown(i + 1);
      return others();
    },
    undo: async () => {
      if (!past.length) throw new Error("nothing to undo");
      view = JSON.parse(/** @type {string} */ (past.pop()));
      return shown();
    },
    again: async () => {
      view = { ...round(), round: view.round + 1 };
      return others();
    },
    advice: async () =>
      (scene ? view : shown()).actions.map((/** @type {any} */ { words }, /** @type {number} */ i) => ({
        i, words, value: (scene?.best ?? 0.5) * (1 - 0.03 * i), loss: (scene?.best ?? 0.5) * 0.03 * i, best: i === 0, goals: scene?.goals ?? null,
      })),
    review: async () => ({ decisions: [{ turn: 1, seat: 0, words: "hold 6", best_words: "roll", loss: 0.02 }, { turn: 2, seat: 0, words: "roll", best_words: "roll", loss: 0 }], lost: [0.02, 0] }),
    record: async () => "seed 1\nroll\n",
    boxes: async () => scene?.worth ?? null,
    chart: async () => scene?.charts ?? [
      { kind: "map", title: "When to hold, over points at risk", names: ["hold", "roll"], at: [10, 5], x: { label: "this turn", values: [...Array(30).keys()] }, y: { label: "own points", values: [...Array(30).keys()] },
        cells: [...Array(30).keys()].map((y) => [...Array(30).keys()].map((x) => (x + y >= 30 ? null : x > 14 + y / 5 ? 0 : 1))) },
      { kind: "table", title: "Roll on up to so many points", columns: ["dice", "points"], rows: [["one", 250], ["two", 200], ["three", 400]], at: 1 },
    ],
    distribution: async () => ({ totals: [...Array(31).keys()], chances: [...Array(31).keys()].map((x) => Math.exp(-((x - 18) ** 2) / 40) / 11.2), mean: 18, goals: { "20 points or more": 0.35 }, plays: 4000, error: 0.25 }),
  };
}
