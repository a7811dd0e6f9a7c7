"""Games as Gymnasium environments: Gymnasium's own check, and plays that earn what the network is worth."""

from __future__ import annotations

from fractions import Fraction

import attrs
import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from helpers.random_games import acyclic_games
from hypothesis import given, settings

import mdpdice
from mdpdice import Game, Network, d6, decide, end, explore, go, roll, solve
from mdpdice.errors import GameError, MissingPackageError, UnsupportedError
from mdpdice.formats import from_gymnasium
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.pig import Piglet, PigTurn


def played(env, solution, plays: int, discount: float = 1.0) -> np.ndarray:
    """Discounted returns of plays with the best actions."""
    returns = np.zeros(plays)
    for k in range(plays):
        _, info = env.reset(seed=k)
        over, factor = False, 1.0
        while not over:
            action = 0 if not info["actions"] else info["actions"].index(solution.action(info["state"]))
            _, reward, terminated, truncated, info = env.step(action)
            returns[k] += factor * reward
            factor *= discount
            over = terminated or truncated
    return returns


@pytest.mark.parametrize("game", [PigTurn(cap=20), KcdFarkle()])
def test_gymnasium_finds_nothing_wrong(game) -> None:
    env = mdpdice.to_gymnasium(game)
    assert isinstance(env, gymnasium.Env)
    check_env(env, skip_render_check=True)


def test_plays_earn_the_value() -> None:
    network = explore(PigTurn(cap=20))
    solution = solve(network)
    returns = played(mdpdice.to_gymnasium(network), solution, 4000)
    error = returns.std() / np.sqrt(len(returns))
    assert abs(returns.mean() - solution.value()) < 4 * error


def test_plays_earn_the_discounted_value() -> None:
    game = Game.of(
        start=0,
        node=lambda s: decide(
            {"stop": end(s), "go": roll(d6, lambda k: end() if k == 1 else go(min(s + k, 12)), reward=1)}
        ),
        discount=Fraction(4, 5),
    )
    network = explore(game)
    solution = solve(network)
    returns = played(mdpdice.to_gymnasium(network), solution, 4000, 0.8)
    assert abs(returns.mean() - solution.value()) < 4 * returns.std() / np.sqrt(len(returns))


@settings(max_examples=15, deadline=None)
@given(game=acyclic_games(discounts=(1, Fraction(9, 10))))
def test_the_table_of_the_environment_has_the_values_of_the_game(game) -> None:
    network = explore(game)
    env = mdpdice.to_gymnasium(network)
    back = from_gymnasium(env.P, discount=network.discount)
    mine, other = solve(network), solve(back)
    assert [other.nodes.values[back.node_of(s)] for s in range(len(env.node))] == pytest.approx(
        mine.nodes.values[env.node], abs=1e-9
    )


def test_the_mask_tells_the_options_and_the_last_one_stands_in_for_more() -> None:
    game = Game.of(
        start=0, node=lambda s: decide({"a": end(1), "b": go(1)} if s == 0 else {"x": end(1), "y": end(2), "z": end(3)})
    )
    env = mdpdice.to_gymnasium(game)
    observation, info = env.reset(seed=1)
    assert (observation, info["state"], info["actions"]) == (0, 0, ["a", "b"])
    assert info["action_mask"].tolist() == [1, 1, 0]
    assert info["action_mask"].dtype == np.int8
    observation, reward, over, cut, info = env.step(2)  # b
    assert (observation, reward, over, cut) == (1, 0.0, False, False)
    observation, reward, over, cut, info = env.step(2)
    assert (observation, reward, over, cut) == (2, 3.0, True, False)
    assert info["action_mask"].tolist() == [0, 0, 0]


def test_a_horizon_cuts_the_play_off() -> None:
    network = attrs.evolve(explore(Game.of(start=0, node=lambda s: decide({"on": go(s, reward=1)}))), horizon=3)
    env = mdpdice.to_gymnasium(network)
    env.reset()
    assert [env.step(0)[1:4] for _ in range(3)] == [(1.0, False, False), (1.0, False, False), (1.0, False, True)]
    env.reset()
    assert env.step(0)[3] is False


def test_what_chance_pays_first_comes_with_the_first_step() -> None:
    game = Game.of(start=0, node=lambda s: roll(d6, lambda k: go(1, reward=7)) if s == 0 else decide({"a": end(1)}))
    env = mdpdice.to_gymnasium(game)
    env.reset(seed=0)
    assert env.step(0)[1] == 8.0


def test_costs_are_negative_rewards() -> None:
    env = mdpdice.to_gymnasium(Game.of(start=0, node=lambda s: decide({"a": end(4)}, player=1)))
    env.reset()
    assert env.step(0)[1] == -4.0


def test_two_players_and_steps_into_chance_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="one agent"):
        mdpdice.to_gymnasium(Piglet(goal=2))
    network = Network(
        kind=[1, 3, 1, 0], indptr=[0, 1, 3, 4, 4], dst=[1, 2, 3, 3], weight=[1, 0.5, 0.5, 1], reward=[0, 0, 0, 1],
        sign=[1] * 4, step=[1, 1, 1, 1], payoff=[0] * 4, start=0, discount=Fraction(1, 2),
    )  # fmt: skip
    with pytest.raises(UnsupportedError, match="step into chance"):
        mdpdice.to_gymnasium(network)


def test_without_gymnasium_it_is_told_how_to_get_it(monkeypatch) -> None:
    import sys

    monkeypatch.delitem(sys.modules, "mdpdice.formats.gymnasium_environment", raising=False)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(MissingPackageError, match="pip install gymnasium"):
        mdpdice.to_gymnasium(PigTurn(cap=4))


def test_chance_that_goes_round_for_ever_is_over_or_refused() -> None:
    def waiting(pay):
        states = {0: decide({"quit": end(1), "wait": go(1)}), 1: go(2, reward=pay), 2: go(1)}
        return explore(Game.of(start=0, node=states.__getitem__))

    env = mdpdice.to_gymnasium(waiting(0))
    env.reset(seed=1)
    assert env.step(1)[1:4] == (0.0, True, False)
    with pytest.raises(UnsupportedError, match="for ever"):
        mdpdice.to_gymnasium(waiting(1))


@pytest.mark.parametrize("action", [-1, 2, 0.5, "hold", None])
def test_actions_and_nodes_that_there_are_not(action) -> None:
    env = mdpdice.to_gymnasium(PigTurn(cap=20))
    env.reset(seed=1)
    with pytest.raises(GameError, match="0 to 1"):
        env.step(action)
    assert env.step(np.int64(1))[2] in (True, False)
    with pytest.raises(GameError, match="not a node"):
        env.reset(options={"node": -1 if action == 2 else action if action != -1 else 10**6})
