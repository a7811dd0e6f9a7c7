r"""Bob the Dice Master against the best play of School: what the rule loses, in which turns, and why.

School is a dice game with 15 combinations, and Bob the rule of thumb by which a public program plays
it (github.com/egeorg/BobTheDiceMaster).  Both are shipped; `mdpdice.games.school` has the rules.

Let :math:`V` be the value of the game, and :math:`Q(s, a)` what the decision `a` in the state `s` is
worth with the best play afterwards.  Whatever Bob plays, the value `B` of that play satisfies

.. math:: V - B = \sum_s N_B(s) \, \bigl(V(s) - Q(s, b(s))\bigr),

where :math:`b(s)` is Bob's decision, and :math:`N_B(s)` how often Bob's games come to `s` (the performance
difference lemma [1]_).  So Bob's loss is the sum of what single decisions lose.  This script adds it
up by turns and by kinds of decisions: what Bob does, and what would be best.

References
----------
.. [1] S. Kakade and J. Langford, "Approximately optimal approximate reinforcement learning", ICML 2002,
   lemma 6.1.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from mdpdice import Solution, solve
from mdpdice.answers.grid_values import GridValues
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.games.school import BobGame, School, averages
from mdpdice.games.school.averages import scores
from mdpdice.games.school.bob import TIE, available
from mdpdice.games.school.bob_game import Open, Turns
from mdpdice.games.school.rules import COMBINATIONS, Rules
from mdpdice.games.school.turn import REROLLS, Ints, multiplier, tables

Floats: TypeAlias = npt.NDArray[np.float64]

KINDS: Final = ("score", "cross out", "reroll")
FREE = ("grade-4", "grade-5", "grade-6")  # three grades are played, and nothing else


class Losses(NamedTuple):
    """What Bob loses in a game.

    Attributes
    ----------
    total : float
        The points that Bob loses.
    by_turn : ndarray of float64, shape (turns,)
        Of these in every turn, the first one first.
    by_kind : ndarray of float64, shape (3, 3)
        Of these by what Bob does (the row) and what would be best (the column), in the order of
        `KINDS`.  The same kind twice: another combination, or other dice.
    number : ndarray of float64, shape (3, 3)
        How many decisions of a game that is, on average, those that lose nothing left out.
    """

    total: float
    by_turn: Floats
    by_kind: Floats
    number: Floats


def bob_losses(game: BobGame, values: Mapping[Open, float]) -> Losses:
    """Find out where Bob loses points.

    Parameters
    ----------
    game : BobGame
        The whole game as Bob plays it.
    values : mapping of tuple of str to float
        What every set of open combinations is worth with the best play, before a turn.

    Returns
    -------
    Losses
    """
    turns = game.turns
    lost, number = _lost_in_turns(game, turns, values)
    visits = _visits(game, turns)
    by_turn = np.zeros(len(game.open))
    for names, at in turns.place.items():
        by_turn[len(game.open) - len(names)] += visits[at] * lost[at].sum()
    by_kind = np.tensordot(visits, lost, axes=1)
    return Losses(float(by_kind.sum()), by_turn, by_kind, np.tensordot(visits, number, axes=1))


def _visits(game: BobGame, turns: Turns) -> Floats:
    """Return the chance that Bob's games come to every set."""
    visits = np.zeros(len(turns.place))
    visits[turns.place[game.open]] = 1.0
    chance = turns.weight / tables().total ** (REROLLS + 1)
    # Sets are in the order of their turns.
    for names, at in turns.place.items():
        for index in np.flatnonzero(turns.weight[at]):
            left = tuple(name for name in names if name != COMBINATIONS[index])
            if left:
                visits[turns.place[left]] += visits[at] * chance[at, index]
    return visits


def _lost_in_turns(rules: Rules, turns: Turns, values: Mapping[Open, float]) -> tuple[Floats, Floats]:
    table = tables()
    ahead = np.full(turns.weight.shape, -np.inf)
    for names, at in turns.place.items():
        for name in available(names):
            left = tuple(other for other in names if other != name)
            ahead[at, COMBINATIONS.index(name)] = values[left] if left else 0.0
    known = [scores(rules, name) for name in COMBINATIONS]
    factors = np.array([[multiplier(name, left) for name in COMBINATIONS] for left in range(REROLLS + 1)])
    held, to = np.nonzero(table.becomes)
    lost, number = np.zeros((2, len(turns.place), len(KINDS), len(KINDS)))
    _compiled(
        turns.choice,
        ahead,
        np.array([points for points, _ in known]),
        np.array([fits for _, fits in known]),
        factors,
        np.searchsorted(held, np.arange(len(table.becomes) + 1)),
        to,
        table.becomes[held, to] / table.total,
        table.first / table.total,
        table.row,
        table.holds,
        TIE,
        lost,
        number,
    )
    return lost, number


def _lose(
    choice: npt.NDArray[np.int16],
    ahead: Floats,
    points: Ints,
    fits: npt.NDArray[np.bool_],
    factors: Ints,
    first_way: Ints,
    to: Ints,
    chance: Floats,
    first: Floats,
    row: Ints,
    holds: Ints,
    tie: float,
    lost: Floats,
    number: Floats,
) -> None:
    """Write what the decisions of every turn lose, and how many of them lose something."""
    n_held, n_rolls = len(first_way) - 1, len(first)
    n_levels, n_names = factors.shape
    best, hold = np.zeros((n_levels, n_rolls)), np.zeros((n_levels, n_held))
    kind = np.zeros((n_levels, n_rolls), dtype=np.int64)
    for one in range(len(choice)):
        # From the last roll to the first: the best decision.
        for left in range(n_levels):
            if left:
                for held in range(n_held):
                    hold[left, held] = 0.0
                    for at in range(first_way[held], first_way[held + 1]):
                        hold[left, held] += chance[at] * best[left - 1, to[at]]
            for dice in range(n_rolls):
                worth, what = -np.inf, 0
                for name in range(n_names):
                    this = points[name, dice] * factors[left, name] + ahead[one, name]
                    if this > worth:
                        worth, what = this, 0 if fits[name, dice] else 1
                if left:
                    for at in range(row[dice], row[dice + 1]):
                        if hold[left, holds[at]] > worth + tie:
                            worth, what = hold[left, holds[at]], 2
                best[left, dice], kind[left, dice] = worth, what
        # From the first roll to the last: where Bob comes, and what these decisions lose.
        cases = first.copy()
        for left in range(n_levels - 1, -1, -1):
            thrown = np.zeros(n_held)
            for dice in range(n_rolls):
                what = choice[one, left, dice]
                if what >= 0:
                    worth = points[what, dice] * factors[left, what] + ahead[one, what]
                    made = 0 if fits[what, dice] else 1
                else:
                    worth, made = hold[left, -1 - what], 2
                    thrown[-1 - what] += cases[dice]
                less = best[left, dice] - worth
                if less > tie:
                    lost[one, made, kind[left, dice]] += cases[dice] * less
                    number[one, made, kind[left, dice]] += cases[dice]
            cases = np.zeros(n_rolls)
            for held in range(n_held):
                if thrown[held]:
                    for at in range(first_way[held], first_way[held + 1]):
                        cases[to[at]] += thrown[held] * chance[at]


_compiled: Callable[..., None] = numba.njit()(_lose)


# --- the example ----------------------------------------------------------------------------------


def values_of_sets(game: School, best: Solution, sets: Iterable[Open]) -> dict[Open, float]:
    """What sets of open combinations are worth before a turn, in the order of the flags."""
    # The values before a turn are what is stored for every set, that is for every point of the grid.
    assert isinstance(best.table, GridValues)
    (stored,) = best.table.stored
    boxes = {name: 1 << box for box, name in enumerate(game.open)}
    return {names: float(stored[sum(boxes.values()) - sum(map(boxes.__getitem__, names))]) for names in sets}


def main() -> None:
    game, bob = School(), BobGame()
    best, plays = solve(compile_lattice(game)), solve(bob)
    print(f"the best play {best.value():.9f}, Bob {plays.value():.9f}")
    values = values_of_sets(game, best, bob.turns.place)

    losses = bob_losses(bob, values)
    print(f"Bob loses {losses.total:.9f} points a game")
    for turn, lost in enumerate(losses.by_turn, start=1):
        print(f"  turn {turn:>2}  {lost:.4f}")
    print(f"wrong decisions in a game: {losses.number.sum():.2f}")
    print("  Bob        best       number  points")
    for made, row in enumerate(KINDS):
        for right, column in enumerate(KINDS):
            print(f"  {row:<9}  {column:<9}  {losses.number[made, right]:6.3f}  {losses.by_kind[made, right]:.4f}")

    names = tuple(name for name in game.open if name in FREE or not name.startswith("grade"))
    print("prices of combinations, with three grades played and nothing else")
    print("                     Bob's    true  difference")
    for name, average in averages(game).items():
        if name in names:
            left = tuple(other for other in names if other != name)
            price = values[names] - values[left]
            print(f"  {name:<15}  {float(average):9.4f} {price:8.4f} {price - float(average):8.4f}")


if __name__ == "__main__":
    main()
