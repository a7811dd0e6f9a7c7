"""A number and the interval that was proved to hold it."""

from __future__ import annotations

import attrs

from mdpdice.errors import GameError


@attrs.frozen
class Enclosure:
    """A value with bounds, as a game gives it that knows a better way than one large network.

    Parameters
    ----------
    value, lower, upper : float
        In payoff units; ``lower <= value <= upper``.
    method : str
        How it was found, in a few words.

    Raises
    ------
    GameError
        The value lies outside its bounds, or is not a number.
    """

    value: float
    lower: float
    upper: float
    method: str = ""

    def __attrs_post_init__(self) -> None:
        if not self.lower <= self.value <= self.upper:
            raise GameError(f"value {self.value!r} does not lie in [{self.lower!r}, {self.upper!r}]", value=self.value)

    @property
    def width(self) -> float:
        """Width of the interval over ``max(1, abs(value))``, as `mdpdice.Solution.width` has it."""
        return (self.upper - self.lower) / max(1.0, abs(self.value))
