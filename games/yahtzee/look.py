"""How Yahtzee and Yatzy are shown: the sheet, the upper boxes, and the dice."""

from __future__ import annotations

import functools
from typing import Any

from mdpdice import At, Solution, Table
from mdpdice.games.yahtzee.sheet import ScoreSheet, Throw
from mdpdice.looks import Act, Boxes, Dice, Goal, Look, Part, Rolled, Score


class SheetLook(Look[ScoreSheet], of=ScoreSheet):
    """A score sheet, and five dice."""

    @functools.cached_property
    def sheet(self) -> tuple[Part, ...]:
        """What lies there before any dice."""
        game, boxes = self.game, self.game.boxes
        used = tuple(boxes[at] for at in range(len(game.sheet)))
        return Boxes("sheet", names=game.sheet, used=used), Score("upper boxes", value=game.upper, goal=63)

    def table(self, state: Any, seen: Rolled | None = None) -> list[Part]:
        if not isinstance(state, Throw):
            return [*self.sheet]
        return [*self.sheet, Dice("dice", faces=state.dice), Score("throws left", value=state.left)]

    def goals(self) -> list[Goal]:
        return [Goal(f"{points} points or more", least=points) for points in (200, 250, 300)]

    def act(self, state: Any, action: Any, seen: Rolled | None = None) -> Act:
        if isinstance(action, str):
            return Act(f"score {action}", ("sheet", ((self.game.sheet.index(action),),)))
        return _keep(state.dice, action)

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


@functools.cache
def _keep(dice: tuple[int, ...], action: tuple[int, ...]) -> Act:
    places: list[int] = []
    for face in action:
        places.append(dice.index(face, places[-1] + 1 if places else 0))
    kept = "all" if action == dice else " ".join(map(str, action))
    return Act(f"keep {kept or 'nothing'}", ("dice", (tuple(places),)))
