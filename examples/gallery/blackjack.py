"""Blackjack: what to do with two cards, hard and soft."""

from __future__ import annotations

import runpy
from pathlib import Path

from matplotlib.axes import Axes

from mdpdice import solve
from mdpdice.plots import policy_map

PICTURES = ("blackjack-hard", "blackjack-soft")
GAME = Path(__file__).resolve().parents[1] / "games" / "blackjack.py"


def draw() -> dict[str, Axes]:
    solution = solve(runpy.run_path(str(GAME))["Blackjack"]())

    def chart(name: str, *, soft: bool) -> Axes:
        return policy_map(
            solution,
            "up",
            "total",
            where=lambda hand: hand != "deal" and hand.fresh and hand.soft is soft,
            xlabel="card of the dealer (1: an ace)",
            ylabel=f"{name} total",
        )

    return {"blackjack-hard": chart("hard", soft=False), "blackjack-soft": chart("soft", soft=True)}
