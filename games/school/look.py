"""How School is shown: the sheet, the dice, and what every combination is worth."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from mdpdice import At, Enclosure, Solution, Table, solve
from mdpdice.errors import UnknownStateError
from mdpdice.games.school.averages import scores
from mdpdice.games.school.bob import bob
from mdpdice.games.school.bob_game import BobGame
from mdpdice.games.school.combination import SchoolCombination
from mdpdice.games.school.game import FREE, School, State
from mdpdice.games.school.rules import GRADES, Rules
from mdpdice.games.school.text import read_open, read_turn, show_open, show_turn, split_open
from mdpdice.games.school.turn import Action, CrossOut, Held, Reroll, multiplier, tables
from mdpdice.looks import Act, Boxes, Dice, Goal, Look, NamedPolicy, Part, Rolled, Score

MANY = 300
"""Decisions of Bob after which all of them are computed at once."""


def _dice(state: State) -> list[Part]:
    held = tuple(range(len(state.dice))) if isinstance(state, Held) else ()
    return [Dice("dice", faces=state.dice, held=held), Score("rerolls", value=state.rerolls)]


@functools.cache
def _act(rules: Rules, state: State, action: Action) -> Act:
    if isinstance(action, Reroll):
        left, places = list(action.dice), []
        for at, face in enumerate(state.dice):
            if face in left:
                left.remove(face)
                places.append(at)
        words = "all" if len(places) == len(state.dice) else " ".join(map(str, action.dice))
        return Act(f"reroll {words}", ("dice", (tuple(places),)))
    if isinstance(action, CrossOut):
        return Act(f"cross out {action.combination}")
    name = action.combination
    points = (rules.score(name, state.dice) or 0) * multiplier(name, state.rerolls)
    return Act(f"{name} for {points}")


class SchoolLook(Look[School], of=School):
    """The whole game."""

    def table(self, state: Any, seen: Rolled | None = None) -> list[Part]:
        return [self.sheet, *_dice(state)]

    @functools.cached_property
    def sheet(self) -> Boxes:
        """The combinations."""
        names = self.game.open
        return Boxes("sheet", names=names, used=tuple(self.game.used[at] for at in range(len(names))))

    def act(self, state: Any, action: Any, seen: Rolled | None = None) -> Act:
        act = _act(self.game, state, action)
        if act.tap is not None:
            return act
        return Act(act.words, ("sheet", ((self.game.open.index(action.combination),),)))

    def goals(self) -> list[Goal]:
        return [Goal(f"{points} points or more", least=points) for points in (100, 150, 200)]

    def show_state(self, state: Any) -> str:
        """Text of a state: ``open=pair,full,poker dice=1,2,3,6,6 rerolls=2``."""
        return f"{show_open(self.game.open_at(state))} {show_turn(state.state)}"

    def read_state(self, text: str) -> Any:
        """State of a text (see `mdpdice.games.school.text`)."""
        listed, rest = split_open(text)
        names = read_open(listed) if listed != "all" else self.game.open
        if unknown := [name for name in names if name not in self.game.open]:
            msg = f"{unknown[0]} is not open in this game; these are: {', '.join(self.game.open)}"
            raise UnknownStateError(msg, value=text)
        used = sum(1 << box for box, name in enumerate(self.game.open) if name not in names)
        return At(read_turn(rest), used=used)

    def tables(self, solution: Solution | None) -> list[Table]:
        """How often a first roll fits every combination."""
        if solution is not None:
            return [] if solution.horizon is not None else [self._worth(solution)]
        dice, rows = tables(), []
        for name in self.game.open:
            ways = int(dice.first[scores(self.game, name)[1]].sum())
            rows.append((name, ways, ways / dice.total))
        title = f"how often the first roll fits, in {dice.total} ways to roll five dice"
        return [Table("first-roll", title, ("combination", "ways", "chance"), rows)]

    def _worth(self, solution: Solution) -> Table:
        """Show the value of every combination: a grade at the start, others once the grades before it are gone."""
        names = self.game.open
        grades = [1 << box for box, name in enumerate(names) if name in GRADES]
        first, rows = sum(grades[: max(0, len(grades) - FREE)]), []
        for box, name in enumerate(names):
            before = 0 if name in GRADES else first
            full, gone, last = (
                solution.value(At(self.game.start(), used=used))
                for used in (before, before + (1 << box), (1 << len(names)) - 1 - (1 << box))
            )
            rows.append((name, full - gone, last))
        title = "what an open combination is worth: points lost if it is gone for 0 now, and its mean as the last one"
        return Table("combinations", title, ("combination", "gone_now", "as_the_last_one"), rows)

    def policies(self) -> list[NamedPolicy]:
        """Bob's rule."""
        game = self.game
        table = BobGame(game.little, game.big, game.two_pairs, game.full, game.grades, game.open)

        def rule(_: str) -> Callable[[At[State]], Action]:
            asked = itertools.count()

            def act(state: At[State]) -> Action:
                names, dice, left = game.open_at(state), state.state.dice, state.state.rerolls
                # All of Bob's decisions together take as long as a hundred of them one by one.
                if next(asked) > MANY and names in table.turns.place:
                    return table.action(names, dice, left)
                return bob(game, names, dice, left).action

            return act

        def value(_: str, progress: Any) -> Enclosure:
            found = solve(table, progress=progress)
            return Enclosure(found.value(), found.lower(), found.upper(), "a Markov chain of whole turns")

        def ratings(_: str) -> Callable[[At[State]], Mapping[Action, Fraction] | None]:
            return lambda state: bob(game, game.open_at(state), state.state.dice, state.state.rerolls).profits

        text = "score - average, minus the average to cross out, or what a reroll promises"
        return [NamedPolicy("bob", text, rule, value, ratings)]


class CombinationLook(Look[SchoolCombination], of=SchoolCombination):
    """One turn for one combination."""

    def table(self, state: Any, seen: Rolled | None = None) -> list[Part]:
        return _dice(state)

    def act(self, state: Any, action: Any, seen: Rolled | None = None) -> Act:
        return _act(self.game, state, action)

    def notes(self) -> list[str]:
        combination = self.game.combination
        if not combination.startswith("grade-") or self.game.grades == "negative":
            return []
        less = 5 * int(combination[-1])
        how = "gives points for its own dice; by the rules it takes points for the others"
        return [f"grades=positive: {combination} {how}, which is {less} less"]

    def show_state(self, state: Any) -> str:
        """Text of a state: ``dice=1,2,3,6,6 rerolls=2``, or ``hold=6,6 rerolls=1``."""
        return show_turn(state)

    def read_state(self, text: str) -> Any:
        """State of a text (see `mdpdice.games.school.text`)."""
        return read_turn(text)
