"""The core of a game with counters: a traversal of its core states that writes the rows of a lattice.

Conditions are taken apart into guards of edges, updates and rewards into numbered
expressions, each kept once.  See `mdpdice.lattices.lattice` for what the rows mean.

Rewards along chance inside chance become one expression.  Floats in it are added as floats, where the
same game without counters adds the rationals that these floats are.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterator
from fractions import Fraction
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np

from mdpdice.backend import Progress
from mdpdice.errors import GameError
from mdpdice.exploration.assembly import END
from mdpdice.exploration.traversal import CHANCE_KIND, END_KIND, PLAYER_KIND, SURE, Traversal, dead_end, whole_weights
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.asking import ask_game, placed
from mdpdice.modelling.checks import hashing_error, not_a_node_error
from mdpdice.modelling.counters import Update, axes, unknown_counter_error
from mdpdice.modelling.expressions import Expr, as_expr
from mdpdice.modelling.game import Chance, Conditional, Decide, End, Game, Go, PassTo, Unavailable, Uncertain
from mdpdice.modelling.number import finite_number

T = TypeVar("T")

# Key, guard, update and reward of an edge.
_Edge: TypeAlias = tuple[int, int, int, int]

_KNOWN = 100_000  # options that are remembered


class _CoreTraversal(Traversal[dict[str, Any]]):
    """A traversal that writes the rows of a core network."""

    def __init__(self, game: Game[Any, Any], *limits: Any) -> None:
        super().__init__(game, *limits)
        self.axes = axes(game)
        if not self.axes:
            raise GameError(f"{game!r} has no counters, so no lattice; explore() makes a network of it", value=game)
        self.names = {axis.name for axis in self.axes}
        self.forbidding = {axis.name for axis in self.axes if axis.outside == "forbid"}
        # Beside `keys`: what depends on the counters, one number per edge.
        self.edge_guards = array("i")
        self.edge_updates = array("i")
        self.edge_rewards = array("i")
        self.totals: list[int] = []
        self.switches: list[int] = []
        # Games return one object for options that are alike; the object is kept, and so its id.
        self.known: dict[int, tuple[Any, list[_Edge]]] = {}
        self.sides: dict[Hashable, int] = {}
        self.guards: _Pool[Expr] = _Pool()
        self.updates: _Pool[tuple[Update, ...]] = _Pool()
        self.numbers: _Pool[Expr] = _Pool()

    # --- rows ---------------------------------------------------------------

    def write_node(self, node: Any) -> None:
        """Write the row of a node, or of what `_inside` was given."""
        kind = type(node)
        if kind is _Lottery:
            self._write_row(CHANCE_KIND, *node)
        elif kind is Uncertain:
            inside = [(self._inside(self._lottery(one)), -1, -1, -1) for one in node.options]
            self._write_row(self._nature(node), inside, [], 0)
        elif kind is Decide:
            self._write_decision(node)
        elif kind is Chance:
            self._write_row(CHANCE_KIND, *self._lottery(node))
        elif kind is End:
            self.payoffs[len(self.kinds)] = self._number(node.payoff, "payoff")
            self._write_row(END_KIND, [], [], 0)
        elif kind is Go or kind is PassTo:
            self._write_row(CHANCE_KIND, [self._leaf(node, -1)], [1], 1)
        elif kind is Conditional:
            self._write_switch(node)
        else:
            raise not_a_node_error(node)

    def _write_row(self, kind: int, edges: list[_Edge], nums: list[int], total: int) -> None:
        self._append(kind, [edge[0] for edge in edges], nums, None)
        self.edge_guards.extend([edge[1] for edge in edges])
        self.edge_updates.extend([edge[2] for edge in edges])
        self.edge_rewards.extend([edge[3] for edge in edges])
        if kind == CHANCE_KIND:
            self.totals.append(total)

    def _write_switch(self, node: Any) -> None:
        edges = []
        for branch, guard in self._cases(node):
            kind = type(branch)
            if kind is Decide or kind is Chance or kind is Uncertain:
                chance = Chance(SURE, (branch,), 0) if kind is Uncertain else branch
                inner = branch if kind is Decide else self._lottery(chance)
                edges.append((self._inside(inner), guard, -1, -1))
            elif kind is End or kind is Go or kind is PassTo:
                edges.append(self._leaf(branch, guard))
            else:
                raise not_a_node_error(_UNAVAILABLE if branch is None else branch)
        self.switches.append(len(self.kinds))
        self._write_row(CHANCE_KIND, edges, [1] * len(edges), 1)

    def _write_decision(self, node: Any) -> None:
        __tracebackhide__ = True
        edges: list[_Edge] = []
        self.mover = node.player
        for action, option in zip(node.actions, node.options, strict=True):
            try:
                known = self.known.get(id(option))
                found = self._edges_of(option) if known is None else known[1]
            except Exception as error:  # noqa: BLE001 - it goes on, with its place
                raise (wrong := placed(error, None, action, hashing_error, option)) from wrong.__cause__
            edges += found
            self.actions += [action] * len(found)
        if not edges:
            raise dead_end()
        self._write_row(PLAYER_KIND[node.player], edges, [], 0)

    def _edges_of(self, option: Any) -> list[_Edge]:
        """Edges of an option, one per case; none where it is not available."""
        inside = len(self.pending)
        found = [
            self._option(branch, guard)
            for branch, guard in self._option_cases(option)
            if branch is not None and type(branch) is not Unavailable
        ]
        if len(self.pending) == inside:
            if len(self.known) >= _KNOWN:
                self.known.clear()
            self.known[id(option)] = option, found
        return found

    def _option(self, edge: Any, guard: int) -> _Edge:
        if type(edge) is not Chance:
            return self._leaf(edge, guard)
        row = self._lottery(edge)
        if len(row.edges) == 1:
            key, _, update, reward = row.edges[0]
            # In an option an update that is forbidden takes it away; inside chance it is an error.
            if update < 0 or self.forbidding.isdisjoint(one.name for one in self.updates.items[update]):
                return key, guard, update, reward
        return self._inside(row), guard, -1, -1

    def _lottery(self, node: Chance[Any]) -> _Lottery:
        """Edges of a chance node; those that agree in all but a constant reward are merged."""
        if node.dist.defect:
            self._record_defect(node.dist.defect)
        entries: list[tuple[_Edge, Fraction, Any]] = []
        for edge, weight, paid, guard in self._leaves(node, -1):
            key = self._edge(edge)
            if type(edge) is End:
                update, reward = -1, paid
            else:
                update, reward = self._update(edge.updates), paid + self._exact(edge.reward)
            varies = isinstance(reward, Expr)
            number = self._number(reward, "reward") if varies else -1
            entries.append(((key, guard, update, number), weight, 0 if varies else reward))
        if self.merge:
            entries = self._merged(entries)
        nums, common = whole_weights([weight for _, weight, _ in entries])
        edges = [(*edge[:3], self._number(reward, "reward")) if reward else edge for edge, _, reward in entries]
        return _Lottery(edges, nums, common)

    def _leaf(self, edge: Any, guard: int) -> _Edge:
        """Return an edge that is neither chance nor a condition."""
        key = self._edge(edge)
        if type(edge) is End:
            return key, guard, -1, -1
        return key, guard, self._update(edge.updates), self._number(edge.reward, "reward")

    # --- what depends on the counters ---------------------------------------

    def _cases(self, edge: Any, guard: int = -1) -> Iterator[tuple[Any, int]]:
        """Branches of conditions inside conditions, each with the guard under which it counts.

        A condition without an alternative is a branch itself, which only an option may be.
        """
        stack = [(edge, guard)]
        while stack:
            branch, guard = stack.pop()
            if type(branch) is not Conditional or branch.otherwise is None:
                yield branch, guard
                continue
            sides = ((branch.then, branch.cond), (branch.otherwise, ~branch.cond))
            both = [(side, self._under(guard, cond)) for side, cond in sides]
            stack.extend((side, under) for side, under in reversed(both) if under is not None)

    def _option_cases(self, option: Any) -> Iterator[tuple[Any, int]]:
        """Yield the same for an option, which a condition may take away."""
        stack = [(option, -1)]
        while stack:
            for branch, guard in self._cases(*stack.pop()):
                if type(branch) is not Conditional:
                    yield branch, guard
                elif (under := self._under(guard, branch.cond)) is not None:
                    stack.append((branch.then, under))

    def _under(self, guard: int, cond: Expr) -> int | None:
        """Guard under which a condition holds as well; None if it never does."""
        if cond.value is not None:
            return guard if cond.value else None
        key = guard, cond.key
        found = self.sides.get(key)
        if found is None:
            self._own(cond)
            # What came before stands first: expressions may ask a table only where that holds.
            whole = cond if guard < 0 else self.guards.items[guard] & cond
            found = self.sides[key] = self.guards.add(whole.key, whole)
        return found

    def _update(self, updates: tuple[Update, ...]) -> int:
        if not updates:
            return -1
        for one in updates:
            if one.name not in self.names:
                raise unknown_counter_error(one.name, self.axes)
            self._own(one.value)
        return self.updates.add(updates, updates)

    def _number(self, value: Any, what: str) -> int:
        """Index of a reward or payoff, -1 for 0."""
        if isinstance(value, Expr):
            if value.value is None:
                self._own(value)
                return self.numbers.add(value.key, value)
            value = value.value
        number = finite_number(value, what)
        return self.numbers.add(Fraction(number), as_expr(number)) if number else -1

    def _own(self, expr: Expr) -> None:
        """Refuse an expression over the counters of another game."""
        if not expr.names <= self.names:
            raise unknown_counter_error(min(expr.names - self.names), self.axes)

    def _exact(self, value: Any) -> Any:
        return value if isinstance(value, Expr) else super()._exact(value)

    def _end(self, payoff: Any) -> int:
        return self.ends.setdefault(self._number(payoff, "payoff"), END + len(self.ends))

    # --- the lattice --------------------------------------------------------

    def finish(self) -> dict[str, Any]:
        """Return the fields of `mdpdice.lattices.lattice.Lattice`."""
        fields, first_end = self.assemble(self.totals)
        n_nodes = len(fields["kind"])
        payoff = np.full(n_nodes, -1, dtype=np.int32)
        for row, number in self.payoffs.items():
            payoff[row] = number
        payoff[first_end:] = list(self.ends)
        switch = np.zeros(n_nodes, dtype=bool)
        switch[self.switches] = True
        return {
            **fields,
            "axes": self.axes,
            "switch": switch,
            "guard": np.array(self.edge_guards, dtype=np.int32),
            "update": np.array(self.edge_updates, dtype=np.int32),
            "reward": np.array(self.edge_rewards, dtype=np.int32),
            "payoff": payoff,
            "guards": tuple(self.guards.items),
            "updates": tuple(self.updates.items),
            "rewards": tuple(self.numbers.items),
            "progress": self._progress(),
        }

    def _progress(self) -> tuple[Expr, ...] | None:
        said = ask_game(self.game.progress)
        if said is None:
            return None
        return tuple(as_expr(part) for part in (said if isinstance(said, tuple) else (said,)))


class _Pool(Generic[T]):
    """Things of which each is kept once, numbered in the order of their first use."""

    def __init__(self) -> None:
        self.items: list[T] = []
        self.index: dict[Hashable, int] = {}

    def add(self, key: Hashable, item: T) -> int:
        found = self.index.setdefault(key, len(self.items))
        if found == len(self.items):
            self.items.append(item)
        return found


class _Lottery(NamedTuple):
    """Edges of a chance node, and their weights: parts of `total` where their guards hold."""

    edges: list[_Edge]
    nums: list[int]
    total: int


_UNAVAILABLE = Unavailable()


def compile_lattice(
    game: Game[Any, Any],
    *,
    merge: bool = True,
    max_states: int = 10_000_000,
    max_bytes: int | None = None,
    progress: Progress | None = None,
) -> Lattice:
    """Compile a game with counters; its `node` is called once per core state.

    A core state counts as reachable if a chain of edges leads to it, whatever their guards say.

    Parameters
    ----------
    game : Game
        A game with counters.
    merge, max_bytes, progress
        As in `mdpdice.explore`, whose errors are raised here too.
    max_states : int
        Most core states; the points of the grid do not count.

    Raises
    ------
    GameError
        The game has no counters, or returns something that is not a node.
    """
    __tracebackhide__ = True
    if not isinstance(game, Game):
        raise GameError(f"{game!r} is not a Game; a class needs to be called: MyGame()", value=game)
    core = _CoreTraversal(game, merge, max_states, max_bytes, progress).run()
    point = 0
    for axis in core["axes"]:
        point = point * len(axis.values) + axis.values.index(axis.start)
    return Lattice(**core, start_point=point)
