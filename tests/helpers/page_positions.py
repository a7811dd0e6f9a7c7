"""What a page offers and says it is worth, beside what Python says, in positions of seeded plays."""

from __future__ import annotations

from typing import Any

from mdpdice import At, Solution
from mdpdice.looks import look_of
from mdpdice.web import page as pages
from mdpdice.web.rules import Rules

PLAY = """
async ([data, positions, dice]) => {
  const engine = await globalThis.openPage(data);
  const found = [];
  let pick = 1;
  for (let seed = 1; found.length < positions && seed < 400; seed++) {
    const seats = engine.two ? ["human", "human"] : ["human"];
    let view = await engine.start({ seats, rounds: 1, dice, seed });
    while (!view.over && found.length < positions) {
      pick = (pick * 48271) % 2147483647;
      if (view.actions.length) {
        const { at, seen } = engine.play.now;
        const started = performance.now();
        const advice = await engine.advice();
        const ms = performance.now() - started;
        const words = view.actions.map((one) => one.words);
        found.push({ state: at.state, counters: at.counters, seen, advice, words, ms });
        view = await engine.choose(pick % view.actions.length);
      } else if (view.outcomes) view = await engine.roll(pick % view.outcomes.length);
      else view = await engine.roll(view.dice.map((die, i) => die.faces[(pick >> i) % die.faces.length]));
    }
  }
  return found;
}
"""


def engine_in(browser: Any, slowed: int = 1) -> Any:
    """A page with the engine alone, which opens the data of any game, on a processor `slowed` so many times."""
    page = browser.new_page()
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slowed})
    script = pages.modules_of("engine.js") + "\nglobalThis.openPage = open;"
    page.set_content(f'<script type="module">{script}</script>')
    page.wait_for_function("() => Boolean(globalThis.openPage)")
    return page


def compared(
    engine: Any, solution: Solution, dice: str = "drawn", positions: int = 200
) -> tuple[int, float, list[float]]:
    """Positions that were compared, the largest error beside ``max(1, |value|)``, and milliseconds of every advice.

    Raises
    ------
    AssertionError
        Options or the best of them differ.
    """
    data, _ = pages.page_data(solution)
    look = look_of(solution.game)
    rules = Rules(look)
    states, names = list(rules.states), list(rules.axis)
    found, worst = engine.evaluate(PLAY, [data, positions, dice]), 0.0
    for one in found:
        core, counters = states[one["state"]], dict(zip(names, map(int, one["counters"]), strict=True))
        state = At(core, **counters) if names else core
        seen = one["seen"] and rules.throws[one["seen"]["throw"]].rolled[one["seen"]["roll"]]
        values = solution.q(state)
        assert one["words"] == [look.words(state, action, seen) for action in values]
        for advice, value in zip(one["advice"], values.values(), strict=True):
            worst = max(worst, abs(advice["value"] - value) / max(1, abs(value)))
        losses = [advice["loss"] for advice in one["advice"]]
        assert losses[list(values).index(solution.action(state))] == 0 == min(losses)
    return len(found), worst, [one["ms"] for one in found]
