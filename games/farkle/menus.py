r"""Menus: what a roll offers, instead of the faces it shows.

For the rest of a turn only two things about a roll matter: the *menu*, that is the set of pairs (points, dice to roll
next) over its legal selections, and the best points it can be banked for.  Rolls with one menu are merged.

Dice are told apart by *kind*: dice of one name are one kind.  A set of dice is a
tuple of counts per kind, or plainly their number where there is one kind.

All menus of one set of dice are found at once, with numpy:

1. rolls: every kind is thrown as a `mdpdice.modelling.dice.pool`, so a roll is one count
   vector per kind, with its exact integer weight;
2. selections: the dice of a roll are laid out in a row and a selection is one of
   the :math:`2^n` subsets of the row.  Faces are packed count vectors (`mdpdice.games.farkle.rules.pack`), so the
   vectors of all subsets come out of `n` additions, and their scores out of one look-up;
3. merging: the columns of subsets that leave the same dice behind are sorted,
   and repeated scores are dropped, which makes equal menus equal rows.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter as Multiset
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias, final

import attrs
import numpy as np
import numpy.typing as npt

from mdpdice import Dist, pool
from mdpdice.errors import UnknownStateError
from mdpdice.games.farkle.dice_table import Die, same_name
from mdpdice.games.farkle.rules import JOKER, Rules, counts_of, pack
from mdpdice.looks import Die as ShownDie
from mdpdice.looks import Throw, remember

DiceLeft: TypeAlias = "int | tuple[int, ...]"
"""A set of dice: their number if all are of one kind, else their number per kind."""

Symbols: TypeAlias = tuple[tuple[int, ...], ...]
"""A roll: per kind, what its dice show (faces 1 to 6, or the joker)."""

Ints: TypeAlias = npt.NDArray[np.int32]


class Keep(NamedTuple):
    """Set dice aside that score some points, and roll the dice that are left, or all if none is (hot dice)."""

    points: int
    dice: DiceLeft


@final
class Menu:
    """What a roll offers: most points to bank, 0 if it scores nothing, and the ways to roll on, best points first.

    Menus are interned: equal menus are one object, so that states that hold one
    are hashed and compared in no time.  Call `Menu.of`, not the class.
    """

    __slots__ = ("best", "keeps")

    best: int
    keeps: tuple[Keep, ...]

    def __init__(self, best: int, keeps: tuple[Keep, ...]) -> None:
        object.__setattr__(self, "best", best)
        object.__setattr__(self, "keeps", keeps)

    @staticmethod
    def of(best: int, keeps: Iterable[tuple[int, DiceLeft]]) -> Menu:
        """Return the one menu with these contents, in whatever order."""
        ordered = sorted(itertools.starmap(Keep, keeps), key=lambda keep: (-keep.points, str(keep.dice)))
        return _interned(best, tuple(ordered))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Menu is immutable; {name!r} cannot be set")

    def __eq__(self, other: object) -> bool:
        # Interned, so identity is equality of contents.  Python's own identity hash is the fast one.
        return self is other

    __hash__ = object.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return Menu.of, (self.best, self.keeps)

    def __repr__(self) -> str:
        keeps = ", ".join(f"({keep.points}, {keep.dice!r})" for keep in self.keeps)
        return f"Menu.of({self.best}, [{keeps}])"


_INTERNED: dict[tuple[int, tuple[Keep, ...]], Menu] = {}


def _interned(best: int, keeps: tuple[Keep, ...]) -> Menu:
    # setdefault is atomic: two threads get the same object.
    return _INTERNED.setdefault((best, keeps), Menu(best, keeps))


@attrs.frozen(eq=False)
class Rolls:
    """The rolls of one set of dice: what they offer, and for every menu one roll that offers it."""

    menus: Dist[Menu]
    examples: Mapping[Menu, Symbols]

    @functools.cached_property
    def bust(self) -> Fraction:
        """Probability that nothing scores."""
        return self.menus.map(lambda menu: not menu.best).prob(True)

    @functools.cached_property
    def mean_best(self) -> Fraction:
        """Expected points of banking the best selection."""
        return self.menus.mean(lambda menu: menu.best)


@attrs.frozen(eq=False)
class MenuBook:
    """The menus of every subset of a set of dice, found when first asked for."""

    rules: Rules
    kinds: tuple[Die, ...]
    full: tuple[int, ...]  # how many there are of each kind
    keep_all: bool = True  # whether all dice may be kept, to roll all again (hot dice); they can always be banked
    misread: tuple[int, ...] | None = None  # what a defective decoder takes the symbols for in ways to roll on
    _cache: dict[DiceLeft, Rolls] = attrs.field(init=False, factory=dict, repr=False)

    def name(self, kind: Die) -> str:
        """Return the short name of a kind, or the full one if two kinds share the short one."""
        same = [other for other in self.kinds if same_name(other.short_name, kind.short_name)]
        return kind.short_name if len(same) == 1 else kind.name

    @functools.cached_property
    def shown_dice(self) -> tuple[ShownDie, ...]:
        """Every kind as it is shown: with a name where there are several."""
        names = map(self.name, self.kinds) if len(self.kinds) > 1 else [""]
        return tuple(ShownDie(weights=kind.weights, name=name) for kind, name in zip(self.kinds, names, strict=True))

    def left(self, counts: tuple[int, ...]) -> DiceLeft:
        """Return a tuple of counts per kind in the form that `Keep.dice` has."""
        return counts[0] if len(self.kinds) == 1 else counts

    def counts(self, dice: DiceLeft) -> tuple[int, ...]:
        """Return the counts per kind; the inverse of `left`."""
        return (dice,) if isinstance(dice, int) else dice

    def subsets(self) -> list[DiceLeft]:
        """Return all sets of at least one of the dice."""
        counts = itertools.product(*(range(number + 1) for number in self.full))
        return [self.left(some) for some in counts if any(some)]

    def rolls(self, dice: DiceLeft) -> Rolls:
        """Return the rolls of some of the dice."""
        return self._cache.get(dice) or self._cache.setdefault(dice, self._all_rolls(self.counts(dice)))

    def menu(self, roll: Symbols) -> Menu:
        """Return what one roll offers, told by what the dice of every kind show."""
        symbols = np.array([list(itertools.chain.from_iterable(roll))], dtype=np.int64)
        (menu,) = _menus(*self._offers(symbols, tuple(map(len, roll))), np.zeros(1, dtype=np.int64))
        return menu

    def example(self, menu: Menu) -> Symbols:
        """Return a roll that offers a menu; an UnknownStateError if none of these dice does."""
        if (found := self._examples.get(menu)) is None:
            raise UnknownStateError(f"no roll of these dice offers {menu!r}", value=menu)
        return found

    @functools.cached_property
    def _examples(self) -> Mapping[Menu, Symbols]:
        examples: dict[Menu, Symbols] = {}
        for dice in reversed(self.subsets()):  # the smallest sets come last, and count
            examples |= self.rolls(dice).examples
        return examples

    def _all_rolls(self, counts: tuple[int, ...]) -> Rolls:
        thrown = [_throws(die, number) for die, number in zip(self.kinds, counts, strict=True)]
        # Outcome of every kind for every roll; the last kind runs fastest.
        chosen = np.indices([len(throw.outcomes) for throw in thrown]).reshape(len(thrown), -1)
        shown = [
            np.array(throw.outcomes, dtype=np.int64).reshape(len(throw.outcomes), number)[at]
            for throw, number, at in zip(thrown, counts, chosen, strict=True)
        ]
        keys, owners = self._offers(np.hstack(shown), counts)
        first, group = _alike(keys)
        # Python's integers where the weights of all rolls together may not fit 64 bits.
        exact: Any = np.int64 if math.prod(throw.total for throw in thrown) < 1 << 63 else object
        weights: Any = 1
        for throw, at in zip(thrown, chosen, strict=True):
            weights = weights * np.array(throw.weights, dtype=exact)[at]
        sums = np.zeros(len(first), dtype=exact)
        np.add.at(sums, group, weights)
        menus = _menus(keys, owners, first)
        examples = [
            tuple(throw.outcomes[one] for throw, one in zip(thrown, roll, strict=True))
            for roll in chosen[:, first].T.tolist()
        ]
        dist = Dist(zip(menus, sums.tolist(), strict=True))
        real = self._throw(counts, thrown, [menus[one] for one in group.tolist()])
        return Rolls(remember(dist, real), dict(zip(menus, examples, strict=True)))

    def _throw(self, counts: tuple[int, ...], thrown: list[Dist[Any]], menus: list[Menu]) -> Throw:
        """Return the real dice of the rolls, whose menus come in the order of the outcomes of every kind."""
        places = [{outcome: at for at, outcome in enumerate(throw.outcomes)} for throw in thrown]

        def menu(shown: tuple[int, ...]) -> Menu:
            at, rest = 0, list(shown)
            for kind, number, place in zip(self.kinds, counts, places, strict=True):
                symbols = tuple(sorted(map(kind.symbol, rest[:number])))
                at, rest = at * len(place) + place[symbols], rest[number:]
            return menus[at]

        return Throw(tuple(zip(self.shown_dice, counts, strict=True)), menu)

    def _offers(self, symbols: npt.NDArray[np.int64], counts: tuple[int, ...]) -> tuple[Ints, list[DiceLeft]]:
        """Find what rolls of the same dice offer (step 2 and 3 of the module's text).

        A row of numbers for each holds its best points, then the points of selections, 0 where there is none; for
        every column of these there are the dice to roll next.
        """
        dice = sum(counts)
        points = self._points[subset_sums(UNIT[symbols])]
        best = points.max(axis=1)
        if self.misread is not None:
            points = self._points[subset_sums(UNIT[np.array((0, *self.misread))[symbols]])]
        columns: dict[DiceLeft, list[int]] = {}
        kind_of = [kind for kind, number in enumerate(counts) for _ in range(number)]
        for subset in range(1, 1 << dice):
            left = list(counts)
            for place, kind in enumerate(kind_of):
                left[kind] -= subset >> place & 1
            if any(left):
                columns.setdefault(self.left(tuple(left)), []).append(subset)
        if self.keep_all:
            columns[self.left(self.full)] = [*columns.get(self.left(self.full), []), (1 << dice) - 1]
        keys = [best[:, None]]
        owners: list[DiceLeft] = []
        # In the order that the keeps of a menu have among those of equal points.
        for after, subsets in sorted(columns.items(), key=lambda column: str(column[0])):
            keys.append(_distinct(points[:, subsets]))
            owners += [after] * len(subsets)
        return np.ascontiguousarray(np.hstack(keys)), owners

    @functools.cached_property
    def _points(self) -> Ints:
        jokers = sum(number for die, number in zip(self.kinds, self.full, strict=True) if die.joker)
        return score_table(self.rules, jokers)


def _menus(keys: Ints, owners: list[DiceLeft], rolls: npt.NDArray[np.int64]) -> list[Menu]:
    """Menus of some of the rolls that `MenuBook._offers` is about."""
    points = keys[rolls, 1:]
    row, column = np.nonzero(points)
    worth = points[row, column]
    # Best points first; of equal ones the order of the columns.
    order = np.lexsort((-worth, row))
    ends = np.searchsorted(row, np.arange(len(rolls)), side="right").tolist()
    made = functools.cache(lambda points, column: Keep(points, owners[column]))
    keeps = list(map(made, worth[order].tolist(), column[order].tolist()))
    parts = zip(keys[rolls, 0].tolist(), itertools.pairwise([0, *ends]), strict=True)
    return [_interned(best, tuple(keeps[start:end])) for best, (start, end) in parts]


UNIT = np.array([0] + [pack(counts_of([symbol])) for symbol in range(1, JOKER + 1)], dtype=np.int32)
"""The packed count vector of every symbol."""


def score_table(rules: Rules, jokers: int) -> Ints:
    """Return the points of every packed count vector with at most `jokers` jokers, 0 for what is not legal."""
    table = np.zeros(1 << 3 * JOKER, dtype=np.int32)
    scores = rules.scores(jokers)
    table[list(scores)] = list(scores.values())
    return table


def _throws(die: Die, number: int) -> Dist[tuple[int, ...]]:
    """Return the distribution of what some dice of one kind show, sorted."""
    shown = pool([die.symbols()] * number, faces=range(1, JOKER + 1))
    return shown.map(lambda counts: tuple(Multiset(dict(enumerate(counts, start=1))).elements()))


def _alike(keys: Ints) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Group equal rows: the first row of every group, in order, and the group of every row."""
    # Sorting numbers takes a fraction of the time of sorting rows; that they stand for the rows is checked.
    factors = np.random.default_rng(0).integers(1, 1 << 63, keys.shape[1], dtype=np.uint64)
    hashed = (keys.astype(np.uint64) * factors).sum(axis=1, dtype=np.uint64)
    _, first, group = np.unique(hashed, return_index=True, return_inverse=True)
    if not (keys == keys[first[group]]).all():
        _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        group = group.reshape(-1)
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return first[order], place[group]


def subset_sums(units: Ints) -> Ints:
    """Return the sum of every subset of a row: subset s is column s, read as a binary number."""
    rolls, dice = units.shape
    sums = np.zeros((rolls, 1 << dice), dtype=np.int32)
    for place in range(dice):
        sums[:, 1 << place : 2 << place] = sums[:, : 1 << place] + units[:, place : place + 1]
    return sums


def _distinct(points: Ints) -> Ints:
    """Sort every row and replace repeated numbers by 0, so that equal sets become equal rows."""
    if points.shape[1] == 1:
        return points
    points = np.sort(points, axis=1)
    points[:, 1:][points[:, 1:] == points[:, :-1]] = 0
    return np.sort(points, axis=1)


menu_book = functools.cache(MenuBook)
"""Returns the one `MenuBook` with these parameters, so that games of the same dice share it."""
