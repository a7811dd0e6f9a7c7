"""Fault classes: each is a solver that makes one kind of mistake that real solvers have made.

A fault gets the canonical problem and a right answer and gives the answer of a
solver with that mistake, or None where the mistake cannot be made.  Whether it
matters (is *live*) is found afterwards by comparing with exact values.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from mdpdice import Candidate, Network, Run
from mdpdice.networks.network import Kind
from mdpdice.numerics.graph import strong_components
from mdpdice.solvers.value_iteration import ValueIteration

Fault = Callable[[Network, Candidate, np.random.Generator], Candidate | None]
FAULTS: dict[str, Fault] = {}
LOST = 1e-30
"""Probability of an edge that a mistake loses: a network has none of probability 0."""


def fault(function: Fault) -> Fault:
    FAULTS[function.__name__.replace("_", "-")] = function
    return function


def honest(problem: Network, tolerance: float = 1e-10) -> Candidate:
    run = Run(tolerance=tolerance, on_limit="partial")
    return ValueIteration(max_sweeps=20_000).solve(problem, run)


def operator(problem: Network, value: np.ndarray, *, discount: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """One Jacobi sweep in plain numpy, and its greedy edges."""
    gamma = float(problem.discount) if discount is None else discount
    factor = np.where(problem.step, gamma, 1.0) * problem.sign
    edges = problem.reward + factor * value[problem.dst]
    starts, source = problem.indptr[:-1], problem.source
    mean = np.add.reduceat(np.append(edges * problem.weight, 0.0), starts)
    top = np.maximum.reduceat(np.append(edges, 0.0), starts)
    low = np.minimum.reduceat(np.append(edges, 0.0), starts)
    new = np.where(problem.kind == Kind.CHANCE, mean, problem.payoff)
    new = np.where(problem.kind == Kind.MAX, top, np.where(problem.kind == Kind.MIN, low, new))
    policy = np.full(problem.n_nodes, -1)
    best = np.flatnonzero((edges == new[source]) & problem.decides[source])[::-1]
    policy[source[best]] = best
    return new, policy


def sweeps(problem: Network, count: int, *, discount: float | None = None, stop: float = 0.0) -> Candidate:
    """Plain value iteration from 0."""
    value = np.where(problem.kind == Kind.END, problem.payoff, 0.0)
    for _ in range(count):
        new, policy = operator(problem, value, discount=discount)
        change = np.abs(new - value).max()
        value = new
        if change <= stop:
            break
    return Candidate(value, policy)


def pick(rng: np.random.Generator, where: np.ndarray) -> int | None:
    found = np.flatnonzero(where)
    return int(rng.choice(found)) if len(found) else None


def _moved_probability(problem: Network, rng: np.random.Generator, by: float) -> Candidate | None:
    node = pick(rng, (problem.kind == Kind.CHANCE) & (np.diff(problem.indptr) > 1))
    if node is None:
        return None
    first = int(problem.indptr[node])
    weight = problem.weight.copy()
    step = min(by, weight[first] / 2)
    weight[first] -= step
    weight[first + 1] += step
    return honest(attrs.evolve(problem, weight=weight, numerator=weight))


@fault
def probability_moved_by_1e_6(problem, answer, rng):
    return _moved_probability(problem, rng, 1e-6)


@fault
def probability_moved_by_1e_3(problem, answer, rng):
    return _moved_probability(problem, rng, 1e-3)


@fault
def two_rows_swapped(problem, answer, rng):
    """Two chance nodes with as many edges exchange their targets."""
    degree = np.where(problem.kind == Kind.CHANCE, np.diff(problem.indptr), 0)
    one = pick(rng, degree > 0)
    if one is None:
        return None
    other = pick(rng, (degree == degree[one]) & (np.arange(len(degree)) != one))
    if other is None:
        return None
    dst = problem.dst.copy()
    a = slice(int(problem.indptr[one]), int(problem.indptr[one + 1]))
    b = slice(int(problem.indptr[other]), int(problem.indptr[other + 1]))
    dst[a], dst[b] = problem.dst[b], problem.dst[a]
    return honest(attrs.evolve(problem, dst=dst))


@fault
def option_dropped(problem, answer, rng):
    """The best option of a decision is never looked at."""
    node = pick(rng, problem.decides & (np.diff(problem.indptr) > 1))
    if node is None:
        return None
    edge = int(answer.policy[node])
    first = int(problem.indptr[node])
    other = first if edge != first else first + 1
    dst, reward = problem.dst.copy(), problem.reward.copy()
    dst[edge], reward[edge] = dst[other], reward[other]
    return honest(attrs.evolve(problem, dst=dst, reward=reward, exact_rewards={}))


@fault
def target_edge_dropped(problem, answer, rng):
    """An edge of a chance node is lost and the others are scaled up."""
    node = pick(rng, (problem.kind == Kind.CHANCE) & (np.diff(problem.indptr) > 1))
    if node is None:
        return None
    row = slice(int(problem.indptr[node]), int(problem.indptr[node + 1]))
    weight = problem.weight.copy()
    weight[row.start] = LOST
    weight[row] /= weight[row].sum()
    return honest(attrs.evolve(problem, weight=weight, numerator=weight))


@fault
def reward_sign_flipped(problem, answer, rng):
    edge = pick(rng, problem.reward != 0)
    if edge is None:
        node = pick(rng, problem.payoff != 0)
        payoff = problem.payoff.copy()
        payoff[node] *= -1
        return honest(attrs.evolve(problem, payoff=payoff))
    reward = problem.reward.copy()
    reward[edge] *= -1
    if (reward > 0).any() and (problem.reward <= 0).all():
        return sweeps(attrs.evolve(problem, reward=reward), 200)
    return honest(attrs.evolve(problem, reward=reward))


@fault
def reward_off_by_one(problem, answer, rng):
    edge = pick(rng, problem.reward != 0)
    if edge is None:
        node = pick(rng, problem.payoff != 0)
        payoff = problem.payoff.copy()
        payoff[node] += 1
        return honest(attrs.evolve(problem, payoff=payoff))
    reward = problem.reward.copy()
    reward[edge] -= 1
    return honest(attrs.evolve(problem, reward=reward))


@fault
def target_off_by_one(problem, answer, rng):
    """A chance edge leads to the next node."""
    edge = pick(rng, (problem.kind == Kind.CHANCE)[problem.source] & (problem.dst + 1 < problem.n_nodes))
    if edge is None:
        return None
    dst = problem.dst.copy()
    dst[edge] += 1
    return sweeps(attrs.evolve(problem, dst=dst), 300)


@fault
def max_for_min(problem, answer, rng):
    kind = problem.kind.copy()
    kind[problem.kind == Kind.MAX], kind[problem.kind == Kind.MIN] = Kind.MIN, Kind.MAX
    return sweeps(attrs.evolve(problem, kind=kind), 300)


@fault
def early_stop(problem, answer, rng):
    return sweeps(problem, 5)


@fault
def stop_on_small_change(problem, answer, rng):
    """The usual stopping test, without the factor that it needs: a change of at most 1e-4."""
    return sweeps(problem, 5_000, stop=1e-4)


@fault
def discount_forgotten(problem, answer, rng):
    """Where there is no discount to forget, one too many."""
    return sweeps(problem, 300, discount=0.999)


@fault
def stale_value(problem, answer, rng):
    """One node keeps its value of a few sweeps ago."""
    node = pick(rng, np.diff(problem.indptr) > 0)
    old = sweeps(problem, 2).value[node]
    value = answer.value.copy()
    value[node] = old
    return attrs.evolve(answer, value=value)


@fault
def state_never_updated(problem, answer, rng):
    """One node stays at 0, and so do all conclusions from it."""
    node = pick(rng, np.diff(problem.indptr) > 0)
    value = np.where(problem.kind == Kind.END, problem.payoff, 0.0)
    for _ in range(200):
        value, policy = operator(problem, value)
        value[node] = 0.0
    return Candidate(value, policy)


@fault
def action_shifted(problem, answer, rng):
    """Every chosen option is the one after the right one."""
    policy = answer.policy.copy()
    at = problem.decides
    degree, first = np.diff(problem.indptr)[at], problem.indptr[:-1][at]
    policy[at] = first + (policy[at] - first + 1) % degree
    return attrs.evolve(answer, policy=policy)


@fault
def tie_broken_into_a_loop(problem, answer, rng):
    """Among options that look equally good take one with a way back, so that play may go round for ever."""
    factor = np.where(problem.step, float(problem.discount), 1.0) * problem.sign
    q = problem.reward + factor * answer.value[problem.dst]
    tied = problem.decides[problem.source] & (np.abs(q - answer.value[problem.source]) < 1e-9)
    label = strong_components(problem.indptr, problem.dst)
    policy = answer.policy.copy()
    for edge in rng.permutation(np.flatnonzero(tied & (label[problem.source] == label[problem.dst]))):
        policy[problem.source[edge]] = edge
    return attrs.evolve(answer, policy=policy)


@fault
def wrong_policy(problem, answer, rng):
    """Right values, and the worst option everywhere."""
    factor = np.where(problem.step, float(problem.discount), 1.0) * problem.sign
    q = problem.reward + factor * answer.value[problem.dst]
    policy = answer.policy.copy()
    flip = np.where(problem.kind == Kind.MIN, -1, 1)[problem.source]
    for edge in np.argsort(-flip * q, kind="stable"):
        if problem.decides[problem.source[edge]]:
            policy[problem.source[edge]] = edge
    return attrs.evolve(answer, policy=policy)


@fault
def value_scaled(problem, answer, rng):
    return attrs.evolve(answer, value=answer.value * (1 + 1e-4))


@fault
def value_shifted(problem, answer, rng):
    return attrs.evolve(answer, value=answer.value + 1e-3 * (problem.kind != Kind.END))


@fault
def last_parallel_edge_wins(problem, answer, rng):
    """Of a distribution only the last entry of one row is kept, with all the weight."""
    node = pick(rng, (problem.kind == Kind.CHANCE) & (np.diff(problem.indptr) > 1))
    if node is None:
        return None
    row = slice(int(problem.indptr[node]), int(problem.indptr[node + 1]))
    weight = problem.weight.copy()
    weight[row] = LOST
    weight[row.stop - 1] = 1.0
    return sweeps(attrs.evolve(problem, weight=weight, numerator=weight), 300)
