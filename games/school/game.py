"""The whole solitaire game of School: 15 turns, one for every combination.

A state is the set of combinations that are used, which are *flags* beside the states of one turn
(`mdpdice.games.school.turn`); the equation stands in ``docs/games/school.md``.  While more than three grades are open a
turn ends with a grade: nine other combinations wait for the first three grades.

The value with the rules of the public program (github.com/egeorg/BobTheDiceMaster) is 132.339610477; Bob, who plays by
its rule of thumb (`mdpdice.games.school.bob`), gets 127.733620282.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, TypeAlias

import attrs

from mdpdice import At, Edge, Flags, Game, Node, Option, decide, end, go, roll, when
from mdpdice.errors import GameError
from mdpdice.games.school.rules import ALL, GRADES, OPEN_HELP, Rules, opened
from mdpdice.games.school.turn import REROLLS, Action, CrossOut, Dice, Held, Rolled, Score, multiplier, rerolls, rolled

State: TypeAlias = Held | Rolled

FREE = 3
"""Other combinations are open to a turn once no more than so many grades are left."""


def _some_open(names: Any) -> tuple[str, ...]:
    if not (found := opened(names)):
        raise GameError("open names no combination; a game has one turn at least", value=names)
    return found


@attrs.frozen
class School(Rules, Game[State, Action]):
    """The solitaire game of School, 15 combinations in 15 turns, for as many points as possible.

    Parameters
    ----------
    little, big, two_pairs, full, grades
        See `mdpdice.games.school.rules.Rules`.
    open : tuple of str
        Combinations that are open at the start, by default all.

    Examples
    --------
    >>> from mdpdice import solve
    >>> from mdpdice.games.school import School
    >>> round(solve(School(open="care,poker,trash")).value(), 6)
    48.329241
    """

    open: tuple[str, ...] = attrs.field(default=ALL, converter=_some_open, metadata={"help": OPEN_HELP})

    used = Flags(lambda game: game.open)

    def start(self) -> State:
        """All dice are about to be rolled for the first time."""
        return Held((), REROLLS)

    def node(self, state: State, /) -> Node[State, Action]:
        """Return a roll of the dice that are not held, or what to do with the roll."""
        if isinstance(state, Rolled):
            again = rerolls(state.dice) if state.rerolls else ()
            moves = ((one, go(Held(held, state.rerolls - 1))) for one, held in again)
            return decide([*_endings(self).of(state), *moves])
        dice: Edge[State] = roll(rolled(state.dice), lambda dice: go(Rolled(dice, state.rerolls)))
        first = state.rerolls == REROLLS
        return when(self.used.has(*range(len(self.open))), end(), dice) if first else dice

    def open_at(self, state: At[State]) -> tuple[str, ...]:
        """Return the combinations that are open in a state."""
        used = state.counters["used"]
        return tuple(name for box, name in enumerate(self.open) if not used >> box & 1)


class _Endings:
    """The ways to end a turn; rolls that score alike share one option, so that it is made, and read, once."""

    def __init__(self, game: School) -> None:
        self.game = game
        grades = [box for box, name in enumerate(game.open) if name in GRADES]
        waiting = len(grades) - FREE  # so many grades come first
        self.usable = [~game.used[box] for box in range(len(game.open))]
        for box, name in enumerate(game.open) if waiting > 0 else ():
            if name not in GRADES:
                self.usable[box] &= game.used.count(grades) >= waiting
        self.points: dict[Dice, list[int | None]] = {}
        self.made: dict[tuple[int, int | None], tuple[Action, Option[State]]] = {}

    def of(self, state: Rolled) -> Iterator[tuple[Action, Option[State]]]:
        """Score, or cross out, in the order of the combinations."""
        game = self.game
        if (points := self.points.get(state.dice)) is None:
            points = self.points[state.dice] = [game.score(name, state.dice) for name in game.open]
        for box, name in enumerate(game.open):
            if (scored := points[box]) is not None:
                yield self._option(box, scored * multiplier(name, state.rerolls))
            if name not in GRADES:
                yield self._option(box, None)

    def _option(self, box: int, paid: int | None) -> tuple[Action, Option[State]]:
        """Score in a box, or with None cross it out."""
        if (found := self.made.get((box, paid))) is None:
            game = self.game
            name = game.open[box]
            action = CrossOut(name) if paid is None else Score(name)
            edge: Edge[State] = go(game.start(), game.used.add(box), reward=paid or 0)
            found = self.made[box, paid] = action, when(self.usable[box], edge)
        return found


_endings = functools.lru_cache(maxsize=8)(_Endings)
