"""How Knucklebones is shown: both boards, and the die."""

from __future__ import annotations

import functools
from typing import Any, cast

from mdpdice import Solution, Table, load_solver, solve
from mdpdice.games.knucklebones.game import Knucklebones
from mdpdice.games.knucklebones.game import Rolled as DieRolled
from mdpdice.games.knucklebones.rules import FACES, Board, column_score, place, remove, score
from mdpdice.games.knucklebones.text import read_state, show_state
from mdpdice.looks import Act, Dice, Grid, Look, Part, Rolled, Text, told

AHEAD = 3
"""Decisions to look ahead for the first moves."""


class KnucklebonesLook(Look[Knucklebones], of=Knucklebones):
    """Two boards, scored by column."""

    def __init__(self, game: Knucklebones) -> None:
        super().__init__(game)
        self._die = {face: Dice("die", faces=(face,)) for face in FACES}
        # Many positions have a board in common.
        self._board = functools.lru_cache(1 << 16)(self._board_of)
        self._told = functools.lru_cache(1 << 16)(self._told_of)

    def _board_of(self, board: Board, of: Any) -> Grid:
        height, foot = self.game.rows, tuple(column_score(column, self.game.scoring) for column in board)
        padded = [(*column, *[""] * (height - len(column))) for column in board]
        return Grid("board", of, rows=tuple(zip(*padded, strict=True)), foot=foot)

    def _told_of(self, board: Board, who: str) -> tuple[int, str]:
        return score(board, self.game.scoring), told([self._board(board, 0)], {}, who=(who,))

    def table(self, state: Any, seen: Rolled | None = None) -> list[Part]:
        parts: list[Part] = [self._board(state.mine, "mover"), self._board(state.theirs, "other")]
        return [*parts, self._die[state.die]] if isinstance(state, DieRolled) else parts

    def act(self, state: Any, action: Any, seen: Rolled | None = None) -> Act:
        gone = state.theirs[action - 1].count(state.die)
        takes = f", which takes off {gone} of theirs" if gone else ""
        return Act(f"column {action}{takes}", ("board", ((action - 1,),)))

    def ending(self, state: Any, action: Any, outcome: Any, payoff: Any) -> Text:
        result = "wins" if payoff > 0 else "loses" if payoff < 0 else "draws"
        mine, theirs = list(state.mine), list(state.theirs)
        mine[action - 1] = place(mine[action - 1], state.die)
        theirs[action - 1] = remove(theirs[action - 1], state.die)
        (points, own), (less, other) = self._told(tuple(mine), "own"), self._told(tuple(theirs), "other")
        return f"{result} {points} to {less}; {own}; {other}"

    def tables(self, solution: Solution | None) -> list[Table]:
        """Return what the first moves are worth, looked ahead."""
        game, rows = self.game, []
        if solution is not None:
            return []
        empty, ahead = game.start(), cast("Any", load_solver("lookahead"))
        for die in FACES:
            first = game.at(DieRolled(die, empty.mine, empty.theirs))
            rows.append((die, *solve(first, solver=ahead(depth=AHEAD)).q().values()))
        title = f"value of the first moves, an estimate from {AHEAD} decisions ahead"
        columns = ("die", *(f"column {column}" for column in range(1, game.columns + 1)))
        return [Table("openings", title, columns, rows)]

    def show_state(self, state: Any) -> str:
        """Text of a position: ``6 5__/__2/___ ___/___/___`` (see `mdpdice.games.knucklebones.text`)."""
        return show_state(self.game, state)

    def read_state(self, text: str) -> Any:
        """Position of a text (see `mdpdice.games.knucklebones.text`)."""
        return read_state(self.game, text)
