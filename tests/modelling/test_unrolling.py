"""Games with counters, played with the counters inside their states."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain

import attrs
import pytest
from helpers.counter_games import Race, make
from helpers.small_games import PlainRace

from mdpdice import (
    At,
    Counter,
    Flags,
    Game,
    Kind,
    Policy,
    certainly,
    chance,
    d6,
    decide,
    end,
    explore,
    go,
    most,
    roll,
    simulate,
    solve,
    table,
    uniform,
    when,
)
from mdpdice.errors import UnknownStateError
from mdpdice.games.farkle import Bank, KcdFarkle, Keep
from mdpdice.games.farkle.menus import Menu
from mdpdice.games.pig import PigRace
from mdpdice.looks import look_of
from mdpdice.modelling.text import decode, encode, named_classes


@attrs.frozen
class Ready:
    dice: int


@attrs.frozen
class Choose:
    menu: Menu


def menus_of(all_dice, dice):
    """What rolls of some dice offer; when none is left, all are rolled again."""
    return KcdFarkle(dice=all_dice).book.rolls(dice).menus


@attrs.frozen
class CountedTurn(Game[Ready | Choose, Bank | Keep]):
    """A turn of Farkle as the shipped game plays it, with the points as a counter."""

    dice: int = 2
    cap: int = 500
    points = Counter(lambda game: range(0, game.cap, 50))

    def start(self):
        return Ready(self.dice)

    def node(self, core):
        match core:
            case Ready(dice):
                menus = menus_of(self.dice, dice)
                return roll(menus, lambda menu: go(Choose(menu)) if menu.best else end())
            case Choose(menu):
                return decide(
                    chain(
                        [(Bank(menu.best), end(self.points + menu.best))],
                        ((keep, when(self.points + keep.points < self.cap, self._on(keep))) for keep in menu.keeps),
                    )
                )

    def _on(self, keep):
        return go(Ready(keep.dice), self.points.add(keep.points))


@attrs.frozen
class PlainTurn(Game[tuple, Bank | Keep]):
    """The same turn, with the points inside the states."""

    dice: int = 2
    cap: int = 500

    def start(self):
        return (Ready(self.dice), 0)

    def node(self, state):
        core, points = state
        if isinstance(core, Ready):
            menus = menus_of(self.dice, core.dice)
            return roll(menus, lambda menu: go((Choose(menu), points)) if menu.best else end())
        options = {Bank(core.menu.best): end(points + core.menu.best)}
        for keep in core.menu.keeps:
            if points + keep.points < self.cap:
                options[keep] = go((Ready(keep.dice), points + keep.points))
        return decide(options)


@attrs.frozen
class CountedSheet(Game[int, int]):
    """Five boxes, filled one a round by a die: a box pays the die where it fits, and 7 for the last three."""

    boxes: int = 5
    used = Flags(lambda game: game.boxes)

    def start(self):
        return 0

    def node(self, die):
        if die == 0:
            return when(self.used.count() == self.boxes, end(), roll(d6, go))
        return decide(
            (box, when(~self.used[box], go(0, self.used.add(box), reward=self.pays(box, die))))
            for box in range(self.boxes)
        )

    def pays(self, box, die):
        bonus = table([0, 0, 7], most(self.used.count(), 2) - 2) if box == 0 and self.boxes == 5 else 0
        return bonus + (die if die > box else 0)


@attrs.frozen
class PlainSheet(Game[tuple[frozenset, int], int]):
    """The same game, with sets as states."""

    boxes: int = 5

    def start(self):
        return (frozenset(), 0)

    def node(self, state):
        used, die = state
        if die == 0:
            return end() if len(used) == self.boxes else roll(d6, lambda k: go((used, k)))
        return decide(
            (box, go((used | {box}, 0), reward=(die if die > box else 0) + 7 * (box == 0 and len(used) == 4)))
            for box in range(self.boxes)
            if box not in used
        )


# --- the same values as games without counters ---------------------------------------------------


def test_a_turn_of_farkle():
    ours, theirs = solve(CountedTurn(dice=3, cap=1000).unrolled()), solve(PlainTurn(dice=3, cap=1000))
    assert ours.value() == pytest.approx(theirs.value(), abs=1e-9)
    assert ours.value() == pytest.approx(solve(KcdFarkle(dice=3, cap=1000)).value(), abs=1e-9)
    for core, points in theirs.network.states[::7]:
        at = At(core, points=points)
        assert ours.value(at) == pytest.approx(theirs.value((core, points)), abs=1e-9)
        if isinstance(core, Choose):
            assert ours.ties(at) == theirs.ties((core, points))


def test_a_race_of_pig():
    ours, theirs = solve(Race(goal=15).unrolled()), solve(PlainRace(goal=15))
    assert ours.value() == pytest.approx(solve(PigRace(goal=15)).value(), abs=1e-9)
    for mine, other, turn in [(0, 0, 0), (3, 9, 0), (10, 14, 4), (0, 14, 12)]:
        at = At("turn", mine=mine, theirs=other, turn=turn)
        assert ours.value(at) == pytest.approx(theirs.value((mine, other, turn)), abs=1e-9)
        assert ours.action(at) == theirs.action((mine, other, turn))


def test_a_sheet_with_boxes():
    ours, theirs = solve(CountedSheet().unrolled(), solver="exact"), solve(PlainSheet(), solver="exact")
    assert ours.value() == theirs.value()
    for used, die in theirs.network.states[::11]:
        mask = sum(1 << box for box in used)
        assert ours.value(At(die, used=mask)) == theirs.value((used, die))


def test_a_turn_of_pig_that_is_clipped():
    class Clipped(Game[str, str]):
        points = Counter(range(101), outside="clip")

        def start(self):
            return "turn"

        def node(self, s):
            return when(
                self.points == 100,
                end(self.points),
                decide(
                    {
                        "hold": end(self.points),
                        "roll": roll(d6, lambda k: end() if k == 1 else go(s, self.points.add(k))),
                    }
                ),
            )

    class Plain(Game[int, str]):
        def start(self):
            return 0

        def node(self, points):
            if points >= 100:
                return end(100)
            return decide({"hold": end(points), "roll": roll(d6, lambda k: end() if k == 1 else go(points + k))})

    ours = solve(Clipped().unrolled())
    assert ours.value() == pytest.approx(solve(Plain()).value(), abs=1e-12)
    assert ours.action(At("turn", points=19)) == "roll"
    assert ours.ties(At("turn", points=20)) == ["hold", "roll"]


# --- how nodes are resolved ----------------------------------------------------------------------


def test_node_is_asked_once_for_a_core_state():
    asked = []

    def node(game, core):
        asked.append(core)
        return when(game.n < 50, go(1 - core, game.n.add(1)), end(game.n))

    game = make(node, start=0, n=Counter(range(51)))
    network = explore(game.unrolled())
    assert network.n_states == 51
    assert sorted(asked) == [0, 1]


def test_conditions_resolve_and_take_no_step():
    def node(game, core):
        return when(
            game.n == 0,
            when(game.m == 0, go("s", game.n.set(1), reward=2), end()),
            when(game.n == 1, decide({"a": when(game.m > 0, end(1), end(5)), "b": when(game.m > 0, end(9))}), end()),
        )

    game = make(node, n=Counter(range(3)), m=Counter(range(2)))
    network = explore(game.unrolled())
    assert network.states == [At("s", n=0, m=0), At("s", n=1, m=0)]
    assert network.kind.tolist() == [Kind.CHANCE, Kind.MAX, Kind.END]
    assert list(network.actions) == ["a"]
    assert solve(game.unrolled()).value() == 7


def test_rewards_use_the_counters_before_the_updates():
    def node(game, core):
        on = go("t", game.n.add(2), reward=game.n * Fraction(1, 3))
        return roll(certainly(1), lambda _: on, reward=game.n) if core == "s" else end(game.n > 4)

    game = make(node, n=Counter(range(10), start=3))
    # 3 on entering the chance node, 3/3 on the edge, and 1 for a condition that holds.
    assert solve(game.unrolled(), solver="exact").value() == 5


def test_updates_are_simultaneous():
    game = make(
        lambda g, core: when(g.a == 2, end(10 * g.a + g.b), go("s", g.a.set(g.b), g.b.set(g.a))),
        a=Counter(range(5), start=1),
        b=Counter(range(5), start=2),
    )
    assert solve(game.unrolled()).value() == 21


def test_a_forbidden_update_takes_the_option_away():
    def node(game, core):
        return decide(
            {
                "spend": go("s", game.money.add(-3), reward=1),
                "either": when(game.money > 3, go("s", game.money.add(-6)), go("s", game.money.add(-2), reward=2)),
                "stop": end(),
            }
        )

    game = make(node, money=Counter(range(6), start=5, outside="forbid"))
    network = explore(game.unrolled())
    solution = solve(network)
    # 5 -> 2 (1 point) -> 0 (2 points): from 5 "either" would need 6.
    assert solution.value() == 3
    assert set(solution.q(At("s", money=5))) == {"spend", "stop"}
    assert set(solution.q(At("s", money=2))) == {"either", "stop"}
    assert set(solution.q(At("s", money=0))) == {"stop"}


def test_chance_inside_chance_as_deep_as_you_like():
    def node(game, core):
        if core == "t":
            return end(game.n)
        edge = go("t", game.n.add(1))
        for _ in range(3000):
            edge = chance(certainly(edge))
        return roll(uniform([0, 1]), lambda k: edge if k else when(game.n > 0, end(), end(8)))

    game = make(node, n=Counter(range(2)))
    assert solve(game.unrolled()).value() == Fraction(9, 2)


def test_total_and_discount_and_symmetry_are_the_game_s():
    @attrs.frozen
    class Symmetric(Game[int, str]):
        discount: Fraction = Fraction(1, 2)
        n = Counter(range(4))

        def start(self):
            return 0

        def node(self, core):
            stop = when(self.n == 3, end(8))
            on = when(self.n < 3, roll(uniform([-1, 1]), lambda k: go(k * (core + 1), self.n.add(1))))
            return decide({"stop": stop, "on": on})

        def canonical(self, state):
            return abs(state)

    network = explore(Symmetric().unrolled())
    assert network.states == [At(k, n=k) for k in range(4)]
    # A symmetric game explores its representatives, which all lead to the end.
    assert solve(network).value() == 1
    assert explore(Race(goal=5).unrolled()).total == 1


def test_two_players_of_one_zero_sum_game():
    game = make(
        lambda g, core: when(
            g.left <= 0, end(core), decide({k: go(1 - core, g.left.add(-k)) for k in (1, 2)}, player=core)
        ),
        start=0,
        left=Counter(range(7, -2, -1)),
    )
    # Who takes the last of 7 stones wins, as one does who leaves a multiple of 3; the state then is the other player.
    assert solve(game.unrolled()).value() == 1
    assert solve(game.unrolled()).action() == 1


def test_a_solution_is_simulated():
    solution = solve(Race(goal=10).unrolled())
    outcome = simulate(Race(goal=10).unrolled(), Policy.from_solution(solution), 2000, seed=7)
    assert abs(outcome.mean - solution.value()) < 5 * outcome.standard_error


# --- text of full states -------------------------------------------------------------------------


def test_full_states_as_text():
    assert encode(At("play", points=350)) == {"state": "play", "counters": {"points": 350}}
    state = At(Ready(2), points=350, used=5)
    assert encode(state) == {"state": {"Ready": {"dice": 2}}, "counters": {"points": 350, "used": 5}}
    assert decode(encode(state), named_classes(CountedTurn)) == state


@pytest.mark.parametrize("game", [Race(goal=4), CountedSheet(boxes=2)])
def test_all_states_can_be_read_back(game):
    unrolled = game.unrolled()
    for state in explore(unrolled).states:
        assert look_of(unrolled).read_state(look_of(unrolled).show_state(state)) == state
        assert look_of(game).read_state(look_of(game).show_state(state)) == state


@pytest.mark.parametrize(
    "text",
    [
        '{"state": "s", "counters": 3}',
        '{"state": "s", "counters": {"n": "a"}}',
        '{"state": "s", "counters": {"n": 1.5}}',
        '{"state": "s", "counters": {"n": true}}',
        '{"state": {"Unknown": {}}, "counters": {"n": 1}}',
        '{"state": "s"}',
        '{"counters": {"n": 1}}',
    ],
)
def test_text_that_is_no_full_state(text):
    with pytest.raises(UnknownStateError) as caught:
        look_of(Race()).read_state(text)
    assert caught.value.value == text
