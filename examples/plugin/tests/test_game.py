"""The game: what mdpdice relies on, and its value by another way."""

from fractions import Fraction
from functools import cache

import pytest
from mdpdice_twenty_one import Banker, Player, TwentyOne

from mdpdice import explore, solve
from mdpdice.testing import check_game


@pytest.mark.parametrize("game", [TwentyOne(), TwentyOne(limit=10, banker_stands=8, sides=4)])
def test_conformance(game: TwentyOne) -> None:
    check_game(
        game,
        reaches=[Player(game.limit), Banker(0, game.limit)],
        require=["determinism", "termination", "texts", "payoff_range", "estimate", "solution"],
    )


def by_recursion(limit: int, stands: int, sides: int) -> Fraction:
    """The value in fractions, by the printed rules, without mdpdice."""
    eyes = range(1, sides + 1)

    @cache
    def banker(points: int, beat: int) -> Fraction:
        if points >= stands:
            return Fraction(1 if points > limit or points < beat else -1 if points > beat else 0)
        return sum((banker(points + each, beat) for each in eyes), Fraction(0)) / sides

    @cache
    def player(points: int) -> Fraction:
        if points > limit:
            return Fraction(-1)
        return max(banker(0, points), sum((player(points + each) for each in eyes), Fraction(0)) / sides)

    return player(0)


@pytest.mark.parametrize(("limit", "stands", "sides"), [(21, 17, 6), (10, 8, 4), (5, 9, 2)])
def test_value(limit: int, stands: int, sides: int) -> None:
    game = TwentyOne(limit=limit, banker_stands=stands, sides=sides)
    assert solve(explore(game), solver="exact").exact() == by_recursion(limit, stands, sides)
