"""The move generator against a predicate of the rules, over all rolls of one to seven dice."""

import itertools
from collections import Counter

import pytest

from mdpdice.games.konijnenhokken.rules import Offer, Take, cage_faces, example_roll, offer, offers, run_points, takes


def moves(roll, c, defective=False):
    offered = offer(roll, c, defective=defective)
    return [] if offered is None else list(takes(offered, c, defective=defective))


@pytest.mark.parametrize("dice", range(1, 7))
def test_moves_are_those_that_the_rules_allow(dice, oracle):
    for roll, c in itertools.product(oracle.rolls(dice), range(5)):
        found = moves(roll, c)
        assert len(set(found)) == len(found)
        assert set(found) == oracle.allocations(roll, c), (roll, c)


def test_moves_of_seven_dice(oracle):
    # Seven dice are rolled before the first cage only.
    for roll in oracle.rolls(7):
        assert set(moves(roll, 0)) == oracle.allocations(roll, 0), roll


@pytest.mark.parametrize("dice", range(1, 8))
def test_moves_of_the_public_program(dice, oracle):
    for roll, c in itertools.product(oracle.rolls(dice), range(5)):
        legal = oracle.quick_allocations(roll, c)
        found = set(moves(roll, c, defective=True))
        assert found == oracle.seen_by_the_public_program(roll, legal), (roll, c)
        # It makes no mistake before the first cage, and never finds a move that is not one.
        assert found <= legal
        if c == 0:
            assert found == legal


@pytest.mark.parametrize("dice", range(1, 7))
def test_the_oracle_counts_what_it_tries(dice, oracle):
    for roll, c in itertools.product(oracle.rolls(dice), range(5)):
        assert oracle.quick_allocations(roll, c) == oracle.allocations(roll, c)


def test_a_cage_that_the_public_program_does_not_see():
    assert moves((1, 3, 6), 1) == [Take(1, 0, 0), Take(1, 0, 1)]
    assert moves((1, 3, 6), 1, defective=True) == [Take(1, 0, 0)]
    assert moves((1, 2, 3), 1, defective=True) == [Take(0, 1, 0), Take(1, 0, 0), Take(1, 0, 1), Take(1, 1, 0)]


def test_examples():
    assert moves((3, 4, 5, 6), 1) == []
    # The only 2 is the rabbit that must be taken.
    assert moves((2, 3, 4), 0) == [Take(0, 1, 0)]
    assert moves((2, 2, 4), 0) == [Take(0, 1, 0), Take(0, 1, 1), Take(0, 2, 0)]
    assert moves((1, 2, 3), 0) == [Take(0, 1, 0), Take(1, 0, 0), Take(1, 0, 1), Take(1, 0, 2), Take(1, 1, 0)]
    # In order, each once: x4 and x5 wait for x3, a second 2 is no cage.
    assert moves((1, 2, 4, 5), 1) == [Take(0, 1, 0), Take(1, 0, 0), Take(1, 1, 0)]
    assert moves((1, 5, 5), 3) == [Take(1, 0, 0), Take(1, 0, 1)]
    assert moves((1, 3, 4), 4) == [Take(1, 0, 0)]


@pytest.mark.parametrize("defective", [False, True])
@pytest.mark.parametrize("dice", range(1, 8))
def test_offers_count_all_rolls(dice, defective, oracle):
    for c in range(5):
        counted = Counter()
        for roll in oracle.rolls(dice):
            counted[offer(roll, c, defective=defective)] += oracle.ways(roll)
        assert counted.total() == 6**dice
        found = offers(dice, c, defective=defective)
        assert dict(found.items()) == {one: number * found.total // 6**dice for one, number in counted.items()}


def test_seven_dice_have_79_offers():
    assert len(offers(7, 0)) == 79


@pytest.mark.parametrize("defective", [False, True])
def test_offers_have_different_moves_and_rolls_of_one_offer_the_same(defective, oracle):
    for dice, c in itertools.product(range(1, 8), range(5)):
        known = [one for one in offers(dice, c, defective=defective) if one is not None]
        if c < 4:
            # Each offer is the largest of what may be taken, so no two of them are one state in disguise.
            assert len({tuple(takes(one, c, defective=defective)) for one in known}) == len(known)
        for one in known:
            assert offer(example_roll(one, c, dice), c, defective=defective) == one


def test_points():
    assert run_points(0, 0, 0) == 0
    assert run_points(1, 2, 0) == 5
    assert run_points(3, 0, 4) == 15
    assert cage_faces(0, 4) == (2, 3, 4, 5)
    assert cage_faces(2, 1) == (4,)
    assert example_roll(Offer(1, 2, 3), 0, 7) == (1, 2, 2, 3, 4, 6, 6)
