"""The plain-Python route of games with counters: their states become `At` values.

`Game.node` is called once per core state; its expressions are evaluated at the counters of every
`At` that is reached.  A condition resolves at once, an option whose update is forbidden drops out,
and what remains is a game that any part of the library reads without knowing counters.  It shares
nothing with the way through `mdpdice.lattices.lattice`, so each checks the other.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Generic, TypeVar, cast

from mdpdice.errors import MdpDiceError
from mdpdice.modelling.counters import At, Axis, axes, forbidden_error, unknown_counter_error
from mdpdice.modelling.equality import collision_error, same_kind
from mdpdice.modelling.expressions import Expr
from mdpdice.modelling.game import Chance, Conditional, Decide, Edge, End, Game, Go, Node, PassTo, Uncertain, end

S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)


class Unrolled(Game[At[S], A], Generic[S, A]):
    """A game with the counters inside its states; made by `Game.unrolled`."""

    def __init__(self, game: Game[S, A]) -> None:
        self.game = game
        self.axes = axes(game)
        self._axis: dict[str, Axis] = {axis.name: axis for axis in self.axes}
        self._nodes: dict[S, tuple[S, Node[S, A]]] = {}
        self.total = game.total  # type: ignore[misc]  # class attributes elsewhere, of one object here
        self.payoff_range = game.payoff_range  # type: ignore[misc]
        self.sense = game.sense  # type: ignore[misc]
        self.discount = game.discount

    def start(self) -> At[S]:
        """Return the game's start, with every counter at its own."""
        return At(self.game.start(), **{axis.name: axis.start for axis in self.axes})

    def node(self, state: At[S], /) -> Node[At[S], A]:
        """Return what the game's node means at these counters."""
        core, values = state.state, dict(state.counters)
        if (found := self._nodes.get(core)) is None:
            found = self._nodes[core] = (core, self.game.node(core))
        elif found[0] is not core and not same_kind(found[0], core):
            raise collision_error(found[0], core)
        node: Any = found[1]
        while type(node) is Conditional and node.otherwise is not None:
            node = node.then if node.cond.evaluate(values) else node.otherwise
        if type(node) is not Decide:
            return cast("Node[At[S], A]", self._placed(node, values))
        options: list[Any] = []
        for action, option in zip(node.actions, node.options, strict=True):
            try:
                options.append(self._option(option, values))
            except MdpDiceError as error:
                raise error.at(state, action) from error.__cause__
        return Decide(node.actions, options, node.player)

    def estimate(self, state: At[S]) -> float:
        """Return what the game itself guesses of the state, which it gets with its counters."""
        return self.game.estimate(cast("S", state))

    def _option(self, option: Any, values: dict[str, int]) -> Any:
        """Return an option, or None where it is not available."""
        while type(option) is Conditional:
            option = option.then if option.cond.evaluate(values) else option.otherwise
        return self._edge(option, values) if type(option) in (Go, PassTo) else self._placed(option, values)

    def _placed(self, edge: Any, values: dict[str, int]) -> Any:
        """Return an edge that cannot be left out, with all that it holds; the explorer judges what is not an edge."""
        open_nodes: list[tuple[Chance[Any], list[Any]]] = []
        while True:
            while type(edge) is Conditional and edge.otherwise is not None:
                edge = edge.then if edge.cond.evaluate(values) else edge.otherwise
            if type(edge) is Chance:
                open_nodes.append((edge, []))
                edge = edge.edges[0]
                continue
            done = self._leaf(edge, values)
            while open_nodes:
                node, edges = open_nodes[-1]
                edges.append(done)
                if len(edges) < len(node.edges):
                    edge = node.edges[len(edges)]
                    break
                open_nodes.pop()
                done = Chance(node.dist, tuple(edges), _number(node.reward, values))
            else:
                return done

    def _leaf(self, edge: Any, values: dict[str, int]) -> Any:
        kind = type(edge)
        if kind is End:
            return end(_number(edge.payoff, values))
        if kind is Uncertain:
            return Uncertain(tuple(self._placed(roll, values) for roll in edge.options), edge.against)
        if kind is not Go and kind is not PassTo:
            return edge
        if (found := self._edge(edge, values)) is None:
            for update in edge.updates:
                wanted = update.value.evaluate(values)
                if self._axis[update.name].place(wanted) is None:
                    raise forbidden_error(self._axis[update.name], wanted)
        return found

    def _edge(self, edge: Any, values: dict[str, int]) -> Edge[At[S]] | None:
        """Return a move with its updates done; None if one of them is forbidden."""
        after = dict(values) if edge.updates else values
        for update in edge.updates:
            if (axis := self._axis.get(update.name)) is None:
                raise unknown_counter_error(update.name, self.axes)
            if (value := axis.place(update.value.evaluate(values))) is None:
                return None
            after[update.name] = value
        return cast("Edge[At[S]]", type(edge)(At(edge.state, **after), (), _number(edge.reward, values)))


class _SymmetricUnrolled(Unrolled[S, A]):
    """Apart from the others, since looking every target up takes time."""

    def canonical(self, state: At[S]) -> At[S]:
        """Return the representative of the core state, with the same counters."""
        return At(self.game.canonical(state.state), **state.counters)


def unroll_counters(game: Game[S, A]) -> Unrolled[S, A]:
    """Return the unrolled game, with the symmetry of the game if it has one."""
    return Unrolled(game) if type(game).canonical is Game.canonical else _SymmetricUnrolled(game)


def _number(number: Any, values: dict[str, int]) -> Any:
    """Return a payoff or reward at these counters."""
    if not isinstance(number, Expr):
        return number
    value = number.evaluate(values)
    return int(value) if number.boolean else value
