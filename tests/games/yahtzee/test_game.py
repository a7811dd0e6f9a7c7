"""Yahtzee: the variants of the joker rule by the options that there are, values against other programs."""

from __future__ import annotations

import pytest

from mdpdice import At, compile_lattice, explore, solve
from mdpdice.games.yahtzee import Throw, Yahtzee
from mdpdice.games.yahtzee.game import BOXES, JOKER, LOWER, UPPER, points


class Small(Yahtzee):
    """Two boxes, so that it fits a flat network."""

    sheet = ("sixes", "yahtzee")


def options(lattice, dice, filled, *, fifty=0, upper=0):
    """Score of every box that may be filled with some dice, straight from the declaration."""
    node = lattice.states.index(Throw(dice, 0))
    point = At(Throw(dice, 0), boxes=sum(1 << BOXES.index(box) for box in filled), upper=upper, fifty=fifty)
    found = {}
    at = point.point(lattice.axes)
    first = sum(
        int(lattice.indptr[n + 1] - lattice.indptr[n])
        for n in range(int(lattice.state_node[node]))
        if lattice.kind[n] in (1, 2)
    )
    begin = int(lattice.indptr[lattice.state_node[node]])
    for edge in range(begin, int(lattice.indptr[lattice.state_node[node] + 1])):
        if lattice.guard_at(int(lattice.guard[edge]), at):
            found[lattice.actions[first + edge - begin]] = lattice.exact_reward_at(int(lattice.reward[edge]), at)
    return found


def by_the_rules(joker, bonus, dice, filled, fifty):
    """The rules again, box by box."""
    own = UPPER[dice[0] - 1]
    five = len(set(dice)) == 1
    active = five and "yahtzee" in filled
    found = {}
    for box in BOXES:
        if box in filled:
            continue
        score = points(box, dice)
        if active and joker == "forced" and box != own:
            open_lower = [other for other in LOWER if other not in filled]
            if own not in filled or (box in UPPER and open_lower):
                continue
        joker_scores = joker in ("forced", "free") or (joker == "only-when-both-filled" and own in filled)
        if active and box in JOKER and joker_scores:
            score = JOKER[box]
        if five and bonus == "verhoeff" and fifty:
            score += 100
        found[box] = score
    return found


FILLED = [
    (),
    ("yahtzee",),
    ("threes", "yahtzee"),
    ("threes",),
    ("yahtzee", "fives"),
    (*LOWER,),
    (*LOWER, "threes"),
    (*LOWER, "threes", "ones"),
    ("threes", "yahtzee", "full house"),
    (*UPPER, "yahtzee"),
    (*UPPER,),
]


@pytest.mark.parametrize("joker", ["forced", "free", "only-when-both-filled", "none"])
def test_boxes_that_may_be_filled(joker):
    compared = 0
    for bonus in ("verhoeff", "none"):
        lattice = compile_lattice(Yahtzee(bonus, joker))
        for dice in ((3, 3, 3, 3, 3), (3, 3, 3, 5, 5)):
            for filled in FILLED:
                for fifty in (0, 1) if bonus == "verhoeff" and "yahtzee" in filled else (0,):
                    found = options(lattice, dice, filled, fifty=fifty)
                    assert found == by_the_rules(joker, bonus, dice, filled, fifty)
                    compared += len(found)
    assert compared > 200


def test_a_parameter_that_there_is_not():
    with pytest.raises(ValueError, match="joker"):
        Yahtzee(joker="sometimes")


# --- values -------------------------------------------------------------------------------------


def test_a_small_sheet_on_both_routes():
    game = Small("verhoeff", "none")
    flat, lattice = solve(explore(game)), solve(compile_lattice(game))
    assert lattice.proved
    seen = 0
    for state in flat.network.states[::331]:
        assert lattice.lower(state) <= flat.upper(state)
        assert flat.lower(state) <= lattice.upper(state)
        if flat.network.decides[flat.network.node_of(state)]:
            assert lattice.action(state) in flat.ties(state)
            seen += 1
    assert seen > 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bonus", "joker", "value"),
    [
        # T. Verhoeff: 254.5896; further digits by an independent program.
        ("verhoeff", "only-when-both-filled", 254.589609481963),
        # Published as 245.87; further digits by an independent program.
        ("none", "none", 245.870774514112),
    ],
)
def test_the_whole_game(bonus, joker, value):
    solution = solve(Yahtzee(bonus, joker))
    assert solution.lower() <= value + 1e-11
    assert value - 1e-11 <= solution.upper()
    assert solution.upper() - solution.lower() < 1e-8
