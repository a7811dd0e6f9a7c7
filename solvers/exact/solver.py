"""Exact: the value in rational numbers, and every optimal action.

The page "How the solvers work" of the reference (``docs/reference/methods.rst``) has the problem, the method, what it
guarantees, and the literature.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import attrs
import numpy as np

from mdpdice.archives import text_member
from mdpdice.backend import AlwaysAvailable, Candidate, Feature, Run, traced
from mdpdice.errors import MdpDiceError, SolveInterrupted, TotalRewardUndefinedError, UnsupportedError
from mdpdice.modelling.number import too_large_error
from mdpdice.networks.network import Bools, Ints, Kind, Network
from mdpdice.numerics import graph
from mdpdice.solvers.exact import parts, strategy_improvement
from mdpdice.solvers.exact.parts import Branch, Move, Part, quotient
from mdpdice.solvers.exact.rational import Pair, common_multiple, reduced
from mdpdice.solvers.policy_iteration import blocks


@attrs.frozen
class Exact(AlwaysAvailable):
    """Rational arithmetic: exact values, an optimal policy and all ties.

    Notes
    -----
    `Candidate.details` holds

    ``exact`` : list of Fraction, or list of such lists
        Value of every node; with a horizon one list per stage.
    ``ties`` : ndarray of bool, shape (E,) or (horizon + 1, E)
        Which edges of decisions attain the value of their node when best play follows.  Not every choice
        among them is an optimal policy where plays may go on for ever: to follow a circle of them for ever
        is not.  The policy is.
    ``systems`` : int
        Linear systems solved; one per cyclic component and stage, if the first policy was right everywhere.
    """

    name: ClassVar[str] = "exact"
    features: ClassVar[frozenset[Feature]] = frozenset(
        {Feature.CYCLIC, Feature.DISCOUNT, Feature.HORIZON, Feature.TWO_PLAYER, Feature.EXACT, Feature.CHECKPOINT}
    )

    @traced
    def solve(self, problem: Network, run: Run) -> Candidate:
        """Find the exact value and an optimal policy.

        Raises
        ------
        UnsupportedError
            Some value is infinite, or too large for a float.
        TotalRewardUndefinedError
            Endless plays collect and pay in turns.
        """
        return _Solve(problem, run).candidate()


class _Solve:
    """One solve.

    `value` are the rationals of the current stage and `before` those of the stage that its decisions read,
    which is the same list where there are no stages.
    """

    def __init__(self, problem: Network, run: Run) -> None:
        self.problem, self.run = problem, run
        self.kind: list[int] = problem.kind.tolist()
        self.indptr: list[int] = problem.indptr.tolist()
        self.dst: list[int] = problem.dst.tolist()
        self.sign: list[int] = problem.sign.tolist()
        self.step: list[bool] = problem.step.tolist()
        self.rewards: list[float] = problem.reward.tolist()
        self.discount: Pair = problem.discount.as_integer_ratio()
        self.local: dict[int, int] = {}
        self.systems = 0
        self.weights: dict[int, list[int]] = {}
        payoff: list[Pair] = [(0, 1)] * problem.n_nodes
        for node in np.flatnonzero(problem.kind == Kind.END).tolist():
            payoff[node] = problem.exact_payoff(node).as_integer_ratio()
        self.value = self.before = payoff
        self.floats = [quotient(pair) for pair in payoff]
        self.policy = np.full(problem.n_nodes, -1, dtype=np.int64)
        self.ties = np.zeros(problem.n_edges, dtype=np.bool_)

    def so_far(self) -> Candidate:
        value = np.array(self.floats)
        if self.problem.horizon is None:
            return Candidate(value, self.policy)
        # The number of the current stage covers all of them.
        stages = self.problem.horizon + 1
        return Candidate(np.tile(value, (stages, 1)), np.tile(self.policy, (stages, 1)))

    def candidate(self) -> Candidate:
        self.run.offer(self.so_far)
        if self.problem.horizon is not None:
            return self.staged(self.problem.horizon)
        self.solve_stage(None, np.ones(self.problem.n_nodes, dtype=np.bool_))
        return self.proposed([self.value], self.policy, self.ties)

    def staged(self, horizon: int) -> Candidate:
        problem = self.problem
        chance = problem.kind == Kind.CHANCE
        # Within one stage only chance nodes read each other; the decisions they lead to are known before.
        keep = chance[problem.source]
        decisions = np.flatnonzero(problem.decides).tolist()
        values, policies, ties = [], [], []
        found = self.run.steps()
        for k in range(horizon + 1):
            self.before = self.value
            self.value = list(self.before)
            self.policy = np.full(problem.n_nodes, -1, dtype=np.int64)
            self.ties = np.zeros(problem.n_edges, dtype=np.bool_)
            if step := next(found, None):
                self.take_up(step, range(problem.n_nodes), decisions if k else [])
            else:
                if k > 0:
                    # All of them before one is kept, since they read each other.
                    for node, pair in [(node, self.decide(node)) for node in decisions]:
                        self.keep(node, pair)
                self.solve_stage(keep, chance)
                self.keep_step(range(problem.n_nodes))
            values.append(self.value)
            policies.append(self.policy)
            ties.append(self.ties)
            self.run.tell("solve", done=k, total=horizon)
        return self.proposed(values, np.array(policies), np.array(ties))

    def proposed(self, values: list[list[Pair]], policy: Ints, ties: Bools) -> Candidate:
        floats = np.array([[quotient(pair) for pair in row] for row in values])
        if not np.isfinite(floats).all():
            raise too_large_error().at(self.problem.describe(int(np.argwhere(~np.isfinite(floats))[0][-1])))
        exact: list[Any] = [[Fraction(*pair) for pair in row] for row in values]
        if self.problem.horizon is None:
            floats, exact = floats[0], exact[0]
        details = {"exact": exact, "ties": ties, "systems": self.systems}
        return Candidate(floats, policy, max(1, self.systems), details)

    # --- component by component ---

    def solve_stage(self, keep: Bools | None, inside: Bools) -> None:
        """Solve the nodes `inside`, which read each other along the edges in `keep`."""
        problem = self.problem
        label, order, ptr = graph.ordered_components(problem.indptr, problem.dst, keep)
        cyclic = graph.cyclic_components(problem.indptr, problem.dst, label, keep)
        start: Ints | None = None
        nodes, bounds = order.tolist(), pairwise(ptr.tolist())
        mine: list[bool] = inside.tolist()
        kept, solved = 0, False
        for step in self.run.steps() if keep is None else ():
            after = kept + len(step["policy"])
            self.take_up(step, nodes[kept:after], [node for node in nodes[kept:after] if problem.decides[node]])
            kept = after
        resumed = kept
        for c, ((first, last), round_about) in enumerate(zip(bounds, cyclic.tolist(), strict=True)):
            if c % 256 == 0:
                self.run.check()
                self.run.tell("solve", nodes=first, of=len(nodes))
            if not mine[nodes[first]] or first < resumed:
                continue
            if keep is None and first > kept and (solved or c % 256 == 0):
                self.keep_step(nodes[kept:first])
                kept = first
            solved = round_about
            if round_about:
                if start is None:
                    start = self.first_policy()
                self.solve_component(nodes[first:last], start)
            elif self.kind[nodes[first]] != Kind.END:
                node = nodes[first]
                chance = self.kind[node] == Kind.CHANCE
                self.keep(node, reduced(*self.branch(node).gain) if chance else self.decide(node))

        if keep is None and kept < len(nodes):
            self.keep_step(nodes[kept:])

    def keep_step(self, nodes: Sequence[int]) -> None:
        """Keep the values and decisions of some nodes in the checkpoint."""
        self.run.step(
            lambda: {
                "exact": text_member([f"{n:x} {d:x}" for n, d in map(self.value.__getitem__, nodes)]),
                "policy": self.policy[nodes],
                "systems": np.array([self.systems]),
            }
        )

    def take_up(self, step: Mapping[str, Any], nodes: Sequence[int], decisions: list[int]) -> None:
        """Go on from such nodes."""
        for node, text in zip(nodes, json.loads(step["exact"].tobytes()), strict=True):
            n, d = text.split()
            self.keep(node, (int(n, 16), int(d, 16)))
        for node in decisions:
            self.decide(node)
        # On a cycle the policy need not be the first of those that tie.
        self.policy[nodes] = step["policy"]
        self.systems = int(step["systems"][0])

    def first_policy(self) -> Ints:
        """Where strategy improvement starts: a policy from floats, or the first options."""
        problem = self.problem
        first = np.where(problem.decides, problem.indptr[:-1], -1)
        if problem.horizon is not None:
            return first  # only chance nodes lie on cycles
        try:
            return blocks.propose(problem, attrs.evolve(self.run, checkpoint=None)).policy
        except SolveInterrupted:
            raise
        except MdpDiceError as error:
            # Floats may fail where rationals do not.
            partial = getattr(error, "partial", None)
            return first if partial is None else np.where(partial.policy >= 0, partial.policy, first)

    def solve_component(self, nodes: list[int], start: Ints) -> None:
        self.local = {node: i for i, node in enumerate(nodes)}
        kind = [self.kind[node] for node in nodes]
        chance = [k == Kind.CHANCE for k in kind]
        moves = [[] if c else self.moves(node) for node, c in zip(nodes, chance, strict=True)]
        branch = [self.branch(node) if c else None for node, c in zip(nodes, chance, strict=True)]
        part = Part(kind, moves, branch, self.discount == (1, 1))
        policy = [int(start[node]) - self.indptr[node] if m else -1 for node, m in zip(nodes, moves, strict=True)]
        try:
            answer = strategy_improvement.optimise(part, policy, self.run.check)
        except strategy_improvement.InfiniteValueError as error:
            value, what = ("+inf", "collect") if error.sign > 0 else ("-inf", "pay")
            msg = f"the value is {value}: a play can be made to {what} for ever; use a discount below 1 or a horizon"
            raise UnsupportedError(msg, state=self.problem.describe(nodes[error.node % len(nodes)])) from None
        except strategy_improvement.NoTotalError as error:
            msg = "an endless play collects and pays in turns, so its total has no limit; use a discount or a horizon"
            raise TotalRewardUndefinedError(msg, state=self.problem.describe(nodes[error.node % len(nodes)])) from None
        self.local = {}
        self.systems += answer.systems
        for i, node in enumerate(nodes):
            self.keep(node, answer.value[i])
            if moves[i]:
                self.policy[node] = moves[i][answer.policy[i]].edge
                for k in answer.best[i]:
                    self.ties[moves[i][k].edge] = True

    # --- one node ---

    def keep(self, node: int, pair: Pair) -> None:
        self.value[node] = pair
        self.floats[node] = quotient(pair)

    def edges(self, node: int) -> range:
        return range(self.indptr[node], self.indptr[node + 1])

    def gain(self, edge: int) -> Pair:
        return self.problem.exact_rewards.get(edge, self.rewards[edge]).as_integer_ratio()

    def factor(self, edge: int) -> Pair:
        n, d = self.discount if self.step[edge] else (1, 1)
        return self.sign[edge] * n, d

    def moves(self, node: int) -> list[Move]:
        return [self.move(edge) for edge in self.edges(node)]

    def move(self, edge: int) -> Move:
        """Return an option as the part sees it: with its whole worth where it leaves."""
        gain, factor = self.gain(edge), self.factor(edge)
        target, pays = self.local.get(self.dst[edge], -1), gain[0] != 0
        if target < 0:
            n, d = self.before[self.dst[edge]]
            ahead = factor[0] * n, factor[1] * d
            gain = (gain[0] * ahead[1] + ahead[0] * gain[1], gain[1] * ahead[1]) if pays else ahead
        return Move(edge, target, factor, gain, pays)

    def decide(self, node: int) -> Pair:
        """Find the best option of a decision whose successors are known; note it, and the ties."""
        moves = self.moves(node)
        best = parts.best(moves, minimise=self.kind[node] == Kind.MIN)
        for k in best:
            self.ties[moves[k].edge] = True
        chosen = moves[best[0]]
        self.policy[node] = chosen.edge
        plain = not chosen.pays and chosen.factor[1] == 1
        return chosen.gain if plain else reduced(*chosen.gain)

    def shares(self, node: int) -> Iterator[tuple[int, int]]:
        """Edges of a chance node, with whole numbers in proportion to their probabilities."""
        if node not in self.weights:
            numbers = self.problem.numerator[self.indptr[node] : self.indptr[node + 1]].tolist()
            pairs = [x.as_integer_ratio() for x in numbers]
            whole = math.lcm(*[d for _, d in pairs])
            counts = [n * (whole // d) for n, d in pairs]
            common = math.gcd(*counts)
            self.weights[node] = [n // common for n in counts]
        return zip(self.edges(node), self.weights[node], strict=True)

    def branch(self, node: int) -> Branch:
        """Return a chance node as the part sees it: its mean where edges leave, and the shares of those that stay."""
        total = 0
        terms: list[tuple[int, Pair]] = []
        inside: list[tuple[int, int, Pair]] = []
        leaves = pays = False
        for edge, weight in self.shares(node):
            total += weight
            gain, factor = self.gain(edge), self.factor(edge)
            if gain[0]:
                pays = True
                terms.append((weight, gain))
            if (target := self.local.get(self.dst[edge], -1)) < 0:
                leaves = True
                n, d = self.value[self.dst[edge]]
                terms.append((weight * factor[0], (n, d * factor[1])))
            else:
                inside.append((target, weight, factor))
        scale = math.lcm(*[f[1] for _, _, f in inside])
        shares = [(j, w * f[0] * (scale // f[1])) for j, w, f in inside]
        whole = common_multiple([d for _, (_, d) in terms])
        mean = sum([w * n * (whole // d) for w, (n, d) in terms])
        return Branch(total * scale, shares, (mean, total * whole), leaves, pays)
