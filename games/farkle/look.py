"""How Farkle is shown: the real dice, what is set aside, and the points at risk."""

from __future__ import annotations

import abc
import contextlib
import functools
import re
from collections.abc import Callable, Mapping
from itertools import chain, combinations
from typing import Any

from mdpdice import At, Enclosure, Solution, Table, Thresholds, compile_lattice, evaluate, table
from mdpdice.errors import GameError, UnknownStateError
from mdpdice.games.farkle.analysis import thresholds
from mdpdice.games.farkle.dice_table import other_editions
from mdpdice.games.farkle.game import KcdFarkle
from mdpdice.games.farkle.menus import DiceLeft
from mdpdice.games.farkle.race import FarkleRace
from mdpdice.games.farkle.states import Action, Bank, Ready, Second
from mdpdice.games.farkle.text import FORM, read_rolled, read_state, rolled, show_state
from mdpdice.games.farkle.thresholds import ThresholdTurn, described
from mdpdice.games.races import check_undecided, read_scores, show_scores, standing
from mdpdice.looks import Act, Dice, Goal, Look, NamedPolicy, Note, Part, Rolled, Score, Text, said

_SEAT = re.compile(r"\bplayer\s*=\s*([12])(?!\S)")
_COUNTS = ("no", "one die", "two dice", "three dice", "four dice", "five dice", "six dice")


class _Table(Look[Any], abc.ABC):
    """Dice on the table, some of which score."""

    def __init__(self, game: Any) -> None:
        super().__init__(game)
        self.turns: tuple[KcdFarkle, ...] = game.turns if isinstance(game, FarkleRace) else (game,)
        self.turn = self.turns[0]
        self._selected = functools.lru_cache(maxsize=64)(_selections)

    @abc.abstractmethod
    def risk(self) -> Any:
        """Return the points at risk."""

    @abc.abstractmethod
    def scores(self) -> list[Part]:
        """Return what was scored so far."""

    @abc.abstractmethod
    def banked(self, best: int) -> tuple[Any, str]:
        """Return what banking this many points comes to."""

    def of(self, state: Any) -> tuple[KcdFarkle, Any]:
        """Whose turn it is, and what lies on the table."""
        return (self.turns[1], state.state) if isinstance(state, Second) else (self.turn, state)

    def shown(self, state: Any, seen: Rolled | None) -> Rolled:
        """Return the roll; where none was seen, some roll that offers the same."""
        if seen is not None and seen.faces:
            return seen
        turn, core = self.of(state)
        return rolled(turn.book, turn.book.example(core.menu))

    def seen(self, text: str) -> Rolled | None:
        seat, rest = _read_seat(read_scores(text)[1], self.turns)
        return read_rolled(self.turns[seat].book, rest)

    def table(self, state: Any, seen: Rolled | None = None) -> list[Part]:
        turn, core = self.of(state)
        if isinstance(core, Ready):
            return [*self.scores(), Note("to roll", text=_words_for(turn, core.dice))]
        roll = self.shown(state, seen)
        return [*self.scores(), Dice("roll", faces=roll.faces, dice=roll.dice)]

    def act(self, state: Any, action: Any, seen: Rolled | None = None) -> Act:
        roll = self.shown(state, seen)
        turn, core = self.of(state)
        found = self._selected(turn, roll)
        if isinstance(action, Bank):
            best = core.menu.best
            sets = tuple(one for (points, _), places in found.items() if points == best for one in places)
            return Act(("bank ", _chosen(roll, sets, best), ": ", *self.banked(best)), ("roll", sets))
        sets = tuple(found.get((action.points, action.dice), ()))
        words = ("set aside ", _chosen(roll, sets, action.points), "; ", self.risk() + action.points)
        return Act((*words, f" at risk, roll {_words_for(turn, action.dice)}"), ("roll", sets))

    def heard(self, state: Any, outcome: Any, seen: Rolled | None, *, lost: bool) -> Text:
        return f"{seen}: bust" if lost else str(seen)

    def tables(self, solution: Solution | None) -> list[Table]:
        """How often every set of dice busts."""
        if solution is not None or self.turn.defective:
            return []
        sets = ((turn, dice) for turn in self.turns for dice in turn.book.subsets())
        chances = {turn.names(dice): turn.book.rolls(dice).bust for turn, dice in sets}
        rows = [(names, str(bust), float(bust)) for names, bust in chances.items()]
        return [Table("busts", "chance that a roll of these dice scores nothing", ("dice", "exact", "chance"), rows)]

    def remarks(self) -> list[str]:
        """Return notes of this kind of game."""
        return []

    def notes(self) -> list[str]:
        found = []
        if self.turn.defective:
            found.append("defects=public-solver: these are the numbers of a defective program, not of the game")
        orders = (turn.names(turn.all_dice) for turn in self.turns if len(turn.kinds) > 1)
        found += [f"sets of dice are counted in this order: {order}" for order in orders] + self.remarks()
        for die in dict.fromkeys(kind for turn in self.turns for kind in turn.kinds):
            for other in other_editions(die):
                odds = ["-".join(map(str, one.weights)) for one in (die, other)]
                found.append(f"sources disagree on {die.name}, {odds[0]} here: {other.name} is {odds[1]}")
        return found


class FarkleLook(_Table, of=KcdFarkle):
    """One turn."""

    def risk(self) -> Any:
        return self.game.points

    def scores(self) -> list[Part]:
        return [Score("this turn", value=self.game.points, risk=True)]

    def banked(self, best: int) -> tuple[Any, str]:
        return self.game.points + best, " points"

    def show_state(self, state: Any) -> str:
        """Text of a state: ``roll=1,1,5 points=300`` or ``dice=3 points=300``."""
        return show_state(self.turn.book, state.state, state.counters["points"])

    def read_state(self, text: str) -> Any:
        """State of a text (see `mdpdice.games.farkle.text`)."""
        state, points = read_state(self.turn.book, text)
        return At(state, points=points)

    def infinite_reason(self) -> str | None:
        return self.turn.endless

    def remarks(self) -> list[str]:
        return [] if self.turn.cap is not None else [self.turn.endless or self._bound()]

    def _bound(self) -> str:
        bound = self.turn.banking_bound
        assert bound.points is not None
        why = f"E[best roll] / P(bust) is largest for {self.turn.names(bound.dice)}"
        note = f"cap=none: from {bound.points} = {float(bound.points):.10g} points on banking is proved optimal"
        note += f" ({why}), so a turn ends there"
        if bound.sure:
            note += f"; above it only sets of dice that never bust are rolled, {len(bound.sure)} of them"
        return note

    def summary(self, solution: Solution) -> list[str]:
        """Up to how many points at risk to roll on, for dice of one kind."""
        if len(self.turn.kinds) > 1 or self.turn.defective or solution.horizon is not None:
            return []
        told = list(map(str, self._bank_from().values()))
        return [
            f"bank from this many points at risk on, with 1, 2, ... dice left, else roll: {', '.join(told)}",
            f"as a policy: threshold:{','.join(told)}",
        ]

    def tables(self, solution: Solution | None) -> list[Table]:
        """From how many points at risk on to bank, for every set of dice, and what to keep of a roll."""
        if solution is None:
            return super().tables(None)
        if self.turn.defective or solution.horizon is not None:
            return []
        title = "when to bank: with these dice left, from this many points at risk on (what is set aside included)"
        rows = [(self.turn.names(dice), points) for dice, points in self._bank_from().items()]
        found = [Table("thresholds", title, ("dice", "bank_from"), rows)]
        return [*found, self._keeps(solution)] if len(self.turn.kinds) == 1 else found

    def _bank_from(self) -> dict[DiceLeft, int]:
        grid = self.turn.rules.grid
        return {dice: 0 if most is None else most + grid for dice, most in thresholds(self.turn).items()}

    def _keeps(self, solution: Solution) -> Table:
        """Return the rolls of which not all that scores is set aside, where one rolls on."""
        rows: dict[tuple[Any, Any], list[Any]] = {}
        decided = solution.decisions()
        for at, action in zip(decided.states, decided.actions, strict=True):
            menu = at.state.menu
            if isinstance(action, Bank) or action.points == menu.best:
                continue
            roll = self.shown(at.state, None)
            found = self._selected(self.turn, roll)
            banked = [places for (points, _), sets in found.items() if points == menu.best for places in sets]
            scoring = min(banked, key=len)
            told = " ".join(str(face) if place in scoring else "-" for place, face in enumerate(roll.faces))
            aside = " ".join(str(roll.faces[place]) for place in min(found[action], key=len))
            row = rows.setdefault((at.state, action), [told, aside, action.points, action.dice, 0])
            row[-1] = max(row[-1], at.counters["points"] + self.turn.rules.grid)
        columns = "roll", "set_aside", "points", "roll_next", "bank_all_from"
        title = "what to keep: every die that scores, but less of these rolls (-: no score) until so much is at risk"
        ordered = sorted(rows.values(), key=lambda row: (-len(row[0]), row[0]))
        return Table("keep", title, columns, ordered)

    def goals(self) -> list[Goal]:
        return [Goal(f"{points:,} points or more", least=points) for points in (500, 1000, 2000)]

    def policies(self) -> list[NamedPolicy]:
        """``threshold:...``, for dice of one kind."""
        return _by_thresholds(self.turns, lambda listed: _threshold_rule(self.turn, listed))

    def thresholds(
        self, *, monotone: bool = False, search: int = 0, seed: int = 0, progress: Any = None
    ) -> list[Thresholds]:
        """Read off the optimal policy, and found by a search (see `mdpdice.games.farkle.thresholds`)."""
        if len(self.turn.kinds) > 1 or self.turn.defective:
            return []
        return described(self.turn, monotone=monotone, draws=search, seed=seed, progress=progress)


class RaceLook(_Table, of=FarkleRace):
    """The race for two."""

    def risk(self) -> Any:
        return self.game.turn

    def scores(self) -> list[Part]:
        return [*standing(self.game, self.game.target), Score("this turn", value=self.game.turn, risk=True)]

    def banked(self, best: int) -> tuple[Any, str]:
        return self.game.mine + self.game.turn + best, " in all"

    def ending(self, state: Any, action: Any, outcome: Any, payoff: Any) -> Text:
        return "wins with ", self.game.mine + self.game.turn + action.points, " to ", self.game.theirs

    def show_state(self, state: Any) -> str:
        """Text of a state: ``mine=1200 theirs=800 roll=1,1,5 points=300``, or ``dice=3`` before a roll.

        Where the dice differ it begins with ``player=2`` if the second player is to move, who is `mine` then.
        """
        turn, core = self.of(state.state)
        seat = "player=2 " if isinstance(state.state, Second) else ""
        return f"{seat}{show_scores(state.counters)} {show_state(turn.book, core, state.counters['turn'])}"

    def read_state(self, text: str) -> Any:
        """State of a text; scores that are not named are those of the start, and the turn has no points then."""
        seat, rest = _read_seat(text, self.turns)
        usual = (self.game.my_points, self.game.their_points)
        scores, rest = read_scores(rest, usual[::-1] if seat else usual)
        core, turn = read_state(self.turns[seat].book, rest, f"mine=1200 theirs=800 {FORM}")
        check_undecided(text, self.game.target, scores["mine"] + turn, scores["theirs"])
        return At(Second(core) if seat else core, **scores, turn=turn)

    def summary(self, solution: Solution) -> list[str]:
        """Return the chance to win of the player who starts, and if the other one started instead."""
        game, scores = self.game, (self.game.my_points, self.game.their_points)
        if solution.horizon is not None:
            return []
        shown = [f"{solution.value():.10g} if you begin"]
        with contextlib.suppress(UnknownStateError):  # where the first never busts, the second never begins
            theirs = At(game.begin(1), mine=scores[1], theirs=scores[0], turn=0)
            shown.append(f"{1 - solution.value(theirs):.10g} if they do")
        return [f"your chance to win: {', '.join(shown)}"]

    def policies(self) -> list[NamedPolicy]:
        """``threshold:...``, as for a turn; whoever can win by banking does."""
        return _by_thresholds(self.turns, self._rule, self._value)

    def _rule(self, listed: str) -> Callable[[At[Any]], Action]:
        rules, target = {turn: _threshold_rule(turn, listed) for turn in self.turns}, self.game.target

        def rule(at: At[Any]) -> Action:
            turn, core = self.of(at.state)
            best, points = core.menu.best, at.counters["turn"]
            wins = at.counters["mine"] + points + best >= target
            return Bank(best) if wins else rules[turn](At(core, points=points))

        return rule

    def _value(self, listed: str, progress: Any) -> Enclosure:
        """Return the chance of the starter to win if both play by the same rule, on the lattice."""
        rules, game = {turn: _threshold_rule(turn, listed) for turn in self.turns}, self.game

        def scores(whole: At[Any]) -> dict[Action, Any]:
            turn, state = self.of(whole.state)
            chosen = [rules[turn](At(state, points=points)) for points in game.points()]
            at = game.turn // game.rules.grid
            found = {action: table([int(one == action) for one in chosen], at) for action in dict.fromkeys(chosen)}
            bank, wins = Bank(state.menu.best), game.mine + game.turn + state.menu.best >= game.target
            return {**found, bank: found.get(bank, 0) + 2 * wins}

        # Rolling on by the rule is offered wherever banking does not win, so the rule's action is there.
        value = evaluate(compile_lattice(game), scores, progress=progress)
        return Enclosure(value.value(), value.lower(), value.upper(), "both players on the lattice")


def _words_for(turn: KcdFarkle, dice: DiceLeft) -> str:
    book = turn.book
    if (counts := book.counts(dice)) == book.full:
        return {1: "the die", 2: "both dice"}.get(sum(counts), f"all {_COUNTS[sum(counts)]}")
    if len(counts) == 1:
        return _COUNTS[counts[0]]
    return ", ".join(f"{number} x {die.name}" for number, die in zip(counts, book.shown_dice, strict=True) if number)


def _selections(turn: KcdFarkle, roll: Rolled) -> Mapping[tuple[int, DiceLeft], list[tuple[int, ...]]]:
    """Places that may be set aside, by their points and the dice to roll next."""
    book = turn.book
    shown = book.shown_dice
    which = [shown.index(die) for die in roll.dice]
    symbols = [book.kinds[kind].symbol(face) for kind, face in zip(which, roll.faces, strict=True)]
    everywhere = range(len(symbols))
    found: dict[tuple[int, DiceLeft], list[tuple[int, ...]]] = {}
    for places in chain.from_iterable(combinations(everywhere, size) for size in range(1, len(symbols) + 1)):
        if points := turn.rules.score([symbols[at] for at in places]):
            rest = [which[at] for at in everywhere if at not in places]
            left = tuple(rest.count(kind) for kind in range(len(shown)))
            found.setdefault((points, book.left(left if any(left) else book.full)), []).append(places)
    return found


def _by_thresholds(turns: tuple[KcdFarkle, ...], rule: Callable[[str], Any], value: Any = None) -> list[NamedPolicy]:
    numbers = {len(turn.dice) for turn in turns}
    if len(numbers) > 1 or any(len(turn.kinds) > 1 or turn.defective for turn in turns):
        return []
    form = f"threshold:{','.join(f'T{dice}' for dice in range(1, max(numbers) + 1))}"
    return [NamedPolicy(form, "with d dice left bank from Td points on, else roll", rule, value)]


def _threshold_rule(turn: KcdFarkle, listed: str) -> Callable[[Any], Action]:
    """Return the rule of ``250,200,...`` (see `mdpdice.games.farkle.thresholds`)."""
    try:
        vector = [int(points) for points in listed.split(",")]
    except ValueError as error:
        msg = f"threshold:{listed}: write threshold:250,200,... with a whole number for each number of dice"
        raise GameError(msg, value=listed) from error
    return ThresholdTurn(turn).rule(vector)


def _read_seat(text: str, turns: tuple[KcdFarkle, ...]) -> tuple[int, str]:
    """Whose turn ``player=2`` says that it is, and the rest of the text; seats of equal dice are one."""
    found = _SEAT.search(text)
    return int(found is not None and found[1] == "2" and len(turns) > 1), _SEAT.sub("", text).strip()


def _chosen(roll: Rolled, sets: tuple[tuple[int, ...], ...], points: int) -> str:
    return f"{said(roll, min(sets, key=len)) if sets else 'dice'} for {points}"
