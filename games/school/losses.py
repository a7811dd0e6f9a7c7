r"""What Bob loses, decision by decision.

Let :math:`V` be the value of the game, and :math:`Q(s, a)` what the decision `a` in the state `s` is
worth with the best play afterwards.  Whatever Bob plays, his value `B` satisfies

.. math:: V - B = \sum_s N_B(s) \, \bigl(V(s) - Q(s, b(s))\bigr),

where :math:`b(s)` is his decision, and :math:`N_B(s)` how often his games come to `s` (the performance
difference lemma [1]_).  So what he loses is the sum of what single decisions lose.  This module adds it
up by turns and by kinds of decisions: what he does, and what would be best.

References
----------
.. [1] S. Kakade and J. Langford, "Approximately optimal approximate reinforcement learning", ICML 2002,
   lemma 6.1.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from mdpdice.games.school.averages import scores
from mdpdice.games.school.bob import TIE, available
from mdpdice.games.school.bob_game import BobGame, Open, Turns
from mdpdice.games.school.rules import COMBINATIONS, Rules
from mdpdice.games.school.turn import REROLLS, Ints, multiplier, tables

__all__ = ["KINDS", "Losses", "bob_losses"]

Floats: TypeAlias = npt.NDArray[np.float64]

KINDS: Final = ("score", "cross out", "reroll")


class Losses(NamedTuple):
    """What Bob loses in a game.

    Attributes
    ----------
    total : float
        The points that he loses.
    by_turn : ndarray of float64, shape (turns,)
        Of these in every turn, the first one first.
    by_kind : ndarray of float64, shape (3, 3)
        Of these by what he does (the row) and what would be best (the column), in the order of
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
        The whole game as he plays it.
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
    _compiled()(
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


@functools.cache
def _compiled() -> Callable[..., None]:
    """Return `_lose`, compiled when it is first used: importing numba takes a second."""
    import numba

    function: Callable[..., None] = numba.njit(cache=True, nogil=True)(_lose)
    return function


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
        # From the first roll to the last: where Bob comes, and what his decisions lose.
        cases = first.copy()
        for left in range(n_levels - 1, -1, -1):
            thrown = np.zeros(n_held)
            for dice in range(n_rolls):
                what = choice[one, left, dice]
                if what >= 0:
                    worth = points[what, dice] * factors[left, what] + ahead[one, what]
                    his = 0 if fits[what, dice] else 1
                else:
                    worth, his = hold[left, -1 - what], 2
                    thrown[-1 - what] += cases[dice]
                less = best[left, dice] - worth
                if less > tie:
                    lost[one, his, kind[left, dice]] += cases[dice] * less
                    number[one, his, kind[left, dice]] += cases[dice]
            cases = np.zeros(n_rolls)
            for held in range(n_held):
                if thrown[held]:
                    for at in range(first_way[held], first_way[held + 1]):
                        cases[to[at]] += thrown[held] * chance[at]
