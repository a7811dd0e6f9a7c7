"""Konijnenhokken: up to how many banked points to roll on, for every field."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mdpdice import explore, solve
from mdpdice.games.konijnenhokken import Konijnenhokken
from mdpdice.games.konijnenhokken.game import Field
from mdpdice.plots import threshold_map

PICTURES = ("konijnenhokken-stop-or-roll",)

CAGES = ("no cage", "cage x2", "cages x2, x3", "cages x2, x3, x4")


def draw() -> dict[str, Axes | Figure]:
    solution = solve(explore(Konijnenhokken()))
    figure = Figure(figsize=(9.5, 7), layout="constrained")
    for cages, ax in enumerate(figure.subplots(2, 2).flat):

        def fields(state: Any, cages: int = cages) -> bool:
            return isinstance(state, Field) and state.c == cages and state.r1 + state.r2 > 0

        threshold_map(
            solution,
            "r2",
            "r1",
            "t",
            "roll",
            largest=True,
            where=fields,
            never="stop",
            limits=(0, 72),
            xlabel="twos that are rabbits",
            ylabel="ones that are rabbits",
            label="roll up to so many banked points",
            title=CAGES[cages],
            ax=ax,
        )
    return {"konijnenhokken-stop-or-roll": figure}
