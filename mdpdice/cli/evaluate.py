"""``mdpdice evaluate``: what a policy is worth."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import click

import mdpdice
from mdpdice.cli.case import Case, check_solver
from mdpdice.cli.game_command import Answer, game_command
from mdpdice.cli.named_policies import lattice_policy, network_policies, player_rows
from mdpdice.cli.options import (
    against_option,
    objective_options,
    policy_option,
    question_options,
    solver_option,
)
from mdpdice.cli.routes import large, spread_out
from mdpdice.cli.text import aligned, figure, json_number, short
from mdpdice.cli.values import after, enclosed_data, value_data, value_rows
from mdpdice.errors import UnsupportedError

if TYPE_CHECKING:
    from mdpdice.lattices.reachable_layers import Layers

__all__ = ["evaluate"]

LEVELS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""Levels of the quantiles."""
_MOMENTS = (("mean", "mean"), ("variance", "variance"), ("deviation", "sd"))


@game_command()
@question_options
@objective_options
@policy_option
@against_option
@solver_option
def evaluate(case: Case, chosen: str, against: str | None, solver: str) -> Answer:
    """Tell exactly what a policy is worth, and how its totals are distributed.

    Exit status: 0 proved, 1 not, 2 wrong usage.
    """
    case.refuse_infinite("there is no network on which a policy could be evaluated")
    check_solver(solver)
    began = time.perf_counter()
    spread, notes = None, case.notes()
    known = None
    if against is None and case.horizon is None and case.objective is None:
        known = case.game.policy_value(chosen, progress=case.progress)
    if known is not None:
        told = enclosed_data(known, case.epsilon)
        notes += [known.method] if known.method else []
    elif layers := large(case):
        told, spread = _on_the_lattice(case, chosen, against, solver, layers)
    else:
        names = [chosen] if against is None else [chosen, against]
        network, policies = network_policies(case, names, solver)
        told = value_data(mdpdice.evaluate(network, policies, epsilon=case.epsilon, progress=case.progress))
        if network.discount == 1:
            spread = _spread(mdpdice.outcomes(network, policies))
        else:
            notes.append("totals of a discounted game have no table of outcomes")
    data = {
        **case.data(),
        "policy": chosen,
        "against": against,
        **told,
        "seconds": time.perf_counter() - began,
        "outcomes": spread,
        "notes": notes,
    }
    return Answer(data, _lines(case, data), data["value"] is not None)


def _on_the_lattice(
    case: Case, name: str, against: str | None, solver: str, layers: Layers
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """What the optimal play is worth, and how it spreads; other policies cannot be evaluated there."""
    lattice = spread_out(case, layers.lattice, (name, against))
    other = next((one for one in (name, against) if one not in ("optimal", None)), name)
    # A name that nobody knows is refused as such.
    solution = lattice_policy(case, other, lattice, solver).solution
    if solution is None or (against is not None and against != name):
        msg = (
            f"this game has {layers.states:,} states, too many to evaluate {other!r} exactly; "
            f"mdpdice simulate {case.name} plays it"
        )
        raise click.UsageError(msg)
    told = value_data(solution)
    for key in ("solver", "seconds"):
        del told[key]
    if layers.cyclic or lattice.averaged:
        return told, None
    try:
        spread = _spread(mdpdice.outcomes(lattice, solution))
    except UnsupportedError:
        # Moments need less than a distribution does.
        deviation = solution.deviation()
        spread = {
            "mean": told["estimate"],
            "variance": deviation * deviation,
            "sd": deviation,
            "p_bust": None,
            "quantiles": {},
            "totals": None,
            "missing": None,
        }
    return told, spread


def _spread(found: mdpdice.Outcomes) -> dict[str, Any]:
    """A distribution as JSON data."""
    return {
        "mean": json_number(found.mean),
        "variance": json_number(found.variance),
        "sd": json_number(math.sqrt(found.variance)),
        "p_bust": found.prob(0),
        "quantiles": {str(level): json_number(found.quantile(level)) for level in _levels(found)},
        "totals": len(found),
        "missing": found.missing,
    }


def _levels(found: mdpdice.Outcomes) -> list[float]:
    return [level for level in LEVELS if found.missing < min(level, 1 - level)]


def _lines(case: Case, data: dict[str, Any]) -> list[str]:
    rows = [*case.rows(), *player_rows(data), *value_rows(data)]
    if data["states"] is not None:
        rows.append(("size", f"{data['states']:,} states, {data['edges']:,} edges"))
    rows.append(("time", f"{data['seconds']:.2f} s to explore and evaluate"))
    lines = [aligned(rows)]
    if (spread := data["outcomes"]) is not None:
        rows = [(label, short(spread[key])) for label, key in _MOMENTS]
        if spread["p_bust"] is not None:
            quantiles = (f"{100 * float(level):g} %: {figure(x)}" for level, x in spread["quantiles"].items())
            rows += [
                ("P(bust)", f"{short(spread['p_bust'])}, the chance of a total of 0"),
                ("quantiles", ", ".join(quantiles)),
            ]
        lines += ["", aligned(rows)]
    return [*lines, *after(data)]
