"""How Knucklebones is shown: both boards, and the die."""

from __future__ import annotations

from typing import Any

from mdpdice.games.knucklebones.game import Knucklebones
from mdpdice.games.knucklebones.game import Rolled as DieRolled
from mdpdice.games.knucklebones.rules import Board, column_score, place, remove, score
from mdpdice.games.knucklebones.text import read_state, show_state
from mdpdice.looks import Act, Dice, Grid, Look, Part, Rolled, Text, told

__all__ = ["KnucklebonesLook"]


class KnucklebonesLook(Look[Knucklebones], of=Knucklebones):
    """Two boards, scored by column."""

    def _board(self, board: Board, of: Any) -> Grid:
        game = self.game
        rows = tuple(
            tuple(column[row] if row < len(column) else "" for column in board) for row in range(game.rows)
        )
        return Grid(
            "board", of, rows=rows, foot=tuple(column_score(column, game.scoring) for column in board)
        )

    def table(self, state: Any, seen: Rolled | None = None) -> list[Part]:
        parts: list[Part] = [self._board(state.mine, "mover"), self._board(state.theirs, "other")]
        return [*parts, Dice("die", faces=(state.die,))] if isinstance(state, DieRolled) else parts

    def act(self, state: Any, action: Any, seen: Rolled | None = None) -> Act:
        gone = state.theirs[action - 1].count(state.die)
        takes = f", which takes off {gone} of theirs" if gone else ""
        return Act(f"column {action}{takes}", ("board", ((action - 1,),)))

    def ending(self, state: Any, action: Any, outcome: Any, payoff: Any) -> Text:
        result = "wins" if payoff > 0 else "loses" if payoff < 0 else "draws"
        mine, theirs = list(state.mine), list(state.theirs)
        mine[action - 1] = place(mine[action - 1], state.die)
        theirs[action - 1] = remove(theirs[action - 1], state.die)
        points = " to ".join(str(score(tuple(board), self.game.scoring)) for board in (mine, theirs))
        boards = told([self._board(tuple(mine), 0), self._board(tuple(theirs), 1)], {}, who=("own", "other"))
        return f"{result} {points}; {boards}"

    def show_state(self, state: Any) -> str:
        """Text of a position: ``6 5__/__2/___ ___/___/___`` (see `mdpdice.games.knucklebones.text`)."""
        return show_state(self.game, state)

    def read_state(self, text: str) -> Any:
        """Position of a text (see `mdpdice.games.knucklebones.text`)."""
        return read_state(self.game, text)
