r"""One turn of Farkle, with the rules of Kingdom Come: Deliverance or any others.

A turn: roll all dice.  Set aside dice that score; a roll that scores nothing busts, and the points of the turn are
lost.  After every roll either bank the points or roll the dice that are left; when all dice have been set aside, all
of them are rolled again (hot dice).

States are `Ready` (some dice are about to be rolled) and `Choose` (a roll lies on the table, as its menu); the points
at risk are a counter.  The optimality equations stand in ``docs/farkle.md``.  Banking takes the best points of a roll,
since a payoff never falls in the points.

*Where a turn ends.*  With ``cap=N`` it ends when the points reach `N`; the payoff is the points (``at_cap="stop"``) or
at most `N` (``at_cap="clip"``).  Without a cap it ends at the bound of `mdpdice.games.farkle.banking`.

*The defects of a public solver* (``defects="public-solver"``).  The first public solver of this game computes, for the
gain :math:`O_n` of at most `n` rolls,

.. math:: O_n(p, D) = \sum_{roll} P(roll) \max\bigl(b(roll), H_{n-1}(p, roll')\bigr) - p \, \beta(D),

where the ways to roll on, `H`, read another roll :math:`roll'`: its decoder takes every face `f` for
:math:`\min(6, f + 1)`.  `H` has no test for a bust, and never offers all dice.  Put :math:`A_n = p + O_n`: that is an
ordinary turn again, in which every roll costs :math:`p \, \beta(D)` and then cannot bust, so it is declared here like
any other game and runs on the same solvers.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any, Literal

import attrs

from mdpdice import Counter, Game, Node, Option, decide, end, go, least, roll, when
from mdpdice.errors import GameError
from mdpdice.games.farkle.banking import BankingBound, banking_bound
from mdpdice.games.farkle.dice_table import ORDINARY, Die, list_dice
from mdpdice.games.farkle.menus import DiceLeft, Keep, MenuBook, menu_book
from mdpdice.games.farkle.rules import JOKER, KCD, MAX_DICE, RULES, Rules
from mdpdice.games.farkle.states import Action, Bank, Choose, Ready, State
from mdpdice.games.parameters import choice, none_or_int, whole

SIX: Any = MAX_DICE  # not the six dice: "6" is what --help shows
DICE_HELP = "a number of dice, or dice with commas ('mdpdice dice'): 2 x Odd die, kcd1/A/Lu die, mine=1:1:1:1:1:5"
RULES_HELP = f"scoring rules: {', '.join(RULES)}"
_CAP_HELP = "points at which the turn ends, or none to play on as long as that can be optimal"
_AT_CAP_HELP = "what a turn over the cap pays: stop = its points, clip = the cap"
_HOT_DICE_HELP = "whether all dice are rolled again after all have been set aside"
_DEFECTS_HELP = "public-solver: the defective rules that the first public solver computes"
_MISREAD = (2, 3, 4, 5, 6, 6, JOKER)
_GRID = 50  # the public solver tabulates the points in steps of 50


def read_rules(rules: Rules | str) -> Rules:
    """Return the rules of a name; a GameError if there are none."""
    if isinstance(rules, Rules):
        return rules
    if rules not in RULES:
        raise GameError(f"there are no rules {rules!r}; shipped are {', '.join(RULES)}", value=rules)
    return RULES[rules]


def read_dice(dice: int | str | Die | Iterable[str | Die]) -> tuple[Die, ...]:
    """Return the dice of a turn: a number of ordinary ones, or names or dice, in a text with commas.

    They raise a GameError if they are too many or too few, or two kinds share a name.
    """
    if isinstance(dice, str) and dice.strip().isdecimal():
        dice = int(dice)
    if isinstance(dice, int):
        # None, or one more than the most, are refused below.
        chosen = (ORDINARY,) * max(0, min(dice, MAX_DICE + 1))
    else:
        chosen = tuple(list_dice([dice] if isinstance(dice, Die) else dice))
    if not 1 <= len(chosen) <= MAX_DICE:
        raise GameError(f"dice={dice!r}: a turn is played with 1 to {MAX_DICE} dice", value=dice, limit=MAX_DICE)
    by_name = {die.name: die for die in chosen}
    for die in chosen:
        if by_name[die.name] != die:
            raise GameError(f"two different dice are called {die.name!r}; give every kind its name", value=die)
    return chosen


def _flag(flag: bool | str) -> bool:
    if (text := str(flag).strip().casefold()) not in ("true", "false"):
        raise GameError(f"{flag!r} is neither true nor false", value=flag)
    return text == "true"


@attrs.frozen
class KcdFarkle(Game[State, Action]):
    """One turn of Farkle, to win as many points as possible.

    Parameters
    ----------
    rules : Rules or str
        What scores, or the name of shipped rules: kcd, patch, plain, facebook, zilch.
    dice : int, or names or `Die` objects, as a list or separated by commas
        A number of ordinary dice, or the dice one by one; see `mdpdice.games.farkle.dice_table.find_die` for names.
    cap : int or None
        The turn ends when its points reach the cap.  None (``"none"``) plays
        without one, up to the bound above which banking is proved optimal.
    at_cap : {"stop", "clip"}
        What a turn pays that went over the cap: all its points, or the cap.
    hot_dice : bool
        Whether all dice are rolled again when all have been set aside; if not, the points are banked then.
    defects : {"none", "public-solver"}
        Play by the defective rules of the first public solver (see the module's
        text): without hot dice, whatever `hot_dice` says.

    Raises
    ------
    UnknownDieError
        No die has a name that was given, or several have.

    Examples
    --------
    >>> from mdpdice import explore
    >>> from mdpdice.games.farkle import KcdFarkle
    >>> network = explore(KcdFarkle(dice=2, cap=500))
    """

    rules: Rules = attrs.field(default=KCD, converter=read_rules, metadata={"help": RULES_HELP})
    dice: tuple[Die, ...] = attrs.field(default=SIX, converter=read_dice, metadata={"help": DICE_HELP})
    cap: int | None = whole(6000, 1_000_000, _CAP_HELP, converter=none_or_int)
    at_cap: Literal["stop", "clip"] = choice("stop", "clip", help_text=_AT_CAP_HELP)
    hot_dice: bool = attrs.field(default=True, converter=_flag, metadata={"help": _HOT_DICE_HELP})
    defects: Literal["none", "public-solver"] = choice("none", "public-solver", help_text=_DEFECTS_HELP)

    def __attrs_post_init__(self) -> None:
        if self.defective and (self.cap is None or self.at_cap != "stop" or self.cap <= _GRID):
            msg = "defects='public-solver' is about a table of points below a cap: it needs cap=N and at_cap='stop'"
            raise GameError(msg, value=self.cap)

    # --- what follows from the parameters -------------------------------------

    @property
    def defective(self) -> bool:
        """Whether the game is played by the rules of the defective solver."""
        return self.defects != "none"

    @functools.cached_property
    def kinds(self) -> tuple[Die, ...]:
        """The different dice, in the order of their first appearance."""
        return tuple(dict.fromkeys(self.dice))

    @functools.cached_property
    def book(self) -> MenuBook:
        """The menus of all sets of dice."""
        full, hot = tuple(map(self.dice.count, self.kinds)), self.hot_dice and not self.defective
        return menu_book(self.rules, self.kinds, full, hot, _MISREAD if self.defective else None)

    @functools.cached_property
    def all_dice(self) -> DiceLeft:
        """The full set of dice, as states hold it."""
        return self.book.left(self.book.full)

    @functools.cached_property
    def banking_bound(self) -> BankingBound:
        """The bound above which banking is optimal, without a cap."""
        return banking_bound(self.book)

    @functools.cached_property
    def limit(self) -> int:
        """Points at which a turn ends."""
        if self.cap is not None:
            return self.cap
        if (bound := self.banking_bound.points) is None:
            raise GameError(f"{self.endless}; give a cap", value=self.cap)
        return math.ceil(bound)

    @property
    def endless(self) -> str | None:
        """Why a turn without a cap is worth infinitely many points, or None if it is not."""
        if self.cap is not None or self.banking_bound.points is not None:
            return None
        dice = self.names(self.banking_bound.dice)
        return f"without a cap the value is infinite: {dice} can be rolled for ever without a bust"

    def names(self, dice: DiceLeft) -> str:
        """Return a set of dice in words: ``2 x Odd die, 1 x Lucky die``."""
        if isinstance(dice, int):
            return f"{dice} x {self.kinds[0].short_name}"
        counted = zip(dice, self.kinds, strict=True)
        return ", ".join(f"{number} x {kind.short_name}" for number, kind in counted if number)

    # --- the game -------------------------------------------------------------

    def points_at_risk(self) -> range:
        """Return the numbers of points that a turn can have at risk."""
        step = self.rules.grid or 1
        if self.defective:
            return range(0, self.limit, math.gcd(step, self._top))
        return range(0, max(self._top + 1 if self._goes_beyond else self.limit, 1), step)

    points = Counter(points_at_risk)

    def start(self) -> State:
        """All dice are about to be rolled, with no points at risk."""
        return Ready(self.all_dice)

    def node(self, state: State, /) -> Node[State, Action]:
        """Return a roll in `Ready`, a decision in `Choose` (see the module's text)."""
        if isinstance(state, Ready):
            rolls = self.book.rolls(state.dice)
            if self.defective:
                return roll(rolls.menus, lambda menu: go(Choose(menu)), reward=self.points * -rolls.bust)
            return roll(rolls.menus, lambda menu: go(Choose(menu)) if menu.best else end())
        best = state.menu.best
        options: dict[Action, Option[State]] = {_bank(best): self._ways(best)}
        return decide(options | {keep: self._ways(keep) for keep in state.menu.keeps})

    @functools.cached_property
    def _ways(self) -> Callable[[int | Keep], Option[State]]:
        """Where banking some points, or keeping some dice, leads to; many menus offer the same."""
        return functools.cache(self._way)

    def _way(self, chosen: int | Keep) -> Option[State]:
        if isinstance(chosen, int):
            banked = self.points + chosen
            return end(least(banked, self.cap) if self.at_cap == "clip" and self.cap is not None else banked)
        total = self.points + chosen.points
        on = go(Ready(chosen.dice), self.points.add(chosen.points))
        if self.defective or (self._goes_beyond and chosen.dice in self.banking_bound.sure):
            # Defective: the table's index is clamped, so the solver looks up the gain of its last row.
            # Dice that cannot bust: the points are out of danger, so what goes over the top is paid now.
            beyond = go(Ready(chosen.dice), self.points.set(self._top), reward=total - self._top)
            return when(total < self.limit, on, beyond)
        return when(total < self.limit, on)

    @property
    def _goes_beyond(self) -> bool:
        """Whether dice that cannot bust are rolled beyond the limit, too."""
        return self.cap is None and bool(self.banking_bound.sure)

    @property
    def _top(self) -> int:
        """The points of a turn that goes on at or above the limit."""
        step = self.rules.grid or 1
        return self.limit - _GRID if self.defective else -(-self.limit // step) * step


_bank = functools.cache(Bank)
