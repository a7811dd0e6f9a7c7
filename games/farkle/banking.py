r"""When banking is optimal, whatever happens next: a bound on the points at risk.

Let a set of dice :math:`D` bust with probability :math:`\beta(D)`, and :math:`b(m)` be the best points of a menu `m`.

*Sets that can bust.*  Suppose :math:`\beta(D) > 0` for every set that can come up in a turn, and let

.. math:: B = \max_D \frac{E[b(m)]}{\beta(D)} .

Put :math:`u(p) = p` for a player who may bank :math:`p \ge B` points or roll some `D`.  Rolling and then banking the
best is worth :math:`(1 - \beta) p + E[b] \le p`, so :math:`u` is a supersolution of the optimality equation above
`B`: nothing that a player can do is worth more than banking at once [1]_.  So a turn may end as soon as `B` is
reached, exactly.

*Sets that never bust.*  Let `Z` be the sets with :math:`\beta(D) = 0`; rolling them is free.  Call a set *safe* if a
player who rolls it can choose, for every menu, to go on with a safe set.  If one can come up, the value is infinite:
go there, never bust, never stop.  Otherwise let :math:`h(D)`, for `D` in `Z`, be the most that can be won by rolling
sets of `Z` only and then banking,

.. math:: h(D) = E\bigl[ \hat b(m) \bigr], \qquad
          \hat b(m) = \max\bigl(b(m), \max_{(s, D') \in m, D' \in Z} s + h(D')\bigr).

Whatever the player does, `Z` is left after some time, so :math:`h` is finite; the solver `exact` finds it.  The
argument above then holds for :math:`u(p, D) = p + h(D)` and the bound with :math:`\hat b` for `b`: above it, a player
rolls only what cannot bust.

References
----------
.. [1] M. L. Puterman, *Markov Decision Processes*, Wiley 1994, theorem 7.2.2 (optimal values of
   positive models are the least supersolutions).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from mdpdice import Game, Node, decide, end, go, roll, solve
from mdpdice.games.farkle.menus import DiceLeft, Menu, MenuBook, Rolls
from mdpdice.games.farkle.states import Choose, Ready, State


@attrs.frozen
class BankingBound:
    """Where a turn may end."""

    points: Fraction | None  # with these at risk, or more, only `sure` sets are rolled; None: the value is infinite
    dice: DiceLeft  # the set that needs the bound; if the value is infinite, one that can be rolled for ever
    sure: frozenset[DiceLeft]  # the sets that never bust


def banking_bound(book: MenuBook) -> BankingBound:
    """Return the bound for the dice of a book (see the module's text)."""
    rolls = _reachable(book)
    sure = {dice: found for dice, found in rolls.items() if not found.bust}
    if safe := _safe(sure):
        return BankingBound(None, next(iter(safe)), frozenset(sure))
    best = functools.partial(_best, gains=_sure_gains(sure))
    bounds = {dice: found.menus.mean(best) / found.bust for dice, found in rolls.items() if found.bust}
    # Without any set that can bust nothing is at risk, from 0 points on.
    worst = max(bounds, key=bounds.__getitem__, default=book.left(book.full))
    return BankingBound(bounds.get(worst, Fraction(0)), worst, frozenset(sure))


def _reachable(book: MenuBook) -> dict[DiceLeft, Rolls]:
    """Return the rolls of all sets of dice that can come up, the full set first."""
    start = book.left(book.full)
    found = {start: book.rolls(start)}
    todo = [start]
    for dice in todo:
        for menu in found[dice].menus:
            for keep in menu.keeps:
                if keep.dice not in found:
                    found[keep.dice] = book.rolls(keep.dice)
                    todo.append(keep.dice)
    return found


def _safe(sure: Mapping[DiceLeft, Rolls]) -> dict[DiceLeft, Rolls]:
    """Return the largest family of sets that can be rolled for ever without a bust."""
    safe = dict(sure)
    while True:
        left = {
            dice: rolls
            for dice, rolls in safe.items()
            if all(any(keep.dice in safe for keep in menu.keeps) for menu in rolls.menus)
        }
        if len(left) == len(safe):
            return safe
        safe = left


def _best(menu: Menu, gains: Mapping[DiceLeft, Fraction]) -> Fraction:
    """Return the most that a menu is worth, when some sets may be rolled for what they gain."""
    return max([Fraction(menu.best), *(keep.points + gains[keep.dice] for keep in menu.keeps if keep.dice in gains)])


def _sure_gains(sure: Mapping[DiceLeft, Rolls]) -> dict[DiceLeft, Fraction]:
    """Return `h` of the module's text, as the exact value of a game."""
    if not sure:
        return {}

    def node(state: State | str) -> Node[State | str, Any]:
        if isinstance(state, str):
            return decide([(dice, go(Ready(dice))) for dice in sure])
        if isinstance(state, Ready):
            return roll(sure[state.dice].menus, lambda menu: go(Choose(menu)))
        on = [(keep, go(Ready(keep.dice), reward=keep.points)) for keep in state.menu.keeps if keep.dice in sure]
        return decide([("bank", end(state.menu.best)), *on])

    start: State | str = "any set"
    solution = solve(Game.of(start=start, node=node), solver="exact")
    return {dice: Fraction(solution.exact(Ready(dice))) for dice in sure}
