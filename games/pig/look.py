"""How Pig is shown: scores, the points at risk, and from how many on to hold."""

from __future__ import annotations

import itertools
from typing import Any

from mdpdice import Solution, Table
from mdpdice.games.pig.holding import read_hold_at
from mdpdice.games.pig.race import HoldRow, Race, hold_table, position
from mdpdice.games.pig.turn import HOLD, PigTurn, hold_from
from mdpdice.games.races import standing
from mdpdice.looks import Act, Goal, Look, NamedPolicy, Part, Rolled, Score, Text

HOLD_AT = NamedPolicy("hold-at:N", "hold as soon as the turn has N points", read_hold_at, usual="hold-at:20")


class PigTurnLook(Look[PigTurn], of=PigTurn):
    """One turn."""

    def table(self, state: Any, seen: Rolled | None = None) -> list[Part]:
        return [Score("this turn", value=state, risk=True)]

    def act(self, state: Any, action: Any, seen: Rolled | None = None) -> Act:
        return Act(("hold ", state, " points") if action == "hold" else "roll")

    def heard(self, state: Any, outcome: Any, seen: Rolled | None, *, lost: bool) -> Text:
        return f"{outcome}: bust" if outcome == 1 else str(outcome)

    def notes(self) -> list[str]:
        early = f"cap={self.game.cap} ends turns that should go on; from cap={HOLD} on it costs nothing"
        return [early] if self.game.cap < HOLD else []

    def summary(self, solution: Solution) -> list[str]:
        """From how many points on to hold."""
        if solution.network.horizon is not None or self.game.cap <= HOLD:
            return []
        return [f"roll until at least {hold_from(solution)} points are at risk, then hold"]

    def goals(self) -> list[Goal]:
        return [Goal(f"{points} points or more", least=points) for points in (10, 20, 30)]

    def policies(self) -> list[NamedPolicy]:
        return [HOLD_AT]


class RaceLook(Look[Race], of=Race):
    """Pig and Piglet for two."""

    def table(self, state: Any, seen: Rolled | None = None) -> list[Part]:
        return [*standing(self.game, self.game.goal), Score("this turn", value=self.game.turn, risk=True)]

    def act(self, state: Any, action: Any, seen: Rolled | None = None) -> Act:
        turn, after = self.game.turn, self.game.mine + self.game.turn
        return Act(("hold ", turn, ": ", after, " in all") if action == "hold" else "roll")

    def heard(self, state: Any, outcome: Any, seen: Rolled | None, *, lost: bool) -> Text:
        shown = outcome or 1 if seen is None else seen
        return (f"{shown}: bust, ", self.game.turn, " lost") if not outcome else str(shown)

    def ending(self, state: Any, action: Any, outcome: Any, payoff: Any) -> Text:
        return "wins with ", self.game.mine + self.game.turn + outcome, " to ", self.game.theirs

    def summary(self, solution: Solution) -> list[str]:
        """From how many points of a turn on to hold, for some scores."""
        some = range(0, self.game.goal, max(1, self.game.goal // 10))
        rows: dict[tuple[int, int], int | None] = {}
        for mine, theirs in itertools.product(some, some):
            for place in (position(mine, theirs, turn) for turn in range(self.game.goal - mine)):
                if solution.reaches(place):
                    rows.setdefault((mine, theirs), None)
                    # The first range, of scores that can come about: what follows it is not asked for.
                    if solution.action(place) == "hold":
                        rows[mine, theirs] = place.counters["turn"]
                        break
        lines = [
            "hold when the turn has this many points or a few more (-: roll until the goal is reached):",
            "mine, down; theirs, across" + "".join(f"{theirs:>5}" for theirs in some),
        ]
        for mine in some:
            cells = (rows.get((mine, theirs), "") for theirs in some)
            shown = "".join(f"{'-' if cell is None else cell:>5}" for cell in cells)
            lines.append(f"{mine:>26}{shown}".rstrip())
        return lines

    def tables(self, solution: Solution | None) -> list[Table]:
        """Points of a turn with which to hold, for all scores."""
        if solution is None:
            return []
        lines = self.summary(solution)
        return [Table("hold", lines[0], HoldRow._fields, hold_table(solution), lines)]

    def policies(self) -> list[NamedPolicy]:
        return [HOLD_AT]
