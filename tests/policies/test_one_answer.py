"""One answer, whatever the route: the same calls agree on a network and on a lattice, for every shipped game."""

from __future__ import annotations

import math
import random

import pytest
from helpers.counter_games import SHIPPED, Sheet

from mdpdice import Policy, Solution, Status, compile_lattice, evaluate, explore, outcomes, simulate, solve
from mdpdice.errors import StateLimitError, UnsupportedError
from mdpdice.games.konijnenhokken import Konijnenhokken
from mdpdice.games.pig import PigRace, PigTurn
from mdpdice.games.school import SchoolCombination
from mdpdice.looks import look_of
from mdpdice.policies.playthrough import play

FLAT = {
    "pig turn": PigTurn(cap=40),
    "konijnenhokken": Konijnenhokken(dice=3),
    "school combination": SchoolCombination(),
}
"""Those without counters, which have one route."""


@pytest.fixture(scope="module", params=SHIPPED)
def both(request):
    game = SHIPPED[request.param]
    return game, solve(explore(game)), solve(compile_lattice(game))


def mixed(network):
    """A rule that no expression says: an action by the letters of the state, so that nobody holds for ever."""

    def rule(state):
        actions = [network.action_of(edge) for edge in network.edges(network.node_of(state))]
        if "hold" in actions:
            return "hold" if int(state.counters["turn"]) > 1 else next(one for one in actions if one != "hold")
        return actions[sum(map(ord, repr(state))) % len(actions)]

    return rule


def test_values_actions_and_states(both):
    _, flat, large = both
    assert flat.proved
    assert large.status is Status.CERTIFIED
    assert flat.start == large.start
    assert flat.n_states == large.n_states
    assert flat.states == [state for state in flat.network.states if flat.kind(state) in (1, 2)]
    assert set(large.states) == set(flat.states)
    values = dict(zip(flat.states, flat.values, strict=True))
    actions = dict(zip(large.states, large.actions, strict=True))
    for state, value, low, high in zip(large.states, large.values, large.lowers, large.uppers, strict=True):
        assert low <= value <= high
        assert value == pytest.approx(values[state], abs=1e-9)
        assert value == large.estimate(state)
        assert large.lower(state) == pytest.approx(low, abs=1e-12)
        assert actions[state] == large.action(state) == large.policy.action(state)
        assert actions[state] in flat.ties(state)
        assert large.reaches(state)
        assert flat.reaches(state)
    for solution in (flat, large):
        found = solution.decisions()
        assert (found.states, found.actions) == (solution.states, solution.actions)
        assert f"{solution.value():.12g}" in solution.summary()


def test_policies_of_every_kind(both):
    game, flat, large = both
    rule = mixed(flat.network)
    models = {"network": flat.network, "lattice": large.table.lattice}
    for policy in (flat, large, flat.policy, large.policy, rule, "random"):
        found = {name: evaluate(model, policy) for name, model in models.items()}
        assert found["lattice"].value() == pytest.approx(found["network"].value(), abs=1e-8)
        assert {one.solver for one in found.values()} == {"evaluation"}
    for solution in (flat, large):
        assert evaluate(game, solution).value() == pytest.approx(flat.value(), abs=1e-8)
        found = simulate(game, solution, plays=2_000, seed=1)
        room = 5 * found.standard_error + 1e-9
        assert abs(found.mean - flat.value()) <= room
        for event in play(game.unrolled(), [lambda turn, known=solution: known.action(turn.state)], random.Random(7)):
            last = event
        assert math.isfinite(float(last.total))


def test_names_are_policies_on_either_route(both):
    game, flat, large = both
    names = [one.form for one in look_of(game).policies() if one.form.isalnum()] + ["random"]
    for name in names:
        one, two = (
            evaluate(model, name if name == "random" else look_of(game).policy(name))
            for model in (flat.network, large.table.lattice)
        )
        assert one.value() == pytest.approx(two.value(), abs=1e-8)
        assert evaluate(game, name).value() == pytest.approx(one.value(), abs=1e-8)


def test_the_distribution_of_totals(both):
    _, flat, large = both
    paid = bool((large.lattice.reward >= 0).any())
    if large.lattice.averaged or (large.table.layers.cyclic and paid):
        # Rewards that were not kept apart, or many totals where layers lead to themselves.
        with pytest.raises(UnsupportedError):
            outcomes(large.lattice, large)
        return
    one, two = outcomes(flat.network, flat), outcomes(large.lattice, large)
    assert two.mean == pytest.approx(one.mean, abs=1e-9)
    assert two.totals.tolist() == one.totals.tolist()
    assert two.chances == pytest.approx(one.chances, abs=1e-9)
    assert outcomes(flat.network, large).mean == pytest.approx(one.mean, abs=1e-9)


def test_files(both, tmp_path):
    game, flat, large = both
    for number, solution in enumerate((flat, large)):
        path = tmp_path / f"{number}.npz"
        solution.save(path)
        again = Solution.load(path, game)
        assert again.status in (Status.CERTIFIED, Status.EXACT)
        assert again.value() == pytest.approx(solution.value(), abs=1e-12)
        assert (again.lattice is None) == (solution.lattice is None)
        unproved = Solution.load(path, game, prove=False)
        assert unproved.status is Status.UNCERTIFIED
        assert unproved.estimate() == pytest.approx(solution.value(), abs=1e-12)
        assert unproved.lower() == -math.inf


@pytest.mark.parametrize("name", FLAT)
def test_games_without_counters(name):
    game = FLAT[name]
    solution = solve(game)
    assert evaluate(game, solution).value() == pytest.approx(solution.value(), abs=1e-9)
    assert evaluate(game, solution.action).value() == pytest.approx(solution.value(), abs=1e-9)
    assert outcomes(game, solution).mean == pytest.approx(solution.value(), abs=1e-9)
    found = simulate(game, solution, plays=4_000, seed=2)
    assert abs(found.mean - solution.value()) <= 5 * found.standard_error


def test_two_players_by_name_and_by_function():
    game = PigRace(goal=12)
    network, lattice = explore(game), compile_lattice(game)
    for pair in (("hold-at:5", "hold-at:9"), ("random", "hold-at:5")):
        rules = [Policy.uniform(network) if name == "random" else look_of(game).policy(name) for name in pair]
        expected = evaluate(network, rules).value()
        assert evaluate(game, pair).value() == pytest.approx(expected, abs=1e-9)
        on_lattice = [name if name == "random" else look_of(game).policy(name) for name in pair]
        assert evaluate(lattice, on_lattice).value() == pytest.approx(expected, abs=1e-9)


def test_what_only_a_network_has_is_one_error_that_says_what_to_do():
    large = solve(compile_lattice(Sheet()))
    for ask in (lambda: large.network, lambda: large.nodes):
        with pytest.raises(UnsupportedError, match=r"solve\(explore\(game\)\)"):
            ask()
    with pytest.raises(StateLimitError, match="where="):
        large.excerpt(max_states=3)
    with pytest.raises(UnsupportedError, match="lists all its states"):
        solve(explore(Sheet())).excerpt({"penalty": 1})
    assert len(large.decisions({"penalty": 1}).states) < len(large.states)
