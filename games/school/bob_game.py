r"""School as Bob plays it: a Markov chain over the sets of open combinations.

Bob's decisions during a turn depend on the open combinations alone (`mdpdice.games.school.bob`).
So a whole turn is one chance node: it pays :math:`R_O` points on average, and ends with a
combination `c` with a chance :math:`P_O(c)`,

.. math:: B(O) = R_O + \sum_{c \in O} P_O(c) \, B(O \setminus \{c\}), \qquad B(\emptyset) = 0.

The dice of a turn are rolled three times at most, so these are integers over :math:`7776^3`,
and are found exactly, in 64 bits.  Bob's choices are compared in floats; where two
profits differ by less than `mdpdice.games.school.bob.TIE`, they are equal.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any, NamedTuple, Never, TypeAlias

import attrs
import numpy as np
import numpy.typing as npt

from mdpdice import Dist, Game, Node, end, go, roll
from mdpdice.games.school.averages import averages, scores
from mdpdice.games.school.bob import TIE, available, plain
from mdpdice.games.school.rules import ALL, COMBINATIONS, OPEN_HELP, Rules, opened
from mdpdice.games.school.turn import (
    HELD,
    REROLLS,
    ROLLS,
    Action,
    CrossOut,
    Dice,
    Ints,
    Score,
    multiplier,
    rerolls,
    tables,
)

Open: TypeAlias = tuple[str, ...]


@attrs.frozen
class Scored:
    """The points of a turn are paid; it ends with one of the combinations that were open in it."""

    open: Open


State: TypeAlias = Open | Scored


@attrs.frozen
class BobGame(Rules, Game[State, Never]):
    """The whole game as Bob plays it, a turn at a time; the value is Bob's average total.

    A state is the tuple of open combinations, before a turn.

    Parameters
    ----------
    little, big, two_pairs, full, grades
        See `mdpdice.games.school.rules.Rules`.
    open : tuple of str
        Combinations that are open at the start.

    Examples
    --------
    >>> from mdpdice import solve
    >>> from mdpdice.games.school import BobGame
    >>> round(solve(BobGame()).value(), 9)
    127.733620282
    """

    open: Open = attrs.field(default=ALL, converter=opened, metadata={"help": OPEN_HELP})

    def start(self) -> State:
        return self.open

    def node(self, state: State, /) -> Node[State, Never]:
        """Roll the points of a whole turn, then the combination that it ends with."""
        turns = self.turns
        if isinstance(state, Scored):
            weights = turns.weight[turns.place[state.open]].tolist()
            ends = Dist({name: weight for name, weight in zip(COMBINATIONS, weights, strict=True) if weight})
            return roll(ends, lambda name: go(_without(state.open, name)))
        if not state:
            return end()
        # Only the mean of the points matters; paid here it is one fraction, and not one for every end.
        points = sum(turns.points[turns.place[state]].tolist())
        return go(Scored(state), reward=Fraction(points, tables().total ** (REROLLS + 1)))

    @functools.cached_property
    def turns(self) -> Turns:
        """How turns end, for all sets of combinations that can be open."""
        return bob_turns(plain(self), reachable(self.open))

    def action(self, names: Open, dice: Dice, rerolls_left: int) -> Action:
        """Look up what Bob does with a roll in ascending order; `mdpdice.games.school.bob.bob` computes the same."""
        turns, roll = self.turns, ROLLS.index(dice)
        if (what := int(turns.choice[turns.place[names], rerolls_left, roll])) < 0:
            return next(again for again, held in rerolls(dice) if held == HELD[-1 - what])
        name = COMBINATIONS[what]
        return Score(name) if self.score(name, dice) is not None else CrossOut(name)


def _without(names: Open, name: str) -> Open:
    return tuple(other for other in names if other != name)


def reachable(start: Open) -> tuple[Open, ...]:
    """Return all sets of open combinations that a game can come to, the end not among them."""
    seen = {start}
    todo = [start] if start else []
    for names in todo:
        for name in available(names):
            left = _without(names, name)
            if left and left not in seen:
                seen.add(left)
                todo.append(left)
    return tuple(todo)


class Turns(NamedTuple):
    """How Bob's turns end, for some sets of open combinations.

    `choice` says what Bob does, by the rerolls left and the roll of `mdpdice.games.school.turn.ROLLS`: the index of a
    combination that ends the turn, or -1 minus the index of a way to hold dice, of `mdpdice.games.school.turn.HELD`.
    """

    place: dict[Open, int]  # the row of a set
    weight: Ints  # shape (sets, 15): chance that a turn ends with each combination, over 7776**3
    points: Ints  # shape (sets, 15): its mean score in all cases together, the sum of weights times scores
    choice: npt.NDArray[np.int16]  # shape (sets, 3, 252)


def bob_turns(rules: Rules, sets: tuple[Open, ...]) -> Turns:
    """Find what Bob does with every roll, and how turns end, for some sets of open combinations."""
    table = tables()
    known = averages(rules)
    bits = {name: 1 << at for at, name in enumerate(COMBINATIONS)}
    usable = np.array([sum(bits[name] for name in available(names)) for names in sets], dtype=np.int64)
    points = np.array([scores(rules, name)[0] for name in COMBINATIONS])
    factors = np.array([[multiplier(name, left) for name in COMBINATIONS] for left in range(REROLLS + 1)])
    held, to = np.nonzero(table.becomes)
    weight = np.zeros((len(sets), len(COMBINATIONS)), dtype=np.int64)
    total = np.zeros_like(weight)
    choice = np.zeros((len(sets), REROLLS + 1, len(ROLLS)), dtype=np.int16)
    mean = np.array([float(known[name]) for name in COMBINATIONS])
    ptr = np.searchsorted(held, np.arange(len(table.becomes) + 1))
    _compiled()(
        usable, points, factors, mean, ptr, to, table.becomes[held, to], table.first, table.row, table.holds,
        TIE, weight, total, choice,
    )  # fmt: skip
    return Turns({names: at for at, names in enumerate(sets)}, weight, total, choice)


@functools.cache
def _compiled() -> Any:
    """Return `_turns`, compiled when it is first used: importing numba takes a second."""
    import numba

    return numba.njit(cache=True, nogil=True)(_turns)


def _turns(
    usable: Ints, points: Ints, factors: Ints, average: npt.NDArray[np.float64], first_way: Ints, to: Ints,
    ways: Ints, first: Ints, row: Ints, holds: Ints, tie: float, weight: Ints, total: Ints,
    choice: npt.NDArray[np.int16],
) -> None:  # fmt: skip
    """Write Bob's choices and how Bob's turns end, for every set of usable combinations."""
    n_held, n_rolls = len(first_way) - 1, len(first)
    n_levels, n_names = factors.shape
    whole = ways[first_way[0] : first_way[1]].sum()
    profit, ahead = np.zeros((n_levels, n_rolls)), np.zeros(n_held)
    for one in range(len(usable)):
        # From the last roll to the first: the best profit.
        for left in range(n_levels):
            if left:
                for held in range(n_held):
                    ahead[held] = 0.0
                    for at in range(first_way[held], first_way[held + 1]):
                        ahead[held] += ways[at] * profit[left - 1, to[at]]
                    ahead[held] /= whole
            for dice in range(n_rolls):
                best, what = -np.inf, -1
                for name in range(n_names):
                    if usable[one] >> name & 1:
                        worth = points[name, dice] * factors[left, name] - average[name]
                        if worth > best + tie:
                            best, what = worth, name
                if left:
                    again, held = -np.inf, -1
                    for at in range(row[dice], row[dice + 1]):
                        if ahead[holds[at]] > again + tie:
                            again, held = ahead[holds[at]], holds[at]
                    if again >= best - tie:
                        best, what = max(best, again), -1 - held
                profit[left, dice] = best
                choice[one, left, dice] = what
        # From the first roll to the last: in how many cases of 7776 ** 3.
        cases = first.copy()
        over = whole ** (n_levels - 1)
        for left in range(n_levels - 1, -1, -1):
            thrown = np.zeros(n_held, dtype=np.int64)
            for dice in range(n_rolls):
                what = choice[one, left, dice]
                if what >= 0:
                    weight[one, what] += cases[dice] * over
                    total[one, what] += cases[dice] * over * points[what, dice] * factors[left, what]
                else:
                    thrown[-1 - what] += cases[dice]
            over //= whole
            cases = np.zeros(n_rolls, dtype=np.int64)
            for held in range(n_held):
                if thrown[held]:
                    for at in range(first_way[held], first_way[held + 1]):
                        cases[to[at]] += thrown[held] * ways[at]
