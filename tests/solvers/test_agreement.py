"""Every solver and exact arithmetic agree, inside certified intervals, on random networks of every kind."""

from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdpdice import Network, Status, Total, cross_check, load_solver, solve
from mdpdice.backend import available_solvers
from mdpdice.errors import NotConvergedError
from mdpdice.networks.network import Kind
from mdpdice.solving.problem import prepare


@st.composite
def networks(draw, *, players: int, cyclic: bool, discounted: bool, horizon: bool, idle: bool) -> Network:
    """Decisions whose options lead through a coin to any node, or in acyclic ones to a later node, or to the end.

    Unless it may `idle`, every option has a chance of an end, so every play stops.
    """
    n = draw(st.integers(2, 5))
    number = st.integers(-4, 4)
    kinds = [draw(st.sampled_from([Kind.MAX, Kind.MIN][:players])) for _ in range(n)]
    options = [draw(st.integers(1, 3)) for _ in range(n)]
    n_chance = sum(options)
    stop = n + n_chance
    rows: list[list[tuple[int, float, int, bool]]] = []
    chance: list[list[tuple[int, float, int, bool]]] = []
    for node in range(n):
        row = []
        for _ in range(options[node]):
            first = 0 if cyclic else node + 1
            to = draw(st.integers(first, n - 1)) if first < n else stop
            if idle and draw(st.booleans()):
                row.append((to, 1.0, 0, to < n))
                chance.append([(stop, 1.0, 0, False)])
                continue
            row.append((n + len(chance), 1.0, draw(number), False))
            weight = draw(st.sampled_from([0.25, 0.5, 0.75]))
            chance.append([(to, weight, 0, to < n), (stop, 1 - weight, draw(number), False)])
        rows.append(row)
    flat = [edge for row in rows + chance for edge in row]
    return Network(
        kind=[*kinds, *[Kind.CHANCE] * n_chance, Kind.END],
        indptr=np.cumsum([0, *(len(row) for row in rows + chance), 0]),
        dst=[edge[0] for edge in flat],
        weight=[edge[1] for edge in flat],
        reward=[float(edge[2]) for edge in flat],
        sign=np.ones(len(flat)),
        step=[edge[3] for edge in flat],
        payoff=[0.0] * stop + [float(draw(number))],
        start=0,
        discount=Fraction(4, 5) if discounted else 1,
        horizon=draw(st.integers(0, 4)) if horizon else None,
    )


KINDS = {
    "acyclic": {"players": 1, "cyclic": False, "discounted": False, "horizon": False, "idle": False},
    "cyclic": {"players": 1, "cyclic": True, "discounted": False, "horizon": False, "idle": False},
    "end components": {"players": 1, "cyclic": True, "discounted": False, "horizon": False, "idle": True},
    "discounted": {"players": 1, "cyclic": True, "discounted": True, "horizon": False, "idle": False},
    "horizon": {"players": 1, "cyclic": True, "discounted": False, "horizon": True, "idle": False},
    "two players, acyclic": {"players": 2, "cyclic": False, "discounted": False, "horizon": False, "idle": False},
    "two players, cyclic": {"players": 2, "cyclic": True, "discounted": False, "horizon": False, "idle": False},
    "two players, discounted": {"players": 2, "cyclic": True, "discounted": True, "horizon": False, "idle": False},
    "two players, horizon": {"players": 2, "cyclic": True, "discounted": True, "horizon": True, "idle": False},
}


@pytest.mark.parametrize("kind", KINDS)
def test_all_backends_agree_with_exact_arithmetic(kind: str) -> None:
    ran: set[str] = set()

    @settings(max_examples=25, deadline=None, derandomize=True)
    @given(networks(**KINDS[kind]), st.sampled_from(["max", "min"]))
    def check(network: Network, sense: str) -> None:
        exact = solve(network, Total(sense), solver="exact")
        assert exact.status is Status.EXACT, exact.reason
        truth = [value for row in exact.nodes.exact for value in row]
        need = prepare(network, Total(sense)).needs()
        for name in available_solvers():  # those that search a game and not a network are not among them
            features = load_solver(name).features | load_solver("exact").features & {_HORIZON}
            if need - features:
                continue
            try:
                found = solve(network, Total(sense), solver=name, epsilon=1e-8)
            except NotConvergedError:
                pytest.fail(f"{name} did not converge")
            ran.add(name)
            assert found.proved, f"{name}: {found.reason}"
            for value, low, high in zip(truth, found.nodes.lowers.ravel(), found.nodes.uppers.ravel(), strict=True):
                assert Fraction(float(low)) <= value <= Fraction(float(high)), name

    check()
    assert {"exact", "value-iteration"} <= ran
    assert len(ran) >= 3


@pytest.mark.parametrize("kind", KINDS)
def test_costs_of_which_little_is_wanted_are_rewards_turned(kind: str) -> None:
    @settings(max_examples=8, deadline=None, derandomize=True)
    @given(networks(**KINDS[kind]))
    def check(network: Network) -> None:
        turned = attrs.evolve(network, reward=-network.reward, payoff=-network.payoff, sense="min")
        need = prepare(turned).needs()
        ran = 0
        for name in available_solvers():
            if need - (load_solver(name).features | load_solver("exact").features & {_HORIZON}):
                continue
            one, other = (solve(each, solver=name, epsilon=1e-8) for each in (network, turned))
            assert (one.proved, other.proved) == (True, True), name
            assert (one.sense, other.sense) == ("max", "min")
            assert one.nodes.values == pytest.approx(-other.nodes.values, abs=1e-7), name
            ran += 1
        assert ran >= 2

    check()


_HORIZON = next(feature for feature in load_solver("exact").features if feature.name == "HORIZON")


def test_cross_check_runs_all_backends_on_the_kinds_they_have() -> None:
    network = Network.from_choices(
        [0, 2, 3], [0, 2, 3, 5], [0, 1, 1, 0, 1], [0.5, 0.5, 1, 0.5, 0.5], [1, 2, 3], discount="1/2"
    )
    report = cross_check(network)
    assert report.ok
    assert report.independent >= 3
    assert {entry.solver for entry in report.entries if entry.outcome == "ran"} >= {
        "exact",
        "linear-programming",
        "policy-iteration",
        "value-iteration",
    }
