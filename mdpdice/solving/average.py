"""The long-run average: of every end component first, then of coming to stay in the best ones.

A solver is asked again and again what can be gained on the gain of a policy; see `mdpdice.objectives.staying`.  Then an
end component is a node in which one may stay for its gain, and what remains is a total like any other (P. Ashok,
K. Chatterjee, P. Daca, J. Kretinsky, T. Meggendorf, "Value iteration for long-run average reward in Markov decision
processes", CAV 2017).
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import attrs
import numpy as np

from mdpdice.answers.answer import Status
from mdpdice.answers.solution import Solution
from mdpdice.backend import Feature, Run, load_solver
from mdpdice.certification.average_bounds import bound
from mdpdice.certification.residual_bounds import is_large
from mdpdice.certification.verdict import certify_exact, enclose_exactly
from mdpdice.errors import NotConvergedError, SolveInterrupted, UnsupportedError
from mdpdice.modelling.number import nearest_floats
from mdpdice.networks.arrays import ULP, split_exact
from mdpdice.networks.network import Floats, Ints, Network
from mdpdice.objectives.endless_plays import collapse_idle
from mdpdice.objectives.objective import AverageReward
from mdpdice.objectives.reductions import chain
from mdpdice.objectives.staying import Staying
from mdpdice.solving.interruption import Interrupts
from mdpdice.solving.problem import Problem

ROUNDS = 100
"""Policies of the end components that are looked at at most."""
PATIENCE = 3
"""Policies in a row that prove no more than the ones before, after which no more are looked at."""
EXACT_UP_TO_STATES = 500
"""Nodes up to which `auto` finds averages exactly that floats do not prove."""

ENDING = "every play ends, and an end is worth 0 from then on; repeated(game) starts it again (--repeated)"
"""Said where that is all there is."""


class Gains(NamedTuple):
    """What is known of the end components: gains, floats or fractions, what is proved of them, and who attains them."""

    gain: Any
    lower: Floats
    upper: Floats
    policy: Ints
    bias: Any
    rounds: int = 0
    reason: str = ""
    solver: str = ""

    @property
    def width(self) -> float:
        """Largest relative width of an interval."""
        return float(((self.upper - self.lower) / np.maximum(1.0, np.abs(self.gain.astype(float)))).max(initial=0.0))


@attrs.frozen
class PlanOfAverage:
    """`settle` makes the plan for a total, by the solver that was asked for; `surely` goes on in exact arithmetic."""

    network: Network
    objective: AverageReward
    settle: Callable[[Problem], Any]
    surely: bool

    def solve(self, run: Run, epsilon: float, interrupts: Interrupts) -> Solution:
        """Find the gain of every end component, and what is best to come to."""
        try:
            return self._solve(run, epsilon, interrupts)
        except (SolveInterrupted, NotConvergedError) as error:
            error.partial = None  # which answers another question
            raise

    def _solve(self, run: Run, epsilon: float, interrupts: Interrupts) -> Solution:
        started, network, objective = time.perf_counter(), self.network, self.objective
        if run.checkpoint is not None:
            msg = f"{objective} solves many problems, and a checkpoint is of one; leave it out"
            raise UnsupportedError(msg, value=objective)
        sense, steps = objective.wanted(network), objective.for_the_maximiser(network)
        whole = next((each.network for each in chain(network, steps)), network)
        unless = "a decision, so say which states count, with per" if objective.per is None else "a state that counts"
        staying = Staying.of(whole, objective.counted(network), unless)
        with interrupts.patience():
            gains = self._gains(staying, run, epsilon)
        # The network whose total is the average: nothing is paid but for staying.
        nothing = {"reward": np.zeros(network.n_edges), "exact_rewards": {}, "discount": Fraction(1), "sense": sense}
        applied = attrs.evolve(network, payoff=np.zeros(network.n_nodes), exact_payoffs={}, **nothing)
        keeping = np.append(staying.edge, -1)[gains.policy]
        merge = functools.partial(collapse_idle, worth=gains.gain.tolist(), keeping=keeping)
        problem = Problem(applied, tuple(chain(applied, [*steps, merge])), sense, str(objective))
        found: Solution = self.settle(problem).solve(run, epsilon / 2, interrupts)
        return _told(found, staying, gains, keeping, epsilon, started)

    def _gains(self, staying: Staying, run: Run, epsilon: float) -> Gains:
        """Return the gains, in floats if possible, and what is proved of them."""
        n, network = staying.network.n_nodes, staying.network
        gain, bias, policy = np.zeros(staying.count), np.zeros(n), np.full(n, -1)
        if not staying.count:
            return Gains(gain, gain, gain, policy, bias)
        brief = attrs.evolve(run, tolerance=epsilon / 16) if is_large(network) else run
        plan = self.settle(Problem(staying.discounted(gain, bias), (), "max", str(self.objective)))
        exactly = Feature.EXACT in plan.solver.features
        solver = load_solver("value-iteration")() if exactly else plan.solver
        options, best, least, waited = network.decides[network.source], policy, np.inf, 0
        for rounds in itertools.count(1):
            run.check()
            problem = Problem(staying.discounted(gain, bias), (), "max", str(self.objective))
            ahead = attrs.evolve(plan, problem=problem, solver=solver).propose(brief)
            better = (ahead.value > brief.tolerance) | (policy < 0)
            policy, gain, bias = staying.evaluate(np.where(better, ahead.policy, policy), bias)
            beyond = float(staying.rewards(gain, bias)[options].max(initial=0.0))
            waited = 0 if beyond < least / 2 else waited + 1
            if beyond < least:
                best, least, known = policy, beyond, bias
            if (
                beyond <= max(brief.tolerance / 100, 64 * ULP * float(np.abs(bias).max()))
                or waited == PATIENCE
                or rounds == ROUNDS
            ):
                break
        lower, upper, reason = bound(network, staying.counted, staying.component, staying.rank, best, known, run.check)
        found = Gains(np.clip(gain, lower, upper), lower, upper, best, known, rounds, reason, solver.name)
        unproved = not found.width <= epsilon / 4
        if exactly or (self.surely and unproved and n <= EXACT_UP_TO_STATES):
            return _exactly(staying, found, run)
        return found


def _exactly(staying: Staying, known: Gains, run: Run) -> Gains:
    """Return the gains as fractions, by iteration of policies."""
    network, policy = staying.network, known.policy
    n = network.n_nodes
    nothing = [Fraction(0)] * n
    bias: Any = np.array([*nothing, None], dtype=object)[:-1]
    while True:
        run.check()
        policy, gain, bias = staying.evaluate(policy, bias)
        verdict = certify_exact(staying.discounted(gain, bias), nothing, np.zeros(n), policy, run.check)
        value = np.array(nearest_floats(gain))
        beyond = staying.rewards(gain, bias)
        edges = [edge for edge in np.flatnonzero(network.decides[network.source]).tolist() if beyond[edge] > 0]
        if verdict.certified or not edges:
            lower, upper = value.copy(), value.copy()
            enclose_exactly(gain, lower, upper)
            return Gains(gain, lower, upper, policy, bias, known.rounds, verdict.reason, "exact")
        policy = policy.copy()
        for edge in sorted(edges, key=beyond.__getitem__):
            policy[network.source[edge]] = edge


def _told(found: Solution, staying: Staying, gains: Gains, keeping: Ints, epsilon: float, started: float) -> Solution:
    """Return the answer for the network with the room that is left to the gains, and the bias."""
    table, network = found.nodes, found.network
    exact = gains.gain.dtype == object or not staying.count
    sign, room = -1 if found.sense == "min" else 1, 0.0
    lowers, uppers = table.lowers, table.uppers
    if not exact and staying.count:
        room = float(np.maximum(gains.upper - gains.gain, gains.gain - gains.lower).max())
        lowers, uppers = np.nextafter(lowers - room, -np.inf), np.nextafter(uppers + room, np.inf)
    details, choice = {**found.details, "rounds": gains.rounds}, table.choice
    if (staying.component == 0).all():
        # Where every state has one average, an action is worth it less what it costs once.
        cost = sign * np.where(network.decides[network.source], staying.rewards(gains.gain, gains.bias), 0)
        cost[keeping[network.decides]] *= 0
        reward, numbers = split_exact(len(cost), dict(enumerate(cost.tolist())))
        network, choice = attrs.evolve(network, reward=reward, exact_rewards=numbers), keeping
        bias = sign * (gains.bias[network.state_node] - gains.bias[network.start])
        details["bias"] = bias if exact else bias.astype(np.float64)
    table = attrs.evolve(
        table, network=network, lowers=lowers, uppers=uppers, choice=choice, exact=table.exact if exact else None
    )
    width = float(((uppers - lowers) / np.maximum(1.0, np.abs(table.values))).max())
    reason = gains.reason or ("" if found.proved else found.reason)
    if not reason and not width <= epsilon:
        reason = f"the gains are known to a relative width of {width:.3g}, more than {epsilon:.3g}"
    status = Status.UNCERTIFIED if reason else Status.EXACT if table.exact is not None else Status.CERTIFIED
    notes = found.provenance.notes if staying.count else (*found.provenance.notes, ENDING)
    spent = time.perf_counter() - started
    made = attrs.evolve(
        found.provenance, seconds=spent, notes=notes, details=details, solver=gains.solver or found.solver
    )
    answer = attrs.evolve(found, table=table, provenance=made, width=width, reason=reason, status=status)
    number = answer.exact() if status is Status.EXACT else answer.estimate()
    return attrs.evolve(answer, at_start=(number, answer.lower(), answer.upper()))
