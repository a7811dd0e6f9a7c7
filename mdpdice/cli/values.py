"""What is known of a value: as JSON data, and as rows for people."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import mdpdice
from mdpdice.cli.text import figure, json_number

if TYPE_CHECKING:
    from mdpdice.cli.case import Case
    from mdpdice.networks.network import Floats


def value_data(found: mdpdice.Solution, state: Hashable = None) -> dict[str, Any]:
    """Value of a state, by default of the start, and how it was found; it is None unless it was proved."""
    estimate, lower, upper = (json_number(ask(state)) for ask in (found.estimate, found.lower, found.upper))
    told = {"value": estimate if found.proved else None, "estimate": estimate, "lower": lower, "upper": upper}
    told |= {"width": json_number(found.width), "status": found.status.value, "reason": found.reason}
    told |= {"proof": found.details.get("proof", "this run")}
    if found.given is None:
        told |= {"solver": found.solver, "seconds": found.seconds}
    return {**told, "states": found.n_states, "edges": found.n_edges}


def infinite_data(reason: str) -> dict[str, Any]:
    """Return the data of a value that the rules show to be infinite: nothing was explored or solved."""
    told: dict[str, Any] = dict.fromkeys(("value", "estimate", "lower", "upper"), "inf")
    told |= {"width": 0.0, "status": mdpdice.Status.EXACT.value, "reason": reason, "proof": "this run"}
    return {**told, "solver": None, "seconds": 0.0, "states": 0, "edges": 0}


def enclosed_data(known: mdpdice.Enclosure, epsilon: float) -> dict[str, Any]:
    """Return a value that the game knows."""
    proved = known.width <= epsilon
    status = mdpdice.Status.CERTIFIED if proved else mdpdice.Status.UNCERTIFIED
    reason = "" if proved else f"the interval has relative width {known.width:.3g}"
    told: dict[str, Any] = {"value": known.value if proved else None, "estimate": known.value, "lower": known.lower}
    told |= {"upper": known.upper, "width": known.width, "status": status.value, "reason": reason}
    return {**told, "proof": "this run", "states": None, "edges": None}


def may_bust(case: Case, totals: Floats) -> bool:
    """Whether a total of 0 is a loss, by the totals of a policy."""
    import numpy as np  # not for --help

    # Where only 0 and 1 come up a play is won or lost, and its value is the chance of that.

    lowest = case.sense == "max" and totals.min(initial=np.inf) == 0
    return bool(lowest and totals.max() > 0 and not np.isin(totals, (0, 1)).all())


def meaning(case: Case, found: mdpdice.Solution, state: Hashable) -> str:
    """Return what the value of a state is, and whose, in a few words."""
    from mdpdice.looks import parted

    game, network = case.game, found.lattice or found.network
    if any(part.of in ("mover", "other") for part in case.look.table(parted(state)[0])) or (network.sign < 0).any():
        whose = " of the player to move"
    else:
        whose = " of player 0" if (network.kind[~network.nature] == mdpdice.Kind.MIN).any() else ""
    if case.objective_text != "total":
        what = found.details.get("of_states", case.objective_text)
    elif game.total == 1 and _won_or_lost(case, found):
        what = "chance to win"
    else:
        what = f"expected {'discounted ' * (game.discount != 1)}total"
    return f"{what}{whose}{', minimised' * (found.sense == 'min')}"


def _won_or_lost(case: Case, found: mdpdice.Solution) -> bool:
    """Return whether every play ends with 1 or 0, without intermediate rewards."""
    if found.status is mdpdice.Status.ESTIMATE:  # whose network ends in guesses
        return case.game.payoff_range is not None and tuple(case.game.payoff_range) == (0, 1)
    model = found.lattice or found.network
    return not model.pays and model.payoffs <= {0, 1}


def value_rows(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what was proved, as rows for people."""
    value = data["value"]
    told = figure(value) if value is not None else f"not proved; the estimate is {figure(data['estimate'])}"
    rows = [("value", told)]
    if isinstance(data["lower"], float) or isinstance(data["upper"], float):
        rows.append(("interval", f"[{figure(data['lower'])}, {figure(data['upper'])}]"))
    rows.append(("status", data["status"]))
    if data["reason"]:
        rows.append(("reason", data["reason"]))
    return rows


def proof_row(data: dict[str, Any]) -> tuple[str, str]:
    """Return what was proved and how, as one row for people."""
    interval = f"[{figure(data['lower'])}, {figure(data['upper'])}]"
    reason = f"; {data['reason']}" if data["reason"] else ""
    if data["value"] is None:
        inside = f"; it lies in {interval}" if isinstance(data["lower"], float) else ""
        return "not proved", f"{data['status']}, by {data['solver']}{reason}{inside}"
    work = f"{data['states']:,} states, {data['seconds']:.2f} s"
    kept = ", kept since" * (data["proof"] == "cached")
    return data["status"], f"in {interval}, by {data['solver']}: {work}{kept}{reason}"


def work_rows(data: dict[str, Any]) -> list[tuple[str, str]]:
    """How it was found, as rows for people."""
    if data["solver"] is None:
        return []
    if data["status"] == mdpdice.Status.ESTIMATE.value:
        return [("solver", data["solver"]), ("time", f"{data['seconds']:.2f} s to search")]
    return [
        ("solver", data["solver"]),
        ("size", f"{data['states']:,} states, {data['edges']:,} edges"),
        ("time", f"{data['seconds']:.2f} s to solve and certify"),
    ]


def after(data: dict[str, Any]) -> list[str]:
    """Remarks and the words of the game, as lines for people."""
    summary = data.get("summary")
    return [*(f"note: {note}" for note in data["notes"]), *(["", *summary] if summary else ())]
