r"""All positions of a board size as numbers, and their network by whole arrays.

A pair of facing columns without a common value has a number, in the order of the dice (505
pairs with two rows, 3067 with three).  A position is a multiset of `columns` pairs, since the order of
the columns does not matter: with :math:`p_0 \le p_1 \le \dots` its rank is :math:`\sum_i \binom{p_i + i}{i + 1}`,
which numbers the multisets from 0 on without a gap.

`network` gives what exploring `Knucklebones` state by state gives, numbered in another way, for larger boards
and as an independent check.  What may
follow a position is looked up in tables by pair and die, for all positions at once; where the play can
get to from empty boards is found in rounds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, overload

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice import Kind, Network
from mdpdice.errors import GameError, UnknownStateError
from mdpdice.games.knucklebones.game import Facing, Knucklebones, Rolled, State
from mdpdice.games.knucklebones.rules import FACES, Board, Column, column_score, place, remove

_CHUNK = 1 << 18


def all_columns(rows: int) -> list[Column]:
    """List every column of at most `rows` dice, shorter ones first."""
    return [column for count in range(rows + 1) for column in itertools.combinations_with_replacement(FACES, count)]


@attrs.frozen(eq=False, slots=False)
class Encoding:
    """Numbers of the positions of one board size."""

    game: Knucklebones
    pairs: list[tuple[Any, Any]]  # facing columns without a common value, in order
    choose: NDArray[np.int64]  # shape (columns, pairs): [i, p] is the binomial coefficient of p + i and i + 1

    @classmethod
    def of(cls, game: Knucklebones) -> Encoding:
        """Make the encoding of a game; a `GameError` if there are too many positions to number."""
        columns = all_columns(game.rows)
        pairs = sorted((mine, theirs) for mine in columns for theirs in columns if not set(mine) & set(theirs))
        count = math.comb(len(pairs) + game.columns - 1, game.columns)
        if count >= 1 << 40:
            msg = f"boards of {game.columns} x {game.rows} have {count:,} positions, too many for arrays; look ahead"
            raise GameError(msg, value=count, limit=1 << 40)
        choose = [[math.comb(p + i, i + 1) for p in range(len(pairs))] for i in range(game.columns)]
        return cls(game, pairs, np.array(choose, dtype=np.int64))

    @property
    def count(self) -> int:
        """Number of positions, those with full boards too."""
        return math.comb(len(self.pairs) + self.game.columns - 1, self.game.columns)

    def rank(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """Rank of positions, from the numbers of the pairs in any order, shape (..., columns)."""
        ordered = np.sort(numbers, axis=-1)
        total: NDArray[np.int64] = self.choose[0][ordered[..., 0]]
        for at in range(1, self.game.columns):
            total = total + self.choose[at][ordered[..., at]]
        return total

    def unrank(self, ranks: NDArray[Any]) -> NDArray[np.int64]:
        """Numbers of the pairs of positions, in order, shape (..., columns)."""
        left = np.asarray(ranks, dtype=np.int64)
        found = np.empty((*left.shape, self.game.columns), dtype=np.int64)
        for at in reversed(range(self.game.columns)):
            found[..., at] = np.searchsorted(self.choose[at], left, side="right") - 1
            left = left - self.choose[at][found[..., at]]
        return found

    def boards(self, rank: int) -> tuple[Board, Board]:
        """Boards of a position."""
        chosen = [self.pairs[int(number)] for number in self.unrank(np.array(rank))]
        mine, theirs = zip(*chosen, strict=True)
        return mine, theirs

    def rank_of(self, mine: Board, theirs: Board) -> int:
        """Rank of a pair of boards; an `UnknownStateError` if they cannot come about."""
        numbers = {pair: number for number, pair in enumerate(self.pairs)}
        try:
            chosen = [numbers[pair] for pair in zip(mine, theirs, strict=True)]
        except (KeyError, ValueError) as error:
            msg = f"{(mine, theirs)!r} cannot come about on boards of {self.game.columns} x {self.game.rows}"
            raise UnknownStateError(msg, value=(mine, theirs)) from error
        return int(self.rank(np.array(chosen)))


class _States(Sequence[State]):
    """The states of a `network`, made when they are asked for."""

    def __init__(self, encoding: Encoding, ranks: NDArray[np.int64]) -> None:
        self._encoding = encoding
        self._ranks = ranks

    def __len__(self) -> int:
        return 7 * len(self._ranks)

    @overload
    def __getitem__(self, at: int) -> State: ...
    @overload
    def __getitem__(self, at: slice) -> list[State]: ...
    def __getitem__(self, at: int | slice) -> State | list[State]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        at = range(len(self))[at]
        count = len(self._ranks)
        if at < count:
            return Facing(*self._encoding.boards(int(self._ranks[at])))
        position, die = divmod(at - count, len(FACES))
        return Rolled(die + 1, *self._encoding.boards(int(self._ranks[position])))

    def __iter__(self) -> Iterator[State]:
        for mine, theirs in self._boards():
            yield Facing(mine, theirs)
        for mine, theirs in self._boards():
            for die in FACES:
                yield Rolled(die, mine, theirs)

    def _boards(self) -> Iterator[tuple[Board, Board]]:
        # Many ranks at once: one by one, numpy takes ten times as long.
        for begin in range(0, len(self._ranks), _CHUNK):
            for numbers in self._encoding.unrank(self._ranks[begin : begin + _CHUNK]).tolist():
                mine, theirs = zip(*[self._encoding.pairs[number] for number in numbers], strict=True)
                yield mine, theirs


class _Tables:
    """What becomes of a pair of facing columns when a die is placed, by its number and the die."""

    def __init__(self, encoding: Encoding) -> None:
        game, pairs = encoding.game, encoding.pairs
        numbers = {pair: number for number, pair in enumerate(pairs)}
        shape = len(pairs), len(FACES)
        # Seen by the player who moves next.
        self.swapped = np.array([numbers[theirs, mine] for mine, theirs in pairs], dtype=np.int32)
        self.placed = np.full(shape, -1, dtype=np.int32)
        self.lead = np.array([self._lead(game, mine, theirs) for mine, theirs in pairs], dtype=np.int64)
        self.lead_after = np.zeros(shape, dtype=np.int64)
        self.room = np.array([game.rows - len(mine) for mine, _ in pairs], dtype=np.int64)
        self.room_theirs = self.room[self.swapped]
        for number, (mine, theirs) in enumerate(pairs):
            for die in FACES if len(mine) < game.rows else ():
                after, left = place(mine, die), remove(theirs, die)
                self.placed[number, die - 1] = numbers[left, after]
                self.lead_after[number, die - 1] = self._lead(game, after, left)

    @staticmethod
    def _lead(game: Knucklebones, mine: Any, theirs: Any) -> int:
        return column_score(mine, game.scoring) - column_score(theirs, game.scoring)


# Targets of a placement: the rank of a position, or one of these.
_NONE, _LOSS, _DRAW, _WIN = -1, -2, -3, -4


def _placements(encoding: Encoding, tables: _Tables, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Target of every placement from positions, shape (positions, 6, columns)."""
    pairs = encoding.unrank(ranks)
    n, columns = pairs.shape
    swapped = tables.swapped[pairs]
    lead = tables.lead[pairs].sum(axis=1)
    last = tables.room[pairs].sum(axis=1) == 1
    targets = np.empty((n, len(FACES), columns), dtype=np.int64)
    for at in range(columns):
        placed = tables.placed[pairs[:, at]]
        new = np.repeat(swapped[:, None, :], len(FACES), axis=1)
        new[:, :, at] = np.maximum(placed, 0)
        target = encoding.rank(new)
        if last.any():
            after = lead[:, None] - tables.lead[pairs[:, at]][:, None] + tables.lead_after[pairs[:, at]]
            result = np.where(after > 0, _WIN, np.where(after < 0, _LOSS, _DRAW))
            target = np.where(last[:, None], result, target)
        targets[:, :, at] = np.where(placed < 0, _NONE, target)
    return targets


def network(game: Knucklebones) -> Network:
    """Compile a game for wins into the network of its positions that can be reached.

    Equal to ``explore(game)`` up to the numbers of the nodes, in far less time and memory: the states are made when
    they are asked for.  First come the positions before a roll, the start first, then those after one, six by six,
    then the ends.  A game for points, or with too many positions to number, is a `GameError`.
    """
    if game.payoff != "win":
        msg = f"payoff={game.payoff!r}: only games for wins are written as arrays; explore it"
        raise GameError(msg, value=game.payoff)
    encoding = Encoding.of(game)
    tables = _Tables(encoding)
    empty: Board = ((),) * game.columns
    number, ranks = _reachable(encoding, tables, encoding.rank_of(empty, empty))
    n = len(ranks)
    first_end = n + n * len(FACES)
    degree = np.zeros(first_end + 3, dtype=np.int64)
    degree[:n] = len(FACES)
    targets, columns = [], []
    for begin in range(0, n, _CHUNK):
        found = _placements(encoding, tables, ranks[begin : begin + _CHUNK])
        there = found != _NONE
        degree[n + begin * len(FACES) : n + (begin + len(found)) * len(FACES)] = there.sum(axis=2).reshape(-1)
        chosen = found[there]
        ends = np.select([chosen == _LOSS, chosen == _DRAW], [first_end, first_end + 1], first_end + 2)
        targets.append(np.where(chosen < 0, ends, number[np.maximum(chosen, 0)]).astype(np.int32))
        columns.append((np.nonzero(there)[2] + 1).astype(np.int8))
    moves = np.concatenate(targets)
    del targets, number
    rolls = n * len(FACES)
    dst = np.concatenate((np.arange(n, first_end), moves), dtype=np.int64)
    weight = np.ones(len(dst))
    weight[:rolls] = 1 / len(FACES)
    kind = np.full(first_end + 3, Kind.MAX, dtype=np.uint8)
    kind[:n] = Kind.CHANCE
    kind[first_end:] = Kind.END
    sign = np.ones(len(dst), dtype=np.int8)
    sign[rolls:][moves < first_end] = -1
    del moves
    step = np.zeros(len(dst), dtype=bool)
    # The first roll comes before any decision.
    step[len(FACES) : rolls] = True
    payoff = np.zeros(first_end + 3)
    payoff[first_end:] = -1, 0, 1
    return Network(
        kind=kind,
        indptr=np.concatenate(([0], np.cumsum(degree))),
        dst=dst,
        weight=weight,
        reward=np.zeros(len(dst)),
        sign=sign,
        step=step,
        payoff=payoff,
        start=0,
        states=_States(encoding, ranks),
        actions=_Columns(np.concatenate(columns)),
    )


class _Columns(Sequence[int]):
    """Actions as Python's own numbers, one byte each."""

    def __init__(self, numbers: NDArray[np.int8]) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> list[int]: ...
    def __getitem__(self, at: int | slice) -> int | list[int]:
        found: int | list[int] = self._numbers[at].tolist()
        return found


def _reachable(encoding: Encoding, tables: _Tables, start: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Give a number to every rank of a position that can be reached, -1 elsewhere; and return the ranks by number."""
    number = np.full(encoding.count, -1, dtype=np.int32)
    number[start] = 0
    found = [np.array([start], dtype=np.int64)]
    total = 1
    for frontier in found:  # it grows while it is read
        for begin in range(0, len(frontier), _CHUNK):
            targets = _placements(encoding, tables, frontier[begin : begin + _CHUNK])
            new = np.unique(targets[targets >= 0])
            new = new[number[new] < 0]
            if len(new):
                number[new] = np.arange(total, total + len(new), dtype=np.int32)
                total += len(new)
                found.append(new)
    return number, np.concatenate(found)
