"""The long-run average: of every end component first, then of coming to stay in the best ones.

Relative value iteration finds the gains where plays mix.  Elsewhere, and by other solvers, a solver is asked again and
again what can be gained on the gain of a policy (`mdpdice.objectives.staying`).  Then an end component is a node in
which one may stay for its gain, and what remains is a total like any other: P. Ashok, K. Chatterjee, P. Daca, J.
Kretinsky, T. Meggendorf, "Value iteration for long-run average reward in Markov decision processes", CAV 2017.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import attrs
import numpy as np

from mdpdice.answers.answer import Status
from mdpdice.answers.solution import Solution
from mdpdice.backend import Run, Solver, load_solver
from mdpdice.certification.average_bounds import bound
from mdpdice.certification.verdict import certify_exact, enclose_exactly
from mdpdice.errors import NotConvergedError, SolveInterrupted
from mdpdice.modelling.number import nearest_floats
from mdpdice.networks.arrays import split_exact
from mdpdice.networks.network import Floats, Ints, Kind, Network
from mdpdice.objectives.endless_plays import collapse_idle
from mdpdice.objectives.objective import AverageReward
from mdpdice.objectives.reductions import chain, stop_at
from mdpdice.objectives.staying import Staying
from mdpdice.solving.interruption import Interrupts
from mdpdice.solving.problem import Problem

PATIENCE = 4  # policies in a row after which it is given up to come closer to a proof
EXACT_UP_TO_NODES = 500
"""Nodes up to which `auto` finds averages exactly that floats do not prove."""
ENDING = "every play ends, and an end is worth 0 from then on; repeated(game) starts it again (--repeated)"


class Gains(NamedTuple):
    """Gains of the end components, floats or fractions, and what is proved of them."""

    policy: Ints
    gain: Any
    bias: Any
    solver: Solver
    lower: Floats
    upper: Floats
    reason: str = ""

    @property
    def width(self) -> float:
        """How wide the intervals are, relative to the gains."""
        return float(((self.upper - self.lower) / np.maximum(1.0, np.abs(self.gain))).max(initial=0.0))


@attrs.frozen
class PlanOfAverage:
    """`settle` makes the plan for a total, by the solver that was asked for; `surely` goes on in exact arithmetic."""

    network: Network
    objective: AverageReward
    settle: Callable[[Problem], Any]
    surely: bool

    def solve(self, run: Run, epsilon: float, interrupts: Interrupts) -> Solution:
        """Find the gain of every end component, and what is best to come to."""
        started, network, objective = time.perf_counter(), self.network, self.objective
        steps, sense = objective.for_the_maximiser(network), objective.wanted(network)
        whole = next((each.network for each in chain(network, steps)), network)
        staying = Staying.of(whole, objective.counted(network))
        applied = stop_at(network, network.kind == Kind.END, np.zeros(network.n_nodes), sense, rewards=False)
        try:
            gains = self._gains(staying, run, epsilon, interrupts)
            keeping = np.append(staying.edge, -1)[gains.policy]
            merge = partial(collapse_idle, worth=gains.gain.tolist(), keeping=keeping, component=staying.component)
            problem = Problem(applied, tuple(chain(applied, [*steps, merge])), sense, str(objective))
            found = self.settle(problem).solve(run, epsilon / 2, interrupts)
        except (SolveInterrupted, NotConvergedError) as error:
            error.partial = None  # which answers another question
            raise
        return _told(found, staying, gains, keeping, epsilon, started)

    def _gains(self, staying: Staying, run: Run, epsilon: float, interrupts: Interrupts) -> Gains:
        n, most = staying.network.n_nodes, np.full(staying.count, np.inf)
        plan = self.settle(Problem(staying.network, (), "max", str(self.objective)))
        found = Gains(np.full(n, -1), np.zeros(staying.count), np.zeros(n), plan.solver, -most, most)
        exactly, least, waited = plan.solver.name == "exact" and staying.count > 0, np.inf, 0
        if exactly or (plan.solver.name == "value-iteration" and staying.count):
            found = _proved(staying, *staying.sweep(run.tolerance / 100, run.check), plan.solver, run)
        while waited < PATIENCE and not (exactly or found.width <= run.tolerance):
            problem = attrs.evolve(plan.problem, network=staying.discounted(found.gain, found.bias))
            ahead = attrs.evolve(plan, problem=problem, surely=False).solve(run, epsilon, interrupts).nodes
            policy = np.where((ahead.values > run.tolerance) | (found.policy < 0), ahead.choice, found.policy)
            found = _proved(staying, *staying.evaluate(policy, found.bias), plan.solver, run)
            waited, least = 0 if found.width < least / 2 else waited + 1, min(least, found.width)
        exactly |= self.surely and n <= EXACT_UP_TO_NODES and not found.width <= epsilon / 4
        return _exactly(staying, found, run) if exactly else found


def _proved(staying: Staying, policy: Ints, gain: Floats, bias: Floats, solver: Solver, run: Run) -> Gains:
    """Return gains with what is proved of them."""
    return Gains(policy, gain, bias, solver, *bound(staying, policy, bias, run.check))


def _exactly(staying: Staying, known: Gains, run: Run) -> Gains:
    """Return the gains as fractions, by iteration of policies."""
    net, policy, nothing = staying.network, known.policy.copy(), [Fraction(0)] * staying.network.n_nodes
    bias: Any = np.array([*nothing, None], dtype=object)[:-1]
    while True:
        policy, gain, bias = staying.evaluate(policy, bias)
        verdict = certify_exact(staying.discounted(gain, bias), nothing, np.zeros(net.n_nodes), policy, run.check)
        beyond = staying.rewards(gain, bias)
        edges = [edge for edge in np.flatnonzero(net.decides[net.source]).tolist() if beyond[edge] > 0]
        if verdict.certified or not edges:
            lower, upper = np.array([nearest_floats(gain)] * 2)
            enclose_exactly(gain, lower, upper)
            return Gains(policy, gain, bias, load_solver("exact")(), lower, upper, verdict.reason)
        for edge in sorted(edges, key=beyond.__getitem__):
            policy[net.source[edge]] = edge


def _told(found: Solution, staying: Staying, gains: Gains, keeping: Ints, epsilon: float, started: float) -> Solution:
    """Return the answer with the room that is left to the gains, and with the bias."""
    table, network, sign = found.nodes, found.network, -1 if found.sense == "min" else 1
    exact = gains.gain.dtype == object or not staying.count
    told: Any = {"solver": gains.solver.name, "notes": () if staying.count else (ENDING,), "details": {**found.details}}
    if not exact:
        room = float(np.maximum(gains.upper - gains.gain, gains.gain - gains.lower).max())
        lowers, uppers = np.nextafter(table.lowers - room, -np.inf), np.nextafter(table.uppers + room, np.inf)
        table = attrs.evolve(table, lowers=lowers, uppers=uppers, exact=None)
    if (staying.component == 0).all():
        # Where every state has one average, an action is worth it less what it costs once.
        cost = sign * np.where(network.decides[network.source], staying.rewards(gains.gain, gains.bias), 0)
        cost[keeping[network.decides]] *= 0
        reward, fractions = split_exact(len(cost), dict(enumerate(cost.tolist()))) if exact else (cost, {})
        network = attrs.evolve(network, reward=reward, exact_rewards=fractions)
        table = attrs.evolve(table, network=network, choice=keeping)
        bias = sign * (gains.bias[network.state_node] - gains.bias[network.start])
        told["details"]["bias"] = bias if exact else bias.astype(np.float64)
    width = float(((table.uppers - table.lowers) / np.maximum(1.0, np.abs(table.values))).max())
    reason = gains.reason or ("" if found.proved else found.reason)
    if not reason and not width <= epsilon:
        reason = f"the gains are known to a relative width of {width:.3g}, more than {epsilon:.3g}"
    status = Status.UNCERTIFIED if reason else Status.EXACT if table.exact is not None else Status.CERTIFIED
    made = attrs.evolve(found.provenance, seconds=time.perf_counter() - started, **told)
    number = table.exact_value(None, None) if status is Status.EXACT else table.value(None, None)
    told = {"reason": reason, "at_start": (number, *table.interval(None, None))}
    return attrs.evolve(found, table=table, provenance=made, width=width, status=status, **told)
