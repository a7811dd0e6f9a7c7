"""What is said to those who ask about something that is no full state of a game with counters."""

from __future__ import annotations

import pytest

from mdpdice import At, Counter, Game, Node, Policy, compile_lattice, decide, end, explore, go, simulate, solve, when
from mdpdice.errors import UnknownStateError


class Climb(Game[str, str]):
    """Climb to the top; both counters rise together."""

    upper = Counter(range(4))
    lower = Counter(range(4))

    def start(self) -> str:
        return "climb"

    def node(self, state: str) -> Node[str, str]:
        up = go(state, self.upper.add(1), self.lower.add(1))
        return decide({"rest": end(self.upper), "up": when(self.upper < 3, up)})


FORM = "a state of this game is At(core, upper=..., lower=...)"
WRONG = [
    ("climb", f"state 'climb' has no counter values; {FORM}"),
    (("climb", 0, 0), f"has no counter values; {FORM}"),
    (At("climb", upper=1), f"it lacks lower; {FORM}"),
    (At("climb"), f"it lacks upper and lower; {FORM}"),
    (At("climb", uper=1, lower=1), f"there is no counter 'uper', did you mean 'upper'; {FORM}"),
    (At("climb", upper=1, lower=1, zebra=0), f"there is no counter 'zebra'; {FORM}"),
    (At("climb", upper=9, lower=1), "upper has the values range(0, 4)"),
]


@pytest.fixture(scope="module")
def asked():
    """Everything that is asked about a state, by name."""
    lattice = compile_lattice(Climb())
    flat, on_lattice = solve(explore(Climb())), solve(lattice)
    return {
        "value": flat.value,
        "action": flat.action,
        "node": flat.network.node_of,
        "lattice value": on_lattice.value,
        "lattice action": on_lattice.action,
        "game from there": Climb().at,
        "lattice plays": lambda state: simulate(lattice, Policy.uniform(lattice), 1, 1, state=state),
    }


@pytest.mark.parametrize("question", ["value", "action", "node", "lattice value", "lattice action",
                                      "game from there", "lattice plays"])  # fmt: skip
@pytest.mark.parametrize(("state", "told"), WRONG)
def test_what_a_state_looks_like(asked, question, state, told):
    with pytest.raises(UnknownStateError) as caught:
        asked[question](state)
    assert told in caught.value.message
    assert caught.value.value is state


@pytest.mark.parametrize(("state", "told"), WRONG[:-1])
def test_the_unrolled_game_tells_it_too(state, told):
    # Its states are plain ones: they tell the names of the counters in the order of an At, and no ranges.
    with pytest.raises(UnknownStateError) as caught:
        solve(Climb().unrolled()).value(state)
    there = told.replace("upper=..., lower=...", "lower=..., upper=...").replace("upper and lower", "lower and upper")
    assert there in caught.value.message


def test_a_state_that_is_only_not_reached_is_told_as_before(asked):
    with pytest.raises(UnknownStateError, match="is not in this network; similar states: At"):
        asked["value"](At("climb", upper=1, lower=2))
    with pytest.raises(UnknownStateError, match="cannot be reached"):
        asked["lattice value"](At("climb", upper=1, lower=2))
    assert asked["value"](At("climb", lower=2, upper=2)) == asked["lattice value"](At("climb", upper=2, lower=2)) == 3
