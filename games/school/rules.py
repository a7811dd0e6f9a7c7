"""Combinations of School and what a roll scores in them.

Five dice are rolled, and some of them twice more.  The 15 combinations are the six grades and
nine others; a roll scores in a combination, or it does not fit there.

===================  ===============================================================
``grade-1`` to       minus n for every die that does not show n, so 0 at best; the
``grade-6``          public program's table of averages counts n for every die that
                     shows n instead, which is always 5n more (``grades="positive"``)
``pair``             two equal dice: their sum, of the highest pair
``set``              three equal dice: their sum
``two-pairs``        two pairs of different values: the sum of these four dice
``full``             three equal dice and two others that are equal: the sum of all
``care``             four equal dice: their sum
``little-straight``  1, 2, 3, 4, 5
``big-straight``     2, 3, 4, 5, 6
``poker``            five equal dice: their sum
``trash``            any roll: the sum of all
===================  ===============================================================

Every roll fits every grade.  A combination other than a grade counts double when it is scored on
the first roll of a turn; that is a matter of the turn (`mdpdice.games.school.turn`).

Public descriptions differ in four points, which are the parameters of `mdpdice.games.school.rules.Rules`.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, TypeAlias

import attrs

from mdpdice.errors import GameError
from mdpdice.games.parameters import choice, whole

DICE: Final = 5
FACES: Final = (1, 2, 3, 4, 5, 6)
GRADES: Final = tuple(f"grade-{face}" for face in FACES)
OTHERS: Final = (*("pair", "set", "two-pairs", "full", "care"), *("little-straight", "big-straight", "poker", "trash"))
COMBINATIONS: Final = (*GRADES, *OTHERS)
"""All combinations, in the order of the public program, which decides between equal ones."""

EQUAL: Final = {"pair": 2, "set": 3, "care": 4, "poker": 5}
LITTLE: Final = (1, 2, 3, 4, 5)
BIG: Final = (2, 3, 4, 5, 6)


def combination_named(text: str) -> str:
    """Return the combination of a name, written with or without hyphens, spaces and capitals; else a `GameError`.

    Examples
    --------
    >>> from mdpdice.games.school.rules import combination_named
    >>> combination_named("LittleStraight"), combination_named("Grade 4")
    ('little-straight', 'grade-4')
    """
    found = _NAMES.get(_plain(text)) if isinstance(text, str) else None
    if found is None:
        raise GameError(f"{text!r} is not a combination; choose one of {', '.join(COMBINATIONS)}", value=text)
    return found


def _plain(text: str) -> str:
    return re.sub(r"[\s_-]", "", text).casefold()


_NAMES: Final = {_plain(name): name for name in COMBINATIONS}


def combinations_named(names: Iterable[str]) -> tuple[str, ...]:
    """Return the combinations of some names in the order of `COMBINATIONS`; a `GameError` if one is there twice."""
    given = [combination_named(name) for name in names]
    if twice := [name for name, times in Counter(given).items() if times > 1]:
        raise GameError(f"{twice[0]} is named twice", value=given)
    return tuple(name for name in COMBINATIONS if name in given)


def opened(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return the combinations that are open: ``all``, or names, in a text separated by commas."""
    given = names.split(",") if isinstance(names, str) else list(names)
    listed = [name.strip() if isinstance(name, str) else name for name in given]
    if [_plain(name) for name in listed if isinstance(name, str)] == ["all"]:
        return COMBINATIONS
    return combinations_named(name for name in listed if name not in ("", "-"))


ALL: Any = "all"  # not the 15 names: "all" is what --help shows
OPEN_HELP: Final = "combinations that are open at the start, with commas, or all"


# --- the parameters -------------------------------------------------------------------------------


def _points(value: int | str) -> int:
    if isinstance(value, str) and re.fullmatch(r"\s*-?[0-9]+\s*", value):
        value = int(value)
    if not isinstance(value, int):
        raise GameError(f"{value!r}: a straight scores a whole number of points", value=value)
    return value


TwoPairs: TypeAlias = Literal["exactly-four", "four-or-five", "strict"]
Full: TypeAlias = Literal["with-five", "strict"]
Grades: TypeAlias = Literal["negative", "positive"]
GRADES_HELP: Final = "negative: grade n takes n for every die without it; positive: it gives n for every die with it"


@attrs.frozen
class Rules:
    """What rolls score, by one of the public descriptions.

    Parameters
    ----------
    little, big : int
        Points of the straights: 15 and 20 in the public program, 20 and 30 in an older table of it.
    two_pairs : {"exactly-four", "four-or-five", "strict"}
        Whether equal dice are two pairs as well: four of them but not five, as in the public
        program; four or five; or never.
    full : {"with-five", "strict"}
        Whether five equal dice are a full, as in the public program.
    grades : {"negative", "positive"}
        Whether a grade takes points for the other dice, or gives points for its own.

    Examples
    --------
    >>> from mdpdice.games.school.rules import Rules
    >>> rules = Rules()
    >>> rules.score("pair", (1, 2, 3, 5, 5)), rules.score("full", (1, 2, 3, 5, 5))
    (10, None)
    >>> rules.score("grade-6", (1, 2, 6, 6, 6))
    -12
    """

    little: int = whole(15, 1_000, "points of the little straight", least=0, converter=_points)
    big: int = whole(20, 1_000, "points of the big straight", least=0, converter=_points)
    two_pairs: TwoPairs = choice(
        "exactly-four", "four-or-five", "strict", help_text="equal dice that are two pairs: four, four or five, none"
    )
    full: Full = choice(
        *("with-five", "strict"), help_text="whether five equal dice are a full, or only three and two (strict)"
    )
    grades: Grades = choice("negative", "positive", help_text=GRADES_HELP)

    def score(self, combination: str, dice: Sequence[int]) -> int | None:
        """Return what five dice score in a combination after a reroll, or None if they do not fit."""
        return _score(self, combination_named(combination), checked_roll(dice))


def checked_roll(dice: Iterable[int]) -> tuple[int, ...]:
    """Return five dice in ascending order; a `GameError` if they are something else."""
    roll = tuple(sorted(dice))
    if len(roll) != DICE or not all(face in FACES for face in roll):
        raise GameError(f"{roll}: a roll is {DICE} dice that show 1 to {FACES[-1]}", value=roll)
    return roll


@functools.cache
def _score(rules: Rules, combination: str, roll: tuple[int, ...]) -> int | None:
    shown = Counter(roll)
    if number := EQUAL.get(combination):
        return max((number * face for face, count in shown.items() if count >= number), default=None)
    match combination:
        case "two-pairs":
            return _two_pairs(rules, shown)
        case "full":
            fits = sorted(shown.values()) == [2, 3] or (rules.full == "with-five" and len(shown) == 1)
            return sum(roll) if fits else None
        case "little-straight":
            return rules.little if roll == LITTLE else None
        case "big-straight":
            return rules.big if roll == BIG else None
        case "trash":
            return sum(roll)
    face = GRADES.index(combination) + 1
    return face * (shown[face] - (0 if rules.grades == "positive" else DICE))


def _two_pairs(rules: Rules, shown: Counter[int]) -> int | None:
    if len(pairs := [face for face, count in shown.items() if count >= 2]) == 2:
        return 2 * sum(pairs)
    alone = [face for face, count in shown.items() if count >= 4]
    most = {"exactly-four": 4, "four-or-five": 5, "strict": 0}[rules.two_pairs]
    return 4 * alone[0] if alone and shown[alone[0]] <= most else None
