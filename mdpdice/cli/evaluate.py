"""``mdpdice evaluate``: what a policy is worth."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import mdpdice
from mdpdice.cli.case import Case, check_solver
from mdpdice.cli.game_command import Answer, game_command
from mdpdice.cli.named_policies import player_rows, players, worth
from mdpdice.cli.options import policy_options, solver_option
from mdpdice.cli.text import aligned, figure, json_number, short
from mdpdice.cli.values import after, enclosed_data, may_bust, value_data, value_rows
from mdpdice.errors import UnsupportedError

LEVELS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""Levels of the quantiles."""
_MOMENTS = (("mean", "mean"), ("variance", "variance"), ("deviation", "sd"))


@game_command()
@policy_options
@solver_option
def evaluate(case: Case, chosen: str, against: str | None, solver: str) -> Answer:
    """Evaluate a policy exactly and show the distribution of its total.

    Exit status: 0 proved, 1 not, 2 wrong usage.
    """
    case.refuse_infinite("there is no network on which a policy could be evaluated")
    check_solver(solver)
    names = [chosen] if against is None else [chosen, against]
    if any(Path(name).is_file() for name in names):  # which may hold something else the next time
        told = _told(case, names, solver)
    else:
        told = case.findings(lambda: _told(case, names, solver), evaluated=names, solver=solver)
    data = {**case.data(), "policy": chosen, "against": against, **told}
    return Answer(data, _lines(case, data), data["value"] is not None)


def _told(case: Case, names: list[str], solver: str) -> dict[str, Any]:
    """Return what policies are worth and how totals spread, as JSON data."""
    began, spread, known, notes = time.perf_counter(), None, None, case.notes()
    if len(names) == 1 and case.horizon is None and case.objective is None:
        known = case.look.policy_value(names[0], case.progress)
    if known is not None:
        told = enclosed_data(known, case.epsilon)
        notes += [known.method] if known.method else []
    else:
        model, policies = players(case, names, solver)
        found = worth(case, names, model, policies)
        told = value_data(found)
        if found.lattice is not None and not found.lattice.averaged:
            # The lattice under these policies has been evaluated already.
            model, policies = found.lattice, [mdpdice.Policy.from_solution(found)]
        if model.discount == 1:
            spread = _outcomes(case, model, policies, told["estimate"])
        else:
            notes.append("totals of a discounted game have no table of outcomes")
    return {**told, "seconds": time.perf_counter() - began, "outcomes": spread, "notes": notes}


def _outcomes(
    case: Case, model: mdpdice.Network | mdpdice.Lattice, policies: list[mdpdice.Policy], mean: Any
) -> dict[str, Any] | None:
    """How the totals spread; of a lattice maybe the moments alone, or nothing."""
    from mdpdice.policies.distribution import deviation

    try:
        return _spread(case, mdpdice.outcomes(model, policies))
    except UnsupportedError:
        if isinstance(model, mdpdice.Network):
            raise
    try:
        # Moments need less than a distribution does.
        sd = deviation(model, policies)
    except UnsupportedError:
        return None
    moments = {"mean": mean, "variance": sd * sd, "sd": sd}
    return {**moments, "p_bust": None, "quantiles": {}, "totals": None, "missing": None}


def _spread(case: Case, found: mdpdice.Outcomes) -> dict[str, Any]:
    """Return a distribution as JSON data."""
    levels = [level for level in LEVELS if found.missing < min(level, 1 - level)]
    moments = {"mean": found.mean, "variance": found.variance, "sd": math.sqrt(found.variance)}
    return {
        **{name: json_number(number) for name, number in moments.items()},
        "p_bust": found.prob(0) if may_bust(case, found.totals) else None,
        "quantiles": {str(level): json_number(found.quantile(level)) for level in levels},
        "totals": len(found),
        "missing": found.missing,
    }


def _lines(case: Case, data: dict[str, Any]) -> list[str]:
    rows = [*case.rows(), *player_rows(data), *value_rows(data)]
    if data["states"] is not None:
        rows.append(("size", f"{data['states']:,} states, {data['edges']:,} edges"))
    kept = ", kept since" * (data["proof"] == "cached")
    rows.append(("time", f"{data['seconds']:.2f} s to explore and evaluate{kept}"))
    lines = [aligned(rows)]
    if (spread := data["outcomes"]) is not None:
        rows = [(label, short(spread[key])) for label, key in _MOMENTS]
        if spread["p_bust"] is not None:
            rows.append(("P(bust)", f"{short(spread['p_bust'])}, the chance of a total of 0"))
        if spread["totals"] is not None:
            quantiles = (f"{100 * float(level):g} %: {figure(x)}" for level, x in spread["quantiles"].items())
            rows.append(("quantiles", ", ".join(quantiles)))
        lines += ["", aligned(rows)]
    return [*lines, *after(data)]
