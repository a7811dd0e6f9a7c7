"""Policies: how they are made, asked, and carried to other networks."""

from fractions import Fraction

import attrs
import numpy as np
import pytest
from helpers.small_games import PlainRace

from mdpdice import Dist, Game, Horizon, Kind, Policy, decide, end, evaluate, explore, go, solve
from mdpdice.errors import GameError, HorizonRangeError, UnknownStateError
from mdpdice.games.pig import PigTurn
from mdpdice.policies.markov_chain import induce


def hold_at(n):
    return lambda points: "hold" if points >= n else "roll"


def test_policy_of_a_function():
    policy = Policy.of(explore(PigTurn()), hold_at(20))
    assert policy.action() == policy.action(0) == policy.action(19) == "roll"
    assert policy.action(20) == policy.action(99) == "hold"
    assert policy.probabilities(20) == {"hold": 1}
    assert not policy.randomised
    assert not policy.staged
    assert repr(policy) == "<Policy: 99 decisions>"  # one point cannot be had


def test_policy_of_a_solution():
    solution = solve(PigTurn())
    policy = Policy.from_solution(solution)
    assert all(policy.action(points) == solution.action(points) for points in (0, *range(2, 100)))
    staged = solve(PigTurn(), horizon=3)
    policy = Policy.from_solution(staged)
    assert policy.staged
    for steps in (1, 2, 3):
        assert policy.action(6, steps_left=steps) == staged.action(6, steps_left=steps)
    assert policy.action(6) == staged.action(6)


def test_random_policies():
    network = explore(PigTurn())
    uniform = Policy.uniform(network)
    assert uniform.probabilities(3) == {"hold": Fraction(1, 2), "roll": Fraction(1, 2)}
    assert uniform.randomised
    with pytest.raises(GameError, match="probabilities"):
        uniform.action(3)
    mixed = Policy.of(network, lambda p: Dist({"hold": 1, "roll": 2}) if p == 5 else "roll")
    assert mixed.probabilities(5) == {"hold": Fraction(1, 3), "roll": Fraction(2, 3)}
    assert mixed.action(6) == "roll"
    certain = Policy.of(network, lambda p: Dist({"hold": 1}))
    assert certain.action(6) == "hold"


def test_huge_weights_stay_exact():
    network = explore(PigTurn())
    big = 3**80
    policy = Policy.of(network, lambda p: Dist({"hold": big, "roll": 1}))
    assert policy.probabilities(5)["roll"] == Fraction(1, big + 1)
    assert induce(network, policy).network.row(network.node_of(5)) == [Fraction(big, big + 1), Fraction(1, big + 1)]


def test_staged_policy():
    network = attrs.evolve(explore(PigTurn()), horizon=2)
    policy = Policy.of(network, lambda p, left: "hold" if left == 1 else "roll", staged=True)
    assert policy.action(0) == policy.action(0, steps_left=2) == "roll"
    assert policy.action(3, steps_left=1) == "hold"
    for steps in (0, 3, -1, 1.0, True):
        with pytest.raises(HorizonRangeError) as caught:
            policy.action(3, steps_left=steps)
        assert (caught.value.state, caught.value.value) == (3, steps)
    with pytest.raises(HorizonRangeError):
        Policy.of(explore(PigTurn()), lambda p, left: "roll", staged=True)
    with pytest.raises(HorizonRangeError):
        Policy.uniform(explore(PigTurn())).probabilities(0, steps_left=1)


def test_errors_name_the_state_and_the_action():
    network = explore(PigTurn())
    with pytest.raises(UnknownStateError) as caught:
        Policy.of(network, lambda p: "roll" if p != 7 else "jump")
    assert (caught.value.state, caught.value.action) == (7, "jump")
    with pytest.raises(GameError, match="ZeroDivisionError") as caught:
        Policy.of(network, lambda p: "roll" if 1 / (p - 8) else "hold")
    assert caught.value.state == 8
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    policy = Policy.uniform(network)
    with pytest.raises(UnknownStateError):
        policy.action(1)  # one point cannot be had
    with pytest.raises(GameError, match="this state has no decision"):
        policy.action(100)
    # True is no state, although it equals one.
    other = Game.of(start=0, node=lambda s: end() if s == 1 else decide({1: go(1), 2: end()}))
    with pytest.raises(UnknownStateError):
        Policy.of(explore(other), lambda s: True)


@pytest.mark.parametrize(
    ("choice", "weight"),
    [
        ("short", None),
        ("other node", None),
        ("nothing", None),
        ("chance", None),
        ("good", "short"),
        ("good", "negative"),
        ("good", "nan"),
        ("good", "zero"),
        ("good", "chance"),
        ("good", "infinite"),
    ],
)
def test_policies_are_checked(choice, weight):
    network = explore(PigTurn(10))
    decision = int(np.flatnonzero(network.kind == Kind.MAX)[0])
    chance = int(np.flatnonzero(network.kind == Kind.CHANCE)[0])
    edges = np.where(network.decides, network.indptr[:-1], -1)
    weights = network.decides[network.source].astype(float)
    first = int(network.indptr[decision])
    if choice == "short":
        edges = edges[1:]
    elif choice != "good":
        edges[chance if choice == "chance" else decision] = {"other node": 5, "nothing": -1, "chance": 0}[choice]
        if choice == "other node":
            edges[decision] = first + 2
    if weight == "short":
        weights = weights[1:]
    elif weight == "zero":
        weights[first : first + 2] = 0
    elif weight == "chance":
        weights[network.indptr[chance]] = 1
    elif weight is not None:
        weights[first] = {"negative": -1.0, "nan": np.nan, "infinite": np.inf}[weight]
    with pytest.raises(GameError):
        Policy(network, edges, None if weight is None else weights)
    Policy(network, np.where(network.decides, network.indptr[:-1], -1), network.decides[network.source])


def test_policy_on_other_rules():
    small, large = explore(PigTurn(50)), explore(PigTurn(100))
    policy = Policy.of(large, hold_at(20))
    moved = policy.on(small)
    assert all(moved.action(p) == policy.action(p) for p in (0, 2, 19, 20, 49))
    with pytest.raises(UnknownStateError):
        moved.on(large)
    assert policy.on(large) is policy
    # The same game explored again has equal states, which are other objects.
    again = policy.on(explore(PigTurn(100), merge=False))
    assert again.action(20) == "hold"
    uniform = Policy.uniform(large).on(small)
    assert uniform.probabilities(3) == {"hold": Fraction(1, 2), "roll": Fraction(1, 2)}


def test_policy_takes_an_action_that_is_not_there():
    def game(actions):
        return explore(Game.of(start=0, node=lambda s: end() if s == 1 else decide([(a, go(1)) for a in actions])))

    both = game("ab")
    assert Policy.of(both, lambda s: "a").on(game("a")).action() == "a"
    assert Policy.of(both, lambda s: "b").on(game("cb")).action() == "b"
    with pytest.raises(UnknownStateError) as caught:
        Policy.of(both, lambda s: "b").on(game("a"))
    assert (caught.value.state, caught.value.action) == (0, "b")
    with pytest.raises(UnknownStateError) as caught:
        Policy.uniform(both).on(game("a"))
    assert (caught.value.state, caught.value.action) == (0, "b")


def test_policy_on_another_horizon():
    long, short = (Horizon(n).apply(explore(PigTurn())) for n in (3, 2))
    policy = Policy.of(long, lambda p, left: "hold" if left == 1 else "roll", staged=True)
    moved = policy.on(short)
    assert [moved.action(4, steps_left=k) for k in (1, 2)] == ["hold", "roll"]
    assert len(moved.choice) == 3
    again = policy.on(Horizon(2).apply(explore(PigTurn())))
    assert np.array_equal(again.choice, moved.choice)
    for network in (Horizon(4).apply(long), explore(PigTurn())):
        with pytest.raises(HorizonRangeError):
            policy.on(network)
    # One that depends on the state alone fits every horizon.
    assert Policy.of(explore(PigTurn()), hold_at(3)).on(long).action(3, steps_left=1) == "hold"


def test_policies_cannot_be_changed():
    policy = Policy.uniform(explore(PigTurn(10)))
    for array in (policy.choice, policy.weight):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        policy.choice = policy.choice


def test_chain_of_a_horizon_has_a_copy_per_stage():
    network = attrs.evolve(explore(PigTurn(10)), horizon=2)
    chain = induce(network, Policy.uniform(network))
    assert chain.seats == 1
    assert chain.network.n_nodes == 3 * network.n_nodes
    assert not chain.network.decides.any()
    start = chain.start()
    assert (start // network.n_nodes, chain.describe(start)) == (2, 0)


def test_two_policies_are_taken_or_refused():
    network = explore(PlainRace())
    one = Policy.uniform(network)
    for wrong in ([], [one, one, one], [one, "hold"], "hold"):
        with pytest.raises(GameError):
            evaluate(network, wrong)
    assert induce(network, (one, one)).seats == 1
    assert induce(network, (one, Policy.uniform(network))).seats == 2


@pytest.mark.parametrize(
    ("misuse", "remedy"),
    [
        (lambda game, answer: Policy.of("game", lambda p: "hold"), "write Policy.of(game, function)"),
        (lambda game, answer: Policy.uniform(7), "write Policy.uniform(game)"),
        (lambda game, answer: evaluate(game, 7), "give a Policy, a Solution, a function of the state, or a name"),
        (lambda game, answer: evaluate(game, "hold"), "this game knows 'random'"),
        (lambda game, answer: evaluate(PigTurn(), "hold-at20"), "did you mean 'hold-at:N'?"),
        (lambda game, answer: evaluate(explore(game), "randon"), "did you mean 'random'? a Network knows 'random'"),
    ],
)
def test_what_is_no_policy_is_told_at_once(misuse, remedy):
    game = PigTurn(8)
    with pytest.raises(GameError) as caught:
        misuse(game, solve(game))
    assert remedy in caught.value.message
