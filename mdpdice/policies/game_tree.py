"""The tree of a game from one position on, to look at: what may be done, what may happen, and what it is worth.

Every play is followed for some decisions; what lies beyond is worth what a `Solution` says, else what `Game.estimate`
says, and values are backed up from there: the mean where chance moves, the best where somebody decides.  All
values are those of the player to move in the position at the top.  Nothing is shared, and nothing is left out but
states that come again while only chance moves, so without a solution a tree is the whole truth about what
`mdpdice.solvers.lookahead` sees, found in another way.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

from mdpdice.errors import GameError, MdpDiceError, StateLimitError, UnknownStateError
from mdpdice.looks import Look, Rolled, look_of, parted, spoken
from mdpdice.looks.text import phrase
from mdpdice.looks.throw import thrown
from mdpdice.modelling.checks import not_a_node_error, not_an_edge_error
from mdpdice.modelling.game import Chance, Decide, End, Game, Go, PassTo, Unavailable
from mdpdice.policies.playthrough import plain

if TYPE_CHECKING:
    from mdpdice.answers.solution import Solution

__all__ = ["Row", "Tree", "percent", "tree"]

_EQUAL = 1e-9
"""Values that differ by less than this, relative to ``max(1, |value|)``, differ by rounding."""
_READABLE = 36
"""Largest denominator of a probability that is not written in per cent."""


@attrs.frozen
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
        To the player to move at the top, with what is paid on the way here.
    best : bool
        Whether this option is as good as any other of the decision.
    lost : bool
        Whether this outcome ends the turn, or the play without a payoff.
    decides : {"mover", "other", None}
        Who decides here; None where chance moves, and where the tree breaks off.
    state : str or None
        The state as text, where there is one of its own.
    leaf : {"end", "value", "estimate", "again", None}
        Why the tree breaks off here: the play is over; no decision is left to look ahead, and the value is that of a
        solution, or an estimate; or the state came before, with only chance between.
    children : tuple of Tree
        What comes next.
    """

    label: Any
    words: str
    probability: Fraction | None
    value: float
    best: bool
    lost: bool
    decides: str | None
    state: str | None
    leaf: str | None
    children: tuple[Tree, ...]

    def rows(self, *, best: bool = False, max_outcomes: int = 12) -> Iterator[Row]:
        """Give what is shown, row by row.

        Parameters
        ----------
        best : bool
            Follow the best options only.
        max_outcomes : int
            Of more outcomes of chance only so many are shown, the likeliest; those that lose come first.
        """
        stack = [Row(0, None, self)]
        while stack:
            row = stack.pop()
            yield row
            node, level = row.node, row.level + 1
            shown = (
                []
                if node is None
                else [one for one in node.children if one.best or not (best and node.decides)]
            )
            if node is not None and not node.decides and len(shown) > max_outcomes:
                shown.sort(key=lambda one: one.probability or 0, reverse=True)
                left = sum((one.probability or Fraction(0) for one in shown[max_outcomes:]), Fraction(0))
                more = f"and {len(shown) - max_outcomes:,} more, together {percent(left)}"
                stack.append(Row(level, node, None, more))
                del shown[max_outcomes:]
            shown.sort(key=lambda one: not one.lost)
            stack += [Row(level, node, one) for one in reversed(shown)]

    def lines(self, *, best: bool = False, max_outcomes: int = 12) -> Iterator[str]:
        """Give the tree line by line; see `rows`."""
        for level, parent, node, more in self.rows(best=best, max_outcomes=max_outcomes):
            if node is None:
                yield f"{'  ' * level}  {more}"
                continue
            name = node.state
            if parent is not None and parent.decides:
                name = f"{'  ' * level}{'*' if node.best else ' '} {parent.who} {node.words}"
            elif parent is not None:
                name = f"{'  ' * level}  {node.name} ({node.chance})"
            yield f"{name}: {node.figure}{f' {node.leaf}' if node.leaf else ''}"

    @property
    def who(self) -> str:
        """Who decides here, seen by the player to move at the top."""
        return {"mover": "you", "other": "they"}.get(self.decides or "", "")

    @property
    def name(self) -> str:
        """What leads here, in words."""
        return self.words or self.state or "then"

    @property
    def chance(self) -> str:
        """The probability as text."""
        chance = self.probability or Fraction(0)
        return str(chance) if chance.denominator <= _READABLE else percent(chance)

    @property
    def figure(self) -> str:
        """The value as text."""
        return f"{self.value:.4f}".replace("-0.0000", "0.0000")

    def to_json(self) -> dict[str, Any]:
        """Give the tree as JSON data."""
        found: dict[int, dict[str, Any]] = {}
        for node in reversed(list(self._walk())):
            data: dict[str, Any] = {"value": node.value if math.isfinite(node.value) else str(node.value)}
            if node.label is not None:
                data["label"] = phrase(node.label)
            if node.probability is not None:
                data["probability"] = str(node.probability)
            if node.state is not None:
                data["state"] = node.state
            if node.leaf is not None:
                data["leaf"] = node.leaf
            if node.decides:
                data["decides"] = node.decides
                data["best"] = [phrase(child.label) for child in node.children if child.best]
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


class Row(NamedTuple):
    """A row of a tree that is shown: a node below its parent, or what is said of those that are left out."""

    level: int
    parent: Tree | None
    node: Tree | None
    more: str = ""


def percent(share: Fraction) -> str:
    """A probability in per cent."""
    return f"{100 * float(share):.3g} %"


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
        msg = f"depth={depth!r}: write a number of decisions"
        raise GameError(msg, value=depth, limit=0)
    builder = _Builder(plain(game), solution, max_places)
    builder.sense = getattr(game, "sense", "max") if solution is None else solution.sense
    return builder.run(builder.game.start() if state is None else state, depth)


class _Place:
    """A tree in the making; its value is that of the player to move there.

    ``offset + gain * value`` is what the player at `parent` makes of it.
    """

    def __init__(self, parent: _Place | None, label: Any, probability: Fraction | None) -> None:
        self.parent = parent
        self.label = label
        self.words = ""
        self.probability = probability
        self.depth = 0
        # Whether no decision has come before: the discount does not act there.
        self.first = True
        self.side = 1
        self.offset, self.gain = 0.0, 1.0
        self.state: Any = None
        # The last state on the way here, and the dice as they lie.
        self.base: Any = None
        self.seen: Rolled | None = None
        self.lost = False
        self.node: Any = None
        self.leaf: str | None = None
        self.value = 0.0
        self.children: list[Tree] = []

    def told(self) -> float:
        """What the player at `parent` makes of it."""
        return self.offset + self.gain * self.value


class _Builder:
    def __init__(self, game: Game[Any, Any], solution: Solution | None, max_places: int) -> None:
        self.game, self.solution, self.max_places = game, solution, max_places
        self.look = look_of(game)
        self.total = float(game.total)
        self.discount = float(game.discount)
        self.sense = "max"
        self.count = 1
        # States on the way to the place at hand, with the decisions left there.
        self.path: set[tuple[int, Any]] = set()
        self._examples: dict[int, tuple[Any, dict[Any, Rolled]]] = {}

    def run(self, state: Any, depth: int) -> Tree:
        top = _Place(None, None, None)
        self._enter(top, state, depth)
        places: list[_Place] = []
        stack = [(top, False)]
        while stack:
            place, left = stack.pop()
            if left:
                self.path.remove((place.depth, place.state))
                continue
            places.append(place)
            if place.leaf is None:
                if place.state is not None:
                    self.path.add((place.depth, place.state))
                    stack.append((place, True))
                stack += [(child, False) for child in reversed(list(self._branch(place)))]
        for place in reversed(places):
            finished = self._finish(place)
            if place.parent is None:
                return finished
            place.parent.children.append(finished)
        raise AssertionError

    # --- down ---------------------------------------------------------------------

    def _enter(self, place: _Place, state: Any, depth: int) -> None:
        """Find out what happens in the state of a place."""
        place.state, place.base, place.depth = state, state, depth
        if (depth, state) in self.path:
            place.value, _ = self._ahead(state)
            place.leaf = "again"
            return
        place.node = self._call(self.game.node, state)
        if type(place.node) is End:
            place.leaf, place.value = "end", float(place.node.payoff)
        # With a discount, what chance is worth depends on whether a decision came before.
        elif not depth and (type(place.node) is Decide or self.solution is None or self.discount == 1):
            place.value, place.leaf = self._ahead(state)

    def _ahead(self, state: Any) -> tuple[float, str]:
        """What a state is worth where the tree breaks off, and who says so."""
        if self.solution is not None:
            try:
                return self.solution.estimate(state), "value"
            except UnknownStateError:
                pass
        return float(self._call(self.game.estimate, state)), "estimate"

    def _branch(self, place: _Place) -> Iterator[_Place]:
        node = place.node
        kind = type(node)
        if kind is Decide:
            for action, option in zip(node.actions, node.options, strict=True):
                if option is not None and type(option) is not Unavailable:
                    words = self._call(self.look.words, place.state, action, place.seen)
                    yield self._add(place, action, words, None, option, place.depth - 1)
        elif kind is Chance:
            dist = node.dist
            for outcome, weight, edge in zip(dist.outcomes, dist.weights, node.edges, strict=True):
                probability = Fraction(weight, dist.total)
                if outcome is edge:
                    yield self._add(place, None, "", probability, edge, place.depth)
                    continue
                seen = self._seen(dist).get(outcome)
                lost = type(edge) is PassTo or (type(edge) is End and not edge.payoff)
                core, counters = parted(place.base)
                # A sum says itself what was rolled; counts of faces do not.
                plainly = isinstance(outcome, int | str) and type(self.look).heard is Look.heard
                heard = self._call(self.look.heard, core, outcome, None if plainly else seen, lost=lost)
                words = spoken(heard, counters) or phrase(outcome)
                child = self._add(place, outcome, words, probability, edge, place.depth, seen)
                child.lost = lost
                yield child
        elif kind is Go or kind is PassTo:
            yield self._add(place, None, "", Fraction(1), node, place.depth, place.seen)
        else:
            raise not_a_node_error(node).at(place.state)

    def _seen(self, dist: Any) -> dict[Any, Rolled]:
        """The likeliest roll of every outcome, where the distribution was made of dice."""
        if id(dist) not in self._examples:
            found: dict[Any, tuple[int, Any]] = {}
            throw = thrown(dist) if dist.source else None
            for faces, ways in () if throw is None else throw.rolls():
                outcome = throw.outcome(faces)
                if outcome not in found or ways > found[outcome][0]:
                    found[outcome] = ways, Rolled(faces, throw.dice)
            self._examples[id(dist)] = dist, {outcome: rolled for outcome, (_, rolled) in found.items()}
        return self._examples[id(dist)][1]

    def _add(
        self,
        parent: _Place,
        label: Any,
        words: str,
        probability: Fraction | None,
        edge: Any,
        depth: int,
        seen: Rolled | None = None,
    ) -> _Place:
        self.count += 1
        if self.count > self.max_places:
            msg = (
                f"the tree has more than max_places={self.max_places:,} lines; look fewer decisions ahead, "
                "or raise max_places"
            )
            raise StateLimitError(
                msg, explored=self.count, frontier=[parent.base], value=self.count, limit=self.max_places
            )
        place = _Place(parent, label, probability)
        place.words, place.seen = words, seen
        place.first = parent.first and type(parent.node) is not Decide
        place.side = parent.side
        kind = type(edge)
        if kind is End:
            place.leaf, place.value = "end", float(edge.payoff)
        elif kind is Chance:
            place.node, place.depth, place.base, place.offset = edge, depth, parent.base, float(edge.reward)
        elif kind is Go or kind is PassTo:
            self._enter(place, edge.state, depth)
            step = type(place.node) is Decide and not place.first
            place.gain = self.discount if step else 1.0
            place.offset = float(edge.reward)
            if kind is PassTo:
                place.offset += place.gain * self.total
                place.gain, place.side, place.seen = -place.gain, -place.side, None
        else:
            raise not_an_edge_error(edge).at(parent.state)
        return place

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
            children = [
                attrs.evolve(child, best=math.isclose(value, place.value, rel_tol=_EQUAL, abs_tol=_EQUAL))
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
            words=place.words,
            probability=place.probability,
            value=self._turn(place.value if place.parent is None else place.told(), side),
            best=False,
            lost=place.lost,
            decides=decides,
            state=None if place.state is None else self._call(self.look.show_state, place.state),
            leaf=place.leaf,
            children=tuple(children),
        )

    def _turn(self, value: float, side: int) -> float:
        """The value of one player as the other one sees it, if `side` is the other one's."""
        return value if side > 0 else self.total - value

    def _call(self, function: Any, state: Any, *more: Any, **named: Any) -> Any:
        try:
            return function(state, *more, **named)
        except MdpDiceError as error:
            raise error.at(state) from error.__cause__
        except Exception as error:
            msg = f"{function.__name__}() raised {type(error).__name__}: {error}"
            raise GameError(msg, state=state) from error
