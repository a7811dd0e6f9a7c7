"""Compiled solution of components that plays come back to through one node, by Newton's method.

See `mdpdice.numerics.kernels.bellman` for the conventions.  Rows are read where they are in the network: a
component that is solved in a few sweeps is not worth a copy of its rows in the order of the sweeps.
"""

from __future__ import annotations

import numpy as np

from mdpdice.compilation import Floats, Ints, Kinds, Number, nested, njit
from mdpdice.numerics.kernels.bellman import CHANCE, END, MIN, ULP

CLOSE = 2.0**-46
"""Relative move of a value that may be due to rounding."""
ROUGH = 0.1
"""Move of a length that does not matter."""
LEAVE_AFTER_SWEEPS = 40
"""Sweeps after which a component is left to plain value iteration."""


@nested
def _put(state, here, v, dv, w, dw):
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    state[here], state[here + one], state[here + two], state[here + three] = v, dv, w, dw


@njit
def returns(
    kind: Kinds, indptr: Ints, dst: Ints, weight: Floats, reward: Floats, sign: Ints, payoff: Floats,
    order: Ints, ptr: Ints, budget: int, state: Floats, policy: Ints, at: Ints, number: Floats,
) -> bool:  # fmt: skip
    """Solve component after component until `budget` is spent; False if one of them is not of this kind, or not finite.

    In an order that has most successors first, a sweep reads few nodes before it writes them.  Where it is one node,
    what the sweep makes of its value ``x`` is a function ``F`` of one variable, whose derivative the sweep finds on the
    way: ``x + (F(x) - x) / (1 - F'(x))`` is the next guess, which has the value of the policy that the sweep took.  The
    length of the longest play, ``w = 1 + max |P| w``, is found in the same sweeps.

    `order` and `ptr` are the components, successors first.  In and out go `state`, shape (4 N,): of every node its
    value, the derivative of it, its length, and the derivative of that, -1 in the beginning; `at`: component, most
    sweeps of one; and `number`: the largest ``T v - v + rho``, the smallest ``T v - v - rho``, with room ``rho`` for
    rounding as in `mdpdice.numerics.kernels.bellman.measure`, the largest ``1 + |P| w - w``, and value and length of
    the last node that plays came back to, which are a good guess for the next one.  `policy` becomes the greedy one.
    """
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    spent: Number = 0
    while at[0] < len(ptr) - 1 and spent < budget:
        begin, end = ptr[at[0]], ptr[at[0] + 1]
        # The node that is read before it is written, what is assumed of it, and what came out.
        back, known = np.uint64(0), False
        x, length = number[3], number[4]
        sweeps = 0
        while True:
            for k in range(begin, end):
                node = order[k]
                first, last = indptr[node], indptr[node + one]
                here = four * node
                spent += 2 + np.int64(last - first)
                v, dv, w, dw = 0.0, 0.0, 0.0, 0.0
                if kind[node] == CHANCE:
                    w = 1.0
                    for e in range(first, last):
                        to = four * dst[e]
                        if state[to + two] < 0.0:
                            if known:
                                return False
                            back, known = dst[e], True
                            _put(state, to, x, 1.0, length, 1.0)
                        p, q = weight[e], weight[e] * sign[e]
                        v += p * reward[e] + q * state[to]
                        dv += q * state[to + one]
                        w += p * state[to + two]
                        dw += p * state[to + three]
                elif first == last:
                    v = payoff[node]
                else:
                    view = -1.0 if kind[node] == MIN else 1.0
                    v, w = -view * np.inf, -np.inf
                    for e in range(first, last):
                        to = four * dst[e]
                        if state[to + two] < 0.0:
                            if known:
                                return False
                            back, known = dst[e], True
                            _put(state, to, x, 1.0, length, 1.0)
                        q = np.float64(sign[e])
                        y = reward[e] + q * state[to]
                        if view * (y - v) > 0.0:
                            v, dv = y, q * state[to + one]
                        if 1.0 + state[to + two] > w:
                            w, dw = 1.0 + state[to + two], state[to + three]
                _put(state, here, v, dv, w, dw)
            if not known:
                break
            sweeps += 1
            here = four * back
            v, w = state[here], state[here + two]
            if abs(v - x) <= CLOSE * max(1.0, abs(v)) and abs(w - length) <= ROUGH:
                break
            x += (v - x) / (1.0 - state[here + one])
            length += (w - length) / (1.0 - state[here + three])
            # Written so that NaN fails.
            if not (abs(x) < np.inf and 0.0 <= length < np.inf) or sweeps >= LEAVE_AFTER_SWEEPS:
                return False
            _put(state, here, x, 1.0, length, 1.0)
        at[1] = max(at[1], sweeps)
        number[3], number[4] = x, length
        for k in range(begin, end):
            node = order[k]
            first, last = indptr[node], indptr[node + one]
            here = four * node
            state[here + one], state[here + three] = 0.0, 0.0
            if kind[node] == END:
                continue
            v, w = state[here], state[here + two]
            size, stretch, rho = 0.0, 0.0, 0.0
            if kind[node] == CHANCE:
                y = 0.0
                for e in range(first, last):
                    to = four * dst[e]
                    gain, part = weight[e] * reward[e], weight[e] * sign[e] * state[to]
                    y += gain + part
                    size += abs(gain) + abs(part)
                    stretch += weight[e] * state[to + two]
                rho = (8.0 + np.float64(last - first)) * ULP * (size + abs(v))
            else:
                view = -1.0 if kind[node] == MIN else 1.0
                y = -view * np.inf
                for e in range(first, last):
                    to = four * dst[e]
                    part = sign[e] * state[to]
                    if view * (reward[e] + part - y) > 0.0:
                        y = reward[e] + part
                        policy[node] = np.int64(e)
                    size = max(size, abs(reward[e]) + abs(part))
                    stretch = max(stretch, state[to + two])
                rho = 12.0 * ULP * (size + abs(v))
            stretch += 1.0
            room = (8.0 + np.float64(last - first)) * ULP * (stretch + w)
            # Written so that NaN fails.
            if not abs(y - v) + rho < np.inf or not abs(stretch - w) + room < np.inf:
                return False
            number[0] = max(number[0], y - v + rho)
            number[1] = min(number[1], y - v - rho)
            number[2] = max(number[2], stretch - w + room)
        at[0] += 1
    return True
