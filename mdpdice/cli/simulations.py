"""What ``mdpdice simulate`` answers: JSON data first, and from it the text.

A game whose network fits is played on it, a larger one with counters on its lattice, and one that is too large
for both, or whose players look ahead, by its rules.  The exact value stands beside the mean where it is known.
"""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import click

from mdpdice.cli.answers import Case, after, check_solver, figures, notes_of, question, value_rows
from mdpdice.cli.chosen import known_names, large, lattice_policy, rule_of, search_of, spread_out
from mdpdice.cli.experiments import (
    asked,
    enclosed,
    evaluation_figures,
    players,
    refuse_infinite,
    set_up,
    short,
)
from mdpdice.cli.progress import ProgressBars
from mdpdice.cli.seats import QUICK, Table, going_round, one_player
from mdpdice.cli.shared import limits
from mdpdice.cli.text import aligned
from mdpdice.errors import StateLimitError
from mdpdice.lattices.reachable_layers import Layers
from mdpdice.modelling.game import Game
from mdpdice.networks.network import Kind
from mdpdice.policies.evaluation import evaluate
from mdpdice.policies.simulation import Simulation, simulate
from mdpdice.solving.lattice_solution import LatticeSolution
from mdpdice.solving.pipeline import solve

__all__ = ["simulated", "simulated_text"]

CONFIDENCE = 0.95
"""Level of the confidence interval of a simulated mean."""
MOST_STATES = 10_000_000
"""Most states of a network that is explored for its plays."""
PLAYS, FEW_PLAYS = 100_000, 1_000
"""How often a game is played if nobody says: on arrays, and by its rules, which is slower."""


def simulated(
    case: Case, name: str, against: str | None, solver: str, plays: int | None, seed: int
) -> dict[str, Any]:
    """The answer of ``mdpdice simulate`` as JSON data, with the exact value beside the mean if it is known."""
    refuse_infinite(case)
    check_solver(solver)
    names = [name] if against is None else [name, against]
    with ProgressBars() as progress:
        if any(one.partition(":")[0] == "lookahead" for one in names):
            found, exact = _by_the_rules(case, names, solver, plays, seed, progress, "players look ahead")
        elif layers := large(case, progress):
            found, exact = _on_the_lattice(case, names, solver, layers, plays or PLAYS, seed, progress)
        else:
            found, exact = _on_the_network(case, names, solver, plays, seed, progress)
    low, high = found.interval(CONFIDENCE)
    error, value = found.standard_error, exact["estimate"]
    away = (found.mean - value) / error if error > 0 and isinstance(value, float) else None
    return {
        **asked(case, name, against),
        "plays": found.plays,
        "seed": seed,
        "mean": found.mean,
        "standard_error": None if math.isnan(error) else error,
        "sd": None if math.isnan(found.sd) else found.sd,
        "p_bust": found.frequency(0),
        "confidence": {"level": CONFIDENCE, "low": None, "high": None}
        if math.isnan(error)
        else {"level": CONFIDENCE, "low": low, "high": high},
        "errors_away": away,
        **exact,
        "moves": found.moves,
        "seconds": found.seconds,
        "notes": notes_of(case),
    }


def _unknown(reason: str) -> dict[str, Any]:
    """Instead of an exact value."""
    keys = ("value", "estimate", "lower", "upper", "width", "status", "states", "edges")
    return {**dict.fromkeys(keys), "reason": reason}


def _on_the_network(
    case: Case, names: list[str], solver: str, plays: int | None, seed: int, progress: ProgressBars
) -> tuple[Simulation, dict[str, Any]]:
    needed = [one for one in names if one == "optimal" or Path(one).is_file()]
    # Of a game that is made to be looked ahead in, exploring most of it would be a waste.
    looks = type(case.game).estimate is not Game.estimate
    try:
        setting = set_up(
            case, names, solver, progress, max_states=QUICK if looks and not needed else MOST_STATES
        )
    except StateLimitError as error:
        if needed:
            msg = (
                f"{error}\n{case.name} is too large for the policy {needed[0]!r}; lookahead:DEPTH is played by "
                f"the rules, and so is any of: {known_names(case)}"
            )
            raise click.ClickException(msg) from error
        why = f"the game has at least {error.value:,} states"
        return _by_the_rules(case, names, solver, plays, seed, progress, why)
    found = simulate(setting.network, setting.policies, plays or PLAYS, seed, progress=progress)
    exact = evaluate(setting.network, setting.policies, epsilon=case.epsilon, progress=progress)
    return found, evaluation_figures(exact)


def _on_the_lattice(
    case: Case,
    names: list[str],
    solver: str,
    layers: Layers,
    plays: int,
    seed: int,
    progress: ProgressBars,
) -> tuple[Simulation, dict[str, Any]]:
    lattice = spread_out(case, layers.lattice, names)
    two = bool((lattice.sign < 0).any() or (lattice.kind == Kind.MIN).any())
    if len(names) == 2 and not two:
        raise click.UsageError(f"--against is for two players, and {case.name} has one")

    def optimum() -> LatticeSolution:
        found = solve(lattice, solver=solver, epsilon=case.epsilon, progress=progress, **limits())
        assert isinstance(found, LatticeSolution)
        return found

    policies = {name: lattice_policy(case, name, lattice, optimum) for name in names}
    found = simulate(lattice, [policies[name] for name in names], plays, seed, progress=progress)
    solution = policies[names[0]].solution
    if len(policies) == 1 and solution is not None:
        told = figures(solution)
        return found, {key: told[key] for key in _unknown("")}
    size = {"states": layers.states, "edges": layers.edges}
    known = case.game.policy_value(names[0], progress=progress) if len(names) == 1 else None
    if known is not None:
        told = enclosed(case, known)
        return found, {key: told[key] for key in _unknown("")} | size
    return found, _unknown("policies on so large a game are simulated only") | size


def _by_the_rules(
    case: Case,
    names: list[str],
    solver: str,
    plays: int | None,
    seed: int,
    progress: ProgressBars,
    why: str,
) -> tuple[Simulation, dict[str, Any]]:
    if case.objective is not None:
        raise click.UsageError(f"{why}, and plays by the rules know no --objective; leave it out")
    for name in names:
        known = name in ("optimal", "random") or search_of(case, name) is not None
        if not known and rule_of(case, name) is None and not Path(name).is_file():
            raise click.UsageError(f"{case.name} has no policy {name!r}; write {known_names(case)}")
    alone = f"--against is for two players, and {case.name} has one"
    single = one_player(case.game) if len(names) == 2 else False
    if single:
        raise click.UsageError(alone)
    generator = random.Random(seed)  # noqa: S311 - no secrets
    table = Table(case, names, solver, generator, lambda line: click.echo(line, err=True))
    with going_round(names):
        found = simulate(
            case.game,
            table.seats,
            plays or FEW_PLAYS,
            seed,
            horizon=case.horizon,
            symmetric=table.symmetric,
            progress=progress,
        )
    if single is None and not table.second_moved:
        raise click.UsageError(alone)
    return found, _unknown(f"not computed, since {why}: these plays follow the rules")


def simulated_text(case: Case, data: dict[str, Any]) -> str:
    """The answer of ``mdpdice simulate`` for people."""
    rows = [*question(case), *players(data), ("plays", f"{data['plays']:,}, seed {data['seed']}")]
    rows.append(("mean", short(data["mean"])))
    if data["standard_error"] is not None:
        span = data["confidence"]
        rows += [
            (f"{100 * span['level']:g} % sure", f"[{short(span['low'])}, {short(span['high'])}]"),
            ("deviation", f"{short(data['sd'])} per play, {data['standard_error']:.4g} of the mean"),
        ]
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
    return "\n".join([aligned(rows), *after(data)])
