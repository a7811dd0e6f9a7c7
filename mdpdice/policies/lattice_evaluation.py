"""What policies are worth on a lattice: what is left of it when everybody follows them.

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
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import attrs
import numpy as np

from mdpdice.answers.answer import Provenance
from mdpdice.answers.grid_values import GridValues
from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution
from mdpdice.backend import Progress, Run
from mdpdice.errors import UnknownStateError, UnsupportedError
from mdpdice.lattices.digest import same_core
from mdpdice.lattices.lattice import FORBIDDEN, Lattice
from mdpdice.lattices.layer_solver import known_rows, solve_layers
from mdpdice.lattices.reachable_layers import find_layers
from mdpdice.modelling.counters import At
from mdpdice.modelling.distribution import Dist
from mdpdice.modelling.expressions import Expr, as_expr
from mdpdice.modelling.symbolic import ways_through
from mdpdice.networks.network import Ints, Kind
from mdpdice.policies.players import answers_of
from mdpdice.solving.lattice_route import certified
from mdpdice.solving.problem import library_version

__all__ = ["evaluate_lattice", "induce_lattice"]

POINTWISE_UP_TO_POINTS = 2_000_000
"""Points of a grid up to which a policy that cannot be followed symbolically is asked about every one."""
CHUNK_BYTES = 64 << 20
"""Size of the tables of the points that are looked at together."""


def evaluate_lattice(
    lattice: Lattice,
    policies: Sequence[Policy],
    *,
    epsilon: float = 1e-6,
    progress: Progress | None = None,
) -> Solution:
    """Value of every state of a lattice when everybody follows a policy, certified.

    Parameters
    ----------
    lattice : Lattice
        Undiscounted.
    policies : sequence of one or two
        As for `mdpdice.evaluate`.
    epsilon, progress
        As for `mdpdice.solve`.

    Raises
    ------
    UnknownStateError
        A policy takes an action that does not exist.
    GameError
        A function raised, or takes an action where it is not available.
    """
    started = time.perf_counter()
    run = Run(progress=progress)
    layers = find_layers(induce_lattice(lattice, policies), run)
    values, sweeps = solve_layers(layers, run)
    made = Provenance("evaluation", sense=lattice.sense, iterations=sweeps, version=library_version())
    found = certified(layers, values, made, run, epsilon, started)
    return attrs.evolve(found, given=policies[0] if len(policies) == 1 else tuple(policies))


def induce_lattice(lattice: Lattice, policies: Sequence[Policy]) -> Lattice:
    """The lattice that is left when everybody follows a policy."""
    apart = len(policies) == 2 and policies[0] is not policies[1]
    seats = 2 if apart and bool((lattice.sign < 0).any()) else 1
    rules = [_Rule(lattice, policy) for policy in (policies if apart else policies[:1])]
    n, decides = lattice.n_nodes, (lattice.kind == Kind.MAX) | (lattice.kind == Kind.MIN)
    guards = list(lattice.guards)
    edges: list[int] = []
    sides: list[int] = []
    conditions: list[int] = []
    numerators: list[int] = []
    weights: list[float] = []
    degree: list[int] = []
    for seat in range(seats):
        for node in range(n):
            own = range(int(lattice.indptr[node]), int(lattice.indptr[node + 1]))
            if decides[node]:
                second = seat if seats == 2 else int(apart and lattice.kind[node] == Kind.MIN)
                chosen = rules[second].choices(node)
                whole = math.lcm(*(chance.denominator for _, _, chance in chosen))
                for edge, condition, chance in chosen:
                    edges.append(edge)
                    conditions.append(-1 if condition is None else len(guards))
                    guards += [] if condition is None else [condition]
                    numerators.append(int(chance * whole))
                    weights.append(float(chance))
                degree.append(len(chosen))
            else:
                edges.extend(own)
                conditions.extend(lattice.guard[own.start : own.stop].tolist())
                numerators.extend(lattice.numerator[own.start : own.stop].tolist())
                weights.extend(lattice.weight[own.start : own.stop].tolist())
                degree.append(len(own))
        sides += [seat] * (len(edges) - len(sides))
    kept = np.array(edges, dtype=np.int64)
    side = np.array(sides, dtype=np.int64)
    if seats == 2:
        side = np.where(lattice.sign[kept] < 0, 1 - side, side)
    exact = np.array([*numerators, None], dtype=object)[:-1]
    return attrs.evolve(
        lattice,
        kind=np.tile(np.where(decides, Kind.CHANCE, lattice.kind).astype(np.uint8), seats),
        switch=np.tile(lattice.switch, seats),
        indptr=np.concatenate(([0], np.cumsum(degree))).astype(np.int64),
        dst=lattice.dst[kept] + n * side,
        weight=np.array(weights),
        numerator=exact if max(numerators, default=0) >= 1 << 48 else exact.astype(np.int64),
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
        table = policy.rule.table if isinstance(policy.rule, Solution) else None
        same = isinstance(table, GridValues) and same_core(lattice, table.lattice)
        self.grid = table if isinstance(table, GridValues) and same else None
        self._points: _Points | None = None

    def choices(self, node: int) -> list[Choice]:
        """The edges that are taken in a decision, each with a condition and a chance."""
        rule = self.policy.rule
        if callable(rule):
            core = _state(self.lattice, node)
            ways = ways_through(rule, core, self.lattice.axes)
            if ways is not None:
                found = []
                for condition, answer in ways:
                    for edge, also, chance in self._written(node, core, answer):
                        both = _both(None if condition.value else condition, also)
                        if both is None or both.value is not False:
                            found.append((edge, None if both is None or both.value else both, chance))
                return found
        return self._pointwise(node)

    # --- for all points at once ---------------------------------------------------

    def _written(self, node: int, core: Any, answer: Any) -> list[Choice]:
        lattice = self.lattice
        own = range(int(lattice.indptr[node]), int(lattice.indptr[node + 1]))
        first = lattice.first_action(node)
        actions = lattice.actions[first : first + len(own)]
        if isinstance(answer, Dist):
            whole = sum(answer.weights)
            parts = {
                one: Fraction(weight, whole)
                for one, weight in zip(answer.outcomes, answer.weights, strict=True)
            }
            self._refuse_unknown(core, parts, actions)
            return [
                (edge, _available(lattice, edge), parts[action])
                for edge, action in zip(own, actions, strict=True)
                if action in parts
            ]
        scores: Mapping[Hashable, Any] = answer if isinstance(answer, Mapping) else {answer: 0}
        self._refuse_unknown(core, scores, actions)
        options = [
            (edge, _available(lattice, edge), as_expr(scores[action]))
            for edge, action in zip(own, actions, strict=True)
            if action in scores
        ]
        found: list[Choice] = []
        for at, (edge, there, score) in enumerate(options):
            condition = there
            for other, (_, also, rival) in enumerate(options):
                if other != at:
                    better = rival >= score if other < at else rival > score
                    condition = _both(condition, _not(_both(also, as_expr(better))))
            found.append((edge, condition, Fraction(1)))
        return found

    def _refuse_unknown(self, core: Any, named: Mapping[Hashable, Any], actions: Sequence[Any]) -> None:
        unknown = [action for action in named if action not in actions]
        if unknown or not named:
            msg = f"the policy names no action of this state; they are {list(actions)!r}"
            raise UnknownStateError(msg, state=core, action=unknown[0] if unknown else None)

    # --- point by point -----------------------------------------------------------

    def _pointwise(self, node: int) -> list[Choice]:
        lattice = self.lattice
        if lattice.size > POINTWISE_UP_TO_POINTS:
            msg = (
                f"this policy would be asked about {lattice.size:,} points for every core state; write it with "
                "comparisons and sums of the counters alone, or use simulate()"
            )
            raise UnsupportedError(msg, value=self.policy, limit=POINTWISE_UP_TO_POINTS)
        if self._points is None:
            self._points = _Points(self)
        taken, answers = self._points.taken(node), self._points.answers
        index = _point_number(lattice)
        found: list[Choice] = []
        for number in np.unique(taken[taken >= 0]).tolist():
            here: tuple[bool, ...] = tuple((taken == number).tolist())
            condition = Expr("table", (here, index), 0, index.depth + 1)
            found += [(edge, condition, chance) for edge, chance in answers[number]]
        return found


class _Points:
    """What a policy does at every point that play can reach, as numbers of its different answers."""

    def __init__(self, rule: _Rule) -> None:
        self.lattice = lattice = rule.lattice
        self.rule = rule
        self.answers: list[tuple[tuple[int, Fraction], ...]] = []
        self._numbers: dict[tuple[tuple[int, Fraction], ...], int] = {}
        self.answer = answers_of(rule.policy)
        layers = find_layers(lattice)
        decisions = np.flatnonzero((lattice.kind == Kind.MAX) | (lattice.kind == Kind.MIN)).tolist()
        self._taken = {node: np.full(lattice.size, -1) for node in decisions}
        points = np.sort(np.concatenate([layer.points for layer in layers.layers]))
        grid = rule.grid
        rows = lattice.n_nodes + (0 if grid is None else grid.layers.program.n_rows * 8)
        chunk = max(64, CHUNK_BYTES // max(1, rows))
        for first in range(0, len(points), chunk):
            some = points[first : first + chunk]
            tables = layers.tables.at(some)
            there = layers.nodes_at(tables)
            known = None
            if grid is not None:
                known = known_rows(grid.layers.program, tables, grid.stored)
            for node in decisions:
                self._ask(node, np.flatnonzero(there[node]), tables, known)

    def taken(self, node: int) -> Ints:
        """Number of the answer at every point of the grid, -1 where play does not come."""
        return self._taken[node]

    def _ask(self, node: int, columns: Ints, tables: Any, known: Any) -> None:
        if not len(columns):
            return
        lattice, policy, grid = self.lattice, self.rule.policy, self.rule.grid
        edges = np.arange(int(lattice.indptr[node]), int(lattice.indptr[node + 1]))
        is_open = np.array([_open(lattice, edge, tables)[columns] for edge in edges.tolist()])
        points = tables.points[columns]
        if grid is not None:
            each = known[grid.layers.program.edge_row[edges]][:, columns]
            turn = -1.0 if grid.lattice.kind[node] == Kind.MIN else 1.0
            best = np.argmax(np.where(is_open, turn * each, -np.inf), axis=0)
            numbers = np.array([self._number(((int(edge), Fraction(1)),)) for edge in edges])
            self._taken[node][points] = numbers[best]
            return
        if policy.is_rule and policy.rule is None:
            patterns, which = np.unique(is_open, axis=1, return_inverse=True)
            numbers = np.array(
                [
                    self._number(tuple((int(edge), Fraction(1, int(column.sum()))) for edge in edges[column]))
                    for column in patterns.T
                ]
            )
            self._taken[node][points] = numbers[which.reshape(-1)]
            return
        core = _state(lattice, node)
        first = lattice.first_action(node)
        actions = lattice.actions[first : first + len(edges)]
        values = {name: column.tolist() for name, column in lattice.values(points).items()}
        for at, point in enumerate(points.tolist()):
            counters = {name: column[at] for name, column in values.items()}
            state: At[Any] = At(core, **counters)
            offered: dict[Any, int] = {}
            for edge, action, there in zip(edges.tolist(), actions, is_open[:, at].tolist(), strict=True):
                if there:
                    offered.setdefault(action, edge)
            chances = _chances(self.answer(state), offered, counters)
            unknown = [action for action in chances if action not in offered]
            if unknown or not chances:
                msg = f"the policy names no action that is available here; they are {list(offered)!r}"
                raise UnknownStateError(msg, state=state, action=unknown[0] if unknown else None)
            self._taken[node][point] = self._number(
                tuple((offered[action], chance) for action, chance in chances.items())
            )

    def _number(self, answer: tuple[tuple[int, Fraction], ...]) -> int:
        number = self._numbers.setdefault(answer, len(self.answers))
        if number == len(self.answers):
            self.answers.append(answer)
        return number


def _chances(answer: Any, offered: Mapping[Any, int], counters: Mapping[str, int]) -> dict[Any, Fraction]:
    """Chance of every action, of whatever a function answers at a point."""
    if isinstance(answer, Dist):
        whole = sum(answer.weights)
        return {
            one: Fraction(weight, whole) for one, weight in zip(answer.outcomes, answer.weights, strict=True)
        }
    if not isinstance(answer, Mapping):
        return {answer: Fraction(1)}
    scores = {action: as_expr(answer[action]).evaluate(counters) for action in offered if action in answer}
    return {max(scores, key=scores.__getitem__): Fraction(1)} if scores else {}


def _open(lattice: Lattice, edge: int, tables: Any) -> Any:
    """Whether an option is there, at the points of some tables."""
    guard, update = int(lattice.guard[edge]), int(lattice.update[edge])
    found = np.ones(len(tables.points), dtype=bool) if guard < 0 else tables.guards[guard]
    return found if update < 0 else found & (tables.targets[update] != FORBIDDEN)


def _point_number(lattice: Lattice) -> Expr:
    """The number of a point, as an expression over the counters."""
    number = as_expr(0)
    for axis, stride in zip(lattice.axes, lattice.strides, strict=True):
        values, counter = axis.values, Expr("counter", (axis.name,), 1)
        away = counter - values.start if values.step > 0 else values.start - counter
        number = number + away // abs(values.step) * stride
    return number


def _state(lattice: Lattice, node: int) -> Any:
    """Core state of a decision: its own, or that of the switch which stands for it."""
    while lattice.node_state[node] < 0:
        before = np.flatnonzero(lattice.dst == node)
        node = int(np.searchsorted(lattice.indptr, before[0], side="right")) - 1
    return lattice.states[int(lattice.node_state[node])]


def _available(lattice: Lattice, edge: int) -> Expr | None:
    """When an option is there; None: always."""
    guard = int(lattice.guard[edge])
    there = lattice.guards[guard] if guard >= 0 else None
    axes = {axis.name: axis for axis in lattice.axes}
    for change in lattice.updates[lattice.update[edge]] if lattice.update[edge] >= 0 else ():
        axis = axes[change.name]
        if axis.outside != "forbid":
            continue
        low, high = min(axis.values), max(axis.values)
        there = _both(there, as_expr(change.value >= low))
        there = _both(there, as_expr(change.value <= high))
    return there


def _both(one: Expr | None, other: Expr | None) -> Expr | None:
    if one is None or other is None:
        return other if one is None else one
    if one.value is not None or other.value is not None:
        fixed, free = (one, other) if one.value is not None else (other, one)
        return free if fixed.value else fixed
    return one & other


def _not(expr: Expr | None) -> Expr:
    """What holds where a condition does not; a condition that is None always holds."""
    if expr is None:
        return as_expr(value=False)
    return as_expr(not expr.value) if expr.value is not None else ~expr
