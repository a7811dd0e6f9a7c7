"""Compiled loops that replicate the core of a lattice over the points that play reaches.

`discover` finds the reachable pairs of core node and point, breadth first, and counts
rows and edges; `fill` writes these into arrays of that size, and may be called for
several parts of the pairs at the same time.  Both walk the same rows in the same order:
of every pair the row of its own node, then those of the nodes inside it.

The conventions are those of `mdpdice.numerics.kernels.bellman`.

Both are given the core, as in `mdpdice.lattices.lattice.Lattice`, and

* `slot`, int32 by node: its number among the nodes that are found by point (states and ends), -1 inside another one;
* `ends_here` and `single`, by node: whether it is an end but not a state, and whether that is the same at all points;
* `reward_row` and `reward_table`: rows of the rewards that depend on the point, -1 for the others, and float64 by row
  and point;
* `guard_table`, uint8 by guard and point: 0 does not hold, 1 holds, 2 is undefined;
* `target_table`, int32 by update and point: the point after it, -1 where it is forbidden, -2 where it is an error;
* `ids`, int32 by slot and point, in one row: what is known of a pair.  While discovering 0 is not seen, ``1 + number``
  a state, ``-1 - number`` an end; when filling, for states, ``1 + 2 * row``, one more for a decision.
"""

from __future__ import annotations

import numpy as np

from mdpdice.compilation import Bools, Floats, Ints, Kinds, brief
from mdpdice.numerics.kernels.bellman import CHANCE

DONE, PAUSED, FULL, OUTSIDE_RANGE, FORBIDDEN_CHANCE, UNDEFINED_GUARD, UNDEFINED_REWARD, DEAD_END = range(8)
"""How `discover` comes back: what it met."""

# Places in `at`.
POSITION, FOUND, ENDS, ROWS, EDGES, OPTIONS, BAD_EDGE, BAD_OPTION = range(8)


@brief
def discover(
    kind: Kinds, switch: Bools, indptr: Ints, dst: Ints, guard: Ints, update: Ints, reward: Ints,
    payoff: Ints, slot: Ints, ends_here: Bools, single: Bools, guard_table: Kinds, target_table: Ints,
    reward_row: Ints, reward_table: Floats, n_points: int, ids: Ints, queue_node: Ints, queue_point: Ints,
    resolved: Ints, row_start: Ints, edge_start: Ints, option_start: Ints, ends: Ints, todo: Ints,
    todo_option: Ints, at: Ints, budget: int,
) -> int:  # fmt: skip
    """Follow the edges of pairs in the queue until all are done or `budget` edges were read.

    `ends` has the places in `ids` of the ends, in the order in which they are found.
    """
    position, found, n_ends = at[POSITION], at[FOUND], at[ENDS]
    rows, edges, options = at[ROWS], at[EDGES], at[OPTIONS]
    last = edges + budget
    result = DONE
    while position < found and result == DONE:
        if edges >= last:
            result = PAUSED
            break
        point = queue_point[position]
        node = queue_node[position]
        # A switch stands for the node that the edge which counts leads to, if that has no state.
        only = -1
        while switch[node] and only < 0:
            chosen = -1
            for e in range(indptr[node], indptr[node + 1]):
                g = guard[e]
                holds = 1 if g < 0 else guard_table[g, point]
                if holds == 2:
                    at[BAD_EDGE] = e
                    at[BAD_OPTION] = -1
                    result = UNDEFINED_GUARD
                    break
                if holds == 1:
                    chosen = e
                    break
            if result != DONE:
                break
            if slot[dst[chosen]] >= 0 and not ends_here[dst[chosen]]:
                only = chosen
            else:
                node = dst[chosen]
        if result != DONE:
            break
        r = reward_row[payoff[node]] if payoff[node] >= 0 else -1
        if r >= 0 and np.isnan(reward_table[r, point]):
            at[BAD_EDGE] = at[BAD_OPTION] = -1
            result = UNDEFINED_REWARD
            break
        resolved[position] = node
        row_start[position] = rows
        edge_start[position] = edges
        option_start[position] = options
        todo[0] = node
        todo_option[0] = -1
        count = 1
        i = 0
        while i < count and result == DONE:
            node = todo[i]
            chance = kind[node] == CHANCE
            first, behind = indptr[node], indptr[node + 1]
            if only >= 0:
                first, behind = only, only + 1
            degree = 0
            for e in range(first, behind):
                g = guard[e]
                if g >= 0 and only < 0:
                    holds = guard_table[g, point]
                    if holds == 0:
                        continue
                    if holds == 2:
                        result = UNDEFINED_GUARD
                        break
                target = point
                if update[e] >= 0:
                    target = target_table[update[e], point]
                    if target < 0:
                        if target == -1 and not chance:
                            continue
                        result = FORBIDDEN_CHANCE if target == -1 else OUTSIDE_RANGE
                        break
                to = dst[e]
                r = reward_row[reward[e]] if reward[e] >= 0 else -1
                if r < 0 and ends_here[to] and payoff[to] >= 0:
                    r = reward_row[payoff[to]]
                if r >= 0 and np.isnan(reward_table[r, point]):
                    result = UNDEFINED_REWARD
                    break
                degree += 1
                if slot[to] < 0:
                    todo[count] = to
                    todo_option[count] = e
                    count += 1
                    continue
                if single[to]:
                    target = 0
                place = slot[to] * n_points + target
                if ids[place] == 0:
                    if ends_here[to]:
                        ends[n_ends] = place
                        n_ends += 1
                        ids[place] = -n_ends
                    else:
                        if found == len(queue_node):
                            result = FULL
                            break
                        queue_node[found] = to
                        queue_point[found] = target
                        found += 1
                        ids[place] = found
            if result != DONE:
                at[BAD_EDGE] = e
                at[BAD_OPTION] = todo_option[i] if chance else e
            rows += 1
            edges += degree
            if not chance:
                options += degree
                if degree == 0 and kind[node] != 0 and result == DONE:
                    result = DEAD_END
            i += 1
        if result == DONE:
            position += 1
    at[POSITION], at[FOUND], at[ENDS] = position, found, n_ends
    at[ROWS], at[EDGES], at[OPTIONS] = rows, edges, options
    return result


@brief
def fill(
    kind: Kinds, indptr: Ints, dst: Ints, weight: Floats, numerator: Ints, sign: Ints, guard: Ints,
    update: Ints, reward: Ints, slot: Ints, ends_here: Bools, single: Bools, switch: Bools, action: Ints,
    guard_table: Kinds, target_table: Ints, reward_row: Ints, reward_table: Floats, reward_constant: Floats,
    n_points: int, ids: Ints, queue_point: Ints, resolved: Ints, row_start: Ints, edge_start: Ints,
    option_start: Ints, todo: Ints, first_pair: int, last_pair: int, n_rows: int, out_kind: Kinds,
    out_indptr: Ints, out_state: Ints, out_dst: Ints, out_weight: Floats, out_numerator: Ints,
    out_reward: Floats, out_sign: Ints, out_step: Bools, out_action: Ints, out_origin: Ints, out_point: Ints,
) -> None:  # fmt: skip
    """Write the rows of the pairs from `first_pair` up to, but not with, `last_pair`.

    `out_origin` and `out_point` get the core edge and the point of every edge.  They may be empty, and
    so may `out_reward` and `out_sign` where there is nothing to tell.
    """
    trace, pays, signs = len(out_origin) > 0, len(out_reward) > 0, len(out_sign) > 0
    for pair in range(first_pair, last_pair):
        point = queue_point[pair]
        row = row_start[pair]
        edge = edge_start[pair]
        option = option_start[pair]
        out_state[row] = pair
        todo[0] = resolved[pair]
        count = 1
        i = 0
        while i < count:
            node = todo[i]
            decides = kind[node] != CHANCE
            only = switch[node]  # a switch that is left over has one edge that counts
            out_kind[row + i] = kind[node]
            for e in range(indptr[node], indptr[node + 1]):
                g = guard[e]
                if g >= 0 and guard_table[g, point] != 1:
                    continue
                target = point
                if update[e] >= 0:
                    target = target_table[update[e], point]
                    if target < 0:
                        continue
                to = dst[e]
                step = False
                if slot[to] < 0:
                    todo[count] = to
                    out_dst[edge] = row + count
                    count += 1
                else:
                    if single[to]:
                        target = 0
                    known = ids[slot[to] * n_points + target]
                    if ends_here[to]:
                        out_dst[edge] = n_rows - known - 1
                    else:
                        out_dst[edge] = (known - 1) >> 1
                        step = ((known - 1) & 1) == 1
                out_weight[edge] = weight[e]
                out_numerator[edge] = numerator[e]
                out_step[edge] = step
                if signs:
                    out_sign[edge] = sign[e]
                if pays and reward[e] >= 0:
                    r = reward[e]
                    at = reward_row[r]
                    out_reward[edge] = reward_constant[r] if at < 0 else reward_table[at, point]
                if decides:
                    out_action[option] = action[e]
                    option += 1
                if trace:
                    out_origin[edge] = e
                    out_point[edge] = point
                edge += 1
                if only:
                    break
            i += 1
            out_indptr[row + i] = edge
