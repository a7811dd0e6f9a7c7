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
from mdpdice.solving.proposal import check_candidate

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

    def solve(self, run: Run, epsilon: float, interrupts: Interrupts | None = None) -> Solution:
        """Find the gain of every end component, and what is best to come to."""
        started, staying = time.perf_counter(), Staying.of(self.problem.canonical)
        try:
            gains, called = self._gains(staying, run, epsilon, interrupts)
            keeping = np.append(staying.edge, -1)[gains.policy]
            found = self._settled(staying, gains, keeping, run, epsilon, interrupts)
        except (SolveInterrupted, NotConvergedError) as error:
            error.partial = None  # which answers another question
            raise
        table, network, cost = found.nodes, found.network, np.zeros(found.n_edges)
        details = {**found.details, "called": called.union(found.details.get("called", ()))}
        if not staying.component.any():
            # Where every state has one average, an action is worth it less what it costs once.
            sign = int(np.prod([lowering.scale for lowering in self.problem.lowerings]))
            bias = 0 + sign * (gains.bias[network.state_node] - gains.bias[network.start])
            details["bias"] = bias if gains.bias.dtype == object else bias.astype(np.float64)
            edges = np.flatnonzero(network.decides[network.source])
            cost[edges] = sign * staying.rewards(gains.gain, gains.bias, edges)
            cost[keeping[network.decides]] = 0
        gain = np.append(gains.gain, 0)[staying.component].astype(np.float64)
        proof: dict[str, Any] = {"gain": gain, "bias": gains.bias, "keeping": keeping, "reward": cost}
        table = Averages(network, table.values, table.lowers, table.uppers, table.choice, table.exact, **proof)
        width = float(((table.uppers - table.lowers) / np.maximum(1.0, np.abs(table.values))).max())
        reason = gains.reason or ("" if found.proved else found.reason)
        if not reason and not width <= epsilon:
            reason = f"the gains are known to a relative width of {width:.3g}, more than {epsilon:.3g}"
        status = Status.UNCERTIFIED if reason else Status.EXACT if table.exact is not None else Status.CERTIFIED
        who, notes = (self.solver.name, ()) if staying.count else (found.solver, (ENDING,))
        told: dict[str, Any] = {"solver": who, "notes": notes, "details": details}
        made = attrs.evolve(found.provenance, seconds=time.perf_counter() - started, **told)
        return attrs.evolve(found, table=table, provenance=made, width=width, status=status, reason=reason)

    def _gains(self, staying: Staying, run: Run, epsilon: float, watch: Interrupts | None) -> tuple[Gains, Any]:
        """Return the gains, and who was asked for them."""
        n, most, called = staying.network.n_nodes, np.full(staying.count, np.inf), frozenset[str]()
        if self.known is not None and staying.count:
            keeping, first = self.known.keeping, np.unique(staying.component, return_index=True)[1]
            policy = np.where(keeping < 0, -1, np.searchsorted(staying.edge, keeping))
            return _proved(staying, policy, self.known.gain[first[-staying.count :]], self.known.bias, run), called
        found = Gains(np.full(n, -1), np.zeros(staying.count), np.zeros(n), -most, most)
        exactly, least, waited = self.solver.name == "exact" and staying.count > 0, np.inf, 0
        if staying.count and self.solver.name in SWEPT:
            found = _proved(staying, *staying.sweep(run.tolerance / 100, run.check), run)
        while waited < PATIENCE and not (exactly or found.width <= run.tolerance):
            network = staying.discounted(found.gain, found.bias)
            plan = self.settle(attrs.evolve(self.problem, network=network, lowerings=(), sense="max", averaged=False))
            asked = attrs.evolve(plan, surely=False).solve(run, epsilon, watch)
            ahead, called = asked.nodes, called.union(asked.details.get("called", ()))
            policy = np.where((ahead.values > run.tolerance) | (found.policy < 0), ahead.choice, found.policy)
            found = _proved(staying, *staying.evaluate(policy, found.bias), run)
            waited, least = 0 if found.width < least / 2 else waited + 1, min(least, found.width)
        exactly |= self.surely and n <= EXACT_UP_TO_NODES and not found.width <= epsilon / 4
        return _exactly(staying, found, run) if exactly else found, called

    def _settled(
        self, staying: Staying, gains: Gains, keeping: Ints, run: Run, epsilon: float, watch: Interrupts | None
    ) -> Solution:
        """Return the answer to where it is best to come to, with the room that is left to the gains."""
        problem, whole, exact = self.problem, self.problem.canonical, gains.gain.dtype == object
        if not staying.component.any() and self.solver.name in SWEPT:
            low, high = (np.full(whole.n_nodes, one[0]) for one in (gains.lower, gains.upper))
            value, rows = gains.gain.astype(np.float64).clip(low, high), [*gains.gain] * len(low) if exact else None
            check_candidate(whole, value, keeping, self.solver.name)
            verdict, said = Verdict(True, low, high, gains.width), Candidate(value, keeping)
            return lift(problem, self.solver, said, value, keeping, verdict, time.perf_counter(), rows)
        bare = attrs.evolve(whole, reward=np.zeros(whole.n_edges), exact_rewards={})
        merge = partial(collapse_idle, worth=gains.gain.tolist(), keeping=keeping, component=staying.component)
        steps = *problem.lowerings, Lowering(bare), *chain(bare, [merge])
        coming = self.settle(attrs.evolve(problem, lowerings=steps, averaged=False))
        found: Solution = coming.solve(run, epsilon / 2, watch)
        if exact or not staying.count:
            return found
        table, room = found.nodes, float(np.maximum(gains.upper - gains.gain, gains.gain - gains.lower).max())
        lowers, uppers = np.nextafter(table.lowers - room, -np.inf), np.nextafter(table.uppers + room, np.inf)
        return attrs.evolve(found, table=attrs.evolve(table, lowers=lowers, uppers=uppers, exact=None))


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
