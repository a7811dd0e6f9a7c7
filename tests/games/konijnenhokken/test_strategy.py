"""The tables of the best play, printed and exported."""

import csv
import io

import pytest

from mdpdice import solve
from mdpdice.games.konijnenhokken import Field, Konijnenhokken, Rolled, Take
from mdpdice.games.konijnenhokken.rules import Offer
from mdpdice.games.konijnenhokken.strategy import allocation, allocation_text, stop_or_roll, stop_or_roll_text
from mdpdice.looks import look_of


@pytest.fixture(scope="module")
def small():
    game = Konijnenhokken(dice=5)
    return game, solve(game)


def test_one_number_tells_when_to_stop(game, solution):
    rows = {row[:3]: row for row in stop_or_roll(game, solution)}
    assert len(rows) == 76
    decided = 0
    for state in solution.network.states:
        if isinstance(state, Field) and solution.network.decides[solution.network.node_of(state)]:
            row = rows[state[:3]]
            rolls = row.roll_up_to is not None and state.t <= row.roll_up_to
            worth = solution.q(state)
            assert (solution.action(state) == "roll") == rolls
            # No decision is close: stop or roll differ by far more than the values can be off.
            assert abs(worth["roll"] - worth["stop"]) > 0.004
            assert worth["stop"] == state.t + row.points
            decided += 1
    assert decided == 76 * 95 - 1


def test_some_rows(game, solution):
    rows = {row[:3]: row.roll_up_to for row in stop_or_roll(game, solution)}
    assert rows[0, 0, 0] == 100
    assert rows[1, 0, 1] == 58
    assert rows[0, 4, 0] == 0
    assert rows[3, 0, 3] is None


def test_rows_of_allocation_are_the_policy(small):
    game, solution = small
    known = {}
    for row in allocation(game, solution):
        for t in range(row.t_from, row.t_to + 1):
            key = Rolled(row.r1, row.r2, row.c, t, row.ones, row.twos, row.cages)
            assert key not in known
            known[key] = Take(row.take_ones, row.take_twos, row.take_cages)
        assert look_of(game).read_state(f"r1={row.r1} r2={row.r2} c={row.c} roll={row.roll}")[4:] == (
            Offer(row.ones, row.twos, row.cages)
        )
    choices = 0
    for state in solution.network.states:
        if isinstance(state, Rolled) and len(game.takes(state)) > 1:
            assert known[state] == solution.action(state)
            choices += 1
    assert choices > 500


def test_export(small):
    game, solution = small
    found = look_of(game).tables(solution)
    assert [table.name for table in found] == ["stop-or-roll", "allocation"]
    for table, rows in zip(found, (stop_or_roll(game, solution), allocation(game, solution)), strict=True):
        assert table.data() == [row._asdict() for row in rows]
        assert list(csv.DictReader(io.StringIO(table.csv()))) == [
            {key: "" if value is None else str(value) for key, value in row.items()} for row in table.data()
        ]
    assert found[0].text() == stop_or_roll_text(game, stop_or_roll(game, solution))
    # All fields with a choice, not only the first roll of a run.
    shown = [line for line in found[1].text() if line.startswith("r1=")]
    assert len(shown) == len({row[:3] for row in allocation(game, solution)})


def test_table_for_people(game, solution):
    lines = stop_or_roll_text(game, stop_or_roll(game, solution))
    assert look_of(game).summary(solution) == lines
    at = lines.index("cages: x2")
    assert lines[at + 1 : at + 4] == [
        "        0x2  1x2  2x2  3x2  4x2  5x2",
        "  0x1         63   31    8    -    -",
        "  1x1    58   30    9    -    -",
    ]
    assert lines[lines.index("cages: none") + 2] == "  0x1     *   72   43   20    0    -    -"


def test_allocations_for_people(game, solution):
    lines = allocation_text(allocation(game, solution))
    assert lines[0] == "r1=0 r2=0 c=0"
    assert "  1,2,3,6,6,6,6: 2 (t=0..61); 1 and x2 x3 (t=62..100)" in lines
    assert "  2,2,2,2,2,3,4: 2 2 2 2 and x2 x3 x4" in lines
    assert "  1,3,4,5,6: 1 (t=0); 1 and x3 x4 x5 (t=7..100)" in lines
    assert "  1,1,1,1,1,1,1: 1 1 1 1 1 1 1" in lines


def test_allocations_of_the_first_roll(small):
    game, solution = small
    lines = allocation_text(row for row in allocation(game, solution) if row[:3] == (0, 0, 0))
    assert lines[0] == "r1=0 r2=0 c=0"
    assert lines[-1] == "  1,1,1,1,1: 1 1 1 1 1"


def test_no_table_with_a_horizon(game):
    assert look_of(game).summary(solve(Konijnenhokken(dice=3), horizon=2)) == []
    assert look_of(game).tables(solve(Konijnenhokken(dice=3), horizon=2)) == []
