"""Simulation: many plays at once, on the arrays of a network or of a lattice, or by the rules alone.

On a network all plays of a batch move in step: one round draws an edge for every play that has not ended, so it is a
dozen operations on whole arrays.  Decisions are rows of the chain too (`mdpdice.policies.markov_chain`).  A game with
counters that is too large for a network is played on its lattice (`mdpdice.policies.lattice_simulation`), and one that
is too large for either by its rules, one play after the other (`simulate_by_rules`).

A simulation is an experiment: its mean comes with a standard error.  `mdpdice.evaluate` computes the same mean exactly;
the two have nothing in common but the chain, so each is a test of the other.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

import attrs
import numpy as np

from mdpdice.backend import Progress
from mdpdice.errors import GameError, NotConvergedError, TotalRewardUndefinedError
from mdpdice.html import card
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.game import Game
from mdpdice.modelling.number import count, own_number, whole_number
from mdpdice.networks.network import Bools, Floats, Kind, Network
from mdpdice.numerics import graph
from mdpdice.numerics.sampling import Sampler
from mdpdice.policies.lattice_simulation import play_on_lattice
from mdpdice.policies.markov_chain import Chain, closed, induce, one_sided
from mdpdice.policies.players import Players, model_of, policies_of
from mdpdice.policies.playthrough import Happening, Seat, play
from mdpdice.policies.totals import Outcomes

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
            raise GameError(f"the level of a confidence interval is in (0, 1), not {level!r}", value=level)
        reach = statistics.NormalDist().inv_cdf((1 + level) / 2) * self.standard_error
        return self.mean - reach, self.mean + reach

    def frequency(self, total: float) -> float:
        """Share of the plays with exactly this total."""
        return float((self.totals == total).mean())

    def _repr_html_(self) -> str:
        low, high = self.interval()
        totals, times = np.unique(self.totals, return_counts=True)
        spread = Outcomes(totals, times / self.plays)
        rows = [("plays", f"{self.plays:,}"), ("95 % interval", f"[{low:.6g}, {high:.6g}]")]
        return card("Simulation", rows) + spread._repr_html_()

    def __repr__(self) -> str:
        low, high = self.interval()
        return f"<Simulation: {self.plays:,} plays, mean {self.mean:.6g}, 95% in [{low:.6g}, {high:.6g}]>"


def simulate(
    game: Game[S, A] | Network | Lattice,
    policy: Players,
    plays: int = 100_000,
    seed: int | np.random.Generator | None = None,
    *,
    state: Hashable = None,
    max_moves: int = 1_000_000,
    progress: Progress | None = None,
) -> Simulation:
    """Play a game many times.

    Parameters
    ----------
    game : Game, Network or Lattice
        What is played.  A game is explored so that no rewards are averaged; on a
        network with averaged rewards the mean is the same and the totals spread less.  A game with counters that is
        too large for a network is played on its lattice.
    policy : Policy, Solution, callable or str, or sequence of two
        As for `mdpdice.evaluate`.
    plays : int
        Number of plays.
    seed : int or numpy.random.Generator, optional
        Equal seeds give equal plays.
    state : hashable, optional
        Where the plays start, by default at the start.
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
    >>> from mdpdice import simulate
    >>> from mdpdice.games.pig import PigTurn
    >>> low, high = simulate(PigTurn(), "hold-at:20", 100_000, seed=1).interval()
    >>> low < 8.1418 < high
    True
    """
    plays, generator = _plays(plays), _generator(seed)
    max_moves = count(max_moves, "max_moves")
    policies = policies_of(game, policy)
    network = model_of(game, policies, merge=False)
    began = time.perf_counter()
    if isinstance(network, Lattice):
        totals, moves = play_on_lattice(
            network, policies, plays, generator, state=state, max_moves=max_moves, progress=progress
        )
        return Simulation(totals, moves, time.perf_counter() - began)
    chain = induce(network, policies)
    start = chain.start(state)
    table = _Table.of(chain, start)
    totals, moves = np.empty(plays), 0
    for first in range(0, plays, BATCH):
        moves += table.play(start, totals[first : first + BATCH], generator, max_moves)
        if progress is not None:
            progress("simulate", {"plays": min(first + BATCH, plays), "of": plays, "moves": moves})
    return Simulation(totals, moves, time.perf_counter() - began)


def simulate_by_rules(
    game: Game[S, A],
    seats: Seat | Sequence[Seat],
    plays: int = 1_000,
    seed: int | np.random.Generator | None = None,
    *,
    state: Hashable = None,
    horizon: int | None = None,
    symmetric: bool = False,
    max_moves: int = 1_000_000,
    progress: Progress | None = None,
) -> Simulation:
    """Play a game many times by its rules, without exploring it: for games too large for that.

    Parameters
    ----------
    game : Game
        What is played.
    seats : seat, or sequence of two
        A seat is a function of a `mdpdice.policies.playthrough.Turn` that gives one of its actions.
    plays, seed, state, max_moves, progress
        As for `simulate`.
    horizon : int, optional
        Largest number of decisions of a play.
    symmetric : bool
        Play in the representatives that `Game.canonical` gives, as on a network.
    """
    plays, generator = _plays(plays), _generator(seed)
    max_moves = count(max_moves, "max_moves")
    if not isinstance(game, Game):
        raise GameError(f"{game!r} is not a Game; a class needs to be called: MyGame()", value=game)
    given = seats if isinstance(seats, Sequence) else (seats,)
    if not 1 <= len(given) <= 2 or not all(map(callable, given)):
        raise GameError(f"a game has one or two seats, which are functions of the turn, not {seats!r}", value=seats)
    began = time.perf_counter()
    game = game if state is None else game.at(state)
    # Chance by integers that are the same everywhere, as in every play by the rules.
    chance = random.Random(int(generator.integers(1 << 63)))  # noqa: S311 - no secrets
    totals, moves = np.empty(plays), 0
    for at in range(plays):
        total: Any = 0
        for event in play(game, given, chance, horizon=horizon, symmetric=symmetric, max_moves=max_moves):
            moves += event.kind in _MOVES
            total = event.total
        totals[at] = float(total)
        if progress is not None:
            progress("simulate", {"plays": at + 1, "of": plays, "moves": moves})
    return Simulation(totals, moves, time.perf_counter() - began)


def _plays(plays: object) -> int:
    if (number := whole_number(plays)) is None or number < 1:
        raise GameError(f"the number of plays is a whole number of at least 1, not {plays!r}", value=plays)
    return number


def _generator(seed: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise GameError(f"seed={seed!r}: it is a whole number from 0 on, or a numpy generator", value=seed) from error


@attrs.frozen(eq=False)
class _Table:
    """A chain, ready to be played: nodes where a play is over, and what is paid there, less half of `total`."""

    chain: Network
    over: Bools
    payment: Floats
    sampler: Sampler

    @classmethod
    def of(cls, whole: Chain, start: int) -> _Table:
        chain = whole.network
        over, payment = chain.kind == Kind.END, chain.payoff
        if chain.discount == 1:
            seen = one_sided(chain)
            payment = seen.payoff[: chain.n_nodes]
            idle, gains, loses = closed(seen)
            if (bad := (gains | loses) & graph.reachable(seen.indptr, seen.dst, [start])).any():
                msg = "a play can collect or pay without end; use a discount or a horizon"
                raise TotalRewardUndefinedError(msg, state=whole.describe(int(np.argmax(bad))))
            over = over | idle[: chain.n_nodes]
        return cls(chain, over, payment, Sampler.of(chain.indptr, chain.weight))

    def play(self, start: int, totals: Floats, generator: np.random.Generator, max_moves: int) -> int:
        """Fill `totals` with the totals of plays; return the number of edges taken."""
        chain = self.chain
        flips, pays = bool((chain.sign < 0).any()), bool(chain.reward.any())
        discount = chain.factor
        play = np.arange(len(totals))
        node = np.full(len(totals), start)
        side, factor, total = np.ones(len(totals)), np.ones(len(totals)), np.zeros(len(totals))
        moves = 0
        for _ in range(max_moves + 1):
            over = self.over[node]
            if discount < 1:
                over |= factor < NEGLIGIBLE
            if over.any():
                ends = total[over] + factor[over] * side[over] * self.payment[node[over]]
                totals[play[over]] = ends + float(chain.total) / 2
                left = ~over
                play, node, side, factor, total = play[left], node[left], side[left], factor[left], total[left]
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
