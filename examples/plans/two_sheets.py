"""School and Yahtzee for two on small sheets, each player for the chance to win; a draw is half a win.

    mdpdice solve examples/plans/two_sheets.py:school_5
    mdpdice solve examples/plans/two_sheets.py:yahtzee_4

All that a player has to know is which boxes both have filled and the lead.  The whole sheets differ in their numbers
only, and in the upper points of Yahtzee: see ``docs/plans.md`` and `plan.py` beside this.
"""

from collections.abc import Iterator

import attrs

from mdpdice import Counter, Expr, Flags, Game, Node, Option, decide, end, go, pass_to, roll, when
from mdpdice.games.school.rules import GRADES, Rules
from mdpdice.games.school.turn import ROLLS, Action, CrossOut, Held, Rolled, Score, multiplier, rerolls, rolled
from mdpdice.games.yahtzee.game import points

State = Held | Rolled


def scores(sheet: str, box: str, dice: tuple[int, ...], left: int) -> set[int]:
    """Return what a box may be filled with, 0 where it is crossed out; `left` rerolls are not used."""
    if sheet == "yahtzee":
        return {points(box, dice)}
    scored = Rules().score(box, dice)
    crossed = set() if box in GRADES else {0}
    return crossed if scored is None else crossed | {scored * multiplier(box, left)}


@attrs.frozen
class TwoSheets(Game[State, Action]):
    """Two players fill the boxes of one sheet each, in turns, until both are full."""

    total = 1
    payoff_range = (0, 1)
    sheet: str
    boxes: tuple[str, ...]

    mine = Flags(lambda game: game.boxes)
    theirs = Flags(lambda game: game.boxes)
    lead = Counter(lambda game: game.leads(), start=0)

    def ranges(self) -> list[tuple[int, int]]:
        """Return the fewest and most points of every box, 0 included: it may still be open."""
        all_of = [{x for dice in ROLLS for x in scores(self.sheet, box, dice, 2)} for box in self.boxes]
        return [(min(0, *some), max(0, *some)) for some in all_of]

    def leads(self) -> range:
        most = sum(high - low for low, high in self.ranges())
        return range(-most, most + 1)

    def start(self) -> State:
        return Held((), 2)

    def progress(self) -> Expr:
        return self.mine.count() + self.theirs.count()

    def node(self, state: State) -> Node[State, Action]:
        if isinstance(state, Rolled):
            again = rerolls(state.dice) if state.rerolls else ()
            moves = ((one, go(Held(held, state.rerolls - 1))) for one, held in again)
            return decide([*self.endings(state), *moves])
        dice = roll(rolled(state.dice), lambda dice: go(Rolled(dice, state.rerolls)))
        if state != self.start():
            return dice
        won = when(self.lead > 0, end(1), when(self.lead < 0, end(0), end(0.5)))
        return when(self.mine.count() + self.theirs.count() == 2 * len(self.boxes), won, dice)

    def endings(self, state: Rolled) -> Iterator[tuple[Action, Option[State]]]:
        for at, box in enumerate(self.boxes):
            for paid in sorted(scores(self.sheet, box, state.dice, state.rerolls), reverse=True):
                swap = (
                    self.mine.set(self.theirs),
                    self.theirs.set(self.mine + (1 << at)),
                    self.lead.set(-self.lead - paid),
                )
                action = Score(box) if paid else CrossOut(box)
                yield action, when(~self.mine[at], pass_to(Held((), 2), *swap))


SCHOOL = ("grade-6", "pair", "full", "care", "trash", "set")
YAHTZEE = ("three of a kind", "full house", "small straight", "chance", "four of a kind")
school_5 = TwoSheets("school", SCHOOL[:5])
yahtzee_4 = TwoSheets("yahtzee", YAHTZEE[:4])
