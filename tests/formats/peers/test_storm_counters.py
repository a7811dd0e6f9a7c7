"""Storm builds games with counters from the PRISM language; what it built has the exact values of the game."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from pathlib import Path

import pytest
import stormpy
from helpers.counter_games import SHIPPED, Race, Sheet

from mdpdice import Network, Total, explore, solve
from mdpdice.formats import write_prism

GAMES = SHIPPED | {"race of the tests": Race(goal=5), "sheet of the tests": Sheet()}


def built(path: Path):
    """Storm's model of a program, and the values of the variables in each of its states."""
    program = stormpy.parse_prism_program(path)
    options = stormpy.BuilderOptions()
    options.set_build_all_labels()
    options.set_build_all_reward_models()
    options.set_build_state_valuations()
    options.set_exploration_checks()
    model = stormpy.build_model[stormpy.Rational](program, options=options)
    variables = [
        variable.expression_variable
        for module in program.modules
        for variable in (*module.integer_variables, *module.boolean_variables)
    ]
    values = model.state_valuations
    places = {
        tuple(sorted((variable.name, values.get_value(state, variable)) for variable in variables)): state
        for state in range(model.nr_states)
    }
    assert len(places) == model.nr_states
    return model, places


def solved(model, objective) -> list[Fraction]:
    """Exact values of a model of Storm; its games it does not solve, so all are solved here."""
    matrix, reward = model.transition_matrix, model.reward_models["reward"]
    paid = [Fraction(str(value)) for value in reward.state_action_rewards]
    groups = [range(matrix.get_row_group_start(s), matrix.get_row_group_end(s)) for s in range(model.nr_states)]
    rows = [[(e.column, Fraction(str(e.value))) for e in matrix.get_row(row)] for group in groups for row in group]
    owner = None
    if str(model.model_type) == "ModelType.SMG":
        players = [model.get_player_of_state(s) for s in range(model.nr_states)]
        first = players[model.initial_states[0]]
        owner = [int(player != first) for player in players]
    network = Network.from_choices(
        [0, *(group.stop for group in groups)],
        [0, *accumulate(len(row) for row in rows)],
        [to for row in rows for to, _ in row],
        [p for row in rows for _, p in row],
        paid,
        owner=owner,
        start=model.initial_states[0],
    )
    solution = solve(network, objective, solver="exact")
    assert solution.nodes.exact is not None, solution.reason
    return [Fraction(solution.nodes.exact[-1][network.node_of(s)]) for s in range(model.nr_states)]


@pytest.mark.parametrize("name", GAMES)
def test_storm_builds_the_game_with_its_values_at_every_state(name: str, tmp_path: Path) -> None:
    game = GAMES[name]
    found = write_prism(game, tmp_path / "x.prism")
    model, place = built(tmp_path / "x.prism")
    network = explore(game)
    mine = solve(network, solver="exact").nodes.exact[-1]
    theirs = solved(model, Total("min" if found.minimise else "max"))
    met = 0
    for at, state in enumerate(network.states):
        value = Fraction(mine[network.state_node[at]]) - found.shift
        where = found.valuation(state)
        views = [(where, 1)] if found.passed is None else [(where, 1), (where | {found.passed: True}, -1)]
        seen = [(place[key], sign) for v, sign in views if (key := tuple(sorted(v.items()))) in place]
        met += bool(seen)
        assert [sign * theirs[number] for number, sign in seen] == [value] * len(seen)
    assert met == len(network.states)


@pytest.mark.parametrize("name", ["farkle", "farkle, clipped", "school"])
def test_storm_solves_games_of_one_player(name: str, tmp_path: Path) -> None:
    """Its total rewards are not negative, so these are games that cost nothing."""
    found = write_prism(GAMES[name], tmp_path / "x.prism")
    model, _ = built(tmp_path / "x.prism")
    answer = stormpy.model_checking(model, stormpy.parse_property(found.property))
    network = explore(GAMES[name])
    mine = solve(network, solver="exact").nodes.exact[-1][network.start]
    assert Fraction(str(answer.get_value(model.initial_states[0]))) == Fraction(mine)
