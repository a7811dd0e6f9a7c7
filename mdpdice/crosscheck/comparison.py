"""Comparing the answers of two solvers state by state: values, infinities, actions and what policies are worth."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from mdpdice.answers.node_values import Averages
from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution
from mdpdice.backend import Run
from mdpdice.networks.network import Bools, Floats, Kind, Network
from mdpdice.policies.evaluation import evaluate
from mdpdice.solving.pipeline import plan_of
from mdpdice.solving.problem import Problem

EXACT_UP_TO_NODES = 5_000
"""Nodes, of all stages together, up to which a policy is evaluated in rationals where floats prove nothing."""


def compare_values(first: Solution, second: Solution) -> list[str]:
    """List what speaks against two answers: intervals that do not meet, or that are infinite for one only."""
    one, other = first.nodes, second.nodes
    finite = np.isfinite(one.values) & np.isfinite(other.values)
    # Written so that NaN disagrees.
    meet = (one.lowers <= other.uppers) & (other.lowers <= one.uppers)
    if not (wrong := ~np.where(finite, meet, one.values == other.values)).any():
        return []
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    state = first.network.describe(at[-1])
    who = f"{first.solver} and {second.solver} disagree on {int(wrong.sum()):,} values"
    return [f"{who}, first on {state!r}: {one.values[at]!r} and {other.values[at]!r}"]


def _for_the_mover(solution: Solution) -> tuple[Floats, Floats]:
    """Interval of every edge's value, large being good for who decides; with a horizon for each stage from 1 on."""
    net = solution.network
    low, high = solution.nodes.lowers, solution.nodes.uppers
    if net.horizon is not None:
        low, high = low[:-1], high[:-1]
    factor = np.where(net.step, net.factor, 1.0)
    # What an action costs once has no part in an average.
    reward = 0.0 if isinstance(solution.nodes, Averages) else net.reward
    low, high = (
        reward + factor * np.where(net.sign > 0, ahead[..., net.dst], float(net.total) - other[..., net.dst])
        for ahead, other in ((low, high), (high, low))
    )
    minimises = ((net.kind == Kind.MIN) != (solution.sense == "min"))[net.source]
    return np.where(minimises, -high, low), np.where(minimises, -low, high)


def by_node(combine: np.ufunc, net: Network, edges: Any, nothing: float) -> Any:
    """Combine the numbers of the edges of every node by `combine`; `nothing` stands behind the last edge."""
    padded = np.concatenate((edges, np.full((*edges.shape[:-1], 1), nothing, dtype=edges.dtype)), axis=-1)
    return combine.reduceat(padded, net.indptr[:-1], axis=-1)


def _tops(solution: Solution, edges: Floats) -> Floats:
    """Largest number of the edges of every node, by edge."""
    top: Floats = by_node(np.maximum, solution.network, edges, -np.inf)[..., solution.network.source]
    return top


def optimal_edges(solution: Solution) -> tuple[Bools, Bools]:
    """Edges of decisions that may be optimal, since none is proved to be better, and those that must be chosen.

    The latter are proved to be better than all others.
    """
    net = solution.network
    worst, best = _for_the_mover(solution)
    may: Bools = (best >= _tops(solution, worst)) & net.decides[net.source]
    top = _tops(solution, best)
    is_top = best == top
    # The best of the others: the top itself where two edges share it.
    shared = by_node(np.add, net, is_top.astype(np.float64), 0.0)
    second = _tops(solution, np.where(is_top, -np.inf, best))
    others = np.where(is_top & (shared[..., net.source] == 1), second, top)
    must: Bools = (worst > others) & net.decides[net.source]
    return may, must


def compare_actions(judged: Solution, only: Bools, judge: Solution, possible: Bools) -> tuple[int, list[str]]:
    """How many actions `judged` chose, and what speaks against them in the eyes of `judge`.

    Each, and what is proved to be the `only` choice, may be optimal there (`possible`); see `optimal_edges`.
    """
    net = judged.network
    choice = judged.nodes.choice
    policy = choice if net.horizon is None else choice[1:]
    if policy.size == 0 or net.n_edges == 0:
        return 0, []
    chosen = np.take_along_axis(possible, np.maximum(policy, 0), axis=-1)
    decided = net.decides & (policy >= 0)
    wrong = decided & ~chosen
    text = []
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        action, state = net.action_of(int(policy[at])), net.describe(at[-1])
        why = f"which is not optimal by the bounds of {judge.solver} ({int(wrong.sum()):,} such decisions)"
        text.append(f"{judged.solver} chooses {action!r} in {state!r}, {why}")
    if (against := only & ~possible).any():
        edge = int(np.argwhere(against)[0][-1])
        only_one = f"{net.action_of(edge)!r} is the only choice in {net.describe(int(net.source[edge]))!r}"
        text.append(f"by the bounds of {judged.solver} {only_one}, by those of {judge.solver} it is not optimal")
    return int(decided.sum()), text


def compare_policies(problem: Problem, solutions: Sequence[Solution]) -> tuple[int, list[str]]:
    """How many policies there are, with two players pairs of them, and which are not worth what the bounds say."""
    if not solutions:
        return 0, []
    net = problem.network
    found: list[tuple[Policy, str]] = []
    for solution in solutions:
        if not any(np.array_equal(policy.choice, solution.nodes.choice) for policy, _ in found):
            found.append((solution.policy, solution.solver))
    pairs = [(a, b) for a in found for b in found] if net.two_player else [(a, a) for a in found]
    low = np.min([solution.nodes.lowers for solution in solutions], axis=0)
    high = np.max([solution.nodes.uppers for solution in solutions], axis=0)
    # Where a target is missed the value is infinite by definition, not by what is collected.
    missed = any(low.because.startswith("missed") for low in problem.lowerings if low.infinite is not None)
    compared = ~np.isinf(low) if missed else np.ones(low.shape, dtype=bool)
    shift = _shift(problem)
    count, problems = 0, []
    for (first, name), (second, other) in pairs:
        who = name if first is second else f"{name} against {other}"
        if not (alone := _evaluated(net, first, second, averaged=problem.averaged)).proved:
            problems.append(f"the policy of {who} could not be evaluated by itself: {alone.reason}")
            continue
        value = alone.nodes
        count += 1
        # Written so that NaN disagrees.
        if (wrong := compared & ~((value.lowers + shift <= high) & (low <= value.uppers + shift))).any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            worth = f"the policy of {who} is worth {value.values[at] + shift:.12g} in {net.describe(at[-1])!r}"
            where = f"outside [{low[at]:.12g}, {high[at]:.12g}] ({int(wrong.sum()):,} such values)"
            problems.append(f"{worth}, which is {where}")
    return count, problems


def _evaluated(network: Network, first: Policy, second: Policy, *, averaged: bool) -> Solution:
    """Value of one policy, or of two against each other; in rational numbers where floats do not suffice."""
    if averaged:
        taken = np.union1d(np.flatnonzero(~network.decides[network.source]), first.choice[network.decides])
        return plan_of(Problem(network.keep_edges(taken), (), "max", averaged=True)).solve(Run(), 1e-6)
    policy = first if first is second else [first, second]
    found = evaluate(network, policy)
    stages = 1 if network.horizon is None else network.horizon + 1
    if found.proved or network.n_nodes * stages > EXACT_UP_TO_NODES:
        return found
    return evaluate(network, policy, exact=True)


def _shift(problem: Problem) -> float:
    """Return what the objective adds to the value of its network."""
    before, shift = problem.network, Fraction(0)
    for lowering in problem.lowerings:
        shift += lowering.shift if lowering.network is before else 0
        before = lowering.network
    return float(shift)
