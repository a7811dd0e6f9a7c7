"""Value iteration: component by component, with bounds on both sides.

The page "How the solvers work" of the reference (``docs/reference/methods.rst``) has the problem, the method, what it
guarantees, and the literature.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice.backend import AlwaysAvailable, Candidate, Feature, Run, at_least, traced
from mdpdice.errors import NotConvergedError, SolveInterrupted
from mdpdice.networks.arrays import ULP
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network
from mdpdice.numerics import graph
from mdpdice.numerics.kernels import bellman as kernels
from mdpdice.numerics.operator import Operator, bellman, bellman_in_order, unsigned
from mdpdice.numerics.regions import components, ending_ranks
from mdpdice.solvers.value_iteration import modified_policy_iteration, newton

BUDGET = 1 << 23
"""Work between two checks of the time, in edges: less than a tenth of a second."""

SLACK = 1.07
"""Widens the bounds a little, for the rounding of their own computation."""


@attrs.frozen
class ValueIteration(AlwaysAvailable):
    """Gauss-Seidel sweeps by strong component, until bounds from below and above meet.

    Parameters
    ----------
    max_sweeps : int
        Sweeps that one component may take.

    Raises
    ------
    NotConvergedError
        A component was not settled after `max_sweeps` sweeps.
    """

    max_sweeps: int = attrs.field(default=100_000, validator=at_least(1))

    name: ClassVar[str] = "value-iteration"
    features: ClassVar[frozenset[Feature]] = frozenset(
        {Feature.CYCLIC, Feature.TWO_PLAYER, Feature.DISCOUNT, Feature.HORIZON, Feature.CHECKPOINT}
    )

    @traced
    def solve(self, problem: Network, run: Run) -> Candidate:
        """Propose the value and the policy, with bounds where every play stops."""
        solve = _stationary if problem.horizon is None else _staged
        return solve(problem, run, self.max_sweeps)


class _Blocks:
    """The components of the network or of the nodes `inside` a part, and the sweeps over them."""

    def __init__(self, problem: Network, run: Run, max_sweeps: int, inside: Bools | None = None) -> None:
        if inside is None:
            keep, inside = None, np.ones(problem.n_nodes, dtype=np.bool_)
            label, order, ptr = components(problem)
        else:
            keep = inside[problem.source]
            label, order, ptr = graph.ordered_components(problem.indptr, problem.dst, keep)
        mine = inside[order[ptr[:-1]]]
        self.order = unsigned(order[inside[order]])
        self.ptr = unsigned(np.concatenate(([0], np.cumsum(np.diff(ptr)[mine]))))
        self.cyclic = graph.cyclic_components(problem.indptr, problem.dst, label, keep)[mine]
        self.stops = np.ones(len(self.cyclic), dtype=np.bool_)
        # A discount below 1 acts on every cycle: `Network` has seen to that.
        if problem.discount == 1 and self.cyclic.any() and ending_ranks(problem) is None:
            chance = problem.kind == Kind.CHANCE
            endless = graph.end_components(problem.indptr, problem.dst, chance, keep) >= 0
            self.stops = ~np.isin(np.flatnonzero(mine), label[endless])
        self.run, self.max_sweeps = run, max_sweeps
        self.sweeps = 0
        self.gave_up = False
        self._room = np.zeros((2, problem.n_nodes))
        self._at, self._number = np.zeros(9, dtype=np.int64), np.zeros(4)
        self._before = 0
        # Where the solve is: whether the longest play is known, and what is aimed at.
        self.measured = False
        self.limit = min(16, max_sweeps)
        self.aim = 0.0
        # For checkpoints: the arrays of the caller, and whether `settle` has to go on in the middle.
        self.kept: dict[str, NDArray[Any]] = {}
        self.halfway = False

    def renumber(self) -> Ints:
        """Renumber the nodes in the order of the sweeps; return their old numbers."""
        order: Ints = self.order.astype(np.int64)
        self.order = unsigned(np.arange(len(order)))
        return order

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that changes."""
        counts = [self.sweeps, self._before, self.limit, self.measured, self.gave_up]
        return {
            "counts": np.array(counts, dtype=np.int64),
            "at": self._at,
            "number": np.append(self._number, self.aim),
            "room": self._room,
            **self.kept,
        }

    def resume(self, indptr: Ints) -> None:
        """Take up the state of a checkpoint, if there is one."""
        state = self.state()
        if not self.run.resume(state):
            return
        counts, at, number = state["counts"], state["at"], state["number"]
        wrong = [name for name in ("value", "w", "room") if not np.isfinite(state[name]).all()]
        wrong += [name for name in ("policy", "moves") if not _own_edges(indptr, state[name])]
        wrong += [name for name in ("counts", "at") if (state[name] < 0).any() or (state[name] >= 1 << 53).any()]
        if wrong or at[0] > len(self.cyclic) or not number[4] >= 0:
            raise _corrupt(self.run, wrong[0] if wrong else "at")
        self.sweeps, self._before, self.limit = counts[:3].tolist()
        self.measured, self.gave_up = counts[3:].astype(bool).tolist()
        self._number[:], self.aim = number[:4], float(number[4])
        self.halfway = True
        self.run.tell("resume", sweeps=self.sweeps)

    def settle(self, operator: Operator, value: Floats, policy: Ints, aim: tuple[float, float], limit: int) -> bool:
        """Sweep until no value moves by more than ``aim[0] + aim[1] |v|``; False if the limit came first."""
        at, number = self._at, self._number
        count = len(self.cyclic)
        if not self.halfway:
            at[:], number[:] = 0, 0.0
            self._before = self.sweeps
        self.halfway = False
        while True:
            try:
                self.run.check()
            except SolveInterrupted:
                if self.kept:
                    self.run.save(self.state(), self.sweeps, now=True)
                raise
            kernels.settle(
                operator.rows, self.order, self.ptr, self.cyclic, self.stops, value, policy, *aim,
                limit, BUDGET, at, number, *self._room,
            )  # fmt: skip
            self.sweeps = self._before + int(at[2])
            self.run.tell("solve", components=int(at[0]), of=count, sweeps=self.sweeps, move=float(number[0]))
            if at[0] == count:
                return not at[3]
            if self.kept:
                self.run.save(self.state(), self.sweeps)

    def longest_play(self, operator: Operator, w: Floats, moves: Ints) -> tuple[Floats, float] | None:
        """`w` and `c` of the bounds; None if some play never stops, or if floats cannot tell.

        On entry `w` are the lengths of plays from the nodes outside the part, and `moves` are -1.
        """
        if not self.stops.all():
            self.measured = True
            return None
        plays = operator.plays()
        # After k sweeps w counts the first k nodes of a play or so, and c is the smallest chance to be
        # through with it by then.  The quotient w / c makes the bounds, and it hardly depends on k.
        while True:
            settled = self.measured or self.settle(plays, w, moves, (0.1, 8 * ULP), self.limit)
            most, _, _ = measure(plays, self.order, w, w, moves)
            found = bool(most <= 0.98 and w.min() >= 0)
            if found or settled or self.limit >= self.max_sweeps:
                self.gave_up |= not (found or settled)
                self.measured = True
                return (w, 1 - most) if found else None
            self.limit = min(4 * self.limit, self.max_sweeps)


def _stationary(problem: Network, run: Run, max_sweeps: int) -> Candidate:
    # What is quick keeps no checkpoint; after a stop it is done again.
    quick = modified_policy_iteration.propose(problem, run, max_sweeps)
    if quick is not None:
        if quick[1] or quick[0].iterations >= max_sweeps:
            return _judged(problem, quick[0], run, settled=quick[1])
        max_sweeps -= quick[0].iterations
    found = newton.propose(problem, run)
    if found is not None and found[1] <= run.tolerance and found[0].iterations <= max_sweeps:
        return found[0]
    blocks = _Blocks(problem, run, max_sweeps)
    # Everything until the end is in the order of the sweeps, which then read memory in one direction.
    order = blocks.renumber()
    operator = bellman_in_order(problem, order)
    indptr = operator.indptr.astype(np.int64)
    value = np.zeros(problem.n_nodes)
    if quick is not None:
        blocks.sweeps = quick[0].iterations
        if np.isfinite(quick[0].value).all():
            value[:] = quick[0].value[order]
    policy = np.full(problem.n_nodes, -1, dtype=np.int64)
    play: tuple[Floats, float] | None = None

    def back(values: Floats) -> Floats:
        """Values in the order of the problem."""
        found = np.empty_like(values)
        found[order] = values
        return found

    def edges(chosen: Ints) -> Ints:
        """Edges of the problem."""
        found = np.empty_like(chosen)
        found[order] = np.where(chosen < 0, -1, chosen - indptr[:-1] + problem.indptr[order])
        return found

    def propose() -> tuple[Candidate, float]:
        """Return the candidate now, and the share of its width that is due to rounding."""
        greedy = policy.copy()
        most, least, noise = measure(operator, blocks.order, value, value, greedy)
        if play is None:
            # Ties matter here: the greedy policy only fills in what no sweep has reached.
            return Candidate(back(value), edges(np.where(policy < 0, greedy, policy)), blocks.sweeps), 0.0
        gap = max(most, -least)
        w = back(play[0])
        more = {"lengths": w} if problem.discount == 1 else {}
        candidate = _bounded(problem, back(value), edges(greedy), gap / play[1] * w, blocks.sweeps, more)
        return candidate, noise / gap if gap > 0 else 0.0

    run.offer(lambda: propose()[0])
    w, moves = np.zeros(problem.n_nodes), np.full(problem.n_nodes, -1, dtype=np.int64)
    blocks.kept = {"value": value, "policy": policy, "w": w, "moves": moves}
    blocks.resume(indptr)
    play = blocks.longest_play(operator, w, moves)
    if play is None:
        # How far moves lead in the end is not known here.
        fine = 1e-4 * min(1e-9, run.tolerance)
        settled = blocks.settle(operator, value, policy, (fine, fine), max_sweeps)
        return _judged(problem, propose()[0], run, settled=settled and not blocks.gave_up)
    if not blocks.halfway:
        blocks.aim = run.tolerance * play[1] / (4 * max(1.0, float(play[0].max())))
    while True:
        settled = blocks.settle(operator, value, policy, (blocks.aim, blocks.aim), max_sweeps)
        candidate, rounding = propose()
        apart = candidate.details["upper"] - candidate.details["lower"]
        width = float(np.max(apart / np.maximum(1.0, np.abs(candidate.value))))
        run.tell("bounds", width=width, wanted=run.tolerance)
        # Below 1e-17 only rounding moves the values.
        if width <= run.tolerance or rounding > 1 / 3 or not settled or blocks.aim < 1e-17:
            # No number of sweeps reaches a tolerance that is finer than the rounding alone.
            return _judged(problem, candidate, run, settled=settled or rounding * width > run.tolerance)
        blocks.aim *= min(0.5, 0.5 * run.tolerance / width)


def _staged(problem: Network, run: Run, max_sweeps: int) -> Candidate:
    horizon = problem.horizon or 0
    chance, ends = problem.kind == Kind.CHANCE, problem.kind == Kind.END
    # Within one stage only chance nodes read each other; the decisions they lead to are known before.
    blocks = _Blocks(problem, run, max_sweeps, chance)
    decisions = unsigned(np.flatnonzero(problem.decides))
    operator = bellman(problem)
    value = np.zeros((horizon + 1, problem.n_nodes))
    value[:, ends] = problem.payoff[ends]
    policy = np.full((horizon + 1, problem.n_nodes), -1, dtype=np.int64)
    error = np.zeros_like(value)
    run.offer(lambda: Candidate(value, policy, blocks.sweeps))

    w, moves = problem.decides.astype(np.float64), np.full(problem.n_nodes, -1, dtype=np.int64)
    play = blocks.longest_play(operator, w, moves)
    aim = 1e-4 * min(1e-9, run.tolerance)
    if play is not None:
        aim = run.tolerance * play[1] / (4 * (horizon + 1) * max(1.0, float(play[0].max())))
    settled = not blocks.gave_up
    counts, carried = np.array([0, blocks.sweeps, settled]), np.zeros(1)
    state = {"counts": counts, "carried": carried, "value": value, "policy": policy, "error": error}
    if run.resume(state):
        _check_stages(problem, run, state)
        blocks.sweeps, settled = int(counts[1]), bool(counts[2])
        run.tell("resume", done=int(counts[0]), total=horizon)
    for k in range(int(counts[0]), horizon + 1):
        before = value[max(k - 1, 0)]
        if k > 0:
            kernels.backup(operator.rows, decisions, before, value[k], policy[k])
        try:
            settled &= blocks.settle(operator, value[k], policy[k], (aim, aim), max_sweeps)
        except SolveInterrupted:
            # This stage then starts again.
            value[k:], policy[k:], value[k:, ends] = 0.0, -1, problem.payoff[ends]
            run.save(state, blocks.sweeps, now=True)
            raise
        if play is not None:
            # The stage before is off by at most `carried`, which the stage passes on but never enlarges.
            most, least, _ = measure(operator, blocks.order, value[k], value[k], policy[k])
            if k > 0:
                later, sooner, _ = measure(operator, decisions, before, value[k], policy[k])
                most, least = max(most, later), min(least, sooner)
            error[k, ~ends] = (carried[0] + max(0.0, most, -least) / play[1] * play[0])[~ends]
            carried[0] = error[k].max()
        run.tell("solve", done=k, total=horizon)
        counts[:] = k + 1, blocks.sweeps, settled
        run.save(state, blocks.sweeps)
    candidate = Candidate(value, policy, blocks.sweeps)
    if play is not None:
        candidate = _bounded(problem, value, policy, error, blocks.sweeps)
    return _judged(problem, candidate, run, settled=settled)


def _check_stages(problem: Network, run: Run, state: dict[str, NDArray[Any]]) -> None:
    """Refuse stages from a checkpoint that lead out of the arrays, and wipe those that are not done."""
    wrong = [name for name in ("value", "error", "carried") if not np.isfinite(state[name]).all()]
    counts, value, policy = state["counts"], state["value"], state["policy"]
    if not (0 <= counts[0] <= len(value) and 0 <= counts[1] < 1 << 53):
        wrong.append("counts")
    if not _own_edges(problem.indptr, policy):
        wrong.append("policy")
    if wrong:
        raise _corrupt(run, wrong[0])
    value[counts[0] :], policy[counts[0] :] = np.where(problem.kind == Kind.END, problem.payoff, 0.0), -1


def _own_edges(indptr: Ints, policy: Ints) -> bool:
    """Whether each node has one of its own edges, or none (-1)."""
    return bool(((indptr[:-1] <= policy) & (policy < indptr[1:]) | (policy == -1)).all())


def _corrupt(run: Run, field: str) -> Exception:
    assert run.checkpoint is not None
    return run.checkpoint.corrupt(field, "its numbers are out of range")


def measure(
    operator: Operator, nodes: NDArray[np.uint64], source: Floats, value: Floats, policy: Ints
) -> tuple[float, float, float]:
    """Distance of `value` from the backup of `source`: see `kernels.measure`."""
    return kernels.measure(operator.rows, nodes, source, value, policy)


def _bounded(
    problem: Network, value: Floats, policy: Ints, error: Floats, sweeps: int, more: Mapping[str, Floats] = {}
) -> Candidate:
    if problem.exact_payoffs:
        # Those payoffs are rounded, and every value is off by no more than they are.
        error = error + 2.0**-53 * float(np.abs(problem.payoff).max())
    details = {"lower": value - SLACK * error, "upper": value + SLACK * error, **more}
    return Candidate(value, policy, sweeps, details)


def _judged(problem: Network, candidate: Candidate, run: Run, *, settled: bool) -> Candidate:
    if settled or run.on_limit == "partial":
        return candidate
    width = np.inf
    if candidate.details:
        width = float(np.max(candidate.details["upper"] - candidate.details["lower"]))
    remedy = "raise max_sweeps, ask for a larger tolerance, or use solver='exact'"
    if problem.two_player and problem.discount == 1 and np.isinf(width):
        remedy = "perhaps one player can make the other pay for ever, which solver='policy-iteration' can tell"
    msg = f"value iteration was not done after {candidate.iterations:,} sweeps, its bounds {width:.3g} apart; {remedy}"
    raise NotConvergedError(msg, iterations=candidate.iterations, width=width, partial=candidate)
