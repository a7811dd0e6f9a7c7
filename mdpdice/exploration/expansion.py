"""Replication: expand a lattice into a flat network, with the reachable pairs of core node and point only.

The expressions of the lattice are evaluated on the whole grid by numpy, once each:
a table of targets per update, of truth values per guard, of numbers per reward.
Compiled loops then follow the core's edges from pair to pair, breadth first, and write
the network's arrays (`mdpdice.numerics.kernels.expansion`).  Nothing of Python
runs per state or per edge, and states and actions are made when they are asked for.

States, steps and the chance prefix are those of the network that `mdpdice.explore`
makes of `Game.unrolled`, state by state; only parallel edges to one state, which that
route merges, may stay apart here.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from mdpdice.backend import Progress
from mdpdice.errors import MdpDiceError, StateLimitError
from mdpdice.exploration.chance_prefix import separate_prefix
from mdpdice.exploration.traversal import dead_end
from mdpdice.lattices.lattice import OUTSIDE, Lattice
from mdpdice.lattices.point_states import PointStates, RepeatedActions
from mdpdice.lattices.size import count_first, network_bytes
from mdpdice.memory import available_bytes
from mdpdice.modelling.counters import At, forbidden_error
from mdpdice.modelling.expressions import Expr
from mdpdice.modelling.nearest import nearest
from mdpdice.networks.network import Ints, Kind, Network
from mdpdice.numerics.kernels import expansion as kernels
from mdpdice.numerics.threads import in_parallel, threads, workers

_BUDGET = 1 << 22  # edges between two looks at the limits
TWO_THREADS_FROM_EDGES = 1 << 18
"""Edges from which two threads write a lattice out as a network."""
_MOST = 1 << 30  # rows and points that fit the 32-bit tables
_EVALUATION_BYTES = 64  # per point, while an expression is evaluated


def replicate(
    lattice: Lattice, *, max_states: int = 10_000_000, max_bytes: int | None = None, progress: Progress | None = None
) -> Network:
    """Expand the part of a lattice that play can reach; limits and errors are those of `mdpdice.explore`.

    Memory is compared with the limit before it is taken.  States are `mdpdice.modelling.counters.At` values, in the
    order in which they were found.
    """
    limit = available_bytes() * 4 // 5 if max_bytes is None else max_bytes
    return _Replication(lattice, max_states, limit, progress).run()


class _Replication:
    def __init__(self, lattice: Lattice, max_states: int, max_bytes: int, progress: Progress | None) -> None:
        self.lattice = lattice
        self.max_states = max_states
        self.max_bytes = max_bytes
        self.progress = progress
        kind, node_state = lattice.kind, lattice.node_state
        self.ends_here = (kind == Kind.END) & (node_state < 0)
        entered = (node_state >= 0) | self.ends_here
        self.slot = np.where(entered, np.cumsum(entered) - 1, -1).astype(np.int32)
        self.slot_node = np.flatnonzero(entered)
        varies = np.array([number.value is None for number in lattice.rewards], dtype=bool)
        self.single = self.ends_here & ~np.append(varies, False)[lattice.payoff]
        # Rewards and payoffs that depend on the point get a row of a table.
        self.tabled = np.flatnonzero(varies)
        self.reward_row = np.full(len(lattice.rewards), -1, dtype=np.int64)
        self.reward_row[self.tabled] = np.arange(len(self.tabled))
        self.todo = np.zeros((2, int((~entered).sum()) + 1), dtype=np.int64)

    def run(self) -> Network:
        lattice = self.lattice
        size, n_slots = lattice.size, len(self.slot_node)
        tables = size * (len(lattice.guards) + 4 * len(lattice.updates) + 8 * len(self.tabled))
        self.fixed = tables + (4 * n_slots + _EVALUATION_BYTES) * size
        if size < _MOST:
            count_first(lattice, self.max_states, self.max_bytes, self.progress)
        if self.fixed > self.max_bytes or size >= _MOST:
            msg = (
                f"the grid has {size:,} points; tables of {len(lattice.guards)} conditions, {len(lattice.updates)} "
                f"updates and {len(self.tabled)} rewards over it, and of {n_slots:,} states at each point, need "
                f"{self.fixed:,} bytes, more than max_bytes={self.max_bytes:,}"
            )
            raise self._limit_error(msg, 0, self.max_bytes)
        self._evaluate()
        self._discover()
        return self._network(*self._payoffs())

    # --- tables -------------------------------------------------------------

    def _evaluate(self) -> None:
        """Evaluate the expressions on the whole grid, each along those axes that it depends on."""
        lattice, shape = self.lattice, self.lattice.shape
        self.guard_table = np.zeros((len(lattice.guards), *shape), dtype=np.uint8)
        self.target_table = np.zeros((len(lattice.updates), *shape), dtype=np.int32)
        self.reward_table = np.zeros((len(self.tabled), *shape))
        along = np.meshgrid(*map(np.arange, shape), indexing="ij", sparse=True)
        values = {
            axis.name: axis.values.start + axis.values.step * position
            for axis, position in zip(lattice.axes, along, strict=True)
        }

        def evaluate(expr: Expr) -> tuple[Any, Any]:
            return expr.evaluate_where_defined({name: values[name] for name in expr.names})

        for at, guard in enumerate(lattice.guards):
            holds, defined = evaluate(guard)
            self.guard_table[at] = np.where(defined, holds, 2)
        for at, number in enumerate(self.tabled.tolist()):
            found, defined = evaluate(lattice.rewards[number])
            self.reward_table[at] = np.where(defined, found, np.nan)
        place = [position.astype(np.int32) * stride for position, stride in zip(along, lattice.strides, strict=True)]
        by_name = {axis.name: at for at, axis in enumerate(lattice.axes)}
        for at, updates in enumerate(lattice.updates):
            moved: list[Any] = list(place)
            fault: Any = np.zeros((), dtype=np.int32)
            for one in updates:
                axis = by_name[one.name]
                wanted, defined = evaluate(one.value)
                position = np.where(defined, lattice.axes[axis].positions(wanted), OUTSIDE)
                # The first update that fails says how, as it does where updates are done one by one.
                fault = np.where((fault == 0) & (position < 0), position, fault)
                moved[axis] = position.astype(np.int32) * lattice.strides[axis]
            target = self.target_table[at]
            target[...] = moved[0]
            for step in moved[1:]:
                target += step
            if (fault != 0).any():
                np.copyto(target, fault, where=fault != 0, casting="same_kind")
        self.guard_table = self.guard_table.reshape(-1, lattice.size)
        self.target_table = self.target_table.reshape(-1, lattice.size)
        self.reward_table = self.reward_table.reshape(-1, lattice.size)

    # --- the pairs ----------------------------------------------------------

    def _discover(self) -> None:
        lattice, size = self.lattice, self.lattice.size
        capacity = max(1, min(len(lattice.states) * size, self.max_states))
        self.ids = np.zeros(len(self.slot_node) * size, dtype=np.int32)
        self.queue_node = np.empty(capacity, dtype=np.int32)
        self.queue_point = np.empty(capacity, dtype=np.int64)
        self.resolved = np.empty(capacity, dtype=np.int32)
        starts = np.empty((3, capacity), dtype=np.int64)
        ends = np.empty(int(np.where(self.single, 1, size)[self.ends_here].sum()), dtype=np.int64)
        at = np.zeros(8, dtype=np.int64)
        self.queue_node[0], self.queue_point[0] = lattice.start, lattice.start_point
        self.ids[int(self.slot[lattice.start]) * size + lattice.start_point] = 1
        at[kernels.FOUND] = 1
        result = kernels.PAUSED
        while result == kernels.PAUSED:
            result = kernels.discover(
                lattice.kind, lattice.switch, lattice.indptr, lattice.dst,
                lattice.guard, lattice.update, lattice.reward, lattice.payoff,
                self.slot, self.ends_here, self.single,
                self.guard_table, self.target_table, self.reward_row, self.reward_table,
                size, self.ids, self.queue_node, self.queue_point, self.resolved,
                starts[0], starts[1], starts[2], ends, self.todo[0], self.todo[1], at, _BUDGET,
            )  # fmt: skip
            self._check_limits(at, result == kernels.FULL)
        if result != kernels.DONE:
            self._fail(result, at)
        n_states, self.n_rows, self.n_edges, self.n_options = at[[1, 3, 4, 5]].tolist()
        self.row_start, self.edge_start, self.option_start = starts[:, :n_states]
        self.queue_node, self.queue_point = self.queue_node[:n_states], self.queue_point[:n_states]
        self.resolved, self.ends = self.resolved[:n_states], ends[: at[kernels.ENDS]]

    def _check_limits(self, at: Ints, full: bool) -> None:
        position, found, _, rows, edges = at[:5].tolist()
        size = self.fixed + network_bytes(found, rows, edges)
        over = ("max_states", self.max_states) if full else ("max_bytes", self.max_bytes)
        if full or size > self.max_bytes or rows >= _MOST:
            ahead = f"and {found - position:,} states still to explore"
            done = f"{found:,} states and {edges:,} edges ({size:,} bytes), {ahead}"
            msg = f"exploration passed {over[0]}={over[1]:,} with {done}"
            raise self._limit_error(msg, found, over[1], position)
        if self.progress is not None:
            self.progress("explore", {"states": found, "explored": position, "edges": edges})

    def _limit_error(self, msg: str, found: int, limit: int, position: int = 0) -> StateLimitError:
        frontier = [self._at(at) for at in range(position, min(position + 3, found))]
        examples = f", for example {frontier!r}" if frontier else ""
        how = "where play comes to few points of the grid, explore(game.unrolled()) looks at no others"
        msg += f"{examples}. Let counters take fewer values, merge equal futures, or raise the limit; {how}"
        return StateLimitError(msg, explored=found, frontier=frontier, value=found, limit=limit)

    def _at(self, pair: int) -> At[Any]:
        lattice = self.lattice
        state = lattice.states[int(lattice.node_state[self.queue_node[pair]])]
        return At(state, **lattice.counters(int(self.queue_point[pair])))

    def _fail(self, result: int, at: Ints) -> NoReturn:
        """Raise the error that `discover` met, as the evaluation at this one point reports it."""
        lattice, pair = self.lattice, int(at[kernels.POSITION])
        edge, option = int(at[kernels.BAD_EDGE]), int(at[kernels.BAD_OPTION])
        point = int(self.queue_point[pair])
        values = lattice.counters(point)
        try:
            if result == kernels.DEAD_END:
                option = -1  # no action is to blame
                raise dead_end()
            if result == kernels.UNDEFINED_GUARD:
                lattice.guards[lattice.guard[edge]].evaluate(values)
            if result == kernels.UNDEFINED_REWARD:
                if edge >= 0:
                    lattice.exact_reward_at(int(lattice.reward[edge]), point)
                node = self._resolve(pair) if edge < 0 else int(lattice.dst[edge])
                lattice.exact_reward_at(int(lattice.payoff[node]), point)
            axes = {axis.name: axis for axis in lattice.axes}
            for one in lattice.updates[lattice.update[edge]]:
                wanted = one.value.evaluate(values)
                if axes[one.name].place(wanted) is None:
                    raise forbidden_error(axes[one.name], wanted)
        except MdpDiceError as error:
            action = None if option < 0 else lattice.actions[self._core_actions[option]]
            raise error.at(self._at(pair), action) from error.__cause__
        raise AssertionError

    def _resolve(self, pair: int) -> int:
        """Core node that stands for a pair at its point."""
        lattice, node, point = self.lattice, int(self.queue_node[pair]), self.queue_point[pair : pair + 1]
        while lattice.switch[node]:
            edges = range(int(lattice.indptr[node]), int(lattice.indptr[node + 1]))
            live = next(e for e in edges if lattice.guard_at(int(lattice.guard[e]), point)[0])
            node = int(lattice.dst[live])
        return node

    @cached_property
    def _core_actions(self) -> NDArray[np.int32]:
        """Number of the action of every core edge; meaningless for the edges of chance nodes."""
        lattice = self.lattice
        decides = (lattice.kind == Kind.MAX) | (lattice.kind == Kind.MIN)
        return (np.cumsum(np.repeat(decides, np.diff(lattice.indptr))) - 1).astype(np.int32)

    # --- numbers ------------------------------------------------------------

    def _numbers(self, number: NDArray[Any], point: Ints) -> tuple[NDArray[np.float64], dict[int, Fraction]]:
        """Rewards or payoffs at points, and those that no float equals, by their place in the list."""
        lattice = self.lattice
        result = np.zeros(len(number))
        exact: dict[int, Fraction] = {}
        order = np.argsort(number, kind="stable")
        for same in np.split(order, np.flatnonzero(np.diff(number[order])) + 1):
            which = int(number[same[0]]) if len(same) else -1
            if which < 0:
                continue
            expr = lattice.rewards[which]
            result[same] = lattice.reward_at(which, point[same])
            # Whole numbers are floats up to 2**53; others are looked at one by one, once per point.
            if expr.integral and (np.abs(result[same]) < 1 << 53).all():
                continue
            seen, back = np.unique(point[same], return_inverse=True) if expr.names else (point[same[:1]], None)
            values = [lattice.exact_reward_at(which, at) for at in seen.tolist()]
            floats = np.array([nearest(value) for value in values])
            result[same] = floats[0] if back is None else floats[back]
            for at, value in enumerate(values):
                if float(value) != value:
                    places = same if back is None else same[back == at]
                    exact |= dict.fromkeys(places.tolist(), Fraction(value))
        return result, exact

    def _inexact(self, number: int) -> bool:
        """Whether a reward or payoff may have values that no float equals."""
        expr = self.lattice.rewards[number]
        if not expr.integral:
            return True
        if expr.value is not None:
            return float(expr.value) != expr.value
        row = self.reward_table[self.reward_row[number]]
        # Written so that places where it is not defined do not count.
        return bool(max(np.fmax.reduce(row), -np.fmin.reduce(row)) >= 1 << 53)

    def _payoffs(self) -> tuple[NDArray[np.float64], dict[int, Fraction]]:
        """Payoffs of all nodes; ends of equal payoff become one."""
        lattice, size = self.lattice, self.lattice.size
        node = self.slot_node[self.ends // size]
        floats, exact = self._numbers(lattice.payoff[node], self.ends % size)
        # The first of each payoff, in the order in which they were found.
        first: dict[Any, int] = {}
        number = np.array(
            [first.setdefault(exact.get(at, value), len(first)) for at, value in enumerate(floats.tolist())],
            dtype=np.int32,
        )
        self.ids[self.ends] = -1 - number
        states = np.flatnonzero(lattice.kind[self.resolved] == Kind.END)
        at_states, exact_at_states = self._numbers(lattice.payoff[self.resolved[states]], self.queue_point[states])
        payoff = np.zeros(self.n_rows + len(first))
        rows = self.row_start[states]
        payoff[rows] = at_states
        payoff[self.n_rows :] = [nearest(value) for value in first]
        exact_payoffs = {int(rows[at]): value for at, value in exact_at_states.items()}
        inexact = {value: at for value, at in first.items() if isinstance(value, Fraction)}
        return payoff, exact_payoffs | {self.n_rows + at: value for value, at in inexact.items()}

    # --- the network --------------------------------------------------------

    def _network(self, payoff: NDArray[np.float64], exact_payoffs: dict[int, Fraction]) -> Network:
        lattice, size = self.lattice, self.lattice.size
        n_nodes, n_edges = len(payoff), self.n_edges
        node_kind = lattice.kind[self.resolved]
        decides = (node_kind == Kind.MAX) | (node_kind == Kind.MIN)
        place = self.slot[self.queue_node].astype(np.int64) * size + self.queue_point
        self.ids[place] = 1 + 2 * self.row_start + decides
        constants = [nearest(number.value or 0) for number in lattice.rewards]
        inexact = np.array([self._inexact(at) for at in range(len(constants))], dtype=bool)
        is_exact_reward = inexact[lattice.reward[lattice.reward >= 0]].any()
        wide = lattice.numerator.dtype == object
        n_traced = n_edges if wide or is_exact_reward else 0
        kind = np.zeros(n_nodes, dtype=np.uint8)
        indptr = np.zeros(n_nodes + 1, dtype=np.int64)
        node_state = np.full(n_nodes, -1, dtype=np.int64)
        dst = np.empty(n_edges, dtype=np.int64)
        weight, reward = np.empty(n_edges), np.zeros(n_edges)
        numerator = np.empty(n_edges, dtype=np.int64)
        sign, step = np.ones(n_edges, dtype=np.int8), np.empty(n_edges, dtype=bool)
        pays, signs = (lattice.reward >= 0).any(), (lattice.sign < 0).any()
        action = np.empty(self.n_options, dtype=np.int32)
        origin, origin_point = np.empty(n_traced, dtype=np.int32), np.empty(n_traced, dtype=np.int64)

        def part(bounds: tuple[int, int]) -> None:
            kernels.fill(
                lattice.kind, lattice.indptr, lattice.dst, lattice.weight,
                np.zeros(lattice.n_edges, dtype=np.int64) if wide else lattice.numerator,
                lattice.sign, lattice.guard, lattice.update, lattice.reward,
                self.slot, self.ends_here, self.single, lattice.switch, self._core_actions,
                self.guard_table, self.target_table, self.reward_row, self.reward_table,
                np.array(constants, dtype=np.float64), size, self.ids,
                self.queue_point, self.resolved, self.row_start, self.edge_start, self.option_start,
                np.zeros_like(self.todo[0]), *bounds, self.n_rows,
                kind, indptr, node_state, dst, weight, numerator,
                reward if pays else reward[:0], sign if signs else sign[:0], step, action, origin, origin_point,
            )  # fmt: skip

        # By two threads where that pays, in parts with about as many edges each.
        count = min(2, threads()) if n_edges > TWO_THREADS_FROM_EDGES else 1
        cuts = np.searchsorted(self.edge_start, np.linspace(0, n_edges, count + 1)[1:-1]).tolist()
        with workers() as pool:
            list(in_parallel(pool, part, list(pairwise([0, *cuts, len(self.edge_start)]))))
        indptr[self.n_rows :] = n_edges
        if lattice.nature.any():
            step &= (node_state >= 0)[dst]  # nature's choice, and chance, take none
        exact_rewards: dict[int, Fraction] = {}
        if is_exact_reward:
            number = lattice.reward[origin]
            edges = np.flatnonzero((number >= 0) & np.append(inexact, False)[number])
            reward[edges], found = self._numbers(number[edges], origin_point[edges])
            exact_rewards = {int(edges[at]): value for at, value in found.items()}
        fields = dict(  # noqa: C408 - as it will be called
            kind=kind,
            indptr=indptr,
            dst=dst,
            weight=weight,
            reward=reward,
            sign=sign,
            step=step,
            payoff=payoff,
            start=0,
            discount=lattice.discount,
            total=lattice.total,
            sense=lattice.sense,
            numerator=lattice.numerator[origin] if wide else numerator,
            states=PointStates(lattice, lattice.node_state[self.queue_node], self.queue_point),
            state_node=self.row_start,
            node_state=node_state,
            actions=RepeatedActions(lattice.actions, action),
            exact_rewards=exact_rewards,
            exact_payoffs=exact_payoffs,
            warnings=lattice.warnings,
            averaged=lattice.averaged,
        )
        return Network(**separate_prefix(fields))
