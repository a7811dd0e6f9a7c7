"""The tree of a game from one position on, to look at: what may be done, what may happen, and what it is worth.

Every play is followed for some decisions; what lies beyond is worth what a `Solution` says, else what `Game.estimate`
says, and values are backed up from there: the mean where chance moves, the best at decisions.  All
values are those of the player to move in the position at the top.  Nothing is shared, and nothing is left out but
states that come again while only chance moves, so without a solution a tree is the whole truth about what
`mdpdice.solvers.lookahead` sees, found in another way.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Hashable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import attrs

from mdpdice.errors import GameError, StateLimitError, UnknownStateError
from mdpdice.looks import Look, Rolled, look_of, parted, spoken
from mdpdice.looks.text import phrase
from mdpdice.looks.throw import thrown
from mdpdice.modelling.asking import ask_game
from mdpdice.modelling.checks import not_a_node_error, not_an_edge_error
from mdpdice.modelling.game import Chance, Decide, End, Game, Go, PassTo, Unavailable, Uncertain
from mdpdice.modelling.sense import Sense, sense_of
from mdpdice.policies.playthrough import loses, plain

if TYPE_CHECKING:
    from mdpdice.answers.solution import Solution

_EQUAL = 1e-9
"""Values that differ by less than this, relative to ``max(1, |value|)``, differ by rounding."""
_READABLE = 36
"""Largest denominator of a probability that is not written in per cent."""


@attrs.define(eq=False)
class Tree:
    """A position, or what an option or an outcome of chance leads to.

    Parameters
    ----------
    label : object
        The action or the outcome that leads here; None at the top, and where an outcome has no name.
    words : str
        The same as the game says it; of an outcome that merges rolls, one of these rolls.
    probability : Fraction or None
        Chance of the outcome.
    value : float
        To the player to move at the top, with the rewards on the path to here.
    best : bool
        Whether this option is as good as any other of the decision.
    lost : bool
        Whether this outcome ends the turn, or the play without a payoff.
    decides : {"mover", "other", "nature", None}
        Who decides here; None where chance moves, and where the tree breaks off.
    state : str or None
        The state as text, where there is one of its own.
    leaf : {"end", "value", "estimate", "again", None}
        Why the tree breaks off here: the play is over; no decision is left to look ahead, and the value is that of a
        solution, or an estimate; or the state came before, with only chance between.
    children : tuple of Tree
        What comes next.
    """

    label: Any = None
    words: str = ""
    probability: Fraction | None = None
    value: float = 0.0
    best: bool = False
    lost: bool = False
    decides: str | None = None
    state: str | None = None
    leaf: str | None = None
    children: tuple[Tree, ...] = ()

    def rows(self, *, best: bool = False, max_outcomes: int = 12) -> Iterator[Row]:
        """Give what is shown, row by row.

        With `best` only the best options are followed.  Of more outcomes of chance than `max_outcomes` the likeliest
        are shown, and those that lose come first.
        """
        top = Row(0, False, self.state or "", "", _figure(self.value), self.leaf or "")
        stack: list[tuple[Row, Tree | None]] = [(top, self)]
        while stack:
            row, node = stack.pop()
            yield row
            if node is None:
                continue
            shown = [one for one in node.children if one.best or not (best and node.decides)]
            if not node.decides and len(shown) > max_outcomes:
                shown.sort(key=lambda one: one.probability or 0, reverse=True)
                left = sum((one.probability or Fraction(0) for one in shown[max_outcomes:]), Fraction(0))
                more = f"and {len(shown) - max_outcomes:,} more, together {_percent(left)}"
                stack.append((Row(row.level + 1, False, more), None))
                del shown[max_outcomes:]
            shown.sort(key=lambda one: not one.lost)
            stack += [(_row(node, one, row.level + 1), one) for one in reversed(shown)]

    def lines(self, *, best: bool = False, max_outcomes: int = 12) -> Iterator[str]:
        """Give the tree line by line; see `rows`."""
        for row in self.rows(best=best, max_outcomes=max_outcomes):
            mark = f"{'  ' * row.level}{'*' if row.best else ' '} " if row.level else ""
            chance = f" ({row.chance})" if row.chance else ""
            yield f"{mark}{row.words}{chance}{': ' * bool(row.value)}{row.value} {row.leaf}".rstrip()

    def to_json(self) -> dict[str, Any]:
        """Give the tree as JSON data."""
        found: dict[int, dict[str, Any]] = {}
        nodes: list[Tree] = [self]
        for node in nodes:  # it grows while it is read
            nodes.extend(node.children)
        for node in reversed(nodes):
            data = {
                "value": node.value if math.isfinite(node.value) else str(node.value),
                "label": None if node.label is None else phrase(node.label),
                "probability": None if node.probability is None else str(node.probability),
                "state": node.state,
                "leaf": node.leaf,
                "decides": node.decides,
                "best": [phrase(one.label) for one in node.children if one.best] if node.decides else None,
                "children": [found.pop(id(child)) for child in node.children] or None,
            }
            found[id(node)] = {key: value for key, value in data.items() if value is not None}
        return found[id(self)]


class Row(NamedTuple):
    """A row of a tree that is shown, in words; one that stands for outcomes that are left out has no value."""

    level: int
    best: bool
    words: str
    chance: str = ""
    value: str = ""
    leaf: str = ""


def _row(parent: Tree, node: Tree, level: int) -> Row:
    words, chance = node.words or node.state or "then", node.probability or Fraction(1)
    said = str(chance) if chance.denominator <= _READABLE else _percent(chance)
    if parent.decides:
        words, said = f"{ {'mover': 'you', 'nature': 'nature:'}.get(parent.decides, 'they') } {words}", ""
    return Row(level, node.best, words, said, _figure(node.value), node.leaf or "")


def _percent(share: Fraction) -> str:
    return f"{100 * float(share):.3g} %"


def _figure(value: float) -> str:
    return f"{value:.4f}".replace("-0.0000", "0.0000")


def tree(
    game: Game[Any, Any],
    state: Hashable = None,
    *,
    depth: int = 4,
    solution: Solution | None = None,
    max_places: int = 1_000_000,
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
    solution : Solution, optional
        Of this game, for the values of states where the tree breaks off; `Game.estimate` gives those that it does
        not know.
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
        raise GameError(f"depth={depth!r}: write a number of decisions", value=depth, limit=0)
    builder = _Builder(game, solution, max_places)
    return builder.run(builder.game.start() if state is None else state, depth)


@attrs.define(eq=False)
class _Place(Tree):
    """A tree in the making, worth `value` to the player to move there, and ``offset + gain * value`` at `parent`."""

    parent: _Place | None = attrs.field(default=None, repr=False)
    side: int = 1
    # Whether no decision has come before: the discount does not act there.
    first: bool = True
    depth: int = 0
    player: int = 0  # who decides in the state, or decided
    offset: float = 0.0
    gain: float = 1.0
    # The state, if it is one of its own; the last one on the way here; and the dice as they lie.
    at: Any = None
    base: Any = None
    seen: Rolled | None = None
    node: Any = None


class _Builder:
    def __init__(self, game: Game[Any, Any], solution: Solution | None, max_places: int) -> None:
        self.game, self.solution, self.max_places = plain(game), solution, max_places
        self.look, self.total, self.discount = look_of(game), float(game.total), float(game.discount)
        self.sense: Sense = sense_of(game) if solution is None else cast("Sense", solution.sense)
        self.count = 1
        # States on the way to the place at hand, with the decisions left there.
        self.path: set[tuple[int, Any]] = set()
        self.rolls: dict[int, tuple[Any, dict[Any, Rolled]]] = {}
        self.nodes: dict[Any, Any] = {}

    def run(self, state: Any, depth: int) -> Tree:
        top = _Place()
        self._enter(top, state, depth)
        places: list[_Place] = []
        stack = [(top, False)]
        while stack:
            place, left = stack.pop()
            if left:
                self.path.remove((place.depth, place.at))
                continue
            places.append(place)
            if place.leaf is None:
                if place.at is not None:
                    self.path.add((place.depth, place.at))
                    stack.append((place, True))
                children = list(self._branch(place))
                place.children = tuple(children)
                stack += [(child, False) for child in reversed(children)]
        for place in reversed(places):
            self._finish(place)
        return top

    # --- down ---------------------------------------------------------------------

    def _enter(self, place: _Place, state: Any, depth: int) -> None:
        """Find out what happens in the state of a place."""
        place.at, place.base, place.depth, place.player = state, state, depth, 0
        if (depth, state) in self.path:
            place.value, place.leaf = self._ahead(state)[0], "again"
            return
        if state not in self.nodes:
            self.nodes[state] = ask_game(self.game.node, state)
        place.node = self.nodes[state]
        if type(place.node) is End:
            place.leaf, place.value = "end", float(place.node.payoff)
        # With a discount, what chance is worth depends on whether a decision came before.
        elif not depth and (type(place.node) is Decide or self.solution is None or self.discount == 1):
            place.value, place.leaf = self._ahead(state)

    def _ahead(self, state: Any) -> tuple[float, str]:
        """Return what a state is worth where the tree breaks off, and who says so."""
        if self.solution is not None:
            with contextlib.suppress(UnknownStateError):
                return self.solution.estimate(state), "value"
        return float(ask_game(self.game.estimate, state)), "estimate"

    def _branch(self, place: _Place) -> Iterator[_Place]:
        node = place.node
        kind = type(node)
        if kind is Decide or kind is Uncertain:
            for action, option in zip(node.actions, node.options, strict=True):
                if option is not None and type(option) is not Unavailable:
                    yield self._child(place, action, None, option, place.depth - (kind is Decide))
        elif kind is Chance:
            dist = node.dist
            for outcome, weight, edge in zip(dist.outcomes, dist.weights, node.edges, strict=True):
                child = self._child(place, outcome, Fraction(weight, dist.total), edge, place.depth)
                child.label = None if outcome is edge else outcome
                child.lost = loses(edge, self.sense)
                child.seen = None if type(edge) is PassTo else self._rolls(dist).get(outcome)
                yield child
        elif kind is Go or kind is PassTo:
            child = self._child(place, None, Fraction(1), node, place.depth)
            child.seen = place.seen if kind is Go else None
            yield child
        else:
            raise not_a_node_error(node).at(place.at)

    def _rolls(self, dist: Any) -> dict[Any, Rolled]:
        """Return the likeliest roll of every outcome, where the distribution was made of dice."""
        if id(dist) not in self.rolls:
            throw = thrown(dist) if dist.source else None
            table = throw.table(dist).items() if throw else ()
            dice = throw.dice if throw else ()
            likeliest = {one: Rolled(max(rolls, key=lambda roll: roll[1])[0], dice) for one, rolls in table}
            self.rolls[id(dist)] = dist, likeliest
        return self.rolls[id(dist)][1]

    def _child(self, parent: _Place, label: Any, chance: Fraction | None, edge: Any, depth: int) -> _Place:
        self.count += 1
        if self.count > self.max_places:
            count, most, where = self.count, self.max_places, [parent.base]
            msg = f"the tree has more lines than max_places={most:,}; look less far ahead, or raise it"
            raise StateLimitError(msg, explored=count, frontier=where, value=count, limit=most)
        first = parent.first and type(parent.node) is not Decide
        place = _Place(label, probability=chance, parent=parent, side=parent.side, first=first)
        place.player = getattr(parent.node, "player", parent.player)
        kind = type(edge)
        if kind is End:
            place.leaf, place.value = "end", float(edge.payoff)
        elif kind is Chance or kind is Uncertain:
            place.node, place.depth, place.base, place.offset = edge, depth, parent.base, float(edge.reward)
        elif kind is Go or kind is PassTo:
            self._enter(place, edge.state, depth)
            place.gain = self.discount if type(place.node) is Decide and not place.first else 1.0
            place.offset = float(edge.reward)
            if kind is PassTo:
                place.offset += place.gain * self.total
                place.gain, place.side = -place.gain, -place.side
        else:
            raise not_an_edge_error(edge).at(parent.base)
        return place

    # --- and up -------------------------------------------------------------------

    def _finish(self, place: _Place) -> None:
        """Find the value of a place whose children are finished, to the player at the top."""
        if place.leaf is None and type(place.node) in (Decide, Uncertain):
            player = getattr(place.node, "player", place.player)
            values = [self._turn(child.value, place.side) for child in place.children]
            place.value = min(values) if (player == 1) != (self.sense == "min") else max(values)
            place.decides = "mover" if (place.side < 0) == (player == 1) else "other"
            if type(place.node) is Uncertain:
                place.value, place.decides = values[place.node.pick(values, player, self.sense)], "nature"
            for child, value in zip(place.children, values, strict=True):
                child.best = math.isclose(value, place.value, rel_tol=_EQUAL, abs_tol=_EQUAL)
        elif place.leaf is None:
            # The reward of a chance state; that of a chance node inside an option is paid on its edge.
            inside = place.at is None or type(place.node) is not Chance
            place.value = 0.0 if inside else float(place.node.reward)
            for child in place.children:
                place.value += float(child.probability or 0) * self._turn(child.value, place.side)
        side = place.side if place.parent is None else place.parent.side
        place.value = self._turn(place.offset + place.gain * place.value, side)
        if place.parent is not None and place.label is not None:
            place.words = self._words(place.parent, place.label, lost=place.lost)
        if place.at is not None:
            place.state = ask_game(self.look.show_state, place.at)

    def _words(self, parent: _Place, label: Any, *, lost: bool) -> str:
        """Return what leads from a place to one below it, in words."""
        if type(parent.node) is Decide:
            return str(ask_game(self.look.words, parent.at, label, parent.seen))
        if type(parent.node) is Uncertain:
            return str(label)
        # A sum says itself what was rolled; counts of faces do not.
        plainly = isinstance(label, int | str) and type(self.look).heard is Look.heard
        seen = None if plainly else self._rolls(parent.node.dist).get(label)
        core, counters = parted(parent.base)
        return spoken(ask_game(self.look.heard, core, label, seen, lost=lost), counters) or phrase(label)

    def _turn(self, value: float, side: int) -> float:
        """Return the value of one player as the other one sees it, if `side` is the other one's."""
        return value if side > 0 else self.total - value
