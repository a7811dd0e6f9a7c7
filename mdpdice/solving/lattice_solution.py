"""Solutions of lattices: the stored values, and everything else computed anew where it is asked for.

Only the values of some core nodes are stored (`mdpdice.lattices.program`), and no decision is.  The value of
any other state, the value of every action and the best action follow from the stored values by one
pass through the core at the point of the grid that is asked about.
"""

from __future__ import annotations

import os
import time
from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from mdpdice.answers.answer import Answer, Status
from mdpdice.answers.lattice_lookup import Lookup
from mdpdice.answers.solution import Solution
from mdpdice.archives import Archive, Question, read_header, text_member, write_archive
from mdpdice.backend import Run
from mdpdice.certification.checking.lattice import Claim, Widths, verify_lattice
from mdpdice.errors import GameError, HorizonRangeError, UnknownStateError
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.html import card, grid
from mdpdice.lattices.digest import digest
from mdpdice.lattices.lattice import Lattice
from mdpdice.lattices.layer_solver import second_moments
from mdpdice.lattices.reachable_layers import Layers, find_layers
from mdpdice.modelling.counters import At
from mdpdice.modelling.game import Game
from mdpdice.networks.network import Floats, Kind
from mdpdice.objectives.objective import Objective, Sense, Total
from mdpdice.objectives.on_lattices import lower_lattice
from mdpdice.solving.lattice_excerpt import excerpt

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LatticeSolution", "certify_lattice"]


@attrs.frozen(eq=False, repr=False)
class LatticeSolution(Answer):
    """A value and a policy for every state of a game with counters, on a grid too large for a network.

    States are `mdpdice.At` values: a core state and the values of the counters.

    Parameters
    ----------
    layers : Layers
        What was solved.
    status : Status
        What was proved.
    stored : ndarray of float64, shape (entries, points of the grid)
        The stored values, NaN where play cannot come.
    widths : Widths
        How far optimal value and value of the policy may be from them, per layer.
    solver : str
        Back-end that proposed the answer.
    iterations : int
        Largest number of sweeps over a layer.
    seconds : float
        Wall-clock time of solving and certifying.
    width : float
        Largest ``(upper - lower) / max(1, |value|)`` over the stored values.
    reason : str
        Why the status is not CERTIFIED.
    version : str
        Version of mdpdice.
    objective : str
        What counted, as `mdpdice.Objective` tells it.
    """

    layers: Layers
    status: Status
    stored: Floats
    widths: Widths
    solver: str
    sense: Sense = "max"
    iterations: int = 0
    seconds: float = 0.0
    width: float = np.inf
    reason: str = ""
    version: str = ""
    details: Mapping[str, Any] = attrs.field(factory=dict)
    objective: str = "total"

    @property
    def lattice(self) -> Lattice:
        """What was solved."""
        return self.layers.lattice

    @cached_property
    def _lookup(self) -> Lookup:
        return Lookup(self.layers, self.stored)

    @property
    def digest(self) -> str:
        """Digest of the solved lattice."""
        return digest(self.lattice)

    # --- values -------------------------------------------------------------

    def estimate(self, state: Hashable = None, *, steps_left: int | None = None) -> float:
        """The proposed value of a state, whatever was proved about it."""
        _no_horizon(steps_left)
        node, point = self._lookup.place(state)
        return self._value(state, node, point)

    def lower(self, state: Hashable = None, *, steps_left: int | None = None) -> float:
        """Lower end of the interval of a state; -inf where nothing was proved."""
        return self.estimate(state, steps_left=steps_left) - self._width(state)

    def upper(self, state: Hashable = None, *, steps_left: int | None = None) -> float:
        """Upper end of the interval of a state; inf where nothing was proved."""
        return self.estimate(state, steps_left=steps_left) + self._width(state)

    def _width(self, state: Hashable) -> float:
        layer = int(self.layers.ranks.layer[self._lookup.place(state)[1]])
        return float(max(self.widths.optimal[layer], self.widths.policy[layer]))

    def _value(self, state: Hashable, node: int, point: int) -> float:
        rows, _ = self._lookup.rows(point)
        value = float(rows[self.layers.program.row[node]])
        if not np.isfinite(value) or not self._lookup.reaches(node, point):
            shown = self.start if state is None else state
            msg = f"state {shown!r} cannot be reached in this game"
            raise UnknownStateError(msg, value=shown)
        return value

    def deviation(self) -> float:
        """Standard deviation of what a play from the start is worth, if all follow the policy.

        Raises
        ------
        UnsupportedError
            The lattice has cycles, or holds means of rewards that differ.
        """
        squares = second_moments(self.layers, self.stored)
        mean, square = (float(array[0, self.lattice.start_point]) for array in (self.stored, squares))
        return float(np.sqrt(max(0.0, square - mean * mean)))

    def reaches(self, state: Hashable) -> bool:
        """Whether play can come to a state.

        Raises
        ------
        UnknownStateError
            It is no state of this game at all.
        """
        return self._lookup.reaches(*self._lookup.place(state))

    # --- decisions ----------------------------------------------------------

    def action(self, state: Hashable = None, *, steps_left: int | None = None) -> Any:
        """Action that the policy takes in a decision state: the first of the best ones.

        Raises
        ------
        GameError
            Nobody decides in this state.
        UnknownStateError
            The state cannot be reached.
        """
        _no_horizon(steps_left)
        kind, found = self._options(state)
        choose = min if kind == Kind.MIN else max
        return choose(found, key=found.__getitem__)

    def q(self, state: Hashable = None, *, steps_left: int | None = None) -> dict[Any, float]:
        """Value of every action of a decision state that is available there, best play afterwards.

        Returns
        -------
        dict
            In the order of the options.
        """
        _no_horizon(steps_left)
        return self._options(state)[1]

    def ties(self, state: Hashable = None, *, steps_left: int | None = None) -> list[Any]:
        """Actions that may be optimal: no other action is proved to be better.

        For an answer that is not proved, the actions of the best estimate.
        """
        _no_horizon(steps_left)
        kind, found = self._options(state)
        turn = -1.0 if kind == Kind.MIN else 1.0
        room = 2.0 * self._width(state) if self.proved else 0.0
        best = max(turn * value for value in found.values())
        return [action for action, value in found.items() if turn * value + room >= best]

    def kind(self, state: Hashable = None) -> Kind:
        """What happens in a state."""
        node, point = self._lookup.place(state)
        self._value(state, node, point)
        kind = Kind(int(self.lattice.kind[self._lookup.resolved(node, self._lookup.rows(point)[1])]))
        if self.sense == "min" and kind in (Kind.MAX, Kind.MIN):
            # The lattice that was solved has the sides changed, see `mdpdice.objectives.on_lattices`.
            return Kind.MIN if kind == Kind.MAX else Kind.MAX
        return kind

    def _options(self, state: Hashable) -> tuple[int, dict[Any, float]]:
        node, point = self._lookup.place(state)
        self._value(state, node, point)
        rows, tables = self._lookup.rows(point)
        node = self._lookup.resolved(node, tables)
        kind = int(self.lattice.kind[node])
        if kind not in _DECIDES:
            msg = "nobody decides in this state; ask value() instead"
            raise GameError(msg, state=self.start if state is None else state)
        return kind, {action: float(rows[row]) for action, row in self._lookup.options(node, tables).items()}

    # --- look-ups -----------------------------------------------------------

    @property
    def start(self) -> At[Any]:
        """State where a play starts."""
        lattice = self.lattice
        return At(
            lattice.states[int(lattice.node_state[lattice.start])], **lattice.counters(lattice.start_point)
        )

    # --- other forms ----------------------------------------------------------

    def excerpt(self, where: Mapping[str, Any] | None = None, *, max_states: int = 1_000_000) -> Solution:
        """Some of the states as a solution of their own, for tables and pictures.

        Parameters
        ----------
        where : mapping of str to object, optional
            Values of counters, and of fields of core states, by name; by default all states are taken.
        max_states : int
            Most states.

        Returns
        -------
        Solution
            Behind every option of a decision is an end that is worth what the option is worth, so `value`, `q`,
            `ties`, `action` and the interval are those of the lattice.  It starts where the game does if that state
            is among them.  States that play cannot reach are not.

        Raises
        ------
        StateLimitError
            There are more states.
        GameError
            There is no such counter or field, or no such state.
        """
        return excerpt(
            self.layers,
            self.stored,
            np.maximum(self.widths.optimal, self.widths.policy),
            {} if where is None else where,
            sense=self.sense,
            status=self.status,
            max_states=max_states,
            solver=self.solver,
            iterations=self.iterations,
            seconds=self.seconds,
            width=self.width,
            reason=self.reason,
            version=self.version,
            objective=self.objective,
        )

    def to_dataframe(
        self,
        where: Mapping[str, Any] | None = None,
        *,
        decisions: bool = False,
        max_states: int = 1_000_000,
    ) -> pd.DataFrame:
        """Some of the states as a data frame of pandas, one row each.

        Parameters
        ----------
        where, max_states
            As for `excerpt`.
        decisions : bool
            Leave out states in which nobody decides.

        Returns
        -------
        pandas.DataFrame
            The columns of `mdpdice.Solution.to_dataframe`.

        Raises
        ------
        MissingPackageError
            pandas is not installed.
        StateLimitError, GameError
            As for `excerpt`.
        """
        return self.excerpt(where, max_states=max_states).to_dataframe(decisions=decisions)

    # --- files --------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the stored values to a file, which is replaced at once or not at all.

        Parameters
        ----------
        path : path
            By custom it ends in ``.npz``.
        """
        header = {
            "format": FORMAT,
            "version": VERSION,
            "digest": self.digest,
            "objective": self.objective,
            "sense": self.sense,
            "solver": self.solver,
            "iterations": int(self.iterations),
            "mdpdice": self.version,
        }
        write_archive(path, {"header": text_member(header), "stored": self.stored[self.layers.reached]})

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        game: Game[Any, Any] | Lattice,
        objective: Objective | None = None,
        *,
        epsilon: float = 1e-6,
    ) -> LatticeSolution:
        """Read stored values and certify them again, for the game and objective that they answer.

        Parameters
        ----------
        path : path
            The file.
        game, objective, epsilon
            As they were given to `mdpdice.solve`.

        Raises
        ------
        ProblemMismatchError
            The file answers another game or objective; the message names both.
        CorruptFileError
            The file is damaged.
        """
        started = time.perf_counter()
        objective = Total() if objective is None else objective
        lattice = lower_lattice(game if isinstance(game, Lattice) else compile_lattice(game), objective)
        file = Archive(os.fspath(path), _DTYPES, "write it again with LatticeSolution.save")
        members = file.read()
        header = read_header(file, members, FORMAT, VERSION, _HEADER)
        if header["digest"] != digest(lattice):
            saved = Question(header["objective"], header["sense"])
            asked = Question(str(objective), objective.sense)
            raise file.mismatch("digest", saved, asked, "LatticeSolution.load(path, game, objective)")
        layers = find_layers(lattice)
        if members["stored"].shape != (int(layers.reached.sum()),):
            raise file.corrupt("stored", "it does not have a value for everything that is stored")
        stored = np.full(layers.reached.shape, np.nan)
        stored[layers.reached] = members["stored"]
        return certify_lattice(
            layers,
            stored,
            solver=header["solver"],
            run=Run(),
            epsilon=epsilon,
            started=started,
            iterations=header["iterations"],
            sense=objective.sense,
            objective=str(objective),
            version=header["mdpdice"],
        )

    def __repr__(self) -> str:
        start = self.estimate()
        shown = (
            f"{start:.12g} in [{self.lower():.12g}, {self.upper():.12g}]"
            if self.proved
            else f"about {start:.6g}"
        )
        why = f", {self.reason}" if self.reason else ""
        return f"<LatticeSolution: {shown}, {self.status.value} by {self.solver}{why}>"

    def _repr_html_(self) -> str:
        lattice = self.lattice
        counters = ", ".join(f"{axis.name} ({len(axis.values):,} values)" for axis in lattice.axes)
        rows = [
            ("value" if self.proved else "estimate", f"{self.estimate():.12g}"),
            ("interval", f"[{self.lower():.12g}, {self.upper():.12g}]"),
            ("status", self.status.value),
            ("reason", self.reason),
            ("solver", self.solver),
            ("width", f"{self.width:.2g}"),
            ("time", f"{self.seconds:.2f} s to solve and certify"),
            ("counters", counters),
            ("grid", f"{lattice.size:,} points, {len(lattice.kind):,} core nodes"),
        ]
        # No decision is stored, so the one at hand is shown: that at the start, if there is one.
        decides = self.kind() in (Kind.MAX, Kind.MIN)
        listed = grid("at the start", ("action", "value"), self.q().items()) if decides else ""
        return card("LatticeSolution", rows) + listed

    def _unproved(self, number: float) -> str:
        return (
            f"{self.solver} proposed {number!r}, which is {self.status.value}: {self.reason}; "
            "ask estimate() for the number, or solve the flat network, solve(explore(game))"
        )


_DECIDES = (int(Kind.MAX), int(Kind.MIN))
FORMAT = "mdpdice-lattice-solution"
VERSION = 2
_DTYPES = {"header": ("|u1",), "stored": ("<f8",)}
_TEXTS = ("format", "digest", "objective", "sense", "solver", "mdpdice")
_HEADER = {**dict.fromkeys(_TEXTS, str), "version": int, "iterations": int}


def _no_horizon(steps_left: int | None) -> None:
    if steps_left is not None:
        msg = f"steps_left={steps_left!r} needs a solution with a horizon, and lattices have none"
        raise HorizonRangeError(msg, value=steps_left)


def certify_lattice(
    layers: Layers,
    stored: Floats,
    *,
    solver: str,
    run: Run,
    epsilon: float,
    started: float,
    iterations: int = 0,
    sense: Sense = "max",
    version: str = "",
    objective: str = "total",
) -> LatticeSolution:
    """The solution that stored values make, after they were verified."""
    ranks = layers.ranks
    claim = Claim(layers.program.entries, stored, ranks.layer, ranks.inner)
    widths = verify_lattice(layers.lattice, claim, run.check)
    both = widths.optimal + widths.policy
    width = 0.0
    for layer in layers.layers:
        # The smallest value decides; all but a few are larger than 1, or all are smaller.
        here = np.abs(stored[:, layer.points][layers.reached[:, layer.points]])
        width = max(width, float(both[layer.number]) / max(1.0, float(here.min(initial=np.inf))))
    reason = widths.reason
    if not reason and not width <= epsilon:
        reason = f"the intervals have relative width {width:.3g}, more than {epsilon:.3g}"
    return LatticeSolution(
        layers,
        Status.UNCERTIFIED if reason else Status.CERTIFIED,
        stored,
        widths,
        solver,
        sense,
        iterations,
        time.perf_counter() - started,
        width,
        reason,
        version,
        objective=objective,
    )
