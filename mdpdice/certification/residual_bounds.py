r"""Bounds of large problems: the residual of the claimed value, times the length of plays.

Let :math:`v` be the claimed value, :math:`d` the most that one backup is off anywhere, rounding included, and
:math:`w \ge 1 + |P_a| w` for every option :math:`a` that matters.  Then :math:`v - d w` and :math:`v + d w` are
bounds such as `mdpdice.certification.checking.inequalities` verifies.

* With a discount :math:`\gamma` below 1, and at most :math:`L` nodes in a row without a step, `w` is known:
  :math:`w(i) = l(i) + \gamma L / (1 - \gamma)`, where :math:`l(i) \le L` is the number of nodes that can be
  visited from `i` on without a step.
* In an acyclic network without one, the errors are added up along plays, node by node, in one pass.
* In other networks without one, `w` is the expected length of plays under the policy, from one linear system that
  need not be solved well.  Options that are worse than the policy may lead to longer plays, as far as what they lose
  makes up for it; where it does not, `w` follows them, and is solved for again.

Where there are cycles, the bounds are wider than those that `mdpdice.certification.verdict` finds, and cost two passes
instead of many; so they serve large problems, and where they are too wide, or `w` is not found, the others
are looked for.

With a horizon there is nothing to multiply: the bounds of a stage are one backup of those of the stage before, and of
their own at chance nodes, rounded outwards and no narrower than the claimed value.  That takes one pass per stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mdpdice.certification.checking import inequalities
from mdpdice.networks.arrays import read_only
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network
from mdpdice.numerics.graph import is_acyclic, ordered_components
from mdpdice.numerics.kernels import residuals as kernels
from mdpdice.numerics.linear import solve_chain
from mdpdice.numerics.operator import Operator, rows_of, unsigned
from mdpdice.numerics.regions import components, ending_ranks

RESIDUALS_FROM_EDGES = 20_000
"""Edges, of all stages together, from which bounds are sought by residuals first, which is faster, and summed after."""
ROUNDS = 12
"""Policies for which the length of plays is solved."""
SLACK = 1.01
"""Widens the bounds, for the rounding of their own computation."""
AT_ONCE = 1 << 14
"""Nodes that are looked at together: what was just read is at hand."""
STAGE_EDGES = 1 << 20
"""Edges of the stages that are checked between two checks of the time."""
RESIDUALS_UP_TO_DEPTH = 64
"""Nodes in a row without a step up to which residuals give bounds of a discounted problem; then bounds are summed."""


def is_large(problem: Network) -> bool:
    """Whether bounds are looked for here first, from `RESIDUALS_FROM_EDGES` edges on."""
    return problem.n_edges * (1 if problem.horizon is None else problem.horizon + 1) >= RESIDUALS_FROM_EDGES


def order_of_stages(problem: Network) -> tuple[Ints, inequalities.Witness] | None:
    """Return the order in which bounds of a stage are found, and their witness; None as in `find_stages`."""
    # At one stage only chance nodes read each other.
    keep = (problem.kind == Kind.CHANCE)[problem.source]
    if not is_acyclic(problem.indptr, problem.dst, keep):
        return None
    # So every node is a component of its own, and labels fall along every edge of a chance node.
    label, order, _ = ordered_components(problem.indptr, problem.dst, keep)
    return order, _ranked(label)


def find_stages(
    problem: Network, value: Floats, policy: Ints, check: Callable[[], None], order: Any = None, before: Any = None
) -> tuple[Floats, inequalities.Witness] | None:
    """Bounds and witness for a problem with a horizon; None where chance alone can move in a cycle.

    The candidate has the shape (horizon + 1, N); `check` is called before every few stages, and may raise to give up.
    `order` saves finding it; with `before`, the bounds of the first row, the candidate may be of later stages.
    """
    order = order_of_stages(problem) if order is None else order
    if order is None:
        return None
    bounds = np.empty((len(value), 2 * problem.n_nodes))
    if before is not None:
        bounds[0] = before
    arguments = rows_of(problem), problem.payoff, read_only(problem.payoff_room), unsigned(order[0])
    at_once = 1 + STAGE_EDGES // (1 + problem.n_edges)
    for first in range(before is not None, len(value), at_once):
        check()
        last = min(first + at_once, len(value))
        if not kernels.stages(*arguments, read_only(value), read_only(policy), bounds, first, last):
            return None
    return bounds, order[1]


def claimed_bounds(
    problem: Network, value: Floats, lower: Any, upper: Any, epsilon: float
) -> tuple[Floats, inequalities.Witness] | None:
    """Bounds of `value` that a solver claims, with a witness; None if they are none, or too wide.

    The problem has no horizon.  `lower` and `upper` are whatever was returned: arrays like `value`, of float64 and
    shape (N,), if it is something.  `epsilon` is the relative width that is narrow enough.
    """
    n = problem.n_nodes
    if not (_are_numbers(lower, n) and _are_numbers(upper, n)):
        return None
    bounds = np.empty(2 * n)
    for first in range(0, n, AT_ONCE):
        piece = slice(first, min(first + AT_ONCE, n))
        low, here, high = lower[piece], value[piece], upper[piece]
        if not ((low <= here) & (here <= high)).all():
            return None
        if not (high - low <= epsilon * np.maximum(1.0, np.abs(here))).all():
            return None
        bounds[piece], bounds[n + piece.start : n + piece.stop] = -low, high
    ranks = _ranks(problem)
    return None if ranks is None else (bounds, _ranked(ranks))


def find_bounds(
    problem: Network, value: Floats, policy: Ints, epsilon: float, check: Callable[[], None], lengths: Any = None
) -> tuple[Floats, inequalities.Witness] | None:
    """Bounds and witness for a problem without a horizon; None if none were found that are narrow enough.

    The candidate has the shape (N,); `epsilon` is the relative width that is narrow enough, and `check`, which is
    called now and then, may raise to give up.  `lengths`, float64 of that shape, are expected lengths of plays under
    the policy, roughly, which a solver knows.  They are tried first.
    """
    if problem.exact_payoffs or (problem.discount == 1 and (problem.two_player or not problem.n_edges)):
        return None
    n = problem.n_nodes
    rows, v, s = rows_of(problem), read_only(value), read_only(policy)
    low, high = np.empty(n), np.empty(n)
    worst = kernels.excess(rows, v, s, low, high)
    if not np.isfinite(worst):
        return None
    check()
    ranks = _ranks(problem)
    if ranks is None:
        return None

    def errors() -> Iterator[tuple[Floats, Floats]]:
        """Yield what to take off `value` and to add to it, the cheapest first."""
        if problem.factor < 1:
            w = _discounted(problem, rows, check)
            if w is not None:
                yield SLACK * worst * w, SLACK * worst * w
        elif is_acyclic(problem.indptr, problem.dst):
            # What plays add up, node by node.
            check()
            below, above = np.zeros(n), np.zeros(n)
            kernels.add_up(rows, v, s, unsigned(components(problem)[1]), low, high, below, above)
            yield below, above
        else:
            known = _are_numbers(lengths, n) and bool((lengths >= 0).all())
            for guess in (lengths, None) if known else (None,):
                found = _undiscounted(problem, rows, v, s, low, high, check, guess)
                if found is not None:
                    yield found

    for below, above in errors():
        if (below + above <= epsilon * np.maximum(1.0, np.abs(value))).all():
            return np.concatenate((below - value, value + above)), _ranked(ranks)
    return None


def _ranks(problem: Network) -> Ints | None:
    """Return ranks that show that every play ends, not needed with a discount; None if they do not exist."""
    return np.broadcast_to(np.int64(0), problem.n_nodes) if problem.discount < 1 else ending_ranks(problem)


def _ranked(ranks: Ints) -> inequalities.Witness:
    """Return the witness without groups, which is the same for both bounds."""
    none, zero = np.broadcast_to(np.int64(-1), 2 * len(ranks)), np.broadcast_to(np.int64(0), 2 * len(ranks))
    # A rank that all nodes share needs no memory.
    return inequalities.Witness(none, np.tile(ranks, 2) if any(ranks.strides) else zero, zero)


def _discounted(problem: Network, rows: Any, check: Callable[[], None]) -> Floats | None:
    from mdpdice.numerics.kernels import discounted as discounted_kernels

    length = np.zeros(problem.n_nodes, dtype=np.int64)
    for _ in range(RESIDUALS_UP_TO_DEPTH):
        check()
        if discounted_kernels.path_lengths(rows, length):
            break
    else:
        return None
    ahead = problem.factor / (1.0 - problem.factor) * float(length.max(initial=0))
    w = np.asarray(length + ahead, dtype=np.float64)
    w[problem.kind == Kind.END] = 0.0
    return w


def _undiscounted(
    problem: Network, rows: Any, value: Floats, policy: Ints, low: Floats, high: Floats, check: Callable[[], None],
    lengths: Floats | None,
) -> tuple[Floats, Floats] | None:  # fmt: skip
    """Return what to take off `value` and to add to it."""
    follow, shortest, least = policy.copy(), value, np.inf
    for at in range(ROUNDS):
        check()
        w = _lengths(problem, follow) if at or lengths is None else lengths
        if w is None:
            return None
        if at == 0:
            shortest, least = w, SLACK * kernels.scale(rows, read_only(w), policy, low)
        d = SLACK * kernels.scale(rows, read_only(w), read_only(follow), high)
        if not (np.isfinite(least) and np.isfinite(d)):
            return None
        if not kernels.lengthen(rows, value, read_only(w), d, follow):
            return least * shortest, d * w
    return None


def _are_numbers(claimed: Any, n: int) -> bool:
    """Whether a solver returned what can be tried: one finite float per node."""
    array = isinstance(claimed, np.ndarray) and claimed.shape == (n,) and claimed.dtype == np.float64
    return array and bool(np.isfinite(claimed).all())


def _lengths(problem: Network, follow: Ints) -> Floats | None:
    """Return the expected number of nodes before the end along the edges of `follow`, roughly."""
    chance = problem.kind == Kind.CHANCE
    decides = problem.decides
    # Plays go through a decision to what follows; a decision with a chance node ahead needs no unknown of its own.
    through = np.full(problem.n_nodes, -1, dtype=np.int64)
    through[decides] = problem.dst[follow[decides]]
    short = through >= 0
    short[short] = chance[through[short]]
    taken: Bools = chance[problem.source]
    taken[follow[decides]] = True
    dst = problem.dst[taken]
    source = problem.source[taken]
    skips = chance[source] & short[dst]
    weight = problem.weight[taken]
    base = np.where(problem.kind == Kind.END, 0.0, 1.0)
    base += np.bincount(source[skips], weight[skips], minlength=problem.n_nodes)
    degree = np.where(chance, np.diff(problem.indptr), decides)
    kind = np.where(problem.kind == Kind.END, Kind.END, Kind.CHANCE).astype(np.uint8)
    rows = kind, unsigned(np.concatenate(([0], np.cumsum(degree)))), unsigned(np.where(skips, through[dst], dst))
    chain = Operator(*rows, np.zeros(len(dst)), weight, base)
    w = solve_chain(chain, loose=0.2)
    return w if bool(np.isfinite(w).all() and (w >= 0).all()) else None
