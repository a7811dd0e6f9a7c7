"""Many plays at once on a lattice, whose network would be too large to make.

A play is at a core node and a point of the grid.  Plays are taken together as long as their counters stay
as they are: for the points that they are at there are tables of guards, updates and rewards, as they are
for solving, and from the stored values of a solution one pass through the core gives what
every option is worth at every one of these points.  Between two such passes all plays move in step, by operations on
whole arrays.  So only points where plays come to are ever looked at.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import attrs
import numpy as np

from mdpdice import errors
from mdpdice.answers.grid_values import GridValues, open_edges, place_of
from mdpdice.answers.policy import Policy
from mdpdice.backend import Progress
from mdpdice.lattices.grid_tables import GridTables, Tables
from mdpdice.lattices.lattice import Lattice
from mdpdice.lattices.layer_solver import table_rows
from mdpdice.modelling.counters import At
from mdpdice.networks.network import Bools, Floats, Ints, Kind
from mdpdice.numerics.graph import edges_of
from mdpdice.numerics.sampling import Sampler
from mdpdice.policies.lattice_rules import PointRule, core_state

ROW_BYTES = 64 << 20
"""Size of the values of all rows of the core, for the points that are taken together."""
POINTS = 1 << 14
"""Most points that are taken together."""
REMEMBERED = 1 << 20
"""Most decisions of a function that are remembered."""


def play_on_lattice(
    lattice: Lattice,
    policies: Sequence[Policy],
    n: int,
    generator: np.random.Generator,
    *,
    state: Hashable = None,
    max_moves: int = 1_000_000,
    progress: Progress | None = None,
) -> tuple[Floats, int]:
    """Play `n` times for `mdpdice.simulate`; the totals, shape (n,), and the edges taken in all plays together."""
    if lattice.discount != 1:
        msg = "plays on a lattice are not discounted; use the flat network: simulate(explore(game), ...)"
        raise errors.UnsupportedError(msg, value=lattice.discount)
    start = lattice.start, lattice.start_point
    if state is not None:
        start = place_of(lattice, {one: at for at, one in enumerate(lattice.states)}, state)
    table = _Table(lattice, [PointRule.of(lattice, policy) for policy in policies], generator, max_moves)
    return table.play(n, start, progress), table.moves


@attrs.define(eq=False)
class _Group:
    """Plays that are moved together, at some points of the grid."""

    play: Ints
    node: Ints
    column: Ints  # of the tables, for the point of each play
    side: Floats  # -1 where the other player is to move
    total: Floats  # what was paid so far, as the player sees it who started
    tables: Tables
    # Values of all rows of the core at the points, for every policy that is a solution.
    rows: list[Floats | None]

    def take(self, which: Any) -> None:
        """Keep some of the plays."""
        for name in ("play", "node", "column", "side", "total"):
            setattr(self, name, getattr(self, name)[which])


class _Table:
    """Where the plays are."""

    def __init__(
        self, lattice: Lattice, rules: Sequence[PointRule], generator: np.random.Generator, max_moves: int
    ) -> None:
        self.lattice = lattice
        self.rules = rules
        self.generator = generator
        self.max_moves = max_moves
        self.moves = 0
        self.half = float(lattice.total) / 2
        self.grid = GridTables(lattice)
        self.sampler = Sampler.of(lattice.indptr, lattice.weight)
        self.source = np.repeat(np.arange(lattice.n_nodes), np.diff(lattice.indptr))
        self.decides = (lattice.kind == Kind.MAX) | (lattice.kind == Kind.MIN)
        self.guarded = np.zeros(lattice.n_nodes, dtype=bool)
        self.guarded[self.source[lattice.guard >= 0]] = True
        # Edges that the functions take, by node and point, with cumulative chances.
        self.known: list[dict[tuple[int, int], tuple[Ints, Floats]]] = [{} for _ in rules]
        solved = [rule.grid.layers.program.n_rows for rule in rules if rule.grid is not None]
        self.most = min(POINTS, *(max(64, ROW_BYTES // (8 * rows)) for rows in solved), POINTS)

    def play(self, n: int, start: tuple[int, int], progress: Progress | None) -> Floats:
        """Return the totals of `n` plays."""
        totals = np.full(n, np.nan)
        self.node, self.point = np.full(n, start[0]), np.full(n, start[1])
        self.side, self.paid = np.ones(n), np.zeros(n)
        left, done = np.arange(n), 0
        # Moves of the play that has moved most: every pass moves every play.
        rounds = 0
        while len(left):
            points, column = np.unique(self.point[left], return_inverse=True)
            order = np.argsort(column, kind="stable")
            cuts = np.searchsorted(column[order], np.arange(self.most, len(points), self.most))
            longest = 0
            for first, group in zip(range(0, len(points), self.most), np.split(left[order], cuts), strict=True):
                longest = max(longest, self._stay(group, points[first : first + self.most], totals, rounds))
                if progress is not None:
                    over = int(n - np.isnan(totals).sum()) if len(points) > self.most else done
                    progress("simulate", {"plays": over, "of": n, "moves": self.moves})
            rounds += longest
            left = left[np.isnan(totals[left])]
            done = n - len(left)
            if progress is not None:
                progress("simulate", {"plays": done, "of": n, "moves": self.moves})
        return totals

    def _stay(self, plays: Ints, points: Ints, totals: Floats, rounds: int) -> int:
        """Move plays until their counters change; return how many moves that took."""
        lattice = self.lattice
        tables = self.grid.at(points)
        grids = [rule.grid for rule in self.rules]
        rows = [None if grid is None else table_rows(grid.layers.program, tables, grid.stored) for grid in grids]
        column = np.searchsorted(points, self.point[plays])
        group = _Group(plays, self.node[plays], column, self.side[plays], self.paid[plays], tables, rows)
        for moved in range(self.max_moves - rounds + 1):
            if (over := lattice.kind[group.node] == Kind.END).any():
                payoff = self._paid(tables, lattice.payoff[group.node[over]], group.column[over])
                ends = group.total[over] + group.side[over] * (payoff - self.half)
                totals[group.play[over]] = ends + self.half
                group.take(~over)
            if not len(group.play):
                return moved
            edge = self._edges(group)
            self.moves += len(edge)
            group.total += group.side * self._paid(tables, lattice.reward[edge], group.column)
            group.side = group.side * lattice.sign[edge]
            group.node = lattice.dst[edge]
            # The last row of the targets is that of no update, as -1 is.
            if (to := tables.targets[lattice.update[edge], group.column]).min() < 0:
                self._refuse(int(edge[to < 0][0]), int(points[group.column[to < 0][0]]))
            if (gone := to != points[group.column]).any():
                away = group.play[gone]
                self.node[away], self.point[away] = group.node[gone], to[gone]
                self.side[away], self.paid[away] = group.side[gone], group.total[gone]
                group.take(~gone)
        msg = f"{len(group.play):,} plays are not over after {self.max_moves:,} moves; raise max_moves"
        raise errors.NotConvergedError(msg, iterations=self.max_moves, width=math.inf, limit=self.max_moves)

    def _paid(self, tables: Tables, reward: Any, column: Ints) -> Floats:
        if not len(tables.rewards):
            return np.zeros(len(column))
        return np.where(reward >= 0, tables.rewards[reward, column], 0.0)

    # --- edges --------------------------------------------------------------------

    def _edges(self, group: _Group) -> Ints:
        """Return the edge that every play takes."""
        edge = np.empty(len(group.node), dtype=np.int64)
        decides, guarded = self.decides[group.node], self.guarded[group.node]
        plain = np.flatnonzero(~decides & ~guarded)
        edge[plain] = self.sampler.draw(group.node[plain], self.generator.random(len(plain)))
        if len(mixed := np.flatnonzero(~decides & guarded)):
            edge[mixed] = self._drawn(group, mixed, self.lattice.weight)
        if len(self.rules) == 1:
            seats = [np.flatnonzero(decides)]
        else:
            second = (group.side < 0) | (self.lattice.kind[group.node] == Kind.MIN)
            seats = [np.flatnonzero(decides & ~second), np.flatnonzero(decides & second)]
        for rule, known, rows, which in zip(self.rules, self.known, group.rows, seats, strict=True):
            if not len(which):
                continue
            if rule.grid is not None and rows is not None:
                edge[which] = self._best(group, which, rule.grid, rows)
            elif rule.function is not None:
                edge[which] = self._asked(group, which, rule, known)
            else:
                edge[which] = self._drawn(group, which, np.ones(self.lattice.n_edges))
        return edge

    def _open(self, edges: Ints, column: Ints, tables: Tables) -> Bools:
        """Whether edges are there."""
        if len(tables.unknown):
            guard = self.lattice.guard[edges]
            if len(unknown := np.flatnonzero((guard >= 0) & tables.unknown[guard, column])):
                at = int(tables.points[column[unknown[0]]])
                # Raises what its expression says.
                self.lattice.guards[int(guard[unknown[0]])].evaluate(self.lattice.counters(at))
        return open_edges(self.lattice, edges, column, tables)

    def _choices(self, group: _Group, which: Ints) -> tuple[Ints, Ints]:
        """Open edges of the nodes of some plays, and which play each belongs to."""
        edges, owner = edges_of(self.lattice.indptr, group.node[which])
        there = self._open(edges, group.column[which][owner], group.tables)
        edges, owner = edges[there], owner[there]
        if len(missing := np.flatnonzero(np.bincount(owner, minlength=len(which)) == 0)):
            at = which[missing[0]]
            state = self._state(int(group.node[at]), int(group.tables.points[group.column[at]]))
            raise errors.DeadEndError("no option of this decision is open; give it one that always is", state=state)
        return edges, owner

    def _drawn(self, group: _Group, which: Ints, weight: Floats) -> Ints:
        """Return an open edge for each of some plays, with chances like weights."""
        edges, owner = self._choices(group, which)
        first = np.searchsorted(owner, np.arange(len(which)))
        last = np.append(first[1:], len(owner)) - 1
        # Sums over one play each, and not over all edges, which would round.
        sums = np.zeros(len(which))
        wanted = self.generator.random(len(which)) * np.add.reduceat(weight[edges], first)
        chosen, at = first.copy(), first.copy()
        ahead = np.arange(len(which))
        while len(ahead):
            sums[ahead] += weight[edges[at[ahead]]]
            chosen[ahead] = at[ahead]
            ahead = ahead[(sums[ahead] <= wanted[ahead]) & (at[ahead] < last[ahead])]
            at[ahead] += 1
        return edges[chosen]

    def _best(self, group: _Group, which: Ints, grid: GridValues, rows: Floats) -> Ints:
        """Return the first of the best open edges for each of some plays."""
        # Many plays are at the same place, early in a game above all.
        places = group.node[which] * len(group.tables.points) + group.column[which]
        _, one, all_of_them = np.unique(places, return_index=True, return_inverse=True)
        which = which[one]
        edges, owner = self._choices(group, which)
        value = rows[grid.layers.program.edge_row[edges], group.column[which][owner]]
        if len(unknown := np.flatnonzero(np.isnan(value))):
            at = which[owner[unknown[0]]]
            state = self._state(int(group.node[at]), int(group.tables.points[group.column[at]]))
            how = "so its value is not known; solve the game that starts here, game.at(state)"
            msg = f"play from the start cannot reach the state that an option leads to here, {how}"
            raise errors.UnknownStateError(msg, state=state)
        # The kinds of the lattice that was solved: with sense="min" the players have changed their aims.
        least = grid.lattice.kind[group.node[which]] == Kind.MIN
        value = np.where(least[owner], -value, value)
        first = np.searchsorted(owner, np.arange(len(which)))
        hits = np.flatnonzero(value == np.maximum.reduceat(value, first)[owner])
        best: Ints = edges[hits[np.searchsorted(owner[hits], np.arange(len(which)))]]
        return best[all_of_them]

    def _asked(
        self, group: _Group, which: Ints, rule: PointRule, known: dict[tuple[int, int], tuple[Ints, Floats]]
    ) -> Ints:
        """Return the edge that a function takes for each of some plays."""
        if len(known) > REMEMBERED:
            known.clear()
        number = self.generator.random(len(which))
        columns = group.column[which]
        points = group.tables.points[columns]
        found = np.empty(len(which), dtype=np.int64)
        for at, key in enumerate(zip(group.node[which].tolist(), points.tolist(), strict=True)):
            if (answer := known.get(key)) is None:
                node, point = key
                own = np.arange(int(self.lattice.indptr[node]), int(self.lattice.indptr[node + 1]))
                there = open_edges(self.lattice, own, columns[at], group.tables).tolist()
                edge, chance = zip(*rule.edges(node, self.lattice.counters(point), there), strict=True)
                below = np.cumsum([float(one) for one in chance])
                below[-1] = 2.0
                answer = known[key] = np.array(edge), below
            edges, below = answer
            found[at] = edges[np.searchsorted(below, number[at], side="right") if len(edges) > 1 else 0]
        return found

    def _state(self, node: int, point: int) -> At[Any]:
        return At(core_state(self.lattice, node), **self.lattice.counters(point))

    def _refuse(self, edge: int, point: int) -> None:
        """Raise what the expressions of an update say about a point where it is a fault."""
        lattice = self.lattice
        node = int(self.source[edge])
        state = self._state(node, point)
        action = None
        if self.decides[node]:
            action = lattice.actions[lattice.first_action(node) + edge - int(lattice.indptr[node])]
        axes = {axis.name: axis for axis in lattice.axes}
        try:
            for change in lattice.updates[int(lattice.update[edge])]:
                axes[change.name].place(int(change.value.evaluate(lattice.counters(point))))
        except errors.MdpDiceError as error:
            raise error.at(state, action) from error.__cause__
        raise errors.GameError("a counter update is undefined here", state=state, action=action)
