"""The modelling language: a game is a start state and a function from states to nodes.

A node says what happens in a state: the play ends, chance moves, or a player decides.  The makers `end`, `go`,
`pass_to`, `roll`, `uncertain`, `chance`, `when` and `decide` build nodes; `mdpdice.explore` calls them for every
state that can be reached and compiles the answers into a `mdpdice.networks.network.Network`.  The tutorial begins with
an example.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Generic, Never, TypeAlias, TypeVar

from mdpdice.errors import GameError, NonDeterministicGameError
from mdpdice.modelling.asking import placed, raised_error, undecorated
from mdpdice.modelling.counters import At
from mdpdice.modelling.distribution import Dist, as_dist
from mdpdice.modelling.expressions import Expr
from mdpdice.modelling.nodes import (
    Chance,
    Conditional,
    Decide,
    Edge,
    End,
    Go,
    Node,
    Option,
    PassTo,
    Unavailable,
    Uncertain,
    chance,
    decide,
    end,
    go,
    pass_to,
    roll,
    uncertain,
    when,
)
from mdpdice.modelling.sense import Sense, changed

__all__ = [
    "Chance", "ClassicMDP", "Conditional", "Decide", "Edge", "End", "Game", "Go", "Node", "Option", "PassTo",
    "Unavailable", "Uncertain", "chance", "decide", "end", "go", "pass_to", "roll", "uncertain", "when",
]  # fmt: skip

Number: TypeAlias = int | float | Fraction
S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)


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
    sense : {"max", "min"}
        Whether the player to move maximises what counts, or minimises it, as in golf.
    payoff_range : tuple of two numbers or None
        Bounds of what any state can be worth (of the payoffs, if there are no other rewards); for
        look-ahead only, which can leave more out then and tell an interval.
    """

    # No slots here: subclasses may set class attributes and cache what they derive.
    total: ClassVar[Any] = 0
    discount: Any = 1
    sense: ClassVar[Sense] = "max"
    payoff_range: ClassVar[tuple[Number, Number] | None] = None

    def __init__(self, *given: Never, **named: Never) -> None:
        if given or named:
            raise GameError(undecorated(type(self), type(self).__name__), value=given or named)

    @abc.abstractmethod
    def start(self) -> S:
        """State where a play starts."""

    @abc.abstractmethod
    def node(self, state: S, /) -> Node[S, A]:
        """Return what happens in a state; in a game with counters, in a core state whatever the counters are."""

    def progress(self) -> Expr | tuple[Expr, ...] | None:
        """Return what never decreases along an edge: an expression over counters, or several, the first most important.

        A game with counters is solved by layers of equal progress, from the last to the first. None: it is inferred.
        """
        return None

    def unrolled(self) -> Game[At[S], A]:
        """Return the same game with the counters inside its states, for whatever reads plain games.

        It is explored state by state, so it is the slow and simple way.
        """
        from mdpdice.modelling.unrolling import unroll_counters

        return unroll_counters(self)

    def canonical(self, state: S) -> S:
        """Return the representative of the states that symmetry makes equal to `state`; applied to every target."""
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

        Raises
        ------
        UnknownStateError
            The game has counters, and `state` does not give a value of its range to each of them.

        Examples
        --------
        >>> from mdpdice import solve
        >>> from mdpdice.games.pig import PigTurn
        >>> solve(PigTurn().at(19)).action(), solve(PigTurn().at(20)).action()
        ('roll', 'hold')
        """
        from mdpdice.modelling.counters import axes, full_state

        if found := axes(self):
            full_state(state, found).point(found)
        moved: Game[Any, A] = self.unrolled() if found else self
        # From there play may come to fewer states.
        return changed(moved, start=lambda: state, least_states=lambda: None)

    def least_states(self) -> int | None:
        """Return the number of states that play can surely come to, where the rules alone tell; else None.

        `mdpdice.explore` refuses at once a game with more of them than its `max_states`, instead of finding
        that out by exploring; states that `canonical` makes equal count once.
        """
        return None

    @staticmethod
    def of(
        *, start: S, node: Callable[[S], Node[S, A]], total: Number = 0, discount: Number = 1, sense: Sense = "max"
    ) -> Game[S, A]:
        """Make a game of a start state and a function, for notebooks and tests."""
        return _FunctionGame(start, node, total, discount, sense)


class _FunctionGame(Game[S, A]):
    def __init__(
        self, start: S, node: Callable[[S], Node[S, A]], total: Number, discount: Number, sense: Sense
    ) -> None:
        self._start = start
        self._node = node
        self.total = total  # type: ignore[misc]  # class attributes elsewhere, of one object here
        self.sense = sense  # type: ignore[misc]
        self.discount = discount

    def start(self) -> S:
        return self._start

    def node(self, state: S, /) -> Node[S, A]:
        __tracebackhide__ = True
        return self._node(state)


class ClassicMDP(Game[S, A]):
    """A Markov decision process in the textbook form: actions, transitions, rewards.

    A subclass defines `initial`, `actions`, `transition`, and where needed `reward`, `terminal` and `discount`.  Large
    models are explored faster with `transitions`.
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

    def transitions(self, states: Sequence[S], action: A, /) -> tuple[Any, Any, Any]:
        """Transitions of one action from many states at once.

        Where a class defines this, `mdpdice.explore` asks for it instead of `transition` and `reward`.  These are still
        there for single states, as in a look ahead, so all must say the same; a few choices are compared.

        Parameters
        ----------
        states : sequence of n states
            States that are not terminal and have the action.
        action : hashable
            The action.

        Returns
        -------
        targets : ndarray of numbers or strings, or list of n lists of k states; shape (n, k)
            Next states, k for every state; k may differ from call to call.
        probability : array_like, shape (n, k), (k,) or (n, 1)
            Their probabilities; every row sums to 1, and where one is 0 there is no transition.
        reward : array_like, shape (n, k), (k,) or (n, 1), or a number
            Rewards of the transitions, in payoff units.

        Raises
        ------
        GameError
            From `mdpdice.explore`, with a state and the action: the shapes do not fit, or `transition` or `reward` says
            something else.
        """
        raise NotImplementedError

    def reward(self, state: S, action: A, target: S, /) -> Number:
        """Reward of a transition."""
        return 0

    def terminal(self, state: S, /) -> bool:
        """Whether the process ends in a state, with payoff 0."""
        return False

    def start(self) -> S:
        """Return the initial state."""
        return self.initial()

    def node(self, state: S, /) -> Node[S, A]:
        """Return an end, or a decision whose options are the transitions of the actions."""
        if self.terminal(state):
            return end()
        return decide([(action, self._option(state, action)) for action in self.ordered_actions(state)])

    def ordered_actions(self, state: S) -> Iterable[A]:
        """Return `actions` of a state; a set of them is refused."""
        actions = self.actions(state)
        if isinstance(actions, set | frozenset):
            msg = "actions() gives a set, whose order changes from run to run; sort it into a list"
            raise NonDeterministicGameError(msg, state=state)
        return actions

    def _option(self, state: S, action: A) -> Edge[S]:
        try:
            dist = as_dist(self.transition(state, action))
            return Chance(dist, tuple([go(to, reward=self.reward(state, action, to)) for to in dist.outcomes]), 0)
        except Exception as error:  # noqa: BLE001 - it goes on, with its place
            raise (wrong := placed(error, state, action, raised_error, "transition() or reward()")) from wrong.__cause__
