"""What all answers have in common: a status, a value with its interval, and what may be said without a proof."""

from __future__ import annotations

import abc
import enum
from collections.abc import Hashable
from fractions import Fraction

from mdpdice.errors import CertificateError, NotCertifiedError

__all__ = ["Answer", "Status"]


class Status(enum.Enum):
    """How far an answer can be trusted."""

    EXACT = "exact"
    """Value and policy are right, in rational arithmetic."""
    CERTIFIED = "certified"
    """Optimal value and the policy's value lie in intervals that are narrow at every state."""
    UNCERTIFIED = "uncertified"
    """A complete answer without such a proof."""
    PARTIAL = "partial"
    """The solver stopped before it was done."""
    ESTIMATE = "estimate"
    """A heuristic answer that never claimed to be optimal."""


class Answer(abc.ABC):
    """A value of every state, and what was proved about it.

    Attributes
    ----------
    status : Status
        What was proved.
    reason : str
        Why the status is not CERTIFIED, or why a value is infinite.
    """

    __slots__ = ()

    status: Status
    reason: str

    @property
    def proved(self) -> bool:
        """Whether the status is EXACT or CERTIFIED."""
        return self.status in (Status.EXACT, Status.CERTIFIED)

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
        lower, upper = self.lower(state, steps_left=steps_left), self.upper(state, steps_left=steps_left)
        if not lower <= number <= upper:  # written so that NaN fails
            msg = (
                f"the value {number!r} lies outside its interval [{lower!r}, {upper!r}], so the answer was changed "
                "after it was certified; do not use it, solve again"
            )
            raise CertificateError(msg, state=state, claimed=number, lower=lower, upper=upper)
        if not self.proved:
            raise NotCertifiedError(self._unproved(number), state=state)
        return number

    @abc.abstractmethod
    def estimate(self, state: Hashable = None, *, steps_left: int | None = None) -> float:
        """The value of a state, whatever was proved about it."""

    def exact(self, state: Hashable = None, *, steps_left: int | None = None) -> Fraction | float:
        """Exact value of a state, a `Fraction`, or a float if it is infinite.

        Raises
        ------
        NotCertifiedError
            The status is not EXACT.
        """
        msg = f"the answer is {self.status.value}, not exact; use solver='exact'"
        raise NotCertifiedError(msg, state=state)

    @abc.abstractmethod
    def lower(self, state: Hashable = None, *, steps_left: int | None = None) -> float:
        """Lower end of the interval of a state; -inf where nothing was proved."""

    @abc.abstractmethod
    def upper(self, state: Hashable = None, *, steps_left: int | None = None) -> float:
        """Upper end of the interval of a state; inf where nothing was proved."""

    @abc.abstractmethod
    def _unproved(self, number: float) -> str:
        """What to tell who asks for a value that was not proved."""
