"""The value of a policy at every node, with an interval that was proved to hold it.

When all players follow a policy, a network is a Markov chain with rewards (see
`mdpdice.policies.markov_chain`), and the value solves a linear system::

    V(i) = sum over the edges e of i of  p(e) (reward(e) + discount**step(e) * q(e, V(dst(e))))

with ``q`` as in `mdpdice.networks.network`.  The graph is looked at first, for undiscounted chains: a
closed set of nodes without rewards is worth 0 (half of `total` with `pass_to`), since a
play that never ends is worth what it collected; and a play that comes into a closed
set where it collects, or pays, for ever is worth an infinite amount.  All other plays
end, so the rest of the system has one solution.  It is found component by component
(`mdpdice.numerics.linear`).

The interval is that of any answer (`mdpdice.certification.verdict`), for a network without decisions.
With ``exact=True`` the system is solved in rational numbers.
"""

from __future__ import annotations

import time
from collections.abc import Hashable
from typing import TypeVar

import numpy as np

from mdpdice.answers.answer import Provenance, Status
from mdpdice.answers.node_values import NodeValues
from mdpdice.answers.solution import Solution
from mdpdice.backend import Progress
from mdpdice.certification.verdict import certify
from mdpdice.errors import UnsupportedError
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.game import Game
from mdpdice.modelling.number import nearest_floats, size
from mdpdice.networks.network import Bools, Floats, Network
from mdpdice.numerics.linear import solve_chain
from mdpdice.numerics.operator import bellman
from mdpdice.numerics.regions import can_reach
from mdpdice.objectives.reductions import shift_total
from mdpdice.policies.lattice_evaluation import evaluate_lattice
from mdpdice.policies.markov_chain import closed, induce, one_sided
from mdpdice.policies.players import Players, model_of, policies_of
from mdpdice.solving.problem import library_version

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
            raise UnsupportedError("lattices are evaluated in floats; for exact=True give explore(game)", value=policy)
        return evaluate_lattice(network, policies, epsilon=epsilon, progress=progress)
    chain = induce(network, policies)
    if progress is not None:
        progress("evaluate", {"nodes": chain.network.n_nodes})
    lowered = shift_total(chain.network)
    whole = chain.network if lowered is None else lowered.network
    idle, infinite = endless(whole)
    undefined = infinite != 0
    # Idle nodes, and those of infinite value, are ends here, with the value 0 and no width.
    problem = whole.keep_edges(np.flatnonzero(~(idle | undefined)[whole.source]))
    exacts = None
    if exact:
        from mdpdice.numerics.rational import solve_exactly

        shift = whole.total if lowered is None else chain.network.total / 2
        numbers = [number + shift for number in solve_exactly(problem)]
        value = np.array(nearest_floats(numbers))
        lower, upper, reason = np.nextafter(value, -np.inf), np.nextafter(value, np.inf), ""
        exacts = np.atleast_2d(chain.per_node(np.where(undefined, infinite, np.array(numbers)))).tolist()
    else:
        value = solve_chain(bellman(problem), stochastic=problem.discount == 1 and not problem.two_player)
        value = np.where(np.isfinite(value), value, 0.0)
        verdict = certify(problem, value, np.full(problem.n_nodes, -1), epsilon)
        lower, upper, reason = verdict.lower, verdict.upper, "" if verdict.width < np.inf else verdict.reason
        if lowered is not None:
            value, (lower, upper) = lowered.value(value), lowered.bounds(lower, upper)
    inside = idle[whole.source]
    if not (idle[whole.dst[inside]].all() and (whole.reward[inside] == 0).all()):
        reason = "a set without rewards that no play leaves was not confirmed"
    relative = (upper - lower) / np.maximum(1.0, np.abs(value))
    value, lower, upper = (chain.per_node(np.where(undefined, infinite, x)) for x in (value, lower, upper))
    width = float(relative.max(initial=0.0))
    if not reason and not width <= epsilon:
        worst = int(np.argmax(relative))
        reason = f"the interval of {chain.describe(worst)!r} has relative width {width:.3g}, more than {epsilon:.3g}"
    status = Status.UNCERTIFIED if reason else Status.EXACT if exact else Status.CERTIFIED
    placed = chain.policies
    table = NodeValues(network, value, lower, upper, np.broadcast_to(placed[0].choice, value.shape), exacts)
    seconds = time.perf_counter() - started
    made = Provenance("evaluation", sense=network.sense, seconds=seconds, version=library_version())
    return Solution(table, status, made, width, reason, placed[0] if len(placed) == 1 else placed)


def endless(chain: Network) -> tuple[Bools, Floats]:
    """Return what plays that never end are worth in a network without decisions.

    Nodes in closed sets without rewards, which are worth 0; and for every node, seen by the player to move, inf or
    -inf where a play can come to collect or to pay without end, NaN where both can be, and else 0.
    """
    n = chain.n_nodes
    infinite = np.zeros(n)
    if chain.discount < 1:
        return np.zeros(n, dtype=bool), infinite
    seen = one_sided(chain)
    idle, gains, loses = closed(seen)
    if gains.any() or loses.any():
        collects, pays = can_reach(seen, gains)[:n], can_reach(seen, loses)[:n]
        infinite[collects], infinite[pays] = np.inf, -np.inf
        infinite[collects & pays] = np.nan
    return idle[:n], infinite
