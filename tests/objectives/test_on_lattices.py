"""Objectives other than the total on lattices, against the networks of the same games."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from helpers.counter_games import SHIPPED, Race, Sheet, make
from helpers.plays import best
from helpers.random_counter_games import counter_games
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from mdpdice import (
    At,
    Counter,
    Discounted,
    Game,
    Horizon,
    PayoffAtLeast,
    PayoffAtMost,
    Reach,
    Solution,
    Total,
    UntilReward,
    Utility,
    Win,
    chance,
    compile_lattice,
    d6,
    decide,
    end,
    explore,
    go,
    least,
    roll,
    solve,
    table,
    uniform,
    when,
)
from mdpdice.answers.grid_values import GridValues
from mdpdice.errors import CorruptFileError, GameError, MdpDiceError, UnknownStateError, UnsupportedError
from mdpdice.games.farkle import KcdFarkle
from mdpdice.objectives.on_lattices import lower_lattice


def assert_same(game, objective, *, merge=True):
    """Both routes give every state that both of them know the same value."""
    flat = solve(explore(game, merge=merge), objective, epsilon=1e-10)
    found = solve(compile_lattice(game, merge=merge), objective)
    assert found.proved
    assert found.value() == pytest.approx(flat.value(), abs=1e-10)
    network = flat.network
    reached = np.zeros(network.n_nodes, dtype=bool)
    reached[network.start] = True
    for _ in range(network.n_nodes):
        ahead = reached.copy()
        ahead[network.dst[reached[network.source]]] = True
        if (ahead == reached).all():
            break
        reached = ahead
    for state, node in zip(network.states, network.state_node.tolist(), strict=True):
        try:
            number = found.value(state)
        except UnknownStateError:
            assert not reached[node]  # play ends before it comes there
            continue
        assert number == pytest.approx(flat.value(state), abs=1e-10)
        assert found.lower(state) <= number <= found.upper(state)
    return found


# --- payoffs at the end -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0, 150, 300, Fraction(601, 2)])
def test_chance_of_a_payoff(threshold, monkeypatch):
    game = KcdFarkle(cap=400, dice=3)
    for objective in (PayoffAtLeast(threshold), PayoffAtLeast(threshold, sense="min"), PayoffAtMost(threshold)):
        assert_same(game, objective)
    monkeypatch.setattr("mdpdice.solving.lattice_route.FLAT_UP_TO_EDGES", 10)
    monkeypatch.setattr("mdpdice.lattices.reachable_layers.LAYERS_FROM_EDGES", 0)
    assert isinstance(solve(game, PayoffAtLeast(threshold)).table, GridValues)


@pytest.mark.parametrize("sense", ["max", "min"])
def test_utilities_of_payoffs(sense):
    assert_same(KcdFarkle(cap=400, dice=3), Utility(math.sqrt, sense))

    def node(self, _):
        half = self.left * Fraction(1, 2) - Fraction(1, 3)
        down = chance(uniform([go("s", self.left.add(-1)), end(2 - self.left)]))
        low = table([Fraction(1, 4), 2, -3], least(self.left, 2))
        return when(self.left == 0, end(0.1), decide({"on": down, "half": end(half), "low": end(low)}))

    found = assert_same(make(node, left=Counter(range(4), start=3)), Utility(lambda payoff: payoff * payoff, sense))
    assert found.start == At("s", left=3)


def test_utilities_that_lattices_refuse(monkeypatch):
    floats = make(lambda self, _: end(self.left * 0.1), left=Counter(range(4), start=3))
    with pytest.raises(UnsupportedError, match="on a lattice Utility takes .* payoffs go from 0 to"):
        solve(compile_lattice(floats), Utility(math.sqrt))
    # Small games are written out, and a network can do it.
    assert solve(floats, Utility(math.sqrt)).value() == pytest.approx(math.sqrt(3 * 0.1))
    broken = make(lambda self, _: end(self.left - 2), left=Counter(range(4), start=3))
    with pytest.raises(GameError, match="of -2.0 raised ValueError.*; on a lattice it is asked about every payoff"):
        solve(compile_lattice(broken), Utility(math.sqrt))
    monkeypatch.setattr("mdpdice.objectives.lattice_payoffs.MOST_VALUES", 3)
    with pytest.raises(UnsupportedError, match="depends on too many values of counters"):
        solve(compile_lattice(broken), Utility(abs))
    wide = make(lambda self, _: end(self.left * 5), left=Counter(range(2), start=1))
    with pytest.raises(UnsupportedError, match="payoffs go from 0 to 5"):
        solve(compile_lattice(wide), Utility(abs))


# --- rewards on the way -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "objective",
    [
        *(PayoffAtLeast(threshold, sense) for threshold in (-5, Fraction(7, 2), 12) for sense in ("max", "min")),
        *(PayoffAtMost(threshold, sense) for threshold in (-4, 11, 12.5, math.inf) for sense in ("max", "min")),
        *(Utility(lambda payoff: payoff * payoff, sense) for sense in ("max", "min")),
    ],
    ids=lambda objective: f"{objective}-{objective.sense}",
)
def test_rewards_are_counted(objective):
    found = assert_same(Sheet(), objective)
    assert found.value() == pytest.approx(float(best(Sheet().unrolled(), objective.worth, objective.sense)), abs=1e-10)
    assert found.start == At(0, boxes=0, penalty=0, collected=0)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(counter_games(ahead=True), st.data())
def test_random_games(game, data):
    threshold = data.draw(st.sampled_from([-1, 0, Fraction(1, 2), 1, 2.5, 4]))
    sense = data.draw(st.sampled_from(["max", "min"]))
    objective = data.draw(
        st.sampled_from(
            [PayoffAtLeast(threshold, sense), PayoffAtMost(threshold, sense), Utility(lambda x: x * x - x, sense)]
        )
    )
    assume(game.discount == 1 and not game.passing)
    try:
        network, lattice = explore(game, merge=False), compile_lattice(game, merge=False)
    except MdpDiceError:
        assume(False)
    flat = solve(network, objective, solver="exact")
    assert flat.exact() == best(game.unrolled(), objective.worth, sense)
    try:
        found = solve(lattice, objective)
    except UnsupportedError:
        return  # rewards below 0, say
    assert found.value() == pytest.approx(flat.value(), abs=1e-9)


def tosses(members, reward, payoff=0, rounds=3):
    """Some rounds in which a coin pays a reward or nothing; the rounds are the core states."""

    def node(self, round_):
        if round_ == rounds:
            return end(payoff(self) if callable(payoff) else payoff)
        paid = reward(self) if callable(reward) else reward
        toss = chance(uniform([go(round_ + 1), go(round_ + 1, reward=paid)]))
        return decide({"toss": toss, "count": go(round_ + 1, self.left.add(-1))})

    return make(node, start=0, left=Counter(range(4), start=3), **members)


@pytest.mark.parametrize("objective", [PayoffAtLeast(2), PayoffAtMost(1), Utility(lambda payoff: payoff**2)], ids=str)
@pytest.mark.parametrize(
    ("reward", "payoff"),
    [
        (1, 0),
        (Fraction(1, 3), Fraction(-1, 2)),
        (lambda self: self.left * Fraction(1, 2), lambda self: self.left),
        (lambda self: self.left - self.left * Fraction(1, 4), lambda self: -self.left),
        (lambda self: table([0, Fraction(1, 2), 1, 2], self.left), lambda self: 1 - self.left * Fraction(1, 3)),
        (0.5, 0.25),
    ],
)
def test_fractions_are_counted_in_their_unit(reward, payoff, objective):
    game = tosses({}, reward, payoff)
    found = assert_same(game, objective, merge=False)
    assert found.value() == pytest.approx(float(best(game.unrolled(), objective.worth)), abs=1e-10)


def test_a_game_is_compiled_so_that_rewards_stay_apart(monkeypatch, tmp_path):
    game, objective = tosses({}, 1), PayoffAtLeast(2)
    assert compile_lattice(game).averaged
    with pytest.raises(UnsupportedError, match=r"means of rewards that differ; compile_lattice\(game, merge=False\)"):
        solve(compile_lattice(game), objective)
    flat = solve(game, objective)
    assert not isinstance(flat.table, GridValues)
    monkeypatch.setattr("mdpdice.solving.lattice_route.FLAT_UP_TO_EDGES", 10)
    found = solve(game, objective)
    assert isinstance(found.table, GridValues)
    assert found.value() == pytest.approx(flat.value())
    found.save(tmp_path / "tosses.npz")
    again = Solution.load(tmp_path / "tosses.npz", game, objective)
    assert again.proved
    assert again.value() == found.value()


def test_a_declared_progress_is_followed_by_the_sum():
    def node(self, _):
        pay, move = go("s", reward=1), go("s", self.left.add(-1))
        return when(self.left == 0, end(), roll(d6, lambda k: pay if k == 6 else move))

    game = make(node, left=Counter(range(3), start=2), progress=lambda self: -self.left)
    for objective in (PayoffAtLeast(4), PayoffAtMost(2)):
        found = assert_same(game, objective)
        assert not found.table.layers.cyclic
    # Of seven or more throws with two that are no six, so many are sixes.
    chance_of = sum((n + 1) * Fraction(1, 6) ** n for n in range(4)) * Fraction(25, 36)
    assert solve(compile_lattice(game), PayoffAtLeast(4)).value() == pytest.approx(float(1 - chance_of))


def test_rewards_that_lattices_refuse(monkeypatch):
    lattice = compile_lattice(tosses({}, -1), merge=False)
    with pytest.raises(UnsupportedError, match="some rewards during the play are below 0"):
        solve(lattice, PayoffAtLeast(1))
    with pytest.raises(UnsupportedError, match="its sums go up to"):
        solve(compile_lattice(tosses({}, 0.1), merge=False), PayoffAtLeast(1))
    square = tosses({}, lambda self: self.left * Fraction(1, 2) * (self.left * Fraction(1, 2)))
    with pytest.raises(UnsupportedError, match="is not a whole number in parts of 1/2"):
        solve(compile_lattice(square, merge=False), PayoffAtLeast(1))

    def round_(self, _):
        return decide({"up": go("s", self.left.set(1 - self.left), reward=1), "stop": end()})

    loop = make(round_, left=Counter(range(2)))
    with pytest.raises(UnsupportedError, match="not known how much it collects"):
        solve(compile_lattice(loop), Utility(math.sqrt))
    assert solve(compile_lattice(loop), PayoffAtLeast(5)).value() == 1
    monkeypatch.setattr("mdpdice.objectives.lattice_payoffs.MOST_POINTS", 100)
    with pytest.raises(UnsupportedError, match="its sums go up to 12, on 48 points of the other counters"):
        solve(compile_lattice(Sheet()), PayoffAtLeast(8))
    monkeypatch.undo()
    monkeypatch.setattr("mdpdice.lattices.reachable_layers.available_bytes", lambda: 1000)
    with pytest.raises(UnsupportedError, match=r"^payoff-at-least:8: the lattice has .* points"):
        solve(compile_lattice(Sheet()), PayoffAtLeast(8))


# --- targets ----------------------------------------------------------------------------------------------------

NARROW = At(0, boxes=0b0011, penalty=1)


@pytest.mark.parametrize(
    ("targets", "avoiding"),
    [
        (lambda state: state.counters["penalty"] == 2 and state.state == 0, ()),
        (lambda state: state.counters["boxes"] == 7, lambda state: state.counters["penalty"] > 0),
        (lambda state: state == NARROW, [At(6, boxes=1, penalty=0)]),
        (lambda state: state in [NARROW, At(0, boxes=0b1100, penalty=0)], lambda state: state.state == 5),
        ([NARROW, At(3, boxes=0b0101, penalty=0)], [At(0, boxes=1, penalty=1)]),
        (lambda state: state.state == 6, lambda state: state.counters["boxes"]),
        (lambda state: "no" if state.counters["penalty"] else "", ()),
        ([], ()),
    ],
)
@pytest.mark.parametrize("sense", ["max", "min"])
def test_targets(targets, avoiding, sense):
    assert_same(Sheet(), Reach(targets, avoiding, sense))


def test_targets_of_a_shipped_game():
    game = SHIPPED["farkle"]
    found = assert_same(game, Reach(lambda state: state.counters["points"] >= 300))
    assert 0 < found.value() < 1


def test_a_target_ends_the_play():
    def node(self, _):
        again = roll(d6, lambda k: end() if k == 1 else go("turn", self.points.add(k)))
        return decide({"hold": end(self.points), "roll": again})

    game = make(node, start="turn", points=Counter(range(40), outside="clip"))
    found = solve(compile_lattice(game), Reach(lambda state: state.counters["points"] >= 20))
    assert found.value() == pytest.approx(solve(game, PayoffAtLeast(20)).value())
    assert found.action(At("turn", points=19)) == "roll"
    assert found.value(At("turn", points=20)) == 1
    with pytest.raises(GameError, match="this state has no decision"):
        found.action(At("turn", points=20))


def test_a_discount_does_not_matter_for_targets(monkeypatch):
    game = Sheet()
    object.__setattr__(game, "discount", Fraction(1, 2))
    objective = Reach(lambda state: state.counters["boxes"] == 7)
    assert solve(compile_lattice(game), objective).value() == pytest.approx(
        solve(compile_lattice(Sheet()), objective).value()
    )
    monkeypatch.setattr("mdpdice.solving.lattice_route.FLAT_UP_TO_EDGES", 10)
    monkeypatch.setattr("mdpdice.lattices.reachable_layers.LAYERS_FROM_EDGES", 0)
    assert isinstance(solve(game, objective).table, GridValues)


@pytest.mark.parametrize(
    "predicate",
    [
        lambda state: str(state.counters["penalty"]) == "2",
        lambda state: state.counters["penalty"] in {1, 2},
        lambda state: [False, True, True][state.counters["penalty"]],
        lambda state: state in {NARROW, At(0, boxes=15, penalty=2)},
    ],
)
def test_predicates_that_cannot_be_followed(predicate, monkeypatch):
    objective = Reach(predicate)
    with pytest.raises(UnsupportedError, match="write it with comparisons"):
        solve(compile_lattice(Sheet()), objective)
    # A small game is written out; of a large one it is told that comparisons would do.
    monkeypatch.setattr("mdpdice.solving.lattice_route.FLAT_UP_TO_EDGES", 10)
    assert solve(Sheet(), objective).proved
    with pytest.raises(UnsupportedError, match="write it with comparisons"):
        solve(Sheet(), objective, max_states=50)


def test_targets_that_are_no_states():
    for state, message in (
        (At(9, boxes=0, penalty=0), "not in the core"),
        (At(0, boxes=0), "lacks penalty"),
        (At(0, boxes=16, penalty=0), "boxes has the values"),
    ):
        with pytest.raises(UnknownStateError, match=message):
            solve(compile_lattice(Sheet()), Reach([state]))


# --- what is refused --------------------------------------------------------------------------------------------


class Waiting(Game[str, str]):
    """Wait, as long as you like, or take what there is."""

    left = Counter(range(2))

    def start(self):
        return "wait"

    def node(self, _):
        return decide({"wait": go("wait", self.left.set(1 - self.left)), "take": end(2 * self.left - 1)})


def test_objectives_that_lattices_refuse():
    for game, objective, message in [
        (Race(6), PayoffAtLeast(1), "whose sides take turns"),
        (Race(6), Utility(abs), "whose sides take turns"),
        (Sheet(), Win(2), "Win is defined where turns are passed"),
        (Sheet(), Discounted(0.9), "explore"),
        (Sheet(), Horizon(3), "explore"),
        (Sheet(), UntilReward([]), "explore"),
        (Waiting(), PayoffAtLeast(0), "with cycles"),
        (Waiting(), PayoffAtMost(0), "with cycles"),
        (Waiting(), Utility(lambda payoff: payoff + 1), "with cycles"),
    ]:
        with pytest.raises(UnsupportedError, match=message):
            solve(compile_lattice(game), objective)
    assert solve(compile_lattice(Waiting()), PayoffAtLeast(1)).estimate() == 1.0
    assert solve(compile_lattice(Waiting()), Utility(lambda payoff: payoff)).estimate() == 1.0
    # The written out network can do it: who waits for ever has payoff 0.
    assert solve(Waiting(), PayoffAtLeast(0)).value() == 1.0


@pytest.mark.parametrize(
    ("objective", "options", "name"),
    [
        (Discounted("0.9"), {}, "discounted:9/10"),
        (UntilReward([NARROW]), {}, "until-reward:At"),
        (Horizon(3), {}, "horizon:3"),
        (None, {"horizon": 3}, "the total with a horizon of 3"),
        (Reach([NARROW]), {"horizon": 3}, "reach:At.* with a horizon of 3"),
    ],
)
def test_what_is_too_large_is_refused_by_its_name(objective, options, name):
    with pytest.raises(UnsupportedError, match=f"^{name}.* is solved on the network of a game alone") as caught:
        solve(Sheet(), objective, max_states=20, **options)
    assert "20" not in caught.value.message.replace(name, "")
    assert caught.value.value is objective


def test_a_total_that_is_too_large_is_refused_by_its_size():
    with pytest.raises(MdpDiceError, match="max_states=20"):
        solve(Sheet(), solver="exact", max_states=20)


def test_a_threshold_adds_two_conditions_however_many_states_there_are():
    # Each takes a byte in the tables of every point: Yahtzee had 2,863, two for every state.
    lattice = compile_lattice(Sheet())
    lowered, _ = lower_lattice(lattice, PayoffAtLeast(5))
    assert len(lattice.states) > 2
    assert len(lowered.guards) == len(lattice.guards) + 2
    assert len({guard.key for guard in lowered.guards}) == len(lowered.guards)


@pytest.mark.parametrize("objective", [PayoffAtLeast(150), PayoffAtLeast(150, sense="min"), Total("min")])
def test_a_file_is_read_for_its_objective(objective, tmp_path):
    game, path = KcdFarkle(cap=400, dice=3), tmp_path / "farkle.npz"
    solution = solve(compile_lattice(game), objective)
    solution.save(path)
    again = Solution.load(path, compile_lattice(game), objective)
    assert again.proved
    assert (again.value(), again.sense) == (solution.value(), objective.sense or "max")
    with pytest.raises(CorruptFileError, match="it answers a question about"):
        Solution.load(path, compile_lattice(game))
