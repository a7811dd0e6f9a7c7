"""The sense belongs to the game: whoever is asked about the game honours it, unless something else is said."""

from __future__ import annotations

import json
from fractions import Fraction

import attrs
import pytest
from helpers.counter_games import Race, Sheet
from helpers.few_points import Duel, ShutTheBox, Threes
from helpers.random_counter_games import counter_games
from hypothesis import assume, given, settings

from mdpdice import (
    Discounted,
    Game,
    Horizon,
    Kind,
    Network,
    PayoffAtLeast,
    PayoffAtMost,
    Policy,
    Reach,
    Total,
    UntilReward,
    Utility,
    compile_lattice,
    cross_check,
    d6,
    decide,
    end,
    evaluate,
    explore,
    roll,
    solve,
)
from mdpdice.archives import Archive, text_member, write_archive
from mdpdice.errors import GameError, MdpDiceError
from mdpdice.exploration.expansion import replicate
from mdpdice.formats import from_networkx
from mdpdice.networks.files import NETWORK_DTYPES
from mdpdice.objectives.objective import Objective
from mdpdice.solvers.lookahead import Lookahead
from mdpdice.solving.files import load_solution
from mdpdice.testing import check_game

BOX = Fraction(431363714383, 39182082048)
THREES = Fraction(504205555, 80621568)
"""Of the reference programs of both games, which are plain Python without merging."""


def both_ways(**more):
    """Take 2, or throw a die for 1 to 6."""
    return Game.of(start=0, node=lambda _: decide({"two": end(2), "die": roll(d6, end)}), **more)


LEAST, MOST = both_ways(sense="min"), both_ways()


# --- two games, in which few points are good -----------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "value-iteration", "linear-programming"])
def test_shut_the_box(solver):
    found = solve(ShutTheBox(), solver=solver)
    assert found.sense == "min"
    assert found.lower() <= BOX <= found.upper()
    assert found.value() == pytest.approx(11.0092085932176, abs=1e-12)


def test_shut_the_box_exactly():
    assert solve(ShutTheBox(), solver="exact").exact() == BOX
    assert solve(explore(ShutTheBox()), solver="exact").exact() == BOX
    # A four with these tiles: the four itself, and not one and three, which are needed later.
    state = ((1, 2, 3, 4, 5, 6, 7, 8, 9), 4)
    found = solve(ShutTheBox())
    values = found.q(state)
    assert found.action(state) == min(values, key=values.__getitem__) == found.ties(state)[0]


def test_back_ends_agree_on_few_points():
    report = cross_check(ShutTheBox(tiles=7))
    assert report.ok
    value = solve(ShutTheBox(tiles=7)).value()
    assert [entry.solution.value() for entry in report.entries if entry.solution] == pytest.approx(
        [value] * len([entry for entry in report.entries if entry.solution])
    )


def test_threes():
    assert solve(Threes(), solver="exact").exact() == THREES
    lattice = solve(compile_lattice(Threes()))
    assert (lattice.sense, lattice.value()) == ("min", pytest.approx(6.25397852594482, abs=1e-9))
    # A chance is made large, whatever the game says.
    few = solve(Threes(), PayoffAtMost(5))
    assert (few.sense, few.value()) == ("max", pytest.approx(0.499338334476418, abs=1e-12))
    assert solve(Threes(), PayoffAtMost(5, "min")).value() < 0.01


# --- who has a say -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "objective", [Total(), Discounted("0.9"), Horizon(3), UntilReward([0]), Utility(lambda x: x), None]
)
def test_an_amount_inherits(objective):
    assert solve(LEAST, objective).sense == "min"
    assert solve(MOST, objective).sense == "max"
    assert solve(LEAST, objective, sense="max").sense == "max"
    assert solve(MOST, objective, sense="min").sense == "min"


@pytest.mark.parametrize("objective", [Reach([0]), PayoffAtLeast(3), PayoffAtMost(3)])
def test_a_chance_is_made_large(objective):
    assert solve(LEAST, objective).sense == solve(explore(LEAST), objective).sense == "max"
    assert solve(LEAST, objective, sense="min").sense == "min"


def test_the_objective_has_the_last_word():
    asked = {
        (own, given, game): solve(both_ways(sense=game), Total(own), sense=given)
        for own in (None, "max", "min")
        for given in (None, "max", "min")
        for game in ("max", "min")
    }
    for (own, given_, game), found in asked.items():
        sense = own or given_ or game
        assert (found.sense, found.value()) == (sense, {"max": 3.5, "min": 2.0}[sense])
        assert ("objective minimise the total" in found.summary()) == (sense == "min")


def test_an_objective_of_others():
    class Twice(Objective):
        def apply(self, network):
            return attrs.evolve(network, payoff=2 * network.payoff)

    assert [solve(game, Twice()).value() for game in (MOST, LEAST)] == [7, 4]
    assert solve(MOST, Twice(), sense="min").value() == 4


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: solve(MOST, "min"), "'min' is not an objective; write sense='min', or Total('min')"),
        (lambda: solve(compile_lattice(Sheet()), "min"), "write sense='min'"),
        (lambda: solve(MOST, Total), "it is a class, which needs to be called: Total(...)"),
        (lambda: solve(MOST, sense="least"), "sense 'least' is neither 'max' nor 'min'"),
        (lambda: Total("least"), "sense 'least' is neither"),
        (lambda: solve(Odd()), "Odd: sense 'minimise' is neither 'max' nor 'min'"),
        (lambda: explore(Odd()), "Odd: sense"),
        (lambda: compile_lattice(OddSheet()), "OddSheet: sense"),
        (lambda: explore(OddSheet()), "OddSheet: sense"),
        (lambda: solve(Odd(), solver="lookahead"), "Odd: sense"),
        (lambda: check_game(Odd()), "Odd: sense"),
    ],
)
def test_a_wrong_sense_is_refused(ask, told):
    with pytest.raises(MdpDiceError) as caught:
        ask()
    assert isinstance(caught.value, GameError) or "GameError" in str(caught.value)
    assert told in str(caught.value)


class Odd(Game):
    sense = "minimise"

    def start(self):
        return 0

    def node(self, _):
        return end(1)


class OddSheet(Sheet):
    sense = "minimise"


# --- what is made of a game ----------------------------------------------------------------------


class LeastSheet(Sheet):
    sense = "min"


@pytest.mark.parametrize("game", [LeastSheet(), Duel()], ids=["sheet", "duel"])
def test_every_form_of_a_game_has_its_sense(game, tmp_path):
    network = explore(game)
    value = solve(network, Total("min")).value()
    assert value != pytest.approx(solve(network, Total("max")).value())
    network.save(tmp_path / "net.npz")
    forms = [
        game,
        network,
        compile_lattice(game),
        game.unrolled(),
        game.at(network.states[0]),
        replicate(compile_lattice(game)),
        Network.load(tmp_path / "net.npz"),
        Horizon(1000).apply(network) if not network.total else network,
        from_networkx(network.to_networkx()),
    ]
    for form in forms:
        assert form.sense == "min"
        assert solve(form).value() == pytest.approx(value, abs=1e-9)
    assert check_game(game).passed["solution"]


def test_a_network_file_of_an_older_version_is_maximised(tmp_path):
    path = tmp_path / "net.npz"
    explore(LEAST).save(path)
    members = Archive(str(path), NETWORK_DTYPES, "").read()
    header = json.loads(members["header"].tobytes())
    assert header.pop("sense") == "min"
    write_archive(path, {**members, "header": text_member(header)})
    assert Network.load(path).sense == "max"
    write_archive(path, {**members, "header": text_member({**header, "sense": "little"})})
    with pytest.raises(MdpDiceError, match="sense 'little'"):
        Network.load(path)


@pytest.mark.parametrize("game", [LEAST, LeastSheet()], ids=["network", "lattice"])
def test_a_saved_solution_is_one_of_the_sense(game, tmp_path):
    made = compile_lattice(game) if game is not LEAST else game
    found = solve(made)
    found.save(tmp_path / "s.npz")
    assert load_solution(tmp_path / "s.npz", made).sense == "min"
    with pytest.raises(MdpDiceError, match="minimise the total|sense 'min'"):
        load_solution(tmp_path / "s.npz", made, Total("max"))


def test_equal_problems_have_equal_digests():
    assert explore(LEAST).digest == explore(MOST).digest
    assert attrs.evolve(explore(MOST), sense="min").sense == "min"


def test_what_a_policy_is_worth_has_no_sense():
    network = explore(LEAST)
    for model in (network, Horizon(2).apply(network)):
        found = evaluate(model, Policy.of(model, lambda _: "die"))
        assert found.value() == 3.5
        assert found.ties() == ["two"]
        assert "minimise" not in found.summary()


def test_lookahead_wants_little_too():
    found = solve(ShutTheBox(tiles=3), solver=Lookahead(depth=8))
    assert (found.sense, found.details["complete"]) == ("min", True)
    truth = solve(ShutTheBox(tiles=3))
    assert found.estimate() == pytest.approx(truth.value(), abs=1e-12)
    assert solve(ShutTheBox(tiles=3), Total("max"), solver=Lookahead(depth=8)).estimate() == pytest.approx(
        solve(ShutTheBox(tiles=3), Total("max")).value(), abs=1e-12
    )


# --- turned round --------------------------------------------------------------------------------


def turned(lattice):
    """The same, with costs for payoffs and the other sense."""
    return attrs.evolve(lattice, rewards=tuple(-expr for expr in lattice.rewards), total=-lattice.total, sense="min")


@pytest.mark.parametrize("game", [Sheet(), Race(goal=6)], ids=["sheet", "race"])
def test_costs_of_which_little_is_wanted_on_both_routes(game):
    lattice = compile_lattice(game)
    first, flat = solve(lattice), solve(replicate(turned(lattice)))
    second = solve(turned(lattice))
    assert first.value() == pytest.approx(-second.value(), abs=1e-9) == pytest.approx(-flat.value(), abs=1e-9)
    decisions = [state for state in explore(game).states if first.kind(state) == Kind.MAX]
    for state in decisions[:: max(1, len(decisions) // 20)]:
        assert first.action(state) == second.action(state)
        negated = {action: -value for action, value in second.q(state).items()}
        assert first.q(state) == pytest.approx(negated, abs=1e-9)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(counter_games(ahead=True))
def test_costs_of_random_games_on_both_routes(game):
    assume(game.discount == 1)
    try:
        lattice = compile_lattice(game)
        truth = solve(replicate(lattice), solver="exact").exact()
        again = solve(lattice)
    except MdpDiceError:
        assume(False)
    other = turned(lattice)
    assert solve(replicate(other), solver="exact").exact() == -truth
    for found, sign in ((again, 1), (solve(other), -1)):
        assert found.value() == pytest.approx(sign * float(truth), abs=1e-9)
    assert (again.sense, solve(other).sense) == ("max", "min")
