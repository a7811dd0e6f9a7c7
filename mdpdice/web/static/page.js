// @ts-check
/** The page: draws what the engine shows and hands on what people do. */

import { button, byId, capital, counted, el, NOTHING, shownLoss, shownNumber } from "./dom.js";
import { drawPart } from "./parts.js";
import { gathers, ownerOf, tappedPart, Taps } from "./taps.js";
import { drawChoices, drawOwnDice } from "./choices.js";
import { drawLog, drawNews, drawReview, drawRounds, seatNames } from "./story.js";
import { drawChart, drawDistribution } from "./chart.js";
import { drawSetup } from "./setup.js";
import { listenToKeys } from "./keys.js";

/** @import { Advice, Engine, Face, Part, PlayEvent, Start, View } from "./types.js" */

const ABOUT = ["value", "status", "proved", "rounding", "digest", "version", "cite"]; // of about(), in the foot
const PATIENCE = 150; // milliseconds after which the table is drawn without the advice, and again when it has come

/** One match after another, on one engine. */
export class Page {
  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    this.view = /** @type {View | null} */ (null);
    this.taps = /** @type {Taps | null} */ (null);
    this.thrown = /** @type {Face[]} */ ([]);
    this.advice = /** @type {Advice[] | null} */ (null);
    this.worth = /** @type {Record<string, (number | null)[]> | null} */ (null);
    this.seen = 0;
    this.news = /** @type {PlayEvent[]} */ ([]);
    this.verdict = "";
    this.busy = false;
    this.moves = 0;
    this.mode = "off";
    engine.progress = (text, share) => this.wait(text, share);
  }

  /** Show the form, or begin at once where the engine knows how. */
  async open() {
    const setup = await this.engine.setup();
    const only = setup.games.length === 1;
    byId("setup").replaceChildren(drawSetup(setup, (start) => this.start(start)));
    byId("title").textContent = document.title = only ? capital(setup.games[0].title) : "Dice games";
    if (only) await this.drawAbout();
    if (setup.auto) await this.start(setup.auto);
  }

  /** @param {Start} start */
  async start(start) {
    await this.act(() => {
      this.view = null;
      return this.engine.start(start);
    });
    if (this.view) await this.drawAbout();
  }

  /** Say what is waited for, and how far it is. @param {string} text @param {number | null} share */
  wait(text, share) {
    byId("wait").hidden = !text;
    byId("waiting").textContent = text;
    byId("bar").toggleAttribute("value", share !== null);
    if (share !== null) byId("bar").setAttribute("value", String(share));
  }

  /** Do something that leads to another view. @param {() => Promise<View>} work */
  async act(work) {
    if (this.busy) return;
    this.busy = true;
    this.moves++;
    byId("alert").textContent = "";
    await this.careful(async () => {
      const before = this.view;
      const view = await work();
      if (before?.round !== view.round || before.events.length > view.events.length) this.seen = 0;
      this.view = view;
      this.taps = new Taps(view);
      this.thrown = [];
      this.advice = this.worth = null;
      this.news = view.events.slice(this.seen);
      this.seen = view.events.length;
      const asked = this.mode === "always" ? this.careful(() => this.ask()) : null;
      await Promise.race([asked, new Promise((resolve) => setTimeout(resolve, PATIENCE))]);
      this.draw();
      byId("news").replaceChildren(...drawNews(this.news, seatNames(view)));
      if (this.verdict) byId("news").append(el("p.verdict", this.verdict));
      if (view.over) await this.drawEnd(view);
    });
    this.busy = false;
    await this.careful(() => this.drawBeside());
  }

  /** Say what went wrong. @param {() => Promise<void>} work */
  async careful(work) {
    try {
      await work();
    } catch (error) {
      byId("alert").textContent = error instanceof Error ? error.message : String(error);
    } finally {
      this.wait("", null);
    }
  }

  /** Ask what every choice is worth, once a decision, and draw what is then known. */
  async ask() {
    const { engine, moves, view } = this;
    try {
      const advice = this.advice ?? (view?.actions.length ? await engine.advice() : null);
      const worth = view?.parts.some(({ kind }) => kind === "boxes") && (await engine.boxes?.());
      if (moves === this.moves) [this.advice, this.worth] = [advice, worth || null];
    } catch (error) {
      if (moves === this.moves) throw error; // else the match went on before the answer came
    }
    if (byId("about").hidden) await this.drawAbout(); // of what was solved just now
    if (this.busy) return;
    this.draw();
    await this.drawBeside();
  }

  /** @param {number} i */
  choose(i) {
    return this.act(async () => {
      if (this.mode === "afterwards") await this.ask();
      const [{ advice, view }, best] = [this, this.advice?.find((one) => one.best)];
      const loss = advice && this.mode !== "off" ? advice[i].loss : null;
      this.verdict = loss === null ? "" : loss < NOTHING ? "Nothing was better."
        : `That lost ${shownLoss(loss, view?.total === 1)}. Better was: ${best?.words}.`;
      return this.engine.choose(i);
    });
  }

  /** Undo, or go on to the next round. @param {"undo" | "again"} how */
  leave(how) {
    this.verdict = "";
    return this.act(() => this.engine[how]());
  }

  /** Back to the form; the match is kept until another begins. */
  fresh() {
    byId("match").hidden = byId("fresh").hidden = true;
    byId("setup").hidden = false;
    byId("setup").querySelector("select")?.focus();
  }

  /** Let go what is tapped. */
  letGo() {
    this.taps?.clear();
    this.draw();
  }

  /** @param {string} mode */
  async advise(mode) {
    this.mode = mode;
    this.draw();
    await this.careful(() => (mode === "always" ? this.ask() : this.drawBeside()));
  }

  /** @param {Part} part @param {number} place */
  tap(part, place) {
    const { taps } = this;
    if (!taps) return;
    taps.toggle(part, place);
    const meant = taps.matches();
    if (!gathers(part) && meant.length === 1) this.choose(meant[0]);
    else this.draw();
  }

  /** Draw everything but what is beside the table, and put the focus back where it was. */
  draw() {
    const { view, taps } = this;
    if (!view || !taps) return;
    const focused = document.activeElement;
    const inside = byId("match").contains(focused) || byId("setup").contains(focused);
    const names = seatNames(view);
    byId("setup").hidden = true;
    byId("match").hidden = byId("fresh").hidden = false;
    byId("title").textContent = document.title = capital(view.title);
    byId("end").hidden = !view.over;
    byId("round").textContent = view.rounds > 1 ? `Round ${view.round} of ${view.rounds}` : "";
    this.drawTable(view, taps, names);
    byId("now").replaceChildren(...this.drawNow(view, taps));
    byId("log").replaceChildren(drawLog(view, names));
    byId("undo").toggleAttribute("disabled", view.may_undo === false || !view.events.length);
    /** @type {HTMLInputElement} */ (document.querySelector(`[name=advice][value=${this.mode}]`)).checked = true;
    if (inside && !focused?.isConnected) this.focus(focused?.getAttribute("data-key") ?? "");
    else if (inside && byId("setup").contains(focused)) this.focus("");
  }

  /** Put the focus on a place that was redrawn, else where something can be done. @param {string} key */
  focus(key) {
    const same = /^(place|back|face)/.test(key) ? byId("match").querySelector(`[data-key="${key}"]`) : null;
    const thrown = byId("now").querySelector('[data-key="thrown"]:enabled');
    const next = same ?? thrown ?? byId("now").querySelector("button:enabled");
    /** @type {HTMLElement | null} */ (next)?.focus();
  }

  /** Players with what is theirs, and the table with all else.
   * @param {View} view @param {Taps} taps @param {string[]} names */
  drawTable(view, taps, names) {
    const drawn = (/** @type {Part} */ part) => {
      const worths = this.mode === "always" ? this.worth?.[part.label] : null;
      const tapped = view.actions.some(({ tap }) => tap && tappedPart(view, tap.label) === part);
      if (!tapped) return drawPart(part, null, worths);
      const chosen = taps.part === part ? taps.chosen : /** @type {Set<number>} */ (new Set());
      return drawPart(part, { allowed: taps.allowed(part), chosen, tap: (place) => this.tap(part, place) }, worths);
    };
    const both = names.length > 1;
    byId("seats").hidden = !both;
    byId("seats").replaceChildren(...(both ? names : []).map((name, seat) => {
      const moves = seat === view.mover && !view.over;
      const sum = shownNumber(view.scores.reduce((all, row) => all + (row[seat] ?? 0), 0));
      const so = view.scores.length > 0 && el("span.sofar", `${sum} in ${counted(view.scores.length, "round")}`);
      const who = el("p.who", name, moves && el("span.tag", "to move"), so);
      const own = view.parts.filter((part) => ownerOf(part) === seat);
      return el(moves ? "div.seat.moves" : "div.seat", { role: "group", "aria-label": name }, who, ...own.map(drawn));
    }));
    const common = view.parts.filter((part) => (!both || ownerOf(part) === null) && part.faces?.length !== 0);
    const { faces, seat } = this.news.findLast((event) => event.faces) ?? {};
    if (faces && !common.some(({ kind }) => kind === "dice")) {
      const who = names[seat ?? 0];
      common.push({ kind: "dice", label: who === "You" ? "your throw" : `thrown by ${who}`, of: null, faces });
    }
    common.sort((a, b) => Number(b.kind === "score") - Number(a.kind === "score"));
    byId("table").replaceChildren(...common.map(drawn));
    byId("table").hidden = !common.length;
  }

  /** @param {View} view @param {Taps} taps */
  drawNow(view, taps) {
    const advice = this.mode === "always" ? this.advice : null;
    if (view.actions.length) return [drawChoices(view, taps, advice, (i) => this.choose(i))];
    const tap = (/** @type {Face[]} */ thrown) => {
      this.thrown = thrown;
      this.draw();
    };
    const roll = (/** @type {number | Face[]} */ outcome) => this.act(() => this.engine.roll(outcome));
    return view.outcomes || view.dice ? [drawOwnDice(view, this.thrown, tap, roll)] : [];
  }

  /** The strategy, for people who want advice, and how it may end, which takes long: for those who ask for it. */
  async drawBeside() {
    const { engine, view } = this;
    const shown = this.mode !== "off" || Boolean(view?.over);
    const [strategy, ahead] = ["strategy", "ahead"].map((id) => /** @type {HTMLDetailsElement} */ (byId(id)));
    const charts = shown ? await engine.chart?.(strategy.open) : null;
    if (view !== this.view) return;
    strategy.hidden = !charts;
    strategy.lastElementChild?.replaceChildren(...(charts ?? []).map(drawChart));
    ahead.hidden = !shown || !engine.distribution || view?.total === 1 || Boolean(view?.over);
    if (ahead.hidden || !ahead.open) return;
    const found = await engine.distribution?.();
    if (view !== this.view) return;
    unfold("ahead", [found ? drawDistribution(found) : el("p.none", "There are too many ways from here.")]);
  }

  /** @param {View} view */
  async drawEnd(view) {
    const [names, { over }] = [seatNames(view), view];
    const last = view.round >= view.rounds;
    const seat = view.events.at(-1)?.seat ?? null;
    const who = names.length > 1 && seat !== null && `${names[seat]}: `;
    const go = () => (last ? this.fresh() : this.leave("again"));
    const next = button(".main", "next", go, last ? "New match" : `Round ${view.round + 1}`);
    byId("end").replaceChildren(el("h2", last ? "The end" : `Round ${view.round} is over`),
      el("p.result", who, over?.words || `${shownNumber(over?.payoff ?? 0)} points`), el("div.buttons", next),
      drawRounds(view, names) ?? "");
    next.focus();
    const review = drawReview(await this.engine.review(), view, names);
    if (view === this.view) byId("end").append(review || "");
  }

  async drawAbout() {
    const about = await this.engine.about();
    const { value, lower, upper } = about;
    const proved = lower === undefined ? value : `${value} in [${lower}, ${upper}]`;
    const said = ABOUT.map((name) => [name, name === "value" ? proved : about[name]]).filter(([, one]) => one);
    unfold("about", said.map(([name, one]) => el("div", el("dt", String(name)), el("dd", String(one)))));
  }

  async download() {
    const address = URL.createObjectURL(new Blob([await this.engine.record()], { type: "text/plain" }));
    el("a", { href: address, download: `${this.view?.game ?? "play"}.txt` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }
}

/** @param {string} id @param {Node[]} inside */
function unfold(id, inside) {
  byId(id).hidden = !inside.length;
  byId(id).lastElementChild?.replaceChildren(...inside);
}

/** Show the page for an engine, and let people play. @param {Engine} engine */
export async function show(engine) {
  const page = new Page(engine);
  byId("stop").hidden = !engine.cancel;
  const press = { stop: () => engine.cancel?.(), fresh: () => page.fresh(), undo: () => page.leave("undo"),
    download: () => page.download() };
  for (const [id, does] of Object.entries(press)) byId(id).addEventListener("click", does);
  byId("advice").addEventListener("change", ({ target }) => page.advise(/** @type {any} */ (target).value));
  for (const id of ["strategy", "ahead"]) byId(id).addEventListener("toggle", () => page.careful(() => page.ask()));
  listenToKeys(page);
  await page.open();
}
