"""Strategy improvement in rationals on one cyclic part of a network, for the back-end `exact`.

A `Part` is a set of nodes whose successors outside have known values.  `optimise` finds the exact value of its
nodes, the best options and an optimal policy, starting from any policy.

Two players alternate as Hoffman and Karp (1966) proposed: the minimiser finds his best reply to the
maximiser's policy by policy iteration, then the maximiser switches wherever that is strictly better.  An
endless play without rewards is worth 0.  So an equation ``v = T v`` is not enough where such plays exist: a
player may also improve among equally good options, by staying in a *trap*: nodes that are worse for him
than 0, which he need not leave by options that attain ``v``, and which his opponent can only leave by options
that do not.  Each step, by a strictly better option or by a trap, raises the value of the maximiser's policy
against best replies (or lowers that of the reply), so no policy comes back and the iteration ends.

Where no trap is left, ``v`` is the value of the game: the rewards collected plus ``v`` ahead are a martingale
under the policies, a super- or submartingale when one player deviates, and endless plays settle where
all options attain ``v`` and nothing is paid, so where ``v`` is constant, and not on the wrong side of 0.

Parts with `pass_to` edges are written twice, once for the player to move on each side (`doubled`).

References
----------
A. J. Hoffman, R. M. Karp, "On nonterminating stochastic games", *Management Science* 12 (1966), 359-370.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import attrs
import numpy as np

from mdpdice.networks.network import Kind
from mdpdice.numerics import graph
from mdpdice.solvers.exact.parts import Move, Part, best_moves
from mdpdice.solvers.exact.rational import EndlessGainError, Pair, Row, solve

__all__ = ["Answer", "InfiniteValueError", "NoTotalError", "optimise"]


class InfiniteValueError(ArithmeticError):
    """An endless play that gains or loses on every round cannot be avoided from `node`."""

    def __init__(self, node: int, sign: int) -> None:
        super().__init__(f"node {node} has an infinite value")
        self.node = node
        self.sign = sign


class NoTotalError(ArithmeticError):
    """Endless plays through `node` collect and pay in turns, so their totals have no limit."""

    def __init__(self, node: int) -> None:
        super().__init__(f"plays through node {node} have no total")
        self.node = node


@attrs.frozen(eq=False)
class Answer:
    """Values, best moves and policy of a part, and how many systems were solved.

    Parameters
    ----------
    value : list of Pair
        Value of every node.
    best : list of list of int
        For every decision the moves that attain its value, [] for chance nodes.
    policy : list of int
        For every decision the move to make, -1 for chance nodes.
    systems : int
        Number of linear systems that were solved.
    """

    value: list[Pair]
    best: list[list[int]]
    policy: list[int]
    systems: int


def optimise(part: Part, policy: list[int], check: Callable[[], None] | None = None) -> Answer:
    """The exact solution of a part, starting from a policy.

    Raises
    ------
    InfiniteValueError
        Some value is infinite.
    """
    if not part.signed():
        return _Search(part, policy, check).run()
    n = len(part.kind)
    both = part.doubled()
    # Mostly the policy is right, and half the unknowns are enough to see that.
    first = _Search(part, policy, check)
    value = first.evaluate() if first.pays_only_while_it_lasts() else None
    if value is not None:
        attained = best_moves(part, value)
        second = _Search(both, policy * 2, check)
        mirrored = value + [(-a, d) for a, d in value]
        if all(not b or p in b for p, b in zip(policy, attained, strict=True)):
            second.best = attained * 2
            if not any(second.trap(kind, mirrored, second.chosen) for kind in (Kind.MAX, Kind.MIN)):
                second.require_totals()
                return Answer(value, attained, policy, 1)
    answer = _Search(both, policy * 2, check).run()
    systems = answer.systems + first.systems
    return Answer(answer.value[:n], answer.best[:n], answer.policy[:n], systems)


class _Search:
    """Strategy improvement at work on a part without signs."""

    def __init__(self, part: Part, policy: list[int], check: Callable[[], None] | None) -> None:
        self.part = part
        self.policy = list(policy)
        self.check = check
        self.systems = 0
        self.best: list[list[int]] = []

    def run(self) -> Answer:
        both = {Kind.MAX, Kind.MIN} <= set(self.part.kind)
        while True:
            try:
                value = self.reply()
            except EndlessGainError as error:
                self.flee(Kind.MAX, error, self.all_moves)
                continue
            if self.switch(Kind.MAX) or self.stay(Kind.MAX, value, self.best_of):
                continue
            if both and self.part.endless:
                self.settle_reply(value)
                self.require_totals()
            return Answer(value, self.best, self.policy, self.systems)

    def reply(self) -> list[Pair]:
        """The value of the minimiser's best reply, which joins the policy; raises if it wins without end."""
        while True:
            try:
                value = self.evaluate()
            except EndlessGainError as error:
                if error.gain < 0:
                    raise
                self.flee(Kind.MIN, error, self.chosen)
                continue
            self.best = best_moves(self.part, value)
            if not (self.switch(Kind.MIN) or self.stay(Kind.MIN, value, self.reply_moves)):
                return value

    def evaluate(self) -> list[Pair]:
        """The value of the policy."""
        rows: list[Row] = []
        for moves, branch, chosen in zip(self.part.moves, self.part.branch, self.policy, strict=True):
            if branch is not None:
                entries: dict[int, int] = {}
                for j, a in branch.shares:
                    entries[j] = entries.get(j, 0) + a
                rows.append((branch.denominator, entries, branch.gain))
            else:
                move = moves[chosen]
                inside = {} if move.target < 0 else {move.target: move.factor[0]}
                rows.append((move.factor[1], inside, move.gain))
        self.systems += 1
        closed: list[int] = []
        value = solve(rows, self.check, closed)
        for node in closed:
            self.require_idle(node)
        return value

    def require_idle(self, node: int) -> None:
        """Refuse a class that is never left and gains nothing on a round, although it pays and collects."""
        for i in self.reached(node):
            if self.pays(i):
                raise NoTotalError(i)

    def reached(self, node: int) -> set[int]:
        """Nodes that the policy comes to from a node of a class that it never leaves."""
        seen, todo = {node}, [node]
        while todo:
            for j in self.successors(todo.pop(), self.chosen):
                if j not in seen:
                    seen.add(j)
                    todo.append(j)
        return seen

    def require_totals(self) -> None:
        """Refuse where plays along moves that attain the value can go on for ever, and pay and collect in turns.

        Where no move attains more, such plays gain nothing in the mean, so their totals go to and fro.
        """
        if not self.part.endless or not self.part.pays():
            return
        kinds, n = self.part.kind, len(self.part.kind)
        for player in (Kind.MAX, Kind.MIN):
            edges: list[tuple[int, int, bool]] = []
            for i, branch in enumerate(self.part.branch):
                if branch is not None:
                    # Node n stands for everything outside.
                    after = [j for j, _ in branch.shares] + [n] * branch.leaves
                    edges += [(i, j, branch.pays) for j in after]
                    continue
                for k in self.best[i] if kinds[i] == player else [self.policy[i]]:
                    move = self.part.moves[i][k]
                    edges.append((i, n if move.target < 0 else move.target, move.pays))
            source, dst, pays = (np.array(column) for column in zip(*edges, strict=True))
            indptr = np.searchsorted(source, np.arange(n + 2))
            chance = np.array([*(kind == Kind.CHANCE for kind in kinds), False])
            component = graph.end_components(indptr, dst, chance)
            inside = (component[source] >= 0) & (component[source] == component[dst]) & pays
            if inside.any():
                raise NoTotalError(int(source[inside][0]))

    def pays_only_while_it_lasts(self) -> bool:
        """Whether nothing is paid where the policy never leaves the part; with signs, a system does not tell."""
        if not self.part.endless:
            return True
        before: dict[int, list[int]] = {}
        for i in range(len(self.part.kind)):
            branch = self.part.branch[i]
            for j in self.successors(i, self.chosen) + ([-1] if branch is not None and branch.leaves else []):
                before.setdefault(j, []).append(i)
        leaving, todo = {-1}, [-1]
        while todo:
            for i in before.get(todo.pop(), ()):
                if i not in leaving:
                    leaving.add(i)
                    todo.append(i)
        return not any(self.pays(i) for i in range(len(self.part.kind)) if i not in leaving)

    def pays(self, node: int) -> bool:
        branch = self.part.branch[node]
        return self.part.moves[node][self.policy[node]].pays if branch is None else branch.pays

    def switch(self, player: Kind) -> bool:
        """Switch to strictly better moves of a player; whether there was one."""
        changed = False
        for i, attain in enumerate(self.best):
            if self.part.kind[i] == player and self.policy[i] not in attain:
                self.policy[i] = attain[0]
                changed = True
        return changed

    # --- endless plays ---

    def all_moves(self, node: int) -> list[int]:
        return list(range(len(self.part.moves[node])))

    def best_of(self, node: int) -> list[int]:
        return self.best[node]

    def chosen(self, node: int) -> list[int]:
        return [self.policy[node]]

    def reply_moves(self, node: int) -> list[int]:
        return self.best[node] if self.part.kind[node] == Kind.MIN else [self.policy[node]]

    def stay(self, player: Kind, value: list[Pair], options: Callable[[int], list[int]]) -> bool:
        """Make a player stay in his trap; whether there was one."""
        inside = self.trap(player, value, options)
        for node in inside:
            if self.part.kind[node] == player:
                self.policy[node] = next(
                    k for k in self.best[node] if not self.gets_out(self.part.moves[node][k], inside)
                )
        return bool(inside)

    def gets_out(self, move: Move, inside: set[int]) -> bool:
        return move.pays or move.target not in inside

    def trap(self, player: Kind, value: list[Pair], options: Callable[[int], list[int]]) -> set[int]:
        """Largest set where `player` can stay for 0, which is better than `value`, if the other one has `options`."""
        if not self.part.endless or player not in self.part.kind:
            return set()
        bad = [i for i, v in enumerate(value) if (v[0] < 0 if player == Kind.MAX else v[0] > 0)]

        def mine(node: int) -> list[int]:
            return self.best[node] if self.part.kind[node] == player else options(node)

        inside, _ = self.attract(set(bad), player, mine)
        return inside

    def attract(
        self, inside: set[int], player: Kind, options: Callable[[int], list[int]]
    ) -> tuple[set[int], dict[int, int]]:
        """What is left of a set when everything goes that its opponents, or chance, can bring out of it.

        Returns
        -------
        set of int
            Where `player` can keep the play without rewards.
        dict
            For the opponent's nodes that went, the move that leads out.
        """
        part = self.part
        before: dict[int, list[int]] = {}
        for i in inside:
            for j in self.successors(i, options):
                before.setdefault(j, []).append(i)
        way: dict[int, int] = {}
        todo = list(inside)
        while todo:
            i = todo.pop()
            if i not in inside:
                continue
            branch = part.branch[i]
            if branch is not None:
                out = branch.leaves or branch.pays or any(j not in inside for j, _ in branch.shares)
            else:
                ways = [k for k in options(i) if self.gets_out(part.moves[i][k], inside)]
                out = len(ways) == len(options(i)) if part.kind[i] == player else bool(ways)
                if out and part.kind[i] != player:
                    way[i] = self.policy[i] if self.policy[i] in ways else ways[0]
            if out:
                inside.discard(i)
                todo.extend(before.get(i, ()))
        return inside, way

    def successors(self, node: int, options: Callable[[int], list[int]]) -> list[int]:
        branch = self.part.branch[node]
        if branch is not None:
            return [j for j, _ in branch.shares]
        return [self.part.moves[node][k].target for k in options(node)]

    def settle_reply(self, value: list[Pair]) -> None:
        """Make the minimiser leave where staying would give the maximiser 0 instead of less."""
        inside, way = self.attract({i for i, v in enumerate(value) if v[0] < 0}, Kind.MAX, self.best_of)
        assert not inside, "the maximiser has a trap left"
        for node, move in way.items():
            self.policy[node] = move

    def flee(self, player: Kind, error: EndlessGainError, options: Callable[[int], list[int]]) -> None:
        """Replace a policy that loses without end by one that makes for the ends, or tell that there is none."""
        part = self.part
        # The class that is never left, as long as its policy stands.
        around = self.reached(error.row)
        out = {i for i, b in enumerate(part.branch) if b is not None and b.leaves}
        before: dict[int, list[int]] = {}
        for i in range(len(part.kind)):
            allowed = self.all_moves if part.kind[i] == player else options
            for j in self.successors(i, allowed):
                if j >= 0:
                    before.setdefault(j, []).append(i)
                elif part.branch[i] is None:
                    before.setdefault(-1, []).append(i)
        todo = deque([-1, *out])
        found = set(todo)
        while todo:
            target = todo.popleft()
            for i in before.get(target, ()):
                if i in found:
                    continue
                if part.branch[i] is None:
                    mine = part.kind[i] == player
                    ways = [
                        k
                        for k in (self.all_moves if mine else options)(i)
                        if part.moves[i][k].target in found
                    ]
                    if mine:
                        self.policy[i] = ways[0]
                    elif len(ways) < len(options(i)):
                        continue
                found.add(i)
                todo.append(i)
        if found.isdisjoint(around):
            raise InfiniteValueError(error.row, 1 if error.gain > 0 else -1)
