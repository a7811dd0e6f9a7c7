"""The errors of mdpdice.

Every error derives from `MdpDiceError` and carries, where they exist, the
state, the action, the offending number and the limit that was crossed, so that
a program can react without reading the message.  The message always says what
to do.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

__all__ = [
    "CertificateError", "CheckpointLockedError", "CheckpointMismatchError", "ConformanceError",
    "CorruptFileError", "CounterRangeError", "CycleError", "DeadEndError", "DiscountRangeError",
    "DuplicateActionError", "EmptySupportError", "GameError", "HorizonRangeError", "LPInfeasibleError",
    "LPUnboundedError", "MdpDiceError", "MissingPackageError", "NonDeterministicGameError",
    "NotCertifiedError", "NotConvergedError", "PluginError", "ProbabilityRangeError", "ProbabilitySumError",
    "ProblemMismatchError", "RewardNotFiniteError", "SolveInterrupted", "StateCollisionError",
    "StateLimitError", "TotalRewardUndefinedError", "UnknownStateError", "UnsupportedError",
]  # fmt: skip


@dataclass(eq=False, repr=False)
class MdpDiceError(Exception):
    """Base of every error that mdpdice raises on purpose.

    Parameters
    ----------
    message : str
        What is wrong and what to do about it.
    state, action : object, optional
        Where it happened, as the user wrote them.
    value : object, optional
        The offending number or object.
    limit : object, optional
        The bound that `value` should have kept.

    Attributes
    ----------
    code : str
        Stable name of the fault, the same on every subclass instance.
    """

    code: ClassVar[str] = "MdpDice"

    message: str
    _: KW_ONLY
    state: Any = None
    action: Any = None
    value: Any = None
    limit: Any = None

    def __init_subclass__(cls) -> None:
        # Classes of others keep the code of their base.
        if cls.__module__ == __name__ and "code" not in cls.__dict__:
            cls.code = cls.__name__.removesuffix("Error")

    def at(self, state: Any, action: Any = None) -> MdpDiceError:
        """Fill in the place where the error happened, unless it is known; return the error."""
        if self.state is None:
            self.state = state
        if self.action is None:
            self.action = action
        return self

    def __str__(self) -> str:
        place = []
        if self.state is not None:
            place.append(f"state {self.state!r}")
        if self.action is not None:
            place.append(f"action {self.action!r}")
        return f"{self.message} [{', '.join(place)}]" if place else self.message


class GameError(MdpDiceError):
    """A function of the user's game raised, or returned something that is not a node."""

    code = "ModelFunctionError"


class NonDeterministicGameError(GameError):
    """The game gives its options in an order, or with numbers, that may differ from call to call."""

    code = "NonDeterministicModel"


class ProbabilitySumError(MdpDiceError):
    """The probabilities of one distribution do not sum to one (`value` is the sum)."""


class ProbabilityRangeError(MdpDiceError):
    """A probability is negative, above one, NaN or infinite (`value`)."""


class EmptySupportError(MdpDiceError):
    """A distribution has no outcome of positive probability."""


class DeadEndError(MdpDiceError):
    """A state has no action and is not declared an end."""


class UnknownStateError(MdpDiceError):
    """A state is not part of the model (`value` is the state that was asked for)."""


class StateCollisionError(MdpDiceError):
    """Two different states are equal in Python (`state` and `value`), so one would replace the other."""


class DuplicateActionError(MdpDiceError):
    """Two options of one decision have the same action."""


class RewardNotFiniteError(MdpDiceError):
    """A reward or payoff is NaN or infinite (`value`)."""


class TotalRewardUndefinedError(MdpDiceError):
    """The total reward of an endless play has no limit."""


class DiscountRangeError(MdpDiceError):
    """The discount is outside (0, 1], or a cycle has no step on which it could act."""


class HorizonRangeError(MdpDiceError):
    """The horizon, or a number of steps left, is not a whole number in its range (`value`)."""


class CounterRangeError(MdpDiceError):
    """A counter would leave its declared range (`value` is the value wanted)."""


@dataclass(eq=False, repr=False, kw_only=True)
class CycleError(MdpDiceError):
    """A solver that needs an acyclic network met a cycle.

    Attributes
    ----------
    cycle : list
        The states of one cycle, in order.
    """

    code = "CycleDetected"

    cycle: list[Any]


@dataclass(eq=False, repr=False, kw_only=True)
class StateLimitError(MdpDiceError):
    """Exploration passed `max_states` or `max_bytes` (`limit`).

    Attributes
    ----------
    explored : int
        Number of states found when the limit was passed.
    frontier : list
        A few states that were found but not yet explored.
    """

    code = "StateLimitExceeded"

    explored: int
    frontier: list[Any]


@dataclass(eq=False, repr=False, kw_only=True)
class NotConvergedError(MdpDiceError):
    """An iteration reached its limit before its bounds met.

    Attributes
    ----------
    iterations : int
        Sweeps done.
    width : float
        Largest distance between the bounds, in payoff units.
    partial : object
        What was reached so far: a `Solution` with bounds, or the candidate of a solver
        that was called by itself.
    """

    iterations: int
    width: float
    partial: Any = None


class NotCertifiedError(MdpDiceError):
    """A value was asked of a solution that is neither EXACT nor CERTIFIED."""


class LPInfeasibleError(MdpDiceError):
    """The linear program has no feasible point."""


class LPUnboundedError(MdpDiceError):
    """The linear program is unbounded."""


class UnsupportedError(MdpDiceError):
    """A solver lacks a feature that the problem needs; the message names both, and the solvers that have it."""


@dataclass(eq=False, repr=False, kw_only=True)
class MissingPackageError(UnsupportedError):
    """What was asked for needs a package that is not installed; the message says how to install it.

    Attributes
    ----------
    package : str
        The package, as it is imported.
    """

    package: str


@dataclass(eq=False, repr=False, kw_only=True)
class SolveInterrupted(MdpDiceError):  # noqa: N818 - a stop that was asked for is not an error
    """A solve was cancelled, by Ctrl-C for instance, or ran into its deadline.

    Attributes
    ----------
    partial : object
        What was reached so far: a `Solution` with bounds, or the candidate of a solver
        that was called by itself; None if there is nothing yet.
    checkpoint : str or None
        The file that a later solve can resume from.
    """

    partial: Any = None
    checkpoint: str | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class CorruptFileError(MdpDiceError):
    """A file is damaged or is not what it should be.

    Attributes
    ----------
    path : str
        The file.
    field : str or None
        The part of it that is wrong.
    line : int or None
        Its line, counted from 1, where the file is a text.
    """

    path: str
    field: str | None = None
    line: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class ProblemMismatchError(CorruptFileError):
    """A file is sound and answers another question: another game, objective, sense or horizon.

    Attributes
    ----------
    saved, asked : str
        What the file answers and what was asked, as in ``"discounted:9/10"``; equal if the games differ.
    """

    saved: str
    asked: str


@dataclass(eq=False, repr=False, kw_only=True)
class CheckpointMismatchError(MdpDiceError):
    """A checkpoint belongs to another problem, or to another solver.

    Attributes
    ----------
    path : str
        The file.
    field : str
        What differs.
    """

    path: str
    field: str


@dataclass(eq=False, repr=False, kw_only=True)
class CheckpointLockedError(MdpDiceError):
    """Another solve uses the checkpoint.

    Attributes
    ----------
    holder : dict
        Its ``pid``, ``host`` and ``started``, as far as they are known.
    """

    holder: dict[str, Any]


@dataclass(eq=False, repr=False, kw_only=True)
class PluginError(MdpDiceError):
    """A plug-in crashed or broke the contract of a solver.

    Attributes
    ----------
    name : str
        The plug-in.
    phase : str
        What it was doing: ``"load"``, ``"solve"`` or ``"answer"``.
    """

    name: str
    phase: str


@dataclass(eq=False, repr=False, kw_only=True)
class CertificateError(NotCertifiedError):
    """A value that was returned lies outside its own interval, which no sound answer does.

    Attributes
    ----------
    claimed, lower, upper : float
        The value returned, and the interval that it should lie in.
    """

    claimed: float
    lower: float
    upper: float


@dataclass(eq=False, repr=False, kw_only=True)
class ConformanceError(MdpDiceError, AssertionError):
    """A game or a solver fails a check of `mdpdice.testing`.

    It is an `AssertionError` too, so a test suite reports a failure and not an error.

    Attributes
    ----------
    check : str
        The check that failed.
    model : str or None
        The network of the kit on which a solver failed.
    """

    check: str
    model: str | None = None
