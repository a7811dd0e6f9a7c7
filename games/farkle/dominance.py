r"""May a player forget about selections that look worse?  A check, with a proof or a counterexample.

A program that searches a turn of Farkle would like to drop, from the legal selections
of a roll, those that another one *dominates*: say, one that scores at least as much and
leaves at least as many dice.  Whether that preserves the value of the game is a claim
about the rules.  With :math:`V` the optimal values of the turn with all selections, the
claim holds iff at every position the best selection that is left is worth as much as the
best of all,

.. math:: \max_{o \in \text{left}(m)} V(o) = \max_{o \in m} V(o)
          \quad\text{for every menu } m \text{ and all points } p,

since then :math:`V` also solves the optimality equation of the pruned turn, whose solution is
unique.  `check_pruning` computes both sides in rational numbers, for every menu of
every number of dice and all points on the grid, also those that play never reaches: so
it proves the claim, or gives the position where it fails worst.

Banking is no selection and is never dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TypeAlias

import attrs

from mdpdice.errors import GameError, UnsupportedError
from mdpdice.games.farkle.game import KcdFarkle
from mdpdice.games.farkle.menus import Keep, Menu

__all__ = ["PRUNINGS", "Counterexample", "Verdict", "check_pruning"]

Dominates: TypeAlias = Callable[[Keep, Keep], bool]
_Values: TypeAlias = dict[tuple[int, int], Fraction]


def _number(keep: Keep) -> int:
    return keep.dice if isinstance(keep.dice, int) else sum(keep.dice)


def _same_dice(one: Keep, other: Keep) -> bool:
    return _number(one) == _number(other) and one.points >= other.points


def _points_and_dice(one: Keep, other: Keep) -> bool:
    return _number(one) >= _number(other) and one.points >= other.points


def _points(one: Keep, other: Keep) -> bool:
    return one.points >= other.points


def _more_dice(one: Keep, other: Keep) -> bool:
    return _number(one) >= _number(other)


PRUNINGS: Mapping[str, Dominates] = MappingProxyType(
    {
        "same-dice": _same_dice,
        "points-and-dice": _points_and_dice,
        "points": _points,
        "dice": _more_dice,
    }
)
"""When one way to roll on dominates another one.

``same-dice``: it leaves as many dice and scores at least as much.
``points-and-dice``: it leaves at least as many dice and scores at least as much.
``points``: it scores at least as much.
``dice``: it leaves at least as many dice.  All dice count as left when none is (hot dice).
"""


@attrs.frozen
class Counterexample:
    """A position where every best selection was dropped.

    Parameters
    ----------
    roll : tuple of int
        Faces on the table.
    points : int
        Points at risk before.
    selection : Keep
        The best of all selections: its points, and the dice to roll next.
    value : Fraction
        What it is worth.
    instead : Keep or None
        The best of what is left, None for banking.
    instead_value : Fraction
        What that is worth.
    """

    roll: tuple[int, ...]
    points: int
    selection: Keep
    value: Fraction
    instead: Keep | None
    instead_value: Fraction

    @property
    def loss(self) -> Fraction:
        """Expected points that the pruning costs here."""
        return self.value - self.instead_value

    def __str__(self) -> str:
        after = (
            "banking" if self.instead is None else f"{self.instead.points} with {_number(self.instead)} dice"
        )
        return (
            f"roll {','.join(map(str, self.roll))} with {self.points} points at risk: taking {self.selection.points}"
            f" and rolling {_number(self.selection)} dice is worth {float(self.value):.10g}, and the best that is left,"
            f" {after}, {float(self.instead_value):.10g}"
        )


@attrs.frozen
class Verdict:
    """What a check of a pruning found.

    Parameters
    ----------
    holds : bool
        Whether the pruning preserves the value of every position: proved, or refuted.
    positions : int
        Pairs of menu and points that were compared.
    failures : int
        How many of them lose.
    kept, selections : int
        Selections that are left, of how many, in all menus together.
    value, pruned : Fraction
        Expected score of a turn with all selections, and with those that are left.
    counterexample : Counterexample or None
        Where the pruning loses most.
    """

    holds: bool
    positions: int
    failures: int
    kept: int
    selections: int
    value: Fraction
    pruned: Fraction
    counterexample: Counterexample | None


def check_pruning(game: KcdFarkle, dominates: str | Dominates = "points-and-dice") -> Verdict:
    """Prove or refute that dropping dominated selections preserves the values of a turn.

    Parameters
    ----------
    game : KcdFarkle
        The turn, with dice of one kind.
    dominates : str or callable
        One of `PRUNINGS`, or ``dominates(one, other)`` for two different ways to roll
        on.  Of ways that dominate each other the first one stays.

    Examples
    --------
    A turn that ends at a low cap is best ended with as much beyond the cap as possible,
    so it may pay to take fewer points and roll again:

    >>> from mdpdice.games.farkle import KcdFarkle
    >>> from mdpdice.games.farkle.dominance import check_pruning
    >>> found = check_pruning(KcdFarkle(cap=500), "same-dice")
    >>> found.holds, found.counterexample.selection
    (False, Keep(points=50, dice=5))
    """
    if len(game.kinds) > 1 or game.defective:
        raise UnsupportedError("a pruning is checked for dice of one kind and defects='none'", value=game)
    if game.cap is None and game.banking_bound.sure:
        raise UnsupportedError("dice that never bust need a cap for this check", value=game)
    if isinstance(dominates, str) and dominates not in PRUNINGS:
        raise GameError(
            f"there is no pruning {dominates!r}; there are {', '.join(PRUNINGS)}", value=dominates
        )
    rule = PRUNINGS[dominates] if isinstance(dominates, str) else dominates
    left = {
        menu: _pruned(menu, rule)
        for dice in range(1, len(game.dice) + 1)
        for menu in game.book.rolls(dice).menus
    }
    everything = {menu: menu.keeps for menu in left}
    value = _solve(game, everything)
    failures, worst = 0, None
    grid = range(0, game.limit, game.rules.grid)
    for menu, keeps in left.items():
        if len(keeps) == len(menu.keeps):
            continue
        for points in grid:
            best, selection = _best(game, menu, menu.keeps, points, value)
            rest, instead = _best(game, menu, keeps, points, value)
            if rest < best:
                failures += 1
                if worst is None or best - rest > worst.loss:
                    assert selection is not None
                    symbols = game.book.example(menu)
                    roll = tuple(symbol for shown in symbols for symbol in shown)
                    worst = Counterexample(roll, points, selection, best, instead, rest)
    start = len(game.dice), 0
    return Verdict(
        failures == 0,
        len(left) * len(grid),
        failures,
        sum(map(len, left.values())),
        sum(map(len, everything.values())),
        value[start],
        _solve(game, left)[start] if failures else value[start],
        worst,
    )


def _pruned(menu: Menu, dominates: Dominates) -> tuple[Keep, ...]:
    """Ways to roll on that no other one dominates."""
    left: list[Keep] = []
    for at, keep in enumerate(menu.keeps):
        beaten = any(
            dominates(other, keep) and (place < at or not dominates(keep, other))
            for place, other in enumerate(menu.keeps)
            if place != at
        )
        if not beaten:
            left.append(keep)
    return tuple(left)


def _solve(game: KcdFarkle, keeps: Mapping[Menu, tuple[Keep, ...]]) -> _Values:
    """Value of rolling so many dice with so many points at risk, for all of both."""
    value: _Values = {}
    for points in reversed(range(0, game.limit, game.rules.grid)):
        for dice in range(1, len(game.dice) + 1):
            menus = game.book.rolls(dice).menus
            # Integer weights: one division per position keeps the fractions small.
            total = sum(
                (
                    weight * _best(game, menu, keeps[menu], points, value)[0]
                    for menu, weight in zip(menus.outcomes, menus.weights, strict=True)
                    if menu.best
                ),
                Fraction(0),
            )
            value[dice, points] = total / menus.total
    return value


def _best(
    game: KcdFarkle, menu: Menu, keeps: tuple[Keep, ...], points: int, value: _Values
) -> tuple[Fraction, Keep | None]:
    """Value of the best way on, and which it is; None for banking."""
    bank = points + menu.best
    if game.at_cap == "clip" and game.cap is not None:
        bank = min(bank, game.cap)
    best, way = Fraction(bank), None
    for keep in keeps:
        after = points + keep.points
        if after < game.limit and (worth := value[_number(keep), after]) > best:
            best, way = worth, keep
    return best, way
