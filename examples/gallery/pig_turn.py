"""One turn of Pig: where the best action changes, what turns bring, and the network of a short one."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mdpdice import Policy, explore, outcomes, solve
from mdpdice.games.pig import PigTurn, hold_at
from mdpdice.plots import draw_network, outcome_chart, stage_curve, value_curve

PICTURES = ("pig-turn-actions", "pig-turn-totals", "pig-turn-stages", "pig-turn-network")


def draw() -> dict[str, Axes | Figure]:
    solution = solve(explore(PigTurn(cap=40)))
    network = explore(PigTurn())
    totals = {f"hold at {n}": outcomes(network, Policy.of(network, hold_at(n))) for n in (10, 20, 30)}
    short = explore(PigTurn(cap=5))
    return {
        "pig-turn-actions": value_curve(
            solution,
            "state",
            actions=True,
            where=lambda points: 10 <= points <= 30,
            unit="points",
            xlabel="points at risk",
        ),
        "pig-turn-totals": outcome_chart(totals, at_least=True, unit="points"),
        "pig-turn-stages": stage_curve(
            solve(network, horizon=12), states={"0 points at risk": 0, "10 points at risk": 10}, unit="points"
        ),
        "pig-turn-network": draw_network(short, solve(short)),
    }
