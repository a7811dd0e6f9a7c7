"""Solutions: what was proved about an answer, and how to ask for it."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from mdpdice.answers.answer import Answer, Status
from mdpdice.errors import GameError, HorizonRangeError, NotCertifiedError
from mdpdice.html import card, grid
from mdpdice.networks.network import Floats, Ints, Kind, Network

if TYPE_CHECKING:
    import pandas as pd

    from mdpdice.modelling.game import Game
    from mdpdice.objectives.objective import Objective

__all__ = ["Solution", "Status"]

LISTED = 10
"""Decisions that a notebook shows."""
SCANNED = 1000
"""States among which they are looked for."""


@attrs.frozen(eq=False, repr=False)
class Solution(Answer):
    """A value and a policy for every state, with the interval that they were proved to lie in.

    Parameters
    ----------
    network : Network
        What was solved.
    sense : {"max", "min"}
        What the player to move wants.
    status : Status
        What was proved.
    values, lowers, uppers : ndarray of float64, shape (N,) or (horizon + 1, N)
        Value of every node and the interval that holds the optimal value and the
        value of the policy, in payoff units.  Row k belongs to k decisions left.
    policy : ndarray of int64, of that shape
        Chosen edge of every decision node, -1 elsewhere.
    solver : str
        Back-end that proposed the answer.
    exact_values : sequence of sequences of Fraction, optional
        Rows of exact values, where the status is EXACT; infinite ones are floats.
    iterations : int
        What the back-end counted.
    seconds : float
        Wall-clock time of solving and certifying.
    width : float
        Largest ``(upper - lower) / max(1, |value|)`` over the finite nodes.
    reason : str
        Why the status is not CERTIFIED, or why a value is infinite.
    version : str
        Version of mdpdice.
    details : mapping
        What the back-end said beyond that.
    objective : str
        What counted, as `mdpdice.Objective` tells it: ``"total"``, ``"discounted:9/10"``.
    """

    network: Network
    sense: str
    status: Status
    values: Floats
    lowers: Floats
    uppers: Floats
    policy: Ints
    solver: str
    exact_values: Sequence[Sequence[Any]] | None = None
    iterations: int = 0
    seconds: float = 0.0
    width: float = np.inf
    reason: str = ""
    version: str = ""
    details: Mapping[str, Any] = attrs.field(factory=dict)
    objective: str = "total"

    @property
    def digest(self) -> str:
        """Digest of the solved network."""
        return self.network.digest

    # --- values -------------------------------------------------------------

    def estimate(self, state: Hashable = None, *, steps_left: int | None = None) -> float:
        """The proposed value of a state, whatever was proved about it."""
        return float(self._row(self.values, steps_left)[self._node(state)])

    def exact(self, state: Hashable = None, *, steps_left: int | None = None) -> Fraction | float:
        """Exact value of a state, a `Fraction`, or a float if it is infinite.

        Raises
        ------
        NotCertifiedError
            The status is not EXACT.
        """
        if self.exact_values is None or self.status is not Status.EXACT:
            msg = f"the answer of {self.solver} is {self.status.value}, not exact; use solver='exact'"
            raise NotCertifiedError(msg, state=state)
        steps = self._steps(steps_left)
        found: Fraction | float = self.exact_values[0 if steps is None else steps][self._node(state)]
        return found

    def lower(self, state: Hashable = None, *, steps_left: int | None = None) -> float:
        """Lower end of the interval of a state; -inf where nothing was proved."""
        return float(self._row(self.lowers, steps_left)[self._node(state)])

    def upper(self, state: Hashable = None, *, steps_left: int | None = None) -> float:
        """Upper end of the interval of a state; inf where nothing was proved."""
        return float(self._row(self.uppers, steps_left)[self._node(state)])

    # --- decisions ----------------------------------------------------------

    def action(self, state: Hashable = None, *, steps_left: int | None = None) -> Any:
        """Action that the policy takes in a decision state.

        Raises
        ------
        GameError
            Nobody decides in this state.
        HorizonRangeError
            No decision is left.
        """
        node = self._decision(state, steps_left)
        return self.network.action_of(int(self._row(self.policy, steps_left)[node]))

    def q(self, state: Hashable = None, *, steps_left: int | None = None) -> dict[Any, float]:
        """Value of every action of a decision state, best play afterwards.

        Returns
        -------
        dict
            In the order of the options.
        """
        node = self._decision(state, steps_left)
        ahead = self._row(self.values, self._after(steps_left))
        return {self.network.action_of(edge): self._edge(edge, ahead) for edge in self.network.edges(node)}

    def ties(self, state: Hashable = None, *, steps_left: int | None = None) -> list[Any]:
        """Actions that may be optimal: no other action is proved to be better.

        For an answer that is not proved, the actions of the best estimate.
        """
        node = self._decision(state, steps_left)
        after = self._after(steps_left)
        low, high = self._row(self.lowers, after), self._row(self.uppers, after)
        if not self.proved:
            low = high = self._row(self.values, after)
        best_low, edges = -np.inf, []
        minimise = -1.0 if (self.network.kind[node] == Kind.MIN) != (self.sense == "min") else 1.0
        for edge in self.network.edges(node):
            ends = minimise * self._edge(edge, low), minimise * self._edge(edge, high)
            edges.append((edge, max(ends)))
            best_low = max(best_low, min(ends))
        return [self.network.action_of(edge) for edge, top in edges if top >= best_low]

    def _edge(self, edge: int, ahead: Floats) -> float:
        net = self.network
        value = float(ahead[net.dst[edge]])
        if net.sign[edge] < 0:
            value = float(net.total) - value
        return float(net.reward[edge]) + (net.factor if net.step[edge] else 1.0) * value

    # --- files --------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the solution to a file, which is replaced at once or not at all.

        Parameters
        ----------
        path : path
            By custom it ends in ``.npz``.
        """
        from mdpdice.solving.files import save_solution

        save_solution(self, path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        game: Game[Any, Any] | Network,
        objective: Objective | None = None,
        *,
        horizon: int | None = None,
        epsilon: float = 1e-6,
    ) -> Solution:
        """Read a solution and certify it again, for the game and objective that it answers.

        Parameters
        ----------
        path : path
            The file.
        game, objective, horizon, epsilon
            As they were given to `mdpdice.solve`.

        Raises
        ------
        ProblemMismatchError
            The file answers another game, objective, sense or horizon; the message names both.
        CorruptFileError
            The file is damaged, or holds something that is no answer.
        """
        from mdpdice.solving.files import load_solution

        return load_solution(path, game, objective, horizon=horizon, epsilon=epsilon)

    def _unproved(self, number: float) -> str:
        return (
            f"{self.solver} proposed {number!r}, which is {self.status.value}: {self.reason}; "
            "ask estimate() for the number, or try another solver"
        )

    # --- look-ups -----------------------------------------------------------

    def _node(self, state: Hashable) -> int:
        return self.network.start if state is None else self.network.value_node_of(state)

    def _decision(self, state: Hashable, steps_left: int | None) -> int:
        # Equal states have equal values; their actions differ.
        node = self.network.start if state is None else self.network.node_of(state)
        if not self.network.decides[node]:
            msg = "nobody decides in this state; ask value() instead"
            raise GameError(msg, state=self.network.describe(node))
        if self._steps(steps_left) == 0:
            msg = "no decision is left"
            raise HorizonRangeError(msg, state=self.network.describe(node), value=0)
        return node

    def _steps(self, steps_left: int | None) -> int | None:
        horizon = self.network.horizon
        if horizon is None:
            if steps_left is not None:
                msg = f"steps_left={steps_left!r} needs a solution with a horizon"
                raise HorizonRangeError(msg, value=steps_left)
            return None
        if steps_left is None:
            return horizon
        if type(steps_left) is not int or not 0 <= steps_left <= horizon:
            msg = f"steps_left={steps_left!r} is not a number from 0 to the horizon {horizon}"
            raise HorizonRangeError(msg, value=steps_left, limit=horizon)
        return steps_left

    def _after(self, steps_left: int | None) -> int | None:
        steps = self._steps(steps_left)
        return None if steps is None else steps - 1

    def _row(self, array: Any, steps_left: int | None) -> Any:
        steps = self._steps(steps_left)
        return array if steps is None else array[steps]

    def __repr__(self) -> str:
        start = self.estimate()
        shown = (
            f"{start:.12g} in [{self.lower():.12g}, {self.upper():.12g}]"
            if self.proved
            else f"about {start:.6g}"
        )
        why = f", {self.reason}" if self.reason else ""
        return f"<Solution: {shown}, {self.status.value} by {self.solver}{why}>"

    def _repr_html_(self) -> str:
        net = self.network
        rows = [
            ("value" if self.proved else "estimate", f"{self.estimate():.12g}"),
            ("interval", f"[{self.lower():.12g}, {self.upper():.12g}]"),
            ("status", self.status.value),
            ("reason", self.reason),
            ("solver", self.solver),
            ("width", f"{self.width:.2g}"),
            ("time", f"{self.seconds:.2f} s to solve and certify"),
            ("size", f"{net.n_states:,} states, {net.n_edges:,} edges"),
            ("objective", None if self.objective == "total" else self.objective),
            ("horizon", net.horizon),
        ]
        # The first decisions that were found: those near the start.
        decisions = []
        for at in np.flatnonzero(net.decides[net.state_node[:SCANNED]])[:LISTED].tolist():
            if net.horizon == 0:
                break
            node = int(net.state_node[at])
            edge = int(self._row(self.policy, None)[node])
            action = "" if edge < 0 else net.action_of(edge)
            decisions.append((net.states[int(at)], action, float(self._row(self.values, None)[node])))
        listed = grid("the first decisions", ("state", "action", "value"), decisions) if decisions else ""
        return card("Solution", rows) + listed

    # --- other forms ----------------------------------------------------------

    def to_dataframe(self, *, decisions: bool = False, steps_left: int | None = None) -> pd.DataFrame:
        """The solution as a data frame of pandas, one row per state.

        Parameters
        ----------
        decisions : bool
            Leave out states in which nobody decides.
        steps_left : int, optional
            Decisions left, for a solution with a horizon; by default the whole horizon.

        Returns
        -------
        pandas.DataFrame
            Columns ``state``, ``kind``, ``value``, ``lower``, ``upper`` (in payoff units), ``action`` (None
            where nobody decides), and one for every counter and every field of the states.

        Raises
        ------
        MissingPackageError
            pandas is not installed.
        HorizonRangeError
            There is no such number of decisions left.
        """
        from mdpdice.answers.dataframe import data_frame

        arrays = (self.values, self.lowers, self.uppers, self.policy)
        rows = (self._row(array, steps_left) for array in arrays)
        return data_frame(self.network, *rows, decisions=decisions)
