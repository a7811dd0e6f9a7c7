"""One turn of KCD Farkle: with which dice and points to roll on."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mdpdice import explore, solve
from mdpdice.games.farkle import KcdFarkle, Ready
from mdpdice.looks import look_of
from mdpdice.plots import region_map, threshold_bars, value_map

PICTURES = ("farkle-roll-or-bank", "farkle-gain", "farkle-thresholds")

POINTS = "points at risk"
DICE = "dice to roll"


def draw() -> dict[str, Axes | Figure]:
    game = KcdFarkle()
    solution = solve(explore(game))

    def before_a_roll(state: Any) -> bool:
        return isinstance(state.state, Ready) and state.counters["points"] <= 4000

    def gain(state: Any, value: float) -> float:
        return value - float(state.counters["points"])

    return {
        "farkle-roll-or-bank": region_map(
            solution.network,
            lambda state: "roll on" if gain(state, solution.value(state)) > 0 else "bank",
            "points",
            "dice",
            where=before_a_roll,
            order=("bank", "roll on"),
            xlabel=POINTS,
            ylabel=DICE,
        ),
        "farkle-gain": value_map(
            solution,
            "points",
            "dice",
            of=gain,
            centre=0,
            where=lambda state: before_a_roll(state) and state.counters["points"] <= 1500,
            xlabel=POINTS,
            ylabel=DICE,
            label="what rolling on gains (points)",
        ),
        "farkle-thresholds": threshold_bars(
            look_of(game).thresholds(), xlabel="dice left", ylabel="bank from this many points on"
        ),
    }
