"""The scoring rules against an independent legality and score predicate."""

import itertools

import pytest

from mdpdice.errors import GameError
from mdpdice.games.farkle.rules import JOKER, KCD, MAX_DICE, PATCH, RULES, Rules, counts_of, pack, unpack


def multisets(symbols, most):
    for number in range(1, most + 1):
        yield from itertools.combinations_with_replacement(symbols, number)


@pytest.mark.parametrize("rules", RULES.values(), ids=lambda rules: rules.name)
def test_scores_of_all_selections_without_jokers(rules, oracle):
    for dice in multisets(range(1, 7), MAX_DICE):
        assert rules.score(dice) == oracle.score(rules.name, dice), dice


@pytest.mark.parametrize("jokers", [1, 2])
@pytest.mark.parametrize("rules", RULES.values(), ids=lambda rules: rules.name)
def test_scores_of_all_selections_with_jokers(rules, jokers, oracle):
    for dice in multisets(range(1, 7), MAX_DICE - jokers):
        chosen = (*dice, *[JOKER] * jokers)
        assert rules.score(chosen) == oracle.score(rules.name, chosen), chosen


@pytest.mark.parametrize("rules", RULES.values(), ids=lambda rules: rules.name)
def test_selections_of_all_rolls(rules, oracle):
    for roll in multisets(range(1, 7), MAX_DICE):
        subsets = {
            tuple(sorted(chosen)) for size in range(1, len(roll) + 1) for chosen in itertools.combinations(roll, size)
        }
        legal = {counts_of(chosen): points for chosen in subsets if (points := oracle.score(rules.name, chosen))}
        assert rules.selections(roll) == legal, roll


def test_joker_examples():
    assert KCD.score([1, 2, 3, 4, 5, JOKER]) == 1500
    assert KCD.score([3, 3, JOKER]) == 300
    assert KCD.score([1, JOKER, JOKER, 5, 5, 5]) == 2100


@pytest.mark.parametrize("number", range(1, MAX_DICE + 1))
def test_jokers_never_score_alone(number):
    assert KCD.score([JOKER] * number) == 0
    assert PATCH.score([JOKER] * number) == 0


def test_joker_beside_a_single_is_not_used():
    assert KCD.score([1, JOKER]) == 0
    assert KCD.selections([1, JOKER]) == {counts_of([1]): 100}


def test_faces_of_several_readings():
    # Four threes and two fours: the whole is more than the parts that a careless program adds.
    assert PATCH.score([4, 3, 3, 3, 4, 3]) == 1500
    # Two triplets go before 1000 + 200 for four and two ones, and before three and three.
    assert PATCH.score([1, 1, 1, 1, 5, 5]) == 1500
    assert PATCH.score([1, 1, 1, 5, 5, 5]) == 2500
    assert PATCH.score([2, 2, 2, 2, 2, 2]) == 3000
    assert KCD.score([1, 1, 1, 5, 5, 5]) == 1500
    assert KCD.score([1, 1, 2, 3, 4, 5]) == 600
    assert KCD.score([2, 2, 3, 3, 4, 4]) == 0


def test_doubling():
    assert [KCD.score([2] * number) for number in range(1, 7)] == [0, 0, 200, 400, 800, 1600]
    assert [KCD.score([1] * number) for number in range(1, 7)] == [100, 200, 1000, 2000, 4000, 8000]
    assert [PATCH.score([1] * number) for number in range(1, 7)] == [100, 200, 300, 1000, 2000, 3000]


def test_a_new_rule_set_is_a_value():
    house = Rules("house", {"1": 100, "AAA": 500, "BBBA": 700, "1111": 1200}, doubling=True)
    assert house.score([2, 2, 2]) == 500
    assert house.score([2, 2, 2, 3]) == 700
    # Given for four ones, so not doubled.
    assert house.score([1, 1, 1, 1]) == 1200
    assert house.score([4, 4, 4, 4]) == 1000
    assert hash(house) == hash(Rules("house", dict(house.patterns), doubling=True))


def test_a_pattern_worth_less_than_doubling_makes_it_is_refused():
    with pytest.raises(GameError, match="given 1500 points, and doubling makes them 1600"):
        Rules("wrong", {"222": 200, "AAAAAA": 1500}, doubling=True)
    assert Rules("right", {"222": 200, "AAAAAA": 1600}, doubling=True).score([2] * 6) == 1600


@pytest.mark.parametrize("pattern", ["", "0", "7", "1 1", "1111111", "-"])
def test_wrong_patterns(pattern):
    with pytest.raises(GameError, match="not a pattern"):
        Rules("wrong", {pattern: 100})


def test_wrong_points_and_symbols():
    with pytest.raises(GameError, match="positive"):
        Rules("wrong", {"1": 0})
    with pytest.raises(GameError, match="1 to 6"):
        KCD.score([0])
    with pytest.raises(GameError, match="more than 6"):
        KCD.score([1] * 7)


def test_packing_is_a_bijection():
    vectors = [counts_of(dice) for dice in multisets(range(1, JOKER + 1), MAX_DICE)]
    assert len(vectors) == 1715
    assert len(set(vectors)) == len({pack(counts) for counts in vectors}) == len(vectors)
    for counts in vectors:
        assert unpack(pack(counts)) == counts


def test_packing_adds():
    one, other = counts_of([1, 5, JOKER]), counts_of([5, 6, 6])
    assert pack(one) + pack(other) == pack(tuple(map(int.__add__, one, other)))
