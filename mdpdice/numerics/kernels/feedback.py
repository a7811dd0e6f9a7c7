"""The compiled loops that solve a layer of a lattice which leads to itself.

The conventions are those of `mdpdice.numerics.kernels.lattice`.  A sweep takes points against the order in which they
are played, so most of what it reads is new.  What it reads before it has computed it, the *feedback*, is little: in a
race what two positions are worth before a turn.  Everything that a sweep computes is a function of that, and only
that has to be found by iteration: ``x = F(x)``, where one sweep computes ``F`` for all parts of a layer at once.

``F`` is piecewise linear.  Its slopes are found from how it changed between two sweeps, as in the method of Broyden;
since it is known which feedback every value depends on, other slopes are 0 (L. K. Schubert, "Modification of a
quasi-Newton method for nonlinear equations with a sparse Jacobian", Mathematics of Computation 24, 1970).  Where every
value depends on one other, which is what a race looks like, that is the method of secants.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdpdice.compilation import Bools, Floats, Ints, Number, nested, njit
from mdpdice.numerics.kernels.chain import gauss
from mdpdice.numerics.kernels.lattice import SMALLEST, Columns, Sweep, sweep

BROYDEN_UP_TO_FEEDBACK = 12
"""Numbers of feedback in a part of a layer up to which Broyden's method finds them, instead of plain sweeps."""
FARTHEST = 100.0
"""Steps that are as many times longer than those of a plain sweep are not taken: there may be no limit at all."""
STRIKES = 3
"""Steps that were no good, after which a part is swept without more of them."""


class Feedback(NamedTuple):
    """What a sweep reads before it has computed it.

    That of part ``p`` has the numbers ``ptr[p] .. ptr[p + 1] - 1``; number ``i`` is the value of entry ``entry[i]``
    at place ``at[i]`` of the list of points, and bit ``b`` of ``needs[i]`` says whether it depends on ``ptr[p] + b``.
    """

    ptr: Ints
    entry: Ints
    at: Ints
    needs: Ints


class State(NamedTuple):
    """What is known about the feedback: the last two arguments and values of ``F``, and its slopes.

    `guess` is where the first step goes, if it is a number.  `worst` is, for every part, the residual from where the
    last step was made (infinite before the first one), and `strikes` the number of steps that did not make it smaller.
    """

    x: Floats
    before: Floats
    result: Floats
    slope: Floats
    guess: Floats
    worst: Floats
    strikes: Ints


@njit
def find(
    reads: Ints, used_ptr: Ints, used: Ints, columns: Columns, marks: Bools, part: Ints, turn: Ints, place: Ints,
    bit: Ints, needs: Ints, ptr: Ints,
) -> bool:  # fmt: skip
    """Find the feedback of the parts of a list of points; False if that of some part is too much.

    `reads`, shape (2, reads), are entry and update of everything that is read; of these entry ``k`` reads the numbers
    ``used[used_ptr[k]] .. used[used_ptr[k + 1] - 1]``.  `columns` and `marks` are those of `sweep`, with the points in
    the order in which they are played; `part` and `turn` are the part that a point belongs to and the number of its
    run, and `place` is the place in the list of every point of the grid, anything elsewhere.  Zeros become `bit` and
    `needs`, shape (entries, points), the bit of every value that is feedback and the feedback of its part that it may
    depend on, and `ptr`, how much feedback there is in each part, from the second place on.
    """
    points, targets = columns.points, columns.targets
    words = np.zeros(reads.shape[1], dtype=np.int64)
    for j in range(len(points) - 1, -1, -1):
        some = 0
        for r in range(len(words)):
            words[r], to = 0, targets[reads[1, r], j]
            if to < 0:
                continue
            p, k = place[to], reads[0, r]
            if p < 0 or p >= len(points) or points[p] != to or not marks[k, p]:
                continue
            if turn[p] > turn[j]:
                words[r] = needs[k, p]
            else:
                if bit[k, p] == 0:
                    count = ptr[part[p] + 1]
                    if count == BROYDEN_UP_TO_FEEDBACK:
                        return False
                    bit[k, p] = 1 << count
                    ptr[part[p] + 1] = count + 1
                words[r] = bit[k, p]
            some |= words[r]
        for own in range(len(needs) if some != 0 else 0):
            word = 0
            for u in range(used_ptr[own], used_ptr[own + 1]):
                word |= words[used[u]]
            needs[own, j] = word
    return True


def settle(work: Sweep, feedback: Feedback, state: State, sweeps: int) -> tuple[bool, int, float]:
    """Sweep until feedback that is not what was read is off by rounding only; whether it is, and how many sweeps.

    The last number tells by how much the last sweep was off.
    What is stored then is what one sweep makes of itself, but for `SMALLEST` times the largest value.
    """
    points, values = work.columns.points, work.values
    tolerance, change = 0.0, np.inf
    for k in range(sweeps):
        state.x[:] = values[feedback.entry, points[feedback.at]]
        sweep(work)
        if k == 0:
            size = np.abs(work.fresh).max(initial=0.0, where=work.marks)
            # 0 if something is infinite or no number.
            tolerance = SMALLEST * size if size < np.inf else 0.0
        done, change = improve(values, points, feedback, state, tolerance)
        if done:
            return True, k + 1, change
    return False, sweeps, change


@njit
def improve(values: Floats, points: Ints, feedback: Feedback, state: State, tolerance: float) -> tuple[bool, float]:
    """Improve the feedback that is not what was read; whether there is none, and by how much it is off at most."""
    ptr, entry, at, _ = feedback
    room = np.empty((BROYDEN_UP_TO_FEEDBACK + 1, BROYDEN_UP_TO_FEEDBACK))
    done, change = True, 0.0
    for p in range(len(ptr) - 1):
        residual = 0.0
        for i in range(ptr[p], ptr[p + 1]):
            off = abs(values[entry[i], points[at[i]]] - state.x[i])
            # Written so that NaN counts as large.
            if not off <= residual:
                residual = off
        if not residual <= change:
            change = residual
        if not residual <= tolerance:
            done = False
            _step(p, residual, tolerance, values, points, feedback, state, room)
    return done, change


@nested
def _step(
    p: Number, residual: float, tolerance: float, values: Floats, points: Ints, feedback: Feedback, state: State,
    room: Floats,
) -> None:  # fmt: skip
    """Improve the feedback of one part; what the sweep has stored stays where that would not help."""
    ptr, entry, at, needs = feedback
    x, before, result, slope, guess, worst, strikes = state
    first, count = ptr[p], ptr[p + 1] - ptr[p]
    known = worst[p] < np.inf
    for i in range(first, first + count):
        value = values[entry[i], points[at[i]]]
        if known:
            square, missed = 0.0, value - result[i]
            for b in range(count):
                if needs[i] >> b & 1:
                    move = x[first + b] - before[first + b]
                    square += move * move
                    missed -= slope[i, b] * move
            # Shorter moves are partly rounding.
            if square > (64.0 * tolerance) ** 2:
                for b in range(count):
                    if needs[i] >> b & 1:
                        slope[i, b] += missed * (x[first + b] - before[first + b]) / square
        result[i] = value
    for i in range(first, first + count):
        before[i] = x[i]
    if known and not residual < 0.9 * worst[p]:
        strikes[p] += 1
    worst[p] = residual
    if strikes[p] >= STRIKES:
        return
    system, move = room[:-1], room[-1]
    for a in range(count):
        for b in range(count):
            system[a, b] = (1.0 if a == b else 0.0) - slope[first + a, b]
        move[a] = (result[first + a] if known else guess[first + a]) - x[first + a]
    if known and not gauss(system, move, np.int64(count), 1e-9):
        return
    longest = 0.0
    for a in range(count):
        if not abs(move[a]) <= longest:
            longest = abs(move[a])
    if longest <= FARTHEST * residual:
        for a in range(count):
            values[entry[first + a], points[at[first + a]]] = x[first + a] + move[a]
