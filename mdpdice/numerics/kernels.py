"""Every compiled loop of the library.

Importing this module imports numba, which takes about a second, and a kernel is
compiled when it is first called on a machine; later processes load it from
numba's cache.  So import it inside the function that needs it.

Conventions
-----------
Arrays are C-contiguous.  The loops over edges take their indices as uint64:
numba then leaves out the test for negative indices, which costs about a third
of the time of a sweep.  ``np.uint64(1)`` stands where a plain ``1`` would turn
the sum into a signed number.  Nothing is compiled with `fastmath`, which would
reorder sums and drop the NaN checks that certificates rely on.

Kernels that may run long take a `budget` of edges, keep their place in the
arrays `at` and `numbers`, and return when the budget is spent: the caller
reports progress, looks for cancellation and calls again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "backup",
    "bucket",
    "choose",
    "components",
    "cycle",
    "end_components",
    "escape",
    "looped",
    "measure",
    "reach",
    "reverse",
    "settle",
]

# The names tell the type of the elements, for readers: numba infers them, and its scalars follow rules
# that numpy's types do not describe.
Floats: TypeAlias = NDArray[Any]  # float64
Ints: TypeAlias = NDArray[Any]  # int64, or uint64 in the loops over edges
Bools: TypeAlias = NDArray[Any]  # bool
Kinds: TypeAlias = NDArray[Any]  # uint8
Number: TypeAlias = Any  # a scalar that a kernel took out of an array

F = TypeVar("F", bound=Callable[..., Any])

MAX, MIN, CHANCE = 1, 2, 3
"""Values of `mdpdice.network.Kind`, as plain numbers that numba can take as constants."""

ULP = 2.0**-52

PARALLEL = 0.98
"""Square of the cosine from which two moves count as parallel."""


def njit(function: F) -> F:
    """`numba.njit` with this module's options; the type of the function stays as it is."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


# --- Graphs ------------------------------------------------------------------------------------------


@njit
def components(indptr: Ints, dst: Ints, keep: Bools) -> Ints:
    """Strong components by Tarjan's algorithm in Pearce's form, without recursion.

    Pearce keeps one number per node: while a node is on the path, the order in which it was found;
    afterwards, counted down from N, the component.  Path and stack share one array from both ends.

    Returns the label of every node, successors first.

    References
    ----------
    D. J. Pearce, "A space-efficient algorithm for finding strongly connected components",
    Information Processing Letters 116 (2016) 47-52.
    """
    n = len(indptr) - 1
    number = np.zeros(n, dtype=np.int64)
    cursor = indptr[:n].copy()
    is_root = np.ones(n, dtype=np.bool_)
    shelf = np.empty(n, dtype=np.int64)  # path from the left, waiting nodes from the right
    depth, top = 0, n
    found, label = 1, n
    for start in range(n):
        if number[start] != 0:
            continue
        shelf[0] = start
        depth = 1
        number[start] = found
        found += 1
        while depth > 0:
            node = shelf[depth - 1]
            last = indptr[node + 1]
            e = cursor[node]
            child = -1
            while e < last:
                if keep[e]:
                    to = dst[e]
                    if number[to] == 0:
                        child = to  # the edge is looked at again when the search comes back
                        break
                    if number[to] < number[node]:
                        number[node] = number[to]
                        is_root[node] = False
                e += 1
            cursor[node] = e
            if child >= 0:
                shelf[depth] = child
                depth += 1
                number[child] = found
                found += 1
                continue
            depth -= 1
            if is_root[node]:
                found -= 1
                while top < n and number[node] <= number[shelf[top]]:
                    number[shelf[top]] = label
                    top += 1
                    found -= 1
                number[node] = label
                label -= 1
            else:
                top -= 1
                shelf[top] = node
    for node in range(n):
        number[node] = n - number[node]
    return number


@njit
def bucket(label: Ints, count: int) -> tuple[Ints, Ints]:
    """Nodes grouped by label, in decreasing order within each group, and where the groups start."""
    ptr = np.zeros(count + 1, dtype=np.int64)
    for c in label:
        ptr[c + 1] += 1
    for c in range(count):
        ptr[c + 1] += ptr[c]
    put = ptr.copy()
    order = np.empty(len(label), dtype=np.int64)
    for node in range(len(label) - 1, -1, -1):
        order[put[label[node]]] = node
        put[label[node]] += 1
    return order, ptr


@njit
def looped(indptr: Ints, dst: Ints, keep: Bools, label: Ints, ptr: Ints) -> Bools:
    """Whether each component holds a cycle: it has two nodes, or one with an edge to itself."""
    count = len(ptr) - 1
    cyclic = np.zeros(count, dtype=np.bool_)
    for c in range(count):
        cyclic[c] = ptr[c + 1] - ptr[c] > 1
    for node in range(len(indptr) - 1):
        for e in range(indptr[node], indptr[node + 1]):
            if keep[e] and dst[e] == node:
                cyclic[label[node]] = True
    return cyclic


@njit
def cycle(indptr: Ints, dst: Ints, keep: Bools, label: Ints, start: int) -> Ints:
    """Nodes of a shortest cycle through `start`, in order; breadth first inside its component."""
    n = len(indptr) - 1
    came_from = np.full(n, -1, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    queue[0] = start
    head, tail = 0, 1
    while head < tail:
        node = queue[head]
        head += 1
        for e in range(indptr[node], indptr[node + 1]):
            to = dst[e]
            if not keep[e] or label[to] != label[start]:
                continue
            if to == start:
                length = 1
                back = node
                while back != start:
                    length += 1
                    back = came_from[back]
                path = np.empty(length, dtype=np.int64)
                for i in range(length - 1, -1, -1):
                    path[i] = node
                    node = came_from[node]
                return path
            if came_from[to] < 0:
                came_from[to] = node
                queue[tail] = to
                tail += 1
    return queue[:0]


@njit
def reach(indptr: Ints, dst: Ints, keep: Bools, seen: Bools) -> None:
    """Mark in `seen` every node that can be reached from the nodes marked there."""
    n = len(indptr) - 1
    stack = np.empty(n, dtype=np.int64)
    top = 0
    for node in range(n):
        if seen[node]:
            stack[top] = node
            top += 1
    while top > 0:
        top -= 1
        node = stack[top]
        for e in range(indptr[node], indptr[node + 1]):
            to = dst[e]
            if keep[e] and not seen[to]:
                seen[to] = True
                stack[top] = to
                top += 1


@njit
def reverse(indptr: Ints, dst: Ints) -> tuple[Ints, Ints]:
    """Edges that enter every node: their start, by node, and their numbers."""
    n, m = len(indptr) - 1, len(dst)
    ptr = np.zeros(n + 1, dtype=np.int64)
    for e in range(m):
        ptr[dst[e] + 1] += 1
    for node in range(n):
        ptr[node + 1] += ptr[node]
    put = ptr[:n].copy()
    edge = np.empty(m, dtype=np.int64)
    for e in range(m):
        edge[put[dst[e]]] = e
        put[dst[e]] += 1
    return ptr, edge


@njit
def end_components(
    indptr: Ints,
    dst: Ints,
    source: Ints,
    entering_ptr: Ints,
    entering: Ints,
    chance: Bools,
    label: Ints,
    gone: Bools,
    keep: Bools,
) -> bool:
    """One round of the search for maximal end components: throw out what cannot stay.

    An edge cannot stay when it leaves its component; a chance node cannot stay when one of its edges
    cannot; a decision cannot stay when none can; and no edge to a node thrown out can stay.

    Updates `gone` (nodes) and `keep` (edges); returns whether any edge of a decision was thrown out
    for leaving its component (then the components may have split, and another round is due).
    """
    n, m = len(indptr) - 1, len(dst)
    left = np.zeros(n, dtype=np.int64)
    stack = np.empty(n, dtype=np.int64)
    top = 0
    for e in range(m):
        if keep[e]:
            left[source[e]] += 1
    again = False
    for e in range(m):
        if keep[e] and label[source[e]] != label[dst[e]]:
            keep[e] = False
            again = True
            left[source[e]] -= 1
            if chance[source[e]]:
                left[source[e]] = -m
    for node in range(n):
        if not gone[node] and left[node] <= 0:
            gone[node] = True
            stack[top] = node
            top += 1
    while top > 0:
        top -= 1
        node = stack[top]
        for e in range(indptr[node], indptr[node + 1]):
            keep[e] = False
        for k in range(entering_ptr[node], entering_ptr[node + 1]):
            e = entering[k]
            before = source[e]
            if not keep[e] or gone[before]:
                continue
            keep[e] = False
            left[before] -= 1
            if chance[before] or left[before] == 0:
                gone[before] = True
                stack[top] = before
                top += 1
    return again


# --- The Bellman operator ------------------------------------------------------------------------------


@njit
def choose(
    kind: Number,
    gain: Floats,
    coef: Floats,
    dst: Ints,
    first: Number,
    last: Number,
    value: Floats,
    incumbent: Number,
) -> tuple[Number, Number]:
    """Best edge of a decision and its worth; a tie leaves the incumbent (-1: none, then the first)."""
    one = np.uint64(1)
    best = first
    top = gain[first] + coef[first] * value[dst[first]]
    if kind == MAX:
        for e in range(first + one, last):
            x = gain[e] + coef[e] * value[dst[e]]
            if x > top:
                top = x
                best = e
    else:
        for e in range(first + one, last):
            x = gain[e] + coef[e] * value[dst[e]]
            if x < top:
                top = x
                best = e
    if incumbent >= 0:
        kept = np.uint64(incumbent)
        if gain[kept] + coef[kept] * value[dst[kept]] == top:
            best = kept
    return best, top


@njit
def backup(
    kind: Kinds,
    indptr: Ints,
    dst: Ints,
    gain: Floats,
    coef: Floats,
    base: Floats,
    nodes: Ints,
    source: Floats,
    value: Floats,
    policy: Ints,
) -> None:
    """Back up `nodes` once, in their order, reading `source` and writing `value` and `policy`.

    With `source` and `value` the same array this is one Gauss-Seidel sweep, exact when every
    successor of a node has its value already; with two arrays it is one stage of a horizon.
    """
    one = np.uint64(1)
    for i in nodes:
        first, last = indptr[i], indptr[i + one]
        if kind[i] == CHANCE:
            x = base[i]
            for e in range(first, last):
                x += coef[e] * source[dst[e]]
            value[i] = x
        elif first == last:
            value[i] = base[i]
        else:
            edge, x = choose(kind[i], gain, coef, dst, first, last, source, policy[i])
            value[i] = x
            policy[i] = np.int64(edge)


@njit
def measure(
    kind: Kinds,
    indptr: Ints,
    dst: Ints,
    gain: Floats,
    coef: Floats,
    base: Floats,
    nodes: Ints,
    source: Floats,
    value: Floats,
    policy: Ints,
) -> tuple[Number, Number, Number]:
    """How far `value` is from the backup of `source`, rounding included; sets the greedy `policy`.

    Returns the largest ``T v - v + rho``, the smallest ``T v - v - rho`` and the largest ``rho``, where
    ``rho = (k + 8) 2^-52 (|v| + sum |gain| + sum |coef v|)`` bounds the rounding of one row of k edges:
    of this sum, of `gain` and `coef`, and of the weights.
    """
    one = np.uint64(1)
    most, least, noise = -np.inf, np.inf, 0.0
    for i in nodes:
        first, last = indptr[i], indptr[i + one]
        rho = 0.0
        if kind[i] == CHANCE:
            x = base[i]
            size = abs(value[i])
            for e in range(first, last):
                part = coef[e] * source[dst[e]]
                x += part
                size += abs(part) + abs(gain[e])
            rho = (8.0 + np.float64(last - first)) * ULP * size
        elif first == last:
            x = base[i]
        else:
            edge, x = choose(kind[i], gain, coef, dst, first, last, source, -1)
            policy[i] = np.int64(edge)
            for e in range(first, last):
                rho = max(rho, abs(gain[e]) + abs(coef[e] * source[dst[e]]))
            rho = 12.0 * ULP * (rho + abs(value[i]))
        # Written so that a NaN stays one.
        if not x - value[i] + rho <= most:
            most = x - value[i] + rho
        if not x - value[i] - rho >= least:
            least = x - value[i] - rho
        noise = max(noise, rho)
    return most, least, noise


@njit
def extrapolate(
    nodes: Ints, value: Floats, anchor: Floats, drift: Floats, move: Number, at: Ints, number: Floats
) -> None:
    """The jumps of `settle`, after a sweep of `nodes` whose longest move was `move`."""
    if at[7] == 1:
        at[7] = 0
        at[4] = 0
        if move > number[1]:
            for i in nodes:
                value[i] = anchor[i]
            at[5] = min(2 * at[5], 4096)
        else:
            at[5] = max(at[5] // 2, 1)
    else:
        at[4] += 1
        if at[1] > 1 and at[4] < at[5]:
            return
        at[4] = 0
        at[6] += 1
        dot, norm = 0.0, 0.0
        for i in nodes:
            d = value[i] - anchor[i]
            dot += d * drift[i]
            norm += d * d
            drift[i] = d
            anchor[i] = value[i]
        before = number[2]
        number[2] = norm
        if at[6] < 2 or not norm > 0:
            return
        factor = dot / before
        if -1 < factor < 1 and dot * dot >= PARALLEL * norm * before:
            for i in nodes:
                value[i] += factor / (1 - factor) * drift[i]
            number[1] = move
            at[6] = 0
            at[7] = 1
        elif at[6] >= 8:
            at[5] = min(2 * at[5], 4096)
            at[6] = 1
        return
    for i in nodes:
        anchor[i] = value[i]


@njit
def settle(
    kind: Kinds,
    indptr: Ints,
    dst: Ints,
    gain: Floats,
    coef: Floats,
    base: Floats,
    order: Ints,
    ptr: Ints,
    cyclic: Bools,
    stops: Bools,
    value: Floats,
    policy: Ints,
    absolute: float,
    relative: float,
    limit: int,
    budget: int,
    at: Ints,
    number: Floats,
    anchor: Floats,
    drift: Floats,
) -> None:
    """Solve component after component, the cyclic ones by Gauss-Seidel sweeps, until `budget` is spent.

    A cyclic component is settled when no value moved by more than ``absolute + relative |v|`` in a
    sweep, or by more than rounding; it is left unsettled after `limit` sweeps.

    Where every play stops (`stops`), the fixed point is unique and sweeps may be shortened.  The moves of
    two successive windows of sweeps are compared: once they are parallel, ``move' = f move``, the rest of
    the geometric series, ``f / (1 - f) move'``, is added at once (Aitken 1926).  A jump that makes the
    next sweep move the values farther is taken back.  Windows grow while jumps fail: the slower a
    component mixes, the more sweeps it takes to tell ``f`` from 1.  Elsewhere the sweeps must stay below
    the smallest fixed point, so nothing is added.

    Parameters
    ----------
    at : ndarray of int64, shape (9,)
        In and out: component, its sweeps, most sweeps of any component, components left unsettled, sweeps
        in the window, length of windows, windows since the last jump, whether a jump waits for its test,
        sweep of the shortest move.
    number : ndarray of float64, shape (4,)
        In and out: longest move, longest move before the jump, square norm of the last window's move,
        shortest longest move of the component.
    anchor, drift : ndarray of float64, shape (N,)
        In and out: values at the start of the window, moves of the window before.
    """
    one = np.uint64(1)
    spent: Number = 0
    while at[0] < len(cyclic) and spent < budget:
        c = at[0]
        begin, end = ptr[c], ptr[c + 1]
        if not cyclic[c]:
            i = order[begin]
            spent += 1 + np.int64(indptr[i + one] - indptr[i])
            backup(kind, indptr, dst, gain, coef, base, order[begin:end], value, value, policy)
            at[0] += 1
            at[2] = max(at[2], 1)
            continue
        if at[1] == 0:
            at[4], at[5], at[6], at[7], at[8] = 0, 1, 0, 0, 0
            number[3] = np.inf
        move, excess, size = 0.0, 0.0, 0.0
        for i in order[begin:end]:
            first, last = indptr[i], indptr[i + one]
            if kind[i] == CHANCE:
                x = base[i]
                for e in range(first, last):
                    x += coef[e] * value[dst[e]]
            else:
                edge, x = choose(kind[i], gain, coef, dst, first, last, value, policy[i])
                policy[i] = np.int64(edge)
            d = abs(x - value[i])
            value[i] = x
            move = max(move, d)
            size = max(size, abs(x))
            excess = max(excess, d - relative * abs(x))
            spent += 4 + np.int64(last - first)
        spent += 16
        at[1] += 1
        at[2] = max(at[2], at[1])
        if move < number[3]:
            number[3] = move
            at[8] = at[1]
        idle = at[1] - at[8] > 1000 + 16 * at[5] and move <= 1e-9 * size
        settled = excess <= absolute or move <= 4 * ULP * size or idle
        if stops[c] and not settled:
            extrapolate(order[begin:end], value, anchor, drift, move, at, number)
        number[0] = move
        if settled or at[1] >= limit:
            if not settled:
                at[3] += 1
            at[0] += 1
            at[1] = 0


@njit
def escape(source: Ints, entering_ptr: Ints, entering: Ints, chance: Bools, wait: Ints, rank: Ints) -> None:
    """Rank the nodes from which play cannot be kept from the nodes that have a rank already.

    A chance node gets a rank as soon as one of its successors has one; another node when `wait` of
    its edges lead to such nodes.  A rank is larger than those that it waited for; nodes from which
    play can be kept away keep -1.
    """
    n = len(rank)
    queue = np.empty(n, dtype=np.int64)
    head, tail = 0, 0
    for node in range(n):
        if rank[node] >= 0:
            queue[tail] = node
            tail += 1
    while head < tail:
        node = queue[head]
        head += 1
        for k in range(entering_ptr[node], entering_ptr[node + 1]):
            before = source[entering[k]]
            if rank[before] >= 0:
                continue
            wait[before] -= 1
            if chance[before] or wait[before] == 0:
                # The queue is in order of rank, so this is the largest so far.
                rank[before] = rank[node] + 1
                queue[tail] = before
                tail += 1
