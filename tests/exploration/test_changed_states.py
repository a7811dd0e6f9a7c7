"""States that change after they were handed out: the value of such a game would be that of another one."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from mdpdice import Counter, Game, compile_lattice, d6, decide, end, explore, go, roll, solve, when
from mdpdice.errors import GameError


@dataclass(unsafe_hash=True)
class Points:
    points: int


def _turn(state):
    if state.points > 20:
        return end(state.points)

    def then(k):
        state.points += k
        return go(state)

    return decide({"hold": end(state.points), "roll": roll(d6, then)})


def test_a_state_that_then_changes():
    with pytest.raises(GameError, match="changed after the game returned it") as caught:
        solve(Game.of(start=Points(0), node=_turn))
    assert caught.value.state.points == 21


def test_a_state_that_changes_much_later():
    kept = Points(0)

    def node(state):
        if isinstance(state, int) and state == 5:
            kept.points = 7
        return decide({"on": go(1 if state == kept else state + 1)}) if state != 6 else end(1)

    with pytest.raises(GameError, match="changed after the game returned it") as caught:
        explore(Game.of(start=kept, node=node))
    assert caught.value.state == Points(7)


def test_a_core_state_of_a_game_with_counters():
    class Changing(Game):
        x = Counter(range(5))

        def start(self):
            return Points(0)

        def node(self, state):
            state.points += 1
            return when(self.x >= 4, end(self.x), decide({"on": go(Points(1), self.x.add(1))}))

    with pytest.raises(GameError, match="changed after the game returned it"):
        compile_lattice(Changing())


def test_states_that_may_change_and_do_not():
    game = Game.of(
        start=Points(0), node=lambda s: end(s.points) if s.points > 20 else decide({"on": go(Points(s.points + 7))})
    )
    assert solve(game).value() == 21
