"""One turn of Konijnenhokken (999 Games), for as many points as possible.

A turn is played with seven dice, in runs.  After every roll some dice are taken (`mdpdice.games.konijnenhokken.rules`):
at least one becomes rabbits, or the turn is lost, and any number of the next cages x2, x3, x4, x5 of the row.  Then
the player stops, or rolls the dice that are left.  A run is worth its rabbits times its highest cage.  When every die
is taken, the run's points are banked in `t`, and the player stops with `t` points or rolls all dice for a new run;
what is banked can still be lost.

States are `Field` (dice lie on the table: stop or roll?) and `Rolled` (what to take?); the equations stand in
``docs/games/konijnenhokken.md``.  The banked points grow with every run, so there are no cycles; that a turn ends where
they reach `t_max` is proved in `mdpdice.games.konijnenhokken.stopping`.

*The defect of the public program* (``defects="public-solver"``).  Its move generator adds cages only if the roll has a
2 left over.  That is right for the first cage, which is a 2, and wrong for all others.
"""

from __future__ import annotations

import functools
from typing import Literal, NamedTuple, TypeAlias

import attrs

from mdpdice import Edge, Game, Node, decide, end, go, roll
from mdpdice.games.konijnenhokken.rules import DICE, Offer, Take, offers, run_points, takes
from mdpdice.games.konijnenhokken.stopping import StoppingBound, stopping_bound
from mdpdice.games.parameters import choice, none_or_int, whole

# Named tuples of different lengths are never equal, and they are explored several times faster than
# attrs classes.


class Field(NamedTuple):
    """Dice lie on the table, after something was taken: stop, or roll the others?"""

    r1: int  # ones that are rabbits
    r2: int  # twos that are rabbits
    c: int  # cages; the highest multiplier is c + 1
    t: int  # points banked in earlier runs of this turn


class Rolled(NamedTuple):
    """A roll lies beside the `Field`, and something of its `mdpdice.games.konijnenhokken.rules.Offer` must be taken."""

    r1: int
    r2: int
    c: int
    t: int
    ones: int
    twos: int
    cages: int


State: TypeAlias = Field | Rolled
Action: TypeAlias = Literal["stop", "roll"] | Take


DICE_HELP = "dice of a run, 1 to 7; the game has seven"


@attrs.frozen
class Konijnenhokken(Game[State, Action]):
    """One turn of Konijnenhokken, to win as many points as possible.

    Parameters
    ----------
    dice : int
        Dice of a run; the game has seven.
    t_max : int or None
        Banked points at which the turn ends.  None (``"none"``) takes the smallest
        number for which that is proved to be optimal: 101 with seven dice.
    defects : {"none", "public-solver"}
        Play by the defective move generator of the public program (see the
        module's text).

    Examples
    --------
    >>> from mdpdice import solve
    >>> from mdpdice.games.konijnenhokken import Konijnenhokken
    >>> round(solve(Konijnenhokken(dice=4)).value(), 9)
    3.026635475
    """

    dice: int = whole(DICE, DICE, DICE_HELP, unit="dice")
    t_max: int | None = whole(
        None, 1_000, "banked points that end the turn, or none for the number proved optimal", converter=none_or_int
    )
    defects: Literal["none", "public-solver"] = choice(
        "none", "public-solver", help_text="public-solver: the moves of the public program, which lack some cages"
    )

    # --- what follows from the parameters -------------------------------------

    @property
    def defective(self) -> bool:
        """Whether the game is played with the moves of the public program."""
        return self.defects != "none"

    @functools.cached_property
    def bound(self) -> StoppingBound:
        """The proof from how many banked points on a turn should be stopped."""
        return stopping_bound(self.dice, defective=self.defective)

    @functools.cached_property
    def limit(self) -> int:
        """Banked points at which a turn ends."""
        return self.bound.total if self.t_max is None else self.t_max

    def takes(self, state: Rolled) -> tuple[Take, ...]:
        """Everything that may be taken in a state."""
        return takes(Offer(*state[4:]), state.c, defective=self.defective)

    # --- the game -------------------------------------------------------------

    def start(self) -> State:
        """All dice are about to be rolled, and nothing is banked."""
        return Field(0, 0, 0, 0)

    def node(self, state: State, /) -> Node[State, Action]:
        """Return a decision, except for the first roll and the end at `t_max` (see the module's text)."""
        r1, r2, c, t = state[:4]
        if isinstance(state, Rolled):
            taken = self.takes(state)
            return decide([(one, self._stand(r1 + one.ones, r2 + one.twos, c + one.cages, t)) for one in taken])
        fresh = not r1 + r2
        if fresh and t >= self.limit:
            return end(t)
        rolls = offers(self.dice - r1 - r2 - c, c, defective=self.defective)
        again: Edge[State] = roll(rolls, lambda offered: go(Rolled(r1, r2, c, t, *offered)) if offered else end())
        # A turn begins with a roll.
        if fresh and not t:
            return again
        options: dict[Action, Edge[State]] = {"stop": end(t + run_points(r1, r2, c)), "roll": again}
        return decide(options)

    def _stand(self, r1: int, r2: int, c: int, t: int) -> Edge[State]:
        complete = r1 + r2 + c == self.dice
        return _field(0, 0, 0, t + run_points(r1, r2, c)) if complete else _field(r1, r2, c, t)


@functools.cache
def _field(r1: int, r2: int, c: int, t: int) -> Edge[State]:
    """Go to a field.  Many rolls lead to one, and finding its edge is faster than making it."""
    return go(Field(r1, r2, c, t))
