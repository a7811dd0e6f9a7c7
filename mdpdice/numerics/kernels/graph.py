"""Compiled searches on graphs; `mdpdice.numerics.graph` describes them and is how to call most of them."""

from __future__ import annotations

import numpy as np

from mdpdice.compilation import Bools, Ints, Number, brief, inlined


@brief
def acyclic(indptr: Ints, dst: Ints, keep: Bools) -> bool:
    """Whether there is no cycle, of the edges in `keep`, or of all if it is empty; a search in depth for the first."""
    n, masked = len(indptr) - 1, len(keep) > 0
    state = np.zeros(n, dtype=np.uint8)  # 1 on the path, 2 behind it
    # The path, and the edge after the one that it takes.
    path, cursor = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for start in range(n):
        if state[start] != 0:
            continue
        path[0], cursor[0] = start, indptr[start]
        state[start] = 1
        depth = 1
        while depth > 0:
            node = path[depth - 1]
            e, last = cursor[depth - 1], indptr[node + 1]
            while e < last and ((masked and not keep[e]) or state[dst[e]] == 2):
                e += 1
            cursor[depth - 1] = e + 1
            if e == last:
                state[node] = 2
                depth -= 1
            elif state[dst[e]] == 1:
                return False
            else:
                to = dst[e]
                path[depth], cursor[depth] = to, indptr[to]
                state[to] = 1
                depth += 1
    return True


@inlined
def rank_node(indptr: Ints, dst: Ints, chance: Bools, node: Number, rank: Ints) -> Number:
    """Rank a node that waits for no successor any more; see `escape`."""
    # As an unsigned number, -1 is larger than every rank.
    none = np.uint64(np.int64(-1))
    lowest, highest = none, np.uint64(0)
    for e in range(np.uint64(indptr[node]), np.uint64(indptr[node + np.uint64(1)])):
        ahead = np.uint64(rank[dst[e]])
        lowest, highest = min(lowest, ahead), max(highest, ahead)
    ahead = lowest if chance[node] else highest
    if ahead != none:
        rank[node] = np.int64(ahead) + 1
    return ahead != none


@brief
def components(indptr: Ints, dst: Ints, keep: Bools, chance: Bools, rank: Ints) -> tuple[Ints, Ints, Ints, bool]:
    """Strong components by Tarjan's algorithm in Pearce's form, without recursion.

    Pearce keeps one number per node: until its component is known, the order in which a node was found, or
    of what was found first and can be reached again; afterwards, counted down from N, the component.  Path and stack
    share one array from both ends.

    On the way, while the row of a node is at hand, the nodes get ranks from which play always comes to an end, as in
    `escape`.  `rank` is 0 at ends and -1 elsewhere, or empty if nobody asks.

    Returns the component of every node, successors first; the nodes by component, and within one in the order in which
    the search left them, and where components begin; and whether the ranks were found, or there are none, which is
    not so where that takes many more looks at nodes.

    D. J. Pearce, "A space-efficient algorithm for finding strongly connected components", Information Processing
    Letters 116 (2016) 47-52.
    """
    n = len(indptr) - 1
    one = np.uint64(1)
    number = np.zeros(n, dtype=np.int64)
    order, ptr = np.empty(n, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    shelf = np.empty(n, dtype=np.int64)  # path from the left, waiting nodes from the right
    # Of the nodes on the path: the edge that it takes, the order in which the node was found, the first reached again.
    edge, index, lowest = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    top: Number = n
    low: Number
    found: Number
    count, gone = 0, 0
    found, label = 1, n
    ranked: Number = len(rank) > 0
    whole: Number = True
    room = 4 * n
    for start in range(n):
        if number[start] != 0:
            continue
        depth, node = 0, np.uint64(start)
        e, last = np.uint64(indptr[node]), np.uint64(indptr[node + one])
        own, low = found, found
        number[node] = found
        found += 1
        while True:
            child, new = node, False
            while e < last:
                if keep[e]:
                    to = np.uint64(dst[e])
                    seen = number[to]
                    if seen == 0:
                        child, new = to, True
                        break
                    low = min(low, seen)
                e += one
            if new:
                shelf[depth], edge[depth], index[depth], lowest[depth] = node, e, own, low
                depth += 1
                node = child
                e, last = np.uint64(indptr[node]), np.uint64(indptr[node + one])
                own, low = found, found
                number[node] = found
                found += 1
                continue
            if ranked and rank[node] < 0:
                rank_node(indptr, dst, chance, node, rank)
            if low == own:
                first, waits = top, np.int64(0)
                while top < n and own <= number[shelf[top]]:
                    number[shelf[top]] = label
                    waits += np.int64(ranked and rank[shelf[top]] < 0)
                    top += 1
                for k in range(top - 1, first - 1, -1):
                    order[gone] = shelf[k]
                    gone += 1
                order[gone] = node
                gone += 1
                number[node] = label
                waits += np.int64(ranked and rank[node] < 0)
                found -= top - first + 1
                while ranked and waits > 0:
                    before = waits
                    room -= gone - ptr[count]
                    for k in range(ptr[count], gone):
                        at = np.uint64(order[k])
                        if rank[at] < 0 and rank_node(indptr, dst, chance, at, rank):
                            waits -= 1
                    whole = waits == before or room > 0
                    # If nothing new is known, play need not end: then nobody wants to know the other ranks.
                    ranked = waits < before and room > 0
                count += 1
                ptr[count] = gone
                low = label
                label -= 1
            else:
                number[node] = low
                top -= 1
                shelf[top] = node
            if depth == 0:
                break
            depth -= 1
            node, e, own = np.uint64(shelf[depth]), np.uint64(edge[depth]) + one, index[depth]
            last = np.uint64(indptr[node + one])
            low = min(low, lowest[depth])
    for i in range(n):
        number[i] = n - number[i]
    return number, order, ptr[: count + 1].copy(), whole


@brief
def bucket(label: Ints, count: int, left: Ints, large: int) -> tuple[Ints, Ints]:
    """Nodes grouped by label, and where the groups start.

    The nodes of groups of at most `large` are in the order of `left`, those of larger ones in decreasing order.
    """
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


@brief
def looped(indptr: Ints, dst: Ints, keep: Bools, label: Ints, cyclic: Bools) -> None:
    """Mark the components with an edge from a node to itself."""
    for node in range(len(indptr) - 1):
        for e in range(indptr[node], indptr[node + 1]):
            if keep[e] and dst[e] == node:
                cyclic[label[node]] = True


@brief
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


@brief
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


@brief
def end_components(
    indptr: Ints, dst: Ints, source: Ints, entering_ptr: Ints, entering: Ints, chance: Bools, label: Ints,
    gone: Bools, keep: Bools,
) -> bool:  # fmt: skip
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


@brief
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
