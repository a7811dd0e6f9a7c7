"""Positions of Knucklebones as text, for the command line.

A board is written row by row, with ``_`` for an empty square and ``/`` or a new line
between rows.  A position is the board of the player to move, that of the other, and the
die where one was rolled, in front or behind:

=================================  ====================================================
``6 35_/___/___ __4/__4/___``      a 6 was rolled: where to place it?
``35_/___/___ __4/__4/___``        a die is about to be rolled
``35_ ___ ___ __4 __4 ___ 6``      blanks and new lines do as well as slashes
=================================  ====================================================

Quotation marks are skipped.  In a column the dice may lie on any squares; shown they are from
the top down, in rising order.  On boards with one column a die stands in front.
"""

from __future__ import annotations

import re

from mdpdice.errors import UnknownStateError
from mdpdice.games.knucklebones.game import Facing, Knucklebones, Rolled, State
from mdpdice.games.knucklebones.rules import Board, empty_squares


def show_board(board: Board, rows: int) -> str:
    """Return the text of a board."""
    return "/".join("".join(str(column[row]) if row < len(column) else "_" for column in board) for row in range(rows))


def show_state(game: Knucklebones, state: State) -> str:
    """Return the text of a position."""
    boards = f"{show_board(state.mine, game.rows)} {show_board(state.theirs, game.rows)}"
    return f"{state.die} {boards}" if isinstance(state, Rolled) else boards


def read_state(game: Knucklebones, text: str) -> State:
    """Return the position of a text; an `UnknownStateError` if it has another form, or the game is over there."""
    words = re.sub(r"[\"'/\s]+", " ", text).split()
    size = 2 * game.rows
    die = None
    if len(words) == size + 1:
        # With one column a row looks like a die.
        if len(words[0]) == 1:
            die, words = words[0], words[1:]
        else:
            die, words = words[-1], words[:-1]
    if len(words) != size or any(len(row) != game.columns for row in words):
        raise _error(game, text, f"two boards of {game.rows} rows and {game.columns} columns are wanted")
    if die is not None and not re.fullmatch("[1-6]", die):
        raise _error(game, text, f"{die!r} is no die")
    for row in words:
        if not re.fullmatch("[1-6_]+", row):
            raise _error(game, text, f"{row!r} is not a row of dice")
    mine, theirs = _board(words[: game.rows]), _board(words[game.rows :])
    for board in (mine, theirs):
        if not empty_squares(board, game.rows):
            raise UnknownStateError(f"{text}: a board is full, so the game is over", value=text)
    return Facing(mine, theirs) if die is None else Rolled(int(die), mine, theirs)


def _board(rows: list[str]) -> Board:
    return tuple(tuple(sorted(int(square) for square in column if square != "_")) for column in zip(*rows, strict=True))


def _error(game: Knucklebones, text: str, what: str) -> UnknownStateError:
    example = show_state(game, Rolled(6, *([((),) * game.columns] * 2)))
    return UnknownStateError(f"{text!r} is not a position: {what}; write {example}", value=text)
