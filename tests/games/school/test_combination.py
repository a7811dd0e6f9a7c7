"""The averages of the public program's table as exact rationals, by integers, by solvers, and by an oracle."""

from fractions import Fraction

import attrs
import pytest

from mdpdice import cross_check, explore, solve
from mdpdice.errors import GameError, UnknownStateError
from mdpdice.games.school import COMBINATIONS, CrossOut, Held, Reroll, Rolled, Rules, SchoolCombination, Score, averages
from mdpdice.looks import look_of

# The public program's table, github.com/egeorg/BobTheDiceMaster, as the rationals that its floats stand for.
STRAIGHT = Fraction(20792087275, 4897760256)
TABLE = {f"grade-{face}": Fraction(face * 455, 216) for face in range(1, 7)} | {
    "pair": Fraction(101177465, 6377292),
    "set": Fraction(33725323259, 2902376448),
    "two-pairs": Fraction(53481145795, 3265173504),
    "full": Fraction(174646195, 22674816),
    "care": Fraction(1719467, 354294),
    "little-straight": STRAIGHT,
    "big-straight": Fraction(20792087275, 3265173504),
    "poker": Fraction(3327235, 3779136),
    "trash": Fraction(545885, 15552),
}
# The floats in school-bob-algorithm.md and in the program, with 15 and 20 points for the straights.
PRINTED = dict(
    zip(
        COMBINATIONS,
        [
            *(2.1064814814814756, 4.2129629629629575, 6.3194444444444455),
            *(8.425925925925913, 10.532407407407392, 12.6388888888889),
            *(15.865270870457234, 11.619899714332302, 16.37926613378522, 7.702210020138647),
            *(4.853220771449692, 3.183917676890467, 4.245223569187295),
            *(0.8804221388169133, 35.100630144032884),
        ],
        strict=True,
    )
)


def game(combination, **rules):
    return SchoolCombination(combination=combination, **rules)


def test_the_table_in_integers():
    assert averages(Rules(little=20, big=30, grades="positive")) == TABLE
    program = averages(Rules(grades="positive"))
    assert program == TABLE | {"little-straight": STRAIGHT * Fraction(3, 4), "big-straight": STRAIGHT}
    assert {name: float(value) for name, value in program.items()} == pytest.approx(PRINTED, rel=1e-14)


def test_grades_are_shifted():
    negative, positive = averages(Rules()), averages(Rules(grades="positive"))
    for face in range(1, 7):
        name = f"grade-{face}"
        assert positive[name] - negative[name] == 5 * face
        assert negative[name] == Fraction(-625 * face, 216)


@pytest.mark.parametrize("combination", ["grade-1", "set", "two-pairs", "big-straight"])
def test_the_table_by_the_exact_back_end(combination):
    solution = solve(game(combination, little=20, big=30), solver="exact")
    assert solution.exact() == TABLE[combination]


@pytest.mark.slow
@pytest.mark.parametrize("combination", sorted(set(COMBINATIONS) - {"grade-1", "set", "two-pairs", "big-straight"}))
def test_the_rest_of_the_table_by_the_exact_back_end(combination):
    test_the_table_by_the_exact_back_end(combination)


@pytest.mark.parametrize("combination", ["grade-4", "two-pairs", "full"])
@pytest.mark.parametrize("variant", [{}, {"two_pairs": "four-or-five", "full": "strict"}])
def test_variants_against_the_oracle(combination, variant, oracle):
    rules = variant | {"grades": "positive"}
    expected = oracle.average(combination, **rules)
    assert averages(Rules(**rules))[combination] == expected
    assert solve(game(combination, **variant)).value() == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("combination", COMBINATIONS)
def test_all_averages_against_the_oracle(combination, oracle):
    assert oracle.average(combination, little=20, big=30, grades="positive") == TABLE[combination]


@pytest.mark.parametrize("combination", ["grade-3", "pair", "big-straight"])
def test_back_ends_agree(combination):
    report = cross_check(game(combination, little=20, big=30))
    assert report.ok, report.table()
    assert report.independent == 5
    for entry in report.entries:
        assert entry.solution.lower() <= float(TABLE[combination]) <= entry.solution.upper()


@pytest.mark.slow
@pytest.mark.parametrize("combination", sorted(set(COMBINATIONS) - {"grade-3", "pair", "big-straight"}))
def test_back_ends_agree_on_the_others(combination):
    test_back_ends_agree(combination)


# --- the game -------------------------------------------------------------------------------------


def options(of, state):
    node = of.node(state)
    return dict(zip(node.actions, map(repr, node.options), strict=True))


def test_what_can_be_done_with_a_roll():
    first = options(game("pair"), Rolled((1, 1, 2, 6, 6), 2))
    assert first[Score("pair")] == "end(24)"
    assert first[CrossOut("pair")] == "end(0)"
    assert first[Reroll((1, 1, 2))] == "go(Held(dice=(6, 6), rerolls=1))"
    assert options(game("pair"), Rolled((1, 1, 2, 6, 6), 1))[Score("pair")] == "end(12)"
    # What does not fit can be crossed out only; without rerolls there is nothing else.
    assert options(game("pair"), Rolled((1, 2, 3, 4, 6), 0)) == {CrossOut("pair"): "end(0)"}
    # Grades are not doubled, and cannot be crossed out.
    grade = options(game("grade-6", grades="negative"), Rolled((1, 2, 3, 4, 6), 2))
    assert grade[Score("grade-6")] == "end(-24)"
    assert CrossOut("grade-6") not in grade


def test_doubling_is_why_a_first_roll_is_kept():
    solution = solve(game("full"))
    assert solution.action(Rolled((1, 1, 1, 2, 2), 2)) == Score("full")
    # The average of a full that was rolled at once would be lost by hoping for a higher one.
    assert solution.q(Rolled((1, 1, 1, 2, 2), 2))[Score("full")] == 14


def test_parameters():
    assert game("Little Straight").combination == "little-straight"
    with pytest.raises(GameError, match="choose one of grade-1"):
        game("yahtzee")
    for field in attrs.fields(SchoolCombination):
        assert field.metadata["help"]
    assert "which is 30 less" in look_of(game("grade-6")).notes()[0]
    assert not look_of(game("grade-6", grades="negative")).notes()
    assert not look_of(game("pair")).notes()


# --- text -----------------------------------------------------------------------------------------


def test_text_of_every_state_is_read_back():
    one = game("pair")
    network = explore(one)
    states = [state for state in network.states if state is not None]
    assert len({look_of(one).show_state(state) for state in states}) == len(states) == 3 * 252 + 2 * 210 + 1
    for state in states:
        assert look_of(one).read_state(look_of(one).show_state(state)) == state


def test_texts():
    one = game("pair")
    assert look_of(one).read_state("dice=6,1 2 3,6 rerolls=2") == Rolled((1, 2, 3, 6, 6), 2)
    assert look_of(one).show_state(Rolled((1, 2, 3, 6, 6), 2)) == "dice=1,2,3,6,6 rerolls=2"
    assert look_of(one).read_state("rerolls=1 hold=6,6") == Held((6, 6), 1)
    assert look_of(one).show_state(one.start()) == "hold=- rerolls=2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "write dice="),
        ("1,2,3,6,6", "write dice="),
        ("dice=1,2,3,6,6", "write dice="),
        ("dice=1,2,3,6,6 hold=6 rerolls=1", "write dice="),
        ("dice=1,2,3,6,6 rerolls=1 rerolls=2", "write dice="),
        ("dice=1,2,3,6,6 rerolls=3", "0 to 2 rerolls"),
        ("dice=1,2,3,6 rerolls=2", "4 dice; there are 5"),
        ("dice=1,2,3,6,7 rerolls=2", "dice show 1 to 6"),
        ("dice=one rerolls=2", "write faces with commas"),
        ("hold=1,2,3,4,5 rerolls=1", "one of them is rolled"),
        ("hold=1 rerolls=2", "none is held before the first roll"),
    ],
)
def test_wrong_texts(text, message):
    with pytest.raises(UnknownStateError, match=message):
        look_of(game("pair")).read_state(text)
