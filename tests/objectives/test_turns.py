"""Win(within=n), Reach and horizons where players take turns, against recursions over the rules in fractions."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import attrs
import pytest

from mdpdice import (
    At,
    Counter,
    Game,
    Horizon,
    Policy,
    Reach,
    Win,
    compile_lattice,
    cross_check,
    d6,
    decide,
    end,
    evaluate,
    explore,
    go,
    outcomes,
    pass_to,
    race,
    roll,
    simulate,
    solve,
)
from mdpdice.errors import GameError, UnsupportedError
from mdpdice.games.pig import PigRace, PigTurn, position
from mdpdice.policies.playthrough import Happening, play

HALF = Fraction(1, 2)


def at(mine: int, theirs: int, turn: int, over: int) -> At[str]:
    """Position of the player who asks, after some turns of theirs and as many of the other one."""
    return At("play", mine=mine, theirs=theirs, turn=turn, collected=2 * over)


class PigByHand:
    """Chances that the player who asks wins a race of Pig in time; `asks` says whether they are to move."""

    def __init__(self, goal: int) -> None:
        self.goal = goal
        self.won = cache(self._won)

    def _won(self, mine: int, theirs: int, turn: int, left: int, *, asks: bool) -> Fraction:
        if left == 0:
            return Fraction(0)
        after = left if asks else left - 1  # the turn of the other one ends the round
        lost = self.won(theirs, mine, 0, after, asks=not asks)
        rolled = lost / 6
        for face in range(2, 7):
            if mine + turn + face >= self.goal:
                rolled += Fraction(asks, 6)
            else:
                rolled += self.won(mine, theirs, turn + face, left, asks=asks) / 6
        held = self.won(theirs, mine + turn, 0, after, asks=not asks)
        return max(rolled, held) if asks else min(rolled, held)


@pytest.mark.parametrize("within", [1, 2, 3, 5])
def test_win_in_time(within):
    game, hand = PigRace(goal=9), PigByHand(9)
    exact = solve(game, Win(within), solver="exact")
    assert exact.exact() == hand.won(0, 0, 0, within, asks=True)
    on_lattice, flat = solve(compile_lattice(game), Win(within)), solve(game, Win(within))
    assert on_lattice.provenance.solver == "layer-sweeps"
    for solution in (on_lattice, flat):
        assert solution.status.value == "certified"
        assert solution.provenance.objective == f"win-within:{within}"
        assert not solution.warnings  # nobody but the players decides
    for mine, theirs, turn in [(0, 0, 0), (2, 6, 3), (6, 4, 2), (0, 8, 5)]:
        for over in range(within):
            if not flat.reaches(at(mine, theirs, turn, over)):
                continue
            expected = hand.won(mine, theirs, turn, within - over, asks=True)
            assert exact.exact(at(mine, theirs, turn, over)) == expected
            assert on_lattice.value(at(mine, theirs, turn, over)) == pytest.approx(float(expected), abs=1e-9)
            there = at(mine, theirs, turn, over)
            assert flat.lower(there) <= expected <= flat.upper(there)


def test_more_turns_win_more():
    chances = [solve(PigRace(goal=12), Win(within)).value() for within in range(1, 12)]
    assert chances == sorted(chances)
    assert chances[-1] == pytest.approx(solve(PigRace(goal=12)).value(), abs=1e-3)


def test_one_turn_is_a_solitaire():
    """To win in one turn, roll until the goal is reached, whatever the other one has."""

    @cache
    def reached(turn: int) -> Fraction:
        return Fraction(1) if turn >= 40 else sum((reached(turn + face) for face in range(2, 7)), Fraction(0)) / 6

    solution = solve(PigRace(goal=40), Win(1))
    assert solution.lower() <= reached(0) <= solution.upper()


@attrs.frozen
class Stones(Game[int, int]):
    """Take one to three; a six takes one more, and whoever finds none has lost."""

    stones: int = 10
    lost: Fraction | int = 0
    total = 1

    def start(self):
        return self.stones

    def node(self, stones):
        if stones == 0:
            return end(self.lost)

        def take(n):
            left = stones - n
            return roll(d6, lambda k: pass_to(left - 1 if k == 6 and left else left))

        return decide((n, take(n)) for n in (1, 2, 3) if n <= stones)


def stones_by_hand(stones: int, left: int, *, asks: bool) -> Fraction:
    if left == 0:
        return Fraction(0)
    if stones == 0:
        return Fraction(not asks)
    found = []
    for n in range(1, min(3, stones) + 1):
        rest, after = stones - n, left if asks else left - 1
        one_less = max(rest - 1, 0)
        found.append(
            (5 * stones_by_hand(rest, after, asks=not asks) + stones_by_hand(one_less, after, asks=not asks)) / 6
        )
    return max(found) if asks else min(found)


@pytest.mark.parametrize("within", [1, 2, 3, 4])
def test_an_end_that_the_other_one_finds_is_a_win_in_time(within):
    assert solve(Stones(), Win(within), solver="exact").exact() == stones_by_hand(10, within, asks=True)


def test_half_of_the_total_is_no_win():
    """A tie counts as little as a loss, for both."""
    assert solve(Stones(stones=3, lost=HALF), Win(2)).value() == 0.0
    assert solve(Stones(stones=3, lost=HALF), Win(2, sense="min")).value() == 0.0


class Third(Game[int, str]):
    """The total is no float, and play can go on for ever."""

    total = Fraction(1, 3)

    def start(self):
        return 0

    def node(self, state):
        won = roll(d6, lambda k: end(Fraction(1, 3)) if k > 4 else pass_to(state))
        return decide({"wait": pass_to(1 - state), "try": won})


def test_a_total_that_is_no_float():
    """The other one tries after a try: 1/3 + 2/3 * 2/3 * 1/3."""
    assert solve(Third(), Win(2), solver="exact").exact() == Fraction(13, 27)
    assert solve(Third(), Win(2, sense="min"), solver="exact").exact() == 0


def test_solvers_agree():
    for objective in (Win(3), Reach([position(4, 0, 0), position(0, 4, 0)]), Horizon(6)):
        report = cross_check(PigRace(goal=6), objective, at_least={"independent": 3})
        assert report.ok, report


def test_what_win_refuses():
    paying = Game.of(start=0, node=lambda n: end(1) if n == 3 else decide({"on": pass_to(n + 1, reward=1)}))
    for game in (PigTurn(), paying):
        with pytest.raises(UnsupportedError, match="Win is defined where turns are passed by pass_to, and ends alone"):
            solve(game, Win(2))
    for within in (0, -1, 1.5, True, "3"):
        with pytest.raises(GameError, match="give it a positive number of turns"):
            Win(within)

    class Taken(Game[str, str]):
        total = 1
        collected = Counter(range(2))

        def start(self):
            return "turn"

        def node(self, state):
            return decide({"on": pass_to(state), "out": end(1)})

    for model in (compile_lattice(Taken()), Taken()):
        with pytest.raises(GameError, match="the game has a counter 'collected'"):
            solve(model, Win(2))


def test_policies_of_both():
    """The first policy is that of the player who asks, as ever."""

    @cache
    def hand(mine: int, theirs: int, turn: int, left: int, *, asks: bool) -> Fraction:
        if left == 0:
            return Fraction(0)
        after = left if asks else left - 1
        if turn >= (3 if asks else 2):
            return hand(theirs, mine + turn, 0, after, asks=not asks)
        faces = [
            Fraction(asks) if mine + turn + face >= 6 else hand(mine, theirs, turn + face, left, asks=asks)
            for face in range(2, 7)
        ]
        return (hand(theirs, mine, 0, after, asks=not asks) + sum(faces)) / 6

    rules = [
        lambda state: "hold" if state.counters["turn"] >= 3 else "roll",
        lambda state: "hold" if state.counters["turn"] >= 2 else "roll",
    ]
    network = Win(3).apply(explore(PigRace(goal=6)))
    assert evaluate(network, rules, exact=True).exact() == hand(0, 0, 0, 3, asks=True)
    best = solve(PigRace(goal=6), Win(3), solver="exact")
    again = evaluate(network, Policy.from_solution(best), exact=True)
    assert again.exact() == best.exact()


# --- Reach --------------------------------------------------------------------


def reach_by_hand(stones: int, target: int, *, asks: bool) -> Fraction:
    if stones == target:
        return Fraction(1)
    if stones < target:
        return Fraction(0)
    found = []
    for n in range(1, min(3, stones) + 1):
        rest = stones - n
        chances = [reach_by_hand(left, target, asks=not asks) for left in (rest, max(rest - 1, 0))]
        found.append((5 * chances[0] + chances[1]) / 6)
    return max(found) if asks else min(found)


@pytest.mark.parametrize("target", [1, 4, 7])
def test_reach(target):
    """Whoever is asked for wants it, and the other one does not."""
    solution = solve(Stones(), Reach([target]), solver="exact")
    for stones in range(1, 11):
        assert solution.exact(stones) == reach_by_hand(stones, target, asks=True)
    least = solve(Stones(), Reach([target], sense="min"), solver="exact")
    for stones in range(target + 1, 11):
        options = range(1, min(3, stones) + 1)
        after = [(stones - n, max(stones - n - 1, 0)) for n in options]
        expected = min(
            (5 * away_by_hand(one, target, asks=False) + away_by_hand(two, target, asks=False)) / 6
            for one, two in after
        )
        assert least.exact(stones) == expected


def away_by_hand(stones: int, target: int, *, asks: bool) -> Fraction:
    """Chances of the same where the player who asks keeps away."""
    return reach_by_hand(stones, target, asks=not asks)


def test_an_endless_play_reaches_nothing():
    """In the race of Pig both may hold at nothing for ever; sweeps from 0 find what a player can force."""
    goal, target = 6, 4
    before: dict[tuple[int, int, int, bool], float] = {}
    states = [(i, j, k) for i in range(goal) for j in range(goal) for k in range(goal - i)]

    def value(i, j, k, asks):
        return 1.0 if i == target else before.get((i, j, k, asks), 0.0)

    for _ in range(300):
        new = {}
        for i, j, k in states:
            for asks in (True, False):
                faces = [0.0 if i + k + f >= goal else value(i, j, k + f, asks) for f in range(2, 7)]
                rolled = (value(j, i, 0, not asks) + sum(faces)) / 6
                held = value(j, i + k, 0, not asks)
                new[i, j, k, asks] = max(rolled, held) if asks else min(rolled, held)
        before = new
    solution = solve(PigRace(goal=goal), Reach(lambda state: state.counters["mine"] == target))
    assert 0 < solution.value() < 1
    for i, j, k in states:
        where = position(i, j, k)
        if i != target and solution.reaches(where):
            assert solution.value(where) == pytest.approx(before[i, j, k, True], abs=1e-9)


class Hops(Game[str, str]):
    """A turn that always scores, so its race has no cycles."""

    def start(self):
        return "turn"

    def node(self, _):
        return decide({"step": end(2), "throw": roll(d6, end)})


def test_reach_on_a_lattice():
    """The same as on the network, and proved there, where the player who starts is to move."""
    game = race(Hops(), 12)
    target = Reach(lambda state: (state.counters["mine"] == 7) | (state.counters["theirs"] == 9))
    flat, on_lattice = solve(game, target, solver="exact"), solve(compile_lattice(game), target)
    assert on_lattice.status.value == "certified"
    assert 0 < flat.exact() < 1
    asked = [state for state in flat.network.states if on_lattice.reaches(state)]
    assert len(asked) > 20
    for state in asked:
        assert on_lattice.value(state) == pytest.approx(float(flat.exact(state)), abs=1e-12)


def test_reach_by_policies_of_both():
    """All take three stones, which leaves one of four; whoever asks takes two."""

    def hand(stones: int, *, asks: bool) -> Fraction:
        if stones <= 1:
            return Fraction(stones)
        rest = stones - min(stones, 2 if asks else 3)
        return (5 * hand(rest, asks=not asks) + hand(max(rest - 1, 0), asks=not asks)) / 6

    network = Reach([1]).apply(explore(Stones()))
    rules = [lambda stones: min(stones, 2), lambda stones: min(stones, 3)]
    assert evaluate(network, rules, exact=True).exact() == hand(10, asks=True)


def test_reach_in_time():
    """A horizon counts the decisions of both."""

    def hand(stones: int, left: int, *, asks: bool) -> Fraction:
        if stones == 4:
            return Fraction(1)
        if stones < 4 or left == 0:
            return Fraction(0)
        found = []
        for n in range(1, 4):
            rest = stones - n
            found.append((5 * hand(rest, left - 1, asks=not asks) + hand(rest - 1, left - 1, asks=not asks)) / 6)
        return max(found) if asks else min(found)

    for decisions in range(5):
        assert solve(Stones(), Reach([4]), horizon=decisions, solver="exact").exact() == hand(10, decisions, asks=True)


# --- horizons -----------------------------------------------------------------


@cache
def cut(mine: int, theirs: int, turn: int, left: int) -> Fraction:
    """Chance to win a race of Pig to 6, where a play that is cut off is worth one half."""
    if left == 0:
        return HALF
    held = 1 - cut(theirs, mine + turn, 0, left - 1)
    rolled = 1 - cut(theirs, mine, 0, left - 1)
    for face in range(2, 7):
        rolled += 1 if mine + turn + face >= 6 else cut(mine, theirs, turn + face, left - 1)
    return max(held, rolled / 6)


@pytest.mark.parametrize("decisions", [0, 1, 2, 5])
def test_a_play_that_is_cut_off_is_worth_half_of_the_total(decisions):
    game = PigRace(goal=6)
    solution = solve(game, horizon=decisions, solver="exact")
    assert solution.exact() == cut(0, 0, 0, decisions)
    network, policy = Horizon(decisions).apply(explore(game)), Policy.from_solution(solution)
    assert evaluate(network, policy, exact=True).exact() == solution.exact()
    assert evaluate(network, [policy, policy]).value() == pytest.approx(solution.value(), abs=1e-12)
    assert outcomes(network, policy).mean == pytest.approx(solution.value(), abs=1e-12)
    simulation = simulate(network, policy, 2000, seed=1)
    assert abs(simulation.mean - solution.value()) < 0.05


def test_a_total_that_is_no_float_is_cut_off():
    network = Horizon(3).apply(explore(Third()))
    solution = solve(Third(), horizon=3, solver="exact")
    assert evaluate(network, Policy.from_solution(solution), exact=True).exact() == solution.exact() == Fraction(17, 81)


def test_a_play_that_is_cut_off_says_so():
    for decisions in (1, 2):
        *_, last = play(PigRace(), [lambda turn: "hold"], seed=0, horizon=decisions)
        assert (last.kind, last.total) == (Happening.CUT, HALF)


def test_small_steps_to_a_win():
    """`go` stays in the turn, however often."""
    walk = Game.of(start=0, node=lambda n: end(1) if n == 4 else decide({"on": go(n + 1), "pass": pass_to(n)}), total=1)
    assert solve(walk, Win(1)).value() == 1.0
