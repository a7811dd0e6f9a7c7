"""The modelling language: a game is a start state and a function from states to nodes.

A node says what happens in a state: the play ends, chance moves, or a player
decides.  The makers `end`, `go`, `pass_to`, `roll`, `chance`, `when` and
`decide` build nodes; `mdpdice.explore` calls them for every state that can be
reached and compiles the answers into a `mdpdice.network.Network`.

>>> from mdpdice import Game, Node, decide, end, go, roll, d6
>>> class PigTurn(Game[int, str]):
...     def start(self) -> int:
...         return 0
...     def node(self, points: int) -> Node[int, str]:
...         if points >= 100:
...             return end(points)
...         return decide({
...             "hold": end(points),
...             "roll": roll(d6, lambda k: end() if k == 1 else go(points + k)),
...         })
"""

from __future__ import annotations

import abc
import copy
from collections.abc import Callable, Hashable, Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Never, TypeAlias, TypeVar, cast, overload

import numpy as np

from mdpdice.counters import At, Update
from mdpdice.dist import Dist, as_dist
from mdpdice.errors import DuplicateActionError, GameError, MdpDiceError, NonDeterministicGameError
from mdpdice.expressions import Expr

if TYPE_CHECKING:
    from mdpdice.enclosures import Enclosure
    from mdpdice.solution import Solution
    from mdpdice.tables import Table, Thresholds

__all__ = [
    "ClassicMDP",
    "Edge",
    "Game",
    "Node",
    "Option",
    "chance",
    "decide",
    "end",
    "go",
    "pass_to",
    "roll",
    "when",
]

Number: TypeAlias = int | float | Fraction
Updates: TypeAlias = tuple[Update, ...]
S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)
T = TypeVar("T")
S_co = TypeVar("S_co", covariant=True)
A_co = TypeVar("A_co", covariant=True)


class Node(Generic[S_co, A_co]):
    """What happens in one state, seen by the player who is to move there."""

    __slots__ = ()


class Option(Generic[S_co]):
    """What an action leads to; it may be unavailable."""

    __slots__ = ()


class Edge(Node[S_co, Never], Option[S_co]):
    """A way on that involves no decision of its own: it is both a node and an option."""

    __slots__ = ()


# Exploration makes one object per edge of the model, so these are plain slotted
# classes: an attrs or dataclass initialiser costs a third of a second per million.


class End(Edge[Never]):
    """The play stops; made by `end`."""

    __slots__ = ("payoff",)

    def __init__(self, payoff: Number | Expr) -> None:
        self.payoff = payoff

    def __repr__(self) -> str:
        return f"end({self.payoff!r})"


class Go(Edge[S_co]):
    """The play moves to a state; made by `go`."""

    __slots__ = ("reward", "state", "updates")

    def __init__(self, state: S_co, updates: Updates, reward: Number | Expr) -> None:
        self.state = state
        self.updates = updates
        self.reward = reward

    def __repr__(self) -> str:
        return f"go({_arguments(self)})"


class PassTo(Edge[S_co]):
    """The play moves to a state where the opponent is to move; made by `pass_to`."""

    __slots__ = ("reward", "state", "updates")

    def __init__(self, state: S_co, updates: Updates, reward: Number | Expr) -> None:
        self.state = state
        self.updates = updates
        self.reward = reward

    def __repr__(self) -> str:
        return f"pass_to({_arguments(self)})"


def _arguments(edge: Go[Any] | PassTo[Any]) -> str:
    paid = isinstance(edge.reward, Expr) or edge.reward != 0
    parts = [edge.state, *edge.updates]
    return ", ".join([*map(repr, parts), *([f"reward={edge.reward!r}"] if paid else [])])


class Chance(Edge[S_co]):
    """Chance moves; made by `roll` and `chance`."""

    __slots__ = ("dist", "edges", "reward")

    def __init__(self, dist: Dist[Any], edges: tuple[Edge[S_co], ...], reward: Number | Expr) -> None:
        self.dist = dist
        self.edges = edges
        self.reward = reward

    def __repr__(self) -> str:
        return f"roll({self.dist!r}, ...)"


class Unavailable(Option[Never]):
    """An option that cannot be taken; made by `when` with a false condition."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "when(False, ...)"


class Conditional(Edge[Any]):
    """A choice by the counters, which is made while playing; made by `when` with an expression.

    Attributes
    ----------
    cond : Expr
        The condition.
    then : Node
        What follows where it holds: edges, or two nodes if it is what `Game.node` gives.
    otherwise : Node or None
        What follows elsewhere.  None: it is an option, available where the condition holds.
    """

    __slots__ = ("cond", "otherwise", "then")

    def __init__(self, cond: Expr, then: Node[Any, Any], otherwise: Node[Any, Any] | None) -> None:
        self.cond = cond
        self.then = then
        self.otherwise = otherwise

    def __repr__(self) -> str:
        others = "" if self.otherwise is None else f", {self.otherwise!r}"
        return f"when({self.cond!r}, {self.then!r}{others})"


class Decide(Node[S_co, A_co]):
    """A player decides; made by `decide`."""

    __slots__ = ("actions", "options", "player")

    def __init__(self, actions: list[A_co], options: list[Option[S_co]], player: int) -> None:
        self.actions = actions
        self.options = options
        self.player = player

    def __repr__(self) -> str:
        return f"decide({dict(zip(self.actions, self.options, strict=True))!r})"


_UNAVAILABLE = Unavailable()
_ZERO_END = End(0)
_MISSING: Any = object()


def end(payoff: Number | Expr = 0) -> Edge[Never]:
    """Stop the play with a payoff, seen by the player to move; it may be an expression over counters."""
    return _ZERO_END if type(payoff) is int and payoff == 0 else End(payoff)


def go(state: S, *updates: Update, reward: Number | Expr = 0) -> Edge[S]:
    """Move on to `state`, where the same player is to move.

    Parameters
    ----------
    state : hashable
        The next state; of a game with counters, the core of it.
    *updates : Update
        Changes of counters, such as ``self.points.add(5)``.  They are simultaneous; counters that
        are not named keep their values.
    reward : number or Expr
        Paid on the way, computed from the counters before the updates.

    Raises
    ------
    GameError
        Two updates are of one counter, or one is something else.
    """
    return Go(state, _checked(updates) if updates else (), reward)


def pass_to(state: S, *updates: Update, reward: Number | Expr = 0) -> Edge[S]:
    """Move on to `state`, where the opponent is to move; updates and reward as in `go`.

    The mover's value of this edge is ``reward + total - V``, where ``V`` is what
    the opponent makes of `state` and ``total`` is `Game.total`.
    """
    return PassTo(state, _checked(updates) if updates else (), reward)


def _checked(updates: tuple[Any, ...]) -> Updates:
    """Updates of one edge, which are of different counters."""
    if len(updates) == 1 and type(updates[0]) is Update:
        return updates
    names: set[str] = set()
    for update in updates:
        if not isinstance(update, Update):
            msg = (
                f"go() and pass_to() take updates such as self.points.add(5) after the state, not {update!r}"
            )
            if isinstance(update, tuple | list):
                msg += "; write a star before a collection of them: go(state, *updates)"
            raise GameError(msg, value=update)
        if update.name in names:
            msg = (
                f"counter {update.name!r} is updated twice on one edge, and the updates of an edge are "
                "simultaneous; write one update with the new value"
            )
            raise GameError(msg, value=update)
        names.add(update.name)
    return updates


def roll(dist: Dist[T], then: Callable[[T], Edge[S]], *, reward: Number | Expr = 0) -> Edge[S]:
    """Let chance draw an outcome of `dist` and go on with ``then(outcome)``.

    Parameters
    ----------
    dist : Dist
        What is rolled; a die of icepool or dyce is accepted too.
    then : callable
        Gives the edge to follow for every outcome.  It may roll again; it may
        not decide: a decision has a state of its own, reached by ``go(state)``.
    reward : number or Expr
        Paid once, on entering the chance node.
    """
    if type(dist) is not Dist:
        dist = as_dist(dist)
    return Chance(dist, tuple(map(then, dist.outcomes)), reward)


def chance(dist: Dist[Edge[S]], *, reward: Number | Expr = 0) -> Edge[S]:
    """Let chance draw an edge: `roll` for outcomes that are edges already."""
    if type(dist) is not Dist:
        dist = as_dist(dist)
    return Chance(dist, dist.outcomes, reward)


@overload
def when(cond: bool | Expr, then: Edge[S]) -> Option[S]: ...
@overload
def when(cond: bool | Expr, then: Edge[S], otherwise: Edge[S]) -> Edge[S]: ...
@overload
def when(cond: bool | Expr, then: Node[S, A], otherwise: Node[S, A]) -> Node[S, A]: ...
def when(cond: bool | Expr, then: Any, otherwise: Any = _MISSING) -> Any:
    """Choose by a condition: a guarded option, a conditional edge or a conditional node.

    ``when(cond, edge)`` is an option that is there only if `cond` holds; it may
    stand directly inside `decide` only.  With a third argument the condition
    chooses between two edges or two nodes.

    A bool chooses at once.  An expression over counters, such as ``self.points < self.cap``,
    chooses while playing; that is no decision and takes no step.

    Raises
    ------
    GameError
        If `cond` is neither a bool nor a condition over counters.
    """
    if isinstance(cond, Expr):
        if cond.op != "constant":
            return _conditional(cond, then, otherwise)
        cond = cond.args[0]
    if not isinstance(cond, bool | np.bool_):
        msg = f"the condition of when() is {cond!r}; write a comparison that gives True or False"
        raise GameError(msg, value=cond)
    if cond:
        return then
    return _UNAVAILABLE if otherwise is _MISSING else otherwise


def _conditional(cond: Expr, then: Any, otherwise: Any) -> Conditional:
    if not cond.boolean:
        msg = f"the condition of when() is {cond}, a number; compare it, as in when({cond} > 0, ...)"
        raise GameError(msg, value=cond)
    if otherwise is _MISSING and isinstance(then, Decide):
        msg = f"when({cond}, decide(...)) leaves open what happens elsewhere; give it a third argument"
        raise GameError(msg, value=then)
    for branch in (then,) if otherwise is _MISSING else (then, otherwise):
        if isinstance(branch, Unavailable) or (isinstance(branch, Conditional) and branch.otherwise is None):
            msg = (
                "when(cond, edge) is an option that may be missing, so it stands directly inside decide() only; "
                "join conditions with &, as in when(a & b, edge), or give it a third argument"
            )
            raise GameError(msg, value=branch)
        if not isinstance(branch, Node):
            msg = f"when() chooses between edges or nodes, not {branch!r}; use go(...), end(...), decide(...)"
            raise GameError(msg, value=branch)
    return Conditional(cond, then, None if otherwise is _MISSING else otherwise)


def decide(
    options: Mapping[A, Option[S] | None] | Iterable[tuple[A, Option[S] | None]], *, player: int = 0
) -> Node[S, A]:
    """Let a player choose among options.

    Parameters
    ----------
    options : mapping or iterable of (action, option)
        In the order in which ties are broken.  An option that is None is left out.
    player : {0, 1}
        0 maximises, 1 minimises; payoffs are those of player 0.

    Raises
    ------
    DuplicateActionError
        Two options have the same action.
    NonDeterministicGameError
        The options come from a set, whose order changes from run to run.
    """
    if isinstance(options, Mapping):
        mapping = cast("Mapping[A, Option[S] | None]", options)
        actions, chosen = list(mapping), list(mapping.values())
    else:
        if isinstance(options, set | frozenset):
            msg = "the options of decide() come from a set, whose order changes from run to run; sort them into a list"
            raise NonDeterministicGameError(msg)
        actions, chosen = _pairs(options)
    if player not in (0, 1):
        msg = f"player {player!r}: the players are 0 (maximises) and 1 (minimises)"
        raise GameError(msg, value=player)
    return Decide(actions, cast("list[Option[S]]", chosen), player)


def _pairs(options: Iterable[tuple[A, Option[S] | None]]) -> tuple[list[A], list[Option[S] | None]]:
    if not isinstance(options, Iterable):
        msg = f"decide() takes a mapping or pairs (action, option), not {options!r}"
        raise GameError(msg, value=options)
    pairs = options if isinstance(options, list | tuple) else list(options)
    try:
        actions = [action for action, _ in pairs]
        chosen = [option for _, option in pairs]
    except (TypeError, ValueError) as error:
        msg = f"decide() takes a mapping or pairs (action, option): {error}"
        raise GameError(msg) from error
    try:
        distinct = len(set(actions))
    except TypeError as error:
        msg = f"an action cannot be hashed ({error}); use strings, numbers, tuples or frozen attrs classes"
        raise GameError(msg) from error
    if distinct < len(actions):
        seen: set[A] = set()
        twice = next(a for a in actions if a in seen or seen.add(a))  # type: ignore[func-returns-value]
        msg = f"action {twice!r} is given twice; every option of a decision needs an action of its own"
        raise DuplicateActionError(msg, action=twice)
    return actions, chosen


class Game(abc.ABC, Generic[S, A]):
    """A game: a start state, and what happens in every state.

    Subclasses are frozen attrs classes whose fields are the parameters of the
    game.  A subclass defines `start` and `node`; everything else has a default.

    Attributes
    ----------
    total : number
        Sum of the payoffs of the two sides of `pass_to`.  With ``total = 1`` and
        ``end(1)`` or ``end(0)``, values are chances to win.
    discount : number
        Factor per decision, in (0, 1].
    payoff_range : tuple of two numbers or None
        Bounds of what any state can be worth (of the payoffs, if nothing is paid on the way); for
        look-ahead only, which can leave more out then and tell an interval.
    """

    # No slots here: subclasses may set class attributes and cache what they derive.
    total: ClassVar[Any] = 0
    discount: Any = 1
    payoff_range: ClassVar[tuple[Number, Number] | None] = None

    @abc.abstractmethod
    def start(self) -> S:
        """State where a play starts."""

    @abc.abstractmethod
    def node(self, state: S, /) -> Node[S, A]:
        """What happens in a state; of a game with counters, in a core state whatever the counters are."""

    def progress(self) -> Expr | tuple[Expr, ...] | None:
        """What never decreases along an edge: an expression over counters, or several, the first most important.

        A game with counters is solved by layers of equal progress, from the last to the first.
        None: it is inferred.
        """
        return None

    def unrolled(self) -> Game[At[S], A]:
        """The same game with the counters inside its states, for whatever reads plain games.

        It is explored state by state, so it is the slow and simple way.
        """
        from mdpdice.unrolling import unroll_counters

        return unroll_counters(self)

    def canonical(self, state: S) -> S:
        """Representative of the states that symmetry makes equal to `state`; applied to every target."""
        return state

    def estimate(self, state: S) -> float:
        """Guess what a state is worth, for `mdpdice.solvers.lookahead`; seen as its payoffs would be.

        Asked where the search breaks off, which may be a state where chance moves, and never an
        end.  It must lie in `payoff_range`.  By default half the `total`, what an endless play is worth,
        or the number of `payoff_range` next to it.
        """
        middle = float(self.total) / 2
        if self.payoff_range is None:
            return middle
        return min(max(middle, float(self.payoff_range[0])), float(self.payoff_range[1]))

    def at(self, state: Hashable) -> Game[Any, A]:
        """Return the same game, started in another state.

        Parameters
        ----------
        state : hashable
            Any state that `node` knows, reached from the usual start or not; of a game with counters
            an `At`, and then the game that is returned is `unrolled`.

        Examples
        --------
        >>> from mdpdice import solve
        >>> from mdpdice.games.pig import PigTurn
        >>> solve(PigTurn().at(19)).action(), solve(PigTurn().at(20)).action()
        ('roll', 'hold')
        """
        from mdpdice.counters import axes

        moved: Game[Any, A] = self.unrolled() if axes(self) else copy.copy(self)
        # Frozen attrs classes refuse an ordinary assignment.
        object.__setattr__(moved, "start", lambda: state)
        return moved

    def show_state(self, state: S) -> str:
        """Text of a state, as the command line prints and reads it; of a game with counters, of an `At`."""
        from mdpdice.statetext import show

        return show(state)

    def read_state(self, text: str) -> S:
        """State of a text: the inverse of `show_state`.

        Raises
        ------
        UnknownStateError
            The text is not of the form that `show_state` writes.
        """
        from mdpdice.statetext import read

        return cast("S", read(text, type(self)))

    def infinite_reason(self) -> str | None:
        """Why the value is known to be infinite, where the rules alone show it; else None."""
        return None

    def notes(self) -> list[str]:
        """Remarks to print with an answer, such as a bound that the game derived."""
        return []

    def summary(self, solution: Solution) -> list[str]:
        """Lines that tell an answer in the words of the game, such as thresholds."""
        return []

    def tables(self, solution: Solution) -> list[Table]:
        """Tables that tell the strategy of an answer in the words of the game; `summary` may show one of them.

        Raises
        ------
        NotCertifiedError
            The solution was not proved.
        """
        return []

    def policy_names(self) -> Mapping[str, str]:
        """The policies that this game knows by name: how each is written, and what it does.

        For instance ``{"hold-at:N": "hold as soon as the turn has N points"}``.
        """
        return {}

    def named_policy(self, name: str) -> Callable[[S], Any] | None:
        """The rule of a name, such as ``hold-at:20``; None if the game knows no such name.

        The rule takes a state in which somebody decides and gives the action, or a
        `Dist` of actions, as `mdpdice.Policy.of` wants it.

        Raises
        ------
        GameError
            What stands behind the name, as 20 does above, is wrong.
        """
        return None

    def thresholds(self, *, monotone: bool = False, search: int = 0, seed: int = 0) -> list[Thresholds]:
        """Thresholds of the optimal policy, and the best ones of a search; nothing where there are none.

        Parameters
        ----------
        monotone : bool
            Search among vectors that do not fall.
        search : int
            Vectors to draw at random before the best one is refined; 0: no search.
        seed : int
            Seed of the random numbers.
        """
        return []

    def policy_value(self, name: str) -> Enclosure | None:
        """Value of a named policy, where the game knows how to find it without exploring itself; else None.

        For games whose network would not fit into memory, but fall into parts that do.
        """
        return None

    @staticmethod
    def of(
        *,
        start: S,
        node: Callable[[S], Node[S, A]],
        total: Number = 0,
        discount: Number = 1,
    ) -> Game[S, A]:
        """Make a game of a start state and a function, for notebooks and tests."""
        return _FunctionGame(start, node, total, discount)


class _FunctionGame(Game[S, A]):
    def __init__(self, start: S, node: Callable[[S], Node[S, A]], total: Number, discount: Number) -> None:
        self._start = start
        self._node = node
        self.total = total  # type: ignore[misc]  # a class attribute elsewhere, one per object here
        self.discount = discount

    def start(self) -> S:
        return self._start

    def node(self, state: S, /) -> Node[S, A]:
        return self._node(state)


class ClassicMDP(Game[S, A]):
    """A Markov decision process in the textbook form: actions, transitions, rewards.

    A subclass defines `initial`, `actions`, `transition`, and where needed
    `reward`, `terminal` and `discount`.
    """

    @abc.abstractmethod
    def initial(self) -> S:
        """State where the process starts."""

    @abc.abstractmethod
    def actions(self, state: S, /) -> Iterable[A]:
        """Actions of a state that is not terminal."""

    @abc.abstractmethod
    def transition(self, state: S, action: A, /) -> Dist[S]:
        """Distribution of the next state."""

    def reward(self, state: S, action: A, target: S, /) -> Number:
        """Reward of a transition."""
        return 0

    def terminal(self, state: S, /) -> bool:
        """Whether the process ends in a state, with payoff 0."""
        return False

    def start(self) -> S:
        """The initial state."""
        return self.initial()

    def node(self, state: S, /) -> Node[S, A]:
        """An end, or a decision whose options are the transitions of the actions."""
        if self.terminal(state):
            return end()
        return decide([(action, self._option(state, action)) for action in self._actions(state)])

    def _actions(self, state: S) -> Iterable[A]:
        actions = self.actions(state)
        if isinstance(actions, set | frozenset):
            msg = "actions() gives a set, whose order changes from run to run; sort it into a list"
            raise NonDeterministicGameError(msg, state=state)
        return actions

    def _option(self, state: S, action: A) -> Edge[S]:
        try:
            return roll(
                self.transition(state, action),
                lambda target: go(target, reward=self.reward(state, action, target)),
            )
        except MdpDiceError as error:
            raise error.at(state, action) from error.__cause__
        except Exception as error:
            msg = f"transition() or reward() raised {type(error).__name__}: {error}"
            raise GameError(msg, state=state, action=action) from error
