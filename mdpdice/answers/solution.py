"""Solutions: what was proved about an answer, and how to ask for it."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from mdpdice import errors
from mdpdice.answers.answer import Provenance, Status, question_text
from mdpdice.answers.grid_excerpt import excerpt
from mdpdice.answers.grid_values import GridValues
from mdpdice.answers.node_values import NodeValues
from mdpdice.answers.passed_on import PassedOn
from mdpdice.html import card, grid
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.text import ITSELF, fields_of
from mdpdice.networks.network import Floats, Kind, Network
from mdpdice.spelling import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from mdpdice.answers.policy import Policy
    from mdpdice.modelling.game import Game
    from mdpdice.objectives.objective import Objective

__all__ = ["Decisions", "Solution", "Status"]

LISTED = 10
"""Decisions that a notebook shows."""
SCANNED = 1000
"""States among which they are looked for."""


@attrs.frozen(eq=False)
class Decisions:
    """The states with a decision, in the order in which they were found, and the action taken in each."""

    states: list[Any]
    values: Floats  #: in payoff units, shape (states,), as are the bounds
    lowers: Floats
    uppers: Floats
    actions: list[Any]


class _Worth(dict[Any, float]):
    """What every action is worth."""

    def __missing__(self, action: Any) -> float:
        hint = did_you_mean(action, self)
        msg = f"no action {action!r} here; {hint}the actions are {list(self)!r}"
        raise errors.UnknownStateError(msg, action=action)


@attrs.frozen(eq=False, repr=False, slots=False)
class Solution:
    """A value and a policy for every state, with the interval that they were proved to lie in.

    What a policy is worth is a solution too, whose policy was given.
    """

    table: NodeValues | GridValues  #: the numbers: by the nodes of a network, or by the points of a lattice
    status: Status  #: what was proved
    provenance: Provenance  #: how the answer came about
    width: float = np.inf  #: largest ``(upper - lower) / max(1, |value|)`` over the finite values
    reason: str = ""  #: why the status is not CERTIFIED, or why a value is infinite
    given: Policy | tuple[Policy, ...] | None = None
    """The policy, or those of two players, whose value this is; without one, the policy is the solution's own."""
    game: Game[Any, Any] | None = attrs.field(default=None, repr=False)
    """What was solved, where that was a game; a notebook shows decisions in its words."""
    at_start: tuple[Any, float, float] | None = None
    """Value and interval of the start, where the table answers for the best threshold and they hold for all."""

    # --- what it is -----------------------------------------------------------

    @property
    def proved(self) -> bool:
        """Whether the status is EXACT or CERTIFIED."""
        return self.status in (Status.EXACT, Status.CERTIFIED)

    solver = PassedOn[str]("provenance.solver", "Who proposed the answer.")
    objective = PassedOn[str]("provenance.objective", "What counted.")
    sense = PassedOn[str]("provenance.sense", "What the player to move wants.")
    iterations = PassedOn[int]("provenance.iterations", "What the solver counted.")
    seconds = PassedOn[float]("provenance.seconds", "Wall-clock time of solving and certifying.")
    version = PassedOn[str]("provenance.version", "Version of mdpdice.")
    details = PassedOn[Mapping[str, Any]]("provenance.details", "What the solver said beyond the answer.")
    digest = PassedOn[str]("table.digest", "Digest of what was solved.")
    start = PassedOn[Any]("table.start", "State where a play starts.")
    n_states = PassedOn[int]("table.n_states", "Number of states.")
    n_edges = PassedOn[int]("table.n_edges", "Number of edges between them.")

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was repaired while the game was explored, and notes about how the answer was found."""
        return (*self.table.warnings, *self.provenance.notes)

    def nearest(self, state: Hashable) -> list[Any]:
        """States that are like one that does not exist."""
        return self.table.nearest(state)

    @property
    def horizon(self) -> int | None:
        """Largest number of decisions in a play, if there is one."""
        return self.table.network.horizon if isinstance(self.table, NodeValues) else None

    @property
    def nodes(self) -> NodeValues:
        """Arrays by the nodes of the network; an `UnsupportedError` where the game was solved on its lattice."""
        if isinstance(self.table, GridValues):
            how = "a part of it as one, and solve(explore(game)) makes the whole network if it fits"
            msg = (
                f"this game was solved on its lattice and has no network; solution.excerpt({{counter: value}}) is {how}"
            )
            raise errors.UnsupportedError(msg, value=self)
        return self.table

    network = PassedOn[Network]("nodes.network", "The network that was solved; see `nodes`.")

    @property
    def lattice(self) -> Lattice | None:
        """The lattice that was solved, None where a network was."""
        return self.table.lattice if isinstance(self.table, GridValues) else None

    # --- values -------------------------------------------------------------

    def value(self, state: Hashable = None, *, steps_left: int | None = None) -> float:
        """Value of a state, of the start if none is given.

        Parameters
        ----------
        state : hashable, optional
            A state of the game; any of those that `Game.canonical` makes equal.
        steps_left : int, optional
            Decisions left, for an answer with a horizon; by default the whole horizon.

        Raises
        ------
        NotCertifiedError
            The value was not proved; `estimate` gives it all the same.
        CertificateError
            The value lies outside its own interval.
        UnknownStateError
            The state cannot be reached.
        """
        number = self.estimate(state, steps_left=steps_left)
        lower, upper = self._interval(state, steps_left)
        if not lower <= number <= upper:  # written so that NaN fails
            why = "so the answer was changed after it was certified; do not use it, solve again"
            msg = f"the value {number!r} lies outside its interval [{lower!r}, {upper!r}], {why}"
            raise errors.CertificateError(msg, state=state, claimed=number, lower=lower, upper=upper)
        if not self.proved:
            other = "" if self.lattice is None else ", or solve the flat network, solve(explore(game))"
            why = f"which is {self.status.value}: {self.reason}; ask estimate() for the number{other}"
            raise errors.NotCertifiedError(f"{self.solver} proposed {number!r}, {why}", state=state)
        return number

    def estimate(self, state: Hashable = None, *, steps_left: int | None = None) -> float:
        """Return the proposed value of a state, whatever was proved about it.

        A `TotalRewardUndefinedError` says that plays from there collect and pay without end.
        """
        told = self.at_start if state is None and steps_left is None else None
        number = self.table.value(state, steps_left) if told is None else float(told[0])
        if math.isnan(number):
            msg = "plays from here collect and pay without end; use a discount or a horizon"
            raise errors.TotalRewardUndefinedError(msg, state=self.start if state is None else state)
        return number

    def exact(self, state: Hashable = None, *, steps_left: int | None = None) -> Fraction | float:
        """Exact value of a state, a `Fraction`, or a float if it is infinite; if not EXACT a `NotCertifiedError`."""
        table = self.table
        if self.status is not Status.EXACT or isinstance(table, GridValues) or table.exact is None:
            how = "evaluate(..., exact=True)" if self.given is not None else "solver='exact'"
            msg = f"the answer of {self.solver} is {self.status.value}, not exact; use {how}"
            raise errors.NotCertifiedError(msg, state=state)
        told = self.at_start if state is None and steps_left is None else None
        found: Fraction | float = table.exact_value(state, steps_left) if told is None else told[0]
        return found

    def lower(self, state: Hashable = None, *, steps_left: int | None = None) -> float:
        """Lower end of the interval of a state; -inf where nothing was proved."""
        return self._interval(state, steps_left)[0]

    def upper(self, state: Hashable = None, *, steps_left: int | None = None) -> float:
        """Upper end of the interval of a state; inf where nothing was proved."""
        return self._interval(state, steps_left)[1]

    def _interval(self, state: Hashable, steps_left: int | None) -> tuple[float, float]:
        told = self.at_start if state is None and steps_left is None else None
        return self.table.interval(state, steps_left) if told is None else told[1:]

    def reaches(self, state: Hashable) -> bool:
        """Whether play can come to a state; an `UnknownStateError` if it lacks counters, or they leave their ranges."""
        return self.table.reaches(state)

    def kind(self, state: Hashable = None) -> Kind:
        """Return the node of a state."""
        return self.table.kind(state)

    # --- decisions ----------------------------------------------------------

    @cached_property
    def policy(self) -> Policy:
        """What is done in every decision; a `GameError` where two policies were `given`, one for each player."""
        from mdpdice.answers.policy import Policy

        if isinstance(self.given, tuple):
            raise errors.GameError("two policies play here, one for each player; solution.given has both", value=self)
        return Policy.from_solution(self) if self.given is None else self.given

    def action(self, state: Hashable = None, *, steps_left: int | None = None) -> Any:
        """Return the action that the policy takes in a decision state.

        Raises
        ------
        GameError, HorizonRangeError
            Nobody decides in this state, or no decision is left.
        UnknownStateError
            The state cannot be reached.
        """
        if self.given is not None:
            return self.policy.action(state, steps_left=steps_left)
        return self.table.action(state, steps_left)

    def q(self, state: Hashable = None, *, steps_left: int | None = None) -> dict[Any, float]:
        """Value of every action of a decision state, in order, with best play (or the given policy) afterwards.

        ``[]`` with an unknown action is an `UnknownStateError`.  Where a policy was evaluated on a lattice, nothing is
        kept of the other actions: an `UnsupportedError`.
        """
        _, options = self._options(state, steps_left)
        return _Worth((action, value) for action, value, _, _ in options)

    def ties(self, state: Hashable = None, *, steps_left: int | None = None) -> list[Any]:
        """Actions that may be optimal: no other action is proved to be better.

        For an answer that is not proved, the actions of the best estimate.
        """
        minimise, options = self._options(state, steps_left)
        if not self.proved:
            options = [(action, value, value, value) for action, value, _, _ in options]
        if minimise:
            options = [(action, -value, -high, -low) for action, value, low, high in options]
        best = max(low for _, _, low, _ in options)
        return [action for action, _, _, high in options if high >= best]

    def _options(self, state: Hashable, steps_left: int | None) -> tuple[bool, list[tuple[Any, float, float, float]]]:
        if self.given is not None and isinstance(self.table, GridValues):
            why = "a policy was evaluated on a lattice, where nothing is kept of the other actions"
            how = "ask solve(game).q(state) or evaluate(explore(game), policy)"
            raise errors.UnsupportedError(f"{why}; {how}", state=state)
        return self.table.options(state, steps_left, self.sense)

    def excerpt(self, where: Mapping[str, Any] | None = None, *, max_states: int = 1_000_000) -> Solution:
        """Return some states of a lattice as a solution with a network, for tables and pictures.

        Behind every option of a decision is an end that is worth what the option is worth, so `value`, `q`, `ties`,
        `action` and the interval are those of the lattice.  It starts where the game does if that state is among them.
        States that play cannot reach are not.  A solution with a network is its own excerpt, without `where`.

        Parameters
        ----------
        where : mapping of str to object, optional
            Values of counters, and of fields of core states, by name (else a `GameError`); by default all.
        max_states : int
            Most states; more are a `StateLimitError`.
        """
        if isinstance(self.table, NodeValues):
            if where:
                msg = f"where={dict(where)!r} is for games on a lattice; this solution lists all its states"
                raise errors.UnsupportedError(msg, value=where)
            return self
        return attrs.evolve(self, table=excerpt(self.table, {} if where is None else where, max_states))

    def decisions(self, where: Mapping[str, Any] | None = None, *, steps_left: int | None = None) -> Decisions:
        """Return the states with a decision, with value, interval and action; for `where` see `excerpt`."""
        table = self.excerpt(where).nodes
        net = table.network
        at = np.flatnonzero(net.decides[net.state_node])
        nodes = net.state_node[at]
        *rows, choice = table.rows(steps_left)
        values, lowers, uppers = (row[nodes] for row in rows)
        states = [net.states[one] for one in at.tolist()]
        return Decisions(states, values, lowers, uppers, net.actions_of(choice[nodes]))

    @cached_property
    def _decisions(self) -> Decisions:
        return self.decisions()

    states = PassedOn[list[Any]]("_decisions.states", "The states with a decision; see `decisions`.")
    values = PassedOn[Floats]("_decisions.values", "Value of every state in `states`.")
    lowers = PassedOn[Floats]("_decisions.lowers", "Lower end of the interval of every state in `states`.")
    uppers = PassedOn[Floats]("_decisions.uppers", "Upper end of the interval of every state in `states`.")
    actions = PassedOn[list[Any]]("_decisions.actions", "Action in every state in `states`.")

    # --- files --------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the solution to a file, usually ``.npz``, which is replaced at once or not at all.

        An `UnsupportedError` where many problems were solved, whose solutions are no answer to be certified again.
        """
        if self.at_start is not None:
            msg = "this answer of many problems is not saved; save its policy, or solve .at(threshold) where it has one"
            raise errors.UnsupportedError(msg, value=self)
        from mdpdice.solving.files import save_solution

        save_solution(self, path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        game: Game[Any, Any] | Network | Lattice,
        objective: Objective | None = None,
        *,
        horizon: int | None = None,
        epsilon: float = 1e-6,
        prove: bool = True,
    ) -> Solution:
        """Read a solution and certify it again, for the game and objective that it answers.

        Parameters
        ----------
        path : path
            The file.
        game, objective, horizon, epsilon
            As they were given to `mdpdice.solve`.
        prove : bool
            Without, nothing is certified: the answer is UNCERTIFIED, with estimates alone.

        Raises
        ------
        ProblemMismatchError
            The file answers another game, objective, sense or horizon; the message names both.
        CorruptFileError
            The file is damaged, or does not hold an answer.
        """
        from mdpdice.solving.files import load_solution

        found = load_solution(path, game, objective, horizon=horizon, epsilon=epsilon, prove=prove)
        return found if isinstance(game, Network | Lattice) else attrs.evolve(found, game=game)

    # --- other forms ----------------------------------------------------------

    def summary(self) -> str:
        """Return the answer in some lines of text."""
        return "\n".join(f"{label:10}{text}" for label, text in self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        rows = [
            ("value" if self.proved else "estimate", f"{self.estimate():.12g}"),
            ("interval", f"[{self.lower():.12g}, {self.upper():.12g}]"),
            ("status", self.status.value),
            ("reason", self.reason),
            ("solver", self.solver),
            ("width", f"{self.width:.2g}"),
            ("time", f"{self.seconds:.2f} s to solve and certify"),
            ("size", self.table.size),
            ("objective", question_text(self.objective, self.sense if self.given is None else "max")),
        ]
        return [(label, text) for label, text in rows if text]

    def __repr__(self) -> str:
        start = self.estimate()
        shown = f"about {start:.6g}"
        if self.proved:
            shown = f"{start:.12g} in [{self.lower():.12g}, {self.upper():.12g}]"
        why = f", {self.reason}" if self.reason else ""
        return f"<Solution: {shown}, {self.status.value} by {self.solver}{why}>"

    def _repr_html_(self) -> str:
        from mdpdice.looks.look import look_of

        look = None if self.game is None else look_of(self.game)

        def words(state: Any, action: Any) -> Any:
            return action if look is None else look.words(state, action)

        if isinstance(self.table, GridValues):
            # No decision is stored, so the one at hand is shown: that at the start, if there is one.
            decides = self.kind() in (Kind.MAX, Kind.MIN)
            options = [(words(self.start, action), value) for action, value in self.q().items()] if decides else []
            at_start = grid("at the start", ("action", "value"), options) if decides else ""
            return card("Solution", self._rows()) + at_start
        net = self.table.network
        # The first decisions that were found: those near the start.
        decisions: list[Sequence[Any]] = []
        values, _, _, choice = self.table.rows(None)
        for at in np.flatnonzero(net.decides[net.state_node[:SCANNED]])[:LISTED].tolist():
            if net.horizon == 0:
                break
            node, state = int(net.state_node[at]), net.states[at]
            action = "" if choice[node] < 0 else words(state, net.action_of(int(choice[node])))
            decisions.append((state if look is None else look.show_state(state), action, float(values[node])))
        listed = grid("the first decisions", ("state", "action", "value"), decisions) if decisions else ""
        return card("Solution", self._rows()) + listed

    def to_dataframe(
        self,
        where: Mapping[str, Any] | None = None,
        *,
        decisions: bool = False,
        steps_left: int | None = None,
        max_states: int = 1_000_000,
    ) -> pd.DataFrame:
        """Return the solution as a data frame of pandas, one row per state.

        The columns are ``state``, ``kind``, ``value``, ``lower``, ``upper`` (in payoff units), ``action`` (None without
        a decision), and one for every counter and every field of the states.

        Parameters
        ----------
        where, max_states
            Which states of a lattice; see `excerpt`, also for errors.
        decisions : bool
            Leave out states without a decision.
        steps_left : int, optional
            Decisions left, for a solution with a horizon; by default the whole horizon.

        Raises
        ------
        MissingPackageError
            pandas is not installed.
        """
        try:
            import pandas as pd
        except ModuleNotFoundError as error:
            if error.name != "pandas":
                raise
            msg = "a data frame needs pandas: pip install pandas"
            raise errors.MissingPackageError(msg, package="pandas") from error
        table = self.excerpt(where, max_states=max_states).nodes
        network, nodes = table.network, table.network.state_node
        values, lowers, uppers, choice = table.rows(steps_left)
        index = np.flatnonzero(network.decides[nodes]) if decisions else np.arange(network.n_states)
        nodes, states = nodes[index], [network.states[at] for at in index.tolist()]
        actions = network.actions_of(choice[nodes])
        columns: dict[str, Any] = {
            "state": pd.Series(states, dtype=object),
            "kind": pd.Categorical.from_codes(network.kind[nodes], categories=[kind.name for kind in Kind]),
            "value": values[nodes],
            "lower": lowers[nodes],
            "upper": uppers[nodes],
            "action": pd.Series(actions, dtype=object),
        }
        fields = [fields_of(state) for state in states]
        for name in dict.fromkeys(name for one in fields for name in one if name != ITSELF):
            # What the state calls "value" is not the value of the state.
            columns[f"state.{name}" if name in columns else name] = [one.get(name) for one in fields]
        return pd.DataFrame(columns)
