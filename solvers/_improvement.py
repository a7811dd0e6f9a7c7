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
from collections.abc import Callable, Sequence

import attrs

from mdpdice.network import Kind
from mdpdice.solvers._rational import EndlessGainError, Pair, Row, solve

__all__ = [
    "Answer",
    "Branch",
    "InfiniteValueError",
    "Move",
    "NoTotalError",
    "Part",
    "best",
    "best_moves",
    "optimise",
    "quotient",
]

CLOSE = 1e-12
"""Relative distance of floats from which two rationals are told apart without exact arithmetic."""


@attrs.frozen(eq=False)
class Move:
    """An option: pay `gain` and go to the node `target` of the part, whose value counts `factor` times.

    Parameters
    ----------
    edge : int
        The edge of the network.
    target : int
        Node of the part; -1 for an option that leaves it, then `gain` holds all that it is worth.
    factor, gain : Pair
        Signed discount and reward.
    pays : bool
        Whether there is a reward.
    """

    edge: int
    target: int
    factor: Pair
    gain: Pair
    pays: bool


@attrs.frozen(eq=False)
class Branch:
    """All edges of a chance node.

    Parameters
    ----------
    denominator : int
        Denominator of the shares.
    shares : list of (int, int)
        Node of the part, and the numerator of its probability times discount and sign.
    gain : Pair
        Mean reward, with what the edges that leave the part are worth.
    leaves, pays : bool
        Whether an edge leaves the part, whether one has a reward.
    """

    denominator: int
    shares: list[tuple[int, int]]
    gain: Pair
    leaves: bool
    pays: bool


@attrs.frozen(eq=False)
class Part:
    """Some nodes of a network: decisions have `moves`, chance nodes a `branch`.

    Parameters
    ----------
    kind : list of int
        MAX, MIN or CHANCE.
    moves : list of list of Move
        Empty for chance nodes.
    branch : list of Branch or None
        None for decisions.
    endless : bool
        Whether plays may stay for ever, that is, whether nothing is discounted.
    """

    kind: list[int]
    moves: list[list[Move]]
    branch: list[Branch | None]
    endless: bool

    def signed(self) -> bool:
        """Whether the players change sides inside."""
        options = any(move.target >= 0 and move.factor[0] < 0 for moves in self.moves for move in moves)
        return options or any(a < 0 for b in self.branch if b is not None for _, a in b.shares)

    def doubled(self) -> Part:
        """The part seen from both sides: node ``i + n`` is node ``i`` with the other player to move."""
        n = len(self.kind)
        swap = {int(Kind.MAX): int(Kind.MIN), int(Kind.MIN): int(Kind.MAX)}
        return Part(
            self.kind + [swap.get(kind, kind) for kind in self.kind],
            [[_seen(move, side, n) for move in moves] for side in (0, 1) for moves in self.moves],
            [None if b is None else _branch_seen(b, side, n) for side in (0, 1) for b in self.branch],
            self.endless,
        )


def _seen(move: Move, side: int, n: int) -> Move:
    (f, fd), (g, gd) = move.factor, move.gain
    target = move.target if move.target < 0 else move.target + n * (side ^ (f < 0))
    return attrs.evolve(move, target=target, factor=(abs(f), fd), gain=(-g if side else g, gd))


def _branch_seen(branch: Branch, side: int, n: int) -> Branch:
    g, d = branch.gain
    shares = [(j + n * (side ^ (a < 0)), abs(a)) for j, a in branch.shares]
    return attrs.evolve(branch, shares=shares, gain=(-g if side else g, d))


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


def quotient(pair: Pair) -> float:
    """The nearest float, infinite beyond their range."""
    try:
        return pair[0] / pair[1]
    except OverflowError:
        return float("inf") if pair[0] > 0 else float("-inf")


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
    try:
        value = first.evaluate()
    except EndlessGainError:
        value = None
    if value is not None:
        attained = best_moves(part, value)
        second = _Search(both, policy * 2, check)
        mirrored = value + [(-a, d) for a, d in value]
        if all(not b or p in b for p, b in zip(policy, attained, strict=True)):
            second.best = attained * 2
            if not any(second.trap(kind, mirrored, second.chosen) for kind in (Kind.MAX, Kind.MIN)):
                return Answer(value, attained, policy, 1)
    answer = _Search(both, policy * 2, check).run()
    systems = answer.systems + first.systems
    return Answer(answer.value[:n], answer.best[:n], answer.policy[:n], systems)


def best_moves(part: Part, value: list[Pair]) -> list[list[int]]:
    """The moves of every decision that are worth most (or least, to the minimiser), by exact comparison."""
    floats = [quotient(pair) for pair in value]
    return [
        best(moves, value, floats, minimise=kind == Kind.MIN)
        for moves, kind in zip(part.moves, part.kind, strict=True)
    ]


def best(
    moves: list[Move], value: Sequence[Pair] = (), floats: Sequence[float] = (), *, minimise: bool
) -> list[int]:
    """The best of some moves, when the nodes of the part have these values."""
    if len(moves) < 2:
        return list(range(len(moves)))
    guess = [_guess(move, floats) for move in moves]
    top, room = (min if minimise else max)(guess)
    # Floats rule out what is clearly worse; written so that infinities and NaN rule out nothing.
    near = [k for k, (x, size) in enumerate(guess) if not abs(x - top) > CLOSE * (size + room) + 1e-300]
    if not max(size for _, size in guess) < 1e300:
        near = list(range(len(moves)))
    if len(near) == 1:
        return near
    found: list[int] = []
    record: Pair = (0, 1)
    for k in near:
        n, d = _worth(moves[k], value)
        order = n * record[1] - record[0] * d
        if minimise:
            order = -order
        if not found or order > 0:
            found, record = [k], (n, d)
        elif order == 0:
            found.append(k)
    return found


def _guess(move: Move, floats: Sequence[float]) -> tuple[float, float]:
    """What a move is worth in floats, and the size of the numbers that were added for it."""
    gain = quotient(move.gain)
    if move.target < 0:
        return gain, abs(gain)
    ahead = move.factor[0] / move.factor[1] * floats[move.target]
    return gain + ahead, abs(gain) + abs(ahead)


def _worth(move: Move, value: Sequence[Pair]) -> Pair:
    if move.target < 0:
        return move.gain
    n, d = value[move.target]
    (f, fd), (g, gd) = move.factor, move.gain
    if not move.pays:
        return f * n, fd * d
    return g * fd * d + f * n * gd, gd * fd * d


class _Search:
    """Strategy improvement at work on a part without signs."""

    def __init__(self, part: Part, policy: list[int], check: Callable[[], None] | None) -> None:
        self.part = part
        self.policy = list(policy)
        self.check = check
        self.systems = 0
        self.best: list[list[int]] = []
        # A policy that loses without end is replaced once by one that makes for the way out.
        self.fled = {Kind.MAX: False, Kind.MIN: False}

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
        seen, todo = {node}, [node]
        while todo:
            i = todo.pop()
            branch = self.part.branch[i]
            if self.part.moves[i][self.policy[i]].pays if branch is None else branch.pays:
                raise NoTotalError(i)
            for j in self.successors(i, self.chosen):
                if j not in seen:
                    seen.add(j)
                    todo.append(j)

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
        if self.fled[player]:
            raise InfiniteValueError(error.row, 1 if error.gain > 0 else -1)
        self.fled[player] = player == Kind.MAX
        part = self.part
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
        if error.row not in found:
            raise InfiniteValueError(error.row, 1 if error.gain > 0 else -1)
