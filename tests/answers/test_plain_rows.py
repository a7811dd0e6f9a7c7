"""Plain Python and compiled loops give the rows of a lattice program the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from mdpdice import solve
from mdpdice.answers import plain_rows
from mdpdice.answers.plain_rows import PlainRows
from mdpdice.compilation import Loop
from mdpdice.games.farkle import FarkleRace
from mdpdice.games.pig import PigRace
from mdpdice.lattices.layer_solver import known_rows


@pytest.mark.parametrize("game", [PigRace(30), FarkleRace(500)])
def test_the_bits_are_those_of_the_loops(game, monkeypatch):
    monkeypatch.setattr("mdpdice.solving.lattice_route.FLAT_UP_TO_EDGES", 100)
    table = solve(game).table
    program, size = table.layers.program, table.lattice.size
    tables = table.layers.tables.at(np.unique(np.linspace(0, size - 1, 150).astype(np.int64)))
    compiled = known_rows(program, tables, table.stored)
    monkeypatch.setattr(Loop, "compiling", False)
    plain = PlainRows(program, table.stored).at(tables)
    assert np.isnan(compiled).any()
    np.testing.assert_array_equal(plain.view(np.uint64)[~np.isnan(plain)], compiled.view(np.uint64)[~np.isnan(plain)])
    np.testing.assert_array_equal(np.isnan(plain), np.isnan(compiled))


def test_loops_take_over_on_the_way(monkeypatch):
    monkeypatch.setattr("mdpdice.solving.lattice_route.FLAT_UP_TO_EDGES", 100)
    solution = solve(PigRace(20))
    states = solution.excerpt().states[:200]
    expected = [solution.value(state) for state in states]
    monkeypatch.setattr(plain_rows, "ROWS_PLAIN_UP_TO", 2000)
    again = solve(PigRace(20))
    monkeypatch.setattr(Loop, "compiling", False)
    assert again.table.known.few
    assert [again.value(state) for state in states] == expected
    assert not again.table.known.few
