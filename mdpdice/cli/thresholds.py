"""``mdpdice thresholds``: thresholds that describe good play."""

from __future__ import annotations

import time
from typing import Any

import click

from mdpdice.cli.case import Case
from mdpdice.cli.game_command import Answer, game_command
from mdpdice.cli.options import question_options, seed_option
from mdpdice.cli.text import aligned, figure
from mdpdice.cli.values import after

DRAWS = "Draw N vectors at random and refine the best one; with --monotone 1000 by default, else none."


@game_command()
@question_options
@click.option("--monotone", is_flag=True, help="Search among thresholds that do not fall as the dice grow in number.")
@click.option("--search", "draws", type=click.IntRange(0), metavar="N", help=DRAWS)
@seed_option
def thresholds(case: Case, monotone: bool, draws: int | None, seed: int) -> Answer:
    """Show the thresholds of the optimal policy, and search for good ones.

    Exit status: 0 done, 2 wrong usage or a game without thresholds.
    """
    search = draws if draws is not None else 1000 if monotone else 0
    if case.horizon is not None:
        raise click.UsageError("thresholds are those of the game without --horizon")
    case.refuse_infinite("there is no network on which a policy could be evaluated")
    began, turn = time.perf_counter(), 1 if case.sense == "max" else -1
    if not (found := case.look.thresholds(monotone=monotone, search=search, seed=seed, progress=case.progress)):
        none = f"{case.name} has no thresholds, at least not with these parameters"
        raise click.UsageError(f"{none}{_elsewhere(case)}")
    told = []
    for one in found:
        rule = {"rule": one.rule, "policy": one.policy, "vector": list(one.vector), "value": one.value}
        told.append({**rule, "loss": turn * (found[0].value - one.value), "tried": one.tried, "bound": one.bound})
    data = {**case.data(), "monotone": monotone, "search": search, "seed": seed, "value": found[0].value}
    data |= {"thresholds": told, "seconds": time.perf_counter() - began, "notes": case.notes()}
    return Answer(data, _lines(case, data))


def _elsewhere(case: Case) -> str:
    """Stands for thresholds that are not a vector."""
    from mdpdice.modelling.counters import axes

    there = f"; those that depend on the state are in the tables of 'mdpdice solve {case.name}'"
    if axes(case.game):
        there += f", and 'mdpdice plot {case.name} --kind thresholds --x COUNTER' draws them"
    return there


def _lines(case: Case, data: dict[str, Any]) -> list[str]:
    lines = [aligned(case.rows())]
    for one in data["thresholds"]:
        rows = [("thresholds", one["rule"]), ("policy", one["policy"]), ("value", figure(one["value"]))]
        if one["tried"]:
            rows.append(("loss", f"{one['loss']:.6g} against the optimum"))
            rows.append(("tried", f"{one['tried']:,} vectors, seed {data['seed']}"))
        if one["bound"] is not None:
            turn, than = (1, "more") if case.sense == "max" else (-1, "less")
            proved = turn * (one["bound"] - one["value"]) <= 1e-9 * max(1.0, abs(one["value"]))
            told = ": none is better" if proved else ""
            rows.append(("bound", f"no such vector is worth {than} than {figure(one['bound'])}{told}"))
        lines += ["", aligned(rows)]
    return [*lines, *after(data)]
