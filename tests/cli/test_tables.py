"""Tables and enclosures, which games hand to the command line."""

from __future__ import annotations

import json

import pytest

from mdpdice import Enclosure, Game, Table, end
from mdpdice.errors import GameError
from mdpdice.looks import look_of


def test_forms():
    table = Table("t", "about", ["name", "points", "chance"], [["a, b", None, 0.25], ("c", 12, 1 / 3)])
    assert table.csv() == 'name,points,chance\n"a, b",,0.25\nc,12,0.3333333333333333\n'
    assert json.loads(table.json()) == table.data()
    assert table.data()[0] == {"name": "a, b", "points": None, "chance": 0.25}
    assert table.text() == [
        "about",
        "name  points        chance",
        "a, b       -          0.25",
        "c         12  0.3333333333",
    ]
    assert Table("t", "about", ["a"], []).text() == ["about", "a"]
    assert Table("t", "about", ["a"], [], ["for people"]).text() == ["for people"]


def test_a_row_of_another_length():
    with pytest.raises(GameError, match="2 columns, and the row"):
        Table("t", "about", ["a", "b"], [(1,)])


def test_enclosures():
    assert Enclosure(10, 9, 11).width == pytest.approx(0.2)
    for wrong in ((1, 2, 3), (4, 2, 3), (float("nan"), 0, 1)):
        with pytest.raises(GameError, match="does not lie in"):
            Enclosure(*wrong)


def test_a_game_knows_none_by_itself():
    game = Game.of(start=0, node=lambda _: end())
    assert look_of(game).policy("bob") is look_of(game).policy_value("bob") is None
    assert not look_of(game).policies()
    assert look_of(game).ratings("bob") is None
    assert look_of(game).tables(None) == []
