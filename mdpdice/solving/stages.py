"""Answers with more stages than are kept: the others are found again when they are asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from mdpdice.answers.node_values import NodeValues, steps_of
from mdpdice.answers.solution import Solution
from mdpdice.backend import Candidate, Run, Solver, record
from mdpdice.certification.checking.large import verify_blocks
from mdpdice.certification.residual_bounds import find_stages, order_of_stages
from mdpdice.certification.verdict import Verdict
from mdpdice.networks.network import Floats, Ints, Kind
from mdpdice.numerics.operator import bellman, unsigned
from mdpdice.solving.problem import Problem, lift

KEPT_UP_TO = 1 << 20
"""Nodes of all stages together up to which every stage is kept, as it is where there are more nodes than stages."""
_ARRAYS = "values", "lowers", "uppers", "choice"


def solve_stages(problem: Problem, solver: Solver, run: Run, epsilon: float, started: float) -> Solution | None:
    """Solve and certify by backward induction; None where every stage is kept, or where nothing was proved."""
    net = problem.canonical
    if net.horizon is None or net.horizon < max(net.n_nodes, KEPT_UP_TO // net.n_nodes):
        return None
    order = order_of_stages(net)
    if order is None:
        return None
    record({solver.name})
    table, widths = Stages(problem, order), [0.0]
    if verify_blocks(net, table.found(run, widths), order[1]) or not max(widths) <= epsilon:
        return None
    value, policy, bounds = table.find(len(table.last) - 1)
    verdict = Verdict(True, *intervals(bounds), max(widths))
    answer = Candidate(value, policy, net.horizon + 1, {"called": frozenset()})
    return attrs.evolve(lift(problem, solver, answer, value, policy, verdict, started), table=table)


class Stages(NodeValues):
    """The values of a network by blocks of stages: of each the last stage is kept, and the next block starts there.

    The loops that found a block find it again, to the last digit, so what was verified of it holds.
    """

    def __init__(self, problem: Problem, order: Any) -> None:
        net = problem.canonical
        chance = order[0][net.kind[order[0]] == Kind.CHANCE]
        self.problem, self.order, self.count = problem, order, 1 + (net.horizon or 0)
        self.length = math.isqrt(self.count)
        self.sweep: Any = (bellman(net).rows, unsigned(np.flatnonzero(net.decides)), unsigned(chance))
        self.last: list[tuple[Floats, Floats]] = []
        self.recent: tuple[int, Any] = -1, ()
        self.network, self.exact = problem.network, None  # type: ignore[misc]

    __setattr__ = object.__setattr__

    def found(self, run: Run, widths: list[float]) -> Iterator[tuple[Ints, Floats]]:
        """Find policy and bounds block by block; the largest relative width of each goes to `widths`."""
        for first in range(0, self.count, self.length):
            run.check()
            value, policy, bounds = self.find(len(self.last))
            yield policy, bounds
            self.last.append((value[-1].copy(), bounds[-1].copy()))
            low, high = intervals(bounds)
            # The value must lie in its own interval.
            relative = np.where((low <= value) & (value <= high), (high - low) / np.maximum(1.0, np.abs(value)), np.inf)
            widths.append(float(relative.max()))
            run.tell("solve", done=first + len(value) - 1, total=self.count - 1)

    def find(self, at: int) -> tuple[Floats, Ints, Floats]:
        """Find values, policy and bounds of a block of the canonical problem; the one before it was found once."""
        from mdpdice.numerics.kernels import bellman as kernels

        net, known = self.problem.canonical, min(at, 1)
        shape = known + min(self.length, self.count - at * self.length), net.n_nodes
        value, policy = np.where(net.kind == Kind.END, net.payoff, np.zeros(shape)), np.full(shape, -1)
        before = None
        if known:
            value[0], before = self.last[at - 1]
        kernels.backup_stages(*self.sweep, value, policy, known, len(value))  # type: ignore[call-arg]
        found = find_stages(net, value, policy, lambda: None, self.order, before)
        # No checker accepts infinite ones.
        bounds = np.full((len(value), 2 * net.n_nodes), np.inf) if found is None else found[0]
        return value[known:], policy[known:], bounds[known:]

    def block(self, at: int) -> Any:
        """Values, lower and upper ends, and policy of a block for the network; the last one asked for is at hand."""
        if at != self.recent[0]:
            value, policy, bounds = self.find(at)
            self.recent = at, self.problem.lifted(value, *intervals(bounds), policy)
        return self.recent[1]

    def rows(self, steps_left: int | None) -> Any:
        """Return values, lower and upper ends, and chosen edges for a number of decisions left."""
        at, row = divmod(steps_of(self.network, steps_left) or 0, self.length)
        return tuple(array[row] for array in self.block(at))

    def __getattr__(self, name: str) -> Any:
        """Return an array of all stages, for those who want to see them side by side."""
        if name not in _ARRAYS:
            raise AttributeError(name)
        which = _ARRAYS.index(name)
        array = np.concatenate([self.block(at)[which] for at in range(len(self.last))])
        setattr(self, name, array)
        return array


def intervals(bounds: Floats) -> tuple[Floats, Floats]:
    """Return lower and upper ends."""
    lower, upper = np.split(bounds, 2, axis=1)
    return 0.0 - lower, upper
