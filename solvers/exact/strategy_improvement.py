"""Strategy improvement in rationals on one cyclic part of a network, for the solver `exact`.

A `Part` is a set of nodes whose successors outside have known values.  `optimise` finds the exact value of its
nodes, the best options and an optimal policy, starting from any policy.

Two players alternate as Hoffman and Karp (1966) proposed: the minimiser finds the best reply to the
maximiser's policy by policy iteration, then the maximiser switches wherever that is strictly better.  An
endless play without rewards is worth 0.  So an equation ``v = T v`` is not enough where such plays exist: a
player may also improve among equally good options, by staying in a *trap*: nodes that are worse for this player
than 0, which options that attain ``v`` need not leave, and which the opponent can only leave by options
that do not.  Each step, by a strictly better option or by a trap, raises the value of the maximiser's policy
against best replies (or lowers that of the reply), so no policy comes back and the iteration ends.

Where no trap is left, ``v`` is the value of the game: the rewards collected plus ``v`` ahead are a martingale
under the policies, a super- or submartingale when one player deviates, and endless plays settle where
all options attain ``v`` and nothing is paid, so where ``v`` is constant, and not on the wrong side of 0.

Parts with `pass_to` edges are written twice, once for the player to move on each side (`doubled`).
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from mdpdice.networks.network import Bools, Ints, Kind
from mdpdice.numerics import graph
from mdpdice.solvers.exact.parts import Move, Part, best_moves
from mdpdice.solvers.exact.rational import EndlessGainError, Pair, Row, solve


@attrs.define(eq=False)
class InfiniteValueError(ArithmeticError):
    """An endless play that gains or loses on every round cannot be avoided from `node`."""

    node: int
    sign: int


@attrs.define(eq=False)
class NoTotalError(ArithmeticError):
    """Endless plays through `node` collect and pay in turns, so their totals have no limit."""

    node: int


@attrs.frozen(eq=False)
class Answer:
    """Values, best moves and policy of a part, and how many systems were solved."""

    value: list[Pair]
    best: list[list[int]]  # for every decision the moves that attain its value, [] for chance nodes
    policy: list[int]  # for every decision the move to make, -1 for chance nodes
    systems: int


def optimise(part: Part, policy: list[int], check: Callable[[], None]) -> Answer:
    """Solve a part exactly, starting from a policy; an `InfiniteValueError` if some value is infinite."""
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
    return Answer(answer.value[:n], answer.best[:n], answer.policy[:n], answer.systems + first.systems)


class _Search:
    """Strategy improvement on a part without signs."""

    def __init__(self, part: Part, policy: list[int], check: Callable[[], None]) -> None:
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
            if self.switch(Kind.MAX) or self.stay(Kind.MAX, value, self.best.__getitem__):
                continue
            if both and self.part.endless:
                self.settle_reply(value)
                self.require_totals()
            return Answer(value, self.best, self.policy, self.systems)

    def reply(self) -> list[Pair]:
        """Return the value of the minimiser's best reply, which joins the policy; raise if it wins without end."""
        while True:
            try:
                value = self.evaluate()
            except EndlessGainError as error:
                if error.gain < 0:
                    raise
                self.flee(Kind.MIN, error, self.chosen)
                continue
            self.best = best_moves(self.part, value)
            if not (self.switch(Kind.MIN) or self.stay(Kind.MIN, value, self.best_of(Kind.MIN))):
                return value

    def evaluate(self) -> list[Pair]:
        """Return the value of the policy."""
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
        if closed:
            # Classes that are never left and gain nothing on a round must not pay and collect.
            self.refuse_paying(self.reached(closed))
        return value

    def edges(self, options: Callable[[int], list[int]]) -> tuple[Ints, Ints, Ints, Bools]:
        """Return the graph of moves in `options`: indptr, source, target, whether they pay; node n is all outside."""
        n = len(self.part.kind)
        edges: list[tuple[int, int, bool]] = []
        for i, branch in enumerate(self.part.branch):
            if branch is not None:
                edges += [(i, j, branch.pays) for j in [*(j for j, _ in branch.shares), *[n] * branch.leaves]]
            else:
                moves = [self.part.moves[i][k] for k in options(i)]
                edges += [(i, n if move.target < 0 else move.target, move.pays) for move in moves]
        source, dst, pays = (np.array(column) for column in zip(*edges, strict=True))
        return np.searchsorted(source, np.arange(n + 2)), source, dst, pays

    def reached(self, nodes: list[int]) -> Bools:
        """Nodes that the policy comes to from some nodes."""
        indptr, _, dst, _ = self.edges(self.chosen)
        return graph.reachable(indptr, dst, nodes)

    def refuse_paying(self, nodes: Bools) -> None:
        for i in np.flatnonzero(nodes[: len(self.policy)]).tolist():
            branch = self.part.branch[i]
            if self.part.moves[i][self.policy[i]].pays if branch is None else branch.pays:
                raise NoTotalError(i)

    def require_totals(self) -> None:
        """Refuse where plays along moves that attain the value can go on for ever, and pay and collect in turns.

        Where no move attains more, such plays gain nothing in the mean, so their totals go back and forth.
        """
        if not self.part.endless or not self.part.pays():
            return
        chance = np.array([*self.part.kind, Kind.END]) == Kind.CHANCE
        for player in (Kind.MAX, Kind.MIN):
            indptr, source, dst, pays = self.edges(self.best_of(player))
            component = graph.end_components(indptr, dst, chance)
            inside = (component[source] >= 0) & (component[source] == component[dst]) & pays
            if inside.any():
                raise NoTotalError(int(source[inside][0]))

    def pays_only_while_it_lasts(self) -> bool:
        """Whether nothing is paid where the policy never leaves the part; with signs, a system does not tell."""
        if not self.part.endless:
            return True
        _, source, dst, pays = self.edges(self.chosen)
        n = len(self.policy)
        rank = np.append(np.full(n, -1), 0)
        graph.attract(source, dst, np.ones(n + 1, dtype=np.bool_), rank)
        return not (pays & (rank[source] < 0)).any()

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

    def best_of(self, player: Kind) -> Callable[[int], list[int]]:
        """Return the best moves of a player, the policy of the other one."""
        return lambda i: self.best[i] if self.part.kind[i] == player else self.chosen(i)

    def chosen(self, node: int) -> list[int]:
        return [self.policy[node]]

    def stay(self, player: Kind, value: list[Pair], options: Callable[[int], list[int]]) -> bool:
        """Make a player stay in a trap; whether there was one."""
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
        bad = {i for i, v in enumerate(value) if (v[0] < 0 if player == Kind.MAX else v[0] > 0)}
        return self.attract(bad, player, lambda i: self.best[i] if self.part.kind[i] == player else options(i))[0]

    def attract(
        self, inside: set[int], player: Kind, options: Callable[[int], list[int]]
    ) -> tuple[set[int], dict[int, int]]:
        """Shrink a set, in place, to what its opponents, and chance, cannot leave.

        There `player` can keep the play without rewards.  For the opponent's nodes that went comes the move that
        leads out.
        """
        part = self.part
        before: dict[int, list[int]] = {}
        for i in inside:
            for j in self.successors(i, options):
                before.setdefault(j, []).append(i)
        way: dict[int, int] = {}
        todo = list(inside)
        while todo:
            if (i := todo.pop()) not in inside:
                continue
            if (branch := part.branch[i]) is not None:
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
        if (branch := self.part.branch[node]) is not None:
            return [j for j, _ in branch.shares]
        return [self.part.moves[node][k].target for k in options(node)]

    def settle_reply(self, value: list[Pair]) -> None:
        """Make the minimiser leave where staying would give the maximiser 0 instead of less."""
        inside, way = self.attract({i for i, v in enumerate(value) if v[0] < 0}, Kind.MAX, self.best.__getitem__)
        assert not inside, "the maximiser has a trap left"
        for node, move in way.items():
            self.policy[node] = move

    def flee(self, player: Kind, error: EndlessGainError, options: Callable[[int], list[int]]) -> None:
        """Replace a policy that loses without end by one that makes for the ends, or raise if there is none."""
        # The class that is never left, as long as its policy stands.
        around = self.reached([error.row])
        kinds = np.array([*self.part.kind, Kind.END])
        mine = kinds == player
        _, source, dst, _ = self.edges(lambda i: self.all_moves(i) if mine[i] else options(i))
        rank = np.where(kinds == Kind.END, 0, -1)
        graph.attract(source, dst, mine | (kinds == Kind.CHANCE), rank)
        if (rank[around] < 0).all():
            raise InfiniteValueError(error.row, 1 if error.gain > 0 else -1)
        for i in np.flatnonzero(mine & (rank > 0)).tolist():
            # A move that leaves the part has the target -1, which is node n.
            self.policy[i] = next(k for k, move in enumerate(self.part.moves[i]) if 0 <= rank[move.target] < rank[i])
