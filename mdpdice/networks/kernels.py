"""Compiled passes over the arrays of large networks, as they are made and checked.

Each of them reads everything once, where whole-array arithmetic reads it a dozen times.  They accept what is beyond
doubt; the rest is judged by `mdpdice.networks.checks` and `mdpdice.networks.choices`, by the same rules, and
say what is wrong.

Calling them imports numba; see `mdpdice.networks.arrays.compiled` for when that pays.
"""

from __future__ import annotations

import numpy as np

from mdpdice.compilation import Bools, Floats, Ints, Kinds, Number, njit
from mdpdice.networks.arrays import Kind

END, MAX, MIN, CHANCE = int(Kind.END), int(Kind.MAX), int(Kind.MIN), int(Kind.CHANCE)

ROUNDING = 8 * 2.0**-53
"""Distance of a row sum from 1, per entry, that is plain rounding."""
ONE = 1 << 62
REST = (1 << 32) - 1


@njit
def decided_edges(
    kind: Kinds, indptr: Ints, dst: Ints, weight: Floats, reward: Floats, sign: Ints, payoff: Floats,
    state_node: Ints, node_state: Ints, begin: int, end: int,
) -> int:  # fmt: skip
    """Count the edges of decisions from node `begin` to `end`; -1 if it is in doubt that `checks` accepts them.

    The arrays have the right lengths.
    """
    n, m = len(kind), len(dst)
    one = np.uint64(1)
    good = indptr[0] == 0 and indptr[n] == m and indptr[begin] >= 0 and indptr[end] <= m
    for i in range(begin, end):
        good &= indptr[i] <= indptr[i + 1]
    if not good:
        return -1
    count: Number = 0
    for i in range(begin, end):
        node = np.uint64(i)
        first, last = np.uint64(indptr[node]), np.uint64(indptr[node + one])
        chance = kind[node] == CHANCE
        good &= kind[node] <= CHANCE
        good &= (first == last) == (kind[node] == END)
        good &= payoff[node] - payoff[node] == 0.0
        good &= -1 <= node_state[node] < len(state_node)
        total = 0.0
        for e in range(first, last):
            p = weight[e]
            good &= 0 <= dst[e] < n
            good &= reward[e] - reward[e] == 0.0
            good &= abs(sign[e]) == 1
            good &= (0.0 < p <= 1.0) if chance else (p == 1.0)
            total += p
        width = np.int64(last - first)
        if chance:
            good &= abs(total - 1.0) <= ROUNDING * width
        elif width > 0:
            count += width
    if begin == 0:
        for node in state_node:
            good &= 0 <= node < n
    return count if good else -1


@njit
def waits_twice(indptr: Ints, dst: Ints, step: Bools) -> Number:
    """Whether some edge that takes no step leads to a node with another such edge."""
    n = len(indptr) - 1
    waits = np.zeros(n, dtype=np.bool_)
    for i in range(n):
        some: Number = False
        for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            some |= not step[e]
        waits[i] = some
    twice: Number = False
    for i in range(n):
        if waits[i]:
            for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                twice |= not step[e] and waits[dst[e]]
    return twice


@njit
def rows_are_plain(
    branch_ptr: Ints, target: Ints, weight: Floats, n: int, unsure: Ints
) -> tuple[Number, int, int, float, int]:
    """Return whether rows of floats are beyond doubt: positive probabilities that sum to 1, of states that exist.

    And how many rows do not sum to 1, exactly, which one is off most, by how much, and of how many that takes more
    digits than are looked at here.  The first of these are written into `unsure`.
    """
    good: Number = True
    count, worst, off, more = 0, 0, 0.0, 0
    for c in range(len(branch_ptr) - 1):
        first, last = np.uint64(branch_ptr[c]), np.uint64(branch_ptr[c + 1])
        total = 0.0
        # All but small probabilities are whole multiples of 2^-62, and a row of those adds up exactly.  What small ones
        # have beyond is taken in units of 2^-94.
        whole: Number = -ONE
        beyond: Number = 0
        fits: Number = True
        for b in range(first, last):
            p = weight[b]
            good &= 0 <= target[b] < n
            good &= 0.0 < p <= 1.0
            total += p
            scaled = p * 2.0**62
            units = np.int64(scaled)
            whole += units
            rest = (scaled - units) * 2.0**32
            if rest != 0.0:
                beyond += np.int64(rest)
                fits &= np.float64(np.int64(rest)) == rest
        # Half of what is allowed, so that no other order of the sum would come to another verdict.
        good &= first < last and abs(total - 1.0) <= 0.5 * ROUNDING * np.int64(last - first)
        if not fits:
            if more < len(unsure):
                unsure[more] = c
            more += 1
            continue
        whole += beyond >> 32
        defect = whole / 2.0**62 + (beyond & REST) / 2.0**94
        count += defect != 0.0
        if abs(defect) > abs(off):
            worst, off = c, defect
    return good, count, worst, off, more


@njit
def count_choices(choice_ptr: Ints, branch_ptr: Ints, ended: Bools, begin: int, end: int) -> tuple[int, int, int, int]:
    """Return `begin`, and how many edges of decisions, chance nodes and edges of these the choices of states make."""
    decided, chances, edges = 0, 0, 0
    for state in range(begin, end):
        if ended[state]:
            continue
        decided += choice_ptr[state + 1] - choice_ptr[state]
        for c in range(choice_ptr[state], choice_ptr[state + 1]):
            width = branch_ptr[c + 1] - branch_ptr[c]
            if width > 1:
                chances += 1
                edges += width
    return begin, decided, chances, edges


@njit
def write_choices(
    choice_ptr: Ints, branch_ptr: Ints, target: Ints, weight: Floats, reward: Floats, per_branch: bool,
    ended: Bools, indptr: Ints, dst: Ints, weights: Floats, rewards: Floats, step: Bools, action: Ints,
    named: bool, begin: int, end: int, edge: int, node: int, drawn: int,
) -> None:  # fmt: skip
    """Write the edges of a network: those of decisions, and then those of chance nodes, which follow the states.

    That is, of the states from `begin` to `end`: their first edge is `edge` and their first chance node is `node`, and
    chance nodes have `drawn` edges before.

    Choices with one branch lead straight to their target; states that are `ended` have none.  `rewards` are 0 before,
    and `action` becomes the number of every choice, within its state unless it is `named`.
    """
    out: Number = len(action) + drawn
    for state in range(begin, end):
        indptr[state] = edge
        if ended[state]:
            continue
        for c in range(choice_ptr[state], choice_ptr[state + 1]):
            first, last = np.uint64(branch_ptr[c]), np.uint64(branch_ptr[c + 1])
            weights[edge] = 1.0
            action[edge] = c if named else c - choice_ptr[state]
            direct = branch_ptr[c + 1] - branch_ptr[c] == 1
            step[edge] = direct
            if direct:
                dst[edge] = target[first]
                rewards[edge] = reward[first] if per_branch else reward[c]
            else:
                dst[edge] = node
                indptr[node] = out
                node += 1
                if not per_branch:
                    rewards[edge] = reward[c]
                at = np.uint64(out)
                for b in range(first, last):
                    dst[at] = target[b]
                    weights[at] = weight[b]
                    step[at] = True
                    at += np.uint64(1)
                if per_branch:
                    at = np.uint64(out)
                    for b in range(first, last):
                        rewards[at] = reward[b]
                        at += np.uint64(1)
                out += np.int64(last - first)
            edge += 1
    indptr[node] = out
