"""The weighted dice of Kingdom Come: Deliverance.

The table (`kcd_dice.csv`; its sources stand in `kcd_dice.README.md`) names a die by game, edition and name, because
its sources disagree: ``kcd2/A/Odd die``.  `find_die` also takes shorter names: the edition, or the game and the
edition, may be left out where every die that is then meant has the same chances, and so may what follows the
beginning of a word.  ``Odd die`` stands in both games, with weights 8:2 and 4:1, which is the same die; ``Lu die``
has two sets of weights, so it needs its game and edition.

Edition B lists only the dice on which it differs from A.  Any other die of the
game may be named with B too and is A's.
"""

from __future__ import annotations

import csv
import difflib
import functools
import importlib.resources
import math
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import attrs

from mdpdice import Dist
from mdpdice.errors import GameError, UnknownStateError
from mdpdice.games.farkle.rules import JOKER

_FACES = 6
_COUNTED = re.compile(r"\s*(?:(\d{1,3})\s*[x*\N{MULTIPLICATION SIGN}]\s*)?(.*)", re.DOTALL)
_FROM = {"kcd2/A": "lowentropy/kcd2-dice", "kcd2/B": "ShaneeexD/KCD-2-Dice-Calc", "kcd1/A": "phlip9/kcddice"}
_ALIASES = {
    "Ordinary die": ("Hugo's die", "Molar die", "Premolar die", "Wisdom tooth die", "St. Stephen's die"),
    "Unlucky die": ("Painter's red die", "Painter's green die", "Painter's blue die"),
}  # dice of kcd2 that the sources describe without a row of their own


class UnknownDieError(UnknownStateError):
    """No die of the table has this name, or several different ones do (`value`)."""


@attrs.frozen
class Die:
    """A die with six faces.

    Parameters
    ----------
    name : str
        Distinguishes it from other dice: dice of one name are interchangeable.
    weights : tuple of int
        Relative chances of the faces 1 to 6.
    joker : bool
        Whether face 1 is a joker.
    """

    name: str
    weights: tuple[int, ...]
    joker: bool = False

    def __attrs_post_init__(self) -> None:
        if len(self.weights) != _FACES or min(self.weights) < 0 or not any(self.weights):
            msg = f"the die {self.name!r} needs six weights of at least 0, not all 0: {self.weights!r}"
            raise GameError(msg, value=self.weights)

    @property
    def short_name(self) -> str:
        """The name without game and edition."""
        return self.name.rpartition("/")[2]

    def symbol(self, face: int) -> int:
        """Return what the die scores as when it shows a face: the face, or the joker."""
        return JOKER if self.joker and face == 1 else face

    def symbols(self) -> Dist[int]:
        """Return the distribution of what the die shows (see `symbol`)."""
        return Dist({self.symbol(face): weight for face, weight in enumerate(self.weights, start=1)})


@functools.cache
def load_dice() -> Mapping[str, Die]:
    """Return every die of the table, by its full name ``game/edition/name``, in the table's order."""
    dice: dict[str, Die] = {}
    table = importlib.resources.files("mdpdice.games.farkle") / "kcd_dice.csv"
    for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines()):
        name = f"{row['game']}/{row['edition']}/{row['die']}"
        weights = tuple(int(row[f"w{face}"]) for face in range(1, _FACES + 1))
        dice[name] = Die(name, weights, joker=row["joker"] == "1")
    for original, aliases in _ALIASES.items():
        for name in (f"kcd2/A/{alias}" for alias in aliases):
            dice[name] = attrs.evolve(dice[f"kcd2/A/{original}"], name=name)
    return MappingProxyType(dice)


def find_die(name: str) -> Die:
    """Return a die by its full name, or by a shorter one that leaves no doubt.

    Parameters
    ----------
    name : str
        ``game/edition/name``, ``game/name`` or ``name``, where the beginning of a name or of a word in it will
        do: ``Lucky``, ``Antiochus``; upper and lower case are the same.  Of several dice with the same chances
        the first of the table is returned, and the table begins with kcd2, edition A.

    Raises
    ------
    UnknownDieError
        No die has this name, or several with different chances.  The message lists them, or the nearest names.

    Examples
    --------
    >>> from mdpdice.games.farkle.dice_table import find_die
    >>> find_die("Odd die").name, find_die("kcd1/Odd").name
    ('kcd2/A/Odd die', 'kcd1/A/Odd die')
    >>> find_die("kcd2/B/Odd die").name  # B lists only what differs from A
    'kcd2/A/Odd die'
    """
    dice = load_dice()
    if not (found := matching(dice.values(), name)) and _plain(name).startswith("kcd2/b/"):
        found = matching(dice.values(), f"kcd2/a/{name.rpartition('/')[2]}")
    if not found:
        close = _nearest(_plain(name), dice)
        known = f"the nearest are {', '.join(close)}" if close else f"there are {', '.join(dice)}"
        raise UnknownDieError(f"no die is called {name!r}; {known}", value=name)
    if len({chances(die) for die in found}) > 1:
        names = ", ".join(die.name for die in found)
        alike = len({die.short_name for die in found}) == 1
        more = "give game and edition too" if alike else "write more of its name"
        raise UnknownDieError(f"{name!r} may be any of {names}, and their chances differ; {more}", value=name)
    return found[0]


def other_editions(die: Die) -> list[Die]:
    """Dice of the table that another source of the same game gives other chances under the same name."""
    game, mine = die.name.partition("/")[0], load_dice().get(die.name)
    others = [one for one in load_dice().values() if mine and one.name.startswith(f"{game}/")]
    return [one for one in others if one.short_name == die.short_name and chances(one) != chances(die)]


def source(die: Die) -> str:
    """Return the repository on github.com from which the weights of a die of the table come."""
    return _FROM[die.name.rpartition("/")[0]]


def same_name(a: str, b: str) -> bool:
    """Tell whether two names of dice are the same up to case, space and the form of apostrophes."""
    return _plain(a) == _plain(b)


def list_dice(listed: str | Iterable[str | Die]) -> list[Die]:
    """Return dice of a list or of a text with commas, in which ``2 x Lucky die`` are two."""
    found: list[Die] = []
    for one in listed.split(",") if isinstance(listed, str) else listed:
        if isinstance(one, Die):
            found.append(one)
        else:
            number, name = _COUNTED.fullmatch(one).groups()  # type: ignore[union-attr]  # it fits any text
            found += [read_die(name)] * int(number or 1)
    return found


def read_die(text: str) -> Die:
    """Return a die of the table by its name, as `find_die`, or a new one of a text ``name=w1:w2:w3:w4:w5:w6``."""
    name, given, weights = (part.strip() for part in text.partition("="))
    if not given:
        return find_die(name)
    if not re.fullmatch(r"\d+(:\d+){5}", weights):
        raise GameError(f"{text!r}: write six whole numbers as weights, as in {name}=1:1:1:1:1:5", value=text)
    return Die(name, tuple(map(int, weights.split(":"))))


def _plain(text: str) -> str:
    """Fold case, space and typographic apostrophes."""
    return " ".join(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").casefold().split())


def matching(dice: Iterable[Die], text: str) -> list[Die]:
    """Dice that a name means: in full, without "die", or else those with a word, or several, that begin so."""
    *place, wanted = (_plain(part) for part in text.split("/"))
    named = [(die, [_plain(part) for part in die.name.split("/")]) for die in dice]
    here = [(die, parts[-1]) for die, parts in named if place == parts[:-1][: len(place)]]
    for fits in (
        lambda name: name in (wanted, f"{wanted} die"),
        lambda name: name.startswith(wanted),
        lambda name: f" {wanted}" in name,
    ):
        if wanted and (found := [die for die, name in here if fits(name)]):
            return found
    return []


def chances(die: Die) -> tuple[tuple[int, ...], bool]:
    """Return what decides whether two dice are the same, up to a factor of the weights."""
    divisor = math.gcd(*die.weights)
    return tuple(weight // divisor for weight in die.weights), die.joker


def _nearest(wanted: str, dice: Mapping[str, Die]) -> list[str]:
    """Return the full names of the dice whose names are closest to an unknown one."""
    known: dict[str, str] = {}
    for name in dice:
        known.setdefault(_plain(name if "/" in wanted else name.rpartition("/")[2]), name)
    return [known[one] for one in difflib.get_close_matches(wanted, known, n=5, cutoff=0.5)]


ORDINARY = find_die("kcd2/A/Ordinary die")
"""The fair die that `dice=6` means."""
