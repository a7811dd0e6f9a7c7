"""``mdpdice simulate``: many plays, on arrays where they fit, else by the rules, beside the exact value."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

import mdpdice
from mdpdice.cli.case import Case, check_solver
from mdpdice.cli.game_command import Answer, game_command
from mdpdice.cli.limits import MOST_STATES, advised_up_to
from mdpdice.cli.named_policies import alone, known_names, player_rows, players, rule_of, search_of, worth
from mdpdice.cli.options import policy_options, seed_option, solver_option
from mdpdice.cli.seats import Table
from mdpdice.cli.text import aligned, short
from mdpdice.cli.values import after, enclosed_data, may_bust, value_data, value_rows
from mdpdice.errors import StateLimitError, UnsupportedError

CONFIDENCE = 0.95
"""Level of the confidence interval of a simulated mean."""
PLAYS, FEW_PLAYS = 100_000, 1_000
"""How often a game is played if nobody says: on arrays, and by its rules, which is slower."""
HOW_OFTEN = f"How often to play: by default {PLAYS}, or {FEW_PLAYS} where nothing is explored."


@game_command()
@policy_options
@click.option("--plays", type=click.IntRange(1), metavar="N", help=HOW_OFTEN)
@seed_option
@solver_option
def simulate(case: Case, chosen: str, against: str | None, plays: int | None, seed: int, solver: str) -> Answer:
    """Play many times, and show the mean with its confidence interval beside the exact value.

    It also plays games that are too large to explore; their exact value may then be unknown.

    Exit status: 0 done, 1 the exact value is not proved, 2 wrong usage.
    """
    case.refuse_infinite("there is no network on which a policy could be evaluated")
    check_solver(solver)
    names = [chosen] if against is None else [chosen, against]
    if any(one.partition(":")[0] == "lookahead" for one in names):
        found, exact = _by_the_rules(case, names, solver, plays, seed, "players look ahead")
    else:
        found, exact = _on_arrays(case, names, solver, plays, seed)
    error, value = found.standard_error, exact["estimate"]
    low, high = (None, None) if math.isnan(error) else found.interval(CONFIDENCE)
    away = (found.mean - value) / error if error > 0 and isinstance(value, float) else None
    data = {**case.data(), "policy": chosen, "against": against, "plays": found.plays, "seed": seed}
    data |= {"mean": found.mean, "standard_error": None if math.isnan(error) else error}
    data |= {"sd": None if math.isnan(found.sd) else found.sd}
    data |= {"p_bust": found.frequency(0) if may_bust(case, found.totals) else None}
    data |= {"confidence": {"level": CONFIDENCE, "low": low, "high": high}, "errors_away": away, **exact}
    data |= {"moves": found.moves, "seconds": found.seconds, "notes": case.notes()}
    return Answer(data, _lines(case, data), data["value"] is not None or data["status"] is None)


def _unknown(reason: str) -> dict[str, Any]:
    """Instead of an exact value."""
    keys = ("value", "estimate", "lower", "upper", "width", "status", "proof", "states", "edges")
    return {**dict.fromkeys(keys), "reason": reason}


def _on_arrays(
    case: Case, names: list[str], solver: str, plays: int | None, seed: int
) -> tuple[mdpdice.Simulation, dict[str, Any]]:
    needed = [one for one in names if one == "optimal" or Path(one).is_file()]
    # Of a game that is made to be looked ahead in, exploring most of it would be a waste.
    try:
        model, policies = players(case, names, solver, max_states=MOST_STATES if needed else advised_up_to(case.game))
    except StateLimitError as error:
        if needed:
            how = f"lookahead:DEPTH is played by the rules, and so is any of: {known_names(case)}"
            msg = f"{error}\n{case.name} is too large for the policy {needed[0]!r}; {how}"
            raise click.ClickException(msg) from error
        return _by_the_rules(case, names, solver, plays, seed, f"the game has at least {error.value:,} states")
    found = mdpdice.simulate(model, policies, plays or PLAYS, seed, progress=case.progress)
    whole = case.horizon is None and case.objective is None
    known = case.look.policy_value(names[0], case.progress) if whole and len(names) == 1 else None
    if known is not None:
        return found, {key: enclosed_data(known, case.epsilon)[key] for key in _unknown("")}
    try:
        return found, value_data(worth(case, names, model, policies))
    except UnsupportedError as error:
        return found, _unknown(error.message)


def _by_the_rules(
    case: Case, names: list[str], solver: str, plays: int | None, seed: int, why: str
) -> tuple[mdpdice.Simulation, dict[str, Any]]:
    if case.objective is not None:
        raise click.UsageError(f"{why}, and plays by the rules know no --objective; leave it out")
    for name in names:
        known = name in ("optimal", "random") or search_of(case, name) is not None
        if not known and rule_of(case, name) is None and not Path(name).is_file():
            raise click.UsageError(f"{case.name} has no policy {name!r}; write {known_names(case)}")
    from mdpdice.policies.simulation import simulate_by_rules

    table = Table(case, names, solver, seed, alone(case), lambda line: click.echo(line, err=True))
    asked: dict[str, Any] = {"horizon": case.horizon, "symmetric": table.symmetric, "progress": case.progress}
    with table.playing():
        found = simulate_by_rules(case.game, table.seats, plays or FEW_PLAYS, seed, **asked)
    return found, _unknown(f"not computed, since {why}: these plays follow the rules")


def _lines(case: Case, data: dict[str, Any]) -> list[str]:
    rows = [*case.rows(), *player_rows(data), ("plays", f"{data['plays']:,}, seed {data['seed']}")]
    rows.append(("mean", short(data["mean"])))
    if data["standard_error"] is not None:
        span = data["confidence"]
        rows += [
            (f"{100 * span['level']:g} % interval", f"[{short(span['low'])}, {short(span['high'])}]"),
            ("deviation", f"{short(data['sd'])} per play; standard error {data['standard_error']:.4g}"),
        ]
    if data["p_bust"] is not None:
        rows.append(("P(bust)", f"{short(data['p_bust'])}, the share of plays with a total of 0"))
    if data["status"] is None:
        rows.append(("exact value", data["reason"]))
    else:
        rows += [(label if label != "value" else "exact value", text) for label, text in value_rows(data)]
    if data["errors_away"] is not None:
        rows.append(("mean - exact", f"{data['errors_away']:+.2f} standard errors"))
    rate = data["moves"] / data["seconds"] if data["seconds"] > 0 else math.inf
    speed = f"{rate / 1e6:.1f} million" if rate >= 1e5 else f"{rate:,.0f}"
    rows.append(("time", f"{data['seconds']:.2f} s for {data['moves']:,} moves, {speed} a second"))
    return [aligned(rows), *after(data)]
