"""How Yahtzee and Yatzy are shown: the sheet, the upper boxes, and the dice."""

from __future__ import annotations

from typing import Any

from mdpdice import At, Solution, Table
from mdpdice.games.yahtzee.sheet import ScoreSheet, Throw
from mdpdice.looks import Act, Boxes, Dice, Goal, Look, Part, Rolled, Score


class SheetLook(Look[ScoreSheet], of=ScoreSheet):
    """A score sheet, and five dice."""

    def table(self, state: Any, seen: Rolled | None = None) -> list[Part]:
        game, boxes = self.game, self.game.boxes
        used = tuple(boxes[at] for at in range(len(game.sheet)))
        parts: list[Part] = [
            Boxes("sheet", names=game.sheet, used=used),
            Score("upper boxes", value=game.upper, goal=63),
        ]
        if isinstance(state, Throw):
            parts += [Dice("dice", faces=state.dice), Score("throws left", value=state.left)]
        return parts

    def goals(self) -> list[Goal]:
        return [Goal(f"{points} points or more", least=points) for points in (200, 250, 300)]

    def act(self, state: Any, action: Any, seen: Rolled | None = None) -> Act:
        found = super().act(state, action, seen)
        if isinstance(action, str):
            return Act(f"score {action}", found.tap)
        kept = "nothing" if action == () else "all" if action == state.dice else found.words
        return Act(f"keep {kept}", found.tap)

    def tables(self, solution: Solution | None) -> list[Table]:
        """Return what every box is worth at the start, and as the last one."""
        start: At[Any] = self._example()
        if solution is None or solution.horizon is not None or solution.start != start:
            return []
        game, every, rows = self.game, (1 << len(self.game.sheet)) - 1, []
        for box, name in enumerate(game.sheet):
            used = 1 << box, every - (1 << box)
            gone, last = (At(start.state, **{**start.counters, "boxes": boxes}) for boxes in used)
            rows.append((name, solution.value(start) - solution.value(gone), solution.value(last)))
        title = "what an open box is worth: points lost if it is filled with 0 at once, and its mean as the last one"
        return [Table("boxes", title, ("box", "given_up_at_once", "as_the_last_one"), rows)]
