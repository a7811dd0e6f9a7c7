"""The value of a policy at every node, with an interval that was proved to hold it.

When everybody follows a policy, a network is a Markov chain with rewards (see
`mdpdice.policies.markov_chain`), and the value solves a linear system::

    V(i) = sum over the edges e of i of  p(e) (reward(e) + discount**step(e) * q(e, V(dst(e))))

with ``q`` as in `mdpdice.networks.network`.  The graph is looked at first, for undiscounted chains: a
closed set of nodes without rewards is worth 0 (half of `total` with `pass_to`), since a
play that never ends is worth what it collected; and a play that comes into a closed
set where it collects, or pays, for ever is worth an infinite amount.  All other plays
end, so the rest of the system has one solution.  It is found component by component
(`mdpdice.numerics.linear`).

The interval comes from the theorem of `mdpdice.certification.checking.inequalities`, for a network in which nobody
decides: the claimed bounds are the value plus and minus the errors of one backup, added
up along a play.  With ``exact=True`` the system is solved in rational numbers.
"""

from __future__ import annotations

import time
from collections.abc import Hashable
from typing import TypeVar

import attrs
import numpy as np

from mdpdice.answers.answer import Provenance, Status
from mdpdice.answers.node_values import NodeValues
from mdpdice.answers.solution import Solution
from mdpdice.backend import Progress
from mdpdice.certification.checking import inequalities
from mdpdice.errors import UnsupportedError
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.game import Game
from mdpdice.modelling.number import nearest_floats, size
from mdpdice.networks.arrays import ULP
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network
from mdpdice.numerics.graph import attract
from mdpdice.numerics.linear import solve_chain
from mdpdice.numerics.operator import bellman
from mdpdice.objectives.reductions import shift_total
from mdpdice.policies.lattice_evaluation import evaluate_lattice
from mdpdice.policies.markov_chain import induce, walk
from mdpdice.policies.players import Players, model_of, policies_of
from mdpdice.solving.problem import library_version

__all__ = ["endless", "evaluate"]

S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)


def evaluate(
    game: Game[S, A] | Network | Lattice,
    policy: Players,
    *,
    exact: bool = False,
    epsilon: float = 1e-6,
    progress: Progress | None = None,
) -> Solution:
    """Value of every state when the players follow a policy.

    Parameters
    ----------
    game : Game, Network or Lattice
        What is played.  A game with counters that is too large for a network is evaluated on its lattice.
    policy : Policy, Solution, callable or str, or sequence of two
        One for all decisions, or one per player: the first belongs to the one who
        moves first (with `pass_to`), or maximises (with MIN nodes).  A policy or solution of
        another network is carried over by the names of states and actions; a function of the state gives an action
        or a `Dist` of actions, on a lattice also a mapping of actions to scores
        (`mdpdice.policies.lattice_evaluation`); a name is one that the game knows, or ``"random"``.
    exact : bool
        Solve in rational numbers; not on a lattice.  Takes long where a component has more than a
        few hundred nodes.
    epsilon : float
        The status is CERTIFIED if every interval has at most the width
        ``epsilon * max(1, |value|)``.
    progress : callable, optional
        Called as ``progress("evaluate", {"nodes": ...})`` before the linear system is solved;
        on a lattice as by `mdpdice.solve`.

    Returns
    -------
    Solution
        Its `policy` is the one that was given.  Infinite where a play can collect or pay for ever.

    Examples
    --------
    >>> from mdpdice import Game, decide, end, go, roll, d6
    >>> pig = Game.of(start=0, node=lambda p: end(p) if p >= 100 else decide({
    ...     "hold": end(p),
    ...     "roll": roll(d6, lambda k: end() if k == 1 else go(p + k)),
    ... }))
    >>> round(evaluate(pig, lambda p: "hold" if p >= 20 else "roll").value(), 6)
    8.141795
    """
    epsilon = size(epsilon, "epsilon")
    started = time.perf_counter()
    policies = policies_of(game, policy)
    network = model_of(game, policies, progress=progress)
    if isinstance(network, Lattice):
        if exact:
            msg = "on a lattice a policy is evaluated in floats; evaluate(explore(game), policy, exact=True)"
            raise UnsupportedError(msg, value=policy)
        return evaluate_lattice(network, policies, epsilon=epsilon, progress=progress)
    placed = [one.on(network) for one in policies]
    chain = induce(network, placed)
    if progress is not None:
        progress("evaluate", {"nodes": chain.network.n_nodes})
    lowered = shift_total(chain.network)
    whole = chain.network if lowered is None else lowered.network
    idle, infinite = endless(whole)
    settled = idle | (infinite != 0)
    problem = _settle(whole, settled)
    fractions = None
    if exact:
        from mdpdice.numerics.rational import solve_exactly

        shift = whole.total if lowered is None else chain.network.total / 2
        numbers = [number + shift for number in solve_exactly(problem)]
        value = np.array(nearest_floats(numbers))
        lower, upper, reason = np.nextafter(value, -np.inf), np.nextafter(value, np.inf), ""
        fractions = [
            None if at else number for number, at in zip(numbers, (infinite != 0).tolist(), strict=True)
        ]
    else:
        value, lower, upper, reason = _enclose(problem)
        if lowered is not None:
            value, (lower, upper) = lowered.value(value), lowered.bounds(lower, upper)
    if not _closed(whole, idle):
        reason = "a set without rewards that no play leaves was not confirmed"
    # Nodes of infinite value are ends here, with the value 0 and no width.
    relative = (upper - lower) / np.maximum(1.0, np.abs(value))
    value, lower, upper = (np.where(infinite != 0, infinite, array) for array in (value, lower, upper))
    width = float(relative.max(initial=0.0))
    if not reason and not width <= epsilon:
        worst = int(np.argmax(relative))
        reason = f"the interval of {chain.describe(worst)!r} has relative width {width:.3g}, more than {epsilon:.3g}"
    status = Status.UNCERTIFIED if reason else Status.EXACT if exact else Status.CERTIFIED
    rows = None
    if fractions is not None:
        # The values of the player who moves first; infinite and undefined ones are floats.
        per = chain.seats * network.n_nodes
        known = [fractions[at : at + network.n_nodes] for at in range(0, len(fractions), per)]
        floats = np.atleast_2d(chain.per_node(value)).tolist()
        rows = [
            [other if number is None else number for number, other in zip(*both, strict=True)]
            for both in zip(known, floats, strict=True)
        ]
    table = NodeValues(
        network,
        chain.per_node(value),
        chain.per_node(lower),
        chain.per_node(upper),
        np.broadcast_to(placed[0].choice, chain.per_node(value).shape),
        rows,
    )
    seconds = time.perf_counter() - started
    made = Provenance("evaluation", sense=network.sense, seconds=seconds, version=library_version())
    return Solution(table, status, made, width, reason, placed[0] if len(placed) == 1 else tuple(placed))


def endless(chain: Network) -> tuple[Bools, Floats]:
    """What plays that never end are worth.

    Parameters
    ----------
    chain : Network
        A network without decisions.

    Returns
    -------
    idle : ndarray of bool, shape (N,)
        Nodes from which nobody leaves a closed set without rewards: they are worth 0.
    infinite : ndarray of float64, shape (N,)
        inf or -inf where a play can come to collect or to pay without end, seen by
        the player to move; NaN where both can be, or both happen in one closed set; 0 elsewhere.
    """
    n = chain.n_nodes
    infinite = np.zeros(n)
    if chain.discount < 1:
        return np.zeros(n, dtype=bool), infinite
    seen = walk(chain)
    idle, gains, loses = seen.closed(seen.rewards(chain))
    if gains.any() or loses.any():
        collects, pays = seen.reaches(gains)[:n], seen.reaches(loses)[:n]
        infinite[collects], infinite[pays] = np.inf, -np.inf
        infinite[collects & pays] = np.nan
    return idle[:n], infinite


def _closed(chain: Network, idle: Bools) -> bool:
    """Verify that no edge leaves the marked nodes or pays anything there."""
    inside = idle[chain.source]
    return bool(idle[chain.dst[inside]].all() and (chain.reward[inside] == 0).all())


def _settle(chain: Network, settled: Bools) -> Network:
    """The chain in which the marked nodes are ends with payoff 0."""
    if not settled.any():
        return chain
    return chain.keep_edges(np.flatnonzero(~settled[chain.source]))


def _enclose(chain: Network) -> tuple[Floats, Floats, Floats, str]:
    """Value of a chain in which every play stops or is discounted, its interval, and why there is none."""
    operator = bellman(chain)
    stochastic = chain.discount == 1
    value = solve_chain(operator, stochastic=stochastic and not chain.two_player)
    if not np.isfinite(value).all():
        value = np.where(np.isfinite(value), value, 0.0)
    moves = operator.plays()
    needed = _errors(chain, value)
    # Where plays hardly ever end there is no such number, and nothing is proved.
    with np.errstate(over="ignore", invalid="ignore"):
        excess = solve_chain(attrs.evolve(moves, base=needed), stochastic=stochastic)
        # What rounding in that solution leaves short is made up for by a multiple of the expected length of plays.
        short = float((needed + _ahead(chain, moves.coef, excess) - excess).max(initial=0.0))
        if short > 0:
            w = solve_chain(moves, stochastic=stochastic)
            margin = (w - _ahead(chain, moves.coef, w))[chain.kind == Kind.CHANCE].min(initial=1.0)
            excess = excess + (1.1 * short / margin if margin > 0 else np.nan) * w
    bounds = np.concatenate((excess - value, excess + value))
    nobody = np.full(2 * chain.n_nodes, -1)
    rank = np.tile(_distance_to_end(chain), 2)
    witness = inequalities.Witness(group=nobody, rank=rank, label=np.zeros_like(rank))
    reason = inequalities.verify(chain, nobody[: chain.n_nodes], bounds, witness)
    if reason:
        nothing = np.full(chain.n_nodes, np.inf)
        return value, -nothing, nothing, reason
    return value, -bounds[: chain.n_nodes], bounds[chain.n_nodes :], ""


def _ahead(chain: Network, coef: Floats, value: Floats) -> Floats:
    total = np.bincount(chain.source, weights=coef * value[chain.dst], minlength=chain.n_nodes)
    return total.astype(np.float64, copy=False)


def _errors(chain: Network, value: Floats) -> Floats:
    """Error of one backup of every node, with room for what rounding adds; the checker measures it again."""
    factor = np.where(chain.step, chain.factor, 1.0)
    worth = chain.reward + chain.sign * factor * value[chain.dst]
    size = np.abs(chain.reward) + factor * np.abs(value[chain.dst])
    whole = np.abs(chain.reward) + np.abs(value[chain.dst])
    n = chain.n_nodes
    mean, spread, total, sizes = (
        np.bincount(chain.source, weights=part, minlength=n)
        for part in (chain.weight * worth, chain.weight * size, chain.weight, whole)
    )
    # What falls below the range of floats.
    spread = spread + inequalities.NORMAL * (sizes + (sizes > 0))
    off = np.abs(mean - value)
    slack = ((2 * np.diff(chain.indptr) + 10) * ULP + np.abs(1.0 - total)) * (spread + np.abs(value))
    moves = chain.kind == Kind.CHANCE
    # The excess itself rounds, even where the value is 0; this is invisible next to the largest value.
    room = 2.0**-54 * float(np.abs(value).max(initial=0.0)) + 0.02 * float(off[moves].max(initial=0.0))
    return np.where(moves, off + 1.5 * slack + room, chain.payoff_room)


def _distance_to_end(chain: Network) -> Ints:
    """Fewest moves to an end from every node."""
    rank = np.where(chain.kind == Kind.END, 0, -1)
    attract(chain.source, chain.dst, np.ones(chain.n_nodes, dtype=bool), rank)
    return np.maximum(rank, 0)
