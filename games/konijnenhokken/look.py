"""How Konijnenhokken is shown: rabbits, cages, what is banked and what the run is worth."""

from __future__ import annotations

import abc
import functools
from typing import Any

from mdpdice import At, Solution, Table
from mdpdice.games.konijnenhokken.game import Field, Konijnenhokken
from mdpdice.games.konijnenhokken.game import Rolled as FieldRolled
from mdpdice.games.konijnenhokken.race import Core, Hutch, KonijnenhokkenRace, Seen
from mdpdice.games.konijnenhokken.rules import LAST_CAGE, Offer, example_roll, run_points
from mdpdice.games.konijnenhokken.strategy import stop_or_roll, stop_or_roll_text, tables
from mdpdice.games.konijnenhokken.text import read_state, show_state
from mdpdice.games.races import check_undecided, read_scores, show_scores, standing
from mdpdice.looks import Act, Dice, Goal, Look, Part, Rolled, Score, Text, Tokens, said

CAGES = tuple(f"x{factor}" for factor in range(2, LAST_CAGE + 1))


class _Field(Look[Any], abc.ABC):
    """Rabbits and cages on the table, and maybe a roll beside them."""

    _last: tuple[Any, tuple[int, ...]] = None, ()

    @abc.abstractmethod
    def banked(self, state: Any) -> Any:
        """Points of earlier runs of the turn."""

    def after(self, state: Any) -> tuple[Any, str]:
        """Return what the points of a turn that stops here come to."""
        return self.banked(state) + run_points(*state[:3]), " points"

    @abc.abstractmethod
    def offer(self, state: Any) -> Offer | None:
        """Return what a roll offers; None before it."""

    def roll(self, state: Any, seen: Rolled | None) -> tuple[int, ...]:
        """Return the dice of a roll; where none was seen, some roll that offers the same."""
        if seen is not None and seen.faces:
            return seen.faces
        last = self._last  # once: another thread may ask, too
        if last[0] is not state:
            offered = self.offer(state)
            assert offered is not None
            self._last = last = state, example_roll(offered, state.c, self.left(state))
        return last[1]

    def left(self, state: Any) -> int:
        """Dice left to roll."""
        return int(self.game.dice - state.r1 - state.r2 - state.c)

    def table(self, state: Any, seen: Rolled | None = None) -> list[Part]:
        parts = [Score("banked", value=self.banked(state), risk=True), *_run(*state[:3])]
        return parts if self.offer(state) is None else [*parts, Dice("roll", faces=self.roll(state, seen))]

    def act(self, state: Any, action: Any, seen: Rolled | None = None) -> Act:
        if action == "stop":
            return Act(("stop with ", *self.after(state)))
        if action == "roll":
            left = self.left(state)
            return Act(f"roll {left} dice" if left > 1 else "roll the last die")
        return _taken(self.roll(state, seen), state.c, *action)

    def heard(self, state: Any, outcome: Any, seen: Rolled | None, *, lost: bool) -> Text:
        shown = "" if seen is None else str(seen)
        return f"{shown}: no rabbit, the turn is lost" if outcome is None else shown


@functools.cache
def _run(r1: int, r2: int, c: int) -> tuple[Part, ...]:
    rabbits, cages = ("1",) * r1 + ("2",) * r2, tuple(range(c))
    points = Score("this run", value=run_points(r1, r2, c), risk=True)
    return points, Tokens("rabbits", items=rabbits), Tokens("cages", items=CAGES, lit=cages)


@functools.cache
def _taken(roll: tuple[int, ...], c: int, ones: int, twos: int, more: int) -> Act:
    cages = range(c + 2, c + 2 + more)
    lying, places = list(roll), []
    for face in (*(1,) * ones, *(2,) * twos, *cages):
        places.append(lying.index(face))
        lying[places[-1]] = 0
    rabbits = said(Rolled(roll), places[: ones + twos])
    words = f"take {rabbits}{''.join(f', cage x{factor}' for factor in cages)}"
    return Act(words, ("roll", (tuple(places),)))


class KonijnenhokkenLook(_Field, of=Konijnenhokken):
    """One turn."""

    def banked(self, state: Any) -> Any:
        return state.t

    def goals(self) -> list[Goal]:
        return [Goal(f"{points} points or more", least=points) for points in (10, 20, 40)]

    def offer(self, state: Any) -> Offer | None:
        return Offer(*state[4:]) if isinstance(state, FieldRolled) else None

    def show_state(self, state: Any) -> str:
        """Text of a state: ``r1=1 r2=2 c=1 t=20``, and ``roll=1,3,6`` where there is a roll."""
        return show_state(self.game, state)

    def read_state(self, text: str) -> Any:
        """State of a text (see `mdpdice.games.konijnenhokken.text`)."""
        return read_state(self.game, text)

    def notes(self) -> list[str]:
        game: Konijnenhokken = self.game
        defect = "defects=public-solver: these are the numbers of a defective program, not of the game"
        found = [*([defect] if game.defective else []), game.bound.note()]
        if game.limit < game.bound.total:
            found.append(f"t_max={game.limit} ends turns that should go on, so the value is too small")
        return found

    def summary(self, solution: Solution) -> list[str]:
        """For every field up to how many banked points to roll on."""
        if solution.network.horizon is not None:
            return []
        return stop_or_roll_text(self.game, stop_or_roll(self.game, solution))

    def tables(self, solution: Solution | None) -> list[Table]:
        """When to stop, and what to take from a roll."""
        return [] if solution is None or solution.horizon is not None else tables(self.game, solution)


class RaceLook(_Field, of=KonijnenhokkenRace):
    """The race for two."""

    def banked(self, state: Any) -> Any:
        return self.game.t

    def after(self, state: Any) -> tuple[Any, str]:
        return self.game.mine + super().after(state)[0], " in all"

    def ending(self, state: Any, action: Any, outcome: Any, payoff: Any) -> Text:
        field = state.r1 + action.ones, state.r2 + action.twos, state.c + action.cages
        return "wins with ", self.game.mine + self.game.t + run_points(*field), " to ", self.game.theirs

    def offer(self, state: Any) -> Offer | None:
        return Offer(*state[3:]) if isinstance(state, Seen) else None

    def table(self, state: Any, seen: Rolled | None = None) -> list[Part]:
        return [*standing(self.game, self.game.target), *super().table(state, seen)]

    def show_state(self, state: Any) -> str:
        """Text of a state: ``mine=40 theirs=52 r1=1 r2=2 c=1 t=20``, and ``roll=1,3,6`` where there is a roll."""
        core, t = state.state, state.counters["t"]
        field = (core.r1, core.r2, core.c, t)
        lone: Field | FieldRolled = Field(*field)
        if isinstance(core, Seen):
            lone = FieldRolled(*field, core.ones, core.twos, core.cages)
        return f"{show_scores(state.counters)} {show_state(self.game.one_turn, lone)}"

    def read_state(self, text: str) -> Any:
        """State of a text; what is not named is 0."""
        scores, rest = read_scores(text)
        lone = read_state(self.game.one_turn, rest or "t=0")
        if isinstance(lone, FieldRolled):
            core: Core = Seen(*lone[:3], *lone[4:])
            points = 0
        else:
            # Without banked points an empty field begins a turn: whoever completes a run has some.
            core = Hutch(*lone[:3], begun=any(lone))
            points = run_points(*lone[:3])
        check_undecided(text, self.game.target, scores["mine"] + lone.t + points, scores["theirs"])
        return At(core, **scores, t=lone.t)
