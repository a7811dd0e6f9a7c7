"""The tree of a game from one position on, to look at: what may be done, what may happen, and what it is worth.

Every play is followed for some decisions; what lies beyond is worth what `Game.estimate` says, and
values are backed up from there: the mean where chance moves, the best where somebody decides.  All
values are those of the player to move in the position at the top.  Nothing is left out and nothing
is shared, so a tree with a few thousand lines is the whole truth about what
`mdpdice.solvers.lookahead` sees, found in another way.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from fractions import Fraction
from typing import Any

import attrs

from mdpdice.errors import GameError, MdpDiceError, StateLimitError
from mdpdice.looks.look import look_of
from mdpdice.looks.text import phrase
from mdpdice.modelling.checks import not_a_node_error, not_an_edge_error
from mdpdice.modelling.counters import axes
from mdpdice.modelling.game import Chance, Decide, End, Game, Go, PassTo, Unavailable
from mdpdice.modelling.sense import sense_of

__all__ = ["Tree", "tree"]


@attrs.frozen
class Tree:
    """A position, or what an option or an outcome of chance leads to.

    Parameters
    ----------
    label : object
        The action or the outcome that leads here; None at the top, and where an outcome has no name.
    probability : Fraction or None
        Chance of the outcome.
    value : float
        To the player to move at the top, with what is paid on the way here.
    best : bool
        Whether this option is as good as any other of the decision.
    decides : {"mover", "other", None}
        Who decides here; None where chance moves, and where the tree breaks off.
    state : str or None
        The state as text, where there is one of its own.
    leaf : {"end", "estimate", None}
        Why the tree breaks off here: the play is over, or no decision is left to look ahead.
    children : tuple of Tree
        What comes next.
    """

    label: Any
    probability: Fraction | None
    value: float
    best: bool
    decides: str | None
    state: str | None
    leaf: str | None
    children: tuple[Tree, ...]

    def lines(self, *, best: bool = False) -> Iterator[str]:
        """Give the tree line by line.

        Parameters
        ----------
        best : bool
            Follow the best options only.
        """
        yield f"{self.state}: {_figure(self.value)}{_leaf(self)}"
        open_nodes: list[tuple[Tree, Iterator[Tree], int]] = [(self, iter(self.children), 1)]
        while open_nodes:
            parent, children, level = open_nodes[-1]
            child = next(children, None)
            if child is None:
                open_nodes.pop()
                continue
            if parent.decides and best and not child.best:
                continue
            yield f"{'  ' * level}{_name(parent, child)}: {_figure(child.value)}{_leaf(child)}"
            open_nodes.append((child, iter(child.children), level + 1))

    def to_json(self) -> dict[str, Any]:
        """Give the tree as JSON data."""
        found: dict[int, dict[str, Any]] = {}
        for node in reversed(list(self._walk())):
            data: dict[str, Any] = {"value": node.value}
            if node.label is not None:
                data["label"] = _text(node.label)
            if node.probability is not None:
                data["probability"] = str(node.probability)
            if node.state is not None:
                data["state"] = node.state
            if node.leaf is not None:
                data["leaf"] = node.leaf
            if node.decides:
                data["decides"] = node.decides
                data["best"] = [_text(child.label) for child in node.children if child.best]
            if node.children:
                data["children"] = [found.pop(id(child)) for child in node.children]
            found[id(node)] = data
        return found[id(self)]

    def _walk(self) -> Iterator[Tree]:
        stack: list[Tree] = [self]
        while stack:
            node = stack.pop()
            yield node
            stack += node.children


def _name(parent: Tree, child: Tree) -> str:
    if parent.decides:
        who = "you" if parent.decides == "mover" else "they"
        return f"{'*' if child.best else ' '} {who} {_text(child.label)}"
    name = child.state if child.label is None else _text(child.label)
    return f"  {name or 'then'} ({child.probability})"


def _leaf(node: Tree) -> str:
    return f" {node.leaf}" if node.leaf else ""


def _figure(value: float) -> str:
    return f"{value:.4f}".replace("-0.0000", "0.0000")


def _text(label: Any) -> str:
    return phrase(label)


def tree(
    game: Game[Any, Any], state: Hashable = None, *, depth: int = 4, max_places: int = 1_000_000
) -> Tree:
    """Follow every play of a game for some decisions.

    Parameters
    ----------
    game : Game
        The game.
    state : hashable, optional
        Where to begin, by default at the start of the game.
    depth : int
        Decisions to look ahead, both players' counted.
    max_places : int
        Largest number of lines.

    Returns
    -------
    Tree
        Values are those of the player to move at the top; of player 0, where a game tells its players
        apart by ``decide(player=...)``.

    Raises
    ------
    StateLimitError
        The tree has more lines.
    GameError
        The game broke its contract.
    """
    if type(depth) is not int or depth < 0:
        msg = f"depth={depth!r}: write a number of decisions"
        raise GameError(msg, value=depth, limit=0)
    plain = game.unrolled() if axes(game) else game
    return _Builder(plain, plain.start() if state is None else state, depth, max_places).run()


class _Place:
    """A tree in the making; its value is that of the player to move there.

    ``offset + gain * value`` is what the player at `parent` makes of it.
    """

    def __init__(self, parent: _Place | None, label: Any, probability: Fraction | None) -> None:
        self.parent = parent
        self.label = label
        self.probability = probability
        self.depth = 0
        # Whether no decision has come before: the discount does not act there.
        self.first = True
        self.side = 1
        self.offset, self.gain = 0.0, 1.0
        self.state: Any = None
        self.node: Any = None
        self.leaf: str | None = None
        self.value = 0.0
        self.children: list[Tree] = []

    def seen(self) -> float:
        """What the player at `parent` makes of it."""
        return self.offset + self.gain * self.value


class _Builder:
    def __init__(self, game: Game[Any, Any], state: Any, depth: int, max_places: int) -> None:
        self.game = game
        self.total = float(game.total)
        self.discount, self.sense = float(game.discount), sense_of(game)
        self.max_places = max_places
        top = _Place(None, None, None)
        top.state = state
        self._enter(top, depth)
        self.places = [top]

    def run(self) -> Tree:
        for place in self.places:  # it grows while it is read
            if place.leaf is None:
                self._branch(place)
        for place in reversed(self.places):
            finished = self._finish(place)
            if place.parent is None:
                return finished
            place.parent.children.append(finished)
        raise AssertionError

    # --- down ---------------------------------------------------------------------

    def _enter(self, place: _Place, depth: int) -> None:
        """Find out what happens in the state of a place."""
        place.depth = depth
        place.node = self._call(self.game.node, place.state)
        if type(place.node) is End:
            place.leaf, place.value = "end", float(place.node.payoff)
        elif not depth:
            place.leaf, place.value = "estimate", float(self._call(self.game.estimate, place.state))

    def _branch(self, place: _Place) -> None:
        node = place.node
        kind = type(node)
        if kind is Decide:
            for action, option in zip(node.actions, node.options, strict=True):
                if option is not None and type(option) is not Unavailable:
                    self._add(place, action, None, option, place.depth - 1)
        elif kind is Chance:
            dist = node.dist
            for outcome, weight, edge in zip(dist.outcomes, dist.weights, node.edges, strict=True):
                label = None if outcome is edge else outcome
                self._add(place, label, Fraction(weight, dist.total), edge, place.depth)
        elif kind is Go or kind is PassTo:
            self._add(place, None, Fraction(1), node, place.depth)
        else:
            raise not_a_node_error(node).at(place.state)
        if len(self.places) > self.max_places:
            msg = (
                f"the tree has more than max_places={self.max_places:,} lines; look fewer decisions ahead, "
                "or raise max_places"
            )
            raise StateLimitError(
                msg,
                explored=len(self.places),
                frontier=[place.state],
                value=len(self.places),
                limit=self.max_places,
            )

    def _add(self, parent: _Place, label: Any, probability: Fraction | None, edge: Any, depth: int) -> None:
        place = _Place(parent, label, probability)
        place.first = parent.first and type(parent.node) is not Decide
        place.side = parent.side
        kind = type(edge)
        if kind is End:
            place.leaf, place.value = "end", float(edge.payoff)
        elif kind is Chance:
            place.node, place.depth, place.offset = edge, depth, float(edge.reward)
        elif kind is Go or kind is PassTo:
            place.state = edge.state
            self._enter(place, depth)
            step = type(place.node) is Decide and not place.first
            place.gain = self.discount if step else 1.0
            place.offset = float(edge.reward)
            if kind is PassTo:
                place.offset += place.gain * self.total
                place.gain, place.side = -place.gain, -place.side
        else:
            raise not_an_edge_error(edge).at(parent.state)
        self.places.append(place)

    # --- and up -------------------------------------------------------------------

    def _finish(self, place: _Place) -> Tree:
        """Value of a place whose children are finished, and the tree below it."""
        children = place.children[::-1]
        decides = None
        if place.leaf is None and type(place.node) is Decide:
            second = place.node.player == 1
            minimises = second != (self.sense == "min")
            values = [self._turn(child.value, place.side) for child in children]
            place.value = min(values) if minimises else max(values)
            room = 1e-12 * max(1.0, abs(place.value))
            children = [
                attrs.evolve(child, best=abs(value - place.value) <= room)
                for child, value in zip(children, values, strict=True)
            ]
            decides = "mover" if (place.side < 0) == second else "other"
        elif place.leaf is None:
            # The reward of a chance state; that of a chance node inside an option is paid on its edge.
            inside = place.state is None or type(place.node) is not Chance
            place.value = 0.0 if inside else float(place.node.reward)
            for child in children:
                place.value += float(child.probability or 0) * self._turn(child.value, place.side)
        side = place.side if place.parent is None else place.parent.side
        return Tree(
            label=place.label,
            probability=place.probability,
            value=self._turn(place.value if place.parent is None else place.seen(), side),
            best=False,
            decides=decides,
            state=None if place.state is None else self._show(place.state),
            leaf=place.leaf,
            children=tuple(children),
        )

    def _turn(self, value: float, side: int) -> float:
        """The value of one player as the other one sees it, if `side` is the other one's."""
        return value if side > 0 else self.total - value

    def _show(self, state: Any) -> str:
        return str(self._call(look_of(self.game).show_state, state))

    def _call(self, function: Any, state: Any) -> Any:
        try:
            return function(state)
        except MdpDiceError as error:
            raise error.at(state) from error.__cause__
        except Exception as error:
            msg = f"{function.__name__}() raised {type(error).__name__}: {error}"
            raise GameError(msg, state=state) from error
