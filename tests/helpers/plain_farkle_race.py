"""Farkle for two whose dice differ, by plain sweeps over every position of both seats."""

from __future__ import annotations

import itertools


def plain_race(tables, full, target, step=50):
    """P(win) of who is about to roll, by (seat, dice, own score, other score, points of the turn).

    `tables` gives for each of the two seats, and a set of dice (a count per kind), the (weight, best, {(points, dice
    next)}) of all rolls and their total weight; `full` is the set of all dice of each seat.
    """
    scores = range(0, target, step)
    win = {}
    for seat, (own, other) in itertools.product((0, 1), itertools.product(scores, scores)):
        for dice in tables[seat]:
            for turn in range(0, target - own, step):
                win[seat, dice, own, other, turn] = 0.5
    change = 1.0
    while change > 1e-14:
        change = 0.0
        for (seat, dice, own, other, turn), before in list(win.items()):
            there = 1 - seat
            lines, weights = tables[seat][dice]
            total = 0.0
            for weight, best, keeps in lines:
                if not best:
                    total += weight * (1 - win[there, full[there], other, own, 0])
                    continue
                at = own + turn
                worth = 1.0 if at + best >= target else 1 - win[there, full[there], other, at + best, 0]
                for points, left in keeps:
                    if at + points < target:
                        worth = max(worth, win[seat, left, own, other, turn + points])
                total += weight * worth
            win[seat, dice, own, other, turn] = total / weights
            change = max(change, abs(before - total / weights))
    return win
