"""Two players by best replies as linear programs, against backward induction, exact arithmetic and known values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers.small_games import PlainRace
from hypothesis import given, settings
from hypothesis import strategies as st

from mdpdice import Dist, Game, Status, decide, end, explore, go, pass_to, roll, solve
from mdpdice.backend import Run
from mdpdice.networks.network import Kind, Network
from mdpdice.solvers.linear_programming import LinearProgramming


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("goal", [2, 6, 12])
def test_race_equals_the_exact_value(goal: int, form: str) -> None:
    network = explore(PlainRace(goal))
    exact = solve(network, solver="exact")
    found = solve(network, solver=LinearProgramming(form=form), epsilon=1e-9)
    assert exact.status is Status.EXACT
    assert found.status is Status.CERTIFIED
    for state in network.states:
        assert Fraction(found.lower(state)) <= exact.exact(state) <= Fraction(found.upper(state))


def test_piglet_to_two() -> None:
    def node(state):
        mine, theirs, turn = state
        if mine + turn >= 2:
            return end(1)
        flip = roll(
            Dist({"tail": 1, "head": 1}),
            lambda side: go((mine, theirs, turn + 1)) if side == "head" else pass_to((theirs, mine, 0)),
        )
        return decide({"hold": pass_to((theirs, mine + turn, 0)), "flip": flip})

    solution = solve(Game.of(start=(0, 0, 0), node=node, total=1), solver="linear-programming")
    assert solution.value() == pytest.approx(4 / 7, abs=1e-9)


@st.composite
def stopping_games(draw) -> Network:
    """MAX, MIN and chance nodes that lead anywhere, but every option has a chance of an end."""
    n = draw(st.integers(2, 6))
    kinds = draw(st.lists(st.sampled_from([Kind.MAX, Kind.MIN]), min_size=n, max_size=n))
    number = st.integers(-5, 5)
    kind = [*kinds]
    rows: list[list[tuple[int, float, float]]] = []
    chance: list[list[tuple[int, float, float]]] = []
    for _ in range(n):
        options = draw(st.lists(st.tuples(st.integers(0, n - 1), number), min_size=1, max_size=3))
        rows.append([(n + len(chance) + i, 1.0, float(pay)) for i, (_, pay) in enumerate(options)])
        # The number of the end is filled in when all chance nodes are known.
        chance += [[(target, 0.75, 0.0), (-1, 0.25, 0.0)] for target, _ in options]
    stop = n + len(chance)
    edges = rows + [[(stop if to < 0 else to, p, r) for to, p, r in row] for row in chance]
    flat = [edge for row in edges for edge in row]
    return Network(
        kind=[*kind, *[Kind.CHANCE] * len(chance), Kind.END],
        indptr=np.cumsum([0, *(len(row) for row in edges), 0]),
        dst=[to for to, _, _ in flat],
        weight=[p for _, p, _ in flat],
        reward=[r for _, _, r in flat],
        sign=np.ones(len(flat)),
        step=np.zeros(len(flat)),
        payoff=[0.0] * stop + [float(draw(number))],
        start=0,
    )


@settings(max_examples=30, deadline=None)
@given(stopping_games())
def test_random_stopping_games(network: Network) -> None:
    exact = solve(network, solver="exact")
    assert exact.status is Status.EXACT
    found = solve(network, solver="linear-programming", epsilon=1e-8)
    assert found.status is Status.CERTIFIED
    for node, value in enumerate(exact.nodes.exact[0]):
        assert Fraction(float(found.nodes.lowers[node])) <= value <= Fraction(float(found.nodes.uppers[node]))


def test_the_number_of_rounds_is_told() -> None:
    answer = LinearProgramming().solve(
        Network(
            kind=[Kind.MIN, Kind.MAX, Kind.END, Kind.END],
            indptr=[0, 2, 4, 4, 4],
            dst=[1, 2, 2, 3],
            weight=np.ones(4),
            reward=np.zeros(4),
            sign=np.ones(4),
            step=np.zeros(4),
            payoff=[0, 0, 2, 1],
            start=0,
        ),
        Run(),
    )
    assert answer.value.tolist() == [2.0, 2.0, 2.0, 1.0]
    assert answer.details["rounds"] >= 1


def test_the_minimiser_may_wait_for_ever() -> None:
    """Any number from 1/4 to 3/4 satisfies the equations; endless play is worth 0, so it is 1/4."""
    circle = {
        "s": lambda: decide({"on": go("t"), "out": end(Fraction(1, 4))}),
        "t": lambda: decide({"back": go("s"), "out": end(Fraction(3, 4))}, player=1),
    }
    found = solve(Game.of(start="s", node=lambda state: circle[state]()), solver="linear-programming")
    assert found.status is Status.CERTIFIED
    assert found.value("s") == found.value("t") == 0.25


def test_the_last_node_may_be_a_decision_of_the_minimiser() -> None:
    """Without any end, at a discount of 1/2: s = 2 + t / 2 and t = s / 2."""
    interest = {
        "s": lambda: decide({"b": go("s", reward=1), "a": go("t", reward=2)}),
        "t": lambda: decide({"y": go("t", reward=Fraction(3, 2)), "x": go("s")}, player=1),
    }
    network = explore(Game.of(start="s", node=lambda state: interest[state](), discount=Fraction(1, 2)))
    assert network.kind[-1] == Kind.MIN
    found = solve(network, solver="linear-programming")
    assert found.status is Status.CERTIFIED
    assert found.lower("t") <= Fraction(4, 3) <= found.upper("t")
    assert found.action("t") == "x"
