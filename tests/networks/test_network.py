"""The compiled form: validation, names, exact numbers, digest, other forms."""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import networkx as nx
import numpy as np
import pytest

from mdpdice import Dist, Game, Kind, Network, decide, end, explore, go, pass_to, roll
from mdpdice.errors import (
    DiscountRangeError,
    GameError,
    HorizonRangeError,
    MdpDiceError,
    ProbabilityRangeError,
    ProbabilitySumError,
    RewardNotFiniteError,
    UnknownStateError,
)


def arrays(**changes):
    """A decision between an end and a coin for the other two ends; reward 1 on the way to the coin."""
    given = {
        "kind": [Kind.MAX, Kind.CHANCE, Kind.END, Kind.END],
        "indptr": [0, 2, 4, 4, 4],
        "dst": [2, 1, 2, 3],
        "weight": [1, 1, 0.5, 0.5],
        "reward": [0, 1, 0, 0],
        "sign": [1, 1, 1, 1],
        "step": [False] * 4,
        "payoff": [0, 0, 2, 5],
        "start": 0,
        "states": ["start"],
        "state_node": [0],
        "actions": ["safe", "coin"],
    }
    return given | changes


def failure(**changes):
    with pytest.raises(MdpDiceError) as caught:
        Network(**arrays(**changes))
    return caught.value


def told(error, kind, *words, state=None):
    assert type(error) is kind, error
    assert error.state == state, error
    for word in words:
        assert word in str(error), error


def test_a_sound_network_is_accepted():
    network = Network(**arrays())
    assert (network.n_nodes, network.n_edges, network.n_states) == (4, 4, 1)
    assert repr(network) == "<Network: 1 states, 2 END, 1 MAX, 1 CHANCE, 4 edges>"
    assert network.source.tolist() == [0, 0, 1, 1]
    assert network.decides.tolist() == [True, False, False, False]
    assert list(network.edges(1)) == [2, 3]


def test_defaults_name_everything_by_number():
    given = arrays()
    for name in ("states", "state_node", "actions"):
        del given[name]
    network = Network(**given)
    assert list(network.states) == [0, 1, 2, 3]
    assert list(network.actions) == [0, 1]
    assert network.node_of(3) == 3
    assert network.row(1) == [Fraction(1, 2)] * 2


# --- validation ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"indptr": [0, 2, 4, 4]},
        {"indptr": [0, 2, 4, 4, 5]},
        {"indptr": [1, 2, 4, 4, 4]},
        {"indptr": [0, 3, 2, 4, 4]},
        {"dst": [2, 1, 2]},
        {"weight": [1, 1, 1]},
        {"reward": [0] * 5},
        {"sign": [1] * 3},
        {"step": [False] * 5},
        {"payoff": [0] * 3},
        {"numerator": [1] * 3},
        {"weight": [[1, 1, 0.5, 0.5]]},
        {"actions": ["safe"]},
        {"actions": ["safe", "coin", "more"]},
        {"kind": [Kind.MAX, Kind.CHANCE, Kind.END, 4]},
        {"kind": [Kind.MAX, Kind.CHANCE, Kind.END, Kind.CHANCE]},  # without edges
        {"kind": [Kind.MAX, Kind.END, Kind.END, Kind.END]},  # with edges
        {"sign": [1, 0, 1, 1]},
        {"sign": [1, 2, 1, 1]},
        {"weight": [0.5, 1, 0.5, 0.5]},
        {"state_node": [4]},
        {"state_node": [-1]},
        {"state_node": [0, 1]},
        {"state_node": []},
        {"node_state": [0, -1, -1]},
        {"node_state": [0, -1, -1, 1]},
        {"node_state": [0, -2, -1, -1]},
    ],
)
def test_arrays_that_do_not_fit(changes):
    assert type(failure(**changes)) is GameError


@pytest.mark.parametrize("start", [-1, 4])
def test_a_start_that_does_not_exist(start):
    error = failure(start=start)
    told(error, UnknownStateError, "start node")
    assert error.value == start


def test_no_nodes_at_all():
    empty = {key: [] for key in set(arrays()) - {"start", "indptr"}}
    assert type(failure(indptr=[0], **empty)) is UnknownStateError


@pytest.mark.parametrize("target", [-1, 4])
def test_an_edge_to_nowhere(target):
    error = failure(dst=[2, target, 2, 3])
    told(error, UnknownStateError, f"edge 1 leads to node {target}")
    assert error.value == target


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite(bad):
    error = failure(reward=[0, bad, 0, 0])
    told(error, RewardNotFiniteError, "reward", state="start")
    assert error.value == bad or math.isnan(bad)
    told(failure(payoff=[0, 0, 2, bad]), RewardNotFiniteError, "payoff", state=f"end({bad:g})")


@pytest.mark.parametrize(
    ("row", "kind", "value"),
    [
        ([0.5, 0.4], ProbabilitySumError, 0.9),
        ([0.5, 0.5 + 1e-12], ProbabilitySumError, 1 + 1e-12),
        ([-0.5, 1.5], ProbabilityRangeError, -0.5),
        ([1.5, -0.5], ProbabilityRangeError, 1.5),
        ([math.nan, 0.5], ProbabilityRangeError, math.nan),
        ([math.inf, 0.5], ProbabilityRangeError, math.inf),
    ],
)
def test_rows_that_are_no_distribution(row, kind, value):
    error = failure(weight=[1, 1, *row])
    told(error, kind, state="chance node after 'coin' in state 'start'")
    assert error.value == pytest.approx(value, nan_ok=True, abs=1e-15)


def test_rounding_of_a_row_is_accepted():
    n = 1000
    Network(
        kind=[Kind.CHANCE, Kind.END], indptr=[0, n, n], dst=[1] * n, weight=[1 / n] * n, reward=[0] * n,
        sign=[1] * n, step=[False] * n, payoff=[0, 0], start=0,
    )  # fmt: skip


@pytest.mark.parametrize("discount", [0, -1, 1.5, Fraction(3, 2)])
def test_a_discount_outside_its_range(discount):
    error = failure(discount=discount)
    told(error, DiscountRangeError, "outside (0, 1]")
    assert error.value == discount


@pytest.mark.parametrize("horizon", [-1, 2.0, "3", True])
def test_a_horizon_that_is_no_number_of_decisions(horizon):
    error = failure(horizon=horizon)
    told(error, HorizonRangeError, "number of decisions")
    assert error.value == horizon


def test_a_total_forbids_a_discount():
    told(failure(total=1, discount=0.9), DiscountRangeError, "`total` other than 0")
    assert Network(**arrays(total=1, horizon=3)).total == 1
    assert Network(**arrays(total=0, horizon=3, discount=0.9)).horizon == 3


def loop(step, discount):
    """A decision between an end and itself."""
    return Network(
        kind=[Kind.MAX, Kind.END], indptr=[0, 2, 2], dst=[0, 1], weight=[1, 1], reward=[0, 0], sign=[1, 1],
        step=[step, False], payoff=[0, 1], start=0, discount=discount, states=["here", "there"],
    )  # fmt: skip


def test_a_discount_that_never_acts_on_a_cycle():
    with pytest.raises(DiscountRangeError, match="'here'.*holds no step") as caught:
        loop(step=False, discount=0.9)
    assert caught.value.state == "here"
    assert loop(step=True, discount=0.9).discount == Fraction(0.9)
    assert loop(step=False, discount=1).discount == 1


def test_a_longer_cycle_without_steps():
    def ring(steps):
        return Network(
            kind=[Kind.CHANCE] * 3 + [Kind.END], indptr=[0, 2, 3, 4, 4], dst=[1, 3, 2, 0], weight=[0.5, 0.5, 1, 1],
            reward=[0] * 4, sign=[1] * 4, step=steps, payoff=[0, 0, 0, 1], start=0, discount=0.5,
        )  # fmt: skip

    with pytest.raises(DiscountRangeError, match="holds no step"):
        ring([False] * 4)
    with pytest.raises(DiscountRangeError, match="holds no step"):
        ring([False, True, False, False])  # the step leads out of the ring
    for edge in (0, 2, 3):
        steps = [False] * 4
        steps[edge] = True
        assert ring(steps).discount == Fraction(1, 2)


def test_a_chance_cycle_of_a_discounted_game_is_refused_when_explored():
    declared = {
        "start": lambda: decide({"a": go("wait"), "b": end(1)}),
        "wait": lambda: roll(Dist({"again": 1, "on": 1}), lambda k: go("wait") if k == "again" else go("start")),
    }
    with pytest.raises(DiscountRangeError, match="holds no step") as caught:
        explore(Game.of(start="start", node=lambda s: declared[s](), discount=0.9))
    assert caught.value.state == "wait"
    assert explore(Game.of(start="start", node=lambda s: declared[s]())).n_states == 2


# --- names ---------------------------------------------------------------------------------------


@attrs.frozen
class Box:
    inside: object


@pytest.fixture(scope="module")
def played():
    """Two decisions, an inline roll, a chance state, states of several types."""
    declared = {
        "start": lambda: decide([(1, go((0, 1))), ("roll", roll(Dist({1: 1, 2: 2}), lambda k: go(Box(k))))]),
        (0, 1): lambda: roll(Dist({1: 1, 2: 1}), lambda k: go(Box(k))),
        Box(1): lambda: decide({"x": end(Fraction(1, 3)), "y": pass_to("start", reward=Fraction(1, 7))}),
        Box(2): lambda: end(4),
    }
    return explore(Game.of(start="start", node=lambda s: declared[s]()))


def test_states_and_nodes_find_each_other(played):
    assert len(played.states) == 4
    for state in played.states:
        assert played.state_of(played.node_of(state)) is state
        assert played.describe(played.node_of(state)) is state


@pytest.mark.parametrize("state", ["stop", (0, True), (0, 1.0), (False, 1), Box(True), Box(3), 0, None, [0, 1], [[]]])
def test_states_that_are_not_there(played, state):
    with pytest.raises(UnknownStateError, match="similar states") as caught:
        played.node_of(state)
    assert caught.value.value == state
    assert repr(state) in str(caught.value)


def test_an_unknown_state_lists_the_nearest(played):
    assert played.nearest("stert")[0] == "start"
    assert played.nearest(Box(12), count=2) == [Box(1), Box(2)] or played.nearest(Box(12), count=2) == [Box(2), Box(1)]
    with pytest.raises(UnknownStateError, match="similar states: 'start'"):
        played.node_of("stert")


def test_numbered_states_are_not_true_or_a_float():
    network = loop(step=True, discount=1)
    numbered = attrs.evolve(network, states=range(2))
    assert numbered.node_of(1) == 1
    for state in (True, 1.0, 2, -1, "1"):
        with pytest.raises(UnknownStateError):
            numbered.node_of(state)


def test_actions_and_edges_find_each_other(played):
    found = []
    for node in np.flatnonzero(played.decides).tolist():
        for edge in played.edges(node):
            action = played.action_of(edge)
            assert played.edge_of(node, action) == edge
            found.append(action)
    assert found == [1, "roll", "x", "y"]


@pytest.mark.parametrize("action", ["z", True, 1.0, None, [1]])
def test_actions_that_are_not_there(played, action):
    with pytest.raises(UnknownStateError, match=r"the actions are \[1, 'roll'\]") as caught:
        played.edge_of(played.start, action)
    assert caught.value.state == "start"
    assert caught.value.action == action


def test_where_nobody_decides_there_are_no_actions(played):
    with pytest.raises(UnknownStateError, match=r"the actions are \[\]"):
        played.edge_of(played.node_of((0, 1)), "x")
    chance_edge = played.edges(played.node_of((0, 1)))[0]
    for edge in (chance_edge, -1, played.n_edges):
        with pytest.raises(UnknownStateError, match="not an edge of a decision"):
            played.action_of(edge)


def test_inline_nodes_are_described_by_where_they_stand(played):
    inline = int(played.dst[played.edge_of(played.start, "roll")])
    assert played.describe(inline) == "chance node after 'roll' in state 'start'"
    stop = int(played.dst[played.edge_of(played.node_of(Box(1)), "x")])
    assert played.describe(stop) == "end(0.333333)"
    assert played.state_of(inline) is None


def test_nodes_without_states_are_described_without_end():
    n = 3000  # more than Python recurses into
    network = Network(
        kind=[Kind.CHANCE] * n + [Kind.END], indptr=[*range(n + 1), n], dst=range(1, n + 1), weight=[1] * n,
        reward=[0] * n, sign=[1] * n, step=[0] * n, payoff=[0] * (n + 1), start=0, states=[], state_node=[],
    )  # fmt: skip
    assert network.describe(n - 1) == f"chance node after node {n - 2}"
    assert network.describe(0) == "node 0"


# --- exact numbers -------------------------------------------------------------------------------


def test_exact_numbers(played):
    box = played.node_of(Box(1))
    first, second = played.edges(box)
    assert played.exact_payoff(int(played.dst[first])) == Fraction(1, 3)
    assert played.exact_reward(second) == Fraction(1, 7)
    assert played.reward[second] == 1 / 7
    assert played.exact_reward(first) == 0
    inline = int(played.dst[played.edge_of(played.start, "roll")])
    assert played.row(inline) == [Fraction(1, 3), Fraction(2, 3)]
    assert played.row(box) == [1, 1]
    # Numbers that a float equals are not stored twice.
    assert set(played.exact_rewards) == {second}
    assert set(played.exact_payoffs) == {int(played.dst[first])}


def test_integers_that_no_float_equals():
    network = explore(Game.of(start=0, node=lambda s: decide({"a": end(2**53 + 1), "b": go(0, reward=2**60 + 1)})))
    assert network.exact_payoff(int(network.dst[0])) == 2**53 + 1
    assert network.exact_reward(1) == 2**60 + 1
    assert len(network.exact_payoffs) == len(network.exact_rewards) == 1


# --- read-only -----------------------------------------------------------------------------------

TYPES = {
    "kind": np.uint8,
    "indptr": np.int64,
    "dst": np.int64,
    "weight": np.float64,
    "reward": np.float64,
    "sign": np.int8,
    "step": np.bool_,
    "payoff": np.float64,
    "state_node": np.int64,
    "node_state": np.int64,
}


@pytest.mark.parametrize("name", [*TYPES, "numerator"])
def test_arrays_are_read_only(played, name):
    array = getattr(played, name)
    assert not array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 0
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        setattr(played, name, array)


def test_lists_and_other_types_become_the_documented_ones():
    network = Network(**arrays(dst=np.array([2, 1, 2, 3], dtype=np.int16), weight=np.float32([1, 1, 0.5, 0.5])))
    assert {name: getattr(network, name).dtype for name in TYPES} == TYPES


# --- digest --------------------------------------------------------------------------------------

CHANGES = {
    "kind": [Kind.MIN, Kind.CHANCE, Kind.END, Kind.END],
    "dst": [3, 1, 2, 3],
    "weight": [1, 1, 0.25, 0.75],
    "reward": [0, 2, 0, 0],
    "sign": [1, -1, 1, 1],
    "step": [False, True, False, False],
    "payoff": [0, 0, 2, 6],
    "start": 1,
    "discount": Fraction(1, 2),
    "horizon": 3,
    "total": 1,
    "exact_rewards": {1: Fraction(1) + Fraction(1, 10**30)},
    "exact_payoffs": {3: Fraction(5) + Fraction(1, 10**30)},
    "numerator": np.array([1, 1, 10**30, 10**30 + 1], dtype=object),
}


def test_the_digest_does_not_change_from_run_to_run():
    # The value is part of the file format: files written before must be readable.
    assert Network(**arrays()).digest == Network(**arrays()).digest
    assert len(Network(**arrays()).digest) == 64


def test_the_digest_is_about_the_problem_not_its_names():
    assert (
        Network(**arrays(states=["other"], actions=["a", "b"], warnings=("hm",))).digest == Network(**arrays()).digest
    )


@pytest.mark.parametrize("name", CHANGES)
def test_the_digest_changes_with_every_part(name):
    assert Network(**arrays(**{name: CHANGES[name]})).digest != Network(**arrays()).digest


def test_the_digest_changes_with_the_rows():
    # Four edges to one end, as 2 + 2 and as 1 + 3: nothing but `indptr` tells the two apart.
    def two(first):
        return Network(
            kind=[Kind.MAX, Kind.MAX, Kind.END], indptr=[0, first, 4, 4], dst=[2] * 4, weight=[1] * 4, reward=[0] * 4,
            sign=[1] * 4, step=[0] * 4, payoff=[0, 0, 1], start=0,
        )  # fmt: skip

    assert two(2).digest != two(1).digest


def test_the_digest_tells_exact_weights_apart_that_floats_do_not():
    def coin(numbers):
        return Network(**arrays(numerator=[1, 1, *numbers])).digest

    base = coin([2**60, 2**60])
    assert coin([2**60, 2**60 + 1]) != base
    assert coin([2.0**-1, 2.0**-1]) == Network(**arrays()).digest
    assert coin([0.5, 0.5 + 1e-16 * 2]) != coin([0.5, 0.5])
    assert coin([1, 1]) == coin([2, 2])  # one and the same problem


def test_the_digest_of_exact_numbers_beyond_pythons_limit_of_digits():
    huge = Fraction(1, 7**6000)

    def paid(exact):
        return Network(**arrays(reward=[5e-324, 1, 0, 0]), exact_rewards={0: exact}).digest

    assert paid(huge) != paid(huge / 7)


# --- exact numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [[1, 1, 1, 0], [1, 1, 0, 1], [1, 1, 1, -0.0]])
def test_an_edge_that_is_never_taken_is_no_edge(weight):
    with pytest.raises(ProbabilityRangeError, match=r"outside \(0, 1\]; an edge that is never taken is not an edge"):
        Network(**arrays(weight=weight))


@pytest.mark.parametrize(
    "numerator", [[1, 1, 1, 0], [1, 1, -1, 2], [1, 1, 0.5, math.nan], [1, 1, Fraction(1), Fraction(0)]]
)
def test_numerators_are_positive(numerator):
    dtype = object if isinstance(numerator[3], Fraction) else None
    with pytest.raises(ProbabilityRangeError, match="numerator"):
        Network(**arrays(numerator=np.array(numerator, dtype=dtype)))


WRONG_NUMERATORS = [
    [1, 1, 1, 3],
    [1, 1, 10**15, 10**15 + 10],
    [1, 1, 0.5, 0.5 + 1e-12],
    [1, 1, Fraction(1, 3), Fraction(2, 3)],
    [1, 1, 10**400, 10**400 + 10**386],
    [1, 1, Fraction(1, 10**400), Fraction(3, 10**400)],
]
RIGHT_NUMERATORS = [
    [1, 1, 7, 7],
    [1, 1, 2**62, 2**62],
    [1, 1, 10**17, 10**17 + 1],
    [1, 1, 10**400, 10**400 + 1],
    [1, 1, Fraction(1, 10**400), Fraction(1, 10**400)],
]


@pytest.mark.parametrize("numerator", WRONG_NUMERATORS)
def test_numerators_that_contradict_the_floats_are_refused(numerator):
    with pytest.raises(GameError, match="by its numerator"):
        Network(**arrays(numerator=np.array([*numerator, None], dtype=object)[:-1]))
    if all(type(x) is not Fraction and x < 2**63 for x in numerator):
        with pytest.raises(GameError, match="by its numerator"):
            Network(**arrays(numerator=numerator))


@pytest.mark.parametrize("numerator", RIGHT_NUMERATORS)
def test_numerators_may_be_what_no_float_is(numerator):
    made = Network(**arrays(numerator=np.array([*numerator, None], dtype=object)[:-1]))
    assert sum(made.row(1)) == 1


def test_a_probability_below_every_float_is_an_edge():
    weight, numerator = [1, 1, 1, 5e-324], np.array([1, 1, 10**400, 1], dtype=object)
    assert Network(**arrays(weight=weight, numerator=numerator)).row(1)[1] == Fraction(1, 10**400 + 1)
    # Ten times the smallest float is another number.
    with pytest.raises(GameError, match="by its numerator"):
        Network(**arrays(weight=[1, 1, 1, 5e-323], numerator=numerator))


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ({"exact_rewards": {1: Fraction(4, 3)}}, "reward 1.0 is not the float nearest to its exact number, 4/3"),
        ({"exact_rewards": {0: Fraction(1, 10**400)}}, "reward 0.0 is not the float nearest"),
        ({"exact_payoffs": {3: Fraction(1, 3)}}, "payoff 5.0 is not the float nearest"),
        ({"exact_payoffs": {9: Fraction(1, 3)}}, "an exact payoff belongs to no node"),
        ({"exact_rewards": {-1: Fraction(1, 3)}}, "an exact reward belongs to no edge"),
    ],
)
def test_exact_numbers_that_contradict_the_floats_are_refused(numbers, told):
    with pytest.raises(GameError, match=told):
        Network(**arrays(**numbers))


def test_an_exact_number_beyond_every_float_is_refused():
    with pytest.raises(RewardNotFiniteError, match="larger than every float"):
        Network(**arrays(exact_rewards={1: Fraction(10**400)}))


@pytest.mark.parametrize(
    ("discount", "factor"),
    [(1, 1.0), (Fraction(1, 3), 1 / 3), (1 - Fraction(1, 10**17), 1 - 2.0**-53), (Fraction(1, 10**400), 5e-324)],
)
def test_a_discount_below_1_is_a_float_below_1(discount, factor):
    assert Network(**arrays(discount=discount, step=[True] * 4)).factor == factor


# --- networkx ------------------------------------------------------------------------------------


def test_to_networkx(played):
    graph = played.to_networkx()
    assert isinstance(graph, nx.MultiDiGraph)
    assert graph.number_of_nodes() == played.n_nodes
    assert graph.number_of_edges() == played.n_edges
    assert graph.graph["start"] == played.start
    assert graph.graph["discount"] == 1
    box = played.node_of(Box(1))
    assert graph.nodes[box] == {"kind": "MAX", "state": Box(1), "payoff": 0.0}
    assert graph.nodes[played.node_of(Box(2))]["payoff"] == 4
    edges = {data["action"]: data for _, _, data in graph.out_edges(box, data=True)}
    assert edges["y"] == {"weight": 1.0, "reward": 1 / 7, "sign": -1, "step": True, "action": "y"}
    inline = int(played.dst[played.edge_of(played.start, "roll")])
    assert sorted(data["weight"] for _, _, data in graph.out_edges(inline, data=True)) == [1 / 3, 2 / 3]
    assert all("action" not in data for _, _, data in graph.out_edges(inline, data=True))


def test_parallel_edges_survive_in_networkx():
    twice = explore(Game.of(start=0, node=lambda s: decide({"a": end(1), "b": end(1)})))
    assert twice.to_networkx().number_of_edges(0, int(twice.dst[0])) == 2


def test_kept_edges_take_everything_with_them():
    third = Fraction(1, 3)
    network = Network(
        **arrays(reward=[0, 1, 1 / 3, 0], sign=[1, -1, 1, 1], step=[False, True, False, False]),
        numerator=[1, 1, 7, 7],
        exact_rewards={2: third},
    )
    kept = network.keep_edges(np.array([1, 2, 3]))
    assert kept.kind.tolist() == network.kind.tolist()
    assert kept.indptr.tolist() == [0, 1, 3, 3, 3]
    assert (kept.dst.tolist(), kept.weight.tolist()) == ([1, 2, 3], [1, 0.5, 0.5])
    assert (kept.sign.tolist(), kept.step.tolist()) == ([-1, 1, 1], [True, False, False])
    assert (kept.numerator.tolist(), list(kept.actions)) == ([1, 7, 7], ["coin"])
    assert kept.exact_rewards == {1: third}
    assert (kept.exact_reward(1), kept.exact_reward(2)) == (third, 0)


def test_a_node_without_edges_becomes_an_end():
    stopped = Network(**arrays()).keep_edges(np.array([0, 1]), payoff=[0, 9, 2, 5])
    assert stopped.kind.tolist() == [Kind.MAX, Kind.END, Kind.END, Kind.END]
    assert (stopped.indptr.tolist(), list(stopped.actions)) == ([0, 2, 2, 2, 2], ["safe", "coin"])
    assert (stopped.payoff.tolist(), stopped.reward.tolist()) == ([0, 9, 2, 5], [0, 1])
