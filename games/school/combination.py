"""One turn of School for one combination: the average score that Bob's rule is made of.

It ends with the score of the roll, twice that on the first roll unless the combination is a grade, or with 0 where the
combination is crossed out; grades cannot be.  The value of a grade is in the scale of the public program's table by
default (``grades="positive"``), so it is `5n` more than in the game.
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from mdpdice import Edge, Game, Node, decide, end, go, roll
from mdpdice.games.parameters import choice
from mdpdice.games.school.rules import GRADES_HELP, OTHERS, Grades, Rules, combination_named
from mdpdice.games.school.turn import REROLLS, Action, CrossOut, Held, Rolled, Score, multiplier, rerolls, rolled

State: TypeAlias = Held | Rolled

_HELP = f"what the turn is for: grade-1 to grade-6, {', '.join(OTHERS)}"


@attrs.frozen
class SchoolCombination(Rules, Game[State, Action]):
    """One turn of School for one combination, with the best rerolls; the value is its average score.

    Parameters
    ----------
    little, big, two_pairs, full
        See `mdpdice.games.school.rules.Rules`.
    grades : {"negative", "positive"}
        Whether a grade takes points for the other dice, or gives points for its own as in the
        public program's table.
    combination : str
        What the turn is for; one of `mdpdice.games.school.rules.COMBINATIONS`.

    Examples
    --------
    >>> from mdpdice import solve
    >>> from mdpdice.games.school import SchoolCombination
    >>> solve(SchoolCombination(combination="trash"), solver="exact").exact()
    Fraction(545885, 15552)
    """

    grades: Grades = choice("positive", "negative", help_text=GRADES_HELP)
    combination: str = attrs.field(default="pair", converter=combination_named, metadata={"help": _HELP})

    def start(self) -> State:
        """All dice are about to be rolled for the first time."""
        return Held((), REROLLS)

    def node(self, state: State, /) -> Node[State, Action]:
        """Return a roll of the dice that are not held, or what to do with the roll."""
        if isinstance(state, Held):
            return roll(rolled(state.dice), lambda dice: go(Rolled(dice, state.rerolls)))
        options: list[tuple[Action, Edge[State]]] = []
        if (points := self.score(self.combination, state.dice)) is not None:
            options.append((Score(self.combination), end(points * multiplier(self.combination, state.rerolls))))
        if not self.combination.startswith("grade-"):
            options.append((CrossOut(self.combination), end()))
        if state.rerolls:
            options += [(again, go(Held(held, state.rerolls - 1))) for again, held in rerolls(state.dice)]
        return decide(options)
