"""Many plays at once on a lattice, whose network would be too large to be written out.

A play is at a core node and a point of the grid.  Plays are taken together as long as their counters stay
as they are: for the points that they are at there are tables of guards, updates and rewards, as they are
for solving, and from the stored values of a solution one pass through the core gives what
every option is worth at every one of these points.  Between two such passes all plays move in step, by operations on
whole arrays.  So only points where plays come to are ever looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import attrs
import numpy as np

from mdpdice.answers.grid_values import GridValues
from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution
from mdpdice.backend import Progress
from mdpdice.errors import (
    DeadEndError,
    GameError,
    MdpDiceError,
    NotConvergedError,
    UnknownStateError,
    UnsupportedError,
)
from mdpdice.lattices.digest import same_core
from mdpdice.lattices.grid_tables import GridTables, Tables
from mdpdice.lattices.lattice import FORBIDDEN, Lattice
from mdpdice.lattices.layer_solver import table_rows
from mdpdice.modelling.counters import At, full_state
from mdpdice.modelling.distribution import Dist
from mdpdice.modelling.equality import same_kind
from mdpdice.networks.network import Bools, Floats, Ints, Kind
from mdpdice.numerics.graph import edges_of
from mdpdice.numerics.sampling import Sampler
from mdpdice.policies.players import answers_of
from mdpdice.spelling import did_you_mean

__all__ = ["play_on_lattice"]

ROW_BYTES = 64 << 20
"""Size of the values of all rows of the core, for the points that are taken together."""
POINTS = 1 << 14
"""Most points that are taken together."""
REMEMBERED = 1 << 20
"""Most decisions of a function that are remembered."""


@attrs.frozen(eq=False)
class _Player:
    """Who decides: the values of a lattice, a function of the state, or without either chance."""

    grid: GridValues | None
    function: Callable[[At[Any]], Any] | None
    known: dict[tuple[int, int], tuple[Ints, Floats]] = attrs.field(factory=dict)
    """Edges that the function takes, by node and point, with cumulative chances."""

    @classmethod
    def of(cls, lattice: Lattice, policy: Policy) -> _Player:
        table = policy.rule.table if isinstance(policy.rule, Solution) else None
        if isinstance(table, GridValues) and same_core(lattice, table.lattice):
            return cls(table, None)
        return cls(None, None if policy.is_rule and policy.rule is None else answers_of(policy))


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
    """Play many times; `mdpdice.simulate` calls this.

    Parameters
    ----------
    lattice : Lattice
        Undiscounted.
    policies : sequence of one or two
        As for `mdpdice.simulate`.
    n : int
        Number of plays.
    generator : numpy.random.Generator
        Where chance comes from.
    state : At, optional
        Where plays start.
    max_moves, progress
        As for `mdpdice.simulate`.

    Returns
    -------
    totals : ndarray of float64, shape (n,)
    moves : int
        Edges taken in all plays together.

    Raises
    ------
    UnsupportedError
        The lattice is discounted.
    GameError
        A function raised.
    UnknownStateError
        A function took an action that is not there.
    CounterRangeError, DeadEndError
        A play came to a fault of the declaration.
    NotConvergedError
        A play was not over after `max_moves` moves.
    """
    if lattice.discount != 1:
        msg = "plays on a lattice are not discounted; use the flat network: simulate(explore(game), ...)"
        raise UnsupportedError(msg, value=lattice.discount)
    start = lattice.start, lattice.start_point
    if state is not None:
        start = _place(lattice, state)
    table = _Table(lattice, [_Player.of(lattice, policy) for policy in policies], generator, max_moves)
    return table.play(n, start, progress), table.moves


def _place(lattice: Lattice, state: Hashable) -> tuple[int, int]:
    full = full_state(state, lattice.axes)
    for at, known in enumerate(lattice.states):
        if known == full.state and same_kind(known, full.state):
            return int(lattice.state_node[at]), full.point(lattice.axes)
    msg = f"state {full.state!r} is not in the core of this game; its first states are {list(lattice.states[:3])!r}"
    raise UnknownStateError(msg, value=state)


@attrs.define(eq=False)
class _Group:
    """Plays that are moved together, at some points of the grid.

    Attributes
    ----------
    play, node, column : ndarray of int64
        Number of the play, its core node, and its point as a column of the tables.
    side, total : ndarray of float64
        -1 where the other player is to move; what was paid so far, as player 0 sees it.
    tables : Tables
        Of the points.
    rows : list of ndarray
        Values of all rows of the core at the points, for every policy that is a solution.
    """

    play: Ints
    node: Ints
    column: Ints
    side: Floats
    total: Floats
    tables: Tables
    rows: list[Floats | None]

    def take(self, which: Any) -> None:
        """Keep some of the plays."""
        self.play, self.node, self.column = self.play[which], self.node[which], self.column[which]
        self.side, self.total = self.side[which], self.total[which]


class _Table:
    """Where the plays are."""

    def __init__(
        self,
        lattice: Lattice,
        players: Sequence[_Player],
        generator: np.random.Generator,
        max_moves: int,
    ) -> None:
        self.lattice = lattice
        self.players = players
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
        # Number of an edge among those of decisions, which have actions.
        self.action = np.cumsum(self.decides[self.source]) - 1
        self._actions: dict[int, dict[Hashable, list[int]]] = {}
        solved = [p.grid.layers.program.n_rows for p in players if p.grid is not None]
        self.most = min(POINTS, *(max(64, ROW_BYTES // (8 * rows)) for rows in solved), POINTS)

    def play(self, n: int, start: tuple[int, int], progress: Progress | None) -> Floats:
        """Totals of so many plays."""
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
            for first, group in zip(
                range(0, len(points), self.most), np.split(left[order], cuts), strict=True
            ):
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
        group = _Group(
            plays,
            self.node[plays],
            np.searchsorted(points, self.point[plays]),
            self.side[plays],
            self.paid[plays],
            tables,
            [
                None if p.grid is None else table_rows(p.grid.layers.program, tables, p.grid.stored)
                for p in self.players
            ],
        )
        for moved in range(self.max_moves - rounds + 1):
            over = lattice.kind[group.node] == Kind.END
            if over.any():
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
            to = tables.targets[lattice.update[edge], group.column]
            if to.min() < 0:
                self._refuse(int(edge[to < 0][0]), int(points[group.column[to < 0][0]]))
            gone = to != points[group.column]
            if gone.any():
                away = group.play[gone]
                self.node[away], self.point[away] = group.node[gone], to[gone]
                self.side[away], self.paid[away] = group.side[gone], group.total[gone]
                group.take(~gone)
        msg = f"{len(group.play):,} plays are not over after {self.max_moves:,} moves; raise max_moves"
        raise NotConvergedError(msg, iterations=self.max_moves, width=math.inf, limit=self.max_moves)

    def _paid(self, tables: Tables, reward: Any, column: Ints) -> Floats:
        if not len(tables.rewards):
            return np.zeros(len(column))
        return np.where(reward >= 0, tables.rewards[reward, column], 0.0)

    # --- edges --------------------------------------------------------------------

    def _edges(self, group: _Group) -> Ints:
        """The edge that every play takes."""
        edge = np.empty(len(group.node), dtype=np.int64)
        decides, guarded = self.decides[group.node], self.guarded[group.node]
        plain = np.flatnonzero(~decides & ~guarded)
        edge[plain] = self.sampler.draw(group.node[plain], self.generator.random(len(plain)))
        mixed = np.flatnonzero(~decides & guarded)
        if len(mixed):
            edge[mixed] = self._drawn(group, mixed, self.lattice.weight)
        if len(self.players) == 1:
            seats = [np.flatnonzero(decides)]
        else:
            second = (group.side < 0) | (self.lattice.kind[group.node] == Kind.MIN)
            seats = [np.flatnonzero(decides & ~second), np.flatnonzero(decides & second)]
        for seat, (player, which) in enumerate(zip(self.players, seats, strict=True)):
            if not len(which):
                continue
            if (rows := group.rows[seat]) is not None:
                assert player.grid is not None
                edge[which] = self._best(group, which, player.grid, rows)
            elif player.function is not None:
                edge[which] = self._asked(group, which, player)
            else:
                edge[which] = self._drawn(group, which, np.ones(self.lattice.n_edges))
        return edge

    def _open(self, edges: Ints, column: Ints, tables: Tables) -> Bools:
        """Whether edges are there."""
        guard, update = self.lattice.guard[edges], self.lattice.update[edges]
        if len(tables.unknown):
            unknown = np.flatnonzero((guard >= 0) & tables.unknown[guard, column])
            if len(unknown):
                edge, at = int(edges[unknown[0]]), int(tables.points[column[unknown[0]]])
                # Raises what its expression says.
                self.lattice.guards[int(self.lattice.guard[edge])].evaluate(self.lattice.counters(at))
        # What leaves the grid where it may not is an error, and not for `forbid` to take away.
        there: Bools = tables.targets[update, column] != FORBIDDEN
        return there & ((guard < 0) | tables.guards[guard, column]) if len(tables.guards) else there

    def _choices(self, group: _Group, which: Ints) -> tuple[Ints, Ints]:
        """Open edges of the nodes of some plays, and which play each belongs to."""
        edges, owner = edges_of(self.lattice.indptr, group.node[which])
        there = self._open(edges, group.column[which][owner], group.tables)
        edges, owner = edges[there], owner[there]
        missing = np.flatnonzero(np.bincount(owner, minlength=len(which)) == 0)
        if len(missing):
            at = which[missing[0]]
            state = self._state(int(group.node[at]), int(group.tables.points[group.column[at]]))
            msg = "no option of this decision is open; give it one that always is"
            raise DeadEndError(msg, state=state)
        return edges, owner

    def _drawn(self, group: _Group, which: Ints, weight: Floats) -> Ints:
        """An open edge for each of some plays, with chances like weights."""
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
        """The first of the best open edges for each of some plays."""
        # Many plays are at the same place, early in a game above all.
        places = group.node[which] * len(group.tables.points) + group.column[which]
        _, one, all_of_them = np.unique(places, return_index=True, return_inverse=True)
        which = which[one]
        edges, owner = self._choices(group, which)
        program = grid.layers.program
        value = rows[program.edge_row[edges], group.column[which][owner]]
        unknown = np.flatnonzero(np.isnan(value))
        if len(unknown):
            at = which[owner[unknown[0]]]
            state = self._state(int(group.node[at]), int(group.tables.points[group.column[at]]))
            msg = (
                "play from the start cannot come to where an option of this state leads, so the solution does not know "
                "what it is worth; solve the game that starts here, game.at(state)"
            )
            raise UnknownStateError(msg, state=state)
        # The kinds of the lattice that was solved: with sense="min" the players have changed their aims.
        least = grid.lattice.kind[group.node[which]] == Kind.MIN
        value = np.where(least[owner], -value, value)
        first = np.searchsorted(owner, np.arange(len(which)))
        hits = np.flatnonzero(value == np.maximum.reduceat(value, first)[owner])
        best: Ints = edges[hits[np.searchsorted(owner[hits], np.arange(len(which)))]]
        return best[all_of_them]

    # --- functions ----------------------------------------------------------------

    def _asked(self, group: _Group, which: Ints, player: _Player) -> Ints:
        """The edge that a function takes for each of some plays."""
        known = player.known
        if len(known) > REMEMBERED:
            known.clear()
        number = self.generator.random(len(which))
        points = group.tables.points[group.column[which]]
        found = np.empty(len(which), dtype=np.int64)
        for at, key in enumerate(zip(group.node[which].tolist(), points.tolist(), strict=True)):
            answer = known.get(key)
            if answer is None:
                answer = known[key] = self._answer(*key, int(group.column[which[at]]), group.tables, player)
            edges, below = answer
            found[at] = (
                edges[np.searchsorted(below, number[at], side="right")] if len(edges) > 1 else edges[0]
            )
        return found

    def _answer(
        self, node: int, point: int, column: int, tables: Tables, player: _Player
    ) -> tuple[Ints, Floats]:
        state = self._state(node, point)
        assert player.function is not None
        answer = player.function(state)
        offered = self._offered(node)
        if not isinstance(answer, Dist):
            # Nearly all policies are like this, and a distribution takes its time.
            return np.array([self._taken(offered, answer, state, column, tables)]), np.array([2.0])
        below = np.cumsum(answer.probabilities())
        below[-1] = 2.0
        edges = [self._taken(offered, action, state, column, tables) for action in answer.outcomes]
        return np.array(edges), below

    def _offered(self, node: int) -> dict[Hashable, list[int]]:
        """Edges of a decision by their action; an action whose edge depends on a condition has several."""
        found = self._actions.get(node)
        if found is None:
            found = self._actions[node] = {}
            for edge in range(int(self.lattice.indptr[node]), int(self.lattice.indptr[node + 1])):
                found.setdefault(self.lattice.actions[int(self.action[edge])], []).append(edge)
        return found

    def _taken(
        self, offered: dict[Hashable, list[int]], action: Any, state: At[Any], column: int, tables: Tables
    ) -> int:
        """The open edge of an action."""

        def is_open(edge: int) -> bool:
            guard, update = self.lattice.guard[edge], self.lattice.update[edge]
            return bool(
                (guard < 0 or tables.guards[guard, column]) and tables.targets[update, column] != FORBIDDEN
            )

        for edge in offered.get(action, ()):
            if is_open(edge):
                return edge
        there = [one for one, edges in offered.items() if any(map(is_open, edges))]
        hint = did_you_mean(action, there)
        msg = f"the policy gives {action!r}, which is no action here; {hint}the actions are {there!r}"
        raise UnknownStateError(msg, state=state, action=action)

    def _state(self, node: int, point: int) -> At[Any]:
        """State that a node belongs to: its own, or that of the switch or the option before it."""
        lattice = self.lattice
        while lattice.node_state[node] < 0:
            node = int(self.source[np.flatnonzero(lattice.dst == node)[0]])
        return At(lattice.states[int(lattice.node_state[node])], **lattice.counters(point))

    def _refuse(self, edge: int, point: int) -> None:
        """Raise what the expressions of an update say about a point where it is a fault."""
        lattice = self.lattice
        node = int(self.source[edge])
        state = self._state(node, point)
        action = lattice.actions[int(self.action[edge])] if self.decides[node] else None
        axes = {axis.name: axis for axis in lattice.axes}
        try:
            for change in lattice.updates[int(lattice.update[edge])]:
                axes[change.name].place(int(change.value.evaluate(lattice.counters(point))))
        except MdpDiceError as error:
            raise error.at(state, action) from error.__cause__
        msg = "an update of a counter cannot be told here"
        raise GameError(msg, state=state, action=action)
