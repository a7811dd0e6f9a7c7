"""How a game is shown and spoken of: one `Look` for a class of games.

A look stands beside the rules, in a module `look` next to the game's own or below the game in one file, and is
registered when its class is made: ``class MyLook(Look[MyGame], of=MyGame)``.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import attrs

from mdpdice.errors import UnknownStateError
from mdpdice.looks import default
from mdpdice.looks.parts import Act, Part, Text, number, parted, spoken
from mdpdice.looks.text import Reader, phrase, written
from mdpdice.looks.throw import Rolled
from mdpdice.modelling.counters import axes
from mdpdice.modelling.game import Game
from mdpdice.modelling.grid import At, Axis
from mdpdice.modelling.text import decode, named_classes
from mdpdice.modelling.unrolling import Unrolled

if TYPE_CHECKING:
    from mdpdice.answers.solution import Solution
    from mdpdice.modelling.enclosure import Enclosure
    from mdpdice.modelling.tables import Table, Thresholds

G = TypeVar("G", bound=Game[Any, Any])
Progress: TypeAlias = Callable[[str, Mapping[str, float]], None]

_LOOKS: dict[type, type[Look[Any]]] = {}
_last: list[Any] = []  # the game that was asked for last, and its look: commands ask for one again and again


@attrs.frozen
class NamedPolicy:
    """A policy that a game knows by name; what stands behind the colon of that name is given to its functions."""

    form: str  #: how it is written, such as ``hold-at:N``
    help: str  #: what it does
    rule: Callable[[str], Callable[[Any], Any]]
    """Gives a function of a state with a decision: the action, or a `Dist` of actions; a GameError if that is wrong."""
    value: Callable[[str, Progress | None], Enclosure | None] | None = None
    """Gives the value, where that is known without exploring the game: of one too large, that falls into parts."""
    ratings: Callable[[str], Callable[[Any], Mapping[Any, Any] | None]] | None = None
    """Gives a function of a state with a decision: its own rating of every action, which need not be a value."""
    usual: str = ""  #: the name of one that opponents often play by, such as ``hold-at:20``


@attrs.frozen
class Goal:
    """A total that a player goes for."""

    name: str  #: what it is called, such as ``20 points or more``
    least: float | None = None  #: the smallest total that meets it
    most: float | None = None  #: the largest

    def met(self, total: float) -> bool:
        """Whether a total meets it."""
        return (self.least is None or total >= self.least) and (self.most is None or total <= self.most)


class Look(Generic[G]):
    """How states, actions and outcomes of a game are shown and read.

    Every method has a default that needs nothing but the declaration.  `table` and `act` are asked with a core state
    and write counters as ``self.game.points``, so that one answer serves all their values.
    """

    def __init_subclass__(cls, of: type[Game[Any, Any]] | None = None) -> None:
        if of is not None:
            _LOOKS[of] = cls
            _last.clear()

    def __init__(self, game: G) -> None:
        self.game = game
        self.start: Any = game.start()
        named = named_classes(type(game))
        own = type(self.start)
        if default.has_fields(self.start):
            named.setdefault(own.__name__, own)
        self.classes: Mapping[str, type] = named
        self._taken = frozenset(Reader("", named).words)
        self._parts: tuple[Any, list[Part]] | None = None

    @functools.cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The counters, as far as they have ranges: not in a game of infinite value."""
        return axes(self.game)

    # --- as data ----------------------------------------------------------------------------------

    def table(self, state: Any, seen: Rolled | None = None) -> list[Part]:
        """Return what lies on the table in a core state.

        `seen` are the dice as they lie, where the game merges rolls; None: that is not known.
        """
        return default.table(self.game, self.axes, state, seen)

    def act(self, state: Any, action: Any, seen: Rolled | None = None) -> Act:
        """Return an action in a core state: its words, and what is tapped for it; `seen` is as for `table`."""
        known = self._parts  # once: another thread may ask, too
        if known is None or known[0] != (state, seen):
            self._parts = known = (state, seen), self.table(state, seen)
        return default.act(known[1], action)

    def heard(self, state: Any, outcome: Any, seen: Rolled | None, *, lost: bool) -> Text:
        """Return what was thrown in a core state, in words: the outcome as the rules declare it, which dice show.

        It may be `lost`, and end the turn or the play.
        """
        return str(seen) if seen is not None and seen.faces else phrase(outcome)

    def ending(self, state: Any, action: Any, outcome: Any, payoff: Any) -> Text:
        """Return the end of a play for the player to move, from its last core state, action and outcome, if any."""
        if self.game.total == 1 and payoff in (0, 1):
            return "wins" if payoff else "loses"
        return f"the end pays {payoff}"

    # --- as text ----------------------------------------------------------------------------------

    def show_state(self, state: Any) -> str:
        """One line for a state, which `read_state` reads; of a game with counters, of an `At`.

        An `UnknownStateError` says that a part of the state has no text.
        """
        core, counters = parted(state)
        found = []
        if not self.axes or core != self.start or type(core) is not type(self.start):
            found.append(written(core, top=True, taken=self._taken))
        for axis in self.axes:
            value: Any = counters[axis.name]
            if axis.boxes:
                value = tuple(box for at, box in enumerate(axis.boxes) if value >> at & 1)
            found.append(f"{axis.name}={written(value, top=True)}")
        return " ".join(found)

    def read_state(self, text: str) -> Any:
        """State of a line: the inverse of `show_state`; an `UnknownStateError` where the text is not of that form.

        Counters that are not named are as at the start, and so is the core.  JSON as programs get it is read, too.
        """
        try:
            if '{"' in text:
                with contextlib.suppress(ValueError, RecursionError):
                    return decode(json.loads(text), self.classes)
            head, named = (reader := Reader(text, self.classes)).pairs()
            counters = {axis.name: axis.start for axis in self.axes}
            for axis in self.axes:
                # Counters stand behind the core, whose fields may have the same names.
                if named.get(axis.name):
                    counters[axis.name] = self._counter(axis, named[axis.name].pop())
            fields = {key: values[-1] for key, values in named.items() if values}
            core = self.start if head is ... and not fields and self.axes else reader.made(head, fields)
        except UnknownStateError as error:
            error.value = text
            with contextlib.suppress(UnknownStateError):
                error.message += f"; a state of this game is written like {self.show_state(self._example())}"
            raise
        return At(core, **counters) if self.axes else core

    def _example(self) -> Any:
        return At(self.start, **{axis.name: axis.start for axis in self.axes}) if self.axes else self.start

    def _counter(self, axis: Axis, given: Any) -> int:
        found = given
        if axis.boxes and type(given) is not int:
            boxes = [str(box) for box in (given if isinstance(given, tuple) else (given,))]
            if wrong := [box for box in boxes if box not in axis.boxes]:
                near = difflib.get_close_matches(wrong[0], axis.boxes, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; the boxes are {', '.join(axis.boxes)}"
                raise UnknownStateError(f"{axis.name} has no box {wrong[0]!r}{hint}", value=given)
            found = sum({1 << axis.boxes.index(box) for box in boxes})
        if type(found) is not int or found not in axis.values:
            msg = f"{axis.name}={given}: {axis.name} has the values {axis.values}"
            raise UnknownStateError(msg, value=given, limit=axis.values)
        return found

    def seen(self, text: str) -> Rolled | None:
        """Return the dice that a text of a state names, where the state itself does not keep them."""
        return None

    def words(self, state: Any, action: Any, seen: Rolled | None = None) -> str:
        """Return the words of an action in a state, which of a game with counters is an `At`."""
        core, counters = parted(state)
        return spoken(self.act(core, action, seen).words, counters)

    def read_action(self, state: Any, actions: Sequence[Any], text: str, seen: Rolled | None = None) -> Any:
        """Return the available action that some words mean: its own words, or the things that are tapped.

        It is an `UnknownStateError` if they mean none of them, or several.
        """
        core, counters = parted(state)
        wanted = "".join(text.split()).casefold()
        said: dict[Any, set[str]] = {}
        tapped: dict[Any, set[str]] = {}
        for action in actions:
            act = self.act(core, action, seen)
            said[action], tapped[action] = {spoken(act.words, counters), phrase(action)}, set()
            for part in self.table(core, seen) if act.tap else ():
                if act.tap and part.label == act.tap[0] and number(part.when, counters):
                    tapped[action] |= {" ".join(default.names_at(part, places)) for places in act.tap[1]}
        # Whoever names a box, or dice, that two actions take means the one whose words begin so.
        for fits, more in ((str.__eq__, tapped), (str.startswith, {})):
            texts = {action: said[action] | more.get(action, set()) for action in actions}
            plain = {action: ["".join(one.split()).casefold() for one in texts[action]] for action in actions}
            found = [action for action in actions if any(fits(one, wanted) for one in plain[action])]
            if wanted and len(found) == 1:
                return found[0]
        known = "; ".join(self.words(state, action, seen) for action in actions)
        raise UnknownStateError(f"{text!r} is not an action here; the actions are: {known}", value=text)

    # --- about answers ----------------------------------------------------------------------------

    def goals(self) -> list[Goal]:
        """Totals that players go for, whose chances are shown with advice; of games for one player."""
        return []

    def notes(self) -> list[str]:
        """Remarks to print with an answer, such as a bound that the game derived."""
        return []

    def infinite_reason(self) -> str | None:
        """Why the value is known to be infinite, where the rules alone show it; else None."""
        return None

    def summary(self, solution: Solution) -> list[str]:
        """Return the strategy of an answer in a few lines, such as thresholds."""
        return []

    def tables(self, solution: Solution | None) -> list[Table]:
        """Return the strategy of a proved answer as tables; without one, those that follow from the rules alone."""
        return []

    def thresholds(
        self, *, monotone: bool = False, search: int = 0, seed: int = 0, progress: Progress | None = None
    ) -> list[Thresholds]:
        """Thresholds of the optimal policy, and the best ones of a search; nothing where there are none.

        The `search` draws so many vectors at random, by the `seed`, before the best one is refined; `monotone` ones do
        not fall.  From time to time it calls ``progress("search", {"vectors": ..., "of": ...})``.
        """
        return []

    def policies(self) -> list[NamedPolicy]:
        """Return the policies that this game knows by name."""
        return []

    def policy(self, name: str) -> Callable[[Any], Any] | None:
        """Return the rule of a name such as ``hold-at:20``; None if the game knows no such name.

        A `GameError` says that what stands behind the name, as 20 does here, is wrong.
        """
        known, argument = self._named(name)
        return None if known is None else known.rule(argument)

    def policy_value(self, name: str, progress: Progress | None = None) -> Enclosure | None:
        """Value of a policy by name, where the game knows it without being explored; else None."""
        known, argument = self._named(name)
        return known.value(argument, progress) if known and known.value else None

    def ratings(self, name: str) -> Callable[[Any], Mapping[Any, Any] | None] | None:
        """How a policy by name rates the actions of a state, where it does."""
        known, argument = self._named(name)
        return known.ratings(argument) if known and known.ratings else None

    def _named(self, name: str) -> tuple[NamedPolicy | None, str]:
        head, _, argument = name.partition(":")
        known = next((one for one in self.policies() if one.form.partition(":")[0] == head), None)
        return known, argument


def look_of(game: Game[Any, Any]) -> Look[Any]:
    """Return the look of a game: that of its class or of the nearest class above, else the default.

    A module ``look`` beside the module of a class is imported first.
    """
    whole = game.game if isinstance(game, Unrolled) else game
    last = tuple(_last)  # at once: another thread may ask, too
    if not last or last[0] is not whole:
        last = whole, _look_class(type(whole))(whole)
        _last[:] = last
    found: Look[Any] = last[1]
    return found


def _look_class(kind: type) -> type[Look[Any]]:
    for cls in kind.__mro__:
        package = cls.__module__.rpartition(".")[0]
        if cls not in _LOOKS and issubclass(cls, Game) and cls is not Game and package:
            name = f"{package}.look"
            try:
                importlib.import_module(name)
            except ModuleNotFoundError as error:
                if error.name not in (name, package):
                    raise
        if cls in _LOOKS:
            return _LOOKS[cls]
    return Look
