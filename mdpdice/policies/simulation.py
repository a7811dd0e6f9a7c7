"""Simulation: many plays at once, on the arrays of a network or of a lattice, or by the rules alone.

On a network all plays of a batch move in step: one round draws an edge for every play that has
not ended, by a guided search in the cumulative probabilities of its node.  Decisions are
rows of the chain too (`mdpdice.policies.markov_chain`), so a round is a dozen operations on whole
arrays, and a processor core makes some millions of moves a second.

A game with counters that is too large for a network is played on its lattice
(`mdpdice.policies.lattice_simulation`).  A game that is too large for either is played as its rules tell it, one
play after the other (`mdpdice.policies.playthrough`): nothing is explored, and the policies are seats,
functions of the turn.

A simulation is an experiment: its mean comes with a standard error, which falls with
the square root of the number of plays.  `mdpdice.evaluate` computes the same mean
exactly; the two have nothing in common but the chain, so each is a test of the other.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Hashable, Sequence
from typing import Any, TypeVar, cast

import attrs
import numpy as np

from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution
from mdpdice.backend import Progress
from mdpdice.errors import GameError, NotConvergedError, TotalRewardUndefinedError, UnsupportedError
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.exploration.to_network import explore
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.game import Game
from mdpdice.modelling.number import count, own_number, whole_number
from mdpdice.networks.network import Bools, Floats, Kind, Network
from mdpdice.numerics import graph
from mdpdice.numerics.sampling import Sampler
from mdpdice.policies.lattice_simulation import LatticePolicy, play_on_lattice
from mdpdice.policies.markov_chain import Chain, induce, walk
from mdpdice.policies.playthrough import Happening, Seat, play
from mdpdice.solving.lattice_solution import LatticeSolution

__all__ = ["Simulation", "simulate"]

S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)

BATCH = 1 << 15
"""Plays that move in step: enough to make numpy's overhead small, few enough for the cache."""
NEGLIGIBLE = 2.0**-60
"""A discounted play stops when what is still to come counts less than this."""
_MOVES = (Happening.CHOICE, Happening.ROLL)


@attrs.frozen(eq=False, repr=False)
class Simulation:
    """What came out of some plays.

    Parameters
    ----------
    totals : ndarray of float64, shape (plays,)
        Total of every play, in payoff units, as the player sees it who moves first.
    moves : int
        Edges taken in all plays together.
    seconds : float
        Wall-clock time of the plays.
    """

    totals: Floats
    moves: int
    seconds: float

    @property
    def plays(self) -> int:
        """Number of plays."""
        return len(self.totals)

    @property
    def mean(self) -> float:
        """Mean total."""
        return float(self.totals.mean())

    @property
    def sd(self) -> float:
        """Standard deviation of the totals, with ``plays - 1`` in the denominator."""
        return float(self.totals.std(ddof=1)) if self.plays > 1 else math.nan

    @property
    def standard_error(self) -> float:
        """Standard deviation of the mean."""
        return self.sd / math.sqrt(self.plays)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Confidence interval of the expected total, from the normal approximation.

        Parameters
        ----------
        level : float
            Chance that such an interval holds the expected total, in (0, 1).
        """
        level = float(own_number(level, "level"))
        if not 0 < level < 1:
            msg = f"the level of a confidence interval is in (0, 1), not {level!r}"
            raise GameError(msg, value=level)
        reach = statistics.NormalDist().inv_cdf((1 + level) / 2) * self.standard_error
        return self.mean - reach, self.mean + reach

    def frequency(self, total: float) -> float:
        """Share of the plays with exactly this total."""
        return float((self.totals == total).mean())

    def __repr__(self) -> str:
        low, high = self.interval()
        return f"<Simulation: {self.plays:,} plays, mean {self.mean:.6g}, 95% in [{low:.6g}, {high:.6g}]>"


def simulate(
    game: Game[S, A] | Network | Lattice,
    policies: Policy | LatticePolicy | Seat | Sequence[Policy | LatticePolicy | Seat],
    n: int = 100_000,
    seed: int | np.random.Generator | None = None,
    *,
    state: Hashable = None,
    horizon: int | None = None,
    symmetric: bool = False,
    max_moves: int = 1_000_000,
    progress: Progress | None = None,
) -> Simulation:
    """Play a game many times.

    Parameters
    ----------
    game : Game, Network or Lattice
        What is played.  A game is explored so that no rewards are averaged; on a
        network with averaged rewards the mean is the same and the totals spread less.
        With seats nothing is explored.
    policies : Policy, LatticePolicy or seat, or sequence of two
        One for all decisions, or one per player: the first belongs to the one who
        moves first (with `pass_to`), or maximises (with MIN nodes).  A seat is a
        function of a `mdpdice.policies.playthrough.Turn` that gives one of its actions.
    n : int
        Number of plays.
    seed : int or numpy.random.Generator, optional
        Equal seeds give equal plays.
    state : hashable, optional
        Where the plays start, by default at the start.
    horizon : int, optional
        Largest number of decisions of a play, with seats; a network has its own.
    symmetric : bool
        With seats: play in the representatives that `Game.canonical` gives, as on a network.
    max_moves : int
        Most edges taken in one play.
    progress : callable, optional
        Called as ``progress("simulate", {"plays": ..., "of": ..., "moves": ...})``.

    Raises
    ------
    TotalRewardUndefinedError
        A play can collect or pay without end.
    NotConvergedError
        A play was not over after `max_moves` moves.

    Examples
    --------
    >>> from mdpdice import Game, Policy, decide, end, explore, go, roll, d6
    >>> pig = Game.of(start=0, node=lambda p: end(p) if p >= 100 else decide({
    ...     "hold": end(p),
    ...     "roll": roll(d6, lambda k: end() if k == 1 else go(p + k)),
    ... }))
    >>> network = explore(pig)
    >>> hold_at_20 = Policy.of(network, lambda p: "hold" if p >= 20 else "roll")
    >>> low, high = simulate(network, hold_at_20, 100_000, seed=1).interval()
    >>> low < 8.1418 < high
    True
    """
    plays = whole_number(n)
    if plays is None or plays < 1:
        msg = f"the number of plays is a whole number of at least 1, not {n!r}"
        raise GameError(msg, value=n)
    n, max_moves = plays, count(max_moves, "max_moves")
    given = policies if isinstance(policies, Sequence) else (policies,)
    if not 1 <= len(given) <= 2:
        msg = f"a game has one or two players, not {len(given)}"
        raise GameError(msg, value=len(given))
    try:
        generator = np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        msg = f"seed={seed!r}: it is a whole number of at least 0, or a generator of numpy"
        raise GameError(msg, value=seed) from error
    if not all(isinstance(one, Policy) for one in given):
        return _simulate_elsewhere(
            game, given, n, generator, state, horizon, max_moves, progress, symmetric=symmetric
        )
    network = explore(game) if isinstance(game, Game) else game
    if isinstance(game, Game) and network.averaged:
        network = explore(game, merge=False)
    if not isinstance(network, Network):
        msg = f"{game!r} is neither a Game nor a Network; a class needs to be called: MyGame()"
        raise GameError(msg, value=game)
    if horizon is not None:
        msg = "a network has its own horizon: Horizon(n).apply(network)"
        raise GameError(msg, value=horizon)
    chain = induce(network, cast("Sequence[Policy]", given))
    start = chain.network.start
    if state is not None:
        start += network.node_of(state) - network.start
    table = _Table.of(chain, start)
    began = time.perf_counter()
    totals = np.empty(n)
    moves = 0
    for first in range(0, n, BATCH):
        moves += table.play(start, totals[first : first + BATCH], generator, max_moves)
        if progress is not None:
            progress("simulate", {"plays": min(first + BATCH, n), "of": n, "moves": moves})
    return Simulation(totals, moves, time.perf_counter() - began)


def _simulate_elsewhere(
    game: Any,
    given: Sequence[Any],
    n: int,
    generator: np.random.Generator,
    state: Hashable,
    horizon: int | None,
    max_moves: int,
    progress: Progress | None,
    *,
    symmetric: bool,
) -> Simulation:
    """Simulate without a network."""
    began = time.perf_counter()
    if all(isinstance(one, LatticePolicy) for one in given):
        if horizon is not None:
            msg = "a lattice has no horizon; play with seats, or on the network"
            raise UnsupportedError(msg, value=horizon)
        lattice = game if isinstance(game, Lattice) else compile_lattice(game)
        totals, moves = play_on_lattice(
            lattice, given, n, generator, state=state, max_moves=max_moves, progress=progress
        )
        return Simulation(totals, moves, time.perf_counter() - began)
    for one in given:
        if isinstance(one, Solution | LatticeSolution):
            kind = "Policy" if isinstance(one, Solution) else "LatticePolicy"
            msg = f"a {type(one).__name__} is no policy; {kind}.from_solution(solution) is the one that it found"
            raise GameError(msg, value=one)
    if any(isinstance(one, Policy | LatticePolicy) or not callable(one) for one in given):
        msg = (
            "the players have policies of a network, policies of a lattice, or seats: the same kind for both"
        )
        raise GameError(msg, value=given)
    if not isinstance(game, Game):
        msg = f"seats play a game by its rules; give them the game and not {game!r}"
        raise GameError(msg, value=game)
    if state is not None:
        game = game.at(state)
    # Chance by integers that are the same everywhere, as in every play by the rules.
    chance = random.Random(int(generator.integers(1 << 63)))  # noqa: S311 - no secrets
    totals, moves = np.empty(n), 0
    for at in range(n):
        happened = play(game, given, chance, horizon=horizon, symmetric=symmetric, max_moves=max_moves)
        total: Any = 0
        for event in happened:
            moves += event.kind in _MOVES
            total = event.total
        totals[at] = float(total)
        if progress is not None:
            progress("simulate", {"plays": at + 1, "of": n, "moves": moves})
    return Simulation(totals, moves, time.perf_counter() - began)


@attrs.frozen(eq=False)
class _Table:
    """A chain, ready to be played.

    Parameters
    ----------
    chain : Network
        The chain.
    over : ndarray of bool, shape (N,)
        Nodes where a play is over: ends and closed sets without rewards.
    payment : ndarray of float64, shape (N,)
        What is paid there, less half of `total`: then it changes its sign with the side.
    sampler : Sampler
        Draws the edges.
    """

    chain: Network
    over: Bools
    payment: Floats
    sampler: Sampler

    @classmethod
    def of(cls, whole: Chain, start: int) -> _Table:
        chain = whole.network
        over = chain.kind == Kind.END
        half = float(chain.total) / 2
        payment = np.where(over, chain.payoff - half, 0.0)
        if chain.discount == 1:
            seen = walk(chain)
            idle, gains, loses = seen.closed(seen.rewards(chain))
            bad = np.flatnonzero((gains | loses) & graph.reachable(seen.indptr, seen.dst, [start]))
            if len(bad):
                msg = "a play can collect or pay without end; use a discount or a horizon"
                raise TotalRewardUndefinedError(msg, state=whole.describe(int(bad[0]) % chain.n_nodes))
            over = over | idle[: chain.n_nodes]
        return cls(chain, over, payment, Sampler.of(chain.indptr, chain.weight))

    def play(self, start: int, totals: Floats, generator: np.random.Generator, max_moves: int) -> int:
        """Fill `totals` with the totals of so many plays; return the number of edges taken."""
        chain = self.chain
        flips, pays = bool((chain.sign < 0).any()), bool(chain.reward.any())
        discount = float(chain.discount)
        play = np.arange(len(totals))
        node = np.full(len(totals), start)
        side, factor, total = np.ones(len(totals)), np.ones(len(totals)), np.zeros(len(totals))
        moves = 0
        for _ in range(max_moves + 1):
            over = self.over[node]
            if discount < 1:
                over |= factor < NEGLIGIBLE
            if over.any():
                last = node[over]
                ends = total[over] + factor[over] * side[over] * self.payment[last]
                totals[play[over]] = ends + float(chain.total) / 2
                left = ~over
                play, node, side, factor, total = (
                    play[left],
                    node[left],
                    side[left],
                    factor[left],
                    total[left],
                )
            if len(node) == 0:
                return moves
            edge = self.sampler.draw(node, generator.random(len(node)))
            moves += len(edge)
            if pays:
                total += factor * side * chain.reward[edge]
            if discount < 1:
                factor = np.where(chain.step[edge], factor * discount, factor)
            if flips:
                side = side * chain.sign[edge]
            node = chain.dst[edge]
        msg = f"{len(node):,} plays are not over after {max_moves:,} moves; raise max_moves, or use a horizon"
        raise NotConvergedError(msg, iterations=max_moves, width=math.inf, limit=max_moves)
