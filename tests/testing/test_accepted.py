"""Every shipped game, with small parameters, and every built-in solver passes; the kit's own answers are right."""

from __future__ import annotations

from fractions import Fraction
from importlib.metadata import entry_points

import attrs
import pytest
from helpers.policy_enumeration import best_value

from mdpdice import (
    At,
    Counter,
    Game,
    Status,
    Total,
    decide,
    end,
    explore,
    load_solver,
    pass_to,
    roll,
    solve,
    uniform,
    when,
)
from mdpdice.errors import ConformanceError, GameError
from mdpdice.testing import MODELS, check_game, check_same, check_solver

GAMES = {
    "farkle": [{"dice": 2, "cap": 400}],
    "farkle-race": [{"dice": 1, "target": 100}],
    "konijnenhokken": [{"dice": 2}],
    "konijnenhokken-race": [{"dice": 2, "target": 3}],
    "knucklebones": [{"columns": 2, "rows": 1}, {"columns": 1, "rows": 2, "payoff": "points"}],
    "pig-race": [{"goal": 6}],
    "pig-turn": [{"cap": 30}],
    "piglet": [{"goal": 3}],
    "school": [{"open": "care"}],
    "school-combination": [{"combination": "pair"}],
    "yahtzee": [{}],
    "yatzy": [{}],
}
# These have no small form, so their last turn is looked at: "chance" is the box that is open.
LAST_TURN = {
    "yahtzee": At("turn", boxes=(1 << 13) - 1 - (1 << 11), upper=60, fifty=0),
    "yatzy": At("turn", boxes=(1 << 15) - 1 - (1 << 13), upper=60),
}
REQUIRED = ("declaration", "determinism", "labels", "termination", "texts", "solution")
ALSO = {
    "farkle": ("counters",),
    "farkle-race": ("counters", "payoff_range"),
    "konijnenhokken-race": ("counters", "payoff_range"),
    "knucklebones": ("canonical", "symmetry", "payoff_range", "estimate"),
    "pig-race": ("counters", "payoff_range"),
    "school": ("counters",),
}

REGISTERED = {point.name: point for point in entry_points(group="mdpdice.games") if point.value.startswith("mdpdice.")}
SOLVERS = sorted(point.name for point in entry_points(group="mdpdice.solvers") if point.value.startswith("mdpdice."))


def test_every_shipped_game_is_here():
    assert REGISTERED.keys() <= GAMES.keys()
    assert len(REGISTERED) >= 10


@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_numbers_that_nobody_can_play_with_are_refused_by_name(name):
    game = REGISTERED[name].load()
    numbers = [
        field.name
        for field in attrs.fields(game)
        if type(field.default) is int or "int" in str(field.type).split(" | ")
    ]
    defaults = {field.name: field.default for field in attrs.fields(game)}
    assert numbers or name in ("yahtzee", "yatzy")
    for number in numbers:
        nothing = name.startswith("school") or defaults[number] == 0  # points to start from, for instance
        for value in (-(10**20), -1, 10**9, 10**20, *([0] * (not nothing))):
            with pytest.raises(GameError, match=f"{number}={value}: .* [01] to [1-9]"):
                game(**{number: value})


@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_shipped_game(name):
    for parameters in GAMES[name]:
        game = REGISTERED[name].load()(**parameters)
        if name in LAST_TURN:
            game = game.at(LAST_TURN[name])
        check_game(game, require=(*REQUIRED, *ALSO.get(name, ())), sample=300)


@pytest.mark.parametrize("name", SOLVERS)
def test_built_in_back_end(name):
    searches = name == "lookahead"
    features = {feature.name.lower() for feature in load_solver(name).features}
    report = check_solver(name, require=() if searches else sorted(features))
    assert report.passed["answer"] >= 20
    assert ("bounds" in report.passed) == searches
    if not searches:
        assert report.passed.keys() >= {"values", "policy", "certificate", "cancel", "deadline", "interrupt", "traced"}


# --- the battery ---------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_known_values_are_those_of_the_exact_back_end(model):
    network = model.problem().network
    rows = model.rows(network)
    assert {state for _, state, _, _ in rows} == set(network.states)
    found = solve(network, Total(model.sense), solver="exact")
    assert found.status is Status.EXACT
    for steps, state, _, truth in rows:
        assert found.exact(state, steps_left=steps) == truth


PLAIN = [
    model for model in MODELS if model.horizon is None and model.sense == "max" and model.name not in {"deep", "race"}
]


@pytest.mark.parametrize("model", PLAIN, ids=lambda model: model.name)
def test_known_values_are_the_best_of_all_policies(model):
    """Neither with a horizon, nor with a total of 1, which the enumeration does not know."""
    network = model.problem().network
    values = best_value(network)
    for _, _, node, truth in model.rows(network):
        assert values[node] == truth


def test_models_are_new_every_time():
    for model in MODELS:
        one, two = model.problem(), model.problem()
        assert one.canonical is not two.canonical
        assert one.canonical.digest == two.canonical.digest
        assert all(isinstance(truth, Fraction) for _, _, _, truth in model.rows(one.network))
        assert model.hazard
    assert len({model.name for model in MODELS}) == len(MODELS) >= 25


def test_a_roll_that_changes_nothing_is_no_difference():
    """Near the goal every face wins: with counters that is a roll with one way on, and no roll in the unrolled game."""

    class Last(Game):
        total = 1
        mine = Counter(range(4))
        theirs = Counter(range(4))

        def start(self):
            return "turn"

        def node(self, state):
            swap = self.mine.set(self.theirs)
            return decide(
                (n, roll(uniform([n, n + 1]), lambda k: when(
                    self.mine + k >= 4, end(1), pass_to(state, swap, self.theirs.set(self.mine + k)))))
                for n in (1, 2)
            )  # fmt: skip

    assert check_game(Last()).passed["counters"] > 5
    # Another payoff is one.
    with pytest.raises(ConformanceError, match="differ|corresponds"):
        check_same(explore(Last()), attrs.evolve(explore(Last()), payoff=explore(Last()).payoff / 2))
