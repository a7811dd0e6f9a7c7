// @ts-check
/** The page: draws what the engine shows and hands on what people do. */

import { byId, el, shownLoss, shownNumber } from "./dom.js";
import { drawPart } from "./parts.js";
import { Taps, tappedPart } from "./taps.js";
import { drawChoices, drawOwnDice } from "./choices.js";
import { drawLog, drawNews, drawReview, drawRounds, seatNames } from "./story.js";
import { drawChart, drawDistribution } from "./chart.js";
import { drawSetup } from "./setup.js";
import { listenToKeys } from "./keys.js";

/** @import { Advice, Engine, Part, Start, View } from "./types.js" */

/** What about() may say, in the order of the foot. */
const ABOUT = ["value", "lower", "upper", "status", "proved", "rounding", "digest", "version", "cite"];

/** One match after another, on one engine. */
class Page {
  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    this.view = /** @type {View | null} */ (null);
    this.taps = /** @type {Taps | null} */ (null);
    this.thrown = /** @type {(string | number)[]} */ ([]);
    this.advice = /** @type {Advice[] | null} */ (null);
    this.worth = /** @type {Record<string, (number | null)[]> | null} */ (null);
    this.seen = 0;
    this.verdict = "";
    this.busy = false;
    this.mode = remembered() ?? "off";
  }

  /** Show the form, or begin at once where the engine knows how. */
  async open() {
    const setup = await this.engine.setup();
    byId("setup").replaceChildren(drawSetup(setup, (start) => this.start(start)));
    byId("title").textContent = setup.games.length === 1 ? setup.games[0].title : "Dice games";
    document.title = setup.games.length === 1 ? setup.games[0].title : "mdpdice";
    if (setup.games.length === 1) await this.drawAbout();
    if (setup.auto) await this.start(setup.auto);
  }

  /** @param {Start} start */
  async start(start) {
    const bar = el("progress", { max: 1, "aria-label": "Solving" });
    const words = el("span", { role: "status" });
    const cancel =
      this.engine.cancel &&
      el("button", { type: "button", class: "plain", onclick: () => this.engine.cancel?.() }, "Stop");
    const waiting = el("p", { class: "waiting" }, words, bar, cancel);
    await this.act(async () => {
      const view = await this.engine.start(start, (text, share) => {
        if (!waiting.isConnected) byId("setup").append(waiting);
        words.textContent = text;
        if (share === null) bar.removeAttribute("value");
        else bar.setAttribute("value", String(share));
      });
      this.seen = 0;
      return view;
    });
    waiting.remove();
    if (this.view) await this.drawAbout();
  }

  /**
   * Do something that leads to another view.
   * @param {() => Promise<View>} work
   */
  async act(work) {
    if (this.busy) return;
    this.busy = true;
    byId("alert").textContent = "";
    try {
      const before = this.view;
      this.view = await work();
      if (before && (before.round !== this.view.round || before.events.length > this.view.events.length)) this.seen = 0;
      this.taps = new Taps(this.view);
      this.thrown = [];
      this.advice = this.worth = null;
      if (this.mode === "always") await this.ask();
      this.draw();
      this.seen = this.view.events.length;
      await this.drawBeside();
    } catch (error) {
      byId("alert").textContent = error instanceof Error ? error.message : String(error);
    } finally {
      this.busy = false;
    }
  }

  /** Ask what every choice is worth, once a decision. */
  async ask() {
    const { engine, view } = this;
    if (!view?.actions.length || this.advice) return;
    this.advice = await engine.advice();
    this.worth = (await engine.boxes?.()) ?? null;
  }

  /** @param {number} i */
  async choose(i) {
    if (!this.view || !(i in this.view.actions) || this.busy) return;
    await this.act(async () => {
      this.verdict = "";
      if (this.mode !== "off") {
        await this.ask();
        const known = this.advice?.[i];
        const best = this.advice?.find((one) => one.best);
        if (known && best) this.verdict = verdictOf(known, best, this.view?.total === 1);
      }
      return this.engine.choose(i);
    });
  }

  /** @param {number | (string | number)[]} outcome */
  roll(outcome) {
    return this.act(() => this.engine.roll(outcome));
  }

  undo() {
    this.verdict = "";
    return this.act(() => this.engine.undo());
  }

  again() {
    this.verdict = "";
    return this.act(() => this.engine.again());
  }

  /** Back to the form; the match goes on in the engine until another begins. */
  fresh() {
    byId("match").hidden = byId("fresh").hidden = true;
    byId("setup").hidden = false;
    byId("setup").querySelector("select")?.focus();
  }

  /** @param {string} mode */
  async advise(mode) {
    this.mode = mode;
    try {
      localStorage.setItem("mdpdice advice", mode);
    } catch {
      /* a page in a file may not store anything */
    }
    if (mode === "always") await this.ask();
    this.draw();
    await this.drawBeside();
  }

  /**
   * @param {Part} part
   * @param {number} place
   */
  tap(part, place) {
    const { taps } = this;
    if (!taps) return;
    taps.toggle(part, place);
    const meant = taps.matches();
    if (!taps.gathers(part) && meant.length === 1) this.choose(meant[0]);
    else this.draw();
  }

  /** Draw everything but what is beside the table, and put the focus back where it was. */
  draw() {
    const { view, taps } = this;
    if (!view || !taps) return;
    const focused = document.activeElement;
    const key = focused?.getAttribute("data-key");
    const inside = byId("match").contains(focused) || byId("setup").contains(focused);
    byId("setup").hidden = true;
    byId("match").hidden = byId("fresh").hidden = false;
    const names = seatNames(view);
    byId("title").textContent = document.title = view.title;
    byId("round").textContent = view.rounds > 1 ? `Round ${view.round} of ${view.rounds}` : "";
    this.drawTable(view, taps, names);
    const verdict = this.verdict && el("p", { class: "verdict" }, this.verdict);
    byId("news").replaceChildren(...drawNews(view.events.slice(this.seen), names), ...(verdict ? [verdict] : []));
    byId("now").replaceChildren(...this.drawNow(view, taps));
    byId("log").replaceChildren(drawLog(view, names));
    /** @type {HTMLButtonElement} */ (byId("undo")).disabled = view.may_undo === false || !view.events.length;
    for (const input of document.querySelectorAll("input[name=advice]")) {
      /** @type {HTMLInputElement} */ (input).checked = /** @type {HTMLInputElement} */ (input).value === this.mode;
    }
    if (inside && !document.body.contains(focused)) this.focus(key ?? "");
  }

  /**
   * Put the focus where it was, else where something can be done.
   * @param {string} key
   */
  focus(key) {
    const same = key && /^(place|back|face)/.test(key) && byId("match").querySelector(`[data-key="${key}"]`);
    const next = same || byId("now").querySelector("button:enabled") || byId("end").querySelector("button");
    /** @type {HTMLElement | null} */ (next)?.focus();
  }

  /**
   * @param {View} view
   * @param {Taps} taps
   * @param {string[]} names
   */
  drawTable(view, taps, names) {
    /** @param {Part} part */
    const drawn = (part) => {
      const tapped = view.actions.some(({ tap }) => tap && tappedPart(view, tap.label) === part);
      const worth = this.mode === "always" ? (this.worth?.[part.label] ?? null) : null;
      const chosen = taps.part === part ? taps.chosen : new Set();
      return drawPart(
        part,
        tapped ? { allowed: taps.allowed(part), chosen, worth, tap: (place) => this.tap(part, place) } : null,
      );
    };
    const both = names.length > 1;
    const owned = both && view.parts.some((part) => ownerOf(part) !== null);
    byId("seats").hidden = !both;
    byId("seats").replaceChildren(
      ...(both ? names : []).map((name, seat) => {
        const moves = seat === view.mover && !view.over;
        const sum = view.scores.reduce((all, row) => all + (row[seat] ?? 0), 0);
        return el(
          "div",
          { class: `seat seat-${seat}${moves ? " moves" : ""}`, role: "group", "aria-label": name },
          el(
            "p",
            { class: "who" },
            name,
            moves && el("span", { class: "tag" }, "to move"),
            view.scores.length ? el("span", { class: "sofar" }, `${shownNumber(sum)} in ${view.scores.length}`) : null,
          ),
          ...view.parts.filter((part) => owned && ownerOf(part) === seat).map(drawn),
        );
      }),
    );
    const common = view.parts.filter((part) => !owned || ownerOf(part) === null);
    const order = [...common.filter(({ kind }) => kind === "score"), ...common.filter(({ kind }) => kind !== "score")];
    byId("table").replaceChildren(...order.map(drawn));
    byId("table").hidden = !order.length;
  }

  /**
   * @param {View} view
   * @param {Taps} taps
   */
  drawNow(view, taps) {
    if (view.over) return [];
    if (view.actions.length)
      return [drawChoices(view, taps, this.mode === "always" ? this.advice : null, (i) => this.choose(i))];
    if (!view.outcomes && !view.dice) return [el("p", { class: "hint" }, "Nothing to do.")];
    return [
      drawOwnDice(
        view,
        this.thrown,
        (thrown) => {
          this.thrown = thrown;
          this.draw();
        },
        (outcome) => this.roll(outcome),
      ),
    ];
  }

  /** The end, and what can be asked: it is drawn when it comes. */
  async drawBeside() {
    const { engine, view } = this;
    if (!view) return;
    const end = byId("end");
    end.hidden = !view.over;
    if (view.over) await this.drawEnd(view, end);
    const shown = this.mode !== "off" || view.over !== null;
    const charts = shown && engine.chart ? await engine.chart() : null;
    this.unfold("strategy", (charts ?? []).map(drawChart));
    const ahead = shown && !view.over && engine.distribution ? await engine.distribution() : null;
    this.unfold("ahead", ahead ? [drawDistribution(ahead)] : []);
  }

  /**
   * @param {View} view
   * @param {HTMLElement} end
   */
  async drawEnd(view, end) {
    const { payoff = null, words = "" } = view.over ?? {};
    const names = seatNames(view);
    const last = view.round >= view.rounds;
    const next = last
      ? el("button", { type: "button", class: "main", id: "next", onclick: () => this.fresh() }, "New match")
      : el(
          "button",
          { type: "button", class: "main", id: "next", onclick: () => this.again() },
          `Round ${view.round + 1}`,
        );
    end.replaceChildren(
      el("h2", {}, last ? "The end" : `Round ${view.round} is over`),
      el("p", { class: "result" }, words || `${shownNumber(payoff ?? 0)} points`),
      el("div", { class: "buttons" }, next),
    );
    if (!byId("setup").contains(document.activeElement)) /** @type {HTMLElement} */ (next).focus();
    for (const more of [drawRounds(view, names), drawReview(await this.engine.review(), view, names)])
      if (more) end.append(more);
  }

  /**
   * @param {string} id
   * @param {Node[]} inside
   */
  unfold(id, inside) {
    byId(id).hidden = !inside.length;
    byId(id).lastElementChild?.replaceChildren(...inside);
  }

  async drawAbout() {
    const about = await this.engine.about();
    const known = ABOUT.filter((name) => about[name] !== undefined && about[name] !== null && about[name] !== "");
    byId("about").hidden = !known.length;
    byId("about").lastElementChild?.replaceChildren(
      ...known.map((name) => el("div", {}, el("dt", {}, name), el("dd", {}, String(about[name])))),
    );
  }

  async copy() {
    const text = await this.engine.record();
    try {
      await navigator.clipboard.writeText(text);
      byId("copy").textContent = "Copied";
    } catch {
      byId("alert").textContent = "This browser does not let the page copy; download the record instead.";
    }
    setTimeout(() => (byId("copy").textContent = "Copy the record"), 2000);
  }

  async download() {
    const address = URL.createObjectURL(new Blob([await this.engine.record()], { type: "text/plain" }));
    el("a", { href: address, download: `${this.view?.game ?? "play"}.txt` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }
}

/** @param {Part} part */
function ownerOf(part) {
  return part.seat ?? (typeof part.of === "number" ? part.of : null);
}

/**
 * @param {Advice} chosen
 * @param {Advice} best
 * @param {boolean} chance
 */
function verdictOf(chosen, best, chance) {
  if (chosen.best || chosen.loss < 5e-7) return `${chosen.words}: nothing was better.`;
  return `${chosen.words}: loses ${shownLoss(chosen.loss, chance)}. Better was: ${best.words}.`;
}

function remembered() {
  try {
    return localStorage.getItem("mdpdice advice");
  } catch {
    return null;
  }
}

/**
 * Show the page for an engine, and let people play.
 * @param {Engine} engine
 */
export async function show(engine) {
  const page = new Page(engine);
  byId("fresh").addEventListener("click", () => page.fresh());
  byId("undo").addEventListener("click", () => page.undo());
  byId("copy").addEventListener("click", () => page.copy());
  byId("download").addEventListener("click", () => page.download());
  byId("advice").addEventListener("change", (event) =>
    page.advise(/** @type {HTMLInputElement} */ (event.target).value),
  );
  listenToKeys(page);
  await page.open();
}
