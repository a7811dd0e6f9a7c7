"""Plays on lattices and plays by the rules, against exact values of the same policies on flat networks."""

import math

import numpy as np
import pytest
from helpers.counter_games import Race, Sheet

from mdpdice import (
    Counter,
    Dist,
    Game,
    Horizon,
    Policy,
    compile_lattice,
    d6,
    decide,
    end,
    evaluate,
    explore,
    go,
    outcomes,
    roll,
    simulate,
    solve,
    when,
)
from mdpdice.errors import CounterRangeError, DeadEndError, GameError, NotConvergedError, UnknownStateError
from mdpdice.games.knucklebones import Knucklebones
from mdpdice.games.pig import PigTurn, hold_at
from mdpdice.games.school import School
from mdpdice.numerics.graph import edges_of
from mdpdice.numerics.sampling import Sampler
from mdpdice.objectives.objective import Total
from mdpdice.policies.simulation import simulate_by_rules

SMALL = ("grade-6", "pair", "trash")


def agrees(found, value):
    return abs(found.mean - value) <= 4 * found.standard_error


# --- on lattices ------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", [Race(12), Sheet(), School(open=SMALL)], ids=lambda game: type(game).__name__)
def test_the_best_play_and_random_play(game):
    lattice, network = compile_lattice(game), explore(game)
    best, flat = solve(lattice), solve(network)
    found = simulate(lattice, best.policy, 20_000, seed=1)
    assert agrees(found, flat.value())
    exact = outcomes(network, Policy.from_solution(flat))
    assert found.sd == pytest.approx(exact.sd, rel=0.05)
    assert set(found.totals) <= {float(total) for total in exact.totals}
    wild = simulate(lattice, Policy.uniform(lattice), 20_000, seed=2)
    assert agrees(wild, evaluate(network, Policy.uniform(network)).value())


def test_two_players_with_policies_of_their_own():
    game = Race(12)
    lattice, network = compile_lattice(game), explore(game)
    best, wild = solve(lattice).policy, Policy.uniform(lattice)
    flat, random = Policy.from_solution(solve(network)), Policy.uniform(network)
    for ours, theirs in (((best, wild), (flat, random)), ((wild, best), (random, flat))):
        assert agrees(simulate(lattice, ours, 20_000, seed=3), evaluate(network, theirs).value())


def test_maximiser_and_minimiser_for_either_aim():
    class Pulling(Game[int, str]):
        place = Counter(range(-6, 7), outside="clip")
        round = Counter(range(5))

        def start(self):
            return 0

        def node(self, player):
            step = self.round.add(1)
            pull = roll(d6, lambda k: go(1 - player, step, self.place.add(1 - 2 * player if k > 2 else 0)))
            rest = go(1 - player, step, self.place.add(player))
            return when(self.round == 4, end(self.place), decide({"pull": pull, "rest": rest}, player=player))

    lattice, network = compile_lattice(Pulling()), explore(Pulling())
    for sense in ("max", "min"):
        exact = solve(network, Total(sense=sense)).value()
        found = simulate(lattice, solve(lattice, Total(sense=sense)), 10_000, seed=4)
        assert abs(found.mean - exact) <= 4 * found.standard_error + 1e-12
    always = Policy.of(lattice, lambda at: "pull"), Policy.of(lattice, lambda at: "rest")
    flat = [Policy.of(network, lambda at, way=way: way) for way in ("pull", "rest")]
    found = simulate(lattice, always, 10_000, seed=5)
    assert agrees(found, evaluate(network, flat).value())


def test_functions_may_choose_at_random():
    game = Race(12)
    lattice, network = compile_lattice(game), explore(game)

    def rule(at):
        turn = at.counters["turn"]
        return "roll" if turn < 2 else Dist({"hold": turn, "roll": 3}) if turn < 8 else "hold"

    found = simulate(lattice, Policy.of(lattice, rule), 20_000, seed=6)
    assert agrees(found, evaluate(network, Policy.of(network, rule)).value())


def test_actions_with_conditions_and_forbidden_ones():
    game = Sheet()
    lattice, network = compile_lattice(game), explore(game)

    def first_box(at):
        if at.counters["penalty"] == 0 and at.state < 3:
            return 9
        return min(box for box in range(4) if not at.counters["boxes"] >> box & 1)

    found = simulate(lattice, Policy.of(lattice, first_box), 20_000, seed=7)
    assert agrees(found, evaluate(network, Policy.of(network, first_box)).value())


def test_seeds_starts_and_progress():
    game = Race(12)
    lattice = compile_lattice(game)
    solution = solve(lattice)
    policy, told = solution.policy, []
    one, two, other = (simulate(lattice, policy, 500, seed=seed) for seed in (8, 8, 9))
    assert np.array_equal(one.totals, two.totals)
    assert one.moves == two.moves
    assert not np.array_equal(one.totals, other.totals)
    state = next(s for s in explore(game).states if s.counters["mine"] == 9 and s.counters["theirs"] == 2)
    found = simulate(game, policy, 5_000, seed=1, state=state, progress=lambda phase, numbers: told.append(numbers))
    assert agrees(found, solution.value(state))
    assert told[-1]["plays"] == told[-1]["of"] == 5_000
    assert [numbers["moves"] for numbers in told] == sorted(numbers["moves"] for numbers in told)
    assert told[-1]["moves"] == found.moves
    assert repr(policy).startswith("<Policy: <Solution: 0.683905013")
    assert repr(Policy.uniform(lattice)) == "<Policy: random>"


def test_groups_of_points(monkeypatch):
    from mdpdice.policies import lattice_simulation as lattice_plays

    game = School(open=SMALL)
    solution = solve(compile_lattice(game))
    policy = solution.policy
    monkeypatch.setattr(lattice_plays, "POINTS", 2)
    found = simulate(solution.lattice, policy, 5_000, seed=1)
    assert agrees(found, solution.value())
    assert not np.isnan(found.totals).any()


def _game(option, **counters):
    class Small(Game[str, str]):
        def start(self):
            return "s"

        def node(self, state):
            return option(self)

    for name, counter in counters.items():
        setattr(Small, name, counter)
        counter.__set_name__(Small, name)
    return Small()


def test_what_can_go_wrong():
    lattice = compile_lattice(Race(12))
    wild = Policy.uniform(lattice)
    with pytest.raises(UnknownStateError, match="'fly', which is not an action here; the actions are"):
        simulate(lattice, Policy.of(lattice, lambda at: "fly"), 10, seed=1)
    with pytest.raises(GameError, match="the policy raised ZeroDivisionError"):
        simulate(lattice, Policy.of(lattice, lambda at: 1 // 0), 10, seed=1)
    with pytest.raises(NotConvergedError, match="are not over after 3 moves"):
        simulate(lattice, wild, 10, seed=1, max_moves=3)
    with pytest.raises(UnknownStateError, match="has no counter values; a state of this game is At"):
        simulate(lattice, wild, 10, seed=1, state="turn")
    with pytest.raises(GameError, match="one or two players, not 3"):
        simulate(lattice, [wild] * 3, 10, seed=1)


def test_faults_of_a_declaration_are_named():
    def leaving(game):
        return when(game.x > 8, end(), decide({"up": go("s", game.x.add(2))}))

    def stuck(game):
        return decide({"up": when(game.x < 2, go("s", game.x.add(1)))})

    for option, error in ((leaving, CounterRangeError), (stuck, DeadEndError)):
        lattice = compile_lattice(_game(option, x=Counter(range(4))))
        with pytest.raises(error) as caught:
            simulate(lattice, Policy.uniform(lattice), 10, seed=1)
        assert caught.value.state.counters["x"] == 2


# --- by the rules -----------------------------------------------------------------------------------


def test_seats_need_no_network():
    hold = hold_at(20)
    found = simulate_by_rules(PigTurn(), lambda turn: hold(turn.state), 2_000, seed=1)
    assert agrees(found, 8.141794893727)
    again = simulate_by_rules(PigTurn(), lambda turn: hold(turn.state), 2_000, seed=np.random.default_rng(1))
    assert np.array_equal(found.totals, again.totals)
    bounded = simulate_by_rules(PigTurn(), lambda turn: "roll", 2_000, seed=2, horizon=3)
    network = Horizon(3).apply(explore(PigTurn()))
    always = Policy.of(network, lambda s: "roll")
    assert bounded.mean == evaluate(network, always).value() == 0
    late = simulate_by_rules(PigTurn(), lambda turn: hold(turn.state), 1_000, seed=3, state=18)
    assert agrees(late, evaluate(explore(PigTurn()), Policy.of(explore(PigTurn()), hold)).value(18))


def test_seats_of_a_game_with_two_players():
    game = Knucklebones(columns=1, rows=2)
    network = explore(game)
    best = solve(network)
    told = []

    def optimal(turn):
        return best.action(game.canonical(turn.state))

    found = simulate_by_rules(
        game,
        [optimal, lambda turn: turn.actions[-1]],
        1_000,
        seed=1,
        symmetric=True,
        progress=lambda phase, numbers: told.append(numbers["plays"]),
    )
    last = Policy.of(network, lambda s: network.action_of(network.edges(network.node_of(s))[-1]))
    assert agrees(found, evaluate(network, [Policy.from_solution(best), last]).value())
    assert told == list(range(1, 1_001))
    with pytest.raises(GameError, match="is not a Game"):
        simulate_by_rules(network, optimal, 10)


# --- drawing edges ----------------------------------------------------------------------------------


def test_every_edge_is_drawn_for_its_share_of_numbers():
    draw = np.random.default_rng(3)
    degree = draw.integers(1, 9, 30)
    indptr = np.concatenate(([0], np.cumsum(degree)))
    weight = draw.random(indptr[-1]) * (draw.random(indptr[-1]) < 0.8)
    weight[indptr[1:] - 1] += 0.01  # no node without weight
    sampler = Sampler.of(indptr, weight)
    numbers = (np.arange(2_000) + 0.5) / 2_000
    for node in range(30):
        edges = sampler.draw(np.full(2_000, node), numbers)
        assert (np.diff(edges) >= 0).all()
        share = weight[indptr[node] : indptr[node + 1]] / weight[indptr[node] : indptr[node + 1]].sum()
        counts = np.bincount(edges - indptr[node], minlength=degree[node]) / 2_000
        assert np.abs(counts - share).max() < 1e-3
        assert not counts[share == 0].any()


def test_edges_of_nodes():
    indptr = np.array([0, 2, 2, 5])
    edges, owner = edges_of(indptr, np.array([2, 0, 1, 2]))
    assert edges.tolist() == [2, 3, 4, 0, 1, 2, 3, 4]
    assert owner.tolist() == [0, 0, 0, 1, 1, 3, 3, 3]
    assert math.prod(edges_of(indptr, np.array([], dtype=np.int64))[0].shape) == 0
