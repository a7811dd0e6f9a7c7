"""Objectives other than the total on lattices, against the networks of the same games."""

from __future__ import annotations

from fractions import Fraction

import pytest
from helpers.counter_games import Race, Sheet

from mdpdice import (
    Counter,
    Discounted,
    Game,
    Horizon,
    PayoffAtLeast,
    Solution,
    Total,
    compile_lattice,
    decide,
    end,
    explore,
    go,
    solve,
)
from mdpdice.errors import CorruptFileError, UnsupportedError
from mdpdice.games.farkle import KcdFarkle


@pytest.mark.parametrize("threshold", [0, 150, 300, Fraction(601, 2)])
def test_chance_of_a_payoff(threshold, monkeypatch):
    game, objective = KcdFarkle(cap=400, dice=3), PayoffAtLeast(threshold)
    flat = solve(explore(game), objective, epsilon=1e-10)
    solution = solve(compile_lattice(game), objective)
    assert solution.proved
    for state in flat.network.states:
        assert solution.value(state) == pytest.approx(flat.value(state), abs=1e-12)
    monkeypatch.setattr("mdpdice.solving.lattice_route.FLAT_UP_TO_EDGES", 10)
    monkeypatch.setattr("mdpdice.lattices.reachable_layers.LAYERS_FROM_EDGES", 0)
    assert solve(game, objective).lattice is not None
    low = PayoffAtLeast(threshold, sense="min")
    assert solve(compile_lattice(game), low).value() == pytest.approx(
        solve(explore(game), low).value(), abs=1e-12
    )


def test_objectives_that_lattices_refuse():
    for game, objective, message in [
        (Sheet(), PayoffAtLeast(3), "pays on the way"),
        (Race(6), PayoffAtLeast(1), "changes sides"),
        (Sheet(), Discounted(0.9), "explore"),
        (Sheet(), Horizon(3), "explore"),
        (Waiting(), PayoffAtLeast(0), "with cycles"),
    ]:
        with pytest.raises(UnsupportedError, match=message):
            solve(compile_lattice(game), objective)
    assert solve(compile_lattice(Waiting()), PayoffAtLeast(1)).estimate() == 1.0
    # The written out network can do it: who waits for ever has payoff 0.
    assert solve(Waiting(), PayoffAtLeast(0)).value() == 1.0


class Waiting(Game[str, str]):
    """Wait, as long as you like, or take what there is."""

    left = Counter(range(2))

    def start(self):
        return "wait"

    def node(self, _):
        return decide({"wait": go("wait", self.left.set(1 - self.left)), "take": end(2 * self.left - 1)})


@pytest.mark.parametrize("objective", [PayoffAtLeast(150), PayoffAtLeast(150, sense="min"), Total("min")])
def test_a_file_is_read_for_its_objective(objective, tmp_path):
    game, path = KcdFarkle(cap=400, dice=3), tmp_path / "farkle.npz"
    solution = solve(compile_lattice(game), objective)
    solution.save(path)
    again = Solution.load(path, game, objective)
    assert again.proved
    assert (again.value(), again.sense) == (solution.value(), objective.sense)
    with pytest.raises(CorruptFileError, match="it answers a question about"):
        Solution.load(path, game)
