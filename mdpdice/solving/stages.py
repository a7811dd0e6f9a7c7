"""Answers of so many stages that only some are kept: those between them are found again when they are asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from mdpdice.answers.node_values import NodeValues, steps_of
from mdpdice.answers.solution import Solution
from mdpdice.backend import Candidate, Run, Solver, traced
from mdpdice.certification.checking.large import verify_blocks
from mdpdice.certification.residual_bounds import find_stages, order_of_stages
from mdpdice.certification.verdict import judge
from mdpdice.networks.network import Floats, Ints, Kind, Network
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
    if (order := order_of_stages(net)) is None:
        return None
    table = Stages(problem, order)
    candidate = table.solve(net, run)
    width = candidate.details["width"]
    if not width <= epsilon:
        return None
    candidate = attrs.evolve(candidate, details={"called": frozenset()})
    value, policy, bounds = table.find(len(table.last) - 1)
    verdict = attrs.evolve(judge(net, value, bounds, epsilon), width=width)
    return attrs.evolve(lift(problem, solver, candidate, value, policy, verdict, started), table=table)


class Stages(NodeValues):
    """The values of a network by blocks of stages: of each the last stage is kept, and the next block starts there.

    The loops that found a block find it again, to the last digit, so what was verified of it holds.
    """

    name = "backward-induction"  # whom `traced` records

    def __init__(self, problem: Problem, order: Any) -> None:
        net = problem.canonical
        chance = order[0][net.kind[order[0]] == Kind.CHANCE]
        self.problem, self.order, self.count = problem, order, 1 + (net.horizon or 0)
        self.length = math.isqrt(self.count)
        self.sweep: Any = (*bellman(net).edges, unsigned(np.flatnonzero(net.decides)), unsigned(chance))
        self.last: list[tuple[Floats, Floats]] = []
        self.recent: tuple[int, Any] = -1, ()
        self.network, self.exact = problem.network, None  # type: ignore[misc]

    __setattr__ = object.__setattr__

    @traced
    def solve(self, problem: Network, run: Run) -> Candidate:
        """Find every block, and return the last; its details have the largest `width`, NaN where one was refused."""
        found: list[Any] = [np.zeros(0), np.zeros(0)]
        widths = [0.0]

        def blocks() -> Iterator[tuple[Ints, Floats]]:
            for first in range(0, self.count, self.length):
                run.check()
                value, policy, bounds = self.find(len(self.last))
                yield policy, bounds
                self.last.append((value[-1].copy(), bounds[-1].copy()))
                found[:] = value, policy
                widths.append(judge(problem, value, bounds, np.inf).width)
                run.tell("solve", done=first + len(value) - 1, total=self.count - 1)

        reason = verify_blocks(problem, blocks(), self.order[1])
        details = {"width": np.nan if reason else max(widths)}
        return Candidate(found[0], found[1], iterations=self.count, details=details)

    def find(self, at: int) -> tuple[Floats, Ints, Floats]:
        """Find values, policy and bounds of a block of the canonical problem; the one before it was found once."""
        from mdpdice.numerics.kernels import bellman as kernels

        net, known = self.problem.canonical, min(at, 1)
        shape = known + min(self.length, self.count - at * self.length), net.n_nodes
        value, policy = np.where(net.kind == Kind.END, net.payoff, np.zeros(shape)), np.full(shape, -1)
        before = None
        if known:
            value[0], before = self.last[at - 1]
        kernels.backup_stages(*self.sweep, value, policy, known, len(value))
        found = find_stages(net, value, policy, lambda: None, self.order, before)
        # No checker accepts these.
        bounds = np.full((len(value), 2 * net.n_nodes), np.inf) if found is None else found[0]
        return value[known:], policy[known:], bounds[known:]

    def block(self, at: int) -> Any:
        """Values, both ends of the intervals and policy of a block for the network; the last one asked for is kept."""
        if at != self.recent[0]:
            value, policy, bounds = self.find(at)
            lower, upper = np.split(bounds, 2, axis=1)
            self.recent = at, self.problem.lifted(value, 0.0 - lower, upper, policy)
        return self.recent[1]

    def rows(self, steps_left: int | None) -> tuple[Floats, Floats, Floats, Ints]:
        """Return values, lower and upper ends, and chosen edges for a number of decisions left."""
        at, row = divmod(steps_of(self.network, steps_left) or 0, self.length)
        values, lowers, uppers, choice = self.block(at)
        return values[row], lowers[row], uppers[row], choice[row]

    def __getattr__(self, name: str) -> Any:
        """Return an array of all stages, for those who want to see them side by side."""
        if name not in _ARRAYS:
            raise AttributeError(name)
        which = _ARRAYS.index(name)
        array = np.concatenate([self.block(at)[which] for at in range(len(self.last))])
        setattr(self, name, array)
        return array
