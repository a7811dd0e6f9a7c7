"""What lies on the table as one line of text."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from mdpdice.looks.parts import Boxes, Dice, Grid, Note, Part, Score, Tokens, number, spoken
from mdpdice.looks.throw import Rolled

_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def told(
    parts: Sequence[Part], counters: Mapping[str, int], *, player: int = 0, who: Sequence[str] = ("first", "second")
) -> str:
    """Return a line for the parts on the table; those of the sides keep their places whoever moves.

    The values of the counters fill in the expressions, `player`, 0 or 1, is to move, and `who` are two names.
    """
    shown: list[tuple[int, str]] = []
    for part in parts:
        if not number(part.when, counters):
            continue
        side = player if part.of == "mover" else 1 - player if part.of == "other" else part.of
        label = " ".join(word for word in ("" if side is None else who[side], part.label) if word)
        body = _body(part, counters)
        shown.append((-1 if side is None else side, f"{label}: {body}" if label else body))
    sides = [text for side, text in sorted(shown, key=lambda pair: pair[0]) if side >= 0]
    return "; ".join([*sides, *(text for side, text in shown if side < 0)])


def _body(part: Part, counters: Mapping[str, int]) -> str:
    match part:
        case Dice(faces=faces, dice=dice, held=held):
            one = [str(Rolled((face,), dice[at : at + 1])) for at, face in enumerate(faces)]
            return " ".join(f"({text})" if at in held else text for at, text in enumerate(one)) or "no dice"
        case Tokens(items=items, lit=lit):
            shown = (str(one) if lit is None or at in lit else "·" for at, one in enumerate(items))
            return " ".join(shown) or "none"
        case Grid(rows=rows, foot=foot):
            lines = (" ".join("_" if cell == "" else str(cell) for cell in row) for row in rows)
            board = " / ".join(lines) or "empty"
            return f"{board} = {'+'.join(str(number(one, counters)) for one in foot)}" if foot else board
        case Score(value=value, goal=goal, risk=risk):
            of = "" if goal is None else f" of {number(goal, counters)}"
            return f"{number(value, counters)}{of}{' at risk' if risk else ''}"
        case Boxes(names=names, used=used):
            free = [name for name, gone in zip(names, used, strict=True) if not number(gone, counters)]
            return f"open {', '.join(free) or 'none'}"
        case Note(text=text):
            return spoken(text, counters)
    raise AssertionError


def said(rolled: Rolled, places: Sequence[int]) -> str:
    """Return some of the dice that lie there in words: "the 1 (Lucky die) and both 5s"."""
    names = (die.name for die in rolled.dice)
    pairs = list(itertools.zip_longest(rolled.faces, names, fillvalue=""))
    chosen = [pairs[at] for at in places]
    words = []
    for one in dict.fromkeys(chosen):
        count, there = chosen.count(one), pairs.count(one)
        face = f"{one[0]}{'s' if there > 1 else ''}" + (f" ({one[1]})" if one[1] else "")
        if count < there:
            words.append(f"{_COUNTS[count]} of the {face}")
        elif count < 3:
            words.append(f"{('the', 'both')[count - 1]} {face}")
        else:
            words.append(f"the {_COUNTS[count]} {face}")
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
