"""The rules of a game as data: what happens in every core state, in numbers and small trees.

Every node is a row of whole numbers, and equal rows are written once:

====== ==============================================================================================
kind   numbers, then nodes
====== ==============================================================================================
END    payoff (an expression), what is said of it (a text)
DECIDE player, what the actions look like, and with the dice that lie there; a node for each action
CHANCE throw, reward, what is said of it; a node for each outcome
WHEN   condition (an expression); a node where it holds, and one where it does not, or the option is missing
GO     core state, update, reward
PASS   the same, and the other player is to move
====== ==============================================================================================

Where an expression, an update, a reward or a text is -1 there is none.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

from mdpdice.errors import UnsupportedError
from mdpdice.looks import Look, Rolled, Throw
from mdpdice.looks.throw import thrown
from mdpdice.modelling.counters import axes
from mdpdice.modelling.distribution import Dist
from mdpdice.modelling.expressions import Expr
from mdpdice.modelling.game import Chance, Conditional, Decide, End, Game, Go, PassTo, Unavailable, Uncertain
from mdpdice.web.words import Words

END, DECIDE, CHANCE, WHEN, GO, PASS = range(6)
STEPS, GONE = (Go, PassTo), (Unavailable, type(None))
MOST_STATES = 600_000
"""Core states that a page may have."""
MOST_ROLLS = 100_000
"""Rolls, of all throws together."""


def too_large(why: str) -> UnsupportedError:
    """Return the error for a game that does not fit into a page."""
    return UnsupportedError(f"this game does not fit into a page: {why}; 'mdpdice serve' plays it, too")


class Thrown:
    """A throw: its dice, its rolls, and which outcome of the distribution each of them is.

    Where one die is thrown for the sake of another, or there are too many, there are no rolls: outcomes are drawn.
    """

    def __init__(self, dist: Dist[Any]) -> None:
        made = thrown(dist)
        self.dist = dist
        if made and math.prod(math.comb(len(die.faces) + n - 1, n) for die, n in made.groups) > MOST_ROLLS:
            made = None
        self.throw: Throw = Throw((), lambda _: None) if made is None else made
        self.outcomes = dist.outcomes
        place = {outcome: at for at, outcome in enumerate(dist.outcomes)}
        self.faces = [faces for faces, _ in self.throw.rolls()] if self.throw.groups else []
        self.of = [place[self.throw.outcome(faces)] for faces in self.faces]
        if self.faces:
            self.throw.table(dist)  # or these are other dice
        self.rolled = [Rolled(faces, self.throw.dice) for faces in self.faces]
        # What makes it another throw.
        self.key: Hashable = (dist.outcomes, dist.weights, self.throw.groups, tuple(self.of))
        self.rolls: dict[int, list[int]] = {}
        for roll, outcome in enumerate(self.of):
            self.rolls.setdefault(outcome, []).append(roll)


class Rules:
    """What happens in every core state of the game of a look."""

    def __init__(self, look: Look[Any]) -> None:
        self.game: Game[Any, Any] = look.game
        self.axes = axes(self.game)
        self.axis = {axis.name: at for at, axis in enumerate(self.axes)}
        self.symmetric = type(self.game).canonical is not Game.canonical
        self.states: list[Any] = []
        self._places: dict[Any, int] = {}  # of states, and of those that are equal to one
        self.nodes: dict[tuple[Any, ...], int] = {}
        self.updates: dict[tuple[tuple[int, int], ...], int] = {}
        self.exprs: dict[Hashable, int] = {}
        self.trees: list[Any] = []
        self.throws: list[Thrown] = []
        self._throws: dict[Hashable, int] = {}
        self._rolls = 0
        self._of: dict[int, tuple[Dist[Any], int]] = {}  # by identity: some are made once and used in many states
        # The throws and outcomes after which the dice still lie there in a state, and the states where none may lie.
        self.arrivals: dict[int, set[tuple[int, int]]] = {}
        self.bare = {0}
        self.words = Words(look, self)
        self.state(self.game.start())
        nodes = list[Any]()
        for core in self.states:  # more are found on the way
            nodes.append(self.game.node(core))
            self._follow(nodes[-1], None)
        self.roots: list[int] = []
        self.tables: list[tuple[int, int]] = []
        for at, core in enumerate(self.states):
            lying = sorted(self.arrivals.get(at, ()))
            self.tables.append(self.words.table(core, lying, bare=at in self.bare))
            self.roots.append(self._node(nodes[at], core, lying, None, None))

    # --- numbers ----------------------------------------------------------------------------------

    def state(self, core: Any) -> int:
        """Return the number of a core state."""
        if (place := self._places.get(core)) is None:
            one = self.game.canonical(core) if self.symmetric else core
            place = self._places[core] = self._places.setdefault(one, len(self.states))
            if place == len(self.states):
                self.states.append(one)
            if place > MOST_STATES:
                raise too_large(f"it has more than {MOST_STATES:,} core states")
        return place

    def expr(self, value: Any) -> int:
        """Return the number of an expression, -1 for 0."""
        if not isinstance(value, Expr) and value == 0:
            return -1
        key = value.key if isinstance(value, Expr) else ("number", value)
        if key not in self.exprs:
            self.trees.append(self.tree(value))
        return self.exprs.setdefault(key, len(self.exprs))

    def tree(self, value: Any) -> Any:
        """Return an expression as nested lists."""
        if not isinstance(value, Expr):
            return int(value) if isinstance(value, int) else float(value)
        if value.op == "constant":
            return self.tree(value.args[0])
        if value.op == "counter":
            return ["counter", self.axis[value.args[0]]]
        if value.op == "table":
            return ["table", [self.tree(entry) for entry in value.args[0]], self.tree(value.args[1])]
        return [value.op, *map(self.tree, value.args)]

    def throw(self, dist: Dist[Any]) -> int:
        """Return the number of a throw."""
        if id(dist) not in self._of:
            made = Thrown(dist)
            if made.key not in self._throws:
                self._throws[made.key] = len(self.throws)
                self.throws.append(made)
                self._rolls += len(made.faces)
            if self._rolls > MOST_ROLLS:
                raise too_large(f"its dice have more than {MOST_ROLLS:,} rolls")
            self._of[id(dist)] = dist, self._throws[made.key]
        return self._of[id(dist)][1]

    def _follow(self, node: Any, arrival: tuple[int, int] | None) -> None:
        """Give numbers to the states behind a node, and note the dice that lie on the table there."""
        if isinstance(node, STEPS):
            to = self.state(node.state)
            if arrival is not None and isinstance(node, Go) and self.throws[arrival[0]].faces:
                self.arrivals.setdefault(to, set()).add(arrival)
            else:
                self.bare.add(to)
        elif isinstance(node, Decide):
            for option in node.options:
                self._follow(option, None)
        elif isinstance(node, Conditional):
            self._follow(node.then, arrival)
            self._follow(node.otherwise, arrival)
        elif isinstance(node, Chance):
            throw = self.throw(node.dist)
            for outcome, edge in enumerate(node.edges):
                self._follow(edge, (throw, outcome))

    def _node(self, node: Any, core: Any, lying: list[tuple[int, int]], action: Any, outcome: Any) -> int:
        """Return the number of a node of a core state."""
        row: tuple[Any, ...]
        if isinstance(node, STEPS):
            update = -1
            if node.updates:
                changes = tuple((self.axis[one.name], self.expr(one.value)) for one in node.updates)
                update = self.updates.setdefault(changes, len(self.updates))
            row = (PASS if isinstance(node, PassTo) else GO, self.state(node.state), update, self.expr(node.reward))
        elif isinstance(node, End):
            row = END, self.expr(node.payoff), self.words.ending(core, action, outcome, node.payoff), -1
        elif isinstance(node, Conditional):
            both = [branch for branch in (node.then, node.otherwise) if branch is not None]
            row = (WHEN, self.expr(node.cond), -1, -1, *(self._node(one, core, lying, action, outcome) for one in both))
        elif isinstance(node, Chance):
            throw = self.throw(node.dist)
            heard = self.words.heard(core, throw, node.edges)
            told = zip(node.dist.outcomes, node.edges, strict=True)
            below = [self._node(to, core, lying, action, one) for one, to in told]
            row = (CHANCE, throw, self.expr(node.reward), heard, *below)
        elif isinstance(node, Uncertain):
            raise too_large("nature picks some of its dice")
        else:
            each = zip(node.actions, node.options, strict=True)
            there = [(one, option) for one, option in each if not isinstance(option, GONE)]
            menu = self.words.menu(core, [one for one, _ in there], lying)
            row = (DECIDE, node.player, *menu, *(self._node(option, core, lying, one, None) for one, option in there))
        return self.nodes.setdefault(row, len(self.nodes))
