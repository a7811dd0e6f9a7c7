"""Compiled searches on graphs; `mdpdice.numerics.graph` describes them and is how to call most of them."""

from __future__ import annotations

import numpy as np

from mdpdice.numerics.kernels import Bools, Ints, njit

__all__ = [
    "acyclic",
    "bucket",
    "bucket_in_order",
    "components",
    "cycle",
    "end_components",
    "escape",
    "looped",
    "rank_in_order",
    "reach",
    "reverse",
]


@njit
def acyclic(indptr: Ints, dst: Ints, keep: Bools) -> bool:
    """Whether there is no cycle; a search in depth that stops at the first one."""
    n = len(indptr) - 1
    state = np.zeros(n, dtype=np.uint8)  # 1 on the path, 2 behind it
    cursor = indptr[:n].copy()
    path = np.empty(n, dtype=np.int64)
    for start in range(n):
        if state[start] != 0:
            continue
        path[0] = start
        state[start] = 1
        depth = 1
        while depth > 0:
            node = path[depth - 1]
            e, last = cursor[node], indptr[node + 1]
            while e < last and (not keep[e] or state[dst[e]] == 2):
                e += 1
            cursor[node] = e + 1
            if e == last:
                state[node] = 2
                depth -= 1
            elif state[dst[e]] == 1:
                return False
            else:
                path[depth] = dst[e]
                state[dst[e]] = 1
                depth += 1
    return True


@njit
def components(indptr: Ints, dst: Ints, keep: Bools) -> tuple[Ints, Ints]:
    """Strong components by Tarjan's algorithm in Pearce's form, without recursion.

    Pearce keeps one number per node: while a node is on the path, the order in which it was found;
    afterwards, counted down from N, the component.  Path and stack share one array from both ends.

    Returns the label of every node, successors first, and the nodes in the order in which the search left them.

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
    left = np.empty(n, dtype=np.int64)
    depth, top = 0, n
    found, label, gone = 1, n, 0
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
            left[gone] = node
            gone += 1
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
    return number, left


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
def bucket_in_order(label: Ints, count: int, left: Ints, large: int) -> tuple[Ints, Ints]:
    """The same, but groups of at most `large` nodes in the order of `left`."""
    ptr = np.zeros(count + 1, dtype=np.int64)
    for c in label:
        ptr[c + 1] += 1
    for c in range(count):
        ptr[c + 1] += ptr[c]
    put = ptr.copy()
    order = np.empty(len(label), dtype=np.int64)
    for node in left:
        c = label[node]
        if ptr[c + 1] - ptr[c] <= large:
            order[put[c]] = node
            put[c] += 1
    for node in range(len(label) - 1, -1, -1):
        c = label[node]
        if ptr[c + 1] - ptr[c] > large:
            order[put[c]] = node
            put[c] += 1
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


@njit
def rank_in_order(indptr: Ints, dst: Ints, chance: Bools, order: Ints, ptr: Ints, rank: Ints) -> bool:
    """Rank the nodes from which play always comes to an end, as `escape` does, component by component.

    `order` and `ptr` are those of `bucket_in_order`, and the ends have the rank 0 before.  In an order that has most
    successors first one look at a node is enough most often.  Returns False where it takes many: then nothing is known.
    """
    left, room = order.copy(), 4 * len(order)
    none = np.uint64(np.int64(-1))
    for c in range(len(ptr) - 1):
        first, last = ptr[c], ptr[c + 1]
        while last > first and room > 0:
            room -= last - first
            # Those that have to wait move to the front.
            again = first
            for k in range(first, last):
                node = left[k]
                if rank[node] == 0:
                    continue
                # As an unsigned number, -1 is larger than every rank.
                lowest, highest = none, np.uint64(0)
                for e in range(np.uint64(indptr[node]), np.uint64(indptr[node + 1])):
                    ahead = np.uint64(rank[dst[e]])
                    lowest, highest = min(lowest, ahead), max(highest, ahead)
                ahead = lowest if chance[node] else highest
                if ahead != none:
                    rank[node] = np.int64(ahead) + 1
                else:
                    left[again] = node
                    again += 1
            if again == last:
                return True
            last = again
        if last > first:
            return False
    return True


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
