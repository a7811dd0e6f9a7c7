"""What policies are worth on a lattice: its value when all players follow them.

A policy is a rule there: a function of the state, a solution, or chance.  A function answers

* with an action;
* with a `mdpdice.Dist` of actions; or
* with a mapping of actions to scores, numbers or expressions over the counters: of the actions that are
  available the one with the largest score is taken, the first of them on a tie.  Actions without a
  score are never taken.

Where it can be, it is asked once about every core state, for all values of the counters at once
(`mdpdice.modelling.symbolic`), and otherwise at every point that play can reach.

`induce_lattice` writes the policies into the lattice: a decision becomes a chance node whose edges have
complementary guards.  What comes out is a lattice without decisions, which is solved and certified like any other.
With a policy for each of two players who pass the move to each other the core is written twice, once for each to move.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import attrs
import numpy as np

from mdpdice.answers.answer import Provenance
from mdpdice.answers.grid_values import open_edges
from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution
from mdpdice.backend import Progress, Run
from mdpdice.errors import UnknownStateError, UnsupportedError
from mdpdice.lattices.grid_tables import Tables
from mdpdice.lattices.lattice import Lattice
from mdpdice.lattices.layer_solver import known_rows, solve_layers
from mdpdice.lattices.reachable_layers import find_layers
from mdpdice.modelling.distribution import Dist
from mdpdice.modelling.expressions import Expr, as_expr
from mdpdice.modelling.symbolic import ways_through
from mdpdice.networks.network import Floats, Ints, Kind
from mdpdice.policies.lattice_rules import Chances, PointRule, core_state
from mdpdice.solving.lattice_route import certified
from mdpdice.solving.problem import library_version

POINTWISE_UP_TO_POINTS = 2_000_000
"""Points of a grid up to which a policy that cannot be followed symbolically is asked about every one."""
POINTWISE_UP_TO_ANSWERS = 100_000
"""Different answers of a policy on a lattice up to which it is evaluated; more would take minutes."""
CHUNK_BYTES = 64 << 20
"""Size of the tables of the points that are looked at together."""


def evaluate_lattice(
    lattice: Lattice, policies: Sequence[Policy], *, epsilon: float = 1e-6, progress: Progress | None = None
) -> Solution:
    """Return the certified values of all states of an undiscounted lattice when all players follow a policy."""
    started = time.perf_counter()
    run = Run(progress=progress)
    layers = find_layers(induce_lattice(lattice, policies), run)
    values, sweeps = solve_layers(layers, run)
    made = Provenance("evaluation", sense=lattice.sense, iterations=sweeps, version=library_version())
    found = certified(layers, values, made, run, epsilon, started)
    return attrs.evolve(found, given=policies[0] if len(policies) == 1 else tuple(policies))


def induce_lattice(lattice: Lattice, policies: Sequence[Policy]) -> Lattice:
    """Return the lattice that is left when all players follow a policy."""
    apart = policies[0] is not policies[-1]
    seats = 2 if apart and bool((lattice.sign < 0).any()) else 1
    rules = [_Rule(lattice, policy) for policy in (policies if apart else policies[:1])]
    n, decides = lattice.n_nodes, (lattice.kind == Kind.MAX) | (lattice.kind == Kind.MIN)
    guards = list(lattice.guards)
    rows: list[tuple[int, int, int, float]] = []
    ends: list[int] = []
    for seat in range(seats):
        for node in range(n):
            if decides[node]:
                second = seat if seats == 2 else int(apart and lattice.kind[node] == Kind.MIN)
                chosen = rules[second].choices(node)
                whole = math.lcm(*(chance.denominator for _, _, chance in chosen))
                for edge, condition, chance in chosen:
                    guard = -1 if condition is None else len(guards)
                    guards += [] if condition is None else [condition]
                    rows.append((edge, guard, int(chance * whole), float(chance)))
            else:
                own = slice(int(lattice.indptr[node]), int(lattice.indptr[node + 1]))
                parts = (column[own].tolist() for column in (lattice.guard, lattice.numerator, lattice.weight))
                rows += zip(range(own.start, own.stop), *parts, strict=True)
            ends.append(len(rows))
    indptr = np.array([0, *ends])
    edges, conditions, numerators, weights = zip(*rows, strict=True)
    kept = np.array(edges)
    side = np.repeat(np.arange(seats * n) // n, np.diff(indptr))
    if seats == 2:
        side = np.where(lattice.sign[kept] < 0, 1 - side, side)
    exact = np.array([*numerators, None], dtype=object)[:-1]
    return attrs.evolve(
        lattice,
        kind=np.tile(np.where(decides, Kind.CHANCE, lattice.kind).astype(np.uint8), seats),
        switch=np.tile(lattice.switch, seats),
        indptr=indptr,
        dst=lattice.dst[kept] + n * side,
        weight=np.array(weights),
        numerator=exact if max(numerators) >= 1 << 48 else exact.astype(np.int64),
        sign=lattice.sign[kept],
        guard=np.array(conditions, dtype=np.int32),
        update=lattice.update[kept],
        reward=lattice.reward[kept],
        payoff=np.tile(lattice.payoff, seats),
        guards=tuple(guards),
        node_state=np.tile(lattice.node_state, seats),
        actions=(),
    )


Choice: TypeAlias = "tuple[int, Expr | None, Fraction]"
"""An edge, the condition under which it may be taken (None: always), and its chance then."""


class _Rule:
    """What a policy does in the decisions of a lattice."""

    def __init__(self, lattice: Lattice, policy: Policy) -> None:
        self.lattice = lattice
        self.policy = policy
        self.answers: list[Chances] = []

    def choices(self, node: int) -> list[Choice]:
        """Return the edges that are taken in a decision, each with a condition and a chance."""
        rule = self.policy.rule
        core = core_state(self.lattice, node)
        ways = ways_through(rule, core, self.lattice.axes) if callable(rule) else None
        if ways is None:
            return self._pointwise(node)
        found = []
        for condition, answer in ways:
            for edge, also, chance in self._written(node, core, answer):
                both = _both(None if condition.value else condition, also)
                if both is None or both.value is not False:
                    found.append((edge, None if both is None or both.value else both, chance))
        return found

    def _written(self, node: int, core: Any, answer: Any) -> list[Choice]:
        """Return what an answer for all points at once comes to."""
        lattice = self.lattice
        edge, last = int(lattice.indptr[node]), int(lattice.indptr[node + 1])
        first = lattice.first_action(node)
        actions = lattice.actions[first : first + last - edge]
        named = answer if isinstance(answer, Dist | Mapping) else {answer: 0}
        if (unknown := [action for action in named if action not in actions]) or not named:
            msg = f"the policy names no action of this state; they are {list(actions)!r}"
            raise UnknownStateError(msg, state=core, action=unknown[0] if unknown else None)
        options = [(edge + at, action) for at, action in enumerate(actions) if action in named]
        if isinstance(named, Dist):
            return [(one, _available(lattice, one), named.prob(action)) for one, action in options]
        scored = [(one, _available(lattice, one), as_expr(named[action])) for one, action in options]
        found: list[Choice] = []
        for at, (one, there, score) in enumerate(scored):
            condition = there
            for other, (_, also, rival) in enumerate(scored):
                if other != at:
                    better = rival >= score if other < at else rival > score
                    condition = _both(condition, _not(_both(also, as_expr(better))))
            found.append((one, condition, Fraction(1)))
        return found

    def _pointwise(self, node: int) -> list[Choice]:
        lattice = self.lattice
        if lattice.size > POINTWISE_UP_TO_POINTS:
            how = "write it with comparisons and sums of the counters alone, or use simulate()"
            msg = f"this policy would be asked about {lattice.size:,} points for every core state; {how}"
            raise UnsupportedError(msg, value=self.policy, limit=POINTWISE_UP_TO_POINTS)
        taken, index = self._taken[node], _point_number(lattice)
        found: list[Choice] = []
        for number in np.unique(taken[taken >= 0]).tolist():
            here: tuple[bool, ...] = tuple((taken == number).tolist())
            condition = Expr("table", (here, index), 0, index.depth + 1)
            found += [(edge, condition, chance) for edge, chance in self.answers[number]]
        return found

    @cached_property
    def _taken(self) -> dict[int, Ints]:
        """For every decision the number of the answer at every point of the grid, -1 where play does not come."""
        lattice, rule = self.lattice, PointRule.of(self.lattice, self.policy)
        program = None if rule.grid is None else rule.grid.layers.program
        layers = find_layers(lattice)
        decisions = np.flatnonzero((lattice.kind == Kind.MAX) | (lattice.kind == Kind.MIN)).tolist()
        taken = {node: np.full(lattice.size, -1) for node in decisions}
        points = np.sort(np.concatenate([layer.points for layer in layers.layers]))
        rows = lattice.n_nodes + (0 if program is None else program.n_rows * 8)
        numbers: dict[Chances, int] = {}
        chunk = max(64, CHUNK_BYTES // max(1, rows))
        for first in range(0, len(points), chunk):
            tables = layers.tables.at(points[first : first + chunk])
            there = layers.nodes_at(tables)
            known = None
            if rule.grid is not None and program is not None:
                known = known_rows(program, tables, rule.grid.stored)
            for node in decisions:
                if len(columns := np.flatnonzero(there[node])):
                    chances, which = _asked(rule, node, tables, columns, known)
                    at = [numbers.setdefault(answer, len(numbers)) for answer in chances]
                    taken[node][tables.points[columns]] = np.array(at)[which]
                    if len(numbers) > POINTWISE_UP_TO_ANSWERS:
                        why = "which would take minutes to evaluate; use simulate()"
                        msg = f"this policy gives more than {POINTWISE_UP_TO_ANSWERS:,} different answers, {why}"
                        raise UnsupportedError(msg, value=self.policy, limit=POINTWISE_UP_TO_ANSWERS)
        self.answers = list(numbers)
        return taken


def _asked(
    rule: PointRule, node: int, tables: Tables, columns: Ints, known: Floats | None
) -> tuple[list[Chances], Ints]:
    """Answers of a policy in a decision, and which of them it gives at each of some points."""
    lattice, grid = rule.lattice, rule.grid
    edges = np.arange(lattice.indptr[node], lattice.indptr[node + 1])
    is_open = open_edges(lattice, edges[:, None], columns, tables)
    if grid is not None and known is not None:
        each = known[grid.layers.program.edge_row[edges]][:, columns]
        turn = -1.0 if grid.lattice.kind[node] == Kind.MIN else 1.0
        best = np.argmax(np.where(is_open, turn * each, -np.inf), axis=0)
        return [((edge, Fraction(1)),) for edge in edges.tolist()], best
    if rule.function is None:
        patterns, which = np.unique(is_open, axis=1, return_inverse=True)
        return [
            tuple((edge, Fraction(1, int(column.sum()))) for edge in edges[column].tolist()) for column in patterns.T
        ], which.reshape(-1)
    values = {name: column.tolist() for name, column in lattice.values(tables.points[columns]).items()}
    chances = [
        rule.edges(node, dict(zip(values, counters, strict=True)), there)
        for *counters, there in zip(*values.values(), is_open.T.tolist(), strict=True)
    ]
    return chances, np.arange(len(columns))


def _point_number(lattice: Lattice) -> Expr:
    """Return the number of a point, as an expression over the counters."""
    number = as_expr(0)
    for axis, stride in zip(lattice.axes, lattice.strides, strict=True):
        values, counter = axis.values, Expr("counter", (axis.name,), 1)
        away = counter - values.start if values.step > 0 else values.start - counter
        number = number + away // abs(values.step) * stride
    return number


def _available(lattice: Lattice, edge: int) -> Expr | None:
    """When an option is there; None: always."""
    guard = int(lattice.guard[edge])
    there = lattice.guards[guard] if guard >= 0 else None
    axes = {axis.name: axis for axis in lattice.axes}
    for change in lattice.updates[lattice.update[edge]] if lattice.update[edge] >= 0 else ():
        axis = axes[change.name]
        if axis.outside != "forbid":
            continue
        within = (change.value >= min(axis.values)) & (change.value <= max(axis.values))
        there = _both(there, as_expr(within))
    return there


def _both(one: Expr | None, other: Expr | None) -> Expr | None:
    return other if one is None else one if other is None else one & other


def _not(expr: Expr | None) -> Expr:
    """Return what holds where a condition does not; None always holds."""
    return as_expr(value=False) if expr is None else ~expr
