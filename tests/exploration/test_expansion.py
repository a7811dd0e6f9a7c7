"""Games with counters as networks: the compiled route against the plain one, which shares nothing with it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers.counter_games import make
from helpers.random_counter_games import counter_games
from hypothesis import HealthCheck, assume, given, settings

from mdpdice import (
    At,
    Counter,
    Discounted,
    Dist,
    Game,
    Kind,
    Network,
    Policy,
    Solution,
    Status,
    certainly,
    compile_lattice,
    cross_check,
    decide,
    end,
    evaluate,
    explore,
    go,
    outcomes,
    roll,
    simulate,
    solve,
    table,
    uniform,
    when,
)
from mdpdice.backend import Run
from mdpdice.errors import (
    CounterRangeError,
    DeadEndError,
    GameError,
    MdpDiceError,
    StateLimitError,
    UnknownStateError,
    UnsupportedError,
)
from mdpdice.exploration import expansion as replication
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.pig import PigRace
from mdpdice.games.yahtzee import Yahtzee
from mdpdice.lattices.point_states import PointStates
from mdpdice.solving.lattice_route import large_layers


def rows(network):
    """What a network says about every state, without the numbers of its nodes.

    Parallel edges of chance nodes are merged, and an option that leads to chance with one way on is
    that way: the plain route does both at every point, the compiled one where it holds at all points.
    """

    def name(node):
        state = network.state_of(node)
        if state is not None:
            return repr(state)
        return f"end({network.exact_payoff(node)})" if network.kind[node] == Kind.END else repr(lottery(node))

    def edges(node):
        for e, p in zip(network.edges(node), network.row(node), strict=True):
            to = int(network.dst[e])
            yield to, int(network.sign[e]), bool(network.step[e]), p, network.exact_reward(e)

    def lottery(node):
        merged = {}
        for to, sign, step, p, reward in edges(node):
            weight, paid = merged.get((name(to), sign, step), (0, 0))
            merged[name(to), sign, step] = weight + p, paid + p * reward
        return sorted((*key, p, paid / p) for key, (p, paid) in merged.items())

    def option(edge):
        to, sign, step, p, reward = edge
        if network.node_state[to] < 0 and network.kind[to] == Kind.CHANCE and len(lottery(to)) == 1:
            return lottery(to)[0]
        return name(to), sign, step, p, reward

    def row(node):
        if not network.decides[node]:
            return int(network.kind[node]), lottery(node), network.exact_payoff(node)
        actions = [network.action_of(e) for e in network.edges(node)]
        return int(network.kind[node]), list(zip(actions, map(option, edges(node)), strict=True))

    found = {}
    for node in np.flatnonzero(network.node_state >= 0).tolist():
        found.setdefault(repr(network.state_of(node)), []).append(repr(row(node)))
    return {state: sorted(texts) for state, texts in found.items()}


def outcome(game, **options):
    try:
        return explore(game, **options)
    except MdpDiceError as error:
        return error


def assert_equal(game, **options):
    fast, plain = outcome(game, **options), outcome(game.unrolled(), **options)
    if isinstance(plain, MdpDiceError):
        assert isinstance(fast, MdpDiceError), fast
        # Several states may be wrong, and the two routes come upon them in different orders.
        if fast.state != plain.state:
            assert outcome(game.unrolled().at(fast.state), **options).state == fast.state
        return None
    if isinstance(fast, MdpDiceError):
        raise fast
    assert set(fast.states) == set(plain.states)
    assert len(fast.states) == len(plain.states)
    assert rows(fast) == rows(plain)
    assert (fast.total, fast.discount, fast.warnings) == (plain.total, plain.discount, plain.warnings)
    assert fast.state_of(fast.start) == plain.state_of(plain.start)
    return fast, plain


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(counter_games())
def test_random_games_are_the_same_on_both_routes(game):
    assert_equal(game)


@pytest.mark.parametrize("name", ["_BUDGET", "TWO_THREADS_FROM_EDGES"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(game=counter_games())
def test_pauses_and_threads_change_nothing(name, game):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replication, name, 1)
        assert_equal(game)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(counter_games(ahead=True))
def test_values_are_the_same_exactly_and_in_floats(game):
    both = assert_equal(game)
    assume(both is not None)
    fast, plain = (solve(network, solver="exact") for network in both)
    for state in both[0].states:
        assert fast.exact(state) == plain.exact(state)
    for solver in ("backward-induction", "value-iteration"):
        floats = solve(both[0], solver=solver)
        assert floats.status is Status.CERTIFIED
        assert floats.lower() <= fast.exact() <= floats.upper()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(counter_games(ahead=True))
def test_horizons_count_the_same_steps(game):
    both = assert_equal(game)
    assume(both is not None and both[0].total == 0)
    fast, plain = (solve(network, horizon=3, solver="backward-induction") for network in both)
    for steps in range(4):
        for state in both[0].states:
            assert fast.value(state, steps_left=steps) == pytest.approx(plain.value(state, steps_left=steps))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(counter_games())
def test_edges_that_are_kept_apart(game):
    assert_equal(game, merge=False)


# --- small games by hand -------------------------------------------------------------------------


def test_weights_beyond_64_bits():
    big = Dist({"a": 3**50, "b": 1, "c": 2**70})

    def node(game, core):
        on = roll(big, lambda k: go("s", game.n.add(1)) if k != "b" else end(game.n))
        return when(game.n < 2, on, end(7))

    fast, _ = assert_equal(make(node, n=Counter(range(3))))
    assert fast.numerator.dtype == object
    assert sum(fast.row(fast.start)) == 1


def test_rewards_and_payoffs_that_no_float_equals():
    def node(game, core):
        stop = end(game.n * Fraction(1, 3))
        on = roll(uniform("ht"), lambda k: go("s", game.n.add(1), reward=game.n * Fraction(1, 7) + (k == "h")))
        return decide({"stop": stop, "on": when(game.n < 4, on)})

    fast, _ = assert_equal(make(node, n=Counter(range(5))))
    assert Fraction(4, 3) in fast.exact_payoffs.values()
    assert Fraction(3, 7) in fast.exact_rewards.values()
    exact = solve(fast, solver="exact")
    # Four rolls pay (0 + 1 + 2 + 3) / 7 and half a point each.
    assert exact.exact() == Fraction(6, 7) + 2 + Fraction(4, 3)


def test_ends_of_equal_payoff_are_one():
    def node(game, core):
        options = {k: when(game.n >= 0, end(game.n + k)) for k in range(3)}
        return decide(options | {"on": when(game.n < 3, go("s", game.n.add(1)))})

    network = explore(make(node, n=Counter(range(4))))
    ends = network.payoff[network.kind == Kind.END].tolist()
    assert ends == [0, 1, 2, 3, 4, 5]


def test_a_counter_that_leaves_its_values_where_play_comes():
    def node(game, core):
        return decide({"stop": end(), "on": when(game.n < game.bound, go("s", game.n.add(2)))})

    with pytest.raises(CounterRangeError) as caught:
        explore(make(node, n=Counter(range(6)), bound=6))
    assert (caught.value.state, caught.value.value) == (At("s", n=4), 6)
    # Odd numbers are never reached, and from 4 play does not go on.
    explore(make(node, n=Counter(range(5)), bound=4))


def test_the_error_names_state_action_and_value():
    def node(game, core):
        thrown = roll(uniform([1, 2]), lambda k: go("s", game.n.add(k)))
        return decide({"stop": end(), "roll": thrown})

    with pytest.raises(CounterRangeError, match="would become 4") as caught:
        explore(make(node, n=Counter(range(4))))
    error = caught.value
    assert (error.state, error.action, error.value) == (At("s", n=2), "roll", 4)


def test_a_dead_end_names_state_and_counters():
    def node(game, core):
        return decide({"a": when(game.n < 2, go("s", game.n.add(1))), "b": when(game.n > 5, end())})

    with pytest.raises(DeadEndError) as caught:
        explore(make(node, n=Counter(range(9))))
    assert (caught.value.state, caught.value.action) == (At("s", n=2), None)


def test_forbidden_takes_options_away_and_is_an_error_inside_chance():
    def node(game, core):
        return decide({"stop": end(game.n), "on": go("s", game.n.add(1))})

    network = explore(make(node, n=Counter(range(3), outside="forbid")))
    assert [len(network.edges(node)) for node in range(3)] == [2, 2, 1]

    def rolled(game, core):
        return decide({"stop": end(game.n), "on": roll(certainly(1), lambda k: go("s", game.n.add(k)))})

    with pytest.raises(CounterRangeError) as caught:
        explore(make(rolled, n=Counter(range(3), outside="forbid")))
    assert (caught.value.state, caught.value.action) == (At("s", n=2), "on")


@pytest.mark.parametrize("where", ["guard", "reward", "payoff", "update", "state"])
def test_a_table_without_an_entry_where_play_comes(where):
    def node(game, core):
        asked = table([1, 2], game.n)
        options = {
            "guard": when(asked > 0, end()),
            "reward": go("over", reward=asked),
            "payoff": end(asked),
            "update": go("over", game.n.set(asked)),
            "state": go("over"),
        }
        if core == "over":
            return end(asked if where == "state" else 0)
        return decide({"on": when(game.n < game.most, go("s", game.n.add(1))), "ask": options[where]})

    explore(make(node, n=Counter(range(4)), most=1))
    with pytest.raises(GameError, match="has entries 0 to 1") as caught:
        explore(make(node, n=Counter(range(4)), most=3))
    assert caught.value.state == At("over" if where == "state" else "s", n=2)
    assert caught.value.action == (None if where == "state" else "ask")


def test_a_state_that_is_in_the_prefix_and_reached_later():
    def node(game, core):
        if core == "throw":
            return roll(uniform("ht"), lambda k: go("throw", game.n.add(1)) if k == "h" else go("choose"))
        return decide({"again": when(game.n < 3, go("throw", game.n.add(1))), "stop": end(game.n)})

    game = make(node, start="throw", n=Counter(range(9), outside="clip"))
    fast, _ = assert_equal(game)
    assert (fast.node_state == fast.node_state[fast.start]).sum() == 1
    assert np.count_nonzero(np.bincount(fast.node_state[fast.node_state >= 0]) > 1) > 0


# --- limits ---------------------------------------------------------------------------------------


def counting(values, **members):
    def node(game, core):
        return decide({"stop": end(game.n), "on": when(game.n < values[-1], go("s", game.n.add(1)))})

    return make(node, n=Counter(values), **members)


def test_limits_are_named_with_their_numbers():
    with pytest.raises(StateLimitError, match="max_states=100") as caught:
        explore(counting(range(1000)), max_states=100)
    assert caught.value.limit == 100
    assert explore(counting(range(100)), max_states=100).n_states == 100
    with pytest.raises(StateLimitError, match="max_bytes=100,000 with"):
        explore(counting(range(1000)), max_bytes=100_000)


def test_a_lattice_of_another_game_is_refused():
    game = counting(range(5))
    lattice = compile_lattice(game)
    assert explore(game, lattice=lattice).n_states == 5
    for other in (counting(range(6)), make(lambda game, core: end())):
        with pytest.raises(GameError, match="leave it out"):
            explore(other, lattice=lattice)
    averaged = make(lambda game, core: roll(uniform([1, 2]), lambda k: go("s", reward=k)), n=Counter(range(2)))
    lattice = compile_lattice(averaged)
    assert explore(averaged, lattice=lattice).n_states == 1
    with pytest.raises(GameError, match="merge=False"):
        explore(averaged, merge=False, lattice=lattice)


def test_a_grid_that_does_not_fit_is_refused_before_memory_is_taken():
    with pytest.raises(StateLimitError, match="the grid has 1,000,000,000,000 points"):
        explore(counting(range(10**12)))


def test_a_game_that_cannot_fit_is_refused_before_it_is_explored(monkeypatch):
    # Nothing is replicated, neither where states are too many nor where memory is too little.
    monkeypatch.delattr("mdpdice.numerics.kernels.expansion.discover")
    for options, name, limit in (
        ({}, "max_states", 10_000_000),
        ({"max_states": 10**12, "max_bytes": 10**9}, "max_bytes", 10**9),
    ):
        with pytest.raises(
            StateLimitError, match=rf"at least .* states .* {name}={limit:,}.*compile_lattice"
        ) as caught:
            explore(Yahtzee(), **options)
        assert (caught.value.explored, caught.value.frontier, caught.value.limit) == (0, [], limit)
        # Counting stops early: the whole game has 743,875,968 states.
        assert 8_000_000 < caught.value.value < 40_000_000
    with pytest.raises(UnsupportedError, match="this game is too large for one"):
        solve(Yahtzee(), Discounted(Fraction(9, 10)))
    with pytest.raises(KeyboardInterrupt):
        explore(Yahtzee(), progress=leave)


def leave(phase, numbers):
    if numbers["states"] > 100_000:
        raise KeyboardInterrupt


def test_many_small_layers_are_explored_and_not_counted():
    # Every point is a layer of its own: to go through them one by one would take minutes.
    game = counting(range(1_500_000))
    with pytest.raises(StateLimitError, match="passed max_states=1,100,000"):
        explore(game, max_states=1_100_000)
    assert large_layers(compile_lattice(game), None, Run()) is None


def test_what_may_not_fit_is_explored_whatever_its_progress(monkeypatch):
    # Counting goes layer by layer, but to write a game out no progress is needed.
    monkeypatch.setattr("mdpdice.lattices.size.COUNT_FROM_STATES", 0)
    monkeypatch.setattr("mdpdice.lattices.reachable_layers.LAYERS_FROM_EDGES", 0)
    game = counting(range(9), unused=Counter(range(9)), progress=lambda game: -game.n)
    with pytest.raises(GameError, match="progress"):
        solve(compile_lattice(game))
    assert explore(game, max_states=9).n_states == 9
    with pytest.raises(StateLimitError, match="passed max_states=8"):
        explore(game, max_states=8)


def test_progress_is_told():
    told = []
    network = explore(counting(range(50)), progress=lambda stage, numbers: told.append((stage, numbers)))
    assert told[-1] == ("explore", {"states": 50, "explored": 50, "edges": network.n_edges})


# --- names that are made when they are asked for ----------------------------------------------------


def test_states_and_actions_are_sequences():
    network = explore(counting(range(10)))
    states, actions = network.states, network.actions
    assert isinstance(states, PointStates)
    assert list(states) == [states[at] for at in range(10)] == [At("s", n=n) for n in range(10)]
    assert states[2:8:3] == [At("s", n=2), At("s", n=5)]
    assert states[-1] == At("s", n=9)
    assert [states.index(state) for state in states] == list(range(10))
    assert states.index(At("s", n=4), 2) == 4
    assert At("s", n=3) in states
    for other in (At("s", n=10), At("t", n=1), At("s", m=1), At("s"), At([], n=1), "s", 3):
        assert other not in states
    with pytest.raises(ValueError, match="not a state here"):
        states.index(At("s", n=4), 5)
    with pytest.raises(IndexError):
        states[10]
    with pytest.raises(UnknownStateError, match="n=0"):
        network.node_of(At("s", n=10))
    assert list(actions) == [actions[at] for at in range(len(actions))] == ["stop", "on"] * 9 + ["stop"]
    assert actions[1:4] == ["on", "stop", "on"]
    assert list(reversed(actions))[:2] == ["stop", "on"]


def test_a_state_that_is_equal_in_python_only_is_not_here():
    def node(game, core):
        return decide({"stop": end(game.n), "on": when(game.n < 2, go(1, game.n.add(1)))})

    network = explore(make(node, start=1, n=Counter(range(3))))
    assert network.node_of(At(1, n=1)) == 1
    with pytest.raises(UnknownStateError):
        network.node_of(At(True, n=1))


def test_saved_and_loaded(tmp_path):
    game = KcdFarkle(dice=2, cap=500)
    network = explore(game)
    network.save(tmp_path / "turn.npz", game)
    loaded = Network.load(tmp_path / "turn.npz", game)
    assert loaded.digest == network.digest
    assert list(loaded.states) == list(network.states)
    assert list(loaded.actions) == list(network.actions)
    race = explore(PigRace(goal=8))
    race.save(tmp_path / "race.npz")
    assert list(Network.load(tmp_path / "race.npz", PigRace(goal=8)).states) == list(race.states)
    solution = solve(network)
    solution.save(tmp_path / "solution.npz")
    assert Solution.load(tmp_path / "solution.npz", network).value() == solution.value()


def test_solved_compared_simulated_and_evaluated():
    network = explore(KcdFarkle(dice=2, cap=500))
    report = cross_check(network)
    assert report.ok, report.table()
    solution = solve(network)
    policy = Policy.from_solution(solution)
    assert evaluate(network, policy).value() == pytest.approx(solution.value(), abs=1e-9)
    found = simulate(network, policy, 20_000, seed=3)
    assert abs(found.mean - solution.value()) < 4 * found.standard_error
    assert outcomes(network, policy).mean == pytest.approx(solution.value(), abs=1e-9)
    graph = explore(counting(range(4))).to_networkx()
    assert graph.nodes[0]["state"] == At("s", n=0)


class Heavy(Game[str, str]):
    """Rewards and payoffs that are whole, and larger than those that floats tell apart."""

    count = Counter(range(3))

    def start(self):
        return "s"

    def node(self, state):
        less = self.count < 2
        return decide(
            {
                "constant": when(less, go("s", self.count.add(1), reward=2**53 + 1)),
                "counted": when(less, go("s", self.count.add(1), reward=(2**54 + 1) * self.count)),
                "stop": end(self.count * (2**60 + 1)),
            }
        )


def test_whole_numbers_that_no_float_equals():
    expected = (2**53 + 1) + (2**54 + 1) + 2 * (2**60 + 1)
    for game in (Heavy(), Heavy().unrolled()):
        assert solve(explore(game), solver="exact").exact() == expected
