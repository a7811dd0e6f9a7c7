"""Exploring what is large or long: limits, memory, progress, and what is told of repairs."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import pytest
from helpers.small_games import COIN, game

from mdpdice import ClassicMDP, Dist, Game, certainly, chance, decide, end, explore, go, roll, solve
from mdpdice.errors import MdpDiceError, SolveInterrupted, StateLimitError
from mdpdice.exploration import traversal
from mdpdice.games.knucklebones import Knucklebones

# --- limits --------------------------------------------------------------------------------------


def toggles(n):
    """2^n states: every action flips one of n switches."""
    return Game.of(
        start=(False,) * n, node=lambda s: decide([(i, go((*s[:i], not s[i], *s[i + 1 :]))) for i in range(n)])
    )


def test_the_limit_of_states():
    with pytest.raises(StateLimitError, match="max_states=1,000") as caught:
        explore(toggles(40), max_states=1000)
    error = caught.value
    assert error.code == "StateLimitExceeded"
    assert error.limit == 1000
    # It stops with the row that passes the limit.
    assert 1000 < error.explored <= 1040
    assert error.value == error.explored
    assert 1 <= len(error.frontier) <= 3
    assert all(len(state) == 40 for state in error.frontier)
    assert repr(error.frontier[0]) in str(error)
    assert "Merge equal futures" in str(error)
    assert "lookahead" not in str(error)


def test_a_large_game_with_an_estimate_of_its_own_can_be_searched():
    # Started elsewhere a game does not know how many states there are, so it is explored.
    there = Knucklebones().at(Knucklebones().start())
    with pytest.raises(StateLimitError, match="look some decisions ahead, with solver='lookahead'") as caught:
        explore(there, max_states=1000)
    assert caught.value.explored > 1000


def test_a_game_that_is_known_to_be_too_large_is_not_explored():
    class Known(type(toggles(40))):
        def least_states(self):
            return 2**40

        def node(self, state):
            raise AssertionError

    game = Known((False,) * 40, None, 0, 1, "max")
    with pytest.raises(StateLimitError, match="at least 1,099,511,627,776 states, .* choose smaller") as caught:
        solve(game)
    error = caught.value
    assert (error.explored, error.frontier, error.value, error.limit) == (0, [], 2**40, 10_000_000)
    with pytest.raises(StateLimitError, match="more than max_states=10,000,000, .* with solver='lookahead'"):
        explore(Knucklebones())


def test_a_model_that_just_fits():
    assert explore(toggles(6), max_states=64).n_states == 64
    with pytest.raises(StateLimitError) as caught:
        explore(toggles(6), max_states=63)
    assert caught.value.explored == 64


def test_the_limit_of_memory():
    with pytest.raises(StateLimitError, match="max_bytes=20,000,000") as caught:
        explore(toggles(40), max_bytes=20_000_000)
    assert caught.value.limit == 20_000_000
    assert 10_000 < caught.value.explored < 100_000


def test_solve_hands_the_limit_on():
    with pytest.raises(StateLimitError) as caught:
        solve(toggles(40), max_states=500)
    assert caught.value.limit == 500


def in_a_process(code, megabytes):
    """Run code in a process that may take so much memory beyond what the library itself takes."""
    program = textwrap.dedent("""
        import resource
        from mdpdice import *
        from mdpdice.errors import StateLimitError
        from mdpdice.memory import used_bytes
        with open("/proc/self/statm") as file:
            held = int(file.read().split()[0]) * resource.getpagesize()
        limit = held + ({} << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    """).format(megabytes) + textwrap.dedent(code)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are those of Linux")
def test_an_explosion_of_states_stays_within_the_memory_of_the_process():
    said = in_a_process(
        """
        game = Game.of(
            start=(False,) * 40,
            node=lambda s: decide([(i, go((*s[:i], not s[i], *s[i + 1:]))) for i in range(40)]),
        )
        try:
            explore(game)
        except StateLimitError as error:
            print(error.code, error.explored, error.limit, type(error.__cause__).__name__)
        """,
        megabytes=60,
    )
    code, explored, limit, cause = said.split()
    assert code == "StateLimitExceeded"
    assert int(explored) > 10_000
    assert int(limit) <= 60 << 20
    # It stopped by counting, not by running into the wall.
    assert cause == "NoneType"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are those of Linux")
def test_large_states_count_with_what_they_hold():
    # Ten thousand bytes each: a count of states alone would not see them.
    said = in_a_process(
        """
        game = Game.of(start=(0, ""), node=lambda s: decide([(i, go((2 * s[0] + i, str(i) * 10_000))) for i in (1, 2)]))
        try:
            explore(game)
        except StateLimitError as error:
            print(error.code, error.explored, type(error.__cause__).__name__)
        """,
        megabytes=400,
    )
    code, explored, _ = said.split()
    assert code == "StateLimitExceeded"
    assert 1000 < int(explored) < 60_000


def test_running_out_of_memory_all_the_same_is_a_limit_error():
    def node(state):
        if state == 50:
            raise MemoryError
        return decide({"a": go(state + 1)})

    with pytest.raises(StateLimitError) as caught:
        explore(Game.of(start=0, node=node))
    assert isinstance(caught.value.__cause__, MemoryError)
    assert caught.value.explored == 51


# --- long chains ---------------------------------------------------------------------------------

LONG = 1_000_000


@pytest.mark.slow
def test_a_chain_of_a_million_states():
    game = Game.of(start=0, node=lambda s: go(s + 1, reward=1) if s < LONG else end(5))
    network = explore(game, max_states=2 * LONG)  # who says so means it: by default this looks like a runaway
    assert network.n_states == LONG + 1
    assert solve(network).value() == LONG + 5


class Chain(ClassicMDP):
    discount = 1

    def __init__(self, length):
        self.length = length

    def initial(self):
        return 0

    def actions(self, state):
        return ("a",)

    def transition(self, state, action):
        return certainly(state + 1)

    def reward(self, state, action, target):
        return 1

    def terminal(self, state):
        return state == self.length


@pytest.mark.slow
def test_a_textbook_chain_of_a_million_states():
    network = explore(Chain(LONG), max_states=2 * LONG)
    assert network.n_states == LONG + 1
    assert solve(network).value() == LONG


def test_long_chains_need_no_recursion():
    # The million itself is among the slow tests; this is thirty times what Python would recurse into.
    length = 30_000
    by_chance = explore(Game.of(start=0, node=lambda s: go(s + 1, reward=1) if s < length else end(5)))
    assert solve(by_chance).value() == length + 5
    assert solve(explore(Chain(length))).value() == length


def test_chance_nested_deeper_than_python_recurses():
    edge = end(1)
    for _ in range(3000):
        edge = chance(Dist({edge: 1}))
    network = explore(game({"start": lambda: edge}))
    assert network.n_edges == 1
    assert solve(network).value() == 1


# --- progress and warnings -----------------------------------------------------------------------


def test_progress_is_told_while_exploring():
    told = []
    network = explore(toggles(13), progress=lambda phase, numbers: told.append((phase, dict(numbers))))
    assert {phase for phase, _ in told} == {"explore"}
    assert len(told) >= 3
    for (_, before), (_, after) in pairwise(told):
        assert all(before[key] <= after[key] for key in ("states", "explored", "edges"))
    assert told[-1][1] == {"states": 2**13, "explored": 2**13, "edges": network.n_edges}


def test_progress_may_stop_an_exploration():
    class Enough(Exception):  # noqa: N818
        pass

    def stop(phase, numbers):
        if numbers["states"] > 1000:
            raise Enough

    with pytest.raises(Enough):
        explore(toggles(40), progress=stop)


def test_decimals_that_do_not_sum_to_one_are_normalised_and_told():
    third = Dist({1: 0.3333333333, 2: 0.6666666666})
    network = explore(game({"start": lambda: decide({"a": go("x")}), "x": lambda: roll(third, end)}))
    (warning,) = network.warnings
    assert "state 'x'" in warning
    assert "-1e-10" in warning
    whole = Fraction(0.3333333333) + Fraction(0.6666666666)
    assert network.row(network.node_of("x")) == [Fraction(0.3333333333) / whole, Fraction(0.6666666666) / whole]


def test_a_repair_inside_a_nested_roll_is_told_too():
    third = Dist({1: 0.3333333333, 2: 0.6666666666})
    (warning,) = explore(game({"start": lambda: roll(COIN, lambda s: roll(third, end))})).warnings
    assert "state 'start'" in warning


def test_many_repairs_make_one_warning_that_names_the_worst():
    off = [Dist({1: 0.5, 2: 0.5 + k * 1e-12}) for k in range(200)]
    network = explore(Game.of(start=0, node=lambda s: roll(off[s], lambda k: go(s + 1)) if s < 200 else end()))
    (warning,) = network.warnings
    assert "in state 199" in warning
    assert len(warning) < 300


def test_plain_rounding_is_no_warning():
    tenths = Dist(dict.fromkeys(range(10), 0.1))
    assert explore(game({"start": lambda: roll(tenths, end)})).warnings == ()


def test_exploring_twice_gives_the_same_digest():
    assert explore(toggles(5)).digest == explore(toggles(5)).digest


def test_garbage_collection_is_back_on_after_an_error():
    import gc

    assert gc.isenabled()
    with pytest.raises(MdpDiceError):
        explore(game({"start": lambda: None}))
    assert gc.isenabled()
    explore(game({"start": end}))
    assert gc.isenabled()


# --- runaways ------------------------------------------------------------------------------------


class Tally(NamedTuple):
    place: int
    paid: int


def tally(step, *, most=None):
    """Ten places, and a count that nothing bounds but `most`."""

    def node(s):
        if s.paid == most:
            return end(s.paid)
        return decide({k: go(Tally((s.place + k) % 10, s.paid + step)) for k in (1, 3)})

    return Game.of(start=Tally(0, 0), node=node)


@pytest.fixture
def _early(monkeypatch):
    monkeypatch.setattr(traversal, "RUNAWAY", 20_000)
    monkeypatch.setattr(traversal, "_CHECK_EVERY", 1 << 10)


@pytest.mark.usefixtures("_early")
@pytest.mark.parametrize(("step", "way"), [(1, "rises"), (-2, "falls")])
def test_a_field_that_never_turns_back_is_named(step, way):
    with pytest.raises(StateLimitError, match=f"'paid' only {way}.*max_states") as caught:
        explore(tally(step))
    assert 20_000 <= caught.value.explored < 30_000


@pytest.mark.usefixtures("_early")
def test_a_state_that_is_a_number_is_named():
    with pytest.raises(StateLimitError, match="the state only rises"):
        solve(Game.of(start=0, node=lambda s: decide({"on": go(s + 1), "out": end(s)})))


@pytest.mark.usefixtures("_early")
def test_what_is_meant_to_be_large_is_explored():
    # The count ends; nothing counts; the limit is the user's own.
    assert explore(tally(1, most=3000)).n_states == 14_995
    ring = Game.of(start=0, node=lambda s: decide({"on": go((s + 1) % 25_000), "back": go((s - 1) % 25_000)}))
    assert explore(ring).n_states == 25_000
    with pytest.raises(StateLimitError, match="passed max_states=30,000"):
        explore(tally(1), max_states=30_000)


def test_a_slow_game_is_stopped_in_time():
    """Long before its edges would be counted."""
    asked = []

    def node(s):
        asked.append(s)
        time.sleep(0.005)
        return decide({"on": go(s + 1)})

    with pytest.raises(SolveInterrupted, match="ran into its deadline before a solver started"):
        solve(Game.of(start=0, node=node), time_limit=0.2)
    assert len(asked) < 1000


def test_reducing_is_stopped_too():
    network = explore(Game.of(start=0, node=lambda s: decide({"on": go(0, reward=1), "out": end(1)})))
    with pytest.raises(SolveInterrupted, match="ran into its deadline"):
        solve(network, time_limit=0)
