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
from mdpdice.answers.node_values import Averages
from mdpdice.answers.solution import Solution
from mdpdice.backend import Candidate, Run, Solver
from mdpdice.certification.average_bounds import bound
from mdpdice.certification.verdict import Verdict, certify_exact, enclose_exactly
from mdpdice.errors import NotConvergedError, SolveInterrupted
from mdpdice.modelling.number import nearest_floats
from mdpdice.networks.network import Floats, Ints
from mdpdice.objectives.endless_plays import collapse_idle
from mdpdice.objectives.reductions import Lowering, chain
from mdpdice.objectives.staying import Staying
from mdpdice.solving.interruption import Interrupts
from mdpdice.solving.problem import Problem, lift

SWEPT = ("value-iteration", "exact")
"""Solvers in whose place relative value iteration begins."""
PATIENCE = 4  # policies in a row after which it is given up to come closer to a proof
EXACT_UP_TO_NODES = 500
"""Nodes up to which `auto` finds averages exactly that floats do not prove."""
ENDING = "every play ends, and an end is worth 0 from then on; repeated(game) starts it again (--repeated)"


class Gains(NamedTuple):
    """Gains of the end components, floats or fractions, and what is proved of them."""

    policy: Ints
    gain: Any
    bias: Any
    lower: Floats
    upper: Floats
    reason: str = ""

    @property
    def width(self) -> float:
        """How wide the intervals are, relative to the gains."""
        return float(((self.upper - self.lower) / np.maximum(1.0, np.abs(self.gain))).max(initial=0.0))


@attrs.frozen
class PlanOfAverage:
    """`settle` makes the plan for a total, by the solver that was asked for; `surely` goes on in exact arithmetic.

    What is `known` is proved again.
    """

    problem: Problem
    solver: Solver
    settle: Callable[[Problem], Any]
    surely: bool = False
    known: Averages | None = None

    def solve(self, run: Run, epsilon: float, interrupts: Interrupts) -> Solution:
        """Find the gain of every end component, and what is best to come to."""
        started, whole = time.perf_counter(), self.problem.canonical
        staying = Staying.of(whole)
        try:
            gains, called = self._gains(staying, run, epsilon, interrupts)
            keeping = np.append(staying.edge, -1)[gains.policy]
            if staying.everywhere and self.solver.name in SWEPT:
                found = self._the_same(gains, keeping, called, started)
            else:
                # Coming to stay is all that counts now.
                bare = attrs.evolve(whole, reward=np.zeros(whole.n_edges), exact_rewards={})
                merge = partial(collapse_idle, worth=gains.gain.tolist(), keeping=keeping, component=staying.component)
                steps = *self.problem.lowerings, Lowering(bare), *chain(bare, [merge])
                problem = attrs.evolve(self.problem, lowerings=steps, averaged=False)
                found = self.settle(problem).solve(run, epsilon / 2, interrupts)
        except (SolveInterrupted, NotConvergedError) as error:
            error.partial = None  # which answers another question
            raise
        found = _told(found, staying, gains, self.solver.name, keeping, epsilon)
        seconds = time.perf_counter() - started
        return attrs.evolve(found, provenance=attrs.evolve(found.provenance, seconds=seconds))

    def _gains(self, staying: Staying, run: Run, epsilon: float, interrupts: Interrupts) -> tuple[Gains, set[str]]:
        """Return the gains, and who was asked for them."""
        n, most, called = staying.network.n_nodes, np.full(staying.count, np.inf), set()
        if self.known is not None and staying.count:
            place = np.full(self.problem.network.n_edges + 1, -1)
            place[staying.edge] = np.arange(len(staying.edge))
            of = np.unique(staying.component, return_index=True)[1][-staying.count :]
            return _proved(staying, place[self.known.keeping], self.known.gain[of], self.known.bias, run), called
        found = Gains(np.full(n, -1), np.zeros(staying.count), np.zeros(n), -most, most)
        exactly, least, waited = self.solver.name == "exact" and staying.count > 0, np.inf, 0
        if staying.count and self.solver.name in SWEPT:
            found = _proved(staying, *staying.sweep(run.tolerance / 100, run.check), run)
        while waited < PATIENCE and not (exactly or found.width <= run.tolerance):
            network = staying.discounted(found.gain, found.bias)
            plan = self.settle(attrs.evolve(self.problem, network=network, lowerings=(), sense="max", averaged=False))
            asked = attrs.evolve(plan, surely=False).solve(run, epsilon, interrupts)
            ahead, called = asked.nodes, called | asked.details.get("called", set())
            policy = np.where((ahead.values > run.tolerance) | (found.policy < 0), ahead.choice, found.policy)
            found = _proved(staying, *staying.evaluate(policy, found.bias), run)
            waited, least = 0 if found.width < least / 2 else waited + 1, min(least, found.width)
        exactly |= self.surely and n <= EXACT_UP_TO_NODES and not found.width <= epsilon / 4
        return _exactly(staying, found, run) if exactly else found, called

    def _the_same(self, gains: Gains, keeping: Ints, called: set[str], started: float) -> Solution:
        """Return the answer where every node has one gain."""
        n, (gain,), exact = len(keeping), gains.gain.tolist(), gains.gain.dtype == object
        value = np.full(n, min(max(float(gain), gains.lower[0]), gains.upper[0]))
        verdict = Verdict(True, *(np.full(n, one[0]) for one in (gains.lower, gains.upper)), gains.width)
        candidate = Candidate(value, keeping, details={"called": frozenset(called)})
        rows = [gain] * n if exact else None
        return lift(self.problem, self.solver, candidate, value, keeping, verdict, started, rows)


def _proved(staying: Staying, policy: Ints, gain: Floats, bias: Floats, run: Run) -> Gains:
    """Return gains with what is proved of them."""
    return Gains(policy, gain, bias, *bound(staying, policy, bias, run.check))


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
            return Gains(policy, gain, bias, lower, upper, verdict.reason)
        for edge in sorted(edges, key=beyond.__getitem__):
            policy[net.source[edge]] = edge


def _told(found: Solution, staying: Staying, gains: Gains, name: str, keeping: Ints, epsilon: float) -> Solution:
    """Return the answer with the room that is left to the gains, and with the bias."""
    table, network, sign = found.nodes, found.network, -1 if found.sense == "min" else 1
    exact = gains.gain.dtype == object or not staying.count
    if not (exact or (staying.everywhere and name in SWEPT)):
        room = float(np.maximum(gains.upper - gains.gain, gains.gain - gains.lower).max())
        lowers, uppers = np.nextafter(table.lowers - room, -np.inf), np.nextafter(table.uppers + room, np.inf)
        table = attrs.evolve(table, lowers=lowers, uppers=uppers, exact=None)

    def costs() -> Floats:
        if not staying.everywhere:
            return np.zeros(network.n_edges)
        cost = sign * np.where(network.decides[network.source], staying.rewards(gains.gain, gains.bias), 0)
        cost[keeping[network.decides]] *= 0
        return cost.astype(np.float64)

    gain = np.append(gains.gain, 0)[staying.component].astype(np.float64)
    numbers = {name: getattr(table, name) for name in ("network", "values", "lowers", "uppers", "choice", "exact")}
    table = Averages(**numbers, gain=gain, bias=gains.bias, keeping=keeping, costs=costs)
    details = {**found.details}
    if staying.everywhere:
        bias = sign * (gains.bias[network.state_node] - gains.bias[network.start])
        details["bias"] = bias if exact else bias.astype(np.float64)
    width = float(((table.uppers - table.lowers) / np.maximum(1.0, np.abs(table.values))).max())
    reason = gains.reason or ("" if found.proved else found.reason)
    if not reason and not width <= epsilon:
        reason = f"the gains are known to a relative width of {width:.3g}, more than {epsilon:.3g}"
    status = Status.UNCERTIFIED if reason else Status.EXACT if table.exact is not None else Status.CERTIFIED
    notes = () if staying.count else (ENDING,)
    made = attrs.evolve(found.provenance, solver=name, notes=notes, details=details)
    return attrs.evolve(found, table=table, provenance=made, width=width, status=status, reason=reason)
