r"""Threshold policies: bank as soon as the points at risk reach a number that depends on the dice.

A vector `T` holds one threshold per number of dice.  With `d` dice in hand and `p` points at risk the policy banks
iff :math:`p \ge T_d`, and rolls otherwise.  After a roll it chooses among the legal selections the one that is worth
most under this very rule: to bank (then all scoring dice are taken, for `b(m)` points) if the rule banks after some
selection, or to roll on after any selection after which the rule rolls:

.. math::

   W_d(p) &= p \text{ if } p \ge T_d, \text{ else } R_d(p), \qquad
   R_d(p) = \sum_m P_d(m) \, w(m, p), \\
   w(m, p) &= \max\bigl( p + b(m) \; [\exists (s, d') \in m: p + s \ge T_{d'}], \;
              \max_{(s, d') \in m, \; p + s < T_{d'}} R_{d'}(p + s) \bigr),

with :math:`w = 0` for a bust.  A selection that brings the points to the end of the turn is banked.
The expected score of a turn is :math:`R_n(0)` for `n` dice.

Every selection adds points, so one pass from the most points downwards evaluates a vector, in a fraction of a
millisecond.  With the thresholds of the optimal policy this is the optimal value.  Those thresholds need not grow
with the dice; `search` looks for good vectors that do (*monotone* ones), by random search and refinement, and `gap`
says what monotone vectors lose, with a proof that no better one was missed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import attrs
import numpy as np
import numpy.typing as npt

from mdpdice import At, Network, Policy, Thresholds, explore, solve
from mdpdice.errors import GameError, UnsupportedError
from mdpdice.games.farkle.analysis import thresholds as roll_limits
from mdpdice.games.farkle.game import KcdFarkle
from mdpdice.games.farkle.menus import Menu
from mdpdice.games.farkle.states import Action, Bank, Choose, State

Vector: TypeAlias = tuple[int, ...]
Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Progress: TypeAlias = Callable[[str, Mapping[str, float]], None]

_NEVER: Final = -np.inf
AT_ONCE: Final = 100
"""Vectors between two calls of a progress callback."""
_OFFSETS: Final = np.array([sign * (at if at <= 8 else round(1.5 ** (at - 3))) for sign in (-1, 1) for at in range(18)])


@attrs.frozen
class ThresholdTurn:
    """One turn of Farkle, played by thresholds; an UnsupportedError for dice of several kinds, or the defective rules.

    Examples
    --------
    >>> from mdpdice.games.farkle import KcdFarkle
    >>> from mdpdice.games.farkle.thresholds import ThresholdTurn
    >>> turn = ThresholdTurn(KcdFarkle(cap=1000))
    >>> round(turn.value((300, 250, 450, 1050, 3400, 12950)), 6)
    549.166262
    """

    game: KcdFarkle

    def __attrs_post_init__(self) -> None:
        if len(self.game.kinds) > 1 or self.game.defective:
            raise UnsupportedError("thresholds need dice of one kind and defects='none'", value=self.game)
        if self.game.cap is None and self.game.banking_bound.sure:
            raise UnsupportedError("dice that never bust need a cap for threshold policies", value=self.game)

    # --- values ---------------------------------------------------------------

    @property
    def n_dice(self) -> int:
        return len(self.game.dice)

    def value(self, vector: Sequence[int]) -> float:
        """Return the expected score of a turn that is played by these thresholds."""
        return float(self.values(np.array([self._checked(vector)]))[0])

    def values(self, vectors: npt.ArrayLike) -> Floats:
        """Return the expected score of a turn for many vectors, an array of shape (n, dice)."""
        given = np.asarray(vectors, dtype=np.int64).reshape(-1, self.n_dice)
        rolled = np.zeros((self.steps, self.n_dice))
        return np.array([self._rolling(vector, rolled)[0, -1] for vector in given])

    def table(self, vector: Sequence[int]) -> dict[int, Floats]:
        """Return the value table W: for every number of dice the value at 0, 1, 2, ... units of the grid."""
        checked = np.array(self._checked(vector))
        points = np.arange(self.steps)[:, None] * self.grid
        worth = np.where(points >= checked, points, self._rolling(checked))
        return dict(enumerate(worth.T, start=1))

    def policy(self, vector: Sequence[int], network: Network | None = None) -> Policy:
        """Return the policy on the network of the game, to be evaluated or simulated like any other."""
        return Policy.of(network or explore(self.game), self.rule(vector))

    def rule(self, vector: Sequence[int]) -> Callable[[At[State]], Action]:
        """Return what to do with a roll on the table, as a function of the state."""
        checked = self._checked(vector)
        rolling = self._rolling(np.array(checked))

        def choose(at: At[State]) -> Action:
            assert isinstance(at.state, Choose)
            return self._choose(at.state.menu, at.counters["points"], checked, rolling)

        return choose

    def optimal(self) -> Vector:
        """Return the thresholds of the optimal policy: one step of the grid above the last points worth a roll."""
        return tuple(0 if limit is None else limit + self.grid for limit in roll_limits(self.game).values())

    # --- one pass ---------------------------------------------------------------

    @functools.cached_property
    def grid(self) -> int:
        """The unit of points: the largest number that divides all scores."""
        return self.game.rules.grid

    @functools.cached_property
    def steps(self) -> int:
        """Number of points on the grid at which a turn goes on."""
        return -(-self.game.limit // self.grid)

    @functools.cached_property
    def _offers(self) -> _Offers:
        first_menu = [0]
        chance: list[float] = []
        menus: list[Menu] = []
        for number in range(1, self.n_dice + 1):
            rolls = self.game.book.rolls(number).menus
            menus += (some := [menu for menu in rolls if menu.best])
            chance += [float(rolls.prob(menu)) for menu in some]
            first_menu.append(len(menus))
        keeps = [keep for menu in menus for keep in menu.keeps]
        first_keep = np.cumsum([0, *(len(menu.keeps) for menu in menus)])
        best = np.array([menu.best for menu in menus], dtype=np.float64)
        points = np.array([keep.points // self.grid for keep in keeps], dtype=np.int64)
        dice = np.array([_number(keep.dice) - 1 for keep in keeps], dtype=np.int64)
        return _Offers(np.array(first_menu), np.array(chance), best, first_keep, points, dice)

    def upper_bound(self, place: int) -> float:
        """Return what no rule with ``T[place] <= T[place + 1]`` can exceed, whatever its other thresholds are.

        Let `v` be a number between the two.  Then with ``place`` dice the rule must bank from `v` on, and with one
        more it must roll below `v`; let it choose freely, for every number of points, in all other positions.  The
        bound is the best value of such a rule, for the best `v`.
        """
        rolled = np.zeros((self.steps, self.n_dice))
        best = _NEVER
        for v in range(self.steps + 1):
            low, high = np.zeros(self.n_dice, dtype=np.int64), np.full(self.n_dice, self.steps)
            high[place - 1] = low[place] = v
            best = max(best, float(self._run(low, high, rolled)[0, -1]))
        return best

    def _rolling(self, vector: Ints, rolled: Floats | None = None) -> Floats:
        """R of the module's text, as an array of shape (points, dice); not set where the vector never rolls."""
        if rolled is None:
            rolled = np.zeros((self.steps, self.n_dice))
        # From the end of the turn on, everything is banked.
        limits = np.clip(-(-vector // self.grid), 0, self.steps)
        return self._run(limits, limits, rolled)

    def _run(self, low: Ints, high: Ints, rolled: Floats) -> Floats:
        clip = self.game.at_cap == "clip" and self.game.cap is not None
        most = float(self.game.limit) if clip else np.inf
        _compiled()(*self._offers, low, high, self.grid, most, rolled)
        return rolled

    def _choose(self, menu: Menu, points: int, vector: Vector, rolled: Floats) -> Action:
        """Return what the rule does with a roll on the table."""
        ways = [(points + keep.points, keep) for keep in menu.keeps]
        limits = [min(vector[_number(keep.dice) - 1], self.game.limit) for _, keep in ways]
        banks = not ways or any(after >= limit for (after, _), limit in zip(ways, limits, strict=True))
        action: Action = Bank(menu.best)
        best = points + menu.best if banks else _NEVER
        if self.game.at_cap == "clip" and self.game.cap is not None:
            best = min(best, self.game.cap)
        for (after, keep), limit in zip(ways, limits, strict=True):
            if after < limit and rolled[after // self.grid, _number(keep.dice) - 1] > best:
                action, best = keep, rolled[after // self.grid, _number(keep.dice) - 1]
        return action

    def _checked(self, vector: Sequence[int]) -> Vector:
        given = tuple(vector)
        if len(given) != self.n_dice or not all(isinstance(one, int | np.integer) and one >= 0 for one in given):
            raise GameError(f"thresholds {vector!r}: write {self.n_dice} numbers of points", value=vector)
        return tuple(map(int, given))


def _number(dice: int | tuple[int, ...]) -> int:
    """Return how many dice a set of one kind has."""
    return dice if isinstance(dice, int) else sum(dice)


# --- search -------------------------------------------------------------------------------------------


@attrs.frozen
class Found:
    """A vector that a search came to, its expected score of a turn, and how many vectors were evaluated."""

    vector: Vector
    value: float
    tried: int


def search(
    turn: ThresholdTurn,
    n: int = 1000,
    seed: int = 0,
    *,
    monotone: bool = True,
    refined: bool = True,
    progress: Progress | None = None,
) -> Found:
    """Search for a good vector: draw some at random, then refine the best one.

    Of `n` vectors, `monotone` ones (``T[1] <= T[2] <= ...``) if that is asked, the best is `refined`.
    `progress` is called as ``progress("search", {"vectors": ..., "of": n})``, then as by `refine`.
    """
    if n < 1:
        raise GameError(f"a search draws at least 1 vector, not {n}", value=n, limit=1)
    grid, top = turn.grid, turn.steps
    # Thresholds of few and of many dice differ by a factor of 50, so their logarithms are drawn.
    drawn = np.exp(np.random.default_rng(seed).uniform(0, np.log(top + 1), size=(n, turn.n_dice)))
    vectors = grid * drawn.astype(np.int64)
    if monotone:
        vectors.sort(axis=1)
    values = np.empty(n)
    for first in range(0, n, AT_ONCE):
        values[first : first + AT_ONCE] = turn.values(vectors[first : first + AT_ONCE])
        if progress is not None:
            progress("search", {"vectors": min(first + AT_ONCE, n), "of": n})
    best = int(np.argmax(values))
    found = Found(tuple(vectors[best].tolist()), float(values[best]), n)
    return refine(turn, found, monotone=monotone, progress=progress) if refined else found


def refine(turn: ThresholdTurn, found: Found, *, monotone: bool = True, progress: Progress | None = None) -> Found:
    """Improve a vector until no move makes it better.

    A move sets one threshold to another number.  For monotone vectors it sets a run of neighbouring ones to a common
    number, as the neighbours allow: where the order binds, thresholds can only move together.  `progress` is called
    as ``progress("refine", {"vectors": ..., "points": ...})``, with the best value so far.
    """
    improved = True
    while improved:
        improved = False
        for moved in _moves(turn, found.vector, monotone=monotone):
            values = turn.values(moved)
            best = int(np.argmax(values))
            better = values[best] > found.value * (1 + 1e-13)
            vector = tuple(moved[best].tolist()) if better else found.vector
            found = Found(vector, max(found.value, float(values[best])), found.tried + len(moved))
            improved |= bool(better)
            if progress is not None:
                progress("refine", {"vectors": found.tried, "points": found.value})
            if better:
                break
    return found


def _moves(turn: ThresholdTurn, vector: Vector, *, monotone: bool) -> Iterator[Ints]:
    """Give the vectors that a move leads to, one array per run of thresholds."""
    grid, top, size = turn.grid, turn.steps, len(vector)
    for first in range(size):
        for last in range(first, size if monotone else first + 1):
            low = vector[first - 1] // grid if monotone and first else 0
            high = vector[last + 1] // grid if monotone and last + 1 < size else top
            # Near the thresholds that are moved every number, farther away ever fewer.
            near = np.add.outer(np.array(vector[first : last + 1]) // grid, _OFFSETS)
            numbers = np.unique(np.clip(near, low, min(high, top)))
            moved = np.tile(np.array(vector), (len(numbers), 1))
            moved[:, first : last + 1] = grid * numbers[:, None]
            yield moved


@attrs.frozen
class Gap:
    """What the best monotone vector that was found loses against the optimal policy."""

    optimal: float  # the optimal expected score, certified
    vector: Vector  # the thresholds of the optimal policy
    monotone: Found
    bound: float  # no monotone vector is worth more than this

    @property
    def loss(self) -> float:
        """Expected points that the best monotone vector loses, if it is `proved`; else no less is known."""
        return self.optimal - self.monotone.value

    @property
    def proved(self) -> bool:
        """Whether no monotone vector is better than the one that was found, up to rounding."""
        return self.bound <= self.monotone.value + 1e-9 * max(1.0, self.optimal)


def gap(game: KcdFarkle, n: int = 1000, seed: int = 0, *, progress: Progress | None = None) -> Gap:
    """Compare the optimal policy with the best monotone vector of a search.

    Where the optimal thresholds fall from one number of dice to the next, the order
    binds; `ThresholdTurn.upper_bound` then bounds what is left, and proves that nothing
    better was missed if the search has reached it.  `progress` is called as by `search`.
    """
    turn = ThresholdTurn(game)
    optimal, value = turn.optimal(), solve(game).value()
    found = search(turn, n, seed, progress=progress)
    falls = [at + 1 for at in range(turn.n_dice - 1) if optimal[at] > optimal[at + 1]]
    for place in falls:
        # The search is helped: the two that are out of order may meet at either of their numbers.
        for level in (optimal[place - 1], optimal[place]):
            start = np.array(optimal)
            start[place - 1 : place + 1] = level
            vector = tuple(np.maximum.accumulate(start).tolist())
            other = refine(turn, Found(vector, turn.value(vector), 1), progress=progress)
            found = attrs.evolve(max(found, other, key=lambda one: one.value), tried=found.tried + other.tried)
    if not falls:
        found = Found(optimal, turn.value(optimal), found.tried + 1)
    return Gap(value, optimal, found, min((turn.upper_bound(place) for place in falls), default=value))


def described(game: KcdFarkle, *, monotone: bool, draws: int, seed: int, progress: Progress | None) -> list[Thresholds]:
    """Return the thresholds of the optimal policy and, if any vectors are to be drawn, the best ones of a search."""
    turn = ThresholdTurn(game)
    optimal = turn.optimal()
    found = [_named("optimal", Found(optimal, turn.value(optimal), 0))]
    if draws and monotone:
        best = gap(game, draws, seed, progress=progress)
        found.append(_named("best monotone found", best.monotone, best.bound))
    elif draws:
        found.append(_named("best found", search(turn, draws, seed, monotone=False, progress=progress)))
    return found


def _named(rule: str, found: Found, bound: float | None = None) -> Thresholds:
    name = f"threshold:{','.join(map(str, found.vector))}"
    return Thresholds(rule, name, found.vector, found.value, found.tried, bound)


# --- one compiled pass over all points and menus -------------------------------------------------------


class _Offers(NamedTuple):
    """The menus of all numbers of dice as arrays; dice are counted from 0, points in units of the grid."""

    first_menu: Ints  # where the menus of each number of dice start, shape (dice + 1,)
    chance: Floats  # probability of every menu
    best: Floats  # its points to bank
    first_keep: Ints  # where its ways to roll on start, shape (menus + 1,)
    points: Ints  # of a way to roll on
    dice: Ints  # that are rolled next


@functools.cache
def _compiled() -> Any:
    """Return `_roll`, compiled when it is first used: importing numba takes a second."""
    import numba

    return numba.njit(cache=True, nogil=True)(_roll)


def _roll(
    first_menu: Ints, chance: Floats, best: Floats, first_keep: Ints, points: Ints, dice: Ints, low: Ints, high: Ints,
    grid: int, most: float, rolled: Floats,
) -> None:  # fmt: skip
    """Write R of the module's text for a rule to `rolled`, where it rolls: by points and dice.

    From `low` points on the rule may bank, and below `high` it may roll, in units of the grid; for a vector of
    thresholds they are the same.  No more than `most` points are banked.
    """
    steps, count = rolled.shape
    # From how many points on a menu is banked for sure: most are, most of the time.
    sure = np.zeros(len(chance), dtype=np.int64)
    for menu in range(len(chance)):
        for keep in range(first_keep[menu], first_keep[menu + 1]):
            sure[menu] = max(sure[menu], high[dice[keep]] - points[keep])
    for at in range(steps - 1, -1, -1):
        for number in range(count):
            # A turn starts with a roll, whatever its threshold.
            if at >= high[number] and not (at == 0 and number == count - 1):
                continue
            total = 0.0
            for menu in range(first_menu[number], first_menu[number + 1]):
                bank = min(at * grid + best[menu], most)
                if at >= sure[menu]:
                    total += chance[menu] * bank
                    continue
                banks = False
                worth = -np.inf
                for keep in range(first_keep[menu], first_keep[menu + 1]):
                    after = at + points[keep]
                    if after >= low[dice[keep]]:
                        banks = True
                    if after < high[dice[keep]]:
                        worth = max(worth, rolled[after, dice[keep]])
                if banks:
                    worth = max(worth, bank)
                total += chance[menu] * worth
            rolled[at, number] = total
