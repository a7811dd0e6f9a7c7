"""Maps show what the policy does at every point, and nothing where there is no state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from mdpdice import Game, Policy, compile_lattice, decide, end, errors, explore, go, solve
from mdpdice.games.pig import PigRace, hold_at, position
from mdpdice.plots import policy_difference, policy_map, region_map, threshold_map, value_curve, value_map


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def cells(ax):
    """Number at every point that is not empty, by the coordinates of the middle of its cell."""
    (mesh,) = [one for one in ax.collections if hasattr(one, "get_coordinates")]
    corners = mesh.get_coordinates()
    middles = (corners[1:, 1:] + corners[:-1, :-1]) / 2
    array = np.ma.masked_array(mesh.get_array()).reshape(middles.shape[:2])
    return {
        (float(middles[at][0]), float(middles[at][1])): float(array[at])
        for at in np.ndindex(array.shape)
        if not np.ma.getmaskarray(array)[at]
    }


def test_every_point_is_what_the_policy_does(cautious):
    ax = policy_map(cautious, "turn", "mine", where={"theirs": 4})
    names = legend(ax)
    found = {at: names[int(number)] for at, number in cells(ax).items()}
    states = [state for state in cautious.network.states if state.counters["theirs"] == 4]
    assert found == {(s.counters["turn"], s.counters["mine"]): cautious.action(s) for s in states}
    assert {"hold", "roll"} <= set(found.values())
    assert names == ["hold", "roll", "no such state"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("turn", "mine")


def test_colours_go_by_the_action_and_not_by_the_map(cautious):
    both = policy_map(cautious, "turn", "mine", where={"theirs": 4})
    one = policy_map(cautious, "turn", "mine", where=lambda s: s.counters["theirs"] == 4 and s.counters["turn"] == 0)
    colour = {
        text: patch.get_facecolor() for text, patch in zip(legend(both), both.get_legend().get_patches(), strict=True)
    }
    rolls = one.get_legend().get_patches()[legend(one).index("roll")]
    assert rolls.get_facecolor() == colour["roll"] != colour["hold"]


def test_a_strip_has_one_dimension(turn):
    ax = policy_map(turn, "state", xlabel="points at risk", title="A turn")
    found = cells(ax)
    assert all(found[n, 0] == (0 if n >= 20 else 1) for n in range(2, 40))
    assert (1, 0) not in found  # no turn has one point
    assert (ax.get_xlabel(), ax.get_title(), list(ax.get_yticks())) == ("points at risk", "A turn", [])


def test_states_that_differ_at_one_point_are_not_guessed(cautious):
    ax = policy_map(cautious, "turn", "mine")
    number = legend(ax).index("depends on more")
    answers = {}
    for state in cautious.network.states:
        at = state.counters["turn"], state.counters["mine"]
        answers.setdefault(at, set()).add(cautious.action(state))
    mixed = {at for at, several in answers.items() if len(several) == 2}
    assert mixed
    assert {at for at, code in cells(ax).items() if code == number} == mixed


def test_more_actions_than_colours():
    game = Game.of(start=0, node=lambda n: end(n) if n >= 30 else decide({f"to {n + 1}": go(n + 1)}))
    ax = policy_map(solve(game), "state")
    assert len(legend(ax)) == 7
    assert "other" in legend(ax)
    grouped = policy_map(solve(game), "state", group=lambda action: action.split()[0])
    assert legend(grouped) == ["to"]


def test_random_actions_say_so(turn):
    ax = policy_map(Policy.uniform(turn.network), "state")
    assert legend(ax)[0] == "at random"


def test_stages(turn):
    solution = solve(turn.network, horizon=3)
    late, early = (policy_map(solution, "state", steps_left=k) for k in (1, 3))
    # With one decision left a turn that is rolled on is cut off.
    assert set(cells(late).values()) == {0.0}
    assert set(cells(early).values()) == {0.0, 1.0}
    with pytest.raises(errors.HorizonRangeError, match="from 1 to the horizon 3"):
        policy_map(solution, "state", steps_left=4)
    with pytest.raises(errors.HorizonRangeError, match="needs a horizon"):
        policy_map(turn, "state", steps_left=4)


def test_regions_of_chance_nodes_too():
    class Place(NamedTuple):
        row: int
        column: int

    game = Game.of(
        start=Place(0, 0),
        node=lambda p: end() if p.row + p.column == 4
        else decide({"right": go(Place(p.row, p.column + 1)), "down": go(Place(p.row + 1, p.column))}),
    )  # fmt: skip
    network = explore(game)
    ax = region_map(network, lambda p: "corner" if p.row == p.column == 0 else None, "column", "row")
    assert cells(ax) == {(0, 0): 0}
    assert legend(ax) == ["corner"]


def test_what_differs(turn):
    other = Policy.of(turn.network, hold_at(25))
    ax = policy_difference(turn, other, "state", names=("best", "at 25"))
    names = legend(ax)
    found = {at[0]: names[int(code)] for at, code in cells(ax).items()}
    for points in range(2, 40):
        assert found[points] == (
            "both roll" if points < 20 else "both hold" if points >= 25 else "best: hold; at 25: roll"
        )
    assert all(text == "both hold" for text in legend(policy_difference(turn, turn, lambda n: n if n > 20 else None)))


def test_thresholds(cautious):
    ax = threshold_map(cautious, "theirs", "mine", "turn", "hold", never="roll until you win")
    expected = {}
    for state in cautious.network.states:
        c = state.counters
        if cautious.action(state) == "hold":
            at = c["theirs"], c["mine"]
            expected[at] = min(c["turn"], expected.get(at, 99))
    assert cells(ax) == expected
    assert legend(ax) == ["roll until you win"]
    # Small maps have their numbers written in.
    assert sorted(int(text.get_text()) for text in ax.texts) == sorted(expected.values())
    never = {(s.counters["theirs"], s.counters["mine"]) for s in cautious.network.states} - set(expected)
    hatched = [patch for patch in ax.patches if patch.get_hatch()]
    assert sum(patch.get_width() * patch.get_height() for patch in hatched) == pytest.approx(len(never))
    largest = threshold_map(cautious, "theirs", "mine", "turn", "roll", largest=True, where={"theirs": 4})
    assert cells(largest)[4, 0] == max(
        s.counters["turn"] for s in cautious.network.states
        if (s.counters["theirs"], s.counters["mine"]) == (4, 0) and cautious.action(s) == "roll"
    )  # fmt: skip
    with pytest.raises(errors.GameError, match="takes fold in none"):
        threshold_map(cautious, "theirs", "mine", "turn", "fold")


def test_values(race):
    ax = value_map(race, "theirs", "mine", where={"turn": 0}, centre=0.5)
    found = cells(ax)
    assert found[0, 0] == race.value()
    assert found[4, 2] == race.value(position(2, 4, 0))
    assert ax.figure.axes[1].get_ylabel() == "value (chance to win)"
    norm = ax.collections[0].norm
    assert norm(0.5) == 0.5
    gain = value_map(race, "theirs", "mine", where={"turn": 0}, of=lambda s, v: v - 0.5, label="lead")
    assert cells(gain)[4, 2] == found[4, 2] - 0.5
    with pytest.raises(errors.GameError, match="several states are at the point"):
        value_map(race, "theirs", "mine")


def test_mistakes_are_explained(race):
    with pytest.raises(errors.GameError, match="names of numbers in states are: mine, theirs, turn"):
        policy_map(race, "turns", "mine")
    with pytest.raises(errors.GameError, match="raised ZeroDivisionError") as caught:
        policy_map(race, lambda s: 1 / s.counters["turn"], "mine")
    assert caught.value.state is not None
    with pytest.raises(errors.GameError, match="is not a number"):
        policy_map(race, lambda s: "x", "mine")
    with pytest.raises(errors.GameError, match="where raised KeyError"):
        policy_map(race, "turn", "mine", where=lambda s: s.counters["points"])


def test_answers_without_a_network():
    class Grid:
        """Stands for a solution of a lattice."""

    for draw in (policy_map, value_map, lambda grid, x, y: policy_difference(grid, grid, x, y)):
        with pytest.raises(errors.UnsupportedError, match="Grid has no network whose states could be drawn"):
            draw(Grid(), "turn", "mine")


def test_texts_and_axes_are_given_by_keyword(cautious):
    ax = policy_map(cautious, "turn", "mine", where={"theirs": 4})
    again = policy_map(cautious, "turn", "mine", where={"theirs": 4}, xlabel="points", ylabel="", title="Pig", ax=ax)
    assert again is ax
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("points", "", "Pig")
    with pytest.raises(TypeError, match="'titel'"):
        policy_map(cautious, "turn", "mine", where={"theirs": 4}, titel="Pig")


def test_states_of_a_lattice(race):
    lattice = solve(compile_lattice(PigRace(goal=12)))
    assert lattice.lattice is not None
    mine, flat = (policy_map(which, "turn", "mine", where={"theirs": 5}) for which in (lattice, race))
    assert legend(mine) == legend(flat)
    assert cells(mine) == cells(flat)
    same = policy_difference(lattice, race, "turn", "mine", where={"theirs": 5})
    assert set(legend(same)) <= {"both roll", "both hold", "no such state"}
    mine, flat = (value_map(which, "theirs", "mine", where={"turn": 0}) for which in (lattice, race))
    assert cells(mine) == pytest.approx(cells(flat))
    assert mine.figure.axes[1].get_ylabel() == "value (chance to win)"
    curve = value_curve(lattice, "turn", actions=True, where={"mine": 2, "theirs": 5})
    assert sorted(line.get_label() for line in curve.lines) == ["hold", "roll"]
