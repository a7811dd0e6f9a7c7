"""How the bounds of value iteration close in on the value of a short race of Pig."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mdpdice import explore
from mdpdice.games.pig import PigRace
from mdpdice.plots import bound_chart, capped_solutions

PICTURES = ("race-bounds",)


def draw() -> dict[str, Axes | Figure]:
    solutions = capped_solutions(explore(PigRace(goal=20)))
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    bound_chart(solutions, ax=left)
    bound_chart(solutions, width=True, ax=right)
    return {"race-bounds": figure}
