"""The certificate of lattices: against plain Python at small sizes, and against planted faults."""

from __future__ import annotations

from math import fsum

import attrs
import numpy as np
import pytest
from helpers.counter_games import Race, Sheet, make

from mdpdice import Counter, Kind, compile_lattice, decide, end, go, solve
from mdpdice.backend import Run
from mdpdice.certification.checking.lattice import Claim, verify_lattice
from mdpdice.games.farkle import FarkleRace
from mdpdice.lattices.layer_solver import solve_layers
from mdpdice.lattices.reachable_layers import find_layers

GAMES = {"race": lambda: Race(8), "sheet": Sheet, "farkle": lambda: FarkleRace(target=200, dice=2)}
NARROW = 1e-8


@pytest.fixture(scope="module", params=GAMES)
def case(request):
    """Layers of a game, their values, and the claim that these are right."""
    layers = find_layers(compile_lattice(GAMES[request.param]()))
    values, _ = solve_layers(layers, Run())
    ranks = layers.ranks
    return layers, Claim(layers.program.entries, values, ranks.layer, ranks.inner)


def found(layers, claim, **changes):
    return verify_lattice(layers.lattice, attrs.evolve(claim, **changes))


def width(layers, claim, **changes):
    """Upper bound of the optimal value less lower bound of the policy's, where they are furthest apart."""
    widths = found(layers, claim, **changes)
    return float((widths.optimal + widths.policy).max())


# --- plain Python -------------------------------------------------------------------------------


def one_pass(layers, claim, point, choices=None):
    """Every core node at a point, by recursion over the lattice's own functions of one point."""
    lattice, known = layers.lattice, {}
    number = {int(node): k for k, node in enumerate(claim.entries)}

    def value(node):
        if node not in known:
            known[node] = compute(node)
        return known[node]

    def compute(node):
        kind = Kind(lattice.kind[node])
        if kind == Kind.END:
            return float(lattice.exact_reward_at(int(lattice.payoff[node]), point))
        found = []
        for at, edge in enumerate(range(int(lattice.indptr[node]), int(lattice.indptr[node + 1]))):
            here = np.array([point])
            if not lattice.guard_at(int(lattice.guard[edge]), here)[0]:
                continue
            dst, to = int(lattice.dst[edge]), int(lattice.targets(int(lattice.update[edge]), here)[0])
            if to < 0:
                continue
            ahead = value(dst) if lattice.update[edge] < 0 else float(claim.values[number[dst], to])
            if lattice.sign[edge] < 0:
                ahead = float(lattice.total) - ahead
            worth = float(lattice.exact_reward_at(int(lattice.reward[edge]), point)) + ahead
            found.append((at, float(lattice.weight[edge]), worth))
        if kind == Kind.CHANCE:
            return fsum(weight * worth for _, weight, worth in found)
        if choices is not None:
            return next((worth for at, _, worth in found if at == choices[node, point]), np.nan)
        return (max if kind == Kind.MAX else min)(worth for _, _, worth in found)

    return value, known


def greedy(layers, claim):
    """The choices that follow the values, at all points that play can reach."""
    lattice = layers.lattice
    choices = np.full((lattice.n_nodes, lattice.size), -1, dtype=np.int16)
    program = layers.program
    solution = solve(lattice)
    for point in np.flatnonzero(layers.reached.any(axis=0)).tolist():
        rows, tables, at = solution.table.rows(point)
        for node in np.flatnonzero((lattice.kind == Kind.MAX) | (lattice.kind == Kind.MIN)).tolist():
            edges = range(int(lattice.indptr[node]), int(lattice.indptr[node + 1]))
            worth = [
                float(rows[program.edge_row[edge], at])
                if (lattice.guard[edge] < 0 or tables.guards[lattice.guard[edge], at])
                and tables.targets[lattice.update[edge], at] >= 0
                else -np.inf
                for edge in edges
            ]
            choices[node, point] = int(np.argmax(worth))
    return choices


def test_residuals_are_those_of_plain_python(case):
    layers, claim = case
    rng = np.random.default_rng(1)
    noise = rng.normal(scale=1e-3, size=claim.values.shape)
    wrong = attrs.evolve(claim, values=claim.values + noise)
    largest = np.zeros(len(claim.layer))
    for k, point in np.argwhere(layers.reached).tolist():
        value, _ = one_pass(layers, wrong, point)
        off = abs(value(int(claim.entries[k])) - wrong.values[k, point])
        largest[claim.layer[point]] = max(largest[claim.layer[point]], off)
    widths = found(layers, wrong)
    # The last layer that differs is not scaled by anything but the length of its plays.
    gained = widths.optimal - np.append(widths.optimal[1:], 0.0)
    used = [layer.number for layer in layers.layers]
    cyclic = {layer.number for layer in layers.layers if layer.part is not None}
    for number in used:
        if number in cyclic:
            assert gained[number] >= largest[number]
        else:
            assert gained[number] == pytest.approx(largest[number], abs=1e-11)


def test_right_values_are_certified(case):
    layers, claim = case
    assert width(layers, claim) < NARROW
    assert found(layers, claim).reason == ""


# --- planted faults -----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-3, -1e-3, 1e-6, np.nan, np.inf])
def test_one_wrong_value(case, size):
    layers, claim = case
    stored = np.argwhere(layers.reached)
    rng = np.random.default_rng(2)
    for k, point in rng.choice(stored, size=min(6, len(stored)), replace=False):
        values = claim.values.copy()
        values[k, point] += size
        assert not width(layers, claim, values=values) < (abs(size) / 2 if np.isfinite(size) else 1.0)


def test_values_off_in_one_layer(case):
    layers, claim = case
    for layer in layers.layers:
        values = claim.values.copy()
        values[:, layer.points] += 1e-3
        assert not width(layers, claim, values=values) < 1e-5


def test_stored_choices(case):
    layers, claim = case
    choices = greedy(layers, claim)
    assert width(layers, claim, choices=choices) < NARROW
    lattice = layers.lattice
    nodes = np.flatnonzero((lattice.kind == Kind.MAX) | (lattice.kind == Kind.MIN))
    points = np.flatnonzero(layers.reached.any(axis=0))
    rng = np.random.default_rng(3)
    caught = 0
    for node, point in zip(rng.choice(nodes, 300).tolist(), rng.choice(points, 300).tolist(), strict=True):
        other = choices.copy()
        other[node, point] = (choices[node, point] + 1) % int(lattice.indptr[node + 1] - lattice.indptr[node])
        value, _ = one_pass(layers, claim, point, other)
        entries = np.flatnonzero(layers.reached[:, point])
        # NaN where an option is taken that is not there.
        lost = [abs(value(int(claim.entries[k])) - float(claim.values[k, point])) for k in entries]
        if not max(lost) <= 1e-6:
            assert not width(layers, claim, choices=other) < np.nan_to_num(max(lost), nan=1.0) / 2
            caught += 1
            if caught == 8:
                return
    raise AssertionError(caught)


@pytest.mark.parametrize("witness", ["no start", "nothing", "layers", "below 0", "shape", "order"])
def test_wrong_witnesses_prove_nothing_wrong(case, witness):
    layers, claim = case
    changes = {
        "no start": {
            "values": np.where(np.arange(layers.lattice.size) == layers.lattice.start_point, np.nan, claim.values)
        },
        "nothing": {"values": np.full_like(claim.values, np.nan)},
        "layers": {"layer": claim.layer.max() - claim.layer},
        "below 0": {"layer": claim.layer.astype(np.int32) - 1},
        "shape": {"values": claim.values[:, :-1]},
        "order": {"inner": claim.inner.max() - claim.inner},
    }[witness]
    if witness == "order":
        # Any order will do; a bad one costs time, or finds no proof.
        wrong = claim.values + 1e-3
        assert not width(layers, claim, values=wrong, **changes) < 1e-5
    elif witness == "layers" and len(layers.layers) == 1:
        assert width(layers, claim, **changes) < NARROW
    else:
        assert not width(layers, claim, **changes) < NARROW


def test_points_that_are_listed_a_few_at_a_time_are_in_the_same_order(case, monkeypatch):
    layers, claim = case
    expected = found(layers, claim)
    monkeypatch.setattr("mdpdice.certification.checking.lattice.LISTED", 7)
    again = found(layers, claim)
    assert np.array_equal(again.optimal, expected.optimal)
    assert np.array_equal(again.policy, expected.policy)


def test_what_is_kept_from_pass_to_pass_changes_nothing(monkeypatch):
    layers = find_layers(compile_lattice(Race(8)))
    claim = Claim(layers.program.entries, solve(layers.lattice).table.stored, layers.ranks.layer, layers.ranks.inner)
    expected = verify_lattice(layers.lattice, claim)
    assert layers.cyclic
    monkeypatch.setattr("mdpdice.certification.checking.lattice.KEPT", 0)
    found = verify_lattice(layers.lattice, claim)
    assert np.array_equal(found.optimal, expected.optimal)
    assert np.array_equal(found.policy, expected.policy)


def test_values_of_the_minimum_do_not_pass_for_the_maximum():
    from mdpdice import Total

    low, high = solve(compile_lattice(Sheet()), Total("min")), find_layers(compile_lattice(Sheet()))
    claim = Claim(high.program.entries, low.table.stored, high.ranks.layer, high.ranks.inner)
    assert not width(high, claim) < 1e-3


def test_a_cycle_that_nobody_leaves_is_not_certified():
    # Both sides hold for ever, and half of the total is a solution of the equations.
    layers = find_layers(compile_lattice(Race(6)))
    lattice = attrs.evolve(layers.lattice, kind=np.where(layers.lattice.kind == 1, 2, layers.lattice.kind).astype("u1"))
    layers = find_layers(lattice)
    values, _ = solve_layers(layers, Run())
    claim = Claim(layers.program.entries, values, layers.ranks.layer, layers.ranks.inner)
    assert values[0, lattice.start_point] == 0.5
    assert not width(layers, claim) < 1.0


def test_who_is_free_may_stay_where_the_policy_leaves():
    # Both options are worth as much, but nobody has to stop.
    game = make(
        lambda game, core: decide({"stop": end(1), "stay": go("s", game.n.set((game.n + 1) % 3))}), n=Counter(range(3))
    )
    layers = find_layers(compile_lattice(game))
    values = np.ones((1, 3))
    choices = np.zeros((layers.lattice.n_nodes, 3), dtype=np.int16)
    ranks = layers.ranks
    claim = Claim(layers.program.entries, values, ranks.layer, ranks.inner, choices)
    assert layers.cyclic
    assert "may not end" in found(layers, claim).reason


def test_a_game_that_is_over_before_it_begins():
    solution = solve(compile_lattice(make(lambda game, core: end(game.n + 3), n=Counter(range(3)))))
    assert solution.lattice.n_edges == 0
    assert solution.value() == 3
