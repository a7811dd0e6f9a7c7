"""Linear programming: the value as the least point above all options, block by block.

The page "How the solvers work" of the reference (``docs/reference/methods.rst``) has the problem, the method, what it
guarantees, and the literature.
"""

from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from scipy.sparse import csr_array, eye_array, vstack

from mdpdice.backend import Candidate, Feature, Run, at_least, needs, traced
from mdpdice.errors import LPInfeasibleError, LPUnboundedError, NotConvergedError, UnsupportedError
from mdpdice.networks.network import Floats, Ints, Kind, Network
from mdpdice.numerics import graph
from mdpdice.numerics.linear import factorise
from mdpdice.numerics.regions import components
from mdpdice.solvers.linear_programming import blocks, pulp_adapter, two_players
from mdpdice.solvers.linear_programming.blocks import STAY, Block, View
from mdpdice.solvers.linear_programming.pulp_adapter import Answer, Outcome, Program

INTERIOR_POINT_FROM_VARIABLES = 500
"""Variables of a cyclic component from which its program goes to an interior point method first.

Random processes of 1,000 states took HiGHS' simplex 10 to 35 s and its interior point method 1 to 2 s.
"""

ROUNDS = 4
"""Most refinements of one block: each makes the tolerance at least a million times finer."""


@attrs.frozen
class LinearProgramming:
    """Linear programs, primal or dual, through PuLP.

    Parameters
    ----------
    solver : str
        PuLP's name of the solver: ``"HiGHS"``, ``"COIN_CMD"``, ``"GLPK_CMD"``, ...
    form : {"primal", "dual"}
        Solve for values, or for the occupation measure.  The answer holds both either way.
    block : int
        About how many variables one program has.  The turn of KCD Farkle up to 6,000 points (26,583 decisions,
        271,806 edges) took 1.5 s with blocks of 250, 2.3 s with 1,000, 3.7 s with 3,000 and 15 s as one program,
        building included.
    time_limit : float, optional
        Seconds after which to give up.
    max_size : int
        Largest number of variables that a single component may have.

    Notes
    -----
    `Candidate.details` holds

    ``occupation`` : ndarray of float64, shape (E,)
        Expected number of times that a play from the start node under the policy takes edge ``e``, each time counted
        with ``discount ** (steps before e)``.  Hence the value of the start node is the sum of ``occupation * reward``
        over all edges, plus that of ``occupation * discount ** step * payoff[dst]`` over the edges into END nodes; and
        the visits to a node are the sum over its edges (for a decision, the entry of its chosen edge).  Staying for
        ever in a zero-reward end component counts as the end of the play. In the terms of the dual: the basic solution
        of the optimal basis for the weights ``a = 1`` at the start node and 0 elsewhere.
    ``form``, ``solver``
        The form, and the name and version of the solver.
    ``programs``, ``variables``, ``constraints``, ``nonzeros``
        Number of programs (refinements included), and the size of their primals in total.
    ``refined`` : int
        Number of programs that were solved again in finer units.
    ``violation`` : float
        Largest violation of a constraint that rounding does not explain, in payoff units.
    """

    name: ClassVar[str] = "linear-programming"
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.CYCLIC, Feature.DISCOUNT, Feature.TWO_PLAYER})

    solver: str = attrs.field(default="HiGHS", validator=needs("the name of a solver", lambda x: isinstance(x, str)))
    form: str = attrs.field(default="primal", validator=needs("'primal' or 'dual'", lambda x: x in ("primal", "dual")))
    block: int = attrs.field(default=1000, validator=at_least(1))
    time_limit: float | None = attrs.field(
        default=None, validator=attrs.validators.optional(needs("a number above 0", lambda x: x > 0))
    )
    max_size: int = attrs.field(default=20_000, validator=at_least(1))

    @classmethod
    def available(cls) -> bool:
        """Whether PuLP is installed."""
        return importlib.util.find_spec("pulp") is not None

    @traced
    def solve(self, problem: Network, run: Run) -> Candidate:
        """Propose the value and the policy; two players by best replies, one program after the other.

        Raises
        ------
        UnsupportedError
            A horizon, a solver that PuLP does not have here, or a component above `max_size`.
        LPUnboundedError
            An endless play collects rewards without bound; `state` and `action` are on it.
        LPInfeasibleError
            From `state` every play is endless and costs without bound.
        NotConvergedError
            The time limit came first, or the solver gave up.
        """
        if problem.horizon is not None:
            how = "use solver='backward-induction', or unroll the network"
            msg = f"linear-programming has no way to deal with {Feature.HORIZON.value}; {how}"
            raise UnsupportedError(msg, value=Feature.HORIZON)
        pulp_adapter.require(self.solver)
        if problem.two_player:
            return two_players.iterate(problem, run, lambda reply: _Solve(self, reply, run).candidate())
        return _Solve(self, problem, run).candidate()


class _Solve:
    """One running solve: the blocks that are done, and counts for the report."""

    def __init__(self, method: LinearProgramming, problem: Network, run: Run) -> None:
        self.method, self.problem, self.run = method, problem, run
        self.view = View.of(problem)
        self.policy = np.full(problem.n_nodes, -1, dtype=np.int64)
        self.solved: list[tuple[Block, Ints]] = []
        self.deadline = math.inf if method.time_limit is None else time.monotonic() + method.time_limit
        self.iterations = 0
        self.violation = 0.0
        self.count = {"programs": 0, "variables": 0, "constraints": 0, "nonzeros": 0, "refined": 0}

    def so_far(self) -> Candidate:
        return Candidate(self.view.sense * self.view.value, self.policy, iterations=self.iterations)

    def candidate(self) -> Candidate:
        self.run.offer(self.so_far)
        blocks = list(self.blocks())
        total = sum(len(nodes) for nodes, _ in blocks)
        done = 0
        for nodes, tangle in blocks:
            self.run.check()
            self.solve_block(nodes, tangle)
            done += len(nodes)
            self.run.tell("solve", done=done, total=total)
        details: dict[str, Any] = {
            "form": self.method.form,
            "solver": pulp_adapter.solver_version(self.method.solver),
            **self.count,
            "violation": self.violation,
            "occupation": _occupation(self.view, self.solved),
        }
        value = self.view.sense * self.view.value + 0.0  # no negative zeros
        return Candidate(value, self.policy, iterations=self.iterations, details=details)

    def blocks(self) -> Iterator[tuple[Ints, int]]:
        """Blocks of nodes, successors first, each with the size of its largest cyclic component."""
        problem = self.problem
        label, order, ptr = components(problem)
        count = len(ptr) - 1
        cyclic = graph.cyclic_components(problem.indptr, problem.dst, label)
        # A chance node that only one edge enters is eliminated for sure.
        shared = np.bincount(problem.dst, minlength=problem.n_nodes) > 1
        variable = problem.decides | (shared & (problem.kind == Kind.CHANCE))
        tangle = np.where(cyclic, np.bincount(label, variable, minlength=count), 0).astype(np.int64)
        self.require_size(label, tangle)
        # Most shared chance nodes are eliminated too, but they cost some work.
        size = np.where(problem.decides, 4, np.where(problem.kind == Kind.CHANCE, 1, 0))[order]
        reached = np.concatenate(([0], np.cumsum(size)))[ptr]
        first = 0
        while first < count:
            full = int(np.searchsorted(reached, reached[first] + 4 * self.method.block, side="right")) - 1
            last = min(max(full, first + 1), count)
            nodes = order[ptr[first] : ptr[last]]
            if len(nodes := nodes[np.isnan(self.view.value[nodes])]):
                yield nodes, int(tangle[first:last].max())
            first = last

    def require_size(self, label: Ints, tangle: Ints) -> None:
        size, limit = int(tangle.max()), self.method.max_size
        if size > limit:
            node = int(np.flatnonzero(self.problem.decides & (label == int(tangle.argmax())))[0])
            more = f"more than max_size={limit}; use solver='value-iteration', or raise max_size and be patient"
            msg = f"states that can reach each other need a linear program of {size:,} variables, {more}"
            raise UnsupportedError(msg, state=self.problem.describe(node), value=size, limit=limit)

    def solve_block(self, nodes: Ints, tangle: int) -> None:
        view = self.view
        block = blocks.reduce_block(view, nodes)
        row, value = np.zeros(0, dtype=np.int64), np.zeros(0)
        if len(block.variables):
            row, value = self.optimum(block, tangle)
            chosen = row < len(block.edge)
            self.policy[block.variables[chosen]] = block.edge[row[chosen]]
            for node in block.variables[chosen][block.edge[row[chosen]] == STAY].tolist():
                # The first edge that stays in its component and pays nothing.
                edges = np.array(self.problem.edges(node))
                there = view.component[self.problem.dst[edges]] == view.component[node]
                self.policy[node] = edges[np.argmax(there & (self.problem.reward[edges] == 0))]
        view.value[block.variables] = value
        view.value[block.rest] = block.expand @ value + block.base
        self.solved.append((block, row))

    def optimum(self, block: Block, tangle: int) -> tuple[Ints, Floats]:
        """Rows of an optimal basis and the values of the variables."""
        # Without a row there are only loops that cost.
        found = self.basis(block, block.gain, tangle) if len(block.gain) else None
        if found is None:
            raise self.failure(block)
        gap, worst = self.gap(block, found[1])
        for _ in range(ROUNDS):
            if not worst > 0:
                break
            self.count["refined"] += 1
            # Options far from being violated need no exact gap, and huge numbers would spoil the scaling.
            if (other := self.basis(block, np.maximum(gap, -1e6 * gap.max()), tangle)) is None:
                break
            gap, better = self.gap(block, other[1])
            if not better < worst:
                break
            found, worst = other, better
        self.violation = max(self.violation, worst)
        return found

    def gap(self, block: Block, value: Floats) -> tuple[Floats, float]:
        """Violation of every option, 0 for chance nodes, and the largest one beyond rounding."""
        gap, noise = blocks.excess(block, value)
        gap[len(block.edge) :] = 0.0
        return gap, float(np.max(gap - noise, initial=0.0))

    def basis(self, block: Block, gain: Floats, tangle: int) -> tuple[Ints, Floats] | None:
        """Rows of the basis that the solver finds for the right-hand sides `gain`, and its value for the true ones."""
        largest = float(np.abs(gain).max())
        # A power of two changes no digit; at this size the solver's tolerance of 1e-9 is 12 digits.
        scale = 2.0 ** min(10 - math.frexp(largest)[1], 1023) if largest > 0 else 1.0
        program = blocks.program(block, self.method.form, gain * scale)
        answer = self.run_program(program, interior=tangle >= INTERIOR_POINT_FROM_VARIABLES)
        if answer.outcome is not Outcome.OPTIMAL:
            return None
        row = blocks.choose(block, self.flow(block, answer, gain * scale), cyclic=tangle > 0)
        value = None if row is None else blocks.evaluate(block, row)
        return None if row is None or value is None else (row, value)

    def flow(self, block: Block, answer: Answer, gain: Floats) -> Floats:
        """Return the flow through every row, as the solver reports it."""
        if self.method.form == "dual":
            return answer.x
        if answer.dual is not None:
            # The sign is a matter of the solver's taste; the balance of flow is not.
            balance = block.matrix.T @ answer.dual
            for sign in (1.0, -1.0):
                if np.abs(sign * balance - 1.0).max() <= 1e-6 * (1.0 + np.abs(answer.dual).max()):
                    return sign * answer.dual
        # Some solvers give no duals, and CBC gives zeros for rows that its presolve turned into bounds.  Then, by
        # complementary slackness: flow runs through tight rows only.
        slack = block.matrix @ answer.x - gain
        size = abs(block.matrix) @ np.abs(answer.x)
        return np.where(slack <= 1e-6 + 1e-9 * size, 1.0, 1e-9 / (1.0 + np.maximum(slack, 0.0)))

    def run_program(self, program: Program, *, interior: bool = False) -> Answer:
        if (left := min(self.deadline, self.run.deadline or math.inf) - time.monotonic()) > 0:
            limit = left if math.isfinite(left) else None
            answer = pulp_adapter.solve(
                program, self.method.solver, interior=interior, time_limit=limit, stop=self.must_stop
            )
            self.iterations += answer.iterations
            sizes = program.matrix.shape
            n, m = sizes if program.maximise else sizes[::-1]
            added = {"programs": 1, "variables": n, "constraints": m, "nonzeros": program.matrix.nnz}
            self.count |= {key: self.count[key] + number for key, number in added.items()}
            if answer.outcome is not Outcome.STOPPED:
                return answer
        self.run.check()
        limit = self.method.time_limit
        msg = f"{self.method.solver} did not finish within time_limit={limit} s; raise it, or use solver='exact'"
        raise NotConvergedError(msg, iterations=self.iterations, width=math.inf, limit=limit)

    def must_stop(self) -> bool:
        return time.monotonic() > (self.run.deadline or math.inf) or self.run.cancel.is_set()

    # --- why a program has no solution ---

    def failure(self, block: Block) -> Exception:
        """Return the error that says why the program of a block has no optimal basis."""
        problem = self.problem
        ray = self.ray(block)
        lost = np.flatnonzero(blocks.stopping_rows(block, np.ones(len(block.gain), dtype=np.bool_)) < 0)
        stay = graph.end_components(problem.indptr, problem.dst, problem.kind == Kind.CHANCE) >= 0
        if (ray is not None or len(lost)) and problem.discount == 1 and not stay.any():
            msg = "some probabilities are so near 1 that a linear program in floats cannot tell; use solver='exact'"
            return NotConvergedError(msg, iterations=self.iterations, width=math.inf)
        if ray is not None:
            node = int(np.concatenate((block.variables[block.owner], block.variables[block.chance]))[ray])
            action = problem.action_of(int(block.edge[ray])) if ray < len(block.edge) else None
            msg = "the linear program is unbounded: an endless play through here collects rewards without bound"
            return LPUnboundedError(msg, state=problem.describe(node), action=action)
        if len(lost):
            msg = "the linear program is infeasible: from here no play ends, and each costs without bound"
            return LPInfeasibleError(msg, state=problem.describe(int(block.variables[lost[0]])))
        msg = f"{self.method.solver} found no optimal basis, although there is one; use solver='exact'"
        return NotConvergedError(msg, iterations=self.iterations, width=math.inf)

    def ray(self, block: Block) -> int | None:
        """Return a row on a ray of the dual, that is on an endless play with a positive mean reward."""
        lasting = np.flatnonzero(~blocks.leaving(block))
        gain = block.gain[lasting]
        if not (gain > 0).any():
            return None
        # Circulations of flow, with a bound on their sum.
        flows = block.matrix[lasting].T
        n = flows.shape[0]
        circulation = Program(
            maximise=True,
            cost=gain / np.abs(gain).max(),
            nonnegative=np.ones(len(lasting), dtype=np.bool_),
            matrix=vstack((flows, csr_array(-np.ones((1, len(lasting))))), format="csr"),
            rhs=np.concatenate((np.zeros(n), [-1.0])),
            equal=np.arange(n + 1) < n,
        )
        answer = self.run_program(circulation)
        if answer.outcome is not Outcome.OPTIMAL or not answer.x @ circulation.cost > 1e-7:
            return None
        # The one that pays most; the rewards may also lie at the chance nodes that it leads to.
        return int(lasting[np.argmax(answer.x * np.maximum(circulation.cost, 1e-12))])


def _occupation(view: View, solved: list[tuple[Block, Ints]]) -> Floats:
    """Return the expected discounted uses of every edge from the start node; see `LinearProgramming`."""
    problem = view.problem
    visits = np.zeros(problem.n_nodes)
    visits[problem.start] = 1.0
    uses = np.zeros(problem.n_edges)
    for block, row in reversed(solved):
        nodes = np.concatenate((block.variables, block.rest))
        if not visits[nodes].any():
            continue
        chosen = block.edge[row[row < len(block.edge)]]
        by_chance, _ = graph.edges_of(problem.indptr, nodes[~problem.decides[nodes]])
        edge = np.concatenate((chosen[chosen != STAY], by_chance))
        source, target, coef = problem.source[edge], problem.dst[edge], view.coef[edge]
        view.local[nodes] = np.arange(len(nodes))
        row_of, column = view.local[source], view.local[target]
        view.local[nodes] = -1
        inside, leaves = column >= 0, column < 0
        n = len(nodes)
        moves = csr_array((coef[inside], (row_of[inside], column[inside])), shape=(n, n))
        visits[nodes] = factorise(eye_array(n, format="csr") - moves).solve(visits[nodes], trans="T")
        uses[edge] = problem.weight[edge] * visits[source]
        np.add.at(visits, target[leaves], coef[leaves] * visits[source[leaves]])
    return uses
