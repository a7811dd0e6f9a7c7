"""Nodes, which say what happens in a state, and the makers that build them.

The makers return `Node`, `Option` and `Edge` and never a concrete class: that is what lets type checkers
infer the states and actions of a game.  Whoever reads a game looks at the concrete classes.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Generic, Never, TypeAlias, TypeVar, cast, overload

import numpy as np

from mdpdice.errors import DuplicateActionError, GameError, NonDeterministicGameError
from mdpdice.modelling.counters import Update
from mdpdice.modelling.distribution import Dist, as_dist, product
from mdpdice.modelling.expressions import Expr

Number: TypeAlias = int | float | Fraction
Updates: TypeAlias = tuple[Update, ...]
S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)
T = TypeVar("T")
U = TypeVar("U")
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


class _Move(Edge[S_co]):
    __slots__ = ("reward", "state", "updates")
    maker = ""

    def __init__(self, state: S_co, updates: Updates, reward: Number | Expr) -> None:
        self.state = state
        self.updates = updates
        self.reward = reward

    def __repr__(self) -> str:
        paid = isinstance(self.reward, Expr) or self.reward != 0
        parts = [*map(repr, (self.state, *self.updates)), *([f"reward={self.reward!r}"] if paid else [])]
        return f"{self.maker}({', '.join(parts)})"


class Go(_Move[S_co]):
    """The play moves to a state; made by `go`."""

    __slots__ = ()
    maker = "go"


class PassTo(_Move[S_co]):
    """The play moves to a state where the opponent is to move; made by `pass_to`."""

    __slots__ = ()
    maker = "pass_to"


class Chance(Edge[S_co]):
    """Chance moves; made by `roll` and `chance`."""

    __slots__ = ("dist", "edges", "reward")

    def __init__(self, dist: Dist[Any], edges: tuple[Edge[S_co], ...], reward: Number | Expr) -> None:
        self.dist = dist
        self.edges = edges
        self.reward = reward

    def __repr__(self) -> str:
        return f"roll({self.dist!r}, ...)"


class Uncertain(Edge[S_co]):
    """Nature picks one of several rolls; made by `uncertain`."""

    __slots__ = ("actions", "against", "options")
    reward, updates = 0, ()

    def __init__(self, options: tuple[Chance[S_co], ...], against: str) -> None:
        self.options = options
        self.against = against
        self.actions = [f"die {number}" for number in range(1, len(options) + 1)]

    def victim(self, mover: int) -> int:
        """Player whom nature opposes, where `mover` decides."""
        return {"mover": mover, "other": 1 - mover}.get(self.against, 0)

    def pick(self, values: Sequence[float], mover: int, sense: str) -> int:
        """Place of the roll that nature picks by what each is worth, seen as payoffs are."""
        little = (self.victim(mover) == 0) == (sense == "max")
        return values.index(min(values) if little else max(values))

    def __repr__(self) -> str:
        return f"uncertain({', '.join(repr(option.dist) for option in self.options)}, ...)"


class Unavailable(Option[Never]):
    """An option that cannot be taken; made by `when` with a false condition."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "when(False, ...)"


class Conditional(Edge[Any]):
    """A choice by the counters, which is made while playing; made by `when` with an expression.

    Without `otherwise` it is an option, available where the condition holds.
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


_new: Any = object.__new__  # an initialiser takes as long again as it takes to make a small object
_UNAVAILABLE = Unavailable()
_ZERO_END = End(0)
_MISSING: Any = object()


def end(payoff: Number | Expr = 0, *updates: Never, reward: None = None) -> Edge[Never]:
    """Stop the play.

    Parameters
    ----------
    payoff : number or Expr
        What the play is worth from here, on top of the rewards on the way; seen by the player to move.
    *updates : Never
        Not to be given: counters change no more.
    reward : None
        Not to be given: the payoff is all that an end pays.

    Raises
    ------
    GameError
        A reward or an update is given.
    """
    if updates:
        new = repr(updates[0].value) if isinstance(updates[0], Update) else "..."
        given = ", ".join(map(repr, (payoff, *updates)))
        how = f"a payoff that depends on their new values is written with them, as in end({new})"
        msg = f"end({given}): the play stops here, so counters change no more; {how}"
        raise GameError(msg, value=updates[0])
    if reward is not None:
        both = f"{_summed(payoff)} + {_summed(reward)}"
        msg = f"end({payoff!r}, reward={reward!r}): an end pays its payoff alone; add the reward to it: end({both})"
        raise GameError(msg, value=reward)
    return _ZERO_END if type(payoff) is int and payoff == 0 else End(payoff)


def _summed(number: object) -> str:
    """Text of a number as one of the terms of a sum."""
    text = repr(number)
    return text if text.isidentifier() or text.replace(".", "", 1).isdecimal() else f"({text})"


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
        Paid by this edge, computed from the counters before the updates.

    Raises
    ------
    GameError
        Two updates are of one counter, or one is something else.
    """
    edge: Go[S] = _new(Go)
    edge.state = state
    edge.updates = _checked(updates) if updates else ()
    edge.reward = reward
    return edge


def pass_to(state: S, *updates: Update, reward: Number | Expr = 0) -> Edge[S]:
    """Move on to `state`, where the opponent is to move; updates, reward and errors are those of `go`.

    The mover's value of this edge is ``reward + total - V``, where ``V`` is what
    the opponent makes of `state` and ``total`` is `Game.total`.

    Parameters
    ----------
    state : hashable
        The next state, described from the opponent's view; of a game with counters, the core of it.
    *updates : Update
        Changes of counters; scores of the two sides change places here.
    reward : number or Expr
        Paid to the mover.
    """
    edge: PassTo[S] = _new(PassTo)
    edge.state = state
    edge.updates = _checked(updates) if updates else ()
    edge.reward = reward
    return edge


def _checked(updates: tuple[Any, ...]) -> Updates:
    """Check the updates of one edge, which are of different counters."""
    if len(updates) == 1 and type(updates[0]) is Update:
        return updates
    names: set[str] = set()
    for update in updates:
        if not isinstance(update, Update):
            msg = f"go() and pass_to() take updates such as self.points.add(5) after the state, not {update!r}"
            if isinstance(update, tuple | list):
                msg += "; write a star before a collection of them: go(state, *updates)"
            raise GameError(msg, value=update)
        if update.name in names:
            raise GameError(f"counter {update.name!r} is updated twice on one edge; write one update", value=update)
        names.add(update.name)
    return updates


@overload
def roll(dist: Dist[T], then: Callable[[T], Edge[S]], *, reward: Number | Expr = 0) -> Edge[S]: ...
@overload
def roll(a: Dist[T], b: Dist[U], then: Callable[[T, U], Edge[S]], /, *, reward: Number | Expr = 0) -> Edge[S]: ...
@overload
def roll(a: Dist[Any], b: Dist[Any], c: Dist[Any], /, *more: Any, reward: Number | Expr = 0) -> Edge[Any]: ...
def roll(dist: Dist[Any], then: Any, *more: Any, reward: Number | Expr = 0) -> Edge[Any]:
    """Let chance draw an outcome of `dist` and go on with ``then(outcome)``.

    Parameters
    ----------
    dist : Dist
        What is rolled; a die of icepool or dyce is accepted too.
    then : callable
        Gives the edge to follow for every outcome.  It may roll again; it may
        not decide: a decision has a state of its own, reached by ``go(state)``.
    *more : Dist or callable
        For several dice the function comes last and gets one outcome of each: ``roll(d6, d6, lambda a, b: ...)``.
    reward : number or Expr
        Paid once, on entering the chance node.

    Raises
    ------
    GameError
        The last argument is not a function of one outcome of each distribution.
    """
    __tracebackhide__ = True
    if more:
        *others, then = then, *more
        dist = product(dist, *others)
    elif type(dist) is not Dist:
        dist = as_dist(dist)
    try:
        edges = itertools.starmap(then, dist.outcomes) if more else map(then, dist.outcomes)
        return Chance(dist, tuple(edges), reward)
    except TypeError as error:
        if (wrong := _misfit(then, *(dist.outcomes[0] if more else dist.outcomes[:1]))) is None:
            raise
        raise GameError(wrong, value=then) from error


def uncertain(
    *dists: Dist[T], then: Callable[[T], Edge[S]], reward: Number | Expr = 0, against: str = "mover"
) -> Edge[S]:
    """Let nature pick one of several distributions, and roll it: again every time, and against a player.

    This is not a player's decision: it takes no step, and its node in a network has no state.  The distributions are
    called ``"die 1"``, ``"die 2"``, ...

    Parameters
    ----------
    *dists : Dist
        What may be rolled.
    then, reward
        As for `roll`, whose errors are raised here too.
    against : {"mover", "other", "starter"}
        Whom nature opposes: who is to move (player 0, or who decides where this is an option), the other one, or
        always player 0; with `pass_to` one of the first two.

    Raises
    ------
    GameError
        There is no distribution, or `against` is something else.
    """
    __tracebackhide__ = True
    if not dists or against not in ("mover", "other", "starter"):
        msg = "uncertain() takes distributions, then=..., and against='mover', against='other' or against='starter'"
        raise GameError(msg, value=against)
    return Uncertain(tuple(cast("Chance[S]", roll(dist, then, reward=reward)) for dist in dists), against)


def _misfit(then: Any, *outcomes: Any) -> str | None:
    """Return why something is not a function of an outcome of each die; None if it is one, or may be."""
    if not callable(then):
        return f"roll() takes a function from an outcome to an edge, not {then!r}; write lambda k: go(k)"
    try:
        inspect.signature(then).bind(*outcomes)
    except TypeError as error:
        first: Any = outcomes[0]
        got, remedy = f"one outcome, here {first!r}", "lambda k: go(k)"
        if len(outcomes) > 1:
            got, remedy = f"{len(outcomes)} outcomes, here {outcomes}", "lambda a, b: go(a + b)"
        elif isinstance(first, tuple):
            got = f"one outcome, here the tuple {first}"
            remedy = "lambda dice: go(sum(dice)), or roll(d6, d6, lambda a, b: ...)"
        return f"`then` of roll() gets {got} ({error}); write {remedy}"
    except ValueError:
        pass
    return None


def chance(dist: Dist[Edge[S]], *, reward: Number | Expr = 0) -> Edge[S]:
    """Let chance draw an edge: `roll` for outcomes that are edges already.

    Parameters
    ----------
    dist : Dist of Edge
        The edges and how probable they are.
    reward : number or Expr
        Paid once, on entering the chance node.
    """
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
    chooses while playing; that is not a decision and takes no step.

    Parameters
    ----------
    cond : bool or Expr
        The condition.
    then : Edge or Node
        What follows where it holds.
    otherwise : Edge or Node, optional
        What follows where it does not.  Left out: nothing, so the option is not available there.

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
        raise GameError(f"the condition of when() is {cond!r}; write a comparison that gives True or False", value=cond)
    if cond:
        return then
    return _UNAVAILABLE if otherwise is _MISSING else otherwise


def _conditional(cond: Expr, then: Any, otherwise: Any) -> Conditional:
    if not cond.boolean:
        raise GameError(f"the condition of when() is {cond!r}, a number; write when({cond!r} > 0, ...)", value=cond)
    if otherwise is _MISSING and isinstance(then, Decide):
        raise GameError(f"when({cond!r}, decide(...)) leaves the rest open; give it a third argument", value=then)
    for branch in (then,) if otherwise is _MISSING else (then, otherwise):
        if isinstance(branch, Unavailable) or (isinstance(branch, Conditional) and branch.otherwise is None):
            how = "join conditions with &, as in when(a & b, edge), or give it a third argument"
            raise GameError(f"when(cond, edge) stands directly inside decide() only; {how}", value=branch)
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
    # Asking whether a list is a mapping, or a set, takes longer than taking it apart.
    if type(options) is list:
        actions, chosen = _pairs(options)
    elif isinstance(options, Mapping):
        mapping = cast("Mapping[A, Option[S] | None]", options)
        actions, chosen = list(mapping), list(mapping.values())
    else:
        if isinstance(options, set | frozenset):
            msg = "the options of decide() come from a set, whose order changes from run to run; sort them into a list"
            raise NonDeterministicGameError(msg)
        if not isinstance(options, Iterable):
            raise GameError(f"decide() takes a mapping or pairs (action, option), not {options!r}", value=options)
        actions, chosen = _pairs(list(options))
    if player not in (0, 1):
        raise GameError(f"player {player!r}: the players are 0 (maximises) and 1 (minimises)", value=player)
    return Decide(actions, chosen, player)  # type: ignore[arg-type]


def _pairs(pairs: list[tuple[A, Option[S] | None]]) -> tuple[list[A], list[Option[S] | None]]:
    try:
        if len(found := dict(pairs)) == len(pairs):
            return list(found), list(found.values())
    except (TypeError, ValueError):
        pass  # the error that this means is made below
    try:
        actions = [action for action, _ in pairs]
        chosen = [option for _, option in pairs]
    except (TypeError, ValueError) as error:
        raise GameError(f"decide() takes a mapping or pairs (action, option): {error}") from error
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
