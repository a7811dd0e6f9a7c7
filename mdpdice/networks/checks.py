"""What makes arrays a network: checked once, when it is made."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mdpdice import errors
from mdpdice.modelling.nearest import SMALLEST, nearest
from mdpdice.modelling.ranges import discount_error, horizon_error
from mdpdice.networks import kernels
from mdpdice.networks.arrays import Floats, Ints, Kind, compiled, in_pieces

if TYPE_CHECKING:
    from mdpdice.networks.network import Network


def check_network(net: Network) -> None:
    """Refuse arrays that do not fit together, and numbers out of their range."""
    wrong = _wrong_sizes(net)
    if wrong or not _beyond_doubt(net):
        _check_shapes(net, wrong)
        _check_numbers(net)
    _check_numerators(net)
    _check_exact(net)
    _check_range(net)


def _wrong_sizes(net: Network) -> list[str]:
    n, e = net.kind.size, net.dst.size
    edges = dict.fromkeys(("dst", "weight", "reward", "sign", "step", "numerator"), e)
    sizes = edges | dict.fromkeys(("kind", "payoff", "node_state"), n)
    return [name for name, size in sizes.items() if getattr(net, name).shape != (size,)]


def _beyond_doubt(net: Network) -> bool:
    """Whether a large network was seen to be sound, in one pass; if not, what follows finds out what is wrong."""
    n, e = net.kind.size, net.dst.size
    fits = net.indptr.shape == (n + 1,) and 0 <= net.start < n
    if not fits or not compiled(e) or net.state_node.shape != (len(net.states),):
        return False
    names = ("kind", "indptr", "dst", "weight", "reward", "sign", "payoff", "state_node", "node_state")
    loop = partial(kernels.decided_edges, *(getattr(net, name) for name in names))
    found = in_pieces(loop, n, e)
    return min(found) >= 0 and sum(found) == len(net.actions)


def _check_shapes(net: Network, wrong: list[str]) -> None:
    n, e = net.kind.size, net.dst.size
    degree = np.diff(net.indptr)
    if wrong or net.indptr.shape != (n + 1,) or net.indptr[0] != 0 or net.indptr[-1] != e or (degree < 0).any():
        raise errors.GameError(f"the arrays do not fit together ({', '.join(wrong) or 'indptr'}): {n} nodes, {e} edges")
    if n == 0 or not 0 <= net.start < n:
        raise errors.UnknownStateError(f"the start node {net.start} is not one of the {n} nodes", value=net.start)
    if e and (net.dst.min() < 0 or net.dst.max() >= n):
        bad = int(np.flatnonzero((net.dst < 0) | (net.dst >= n))[0])
        raise errors.UnknownStateError(f"edge {bad} leads to node {net.dst[bad]} of {n}", value=int(net.dst[bad]))
    odd = np.flatnonzero((degree == 0) != (net.kind == Kind.END))
    if net.kind.max() > Kind.CHANCE or len(odd):
        bad = int(odd[0]) if net.kind.max() <= Kind.CHANCE else -1
        msg = f"node {bad}: END nodes have no edges and all others have some"
        raise errors.GameError(msg, state=net.describe(bad) if bad >= 0 else None)
    names = len(net.states)
    if (
        net.state_node.shape != (names,)
        or (net.state_node < 0).any()
        or (net.state_node >= n).any()
        or (net.node_state < -1).any()
        or (net.node_state >= names).any()
    ):
        raise errors.GameError(f"state_node and node_state do not fit {names} states and {n} nodes")
    if len(net.actions) != int(degree[net.decides].sum()):
        msg = f"{len(net.actions)} actions for {int(degree[net.decides].sum())} edges of decision nodes"
        raise errors.GameError(msg)


def _check_numbers(net: Network) -> None:
    # Extremes instead of masks: NaN is the extreme of what holds it, and a large network has no second copy.
    for name, array in (("reward", net.reward), ("payoff", net.payoff)):
        if len(array) and not (np.isfinite(array.min()) and np.isfinite(array.max())):
            bad = int(np.flatnonzero(~np.isfinite(array))[0])
            node = int(net.source[bad]) if name == "reward" else bad
            msg = f"{name} {array[bad]} is not finite; infinite values are found by the solver, not declared"
            raise errors.RewardNotFiniteError(msg, state=net.describe(node), value=float(array[bad]))
    at_chance, degree = net.kind == Kind.CHANCE, np.diff(net.indptr)
    chance = np.repeat(at_chance, degree)
    if not (np.abs(net.sign) == 1).all():
        raise errors.GameError("every sign is 1 or -1")
    if not ((net.weight == 1) | chance).all():
        raise errors.GameError("the edges of decision nodes have weight 1")
    if len(net.weight) and not (net.weight.min() > 0 and net.weight.max() <= 1 + 1e-9):
        bad = int(np.flatnonzero(~((net.weight > 0) & (net.weight <= 1 + 1e-9)))[0])
        msg = f"probability {net.weight[bad]} is outside (0, 1]"
        if net.weight[bad] == 0:
            msg += "; an edge that is never taken is not an edge: leave it out, or use Network.from_choices"
        raise errors.ProbabilityRangeError(msg, state=net.describe(int(net.source[bad])), value=float(net.weight[bad]))
    if at_chance.any():
        total = np.add.reduceat(net.weight, net.indptr[:-1][degree > 0])[at_chance[degree > 0]]
        degree = degree[at_chance]
        defect = np.abs(total - 1)
        # Twice the contract's 8 k 2^-53, since this sum rounds too.
        allowed = 16 * degree * 2.0**-53
        if not (defect <= allowed).all():
            worst = int(np.argmax(defect - allowed))
            node = int(np.flatnonzero(at_chance)[worst])
            msg = f"the probabilities sum to {total[worst]!r}, not 1; scale them, or use Network.from_choices"
            raise errors.ProbabilitySumError(msg, state=net.describe(node), value=float(total[worst]))


def _check_numerators(net: Network) -> None:
    """Exact probabilities are positive, and those that their floats stand for."""
    given, weight = net.numerator, net.weight
    # Views of one array, where the floats are the exact numbers, need not be compared.
    same = given.__array_interface__ == weight.__array_interface__
    if same or (given.dtype == weight.dtype and np.array_equal(given, weight)):
        return
    chance = net.kind == Kind.CHANCE
    degree = np.diff(net.indptr)
    inside = np.repeat(chance, degree)
    if not np.asarray(given > 0, dtype=bool)[inside].all():
        bad = int(np.flatnonzero(inside & ~np.asarray(given > 0, dtype=bool))[0])
        msg = f"the numerator {given[bad]!r} of a probability is not positive"
        raise errors.ProbabilityRangeError(msg, state=net.describe(int(net.source[bad])), value=given[bad])
    parts, starts = _sums(given, net.indptr)
    _, floats = _sums(weight, net.indptr)
    # Rounding of the sums and of the quotient, rows that mean the normalised rationals, and floats below the range.
    size = np.repeat((degree + 8) * 2.0**-53 + np.abs(floats - 1), degree)
    with np.errstate(all="ignore"):
        near = np.abs(parts / np.repeat(starts, degree) - weight) <= size * weight + SMALLEST
    for node in np.unique(net.source[inside & ~near]).tolist():
        # What floats cannot hold is looked at exactly.
        for edge, exact in zip(net.edges(node), net.row(node), strict=True):
            here = float(weight[edge])
            if not abs(exact - Fraction(here)) <= Fraction(float(size[edge] * here)) + Fraction(SMALLEST):
                msg = f"the probability of edge {edge} is {here!r}, and by its numerator {nearest(exact)!r}"
                raise errors.GameError(msg, state=net.describe(node), value=here)


def _sums(numbers: NDArray[Any], indptr: Ints) -> tuple[Floats, Floats]:
    """Return the numbers as floats, NaN where they are none, and their sum over every node."""
    try:
        parts = numbers.astype(np.float64, copy=False)
    except OverflowError:
        parts = np.full(len(numbers), np.nan)
    # One more, so that ends behind the last edge have a start.
    return parts, np.add.reduceat(np.append(parts, 0.0), indptr[:-1])


def _check_exact(net: Network) -> None:
    """Exact rewards and payoffs are those that their floats stand for."""
    for name, exact, floats in (("reward", net.exact_rewards, net.reward), ("payoff", net.exact_payoffs, net.payoff)):
        if not exact:
            continue
        at = np.fromiter(exact, dtype=np.int64, count=len(exact))
        if not (at.min() >= 0 and at.max() < len(floats)):
            raise errors.GameError(f"an exact {name} belongs to no {'edge' if name == 'reward' else 'node'}")
        try:
            near = np.fromiter(map(nearest, exact.values()), dtype=np.float64, count=len(exact))
        except OverflowError as error:
            raise errors.RewardNotFiniteError(f"exact {name} is larger than every float; use larger units") from error
        if not np.array_equal(near, floats[at]):
            bad = int(at[np.flatnonzero(near != floats[at])[0]])
            node = int(net.source[bad]) if name == "reward" else bad
            msg = f"the {name} {float(floats[bad])!r} is not the float nearest to its exact number, {exact[bad]}"
            raise errors.GameError(msg, state=net.describe(node), value=float(floats[bad]))


def _check_range(net: Network) -> None:
    if not 0 < net.discount <= 1:
        raise discount_error(net.discount)
    if net.total and net.discount != 1:
        msg = "a game with `total` other than 0 is not discounted: give it discount 1, or payoffs that sum to 0"
        raise errors.DiscountRangeError(msg, value=net.discount)
    if net.horizon is not None and (type(net.horizon) is not int or net.horizon < 0):
        raise horizon_error(net.horizon)
    if net.discount < 1:
        _check_steps(net)


def _check_steps(net: Network) -> None:
    """Every cycle of a discounted network takes a step, or the discount would never act on it."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if compiled(net.n_edges) and not kernels.waits_twice(net.indptr, net.dst, net.step):
        return
    keep = ~net.step
    waits = np.zeros(net.n_nodes, dtype=bool)
    waits[net.kind != Kind.END] = np.logical_or.reduceat(keep, net.indptr[:-1][net.kind != Kind.END])
    if not waits[net.dst[keep]].any():
        return  # no such edge follows another
    shape = (net.n_nodes, net.n_nodes)
    graph = csr_array((keep.astype(np.int32), net.dst, net.indptr), shape=shape, copy=True)
    graph.eliminate_zeros()
    parts, label = connected_components(graph, directed=True, connection="strong")
    cycle = np.flatnonzero(graph.diagonal())[:1]
    if not len(cycle):
        if parts == net.n_nodes:
            return
        cycle = np.flatnonzero(label == int(np.argmax(np.bincount(label))))[:5]
    names = [net.describe(int(node)) for node in cycle]
    msg = f"the discount never acts on a cycle through {names!r}: it holds no step; give it a decision or discount 1"
    raise errors.DiscountRangeError(msg, state=names[0], value=net.discount)
