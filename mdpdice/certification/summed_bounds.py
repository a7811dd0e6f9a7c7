"""Bounds that add up errors along plays, and their witnesses.

`mdpdice.certification.checking.inequalities` verifies bounds ``u`` on the network of best replies.  This module finds
them: ``u = v + e``, where ``v`` is the claimed value and ``e`` adds up, along the worst play, what one backup of
``v`` is off and what rounding can add.  So ``e`` is the value of a longest-play problem on the same network, found by
sweeps in component order; how exactly does not matter, since the checker looks at the result alone.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from mdpdice.certification.checking import inequalities
from mdpdice.networks.arrays import ULP, read_only
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network
from mdpdice.numerics import graph
from mdpdice.numerics.linear import solve_chain
from mdpdice.numerics.operator import Operator, unsigned
from mdpdice.numerics.regions import idle_components

EDGES_LIMIT = 2_000_000_000
"""Edges that may be read in search of bounds, a few seconds; slow chains need more and stay uncertified."""
EDGES_UNWATCHED = 4_000_000
"""Edges that may be read between two checks of the time."""
ITERATE_POLICIES_AFTER_SWEEPS = 300
"""Sweeps over a cyclic component after which its bounds are sought by policy iteration instead."""
POLICIES = 30
"""Policies that are tried."""
SWEEP_COST = 2_000
"""What starting a sweep costs, in edges."""


def find_bounds(
    problem: Network, value: Floats, policy: Ints, check: Callable[[], None] = lambda: None
) -> tuple[Floats, inequalities.Witness]:
    """Find bounds for a value and a policy, and what shows that they are bounds.

    The candidate has the shape (N,) or (horizon + 1, N), the bounds (2 N,) or (horizon + 1, 2 N); they and the witness
    are for `mdpdice.certification.checking.inequalities.verify`, and need not hold.  `check` is called before every
    sweep, and may raise to give up.
    """
    if problem.horizon is not None:
        return _stages(problem, value, policy, check)
    replies = inequalities.best_replies(problem, policy)
    groups = _Groups.find(replies) if problem.discount == 1 else _Groups.none(replies)
    witness = groups.witness(replies, ~replies.end)
    claimed = groups.raised(np.concatenate((-value, value)))
    excess = np.zeros(groups.count)
    groups.add_up(replies, _Costs.of(replies, claimed, claimed), excess, excess, check, decisions=True)
    return claimed + excess[groups.number], witness


def find_witness(problem: Network, policy: Ints) -> inequalities.Witness:
    """Find ranks and groups that show how plays end under best replies to a policy, shape (N,)."""
    replies = inequalities.best_replies(problem, policy)
    flat = problem.horizon is None
    groups = _Groups.find(replies) if flat and problem.discount == 1 else _Groups.none(replies)
    return groups.witness(replies, ~replies.end if flat else replies.chance)


def _stages(
    problem: Network, value: Floats, policy: Ints, check: Callable[[], None]
) -> tuple[Floats, inequalities.Witness]:
    """Bounds and witness with a horizon: decisions look at the stage before, chance nodes at their own."""
    both = np.concatenate((-value, value), axis=1)
    excess = np.zeros(both.shape)
    witness = None
    for k in range(len(value)):
        check()
        replies = inequalities.best_replies(problem, policy[k], last=k == 0)
        groups = _Groups.none(replies)
        witness = groups.witness(replies, replies.chance) if witness is None else witness
        before = max(k - 1, 0)
        costs = _Costs.of(replies, both[k], both[before])
        excess[k] = costs.end
        if k > 0:
            groups.add_up(replies, costs, excess[before], excess[k], check, decisions=True, chance=False)
        groups.add_up(replies, costs, excess[k], excess[k], check, decisions=False)
    assert witness is not None
    return both + excess, witness


@attrs.frozen(eq=False)
class _Costs:
    """What one backup is off by, with room for rounding.

    `option` is per edge of a decision, `chance` and `end` per node.  Neither is negative on the best option, so sums
    along plays are not either.  `scale` is the size of the numbers at a node, `off` its plain residual.
    """

    option: Floats
    chance: Floats
    end: Floats
    scale: Floats
    off: Floats

    @staticmethod
    @np.errstate(over="ignore", invalid="ignore")  # what overflows proves nothing
    def of(replies: inequalities.Replies, here: Floats, before: Floats) -> _Costs:
        source, dst = replies.source, replies.dst
        ahead = np.where(replies.chance[source], here[dst], before[dst])
        worth = replies.reward + replies.factor * ahead
        size = np.abs(replies.reward) + replies.factor * np.abs(ahead) + np.abs(here[source])
        whole = np.abs(replies.reward) + np.abs(ahead) + np.abs(here[source])
        cost = worth - here[source]
        off, slack, scale = np.zeros(len(here)), np.zeros(len(here)), np.abs(here)
        if len(dst):
            starts = replies.indptr[:-1]
            mean = np.add.reduceat(np.append(replies.weight * worth, 0.0), starts)
            spread = np.add.reduceat(np.append(replies.weight * size, 0.0), starts)
            spread += _tiny(np.add.reduceat(np.append(whole, 0.0), starts))
            total = np.add.reduceat(np.append(replies.weight, 0.0), starts)
            slack = ((2 * np.diff(replies.indptr) + 10) * ULP + np.abs(1.0 - total)) * spread
            best = np.maximum.reduceat(np.append(cost, -np.inf), starts)
            decides = ~replies.chance & ~replies.end
            off = np.where(replies.chance, np.abs(mean - here), np.where(decides, np.abs(best), 0.0))
            is_best = cost == best[source]
            cost = np.where(is_best, np.abs(cost), cost)
            top = np.maximum.reduceat(np.append(np.where(is_best, size, 0.0), 0.0), starts)
            scale = np.where(replies.chance, spread, np.where(decides, top, scale))
        chance = np.where(replies.chance, off + 1.5 * slack, 0.0)
        end = np.where(replies.end, np.maximum(replies.payoff - here, 0.0), 0.0)
        return _Costs(cost + 7 * ULP * (size + _tiny(whole)), chance, end, scale, off)


def _tiny(whole: Floats) -> Floats:
    return inequalities.NORMAL * (whole + (whole > 0))


@attrs.frozen(eq=False)
class _Groups:
    """Nodes of the best replies, with those that play can idle among taken together.

    `number` gives the group node of every node, `member` the group of the theorem
    or -1, and `count` the number of group nodes.
    """

    number: Ints
    member: Ints
    count: int

    @staticmethod
    def none(replies: inequalities.Replies) -> _Groups:
        n = len(replies.end)
        return _Groups(np.arange(n), np.full(n, -1), n)

    @staticmethod
    def find(replies: inequalities.Replies) -> _Groups:
        """Find the groups: the end components of edges that pay nothing."""
        pays = (replies.reward != 0) | (replies.factor != 1)
        member, _ = idle_components(replies.indptr, replies.dst, replies.chance, pays)
        if not (member >= 0).any():
            return _Groups.none(replies)
        alone = member < 0
        outside = int(alone.sum())
        number = np.where(alone, np.cumsum(alone) - 1, outside + member)
        return _Groups(number, member, outside + int(member.max()) + 1)

    def raised(self, claimed: Floats) -> Floats:
        """Return the claimed values, the same on a group: the largest there, and at least 0."""
        inside = self.member >= 0
        if not inside.any():
            return claimed
        top = np.zeros(self.count)
        np.maximum.at(top, self.number[inside], claimed[inside])
        return np.where(inside, top[self.number], claimed)

    def _quotient(self, replies: inequalities.Replies) -> tuple[Ints, Ints, Ints, Ints, Bools]:
        """CSR of the group nodes: old edge of every edge, source, indptr, dst, and which nodes are chance nodes."""
        source = replies.source
        inside = (self.member[source] >= 0) & (self.member[source] == self.member[replies.dst])
        old = np.flatnonzero(~inside)
        new_source = self.number[source[old]]
        order = np.argsort(new_source, kind="stable")
        old, new_source = old[order], new_source[order]
        indptr = np.concatenate(([0], np.cumsum(np.bincount(new_source, minlength=self.count))))
        chance = np.zeros(self.count, dtype=bool)
        chance[self.number] = replies.chance & (self.member < 0)
        return old, new_source, indptr, self.number[replies.dst[old]], chance

    def witness(self, replies: inequalities.Replies, live: Bools) -> inequalities.Witness:
        """Ranks that show how plays among the `live` nodes end, or lose where they do not."""
        old, source, indptr, dst, chance = self._quotient(replies)
        lives = np.zeros(self.count, dtype=bool)
        lives[self.number] = live
        rank = self._rank(source, dst, chance, lives, np.ones(len(old), dtype=bool))
        label = np.zeros(self.count, dtype=np.int64)
        if (rank < 0).any():
            # Not every play ends; then those must lose that stay in a component.
            label = graph.strong_components(indptr, dst)
            within = label[source] == label[dst]
            rank = self._rank(source, dst, chance, lives, within)
            losing = self._rank(source, dst, chance, lives, within & (replies.reward[old] >= 0))
            rank = np.where(np.isin(label, label[rank < 0]), losing, rank)
        rank = np.maximum(rank, 0)
        found = inequalities.Witness(self.member, rank[self.number], label[self.number])
        nobody_pays = not (replies.reward < 0).any() or not (live | replies.end).all()
        if nobody_pays or inequalities.endless_plays_lose(replies, live, np.zeros(len(live)), found):
            return found
        gains = _most_gains(replies, live)
        if gains is None:
            return found
        # A bound on all gains takes the place of the labels.
        losing = self._rank(source, dst, chance, lives, replies.reward[old] >= 0)
        rank = np.maximum(losing, 0)[self.number]
        return inequalities.Witness(self.member, rank, np.zeros(len(live), dtype=np.int64), gains)

    def _rank(self, source: Ints, dst: Ints, chance: Bools, lives: Bools, counts: Bools) -> Ints:
        wait = np.bincount(source[counts], minlength=self.count)
        rank = np.where(lives, -1, 0)
        rank[~chance & (wait == 0)] = 0
        # A chance node with an edge that does not count leaves the edges that do, again and again.
        rank[source[~counts & chance[source]]] = 0
        graph.attract(source, dst, chance, rank, counts)
        return rank

    def add_up(
        self, replies: inequalities.Replies, costs: _Costs, before: Floats, excess: Floats, check: Callable[[], None],
        *, decisions: bool, chance: bool = True,
    ) -> None:  # fmt: skip
        """Write the largest expected sum of costs along a play into `excess`; decisions look at `before`."""
        old, source, indptr, dst, is_chance = self._quotient(replies)
        degree = np.diff(indptr)
        keep = None if decisions and chance else is_chance[source] & is_chance[dst]
        label, order, ptr = graph.ordered_components(indptr, dst, keep)
        cyclic = graph.cyclic_components(indptr, dst, label, keep)
        # The excess rounds too; sweeps over a cycle also need room to stop before they are exact.
        room = np.zeros(self.count)
        np.maximum.at(room, self.number, 2.0**-54 * costs.scale)
        if cyclic.any():
            off, top = np.zeros(self.count), np.zeros(len(cyclic))
            np.maximum.at(off, self.number, costs.off)
            np.maximum.at(top, label, room + 0.02 * off)
            room = np.where(cyclic[label], top[label], room)
        base = np.zeros(self.count)
        base[self.number] = np.where(replies.chance, costs.chance, costs.end)
        kind = np.where(is_chance, Kind.CHANCE, np.where(degree > 0, Kind.MAX, Kind.END))
        growth = 1.0 + np.where(is_chance, 2 * degree + 12, 8) * ULP
        gain = costs.option[old] + room[source]
        coef = replies.weight[old] * replies.factor[old] * growth[source]
        # Play may also stay in a group, at no cost: an edge that counts nothing, to anywhere.
        idle = np.unique(self.number[self.member >= 0])
        at = indptr[idle + 1]
        gain, coef, dst = np.insert(gain, at, 0.0), np.insert(coef, at, 0.0), np.insert(dst, at, idle)
        degree[idle] += 1
        kind[idle] = Kind.MAX
        rows = kind.astype(np.uint8), unsigned(np.concatenate(([0], np.cumsum(degree)))), unsigned(dst)
        operator = Operator(*rows, gain, coef, np.where(is_chance, base + room, base))
        if before is not excess and not chance:
            _sweep(operator, np.flatnonzero(~is_chance & (degree > 0)), before, excess)
            return
        _add_up(operator, degree, (order, ptr, cyclic), is_chance | decisions, room, excess, check)


def _most_gains(replies: inequalities.Replies, live: Bools) -> tuple[Floats, inequalities.Witness] | None:
    """Bound what can be gained if nothing is ever paid, with a witness; None if plays may gain for ever."""
    reward, payoff = np.maximum(replies.reward, 0.0), np.zeros(len(replies.payoff))
    gains = attrs.evolve(replies, reward=reward, payoff=payoff)
    nothing = np.zeros(len(live))
    groups = _Groups.find(gains)
    witness = groups.witness(gains, live)
    if not inequalities.endless_plays_lose(gains, live, nothing, witness):
        return None
    most = np.zeros(groups.count)
    costs = _Costs.of(gains, nothing, nothing)
    groups.add_up(gains, costs, most, most, lambda: None, decisions=True)
    return most[groups.number], witness


def _add_up(
    operator: Operator, degree: Ints, parts: tuple[Ints, Ints, Bools], wanted: Bools, room: Floats, excess: Floats,
    check: Callable[[], None],
) -> None:  # fmt: skip
    from mdpdice.numerics.kernels.residuals import rise

    order, ptr, cyclic = parts
    budget = EDGES_LIMIT
    start = 0
    settled = True
    # One scratch array for all sweeps: small components are many.
    scratch, least = np.full(len(excess), -1), read_only(0.4 * room)
    for c in np.flatnonzero(cyclic).tolist():
        # Everything between two cyclic components is acyclic: one sweep.
        between = order[start : ptr[c]]
        _sweep(operator, between[wanted[between]], excess, excess, scratch)
        block = order[ptr[c] : ptr[c + 1]]
        start = int(ptr[c + 1])
        size = int(degree[block].sum()) + SWEEP_COST
        left, rises = ITERATE_POLICIES_AFTER_SWEEPS, True
        while left and rises:
            check()
            sweeps = min(left, budget // size + 1, EDGES_UNWATCHED // size + 1)
            # The sum grows from below; the costs hold this much more than they need.
            done, rises = rise(operator.rows, unsigned(block), excess, scratch, least, sweeps)
            left, budget = left - done, budget - done * size
            if rises and budget < 0:
                return
        settled &= not rises
    rest = order[start:]
    _sweep(operator, rest[wanted[rest]], excess, excess, scratch)
    if not settled and (wanted | (operator.kind == Kind.END)).all():
        _iterate_policies(operator, order, room, excess, check)


def _iterate_policies(operator: Operator, order: Ints, room: Floats, excess: Floats, check: Callable[[], None]) -> None:
    """Finish a sum that sweeps approach too slowly, by policy iteration."""
    indptr = operator.indptr.astype(np.int64)
    decides = (operator.kind == Kind.MAX) | (operator.kind == Kind.MIN)
    source = np.repeat(np.arange(len(excess)), indptr[1:] - indptr[:-1])
    chance_edge = ~decides[source]
    policy = np.full(len(excess), -1)
    found = excess.copy()
    _sweep(operator, order, found, found, policy)
    for _ in range(POLICIES):
        check()
        taken = chance_edge.copy()
        taken[policy[decides]] = True
        edges = np.flatnonzero(taken)
        base = operator.base.copy()
        base[decides] = operator.gain[policy[decides]]
        kind = np.where(operator.kind == Kind.END, Kind.END, Kind.CHANCE).astype(np.uint8)
        starts = np.concatenate(([0], np.cumsum(np.bincount(source[edges], minlength=len(excess)))))
        gain = np.zeros(len(edges))
        chain = Operator(kind, unsigned(starts), operator.dst[edges], gain, operator.coef[edges], base)
        found = solve_chain(chain)
        if not (np.isfinite(found) & (found >= 0)).all():
            return
        excess[:] = found
        _sweep(operator, order, found, found, policy)
        if not (found - excess > 0.4 * room).any():
            return


def _sweep(operator: Operator, nodes: Ints, source: Floats, target: Floats, policy: Ints | None = None) -> None:
    from mdpdice.numerics.kernels import bellman as kernels

    if policy is None:
        policy = np.full(len(target), -1, dtype=np.int64)
    kernels.backup(operator.rows, unsigned(nodes), source, target, policy)
