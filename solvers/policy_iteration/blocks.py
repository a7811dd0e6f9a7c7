"""Policy iteration in floats, block by block: the engine of `policy-iteration`, and where `exact` starts.

Cyclic components are solved one after the other, successors first, small ones several at a time; what lies between
them takes one backup.  See `mdpdice.solvers.policy_iteration` for the method.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from mdpdice.backend import Candidate, Run
from mdpdice.errors import NotConvergedError, SolveInterrupted, UnsupportedError
from mdpdice.networks.arrays import ULP, Matrix
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network
from mdpdice.numerics import graph
from mdpdice.numerics.operator import bellman, unsigned
from mdpdice.numerics.regions import components, ending_ranks, idle_components
from mdpdice.solvers.policy_iteration import evaluation
from mdpdice.solvers.policy_iteration.checkpoint import Kept
from mdpdice.solvers.policy_iteration.reduction import Block, write_block

BETTER = 1e-13
"""Relative difference from which an option counts as strictly better."""

EQUAL = 1e-10
"""Relative difference up to which options count as equally good, where endless plays choose among them."""

MERGE_UP_TO_NODES = 1000
"""Nodes up to which small components are solved in one system, directly: each system costs a millisecond."""

ROUNDS = 20
"""Most classes of endless plays that are left one after the other in one evaluation."""

RESTLESS_FROM = 0.01
"""Share of decisions that switch from which a discounted policy is evaluated by plain sweeps instead of BiCGSTAB."""


def propose(problem: Network, run: Run, max_iterations: int = 1000, direct: int = 600, sweeps: int = 20) -> Candidate:
    """Policy iteration over all components, successors first; for the numbers and errors see `PolicyIteration`."""
    return _Solve(problem, run, max_iterations, direct, sweeps).candidate()


class _Solve:
    """One solve: the values so far, and scratch space."""

    def __init__(self, problem: Network, run: Run, max_iterations: int, direct: int, sweeps: int) -> None:
        self.problem, self.run = problem, run
        self.max_iterations, self.direct, self.sweeps = max_iterations, direct, sweeps
        self.operator = bellman(problem)
        self.value = np.where(problem.kind == Kind.END, problem.payoff, 0.0)
        self.policy = np.full(problem.n_nodes, -1, dtype=np.int64)
        self.local = np.full(problem.n_nodes, -1, dtype=np.int64)
        # Where plays may stay for ever, and where they may do so without any reward.
        self.endless = np.zeros(problem.n_nodes, dtype=np.bool_)
        self.idle = self.endless
        self.iterations = 0
        self.kept = None if run.checkpoint is None else Kept(problem, run)

    def candidate(self) -> Candidate:
        self.run.offer(self.proposed)
        begin = self.begin()
        problem = self.problem
        label, order, ptr = components(problem)
        cyclic = graph.cyclic_components(problem.indptr, problem.dst, label)
        if problem.discount == 1 and cyclic.any() and ending_ranks(problem) is None:
            chance = problem.kind == Kind.CHANCE
            self.endless = graph.end_components(problem.indptr, problem.dst, chance) >= 0
            if self.endless.any():
                idle, _ = idle_components(problem.indptr, problem.dst, chance, problem.reward != 0)
                self.idle = idle >= 0
        runs = list(_runs(cyclic, ptr))
        if self.kept is not None and begin and begin not in {first for first, _, _ in runs}:
            raise self.kept.corrupt("counts")
        for first, last, round_about in runs:
            if first < begin:
                continue
            if self.kept is not None and not self.kept.resumed:
                self.kept.at_component(first, self.value, self.policy, self.iterations)
            self.check()
            nodes = order[ptr[first] : ptr[last]]
            if round_about:
                self.solve_block(nodes[problem.kind[nodes] != Kind.END], merged=last - first > 1)
            else:
                self.back_up(nodes)
            if self.kept is not None:
                self.kept.resumed = False
            self.run.tell("solve", nodes=int(ptr[last]), of=problem.n_nodes, iterations=self.iterations)
        return self.proposed()

    def begin(self) -> int:
        """Take up the state of a checkpoint, if there is one; the component to begin with."""
        if self.kept is None or not self.kept.resumed:
            return 0
        self.value[:], self.policy[:] = self.kept.value, self.kept.policy
        self.iterations = int(self.kept.counts[2])
        return int(self.kept.counts[0])

    def proposed(self) -> Candidate:
        first = np.where(self.problem.decides, self.problem.indptr[:-1], -1)
        return Candidate(self.value, np.where(self.policy < 0, first, self.policy), max(1, self.iterations))

    def check(self) -> None:
        try:
            self.run.check()
        except SolveInterrupted:
            if self.kept is not None:
                self.kept.save(now=True)
            raise

    def back_up(self, nodes: Ints) -> None:
        from mdpdice.numerics.kernels import bellman as kernels

        kernels.backup(self.operator.rows, unsigned(nodes), self.value, self.value, self.policy)

    def solve_block(self, nodes: Ints, *, merged: bool) -> None:
        kept = self.kept
        entered = kept is not None and kept.resumed and bool(kept.counts[1])
        if not entered:
            # A few sweeps from 0 carry what lies behind the block into it: a policy to start from.
            for _ in range(3):
                self.back_up(nodes)
            if kept is not None:
                kept.enter(self.value, self.policy)
        problem = self.problem
        block = write_block(problem, self.operator, self.value, self.local, nodes)
        chosen = np.where(problem.decides[block.nodes], self.policy[block.nodes] - problem.indptr[block.nodes], 0)
        copies = len(block.kind) // len(block.nodes)
        search = _Search(
            self,
            block,
            value=np.repeat([1.0, -1.0][:copies], len(block.nodes)) * np.tile(self.value[block.nodes], copies),
            policy=block.start[:-1] + np.tile(chosen, copies),
            endless=bool(self.endless[nodes].any()),
            idle=bool(self.idle[nodes].any()),
            directly=merged or len(block.kind) <= self.direct,
        )
        if entered and kept is not None:
            search.value, search.policy, search.switched, search.iterations = kept.inner(block.start)
        try:
            search.run()
        except _InfiniteError as error:
            node = int(block.nodes[error.args[0] % len(block.nodes)])
            msg = "policy iteration found no policy whose plays end or stop paying; use a discount or a horizon"
            raise UnsupportedError(msg, state=problem.describe(node)) from None
        except NotConvergedError as error:
            self.keep(block, search)
            error.partial = self.proposed()
            raise
        self.keep(block, search)

    def keep(self, block: Block, search: _Search) -> None:
        """Write down values and choices of a block, and back up what was left out of it."""
        self.iterations += search.iterations
        mine = len(block.nodes)
        self.value[block.nodes] = search.value[:mine]
        self.policy[block.nodes] = block.edge[search.policy[:mine]]
        self.back_up(block.left_out)


def _runs(cyclic: Bools, ptr: Ints) -> Iterator[tuple[int, int, bool]]:
    """Components to solve together: first and last + 1, and whether there is a cycle among them.

    Small cyclic components come together with what lies between them.
    """
    rounds = np.flatnonzero(cyclic).tolist()
    first = at = 0
    while at < len(rounds):
        if (start := rounds[at]) > first:
            yield first, start, False
        at += 1
        while at < len(rounds) and ptr[rounds[at] + 1] - ptr[start] <= MERGE_UP_TO_NODES:
            at += 1
        first = rounds[at - 1] + 1
        yield start, first, True
    if first < len(cyclic):
        yield first, len(cyclic), False


class _InfiniteError(ArithmeticError):
    """From the variable that it names the policy pays for ever, and no other policy is known."""


@attrs.define(eq=False, slots=False)
class _Search:
    """Policy iteration on one block: what it starts from, and what is known of the block."""

    solve: _Solve
    block: Block
    value: Floats
    policy: Ints
    endless: bool
    idle: bool
    directly: bool
    iterations: int = 0
    switched: float = 1.0
    exact: bool = False

    def __attrs_post_init__(self) -> None:
        block = self.block
        self.owner = np.repeat(np.arange(len(block.kind)), np.diff(block.start))
        self.is_max, self.is_min = block.kind == Kind.MAX, block.kind == Kind.MIN
        self.two_player = bool(self.is_max.any() and self.is_min.any())
        # Options are compared by what they are worth to whoever decides.
        self.view = np.where(self.is_min, -1.0, 1.0)[self.owner] if self.is_min.any() else None

    def run(self) -> None:
        if self.two_player:
            self.alternate()
            return
        decides = self.is_max | self.is_min
        while True:
            self.evaluate()
            if not (self.switch(decides) or self.stay(Kind.MAX) or self.stay(Kind.MIN)) and self.exact:
                return

    def alternate(self) -> None:
        """Hoffman and Karp: the minimiser's best reply, then better options of the maximiser."""
        while True:
            while True:
                self.evaluate()
                if not (self.switch(self.is_min) or self.stay(Kind.MIN)):
                    break
            if not (self.switch(self.is_max) or self.stay(Kind.MAX)):
                break
        if self.idle:
            self.settle_reply()

    # --- evaluation ---

    def evaluate(self) -> None:
        """Compute the value of the policy; set `exact` if it is as exact as floats allow."""
        if self.solve.kept is not None:
            self.solve.kept.at_evaluation(self.value, self.policy, self.switched, self.iterations)
        self.iterations += 1
        if self.iterations > (most := self.solve.max_iterations):
            done = f"policy iteration was not done after max_iterations={most} of one block"
            msg = f"{done}; raise it, or use solver='exact'"
            raise NotConvergedError(msg, iterations=self.iterations, width=np.inf)
        self.solve.check()
        block = self.block
        rests = self.require_value() if self.endless else np.zeros(len(self.value), dtype=np.bool_)
        P, gain, leave = block.matrix[self.policy], block.gain[self.policy], block.leave[self.policy]
        if not rests.any():
            self.value = self.solution(P, gain, leave, self.value)
            return
        # To stay for ever without rewards is worth 0.
        moves = ~rests
        leave = leave + P @ rests.astype(np.float64)
        self.value[rests] = 0.0
        self.value[moves] = self.solution(P[moves][:, moves], gain[moves], leave[moves], self.value[moves])

    def solution(self, P: Matrix, gain: Floats, leave: Floats, value: Floats) -> Floats:
        if self.directly:
            self.exact = True
            return evaluation.solve_directly(P, gain, leave) if len(gain) else gain
        sweeps = self.solve.sweeps if self.solve.problem.discount < 1 and not self.two_player else 0
        if sweeps and self.switched > RESTLESS_FROM:
            # While much of the policy changes, its exact value is not worth its price.
            self.exact = False
            for _ in range(sweeps):
                value = gain + P @ value
            return value
        finest = 4 * ULP * max(float(np.abs(value).max()), float(np.abs(gain).max()), 1e-300)
        residual = float(np.abs(gain + P @ value - value).max())
        rough = not self.two_player and not self.endless and self.switched > 0
        target = max(finest, 0.05 * residual) if rough else finest
        self.exact = target == finest
        value, reached = evaluation.iterate(P, gain, value, target, self.solve.check)
        if not reached and self.exact:
            msg = "policy iteration could not evaluate a policy: its plays are too long; use solver='exact'"
            raise NotConvergedError(msg, iterations=self.iterations, width=np.inf)
        return value

    # --- improvement ---

    def worth(self) -> tuple[Floats, Floats]:
        """Worth of every option to whoever decides, and of the best option of every variable."""
        worth = self.block.gain + self.block.matrix @ self.value
        if self.view is not None:
            worth *= self.view
        return worth, np.maximum.reduceat(worth, self.block.start[:-1])

    def switch(self, deciders: Bools) -> bool:
        """Switch to options that are better by more than rounding; whether there was one."""
        worth, best = self.worth()
        gap = best - worth[self.policy]
        wish = np.flatnonzero(deciders & (gap > 0))
        self.switched = 0.0
        if not len(wish):
            return False
        top = np.flatnonzero(worth == best[self.owner])
        row = np.empty(len(best), dtype=np.int64)
        row[self.owner[top[::-1]]] = top[::-1]
        wish = wish[gap[wish] > BETTER * np.maximum(self.size(row[wish]), self.size(self.policy[wish]))]
        before = self.policy[wish]
        self.policy[wish] = row[wish]
        if self.endless and len(wish):
            wish = self.take_back(wish, before, deciders)
        self.switched = len(wish) / max(1, int(deciders.sum()))
        return len(wish) > 0

    def size(self, rows: Ints) -> Floats:
        """Size of the numbers that are added for some options."""
        block = self.block
        size: Floats = np.abs(block.gain[rows]) + block.matrix[rows] @ np.abs(self.value)
        return size

    # --- endless plays ---

    def lasting(self) -> tuple[Bools, Ints]:
        """Classes that the policy never leaves: those without rewards; and signs, 1 where the others collect, or -1."""
        block, policy = self.block, self.policy
        chain = block.matrix[policy]
        label = graph.strong_components(chain.indptr.astype(np.int64), chain.indices.astype(np.int64))
        moves, count = chain.tocoo(), int(label.max()) + 1
        closed = np.ones(count, dtype=np.bool_)
        closed[label[moves.row[label[moves.row] != label[moves.col]]]] = False
        closed[label[block.leave[policy] > 0]] = False
        paying = np.bincount(label, block.pays[policy], minlength=count) > 0
        # Where rewards have both signs their total has no limit; the more frequent one is as good as the other.
        sign = np.where(np.bincount(label, np.sign(block.gain[policy]), minlength=count) > 0, 1, -1)
        return (closed & ~paying)[label], np.where(closed & paying, sign, 0)[label]

    def coming_to(self, nodes: Bools) -> Bools:
        """Variables from which plays under the policy may come to some others, these included."""
        if not nodes.any():
            return nodes
        entering = self.block.matrix[self.policy].tocsc()
        indptr, indices = entering.indptr.astype(np.int64), entering.indices.astype(np.int64)
        return graph.reachable(indptr, indices, np.flatnonzero(nodes))

    def require_value(self) -> Bools:
        """Replace what loses without end, or tell that it cannot be avoided; return where plays rest for 0."""
        for at in range(ROUNDS + 1):
            rests, sign = self.lasting()
            if not sign.any():
                return rests
            if at < ROUNDS:
                worst = 1 if (sign > 0).any() else -1
                self.flee(self.is_min if worst > 0 else self.is_max, sign == worst, rests)
        raise _InfiniteError(int(np.argmax(sign != 0)))

    def take_back(self, wish: Ints, before: Ints, deciders: Bools) -> Ints:
        """Take those switches back after which plays lose for ever; rounding alone can make them look good."""
        _, sign = self.lasting()
        wrong = self.coming_to(sign == (1 if self.is_min[deciders].any() else -1))[wish]
        self.policy[wish[wrong]] = before[wrong]
        return wish[~wrong]

    def flee(self, player: Bools, losing: Bools, rests: Bools) -> None:
        """Lead a player out of losing for ever.

        The minimiser replies to the maximiser's policy; the maximiser must get out whatever the reply.
        """
        others = (self.is_max | self.is_min) & ~player
        usable = np.ones(len(self.owner), dtype=bool)
        if not (player & self.is_max).any():
            usable[others[self.owner]] = False
            usable[self.policy[others]] = True
            found = rests
        else:
            # Where the minimiser has a say a play need not rest.
            found = rests & ~self.coming_to(rests & others)
        if not self.two_player:
            # A single player keeps what does no harm.
            found = ~self.coming_to(losing)
        rank, way = self.attract(found, self.block.leave > 0, usable, ~others)
        if not (losing & (rank >= 0)).any():
            raise _InfiniteError(int(np.argmax(losing)))
        led = player & (way >= 0)
        self.policy[led] = way[led]

    def attract(self, found: Bools, out: Bools, usable: Bools, some: Bools) -> tuple[Ints, Ints]:
        """Rank the variables from which play comes to those in `found`, or takes an option that is `out`.

        Where `some` holds one usable option that leads there is enough, elsewhere all of them must.  The rank is -1
        where play need not come there; those in `some` that were not found before get the first option that leads
        nearer.
        """
        n, entries = len(found), self.block.matrix.tocoo()
        options, ahead = np.flatnonzero(usable), entries.data > 0
        # Variables and options take turns, so the options that lead out at once have rank 1.
        source = np.concatenate((self.owner[options], n + entries.row[ahead].astype(np.int64)))
        dst = np.concatenate((n + options, entries.col[ahead].astype(np.int64)))
        order = np.argsort(source, kind="stable")
        rank = np.concatenate((np.where(found, 0, -1), np.where(out, 1, -1)))
        enough = np.concatenate((some, np.ones(len(usable), dtype=bool)))
        graph.attract(source[order], dst[order], enough, rank)
        mine, option = rank[:n], rank[n:]
        nearer = usable & (option >= 0) & (option < mine[self.owner]) & (some & ~found)[self.owner]
        way = np.full(n, -1, dtype=np.int64)
        rows = np.flatnonzero(nearer)[::-1]
        way[self.owner[rows]] = rows
        return mine, way

    def stay(self, player: Kind) -> bool:
        """Make a player stay where that is worth 0 and everything else less; whether there was such a place."""
        if not self.idle or not self.exact or not (self.block.kind == player).any():
            return False
        inside, tight, _ = self.kept(player)
        mine = inside & (self.block.kind == player)
        rows = np.flatnonzero(tight & mine[self.owner] & ~self.out(inside))
        self.policy[self.owner[rows[::-1]]] = rows[::-1]
        return bool(inside.any())

    def out(self, inside: Bools) -> Bools:
        """Options that pay, or may leave a set of variables."""
        block = self.block
        return block.pays | (block.leave > 0) | (block.matrix @ (~inside).astype(np.float64) > 0)

    def kept(self, player: Kind) -> tuple[Bools, Bools, Ints]:
        """Where `player` can stay without rewards, and is better off so, if nobody plays a worse option.

        The minimiser replies to the policy of the maximiser, the maximiser to all good replies.  With it come the
        options that are not worse, and those that lead the other player away from the set.
        """
        worth, best = self.worth()
        size = float(np.abs(self.value).max(initial=0.0))
        tight = worth >= best[self.owner] - EQUAL * np.maximum(np.abs(best[self.owner]), EQUAL * size)
        if player == Kind.MIN:
            tight &= ~self.is_max[self.owner]
            tight[self.policy[self.is_max]] = True
        loss = -self.value if player == Kind.MAX else self.value
        leads_out = self.block.pays | (self.block.leave > 0)
        rank, way = self.attract(loss <= EQUAL * size, leads_out, tight, self.block.kind != player)
        return rank < 0, tight, way

    def settle_reply(self) -> None:
        """Make the minimiser leave where staying would give the maximiser 0 instead of less."""
        _, _, way = self.kept(Kind.MAX)
        leave = self.is_min & (way >= 0)
        # The present option would do where it leads away as well, but the search cannot tell; so it is replaced.
        self.policy[leave] = way[leave]
