"""Objectives of the whole payoff on a lattice: a counter for the rewards on the way, and what payoffs are worth.

The counter `COLLECTED` holds the sum of the rewards, in parts of one over their common denominator.  Where a
threshold settles everything from some sum on, the counter stops there, and so does the play; otherwise it goes up to
the largest sum that a play can collect, which one sweep finds: all players maximise it, and chance does too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any, NoReturn

import attrs
import numpy as np

from mdpdice.backend import Run
from mdpdice.errors import GameError, UnsupportedError
from mdpdice.lattices.lattice import Lattice
from mdpdice.lattices.layer_solver import solve_layers
from mdpdice.lattices.reachable_layers import find_layers
from mdpdice.modelling.counters import Axis, CounterValue
from mdpdice.modelling.expressions import FLOAT, Expr, as_expr, least, most, table
from mdpdice.networks.network import Kind
from mdpdice.objectives.collected import COLLECTED, refuse_counter
from mdpdice.objectives.lattice_endings import end_where
from mdpdice.objectives.objective import OfPayoff, PayoffAtLeast, PayoffAtMost, refuse_pass_to

MOST_POINTS = 1 << 31
"""Points of the grid from which on there is no room for the sums."""
MOST_VALUES = 1 << 20
"""Most values of an expression, and of the counters in it, that are looked at."""


def pay_worth(lattice: Lattice, objective: OfPayoff, run: Run) -> tuple[Lattice, bool]:
    """Return the lattice whose ends pay the worth of the whole payoff, and whether an endless play has a worth."""
    refuse_pass_to(lattice, objective)
    if not lattice.pays:
        return _with_worths(lattice, objective, as_expr(0), 1, 0), bool(objective.worth(Fraction(0)))
    if lattice.averaged:
        how = "compile_lattice(game, merge=False)"
        _refuse(objective, f"this lattice holds means of rewards that differ; {how}")
    used = np.unique(lattice.reward[lattice.reward >= 0]).tolist()
    unit = math.lcm(*(_denominator(lattice.rewards[at]) for at in used))
    paid = {at: _whole(lattice.rewards[at], unit, objective) for at in used}
    if any(_values(lattice, one, objective).min(initial=0) < 0 for one in paid.values()):
        _refuse(objective, "some rewards during the play are below 0")
    floor = min([Fraction(0), *(_least(lattice, expr, objective) for expr in _payoffs(lattice))])
    top = objective.top(unit, floor)
    last = _largest_sum(lattice, paid, objective, run) if top is None else max(0, top)
    if lattice.size * (last + 1) >= MOST_POINTS:
        _refuse(objective, f"its sums go up to {last:,}, on {lattice.size:,} points of the other counters")
    lowered = _with_worths(with_counter(lattice, paid, last), objective, CounterValue(COLLECTED), unit, last)
    if top is None:
        return lowered, True
    settled, worth = CounterValue(COLLECTED) >= last, as_expr(objective.worth(Fraction(top, unit) + floor))
    endless = any(objective.worth(Fraction(collected, unit)) for collected in range(last))
    return end_where(lowered, {state: [(settled, worth)] for state in range(len(lattice.states))}), endless


def _refuse(objective: OfPayoff, why: str) -> NoReturn:
    numbers = "whole numbers or fractions, the rewards not below 0, with few different sums"
    how = "Count them in a counter and pay them with end(...), or use solve(explore(game), ...)"
    name = type(objective).__name__
    msg = f"on a lattice {name} takes rewards on the way and payoffs that are {numbers}: {why}. {how}"
    raise UnsupportedError(msg, value=objective)


def with_counter(lattice: Lattice, paid: dict[int, Expr], last: int) -> Lattice:
    """Return the lattice that counts its rewards instead of paying them."""
    refuse_counter([axis.name for axis in lattice.axes])
    collected = CounterValue(COLLECTED)
    updates = list(lattice.updates)
    known: dict[tuple[int, int], int] = {}
    update = lattice.update.copy()
    paying = np.flatnonzero(lattice.reward >= 0).tolist()
    for edge in paying:
        key = int(update[edge]), int(lattice.reward[edge])
        if key not in known:
            known[key] = len(updates)
            updates.append((*(updates[key[0]] if key[0] >= 0 else ()), collected.add(paid[key[1]])))
        update[edge] = known[key]
    if (progress := lattice.progress) is not None and any(lattice.update[edge] < 0 for edge in paying):
        # An edge that only pays would stay in its layer.
        progress = (*progress, collected)
    return attrs.evolve(
        lattice,
        axes=(*lattice.axes, Axis(COLLECTED, range(last + 1), 0, "clip")),
        updates=tuple(updates),
        update=update,
        reward=np.full_like(lattice.reward, -1),
        start_point=lattice.start_point * (last + 1),
        progress=progress,
        averaged=False,
    )


def _largest_sum(lattice: Lattice, paid: dict[int, Expr], objective: OfPayoff, run: Run) -> int:
    """Return the largest sum of rewards that a play can collect."""
    moves = (lattice.kind != Kind.END) & (lattice.indptr[1:] > lattice.indptr[:-1])
    greedy = attrs.evolve(
        lattice,
        kind=np.where(moves, np.uint8(Kind.MAX), lattice.kind),
        switch=np.zeros_like(lattice.switch),
        payoff=np.full_like(lattice.payoff, -1),
        rewards=tuple([paid.get(at, as_expr(0)) for at in range(len(lattice.rewards))]),
        total=Fraction(0),
        actions=(),
    )
    if (layers := find_layers(greedy, run)).cyclic:
        _refuse(objective, "play can come back to counters that it had, so it is not known how much it collects")
    return int(solve_layers(layers, run)[0][0, lattice.start_point])


def _payoffs(lattice: Lattice) -> Iterator[Expr]:
    """Yield the payoffs of the ends; 0 has no expression of its own."""
    for number in np.unique(lattice.payoff[lattice.kind == Kind.END]).tolist():
        yield as_expr(0) if number < 0 else lattice.rewards[number]


def _with_worths(lattice: Lattice, objective: OfPayoff, collected: Expr, unit: int, last: int) -> Lattice:
    """Return the lattice whose ends pay what their payoff, with what was collected, is worth."""
    ends = lattice.kind == Kind.END
    payoff = np.full_like(lattice.payoff, -1)
    payoff[ends] = np.unique(lattice.payoff[ends], return_inverse=True)[1]
    if isinstance(objective, PayoffAtLeast | PayoffAtMost):
        worths = [_compared(expr, objective, collected, unit) for expr in _payoffs(lattice)]
    else:
        worths = [_tabulated(lattice, expr, objective, collected, unit, last) for expr in _payoffs(lattice)]
    return attrs.evolve(lattice, rewards=tuple(worths), payoff=payoff, total=Fraction(0), averaged=False)


def _compared(payoff: Expr, objective: PayoffAtLeast | PayoffAtMost, collected: Expr, unit: int) -> Expr:
    """Whether the payoff, with what was collected, is on the right side of the threshold."""
    if not math.isfinite(objective.threshold):
        return as_expr(objective.worth(Fraction(0)))
    bound: Any = objective.threshold
    if collected.value is None:
        # The payoff alone on one side: a float is compared exactly, and added it would be rounded.
        bound = (Fraction(bound) * unit - collected) * Fraction(1, unit)
    return as_expr(payoff >= bound if isinstance(objective, PayoffAtLeast) else payoff <= bound)


def _tabulated(lattice: Lattice, payoff: Expr, objective: OfPayoff, collected: Expr, unit: int, last: int) -> Expr:
    """Return the worth of the payoff with what was collected, looked up in a table of all their sums."""
    if payoff.value is not None and collected.value is not None:
        return as_expr(_worth(objective, Fraction(payoff.value)))
    finer = math.lcm(unit, _denominator(payoff))
    own = _whole(payoff, finer, objective)
    step = finer // unit
    alone = np.unique(_values(lattice, own, objective)).tolist()
    low, high = min(alone, default=0), max(alone, default=0) + step * last
    if max(high - low, len(alone) * last) >= MOST_VALUES:
        _refuse(objective, f"payoffs go from {low:,} to {high:,}, in parts of 1/{finer}")
    entries = [0] * (high - low + 1)
    for value in sorted({value + step * more for value in alone for more in range(last + 1)}):
        entries[value - low] = _worth(objective, Fraction(value, finer))
    return table(entries, own + step * collected - low)


def _worth(objective: OfPayoff, payoff: Fraction) -> Any:
    try:
        return as_expr(objective.worth(payoff)).value
    except GameError as error:
        how = "give it a number there, or make the ranges smaller"
        msg = f"{error}; on a lattice it is asked about every payoff that counters in their ranges can make, so {how}"
        raise GameError(msg, value=payoff) from error


def _denominator(expr: Expr) -> int:
    """Return the common denominator of the numbers in an expression."""
    if expr.op == "constant":
        return Fraction(expr.args[0]).denominator
    parts = [_denominator(arg) for arg in expr.args if isinstance(arg, Expr)]
    entries = expr.args[0] if expr.op == "table" else ()
    return math.lcm(*parts, *(Fraction(entry).denominator for entry in entries))


def _whole(expr: Expr, unit: int, objective: OfPayoff) -> Expr:
    """Multiply an expression by `unit`, which gives whole numbers."""
    args = expr.args
    scaled = partial(_whole, unit=unit, objective=objective)
    if expr.value is not None and (Fraction(expr.value) * unit).denominator == 1:
        return as_expr(int(Fraction(expr.value) * unit))
    if expr.integral:
        return expr * unit
    if expr.op == "table" and all(isinstance(entry, int | Fraction) for entry in args[0]):
        return table([int(entry * unit) for entry in args[0]], args[1])
    if expr.op == "+":
        return as_expr(sum(map(scaled, args[1:]), start=scaled(args[0])))
    if expr.op in ("-", "neg"):
        return scaled(args[0]) - scaled(args[1]) if expr.op == "-" else -scaled(args[0])
    if expr.op in ("least", "most"):
        return (least if expr.op == "least" else most)(*map(scaled, args))
    if expr.op == "*":
        fractions = [arg for arg in args if not arg.integral]
        others = [arg for arg in args if arg.integral]
        if len(fractions) == 1:
            return math.prod(others, start=scaled(fractions[0]))
    return _refuse(objective, f"{expr!r} is not a whole number in parts of 1/{unit}")


def _least(lattice: Lattice, expr: Expr, objective: OfPayoff) -> Fraction:
    """Smallest value of an expression on the grid, or 0."""
    if expr.kind == FLOAT and expr.value is None:
        return Fraction(float(_values(lattice, expr, objective).min(initial=0.0)))
    unit = _denominator(expr)
    return Fraction(int(_values(lattice, _whole(expr, unit, objective), objective).min(initial=0)), unit)


def _values(lattice: Lattice, expr: Expr, objective: OfPayoff) -> Any:
    """Values of an expression for all values of its counters, where it has one."""
    axes = [axis for axis in lattice.axes if axis.name in expr.names]
    if math.prod(len(axis.values) for axis in axes) > MOST_VALUES:
        _refuse(objective, f"{expr!r} depends on too many values of counters")
    grids = np.meshgrid(*(np.array(axis.values) for axis in axes), indexing="ij")
    points = {axis.name: values.reshape(-1) for axis, values in zip(axes, grids, strict=True)}
    found, defined = expr.evaluate_where_defined(points)
    return found[defined]
