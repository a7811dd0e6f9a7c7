"""A cyclic part of a network in rationals, and exact comparison of options, for the solver `exact`.

A `Part` is a set of nodes whose successors outside have known values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import attrs

from mdpdice.networks.network import Kind
from mdpdice.solvers.exact.rational import Pair

CLOSE = 1e-12
"""Relative distance of floats from which two rationals are told apart without exact arithmetic."""


class Move(NamedTuple):
    """An option: pay `gain` and go to the node `target` of the part, whose value counts `factor` times."""

    edge: int  # of the network
    target: int  # -1 for an option that leaves the part, then `gain` holds all that it is worth
    factor: Pair  # signed discount
    gain: Pair
    pays: bool  # whether there is a reward


@attrs.frozen(eq=False)
class Branch:
    """All edges of a chance node."""

    denominator: int
    shares: list[tuple[int, int]]  # node, and numerator of probability times discount and sign
    gain: Pair  # mean reward, with what the edges that leave the part are worth
    leaves: bool  # whether an edge leaves the part
    pays: bool  # whether an edge has a reward


@attrs.frozen(eq=False)
class Part:
    """Some nodes of a network: decisions have `moves`, chance nodes a `branch`."""

    kind: list[int]
    moves: list[list[Move]]
    branch: list[Branch | None]
    endless: bool  # whether plays may stay for ever, that is, whether nothing is discounted

    def signed(self) -> bool:
        """Whether the players change sides inside."""
        options = any(move.target >= 0 and move.factor[0] < 0 for moves in self.moves for move in moves)
        return options or any(a < 0 for b in self.branch if b is not None for _, a in b.shares)

    def pays(self) -> bool:
        """Whether there is any reward inside."""
        options = any(move.pays for moves in self.moves for move in moves)
        return options or any(b is not None and b.pays for b in self.branch)

    def doubled(self) -> Part:
        """Return the part seen from both sides: node ``i + n`` is node ``i`` with the other player to move."""
        n = len(self.kind)
        swap = {int(Kind.MAX): int(Kind.MIN), int(Kind.MIN): int(Kind.MAX)}
        return Part(
            self.kind + [swap.get(kind, kind) for kind in self.kind],
            [[_seen(move, side, n) for move in moves] for side in (0, 1) for moves in self.moves],
            [None if b is None else _branch_seen(b, side, n) for side in (0, 1) for b in self.branch],
            self.endless,
        )


def _seen(move: Move, side: int, n: int) -> Move:
    (f, fd), (g, gd) = move.factor, move.gain
    target = move.target if move.target < 0 else move.target + n * (side ^ (f < 0))
    return move._replace(target=target, factor=(abs(f), fd), gain=(-g if side else g, gd))


def _branch_seen(branch: Branch, side: int, n: int) -> Branch:
    g, d = branch.gain
    shares = [(j + n * (side ^ (a < 0)), abs(a)) for j, a in branch.shares]
    return attrs.evolve(branch, shares=shares, gain=(-g if side else g, d))


def quotient(pair: Pair) -> float:
    """Return the nearest float, infinite beyond their range."""
    try:
        return pair[0] / pair[1]
    except OverflowError:
        return float("inf") if pair[0] > 0 else float("-inf")


def best_moves(part: Part, value: list[Pair]) -> list[list[int]]:
    """Return the moves of every decision that are worth most (or least, to the minimiser), by exact comparison."""
    floats = [quotient(pair) for pair in value]
    pairs = zip(part.moves, part.kind, strict=True)
    return [best(moves, value, floats, minimise=kind == Kind.MIN) for moves, kind in pairs]


def best(moves: list[Move], value: Sequence[Pair] = (), floats: Sequence[float] = (), *, minimise: bool) -> list[int]:
    """Return the best of some moves, when the nodes of the part have these values."""
    if len(moves) < 2:
        return list(range(len(moves)))
    guess = [_guess(move, floats) for move in moves]
    top, room = (min if minimise else max)(guess)
    # Floats rule out what is clearly worse; written so that infinities and NaN rule out nothing.
    near = [k for k, (x, size) in enumerate(guess) if not abs(x - top) > CLOSE * (size + room) + 1e-300]
    if not max(size for _, size in guess) < 1e300:
        near = list(range(len(moves)))
    if len(near) == 1:
        return near
    found: list[int] = []
    record: Pair = (0, 1)
    for k in near:
        n, d = _worth(moves[k], value)
        order = n * record[1] - record[0] * d
        if minimise:
            order = -order
        if not found or order > 0:
            found, record = [k], (n, d)
        elif order == 0:
            found.append(k)
    return found


def _guess(move: Move, floats: Sequence[float]) -> tuple[float, float]:
    """Return what a move is worth in floats, and the size of the numbers that were added for it."""
    gain = quotient(move.gain)
    if move.target < 0:
        return gain, abs(gain)
    ahead = move.factor[0] / move.factor[1] * floats[move.target]
    return gain + ahead, abs(gain) + abs(ahead)


def _worth(move: Move, value: Sequence[Pair]) -> Pair:
    if move.target < 0:
        return move.gain
    n, d = value[move.target]
    (f, fd), (g, gd) = move.factor, move.gain
    if not move.pays:
        return f * n, fd * d
    return g * fd * d + f * n * gd, gd * fd * d
