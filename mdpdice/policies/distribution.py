"""The distribution of what a play is worth in the end, when all players follow a policy.

A value is a mean; this module gives the whole distribution of the total, that is of the payoff and all rewards, as the
player sees it who moves first.  Mass is sent forward from the start as triples (node, total so far, probability).
Nodes are taken in the order of their components, so that in an acyclic network every triple is expanded once, when all
of its mass has arrived.  Inside a cyclic component the mass circulates until what is left of it is negligible; that
much is reported as `Outcomes.missing`. Where there are no rewards at all, only payoffs, the total is known at the end,
and the chances of the ends solve a linear system: then nothing is missing.

Totals are added as integers, over the common denominator of all rewards and payoffs, so that totals are equal exactly
when they should be; only where these integers grow beyond 64 bits are they added as floats.

Merging parallel edges with different rewards into their mean, as `explore` does by default, keeps the mean of the total
and loses its distribution.  Such a network is refused, with the remedy: ``explore(game, merge=False)``.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice.answers.grid_values import GridValues
from mdpdice.answers.policy import Policy, Weights
from mdpdice.answers.solution import Solution
from mdpdice.errors import TotalRewardUndefinedError, UnsupportedError
from mdpdice.lattices.digest import digest
from mdpdice.lattices.lattice import Lattice
from mdpdice.lattices.layer_solver import second_moments
from mdpdice.modelling.game import Game
from mdpdice.modelling.number import count, size
from mdpdice.modelling.ranges import number_text
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network
from mdpdice.numerics import graph
from mdpdice.numerics.linear import solve_chain
from mdpdice.numerics.operator import Operator, unsigned
from mdpdice.policies.lattice_distribution import lattice_outcomes
from mdpdice.policies.lattice_evaluation import evaluate_lattice
from mdpdice.policies.markov_chain import Chain, closed, component_levels, induce, one_sided
from mdpdice.policies.players import Players, model_of, policies_of
from mdpdice.policies.totals import Outcomes

__all__ = ["Outcomes", "deviation", "outcomes"]

Totals = NDArray[Any]

CHUNK = 1 << 21
"""Most triples that are expanded at once."""
LIMIT = 1 << 62


def outcomes(
    game: Game[Any, Any] | Network | Lattice,
    policy: Players,
    *,
    state: Hashable = None,
    missing: float = 1e-12,
    max_rounds: int = 100_000,
    exact: bool = False,
) -> Outcomes:
    """Distribution of the total of a play.

    Parameters
    ----------
    game : Game, Network or Lattice
        What is played, undiscounted.  A game is explored so that no rewards are averaged; one with counters that is
        too large for a network is followed on its lattice (`mdpdice.policies.lattice_distribution`).
    policy : Policy, Solution, callable or str, or sequence of two
        As for `mdpdice.evaluate`; the total is that of the player who moves first.
    state : hashable, optional
        Where the play starts, by default at the start.
    missing : float
        Mass that may be left undecided in all cycles together.
    max_rounds : int
        Largest number of rounds in one cyclic component.
    exact : bool
        Compute in rational numbers; for acyclic networks only.

    Raises
    ------
    UnsupportedError
        The network is discounted, or its rewards are means of rewards that differ;
        or exact numbers were asked of a cyclic one.
    TotalRewardUndefinedError
        A play can collect and pay without end.
    """
    missing, max_rounds = size(missing, "missing"), count(max_rounds, "max_rounds")
    policies = policies_of(game, policy)
    network = model_of(game, policies, merge=False)
    if isinstance(network, Lattice):
        if exact or state is not None:
            what = "in rational numbers" if exact else "from another state than the start"
            raise UnsupportedError(f"on a lattice totals are not computed {what}; use outcomes(explore(game), policy)")
        return lattice_outcomes(_followed(network, policies))
    if network.averaged:
        how = "explore(game, merge=False) keeps it"
        raise UnsupportedError(f"this network holds means of rewards, so the distribution of totals is lost; {how}")
    if network.discount != 1:
        this = f"this network has {number_text(network.discount)}; evaluate() tells its mean, simulate() plays it"
        raise UnsupportedError(f"the distribution of totals needs discount 1, and {this}", value=network.discount)
    chain = induce(network, policies)
    start = chain.start(state)
    spread = _Spread.of(chain, start)
    if exact:
        return spread.exactly(start)
    rewards, finals, unit = spread.scaled()
    found, seen = None, spread.seen
    if rewards.dtype != object:
        found = _Mass(spread, rewards, finals, seen.weight).run(start, missing, max_rounds)
    if found is None:
        found, unit = _Mass(spread, seen.reward, seen.payoff, seen.weight).run(start, missing, max_rounds), 1
    assert found is not None
    totals, chances, lost = found
    return Outcomes(_quotients(totals, unit, spread.half), chances, lost)


def deviation(game: Game[Any, Any] | Network | Lattice, policy: Players) -> float:
    """Return the standard deviation of a play's total, as `outcomes` has it; on a lattice without distribution."""
    policies = policies_of(game, policy)
    model = model_of(game, policies, merge=False)
    if isinstance(model, Network):
        return outcomes(model, policies).sd
    table = _followed(model, policies)
    squares = second_moments(table.layers, table.stored)
    mean, square = (float(array[0, table.lattice.start_point]) for array in (table.stored, squares))
    return math.sqrt(max(0.0, square - mean * mean))


def _followed(lattice: Lattice, policies: Sequence[Policy]) -> GridValues:
    """Values on a lattice whose best actions are what the policies do."""
    if len(policies) == 1 and isinstance(policies[0].rule, Solution):
        table = policies[0].rule.table
        if isinstance(table, GridValues) and table.digest == digest(lattice):
            return table
    found = evaluate_lattice(lattice, policies).table
    assert isinstance(found, GridValues)
    return found


def _quotients(totals: Totals, unit: int, half: Fraction) -> Floats:
    """Correctly rounded quotients and half of what both sides share: numpy would round a large numerator first."""
    more = half * unit
    moved = totals + (int(more) if more.denominator == 1 else float(more))
    if unit == 1:
        return moved.astype(np.float64)
    return np.array([total / unit for total in moved.tolist()], dtype=np.float64)


@attrs.frozen(eq=False)
class _Spread:
    """A chain as the player sees it who starts, ready for mass to be sent along it."""

    seen: Network
    half: Fraction  # What is paid in the end is less by so much.
    stop: Bools  # Nodes where a play stops: ends and closed sets.
    endless: Floats  # inf and -inf in closed sets that collect or pay, 0 elsewhere.
    level: Ints  # A node's edges lead to nodes of higher level, or stay in its component.
    cyclic: Bools  # Nodes in cyclic components where plays go on.
    used: Bools  # Edges that a play can take.

    @classmethod
    def of(cls, chain: Chain, start: int) -> _Spread:
        seen = one_sided(chain.network)
        idle, gains, loses = closed(seen)
        live = graph.reachable(seen.indptr, seen.dst, [start])
        if (both := gains & loses & live).any():
            msg = "a play can collect and pay without end, so its total need not exist; use a horizon"
            raise TotalRewardUndefinedError(msg, state=chain.describe(int(np.argmax(both))))
        stop = (np.diff(seen.indptr) == 0) | idle | gains | loses
        used = (live & ~stop)[seen.source]
        label = graph.strong_components(seen.indptr, seen.dst, used)
        return cls(
            seen,
            chain.network.total / 2,
            stop,
            np.where(gains, np.inf, np.where(loses, -np.inf, 0.0)),
            component_levels(label, seen.source[used], seen.dst[used])[label],
            graph.cyclic_components(seen.indptr, seen.dst, label, used)[label] & ~stop,
            used,
        )

    def scaled(self) -> tuple[Totals, Totals, int]:
        """Rewards and final payments as integers, of Python if they are large, and their unit's denominator."""
        seen = self.seen
        rewards, which = self._fractions(seen.reward, seen.exact_rewards, self.used)
        finals, where = self._fractions(seen.payoff, seen.exact_payoffs, self.stop)
        numbers = [self.half, *rewards, *finals]
        unit = math.lcm(*(number.denominator for number in numbers))
        dtype = np.int64 if max(map(abs, numbers)) * unit < LIMIT else object
        _, *whole = (int(number * unit) for number in numbers)
        reward, final = np.split(np.array(whole, dtype=dtype), [len(rewards)])
        return reward[which], final[where], unit

    @staticmethod
    def _fractions(floats: Floats, exact: Mapping[int, Fraction], used: Bools) -> tuple[list[Fraction], Ints]:
        """Return the different numbers in use, 0 first, and which of them stands where."""
        numbers, which = np.unique(np.where(used, floats, 0.0), return_inverse=True)
        fractions = [Fraction(number) for number in numbers.tolist()]
        place: dict[Fraction, int] = {}
        for at, number in exact.items():
            if used[at]:
                which[at] = place.setdefault(number, len(fractions) + len(place))
        return [*fractions, *place], which

    def exactly(self, start: int) -> Outcomes:
        """Return the distribution of an acyclic network in rational numbers."""
        if self.cyclic.any():
            raise UnsupportedError("exact distributions are computed for acyclic networks only; leave out exact=True")
        if self.endless.any():
            why = "a play can collect or pay without end, which is not a rational number"
            raise UnsupportedError(f"{why}; leave out exact=True")
        weight = np.zeros(self.seen.n_edges, dtype=object)
        for node in np.unique(self.seen.source[self.used]).tolist():
            weight[self.seen.edges(node)] = self.seen.row(node)
        rewards, finals, unit = self.scaled()
        found = _Mass(self, rewards.astype(object), finals.astype(object), weight).run(start, 0.0, 1)
        assert found is not None
        totals, chances, _ = found
        exact = [Fraction(total, unit) + self.half for total in totals.tolist()]
        table = dict(zip(exact, map(Fraction, chances.tolist()), strict=True))
        return Outcomes(np.array([float(one) for one in table]), chances.astype(np.float64), exact=table)

    def visits(self, start: int) -> Floats:
        """Return the expected number of visits to every node.

        It solves a chain too, in which the edges are turned round: ``y(j) = [j = start] +
        sum over the edges from i to j of p y(i)``.
        """
        n = len(self.stop)
        # The last node becomes the first one, since sweeps take the later nodes of a component first.
        before, after = n - 1 - self.seen.source[self.used], n - 1 - self.seen.dst[self.used]
        order = np.argsort(after, kind="stable")
        base = np.zeros(n)
        base[n - 1 - start] = 1.0
        turned = Operator(
            np.full(n, Kind.CHANCE, dtype=np.uint8),
            unsigned(np.concatenate(([0], np.cumsum(np.bincount(after, minlength=n))))),
            unsigned(before[order]),
            np.zeros(len(order)),
            self.seen.weight[self.used][order],
            base,
        )
        return solve_chain(turned)[::-1]


class _Mass:
    """Mass on its way: triples (node, total, chance) by the level of their node, and what has arrived."""

    def __init__(self, spread: _Spread, reward: Totals, final: Totals, weight: Weights) -> None:
        self.spread = spread
        self.reward = reward
        self.final = final
        self.weight = weight
        self.waiting: dict[int, list[tuple[Ints, Totals, Weights]]] = {}
        self.arrived: list[tuple[Ints, Totals, Weights]] = []
        self.endless: dict[float, float] = {}
        self.largest = int(max(np.abs(reward).max(initial=0), np.abs(final).max(initial=0)))

    def run(self, start: int, missing: float, max_rounds: int) -> tuple[Totals, Weights, float] | None:
        """Totals, their chances and the mass that is missing; None if an integer would overflow."""
        spread, paid = self.spread, self.spread.seen.reward[self.spread.used].any()
        if not paid and self.weight.dtype != object:
            chance = spread.visits(start)
            stops = np.flatnonzero(spread.stop & (chance > 0))
            if abs(1.0 - math.fsum(chance[stops].tolist())) <= max(missing, 1e-12):
                self.put(stops, np.zeros(len(stops), dtype=self.reward.dtype), chance[stops])
                return *self.finals(), 0.0
        self.put(np.array([start]), np.zeros(1, self.reward.dtype), np.ones(1, self.weight.dtype))
        allowance = missing / max(1, np.unique(spread.level[spread.cyclic]).size)
        lost = 0.0
        while self.waiting:
            level = min(self.waiting)
            node, total, chance = self.take(level)
            if self.overflows(total):
                return None
            turns = spread.cyclic[node]
            self.expand(node[~turns], total[~turns], chance[~turns])
            node, total, chance = node[turns], total[turns], chance[turns]
            for _ in range(max_rounds):
                if len(node) == 0 or chance.sum() <= allowance:
                    break
                self.expand(node, total, chance)
                # What is in a cycle comes back to its own level.
                node, total, chance = self.take(level)
                if self.overflows(total):
                    return None
            lost += float(chance.sum())
        return *self.finals(), lost

    def overflows(self, total: Totals) -> bool:
        return total.dtype.kind == "i" and int(np.abs(total).max(initial=0)) + self.largest >= LIMIT

    def put(self, node: Ints, total: Totals, chance: Weights) -> None:
        spread = self.spread
        if (stops := spread.stop[node]).any():
            for sign in (np.inf, -np.inf):
                if (away := spread.endless[node] == sign).any():
                    self.endless[sign] = self.endless.get(sign, 0.0) + float(chance[away].sum())
            here = stops & (spread.endless[node] == 0)
            payment = total[here] + self.final[node[here]]
            self.arrived.append(self._merged([(np.zeros_like(node[here]), payment, chance[here])]))
            if len(self.arrived) > 64:
                self.arrived = [self._merged(self.arrived)]
            node, total, chance = node[~stops], total[~stops], chance[~stops]
        if len(node) == 0:
            return
        level = spread.level[node]
        order = np.argsort(level, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(level[order])) + 1):
            self.waiting.setdefault(int(level[part[0]]), []).append((node[part], total[part], chance[part]))

    def take(self, level: int) -> tuple[Ints, Totals, Weights]:
        return self._merged(self.waiting.pop(level, []))

    def _merged(self, parts: Sequence[tuple[Ints, Totals, Weights]]) -> tuple[Ints, Totals, Weights]:
        """Put triples together and add up the chances of equal nodes and totals; sorted by node, then by total."""
        nothing = np.zeros(0, dtype=np.int64), self.reward[:0], self.weight[:0]
        node, total, chance = (np.concatenate(column) for column in zip(nothing, *parts, strict=True))
        if len(node) < 2:
            return node, total, chance
        order = np.lexsort((total, node))
        node, total = node[order], total[order]
        new = np.flatnonzero(np.concatenate(([True], (node[1:] != node[:-1]) | (total[1:] != total[:-1]))))
        return node[new], total[new], np.add.reduceat(chance[order], new)

    def expand(self, node: Ints, total: Totals, chance: Weights) -> None:
        """Send triples along all edges of their nodes."""
        seen = self.spread.seen
        degree = seen.indptr[node + 1] - seen.indptr[node]
        end = np.cumsum(degree)
        begin = 0
        while begin < len(node):
            stop = max(begin + 1, int(np.searchsorted(end, end[begin] - degree[begin] + CHUNK, side="right")))
            edge, owner = graph.edges_of(seen.indptr, node[begin:stop])
            owner += begin
            self.put(seen.dst[edge], total[owner] + self.reward[edge], chance[owner] * self.weight[edge])
            begin = stop

    def finals(self) -> tuple[Totals, Weights]:
        _, total, chance = self._merged(self.arrived)
        if self.endless:
            total = total.astype(np.float64)
            for sign, mass in self.endless.items():
                total, chance = np.append(total, sign), np.append(chance, mass)
            order = np.argsort(total)
            total, chance = total[order], chance[order]
        return total, chance
