"""What looks like an oversight in a model whose total is asked for: a note, since it may be meant."""

from __future__ import annotations

from typing import TypeVar

import attrs

from mdpdice.lattices.lattice import Lattice
from mdpdice.networks.network import Kind, Network
from mdpdice.objectives.objective import Objective, Total

M = TypeVar("M", Network, Lattice)


def noted(model: M, objective: Objective | None) -> M:
    """Return a model, with what nature makes of its value among its warnings, and oversights of undiscounted totals."""
    picks = set(model.kind[model.nature].tolist())
    if len(picks) == 1 and (model.sign > 0).all():
        side = ("an upper", "a lower")[(Kind.MIN in picks) == (objective is None or objective.wanted(model) == "max")]
        bound: str = f"the value is {side} bound for dice that are fixed, but unknown: nature picks again every time"
        model = attrs.evolve(model, warnings=(*(one for one in model.warnings if one != bound), bound))
    limited = model.discount != 1 or getattr(model, "horizon", None) is not None
    if limited or not isinstance(objective, Total | None):
        return model
    if model.pays:
        return model
    payoffs, note = model.payoffs, None
    if not payoffs:
        how = "let node() return end(payoff) where a play is over"
        note = f"no play can end from any state, and no edge has a reward, so every total is 0; {how}"
    elif 0 in payoffs and payoffs <= {0, 1} and model.total == 0 and (model.sign < 0).any():
        why = "players take turns by pass_to, no payoff is other than 0 and 1, and `total` is 0"
        how = "where 1 is a win and 0 a loss, give the game total = 1, and values are chances to win"
        note = f"{why}, so what one gets the other loses; {how}"
    if note is None or note in model.warnings:
        return model
    return attrs.evolve(model, warnings=(*model.warnings, note))
