"""How Farkle is shown: the real dice, what is set aside, and the points at risk."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Mapping
from itertools import chain, combinations
from typing import Any

from mdpdice import At, Enclosure, Solution, Table, Thresholds, compile_lattice, evaluate, table
from mdpdice.errors import GameError
from mdpdice.games.farkle.analysis import thresholds
from mdpdice.games.farkle.game import KcdFarkle
from mdpdice.games.farkle.menus import DiceLeft
from mdpdice.games.farkle.race import FarkleRace
from mdpdice.games.farkle.states import Action, Bank, Choose, Ready, State
from mdpdice.games.farkle.text import FORM, read_rolled, read_state, rolled, show_state
from mdpdice.games.farkle.thresholds import ThresholdTurn, described
from mdpdice.games.races import check_undecided, read_scores, show_scores
from mdpdice.looks import Act, Dice, Goal, Look, NamedPolicy, Note, Part, Rolled, Score, Text, said

__all__ = ["FarkleLook", "RaceLook"]

_COUNTS = ("no", "one die", "two dice", "three dice", "four dice", "five dice", "six dice")


class _Table(Look[Any], abc.ABC):
    """Dice on the table, some of which score."""

    def __init__(self, game: Any) -> None:
        super().__init__(game)
        self.turn: KcdFarkle = self.rules_of_turn()
        self.book = self.turn.book
        self._selected = functools.lru_cache(maxsize=64)(self._selections)

    @abc.abstractmethod
    def rules_of_turn(self) -> KcdFarkle:
        """The rules of one turn."""

    @abc.abstractmethod
    def risk(self) -> Any:
        """The points at risk."""

    @abc.abstractmethod
    def scores(self) -> list[Part]:
        """What was scored so far."""

    @abc.abstractmethod
    def banked(self, best: int) -> Text:
        """What banking so many points comes to."""

    def shown(self, state: Any, seen: Rolled | None) -> Rolled:
        """The roll; where none was seen, some roll that offers the same."""
        if seen is not None and seen.faces:
            return seen
        return rolled(self.book, self.book.example(state.menu))

    def seen(self, text: str) -> Rolled | None:
        return read_rolled(self.book, read_scores(text)[1])

    def table(self, state: Any, seen: Rolled | None = None) -> list[Part]:
        if isinstance(state, Ready):
            return [*self.scores(), Note("to roll", text=self._words_for(state.dice))]
        roll = self.shown(state, seen)
        return [*self.scores(), Dice("roll", faces=roll.faces, dice=roll.dice)]

    def act(self, state: Any, action: Any, seen: Rolled | None = None) -> Act:
        roll = self.shown(state, seen)
        found = self._selected(roll)
        if isinstance(action, Bank):
            best = state.menu.best
            sets = tuple(
                chain.from_iterable(places for (points, _), places in found.items() if points == best)
            )
            return Act(
                ("bank ", *_spread(self._chosen(roll, sets), best), ": ", *_tuple(self.banked(best))),
                ("roll", sets),
            )
        sets = tuple(found.get((action.points, action.dice), ()))
        risk = self.risk() + action.points
        words = (
            "set aside ",
            *_spread(self._chosen(roll, sets), action.points),
            "; ",
            risk,
            " at risk, roll ",
        )
        return Act((*words, self._words_for(action.dice)), ("roll", sets))

    def _chosen(self, roll: Rolled, sets: tuple[tuple[int, ...], ...]) -> str:
        return said(roll, min(sets, key=len)) if sets else ""

    def _words_for(self, dice: DiceLeft) -> str:
        counts = self.book.counts(dice)
        if counts == self.book.full:
            return {1: "the die", 2: "both dice"}.get(sum(counts), f"all {_COUNTS[sum(counts)]}")
        if len(counts) == 1:
            return _COUNTS[counts[0]]
        named = zip(counts, self.book.shown_dice, strict=True)
        return ", ".join(f"{number} x {die.name}" for number, die in named if number)

    def _selections(self, roll: Rolled) -> Mapping[tuple[int, DiceLeft], list[tuple[int, ...]]]:
        """Places that may be set aside, by their points and the dice to roll next."""
        shown = self.book.shown_dice
        which = [shown.index(die) for die in roll.dice]
        symbols = [self.book.kinds[kind].symbol(face) for kind, face in zip(which, roll.faces, strict=True)]
        everywhere = range(len(symbols))
        found: dict[tuple[int, DiceLeft], list[tuple[int, ...]]] = {}
        for places in chain.from_iterable(
            combinations(everywhere, number) for number in range(1, len(symbols) + 1)
        ):
            points = self.turn.rules.score([symbols[at] for at in places])
            if points:
                rest = [which[at] for at in everywhere if at not in places]
                left = tuple(rest.count(kind) for kind in range(len(shown)))
                found.setdefault((points, self.book.left(left if any(left) else self.book.full)), []).append(
                    places
                )
        return found

    def heard(self, state: Any, outcome: Any, seen: Rolled | None, *, lost: bool) -> Text:
        return f"{seen}: bust" if lost else str(seen)

    def tables(self, solution: Solution | None) -> list[Table]:
        """How often every set of dice busts."""
        if solution is not None or self.turn.defective:
            return []
        chances = ((dice, self.book.rolls(dice).bust) for dice in self.book.subsets())
        rows = [(self.turn.names(dice), str(bust), float(bust)) for dice, bust in chances]
        return [
            Table(
                "busts", "chance that a roll of these dice scores nothing", ("dice", "exact", "chance"), rows
            )
        ]

    def notes(self) -> list[str]:
        turn, found = self.turn, []
        if turn.defective:
            found.append(
                "defects=public-solver: these are the numbers of a defective program, not of the game"
            )
        if len(turn.kinds) > 1:
            found.append(f"sets of dice are counted in this order: {turn.names(turn.all_dice)}")
        return found


class FarkleLook(_Table, of=KcdFarkle):
    """One turn."""

    def rules_of_turn(self) -> KcdFarkle:
        game: KcdFarkle = self.game
        return game

    def risk(self) -> Any:
        return self.game.points

    def scores(self) -> list[Part]:
        return [Score("this turn", value=self.game.points, risk=True)]

    def banked(self, best: int) -> Text:
        return self.game.points + best, " points"

    def show_state(self, state: Any) -> str:
        """Text of a state: ``roll=1,1,5 points=300`` or ``dice=3 points=300``."""
        return show_state(self.book, state.state, state.counters["points"])

    def read_state(self, text: str) -> Any:
        """State of a text (see `mdpdice.games.farkle.text`)."""
        state, points = read_state(self.book, text)
        return At(state, points=points)

    def infinite_reason(self) -> str | None:
        return self.turn.endless

    def notes(self) -> list[str]:
        return (
            super().notes()
            if self.turn.cap is not None
            else [*super().notes(), self.turn.endless or self._bound()]
        )

    def _bound(self) -> str:
        bound = self.turn.banking_bound
        assert bound.points is not None
        note = (
            f"cap=none: from {bound.points} = {float(bound.points):.10g} points on banking is proved optimal"
            f" (E[best roll] / P(bust) is largest for {self.turn.names(bound.dice)}), so a turn ends there"
        )
        if bound.sure:
            note += f"; above it only sets of dice that never bust are rolled, {len(bound.sure)} of them"
        return note

    def summary(self, solution: Solution) -> list[str]:
        """Up to how many points at risk to roll on, for dice of one kind."""
        if len(self.turn.kinds) > 1 or self.turn.defective or solution.horizon is not None:
            return []
        found = ", ".join(
            f"{dice} {'die' if dice == 1 else 'dice'} {'never' if points is None else points}"
            for dice, points in thresholds(self.turn).items()
        )
        return [f"roll on up to so many points at risk: {found}"]

    def tables(self, solution: Solution | None) -> list[Table]:
        """Up to how many points at risk to roll on, for every set of dice."""
        if solution is None:
            return super().tables(None)
        if self.turn.defective or solution.horizon is not None:
            return []
        rows = [(self.turn.names(dice), points) for dice, points in thresholds(self.turn).items()]
        title = "roll these dice while at most so many points are at risk (-: never)"
        return [Table("thresholds", title, ("dice", "roll_up_to"), rows)]

    def goals(self) -> list[Goal]:
        return [Goal(f"{points:,} points or more", least=points) for points in (500, 1000, 2000)]

    def policies(self) -> list[NamedPolicy]:
        """``threshold:...``, for dice of one kind."""
        return _threshold_policies(self.turn, lambda listed: _threshold_rule(self.turn, listed))

    def thresholds(
        self, *, monotone: bool = False, search: int = 0, seed: int = 0, progress: Any = None
    ) -> list[Thresholds]:
        """Read off the optimal policy, and found by a search (see `mdpdice.games.farkle.thresholds`)."""
        if len(self.turn.kinds) > 1 or self.turn.defective:
            return []
        return described(self.turn, monotone=monotone, draws=search, seed=seed, progress=progress)


class RaceLook(_Table, of=FarkleRace):
    """The race for two."""

    def rules_of_turn(self) -> KcdFarkle:
        turn: KcdFarkle = self.game.one_turn
        return turn

    def risk(self) -> Any:
        return self.game.turn

    def scores(self) -> list[Part]:
        game = self.game
        return [
            Score("", "mover", value=game.mine, goal=game.target),
            Score("", "other", value=game.theirs, goal=game.target),
            Score("this turn", value=game.turn, risk=True),
        ]

    def banked(self, best: int) -> Text:
        return self.game.mine + self.game.turn + best, " in all"

    def ending(self, state: Any, action: Any, outcome: Any, payoff: Any) -> Text:
        return "wins with ", self.game.mine + self.game.turn + action.points, " to ", self.game.theirs

    def show_state(self, state: Any) -> str:
        """Text of a state: ``mine=1200 theirs=800 roll=1,1,5 points=300``, or ``dice=3`` before a roll."""
        return f"{show_scores(state.counters)} {show_state(self.book, state.state, state.counters['turn'])}"

    def read_state(self, text: str) -> Any:
        """State of a text; scores that are not named are 0, and so are the points of the turn."""
        scores, rest = read_scores(text)
        core, turn = read_state(self.book, rest, f"mine=1200 theirs=800 {FORM}")
        check_undecided(text, self.game.target, scores["mine"] + turn, scores["theirs"])
        return At(core, **scores, turn=turn)

    def policies(self) -> list[NamedPolicy]:
        """``threshold:...``, as for a turn; whoever can win by banking does."""
        return _threshold_policies(self.turn, self._rule, self._value)

    def _rule(self, listed: str) -> Callable[[At[State]], Action]:
        turn, target = _threshold_rule(self.turn, listed), self.game.target

        def rule(at: At[State]) -> Action:
            assert isinstance(at.state, Choose)
            best, points = at.state.menu.best, at.counters["turn"]
            wins = at.counters["mine"] + points + best >= target
            return Bank(best) if wins else turn(At(at.state, points=points))

        return rule

    def _value(self, listed: str, progress: Any) -> Enclosure:
        """The chance of the starter to win if both play by the same rule, on the lattice."""
        turn, game = _threshold_rule(self.turn, listed), self.game

        def scores(whole: At[State]) -> dict[Action, Any]:
            state = whole.state
            assert isinstance(state, Choose)
            chosen = [turn(At(state, points=points)) for points in game.points()]
            at = game.turn // game.rules.grid
            found = {
                action: table([int(one == action) for one in chosen], at) for action in dict.fromkeys(chosen)
            }
            bank, wins = Bank(state.menu.best), game.mine + game.turn + state.menu.best >= game.target
            return {**found, bank: found.get(bank, 0) + 2 * wins}

        # Rolling on by the rule is offered wherever banking does not win, so the rule's action is there.
        value = evaluate(compile_lattice(game), scores, progress=progress)
        return Enclosure(value.value(), value.lower(), value.upper(), "both players on the lattice")


def _threshold_policies(turn: KcdFarkle, rule: Callable[[str], Any], value: Any = None) -> list[NamedPolicy]:
    if len(turn.kinds) > 1 or turn.defective:
        return []
    form = f"threshold:{','.join(f'T{dice}' for dice in range(1, len(turn.dice) + 1))}"
    return [NamedPolicy(form, "with d dice left bank from Td points on, else roll", rule, value)]


def _threshold_rule(turn: KcdFarkle, listed: str) -> Callable[[Any], Action]:
    """The rule of ``250,200,...`` (see `mdpdice.games.farkle.thresholds`)."""
    try:
        vector = [int(points) for points in listed.split(",")]
    except ValueError as error:
        msg = f"threshold:{listed}: write threshold:250,200,... with a whole number for each number of dice"
        raise GameError(msg, value=listed) from error
    return ThresholdTurn(turn).rule(vector)


def _spread(chosen: str, points: int) -> tuple[str, ...]:
    return (f"{chosen} for {points}",) if chosen else (f"dice for {points}",)


def _tuple(text: Text) -> tuple[Any, ...]:
    return text if isinstance(text, tuple) else (text,)
