"""Looking ahead against plain recursion, exact values and what a horizon gives."""

from __future__ import annotations

import functools
import itertools
import math
import random

import attrs
import pytest

from mdpdice import At, Counter, Dist, Game, Status, chance, d6, decide, end, go, pass_to, roll, solve
from mdpdice.errors import NotCertifiedError
from mdpdice.games.knucklebones import Knucklebones, Rolled
from mdpdice.games.konijnenhokken import Konijnenhokken
from mdpdice.games.pig import PigRace, PigTurn
from mdpdice.modelling.game import Chance, Decide, End, PassTo
from mdpdice.solvers.lookahead import Lookahead
from mdpdice.solvers.lookahead.expansion import Expansions
from mdpdice.solvers.lookahead.expectimax import ESTIMATE, HIGH, LOW, Expectimax

PRUNINGS = ("none", "star1", "star2")


@attrs.frozen
class RandomGame(Game[int, int]):
    """States are numbers; what happens in one is drawn from its number and the seed."""

    seed: int
    size: int = 14
    style: str = "pass"  # pass, sides or alone
    rewards: bool = False
    acyclic: bool = False
    total: float = 0
    discount: float = 1
    ranged: bool = True

    @property
    def payoff_range(self):
        if not self.ranged:
            return None
        # Rewards are at most 1 a decision, so with them the bound is that of a short game only.
        return (-40, 41) if self.rewards else (-3, 4)

    def start(self):
        return 0

    def _rng(self, state):
        return random.Random(f"{self.seed} {state}")

    def _kind(self, state):
        rng = self._rng(state)
        return "end" if state >= self.size - 3 else rng.choice(["chance", "decide", "decide", "decide"])

    def _target(self, rng, state, *, forward=False):
        if self.acyclic or forward:
            return rng.randint(state + 1, self.size - 1)
        return rng.randint(0, self.size - 1)

    def _leaf(self, rng, state, forward):
        if rng.random() < 0.15:
            return end(rng.randint(-3, 3))
        reward = rng.choice([0, 0, 1, -0.5]) if self.rewards else 0
        target = self._target(rng, state, forward=forward)
        passes = self.style == "pass" and rng.random() < 0.5
        return pass_to(target, reward=reward) if passes else go(target, reward=reward)

    def _edge(self, rng, state, forward=False, nesting=2):
        if rng.random() < 0.5 or not nesting:
            return self._leaf(rng, state, forward)
        count = rng.randint(2, 3)
        inner = [self._edge(rng, state, forward, nesting - 1) for _ in range(count)]
        reward = rng.choice([0, 1]) if self.rewards else 0
        return roll(Dist({i: rng.randint(1, 4) for i in range(count)}), lambda i: inner[i], reward=reward)

    def node(self, state, /):
        return _node(self, state)

    def _node(self, state):
        rng = self._rng(state)
        kind = self._kind(state)
        if kind == "end":
            return end(rng.randint(-3, 3))
        rng.random()
        if kind == "chance":
            # Forward, so that chance alone goes round nowhere.
            return self._edge(rng, state, forward=True)
        options = [(i, self._edge(rng, state)) for i in range(rng.randint(1, 3))]
        return decide(options, player=rng.randint(0, 1) if self.style == "sides" else 0)

    def estimate(self, state):
        return _estimate(self, state)

    def _estimate(self, state):
        return self._rng(f"estimate {state}").choice([-2.0, -0.5, 0.0, 0.25, 1.5])


# Seeding a generator anew takes longer than all the rest.
_node = functools.cache(RandomGame._node)
_estimate = functools.cache(RandomGame._estimate)


def reference(game, depth, which=ESTIMATE, state=None):
    """The definition, recursively, from the nodes as the game gives them."""
    low, high = game.payoff_range or (-math.inf, math.inf)
    low, high = min(low, game.total / 2), max(high, game.total / 2)

    def clip(number):
        # Rewards and a guess may add up to more than can be true.
        return min(max(number, low), high)

    def edge(option, left, side, value):
        if isinstance(option, End):
            return option.payoff
        if isinstance(option, Chance):
            shares = zip(option.dist.weights, option.edges, strict=True)
            return option.reward + sum(w / option.dist.total * edge(inner, left, side, value) for w, inner in shares)
        decides = isinstance(game.node(option.state), Decide)
        factor = game.discount if decides else 1
        if isinstance(option, PassTo):
            return option.reward + factor * (game.total - value(option.state, left, -side))
        return option.reward + factor * value(option.state, left, side)

    @functools.cache
    def value(at, left, side):
        node = game.node(at)
        if isinstance(node, End):
            return node.payoff
        if not left:
            if which == ESTIMATE:
                return game.estimate(at)
            return low if (which == LOW) == (side > 0) else high
        if not isinstance(node, Decide):
            return clip(edge(node, left, side, value))
        pick = min if node.player else max
        return clip(pick(edge(option, left - 1, side, value) for option in node.options))

    return value(game.start() if state is None else state, depth, 1)


class Search(Expectimax):
    def value(self, state, depth, which=ESTIMATE):
        known = self._known(state, depth, which)
        if known.low == known.high:
            return known.low, known.firm
        return self._run(self._visit(state, depth, which, -math.inf, math.inf, False))


def search(game, pruning="star2", limit=10**6):
    return Search(Expansions(game, limit), pruning, limit, lambda: None)


GAMES = [
    {"style": style, **kind}
    for style in ("pass", "sides", "alone")
    for kind in (
        {},
        {"rewards": True},
        {"total": 1} if style == "pass" else {"acyclic": True},
        {"ranged": False},
        {"discount": 0.75},
        {"rewards": True, "ranged": False, "discount": 0.5},
    )
]


@pytest.mark.parametrize("kind", GAMES, ids=lambda kind: " ".join(f"{k}={v}" for k, v in kind.items()))
@pytest.mark.parametrize("pruning", PRUNINGS)
def test_values_are_those_of_the_definition(kind, pruning):
    asked = (ESTIMATE, LOW, HIGH) if kind.get("ranged", True) else (ESTIMATE,)
    for seed in range(12):
        game = RandomGame(seed, **kind)
        # The second table is always full.
        for limit, depths in ((10**6, (5, 1, 4, 2, 3, 0)), (3, (2,))):
            engine = search(game, pruning, limit)
            for depth, which in itertools.product(depths, asked):
                found, _ = engine.value(0, depth, which)
                assert found == pytest.approx(reference(game, depth, which), abs=1e-9)


@pytest.mark.parametrize("style", ["pass", "sides", "alone"])
def test_pruning_leaves_the_options_of_the_start_alone(style):
    for seed in range(25):
        game = RandomGame(seed, size=30, style=style)
        engines = {pruning: search(game, pruning) for pruning in PRUNINGS}
        decisions = [state for state in range(30) if isinstance(game.node(state), Decide)]
        for state in decisions[:3]:
            for depth in (2, 4, 6):
                rows = {name: engine.rows(state, depth) for name, engine in engines.items()}
                for name in ("star1", "star2"):
                    for (value, _), (expected, _) in zip(rows[name], rows["none"], strict=True):
                        assert value == pytest.approx(expected, abs=1e-9)


def test_pruning_leaves_positions_out():
    game = Knucklebones(columns=2, rows=2)
    engines = [search(game, pruning) for pruning in PRUNINGS]
    values = [engine.value(game.start(), 4)[0] for engine in engines]
    assert values == pytest.approx(values[:1] * 3, abs=1e-12)
    asked = [engine.positions.asked for engine in engines]
    assert asked == sorted(asked, reverse=True)
    assert asked[2] < asked[0]


def test_a_value_is_kept_for_its_depth_only():
    # Both ways to 2 have the same state and different depths left: 1 -> 2 has one decision less.
    table = {0: {"far": go(1), "near": go(2)}, 1: {"on": go(2)}, 2: {"on": go(3)}, 3: {"on": go(4)}, 4: {"on": end(1)}}

    class Line(Game[int, str]):
        payoff_range = (-10, 10)

        def start(self):
            return 0

        def node(self, state, /):
            return decide(table[state])

        def estimate(self, state):
            return {1: -1.0, 2: -2.0, 3: -3.0, 4: -4.0}[state]

    # Three decisions: 0 near 2, 3 -> estimate of 4; 0 far 1, 2 -> estimate of 3.
    engine = search(Line())
    assert [engine.value(0, depth)[0] for depth in range(1, 6)] == [-1, -2, -3, 1, 1]
    assert [value for value, _ in engine.rows(0, 3)] == [-3, -4]
    assert engine.value(2, 1)[0] == -3
    assert engine.value(2, 2)[0] == -4
    assert engine.value(2, 3) == (1, True)  # right for every depth from here on
    assert engine.value(2, 9) == (1, True)
    assert engine.value(2, 1)[0] == -3  # what is known of other depths has changed nothing


@pytest.mark.parametrize("style", ["pass", "sides", "alone"])
def test_full_depth_is_exact(style):
    for seed in range(12):
        game = RandomGame(seed, style=style, acyclic=True)
        exact = solve(game, solver="backward-induction")
        found = solve(game, solver=Lookahead(depth=20))
        assert found.status is Status.ESTIMATE
        assert found.details["complete"]
        assert found.details["depth"] < 20  # it stops where there is nothing more to see
        assert found.estimate() == pytest.approx(exact.value(), abs=1e-12)
        assert found.lower() < exact.value() < found.upper()
        assert found.upper() - found.lower() < 1e-9


@pytest.mark.parametrize("style", ["pass", "sides", "alone"])
@pytest.mark.parametrize("discount", [1, 0.8])
def test_intervals_hold_the_true_value_and_shrink(style, discount):
    for seed in range(12):
        game = RandomGame(seed, style=style, discount=discount)
        exact = solve(game, solver="exact")
        assert exact.status is Status.EXACT
        widths = []
        for depth in (1, 3, 5, 9):
            found = solve(game, solver=Lookahead(depth=depth))
            assert found.lower() <= exact.value() <= found.upper()
            assert found.lower() <= found.estimate() <= found.upper()
            widths.append(found.upper() - found.lower())
        assert all(after <= before + 1e-9 for before, after in itertools.pairwise(widths))


@pytest.mark.parametrize("game", [PigTurn(cap=25), PigTurn(cap=25).at(7), Konijnenhokken(dice=3)])
@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_without_an_estimate_a_depth_is_a_horizon(game, depth):
    class Plain(Game):
        def start(self):
            return game.start()

        def node(self, state, /):
            return game.node(state)

    stages = solve(Plain(), horizon=depth)
    found = solve(Plain(), solver=Lookahead(depth=depth))
    assert found.estimate() == pytest.approx(stages.value(), abs=1e-12)
    if isinstance(game.node(game.start()), Decide):
        assert found.action() == stages.action()
        assert found.q() == pytest.approx(stages.q())
    assert (found.lower(), found.upper()) == (-math.inf, math.inf) or found.details["complete"]


def test_pig_race_converges_to_its_value():
    game = PigRace(goal=8)
    exact = solve(game).value()
    found = solve(game, solver=Lookahead(depth=28))
    assert found.upper() - found.lower() < 0.01
    assert found.lower() <= exact <= found.upper()


# --- the solution -----------------------------------------------------------------------------


def test_solution_of_a_first_roll():
    game = Knucklebones(columns=2, rows=2)
    found = solve(game, solver=Lookahead(depth=2))
    assert found.status is Status.ESTIMATE
    assert found.solver == "lookahead"
    network = found.network
    assert network.n_states == 7  # the first roll, and what may be rolled
    firsts = [state for state in network.states if state != game.start()]
    values = [found.estimate(state) for state in firsts]
    assert found.estimate() == pytest.approx(sum(values) / 6)
    for state in firsts:
        rows = found.q(state)
        assert found.estimate(state) == max(rows.values())
        assert found.action(state) == max(rows, key=rows.__getitem__)
        alone = solve(game.at(state), solver=Lookahead(depth=2))
        assert alone.q() == pytest.approx(rows)
        assert alone.estimate() == found.estimate(state)
    with pytest.raises(NotCertifiedError, match="an estimate from 2 decisions ahead"):
        found.value()


def test_actions_are_those_of_the_position_that_was_asked_about():
    game = Knucklebones(columns=3, rows=2)
    # A 5 facing their 5s, in each of the columns in turn: taking them off is best.
    for column in range(3):
        theirs = tuple((5, 5) if at == column else (1,) for at in range(3))
        position = Rolled(5, ((2,), (), (3,)), theirs)
        for depth in (1, 2):
            found = solve(game.at(position), solver=Lookahead(depth=depth))
            assert found.action(position) == found.action() == column + 1
            assert list(found.q(position)) == [1, 2, 3]


def test_sides_take_their_own_best():
    game = Game.of(
        start="roll",
        node=lambda state: {
            "roll": roll(d6, lambda face: go("low" if face < 3 else "high")),
            "low": decide({"a": end(1), "b": end(2)}, player=1),
            "high": decide({"a": end(1), "b": go("later")}),
            "later": decide({"on": end(9)}),
        }[state],
    )
    found = solve(game, solver=Lookahead(depth=1))
    assert (found.action("low"), found.action("high")) == ("a", "a")
    assert found.estimate() == pytest.approx((2 * 1 + 4 * 1) / 6)
    found = solve(game, solver=Lookahead(depth=2))
    assert (found.action("low"), found.action("high")) == ("a", "b")
    assert found.details["complete"]
    assert found.estimate() == pytest.approx((2 * 1 + 4 * 9) / 6)


def test_a_pass_before_the_first_decision_turns_the_interval():
    class Late(Game):
        payoff_range = (-1, 3)
        total = 2

        def start(self):
            return "roll"

        def node(self, state, /):
            if state == "roll":
                return chance(Dist({pass_to("other"): 1, end(1): 1}))
            return decide({"take": end(-1), "wait": go("later")} if state == "other" else {"take": end(3)})

    one = solve(Late(), solver=Lookahead(depth=1))
    assert (one.lower("other"), one.upper("other")) == (-1, 3)
    assert (one.lower(), one.upper()) == pytest.approx(((1 + 2 - 3) / 2, (1 + 2 + 1) / 2), abs=1e-9)
    two = solve(Late(), solver=Lookahead(depth=2))
    assert two.details["complete"]
    assert two.estimate() == two.lower() + two.upper() == (1 + 2 - 3) / 2


def test_at_starts_the_same_game_elsewhere():
    game = PigTurn(cap=30)
    there = game.at(12)
    assert (game.start(), there.start()) == (0, 12)
    assert type(there) is PigTurn
    assert there.cap == 30
    assert solve(there).value() == solve(game).value(12)


class Climb(Game[str, str]):
    """Heads is two points, tails loses them all; a guess is the counter."""

    points = Counter(range(9), outside="clip")
    payoff_range = (0, 9)

    def start(self):
        return "toss"

    def node(self, state, /):
        def then(heads):
            return go("toss", self.points.add(2)) if heads else end()

        return decide({"stop": end(self.points), "toss": roll(Dist({1: 1, 0: 1}), then)})

    def estimate(self, state):
        assert isinstance(state, At)
        return float(dict(state.counters)["points"])


def test_counters_are_seen_by_the_search():
    game = Climb().at(At("toss", points=3))
    found = solve(game, solver=Lookahead(depth=1))
    assert found.q() == {"stop": 3, "toss": (3 + 2) / 2}
    found = solve(Climb(), solver=Lookahead(depth=2))
    assert found.estimate() == 1
    assert solve(game, horizon=4).value() == 3


def test_deep_searches_do_not_recurse():
    class Long(Game[int, str]):
        payoff_range = (0, 1)

        def start(self):
            return 0

        def node(self, state, /):
            return decide({"on": end(1) if state == 20_000 else go(state + 1)})

    engine = search(Long())
    assert engine.value(0, 30_000) == (1, True)
