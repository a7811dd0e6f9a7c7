"""The race of Pig to 100 points: with how many points of a turn to hold, and what others do.

Half a million positions are solved; the maps are those of T. W. Neller and C. G. M. Presser,
"Optimal play of the dice game Pig", The UMAP Journal 25 (2004), seen from above and cut open.
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mdpdice import Policy, compile_lattice, solve
from mdpdice.games.pig import PigRace, hold_at
from mdpdice.plots import policy_difference, policy_map, threshold_map

PICTURES = ("pig-race-hold", "pig-race-slices", "pig-race-difference")

TURN = "points of the turn"
MINE = "score of the player to move"


def draw() -> dict[str, Axes | Figure]:
    solution = solve(compile_lattice(PigRace(goal=100)))
    hold = threshold_map(
        solution,
        "theirs",
        "mine",
        "turn",
        "hold",
        never="roll until you win",
        xlabel="score of the other player",
        ylabel=MINE,
        label="fewest points of a turn to hold with",
    )
    slices = Figure(figsize=(10, 3.4), layout="constrained")
    panels = slices.subplots(1, 3, sharex=True, sharey=True)
    for ax, theirs in zip(panels, (10, 50, 80), strict=True):
        policy_map(
            solution,
            "turn",
            "mine",
            where={"theirs": theirs},
            xlabel=TURN,
            ylabel=MINE if theirs == 10 else "",
            title=f"the other one has {theirs}",
            ax=ax,
        )
        if theirs < 80:
            ax.get_legend().remove()
    part = solution.excerpt({"theirs": 50})
    difference = policy_difference(
        part,
        Policy.of(part.network, hold_at(20)),
        "turn",
        "mine",
        names=("best play", "hold at 20"),
        xlabel=TURN,
        ylabel=MINE,
        title="the other one has 50",
    )
    return {"pig-race-hold": hold, "pig-race-slices": slices, "pig-race-difference": difference}
