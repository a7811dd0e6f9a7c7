"""Networks from three-level arrays."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from helpers.random_games import best_of_all_policies

from mdpdice import Kind, Network, solve
from mdpdice.errors import (
    DeadEndError,
    DiscountRangeError,
    DuplicateActionError,
    EmptySupportError,
    GameError,
    MdpDiceError,
    ProbabilityRangeError,
    ProbabilitySumError,
    RewardNotFiniteError,
    StateCollisionError,
    UnknownStateError,
)

MODELS = sorted((Path(__file__).parent.parent / "data" / "models").glob("*.npz"))


def build(**changes):
    """A: go to A or B with 1/2 each for 1, stay for 0; B: back for 2."""
    arrays = {
        "choice_ptr": [0, 2, 3],
        "branch_ptr": [0, 2, 3, 4],
        "target": [0, 1, 0, 0],
        "probability": ["1/2", "1/2", 1, 1],
        "reward": [1, 0, 2],
        "states": ["A", "B"],
        "actions": ["go", "stay", "back"],
        "discount": "9/10",
    }
    return Network.from_choices(**arrays | changes)


def failure(**changes):
    with pytest.raises(MdpDiceError) as caught:
        build(**changes)
    return caught.value


def told(error, kind, *words, state=None, action=None):
    assert type(error) is kind, error
    assert (error.state, error.action) == (state, action), error
    for word in words:
        assert word in str(error), error


# --- structure -----------------------------------------------------------------------------------


def test_the_network_of_a_small_model():
    network = build()
    assert list(network.states) == ["A", "B"]
    assert list(network.actions) == ["go", "stay", "back"]
    assert network.kind.tolist() == [Kind.MAX, Kind.MAX, Kind.CHANCE]
    assert network.dst.tolist() == [2, 0, 0, 0, 1]
    # Every branch is a step, the way to its chance node is not.
    assert network.step.tolist() == [False, True, True, True, True]
    # A reward per choice is paid on the choice.
    assert network.reward.tolist() == [1, 0, 2, 0, 0]
    assert network.row(2) == [Fraction(1, 2), Fraction(1, 2)]
    assert network.discount == Fraction(9, 10)
    assert network.start == 0


def test_its_value():
    answer = solve(build())
    exact = best_of_all_policies(
        {
            "A": [(1, {"A": Fraction(1, 2), "B": Fraction(1, 2)}), (0, {"A": Fraction(1)})],
            "B": [(2, {"A": Fraction(1)})],
        },
        Fraction(9, 10),
    )
    assert exact == {"A": Fraction(380, 29), "B": Fraction(400, 29)}
    for state, value in exact.items():
        assert answer.value(state) == pytest.approx(float(value), rel=1e-9)


def test_names_by_default_are_numbers():
    network = build(states=None, actions=None)
    assert list(network.states) == [0, 1]
    assert list(network.actions) == [0, 1, 0]  # within their state


def test_names_of_numpy_become_pythons():
    network = build(states=np.array(["A", "B"]), actions=np.array(["go", "stay", "back"]))
    assert network.node_of("B") == 1
    assert network.edge_of(0, "stay") == 1
    assert type(network.states[0]) is str


def test_rewards_per_branch():
    # "go" pays 4 on the way to A and nothing on the way to B.
    network = build(reward=[4, 0, 0, 2], reward_per="branch")
    assert network.reward.tolist() == [0, 0, 2, 4, 0]
    assert solve(network).value("A") == pytest.approx(solve(build(reward=[2, 0, 2])).value("A"))


@pytest.mark.parametrize("reward_per", ["choice", "branch"])
def test_rewards_that_are_no_float_stay_exact(reward_per):
    third = "1/3"
    rewards = [third, 0, third] if reward_per == "choice" else [third, 0, third, third]
    network = build(reward=rewards, reward_per=reward_per)
    exact = [network.exact_reward(e) for e in range(network.n_edges)]
    # Edges: go, stay, back, and the two branches of go.
    where = [0, 2] if reward_per == "choice" else [1, 2, 3]
    assert exact == [Fraction(1, 3) if e in where else 0 for e in range(5)]


def test_a_terminal_state_keeps_no_choices_and_its_payoff_is_one_step_away():
    network = build(terminal={1: "1/3"}, actions=None)
    assert network.kind.tolist() == [Kind.MAX, Kind.END, Kind.CHANCE]
    assert network.exact_payoff(1) == Fraction(1, 3)
    assert network.n_edges == 4
    # V = max(1 + 9/10 (V/2 + 1/6), 9/10 V)
    assert solve(network).value("A") == pytest.approx(1.15 / 0.55)


def test_a_terminal_state_needs_no_choices():
    network = Network.from_choices([0, 1, 1], [0, 1], [1], [1.0], [5], terminal={1: 10}, discount=0.5)
    assert solve(network).value() == 10  # 5 + 10 / 2


def test_a_terminal_state_may_be_any_integer_and_the_start_too():
    network = Network.from_choices([0, 1, 1], [0, 1], [1], [1.0], [5], terminal={np.int64(1): 10}, start=np.int64(1))
    assert network.start == 1
    assert network.kind.tolist() == [Kind.MAX, Kind.END]


def test_owners():
    network = build(owner=[0, 1])
    assert network.kind.tolist() == [Kind.MAX, Kind.MIN, Kind.CHANCE]
    everywhere_min = build(owner=np.array([1, 1]))
    # The minimiser stays at A for ever, for 0.
    assert solve(everywhere_min).value("A") == pytest.approx(0, abs=1e-12)


def test_branches_of_probability_zero_are_dropped():
    arrays = {
        "choice_ptr": [0, 1, 2],
        "branch_ptr": [0, 3, 5],
        "target": [1, 0, 1, 1, 0],
        "reward": ["1/3", 5, "1/7", 0, 9],
        "reward_per": "branch",
        "states": ["A", "B"],
        "actions": ["a", "b"],
        "discount": "1/2",
    }
    for probability in ([0.0, 0.5, 0.5, 1.0, 0.0], ["0", "1/2", "1/2", 1, "0/3"], [0, Fraction(1, 2), 0.5, 1, 0]):
        network = build(**arrays, probability=probability)
        assert network.n_nodes == 3  # "b" has one branch left and needs no chance node
        assert network.dst.tolist() == [2, 1, 0, 1]
        assert [network.exact_reward(e) for e in range(4)] == [0, 0, 5, Fraction(1, 7)]
        assert (network.weight > 0).all()


def test_a_probability_below_every_float_is_not_dropped():
    tiny = Fraction(1, 10**400)
    network = build(probability=[tiny, 1 - tiny, 1, 1])
    assert network.n_edges == 5
    assert network.row(2) == [tiny, 1 - tiny]
    assert (network.weight > 0).all()


def test_branches_to_one_target_add_up():
    twice = build(branch_ptr=[0, 3, 4, 5], target=[0, 1, 1, 0, 0], probability=["1/2", "1/4", "1/4", 1, 1])
    assert solve(twice).value("A") == pytest.approx(380 / 29)


# --- numbers -------------------------------------------------------------------------------------

EXACT = [Fraction(1, 2), Fraction(1, 2), Fraction(1), Fraction(1)]


@pytest.mark.parametrize(
    "probability",
    [
        [0.5, 0.5, 1.0, 1.0],
        np.array([0.5, 0.5, 1, 1]),
        np.array([0.5, 0.5, 1, 1], dtype=np.float32),
        EXACT,
        ["1/2", "0.5", "1", 1],
        np.array(["1/2", "1/2", "1", "1"]),
        np.array(EXACT, dtype=object),
        ["1/2", 0.5, Fraction(1), 1],
    ],
)
def test_every_way_to_write_a_probability(probability):
    network = build(probability=probability)
    assert network.row(2) == [Fraction(1, 2)] * 2
    assert network.warnings == ()


def test_fractions_stay_exact():
    network = build(probability=["1/3", "2/3", 1, 1])
    assert network.row(2) == [Fraction(1, 3), Fraction(2, 3)]
    assert network.weight[3:].tolist() == [1 / 3, 2 / 3]


@pytest.mark.parametrize("discount", [0.9, "9/10", "0.9", Fraction(9, 10), 1])
def test_every_way_to_write_a_discount(discount):
    expected = Fraction(0.9) if discount == 0.9 and isinstance(discount, float) else Fraction(discount)
    assert build(discount=discount).discount == expected


def test_a_float_row_off_by_rounding_means_the_normalised_rationals():
    # Ten times the float nearest to 1/10 is more than 1, though floats may add up to 1.
    assert 10 * Fraction(0.1) > 1
    n = 10
    network = Network.from_choices([0, 1], [0, n], [0] * n, [0.1] * n, [0.0], discount=0.5)
    assert network.row(1) == [Fraction(1, 10)] * n
    (warning,) = network.warnings
    assert "normalised rationals" in warning
    assert "state 0" in warning


def test_rows_that_only_floats_add_up_to_one_are_told_too():
    thirds = Network.from_choices([0, 1], [0, 3], [0] * 3, [1 / 3] * 3, [0.0], discount=0.5)
    assert 1 / 3 + 1 / 3 + 1 / 3 == 1
    assert len(thirds.warnings) == 1
    small = Network.from_choices([0, 1], [0, 3], [0] * 3, [2.0**-60, 1 - 2.0**-53, 0.0], [0.0], discount=0.5)
    assert small.warnings[0].count("-1.1") == 1
    exact = Network.from_choices([0, 1], [0, 3], [0] * 3, [2.0**-30, 1 - 2.0**-30, 0.0], [0.0], discount=0.5)
    assert exact.warnings == ()


@pytest.mark.parametrize("small", [1.0, 1e-8, 1e-15, 1e-25, 1e-300])
def test_rows_that_add_up_to_one_are_told_exactly(small):
    """The last probability makes up for the others, as far as floats can; small ones count to the last bit."""
    rng = np.random.default_rng(1)
    for _ in range(60):
        rest = rng.random(4) * small ** rng.integers(0, 2, 4) / 8
        row = [*rest.tolist(), math.fsum([1.0, *(-rest)])]
        defect = sum(map(Fraction, row)) - 1
        net = Network.from_choices([0, 1], [0, 5], [0] * 5, row, [1.0], discount="1/2")
        assert bool(net.warnings) == (defect != 0)
        if defect:
            assert f"the largest defect is {float(defect):.3g}" in net.warnings[0]


def test_a_float_row_off_by_more_is_normalised_up_to_a_limit():
    network = build(probability=[0.5, 0.5 + 5e-10, 1.0, 1.0])
    assert sum(network.row(2)) == 1
    assert network.weight[3:].sum() == pytest.approx(1, abs=1e-16)
    assert "5e-10" in network.warnings[0]
    assert "state 'A', action 'go'" in network.warnings[0]
    told(failure(probability=[0.5, 0.5 + 2e-9, 1.0, 1.0]), ProbabilitySumError, state="A", action="go")


def test_fractions_and_floats_have_one_tolerance():
    off = Fraction(1, 2) + Fraction(1, 10**30)
    network = build(probability=["1/2", off, 1, 1])
    assert sum(network.row(2)) == 1
    assert network.row(2)[1] == off / (1 + Fraction(1, 10**30))
    assert "1e-30" in network.warnings[0]
    far = Fraction(1, 2) + Fraction(2, 10**9)
    told(failure(probability=["1/2", far, 1, 1]), ProbabilitySumError, state="A", action="go")


@pytest.mark.parametrize("third", [0.333333, Fraction(333333, 10**6), Decimal("0.333333")])
def test_few_digits_need_a_larger_tolerance(third):
    arrays = ([0, 1, 2, 3], [0, 3, 4, 5], [0, 1, 2, 1, 2], [third] * 3 + [1, 1], [0, 1, 2])
    with pytest.raises(ProbabilitySumError, match="tolerance"):
        Network.from_choices(*arrays, terminal={1: 1, 2: 2})
    network = Network.from_choices(*arrays, terminal={1: 1, 2: 2}, tolerance=1e-5)
    assert network.row(3) == [Fraction(1, 3)] * 3
    for wrong in (0, 1, -1, math.nan):
        with pytest.raises(GameError, match="tolerance"):
            Network.from_choices(*arrays, terminal={1: 1, 2: 2}, tolerance=wrong)


def test_a_probability_that_is_a_text_has_its_place():
    told(failure(probability=["1/2", "a half", 1, 1]), GameError, state="A", action="go")


def test_play_starts_in_one_of_several_states():
    ends = {0: 6, 1: 9, 2: 1e300}
    arrays = ([0, 0, 0, 0], [0], [], [], [])
    network = Network.from_choices(*arrays, terminal=ends, start={0: "1/3", 1: Fraction(2, 3)})
    assert solve(network, solver="exact").exact() == 8
    assert network.row(network.start) == [Fraction(1, 3), Fraction(2, 3)]
    assert Network.from_choices(*arrays, terminal=ends, start={2: 1, 0: 0}).start == 2
    tiny = Network.from_choices(*arrays, terminal=ends, start={1: 1 - Fraction(1, 10**20), 0: Fraction(1, 10**20)})
    assert solve(tiny, solver="exact").exact() == 9 - Fraction(3, 10**20)
    for wrong in ({}, {0: -1, 1: 2}, {5: 1}, {0: 0.5, 1: 0.2}):
        with pytest.raises(MdpDiceError):
            Network.from_choices(*arrays, terminal=ends, start=wrong)


def test_the_worst_of_many_repairs_is_named():
    (warning,) = build(probability=[0.5, 0.5 + 1e-12, 1.0, 1.0 - 1e-10]).warnings
    assert "2 rows" in warning
    assert "state 'B', action 'back'" in warning


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "kind", "number"),
    [
        ([0.5, 0.4], ProbabilitySumError, 0.9),
        (["1/2", "2/5"], ProbabilitySumError, 0.9),
        ([0.5, 0.6], ProbabilitySumError, 1.1),
        ([-0.1, 1.1], ProbabilityRangeError, -0.1),
        (["-1/10", "11/10"], ProbabilityRangeError, -0.1),
        ([1.1, -0.1], ProbabilityRangeError, 1.1),
        ([math.inf, 0.5], ProbabilityRangeError, math.inf),
        (["inf", "1/2"], ProbabilityRangeError, math.inf),
        ([0.0, 0.0], EmptySupportError, None),
        (["0", "0"], EmptySupportError, None),
    ],
)
def test_rows_that_are_no_distribution(row, kind, number):
    for later in ([1.0, 1.0], ["1", "1"]):
        error = failure(probability=[*row, *later])
        told(error, kind, state="A", action="go")
        if number is not None:
            assert error.value == pytest.approx(number, abs=1e-15)


@pytest.mark.parametrize("nan", [math.nan, "nan"])
def test_nan_is_no_probability(nan):
    error = failure(probability=[nan, 0.5, 1, 1])
    told(error, ProbabilityRangeError, state="A", action="go")
    assert math.isnan(error.value)


def test_a_later_row_is_named_by_its_own_state():
    told(failure(probability=["1/2", "1/2", 1, "9/10"]), ProbabilitySumError, state="B", action="back")
    told(failure(probability=[0.5, 0.5, 0.9, 1.0]), ProbabilitySumError, state="A", action="stay")


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf, "nan", "-inf", 10**400, "1e400"])
def test_rewards_and_payoffs_that_are_not_finite(reward):
    told(failure(reward=[1, reward, 2]), RewardNotFiniteError, state="A", action="stay")
    told(failure(reward=[1, 0, reward, 2], reward_per="branch"), RewardNotFiniteError, state="A", action="stay")
    told(failure(terminal={1: reward}), RewardNotFiniteError, state="B")


def test_a_nan_in_a_float_array_of_rewards():
    told(failure(reward=np.array([1, 0, math.nan])), RewardNotFiniteError, state="B", action="back")


@pytest.mark.parametrize("junk", ["abc", None, "1/0", 1j, [1]])
def test_numbers_that_are_none(junk):
    told(failure(reward=[1, junk, 2]), GameError, "is not a number", state="A", action="stay")
    told(failure(terminal={1: junk}), GameError, "is not a number", state="B")
    told(failure(discount=junk), GameError, "is not a number")
    assert type(failure(probability=[junk, "1/2", 1, 1])) is GameError


@pytest.mark.parametrize(
    ("discount", "number"), [(0, 0), (-0.5, -0.5), (1.5, 1.5), ("3/2", 1.5), (math.inf, math.inf), ("inf", math.inf)]
)
def test_discounts_outside_their_range(discount, number):
    error = failure(discount=discount)
    told(error, DiscountRangeError, "outside (0, 1]", repr(discount))
    assert error.value == number


@pytest.mark.parametrize("discount", [math.nan, "nan"])
def test_nan_is_no_discount(discount):
    error = failure(discount=discount)
    told(error, DiscountRangeError, "outside (0, 1]")
    assert math.isnan(error.value)


def test_a_state_without_choices():
    error = failure(choice_ptr=[0, 3, 3], target=[0, 1, 0, 1])
    told(error, DeadEndError, "terminal", state="B")


def test_a_choice_without_branches():
    error = failure(branch_ptr=[0, 2, 2, 3], target=[0, 1, 0], probability=["1/2", "1/2", 1])
    told(error, EmptySupportError, state="A", action="stay")


@pytest.mark.parametrize("target", [2, -1, 10**12])
def test_a_target_that_does_not_exist(target):
    error = failure(target=[0, 1, target, 0])
    told(error, UnknownStateError, str(target), "2 states", state="A", action="stay")
    assert error.value == target


@pytest.mark.parametrize("state", [2, -1, "A", 0.0, None])
def test_a_start_or_terminal_that_does_not_exist(state):
    assert type(failure(start=state)) is UnknownStateError
    error = failure(terminal={state: 1})
    assert type(error) is UnknownStateError
    assert error.value == state


def test_two_choices_of_one_name():
    told(failure(actions=["go", "go", "back"]), DuplicateActionError, "'go' is given twice", state="A", action="go")
    assert list(build(actions=["go", "stay", "go"]).actions) == ["go", "stay", "go"]


def test_two_states_of_one_name():
    error = failure(states=["A", "A"])
    told(error, StateCollisionError, "'A'", state="A")
    assert type(failure(states=[1, True])) is StateCollisionError


@pytest.mark.parametrize("names", [{"states": [[1], "B"]}, {"actions": [["go"], "stay", "back"]}])
def test_names_that_cannot_be_hashed(names):
    error = failure(**names)
    assert type(error) is GameError
    assert "hashed" in str(error)


@pytest.mark.parametrize(
    "changes",
    [
        {"choice_ptr": [0, 2, 4]},
        {"choice_ptr": [0, 2]},
        {"choice_ptr": [1, 2, 3]},
        {"choice_ptr": [0, 3, 2]},
        {"choice_ptr": []},
        {"choice_ptr": [[0, 2, 3]]},
        {"choice_ptr": [0.0, 2.0, 3.0]},
        {"branch_ptr": [0, 2, 3, 5]},
        {"branch_ptr": [0, 3, 2, 4]},
        {"target": [0, 1, 0]},
        {"target": [0.5, 1, 0, 0]},
        {"probability": ["1/2", "1/2", 1]},
        {"probability": ["1/2", "1/2", 1, 1, 1]},
        {"reward": [1, 0]},
        {"reward": [1, 0, 2, 3]},
        {"reward": [1, 0, 2], "reward_per": "branch"},
        {"reward_per": "state"},
        {"states": ["A"]},
        {"states": ["A", "B", "C"]},
        {"actions": ["go", "stay"]},
        {"owner": [0]},
        {"owner": [0, 0, 0]},
        {"owner": [0, 2]},
        {"owner": [0, -1]},
        {"owner": [0.0, 1.0]},
    ],
)
def test_arrays_that_do_not_fit_together(changes):
    assert type(failure(**changes)) is GameError


def test_a_wrong_owner_is_named():
    told(failure(owner=[0, 7]), GameError, "owner 7", "0 (maximises) and 1 (minimises)", state="B")


# --- the models of other people ------------------------------------------------------------------


def held(path):
    """The ways in which a file can be held: by name of its probabilities and rewards."""
    arrays = np.load(path, allow_pickle=False)
    about = json.loads(path.with_suffix(".json").read_text())
    return arrays, about


def test_all_models_are_here():
    assert len(MODELS) == 17


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.stem)
@pytest.mark.parametrize("form", ["tr_prob", "tr_prob_exact", "tr_prob_raw"])
def test_every_model_fits(path, form):
    arrays, about = held(path)
    if form == "tr_prob_raw" and not path.stem.startswith("gym_"):
        assert form not in arrays
        return
    names = [name.removeprefix("rew__") for name in arrays.files if name.startswith("rew__")]
    n, m = len(arrays["choice_ptr"]) - 1, len(arrays["tr_ptr"]) - 1
    assert (n, m) == (about["states"], about["choices"])
    rewards = [arrays[("rewx__" if form == "tr_prob_exact" else "rew__") + name] for name in names] or [np.zeros(m)]
    owner = next((arrays[key] for key in arrays.files if key.endswith("owner")), None)
    for reward in rewards:
        network = Network.from_choices(
            arrays["choice_ptr"],
            arrays["tr_ptr"],
            arrays["tr_col"],
            arrays[form],
            reward,
            owner=owner,
            start=int(np.atleast_1d(arrays["init"])[0]) if "init" in arrays else about["initial"][0],
        )
        assert network.n_states == n
        assert np.count_nonzero(network.decides) == n
        assert len(network.actions) == m
        check_rows(network, arrays, form)
        if owner is not None:
            assert (network.kind[:n] == np.where(owner == 1, Kind.MIN, Kind.MAX)).all()


def check_rows(network, arrays, form):
    """Every choice has its targets, its probabilities and its exact reward."""
    exact = form == "tr_prob_exact"
    for choice in range(0, len(arrays["tr_ptr"]) - 1, 7):
        state = int(np.searchsorted(arrays["choice_ptr"], choice, side="right")) - 1
        edge = network.edge_of(state, choice - int(arrays["choice_ptr"][state]))
        span = slice(arrays["tr_ptr"][choice], arrays["tr_ptr"][choice + 1])
        expected = {}
        for target, p in zip(arrays["tr_col"][span].tolist(), arrays[form][span].tolist(), strict=True):
            if Fraction(p):
                expected.setdefault(target, []).append(Fraction(p))
        whole = 1 if exact else sum(sum(ps) for ps in expected.values())
        below = int(network.dst[edge])
        found = {}
        if network.kind[below] == Kind.CHANCE:
            for e, p in zip(network.edges(below), network.row(below), strict=True):
                found.setdefault(int(network.dst[e]), []).append(p)
        else:
            found[below] = [Fraction(1)]
        assert {t: [p / whole for p in ps] for t, ps in expected.items()} == found


def test_discounted_values_of_a_model():
    """The kind of property that needs nothing but arrays and a discount."""
    arrays, about = held(next(path for path in MODELS if path.stem == "gym_frozenlake4x4"))
    (name,) = (name for name in arrays.files if name.startswith("rewx__"))
    checked = 0
    for about_one in about["properties"]:
        if about_one["kind"] != "discounted":
            continue
        network = Network.from_choices(
            arrays["choice_ptr"], arrays["tr_ptr"], arrays["tr_col"], arrays["tr_prob_raw"], arrays[name],
            discount=about_one["gamma"],
        )  # fmt: skip
        answer = solve(network)
        for state in range(about["states"]):
            expected = float(arrays[f"{about_one['id']}__value"][state])
            assert answer.value(state) == pytest.approx(expected, rel=1e-7, abs=1e-9)
        checked += 1
    assert checked == 2
