"""Two players by one-player solves: the iteration of Hoffman and Karp.

The minimiser's policy is fixed, the best reply of the maximiser is found as a problem of one player, and
the minimiser switches where another option is strictly better against the values found; repeat until
nothing is.  Values fall from round to round, so no policy comes back.

Where plays may be endless that is not the end of it: the minimiser may keep a play for ever, at no loss by the values
found, among nodes that the maximiser can leave only at a loss.  Such a play is worth what it collected, which is less
than the values say where these are positive; so there the minimiser stays, and the iteration goes on.

A network with `pass_to` edges is first expanded to a node for either side: node ``N + i`` is node ``i``
as the player to move sees it, node ``i`` the same seen by the opponent, who minimises the negated value there.

References
----------
A. J. Hoffman and R. M. Karp, "On nonterminating stochastic games", Management Science 12 (1966) 359-370.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mdpdice.backend import Candidate, Run
from mdpdice.errors import LPInfeasibleError, LPUnboundedError, NotConvergedError, UnsupportedError
from mdpdice.networks.network import Floats, Ints, Kind, Network
from mdpdice.objectives.reductions import both_sides, towards

ROUNDS = 1000
"""Policies of the minimiser that are tried."""
BETTER = 1e-11
"""Relative difference from which an option counts as strictly better, above the noise of a solve."""


def iterate(problem: Network, run: Run, solve_one: Callable[[Network], Candidate]) -> Candidate:
    """Propose the value and the policy of a problem of two players; `solve_one` solves one of a maximiser alone."""
    game = both_sides(problem) if (problem.sign < 0).any() else problem  # the mover's side first
    minimises = game.kind == Kind.MIN
    # First for every decision an edge on a shortest way to an end, so that no play is kept from ending.
    ends = np.flatnonzero(game.kind == Kind.END).tolist()
    chosen = np.where(game.decides, towards(game, np.arange(game.n_edges), ends, game.indptr[:-1].copy()), -1)
    factor = np.where(game.step, game.factor, 1.0)
    iterations = 0
    for done in range(ROUNDS):
        run.check()
        run.tell("solve", rounds=done)
        keep = ~minimises[game.source]
        keep[chosen[minimises]] = True
        edge = np.flatnonzero(keep)
        # The maximiser's problem when the minimiser keeps to these choices.
        reply = game.keep_edges(edge, kind=np.where(minimises, np.uint8(Kind.MAX), game.kind))
        try:
            answer = solve_one(reply)
        except (LPInfeasibleError, LPUnboundedError) as error:
            # True of the reply to one policy; the game may well have a value.
            why = "linear programs are for games whose plays stop"
            how = "use solver='policy-iteration', 'value-iteration' or 'exact'"
            msg = f"a reply to a policy goes on for ever and collects or pays; {why}; {how}"
            raise UnsupportedError(msg, state=error.state, action=error.action) from error
        iterations += answer.iterations
        value = answer.value
        policy = np.where(answer.policy >= 0, edge[answer.policy], -1)
        policy[minimises] = chosen[minimises]
        worth = game.reward + factor * value[game.dst]
        best = _smallest(game, worth)
        gap = BETTER * np.maximum(1.0, np.abs(value))
        switch = np.flatnonzero(minimises & (worth[np.maximum(best, 0)] < worth[np.maximum(chosen, 0)] - gap))
        if len(switch) == 0:
            switch, best = _keeps(game, value, worth, gap)
        if len(switch) == 0:
            # The other side stands behind, nodes and edges.
            n = problem.n_nodes
            return Candidate(value[:n] + 0.0, policy[:n], iterations, details={"rounds": done + 1})
        chosen[switch] = best[switch]
    msg = f"the minimiser still found better options after {ROUNDS} rounds; use solver='exact'"
    raise NotConvergedError(msg, iterations=ROUNDS, width=np.inf)


def _keeps(game: Network, value: Floats, worth: Floats, gap: Floats) -> tuple[Ints, Ints]:
    """Decisions of the minimiser in the largest set where a play can be kept, and an edge that stays, of every node.

    Edges that lose nothing stay in the set, and the maximiser has no such edge that leaves it.
    """
    none = np.zeros(0, dtype=np.int64)
    if game.discount < 1:
        return none, none
    source, minimises = game.source, game.kind == Kind.MIN
    used = np.where(game.decides[source], np.abs(worth - value[source]) <= gap[source], True)
    inside = value > gap
    while True:
        stays = used & inside[game.dst]
        some = np.bincount(source[stays], minlength=game.n_nodes) > 0
        leaves = np.bincount(source[used & ~inside[game.dst]], minlength=game.n_nodes) > 0
        rest = inside & some & (minimises | ~leaves)
        if (rest == inside).all():
            break
        inside = rest
    staying = np.flatnonzero(used & inside[game.dst])[::-1]
    edge = np.full(game.n_nodes, -1)
    edge[source[staying]] = staying
    return np.flatnonzero(inside & minimises), edge


def _smallest(game: Network, worth: Floats) -> Ints:
    """Edge of the smallest worth of every decision, the first of them."""
    low = np.minimum.reduceat(np.append(worth, np.inf), game.indptr[:-1])
    best = np.full(game.n_nodes, -1)
    found = np.flatnonzero(game.decides[game.source] & (worth == low[game.source]))[::-1]
    best[game.source[found]] = found
    return best
