"""What a solution says of actions that there are not."""

from __future__ import annotations

import pytest

from mdpdice import compile_lattice, solve
from mdpdice.errors import UnknownStateError
from mdpdice.games.pig import PigRace, PigTurn


@pytest.mark.parametrize("solution", [solve(PigTurn()), solve(compile_lattice(PigRace(goal=10)))])
def test_what_a_missing_action_is_worth(solution):
    start = solution.start
    worth = solution.q(start)
    assert set(worth) == {"hold", "roll"}
    assert worth.get("holt") is None
    with pytest.raises(UnknownStateError, match="no action 'holt' here; did you mean 'hold'\\? the actions"):
        worth["holt"]
