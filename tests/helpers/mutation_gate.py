"""The mutation gate: every fault class on every model; what each check catches.

Run as a script it prints the table of fault classes against checks.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import attrs
import numpy as np
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import spsolve

from mdpdice import Candidate, Game, Network, Total, decide, end, explore, go
from mdpdice.certification.verdict import certify
from mdpdice.errors import MdpDiceError
from mdpdice.networks.network import Kind
from mdpdice.solving.problem import Problem, prepare
from mdpdice.solving.proposal import check_candidate

from . import reference_models
from .solver_faults import FAULTS, honest, operator

EPSILON = 1e-6
INSTANCES = 3
"""Seeds per fault class and property."""


@attrs.frozen(eq=False)
class Subject:
    """A property with its canonical problem, a right answer and the exact values of the canonical nodes."""

    case: reference_models.Case
    problem: Problem
    answer: Candidate
    certified: bool


def maze(size: int) -> reference_models.Case:
    """Free moves on a grid with one exit, so that every option of every cell is as good as any other."""

    def node(cell: tuple[int, int]):
        x, y = cell
        if cell == (size - 1, size - 1):
            return end(1)
        near = [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]
        return decide([(to, go(to)) for to in near if min(to) >= 0 and max(to) < size])

    return reference_models.Case(f"maze/{size}", "total_reward", explore(Game.of(start=(0, 0), node=node)), Total(), [])


def subjects() -> list[Subject]:
    """All properties but those with a horizon, whose answers have stages, and those no float solver certifies."""
    found = []
    for case in [*map(reference_models.load, reference_models.names()), maze(3), maze(4), maze(5)]:
        if case.kind == "finite_horizon" or "haddad-monmege_N100" in case.name:
            continue
        problem = prepare(case.network, case.objective)
        if np.diff(problem.canonical.indptr).max() == 0:
            continue
        answer = honest(problem.canonical)
        verdict = certify(problem.canonical, answer.value, answer.policy, EPSILON)
        found.append(Subject(case, problem, answer, verdict.certified))
    return found


def policy_value(problem: Network, policy: np.ndarray) -> np.ndarray | None:
    """Value of a policy by one sparse linear solve, None where an endless play under it pays or collects."""
    n = problem.n_nodes
    keep = ~problem.decides[problem.source]
    keep[policy[problem.decides]] = True
    edges = np.flatnonzero(keep & (problem.weight > 0))
    source, dst = problem.source[edges], problem.dst[edges]
    coef = problem.weight[edges] * problem.sign[edges] * np.where(problem.step[edges], float(problem.discount), 1.0)
    # Endless play without rewards is worth 0; what comes to it or to an end for sure has a finite value.
    idle = np.full(n, problem.discount == 1) & (problem.kind != Kind.END)
    while True:
        less = idle.copy()
        less[source[(problem.reward[edges] != 0) | ~idle[dst]]] = False
        if (less == idle).all():
            break
        idle = less
    stops = (problem.kind == Kind.END) | idle | (problem.discount < 1)
    while True:
        more = stops.copy()
        more[source[stops[dst]]] = True
        if (more == stops).all():
            break
        stops = more
    if not stops.all():
        return None
    moves = csr_array((np.where(idle[source], 0.0, coef), (source, dst)), shape=(n, n))
    right = np.where(problem.kind == Kind.END, problem.payoff, 0.0)
    np.add.at(right, source, problem.weight[edges] * problem.reward[edges])
    return spsolve((eye_array(n) - moves).tocsc(), right)


def is_live(problem: Network, mutant: Candidate, truth: np.ndarray) -> bool:
    """Whether the value is wrong by more than epsilon anywhere, or the policy worth less than it should be."""
    scale = EPSILON * np.maximum(1.0, np.abs(truth))
    if not (np.abs(mutant.value - truth) <= scale).all():
        return True
    if problem.two_player:
        # What a policy is worth against every reply is another problem; values are compared above.
        return False
    worth = policy_value(problem, mutant.policy)
    return worth is None or not (np.abs(worth - truth) <= scale).all()


def catches(problem: Network, right: np.ndarray, mutant: Candidate) -> dict[str, bool]:
    """Which check notices: a second solver at the start, at all states, a small residual, the certificate."""
    value = mutant.value
    scale = EPSILON * np.maximum(1.0, np.abs(right))
    differs = ~(np.abs(value - right) <= scale)
    residual = np.abs(operator(problem, value)[0] - value)
    try:
        check_candidate(problem, value, np.asarray(mutant.policy, dtype=np.int64), "mutant")
        certified = certify(problem, value, mutant.policy, EPSILON).certified
    except MdpDiceError:
        certified = False
    return {
        "value at start": bool(differs[problem.start]),
        "values": bool(differs.any()),
        "residual": not (residual <= scale).all(),
        "certificate": not certified,
    }


def before_merging(subject: Subject) -> tuple[Network, Candidate]:
    """The problem with its idle end components as they were, and the right answer there."""
    problem, answer = subject.problem.canonical, subject.answer
    for lowering in reversed(subject.problem.lowerings):
        if lowering.merged is not None:
            before = lowering.merged.before
            return before, Candidate(lowering.value(answer.value), lowering.policy(answer.policy))
    return problem, answer


def run(instances: int = 1) -> tuple[dict[str, Counter[str]], list[Subject]]:
    """Count live mutants and what caught them, by fault class; and the subjects."""
    table: dict[str, Counter[str]] = {name: Counter() for name in FAULTS}
    found = subjects()
    for at, subject in enumerate(found):
        for kind, (name, function) in enumerate(FAULTS.items()):
            problem, answer = subject.problem.canonical, subject.answer
            if name == "tie-broken-into-a-loop":
                # Merged components hold no loops to fall into.
                problem, answer = before_merging(subject)
            for seed in range(instances):
                rng = np.random.default_rng([at, kind, seed])
                try:
                    mutant: Any = function(problem, answer, rng)
                except MdpDiceError:
                    # The mistake made a model that no solver answers; nothing to certify.
                    table[name]["refused"] += 1
                    continue
                # The honest answer is good to far less than epsilon, as its certificate shows.
                if mutant is None:
                    table[name]["impossible"] += 1
                elif not is_live(problem, mutant, answer.value):
                    table[name]["equivalent"] += 1
                else:
                    table[name]["live"] += 1
                    caught = catches(problem, answer.value, mutant)
                    table[name].update(check for check, noticed in caught.items() if noticed)
    return table, found


def main() -> int:
    """Print the table."""
    table, found = run(INSTANCES)
    checks = ["value at start", "values", "residual", "certificate"]
    print(f"{len(found)} properties, {INSTANCES} instances each; of the live ones each check catches")
    print(f"{'fault class':28s} {'live':>5s} " + " ".join(f"{check:>14s}" for check in checks))
    total: Counter[str] = Counter()
    for name, row in table.items():
        total.update(row)
        print(f"{name:28s} {row['live']:5d} " + " ".join(f"{row[check]:14d}" for check in checks))
    print(f"{'all':28s} {total['live']:5d} " + " ".join(f"{total[check]:14d}" for check in checks))
    return 0 if total["certificate"] == total["live"] else 1


if __name__ == "__main__":
    sys.exit(main())
