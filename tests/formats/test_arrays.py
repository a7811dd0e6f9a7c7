"""Arrays of pymdptoolbox, QuantEcon and mdpsolver: published examples, and tables of everything the tests have."""

from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np
import pytest
from helpers import reference_models
from helpers.random_games import Table, acyclic_games, tables
from hypothesis import given, settings
from scipy.sparse import csr_matrix

from mdpdice import Game, Network, d6, decide, end, explore, go, roll
from mdpdice.errors import (
    DeadEndError,
    DuplicateActionError,
    GameError,
    ProbabilitySumError,
    RewardNotFiniteError,
    UnsupportedError,
)
from mdpdice.formats import from_pymdptoolbox, from_quantecon, to_mdpsolver, to_pymdptoolbox, to_quantecon
from mdpdice.formats.decision_tables import tabulate
from mdpdice.games.pig import Piglet, PigTurn

# The two-state example of Puterman (1994), section 6.2.1, as QuantEcon's documentation has it.
PUTERMAN_R = np.array([[5.0, 10.0], [-1.0, -np.inf]])
PUTERMAN_Q = np.array([[[0.5, 0.5], [0.0, 1.0]], [[0.0, 1.0], [0.5, 0.5]]])

# mdptoolbox.example.forest(): wait or cut a forest of three ages; a fire burns it down with probability 0.1.
FOREST_P = np.array([[[0.1, 0.9, 0.0], [0.1, 0.0, 0.9], [0.1, 0.0, 0.9]], [[1.0, 0.0, 0.0]] * 3])
FOREST_R = np.array([[0.0, 0.0], [0.0, 1.0], [4.0, 2.0]])
FOREST_VALUES = [26.244, 29.484, 33.484]  # docstring of mdptoolbox.mdp.PolicyIteration, discount 0.9


def by_hand(table, v=None, sweeps=4000) -> np.ndarray:
    """Values of a table by plain iteration of its equation, or `horizon` stages of it."""
    v = np.zeros(table.n_states)
    for _ in range(sweeps if table.horizon is None else table.horizon):
        q = table.reward + table.discount * (table.matrix @ v)
        v = np.maximum.reduceat(q, table.choice_ptr[:-1])
    return v


# --- published examples ------------------------------------------------------------


def test_the_forest_has_its_published_values(tools) -> None:
    network = from_pymdptoolbox(FOREST_P, FOREST_R, 0.9)
    assert tools.float_values(network)[:3] == pytest.approx(FOREST_VALUES, abs=1e-9)
    sparse = from_pymdptoolbox([csr_matrix(p) for p in FOREST_P], FOREST_R, 0.9)
    assert sparse.digest == network.digest
    of_transitions = np.repeat(FOREST_R.T[:, :, None], 3, axis=2)
    assert tools.float_values(from_pymdptoolbox(FOREST_P, of_transitions, 0.9))[:3] == pytest.approx(FOREST_VALUES)
    both = from_pymdptoolbox([csr_matrix(p) for p in FOREST_P], [csr_matrix(r) for r in of_transitions], 0.9)
    assert tools.float_values(both)[:3] == pytest.approx(FOREST_VALUES)


def test_rewards_of_states_are_those_of_all_their_actions(tools) -> None:
    of_states = from_pymdptoolbox(FOREST_P, [1.0, 2.0, 3.0], 0.5)
    of_pairs = from_pymdptoolbox(FOREST_P, [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]], 0.5)
    assert of_states.digest == of_pairs.digest


def test_puterman_has_his_values_in_both_layouts(tools) -> None:
    product = from_quantecon(PUTERMAN_R, PUTERMAN_Q, "19/20")
    exact = tools.exact_values(product)[:2]
    assert exact == [Fraction(-60, 7), -20]  # -8.57142857, -20 in QuantEcon's documentation
    pairs = from_quantecon(
        [-1.0, 10.0, 5.0], PUTERMAN_Q[[1, 0, 0], [0, 1, 0]], "19/20", s_indices=[1, 0, 0], a_indices=[0, 1, 0]
    )
    assert pairs.digest == product.digest


# --- what is written ------------------------------------------------------------------


DISCOUNTED = [f"gym_{game}/{at}" for game in ("frozenlake4x4", "cliffwalking") for at in (0, 1)]


@pytest.mark.parametrize("name", [*DISCOUNTED, "gym_taxi/0"])
def test_discounted_models_have_their_reference_values(name: str, tools) -> None:
    case = reference_models.load(name)
    arrays = to_quantecon(case.network)
    back = from_quantecon(*arrays.arguments())
    nodes = tools.float_values(back)[: back.n_states]
    values = arrays.table.values(nodes)[case.network.state_node]
    assert values == pytest.approx([float(x) for x in case.exact], rel=1e-9, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(game=acyclic_games(discounts=(1, Fraction(9, 10))))
def test_random_games_keep_their_values(game, tools) -> None:
    network = explore(game)
    table = tabulate(network, "a test")
    assert table.values(by_hand(table, sweeps=10)) == pytest.approx(tools.float_values(network), abs=1e-12)


@settings(max_examples=15, deadline=None)
@given(table=tables())
def test_random_processes_keep_their_values(table, tools) -> None:
    network = explore(Table(table, discount=Fraction(1, 2)))
    found = tabulate(network, "a test")
    assert found.values(by_hand(found, sweeps=80)) == pytest.approx(tools.float_values(network), abs=1e-9)
    flat = attrs.evolve(network, discount=1, horizon=4)
    found = tabulate(flat, "a test")
    assert found.values(by_hand(found)) == pytest.approx(tools.float_values(flat), abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(game=acyclic_games(discounts=(1, Fraction(9, 10))))
def test_all_forms_are_the_same_table(game) -> None:
    network = explore(game)
    pairs, product = to_quantecon(network), to_quantecon(network, layout="product")
    table = pairs.table
    states, actions = pairs.s_indices, pairs.a_indices
    assert (product.R[states, actions] == pairs.R).all()
    assert (product.Q[states, actions] == pairs.Q.toarray()).all()
    assert np.isneginf(product.R).sum() == product.R.size - len(pairs.R)
    sparse, dense = to_pymdptoolbox(network), to_pymdptoolbox(network, dense=True)
    choice = table.padded()
    for a in range(choice.shape[1]):
        assert (sparse.P[a].toarray() == dense.P[a]).all()
        assert (dense.P[a] == pairs.Q.toarray()[choice[:, a]]).all()
        assert (sparse.R[:, a] == pairs.R[choice[:, a]]).all()
    lists = to_mdpsolver(network)
    flat = [
        (c, p) for cs, ps in zip(lists.columns, lists.probabilities, strict=True) for c, p in zip(cs, ps, strict=True)
    ]
    assert [reward for mine in lists.rewards for reward in mine] == pairs.R.tolist()
    for (columns, row), (first, last) in zip(
        flat, zip(pairs.Q.indptr[:-1], pairs.Q.indptr[1:], strict=True), strict=True
    ):
        assert columns == pairs.Q.indices[first:last].tolist()
        assert row == pairs.Q.data[first:last].tolist()
    assert np.asarray(pairs.Q.sum(axis=1)) == pytest.approx(1, abs=1e-15)


def test_the_start_is_a_state_unless_chance_moves_first(tools) -> None:
    pig = explore(PigTurn(cap=20))
    assert tabulate(pig, "a test").start == 0
    first = explore(Game.of(start="roll", node=lambda s: roll(d6, go) if s == "roll" else decide({"a": end(s)})))
    table = tabulate(first, "a test")
    assert table.start is None
    assert table.values(by_hand(table, sweeps=3))[first.start] == 3.5


def test_costs_are_negated_and_turned_back(tools) -> None:
    game = Game.of(start=0, node=lambda s: end(3 * s) if s else decide({"a": go(1), "b": go(2)}, player=1))
    network = explore(game)
    table = tabulate(network, "a test")
    assert table.sign == -1
    assert table.values(by_hand(table, sweeps=5)).tolist() == tools.float_values(network).tolist()


def test_chance_that_comes_back_to_itself_stays_a_state(tools) -> None:
    game = Game.of(start=0, node=lambda s: roll(d6, lambda k: end(k) if k > 2 else go(0, reward=1)))
    network = explore(game)
    table = tabulate(network, "a test")
    assert table.n_states == 2
    assert table.values(by_hand(table, sweeps=60))[network.start] == pytest.approx(5.0)  # 1/3 + 3 + v/3
    with pytest.raises(UnsupportedError, match="stages"):
        tabulate(attrs.evolve(network, horizon=2), "a test")


def test_a_table_without_ends_has_no_state_more() -> None:
    network = from_pymdptoolbox(FOREST_P, FOREST_R, 0.9)
    arrays = to_pymdptoolbox(network, dense=True)
    assert (arrays.P == FOREST_P).all()
    assert (arrays.R == FOREST_R).all()
    assert arrays.discount == 0.9


def test_an_edge_without_a_step_between_decisions_is_refused() -> None:
    network = Network(
        kind=[1, 1, 0], indptr=[0, 1, 2, 2], dst=[1, 2], weight=[1, 1], reward=[1, 1], sign=[1, 1],
        step=[False, True], payoff=[0, 0, 5], start=0, discount=Fraction(1, 2),
    )  # fmt: skip
    with pytest.raises(UnsupportedError, match="write DRN") as caught:
        tabulate(network, "a test")
    assert caught.value.state == 0
    assert tabulate(attrs.evolve(network, discount=1), "a test").n_states == 3


@pytest.mark.parametrize("write", [to_quantecon, to_pymdptoolbox, to_mdpsolver])
def test_two_players_are_refused(write) -> None:
    with pytest.raises(UnsupportedError, match="write_prism"):
        write(explore(Piglet(goal=2)))


def test_dense_arrays_have_a_limit(monkeypatch) -> None:
    from mdpdice.formats import arrays

    monkeypatch.setattr(arrays, "MAX_DENSE", 100)
    network = explore(PigTurn(cap=20))
    for write in (lambda: to_quantecon(network, layout="product"), lambda: to_pymdptoolbox(network, dense=True)):
        with pytest.raises(UnsupportedError, match="too large"):
            write()
    with pytest.raises(GameError, match="layout"):
        to_quantecon(network, layout="dense")


# --- arrays that are wrong ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((FOREST_P[:, :2], FOREST_R), GameError),
        ((FOREST_P, FOREST_R[:2]), GameError),
        ((np.zeros((0, 3, 3)), FOREST_R), GameError),
        ((np.zeros((2, 3, 3)), FOREST_R), GameError),
        ((FOREST_P * 0.9, FOREST_R), ProbabilitySumError),
        ((FOREST_P, np.where(FOREST_R == 4, np.nan, FOREST_R)), RewardNotFiniteError),
        ((None, FOREST_R), GameError),
        (([1.0, 2.0], FOREST_R), GameError),
        ((FOREST_P, [["four"]]), GameError),
        ((np.zeros((1, 0, 0)), np.zeros(0)), GameError),
    ],
)
def test_wrong_arrays_of_pymdptoolbox(arguments, error) -> None:
    with pytest.raises(error):
        from_pymdptoolbox(*arguments, 0.9)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((PUTERMAN_R, PUTERMAN_Q[:1]), GameError),
        ((PUTERMAN_R.T, PUTERMAN_Q[:, :, :1]), GameError),
        ((PUTERMAN_R, PUTERMAN_Q, 0.9, [0, 1]), GameError),
        (([1.0, 2.0], PUTERMAN_Q[0], 0.9, [0, 5], [0, 0]), GameError),
        (([1.0, 2.0], PUTERMAN_Q[0], 0.9, [0.0, 1.0], [0, 0]), GameError),
        (([1.0, 2.0], PUTERMAN_Q[0], 0.9, [0, 0], [0, 1]), DeadEndError),
        ((np.full((2, 2), -np.inf), PUTERMAN_Q), DeadEndError),
        ((np.where(PUTERMAN_R == 5, np.inf, PUTERMAN_R), PUTERMAN_Q), RewardNotFiniteError),
        ((PUTERMAN_R, PUTERMAN_Q * 2), ProbabilitySumError),
        ((np.where(PUTERMAN_R == 5, np.nan, PUTERMAN_R), PUTERMAN_Q), RewardNotFiniteError),
        (([1.0, 2.0, 3.0], [[1, 0]] * 3, 0.9, [0, 1, 1], [0, 1, 1]), DuplicateActionError),
        (([1.0, 2.0], PUTERMAN_Q[0], 0.9, [0, 1], [0, -1]), GameError),
        (([["five"]], PUTERMAN_Q), GameError),
        ((np.zeros((0, 0)), np.zeros((0, 0, 0))), GameError),
    ],
)
def test_wrong_arrays_of_quantecon(arguments, error) -> None:
    with pytest.raises(error):
        from_quantecon(*arguments)
