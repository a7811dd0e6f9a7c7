"""The commands about strategies: policy, evaluate, simulate, thresholds and play."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import click

from mdpdice.cli.commands import main
from mdpdice.cli.shared import GameCommand, NewFile, failures, objective_options, on_game, solver_option

__all__ = ["evaluate", "play", "policy", "simulate", "thresholds"]

_policy_option = click.option(
    "--policy",
    "chosen",
    default="optimal",
    metavar="POLICY",
    show_default=True,
    help="optimal, random, lookahead:DEPTH, a policy that the game knows by name (hold-at:20), or a file.",
)
_against_option = click.option(
    "--against", metavar="POLICY", help="What the other player does, by default the same."
)
_seed_option = click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Equal seeds give equal dice."
)


@main.command(cls=GameCommand)
@on_game
@objective_options
@click.option(
    "--table", metavar="TABLE", help="One table: one of the game's, or decisions for all decisions."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values, of one table.")
@click.option("--save", metavar="FILE", type=NewFile(), help="Write the policy to a file, too.")
@solver_option
@click.pass_context
def policy(
    ctx: click.Context,
    name: str,
    pairs: tuple[str, ...],
    horizon: int | None,
    epsilon: float,
    as_json: bool,
    objective: str | None,
    sense: Literal["max", "min"],
    table: str | None,
    as_csv: bool,
    save: str | None,
    solver: str,
) -> None:
    """Print the optimal policy as tables, in the words of the game.

    Exit status: 0 proved, 1 not, 2 wrong usage.
    """
    if as_csv and as_json:
        raise click.UsageError("choose one of --csv and --json")
    with failures():
        from mdpdice.cli.answers import open_case
        from mdpdice.cli.tabled import tabled

        case = open_case(name, pairs, horizon, epsilon, objective, sense)
        proved, data, text = tabled(case, solver, table, save, as_csv=as_csv)
        click.echo(json.dumps(data) if as_json else text)
    ctx.exit(not proved)


@main.command(cls=GameCommand)
@on_game
@objective_options
@_policy_option
@_against_option
@solver_option
@click.pass_context
def evaluate(
    ctx: click.Context,
    name: str,
    pairs: tuple[str, ...],
    horizon: int | None,
    epsilon: float,
    as_json: bool,
    objective: str | None,
    sense: Literal["max", "min"],
    chosen: str,
    against: str | None,
    solver: str,
) -> None:
    """Tell exactly what a policy is worth, and how its totals are distributed.

    Exit status: 0 proved, 1 not, 2 wrong usage.
    """
    with failures():
        from mdpdice.cli.answers import open_case
        from mdpdice.cli.experiments import evaluated, evaluated_text

        case = open_case(name, pairs, horizon, epsilon, objective, sense)
        data = evaluated(case, chosen, against, solver)
        click.echo(json.dumps(data) if as_json else evaluated_text(case, data))
    ctx.exit(data["value"] is None)


@main.command(cls=GameCommand)
@on_game
@objective_options
@_policy_option
@_against_option
@click.option(
    "--plays",
    type=click.IntRange(min=1),
    metavar="N",
    help="How often to play: by default 100000, or 1000 where nothing is explored.",
)
@_seed_option
@solver_option
@click.pass_context
def simulate(
    ctx: click.Context,
    name: str,
    pairs: tuple[str, ...],
    horizon: int | None,
    epsilon: float,
    as_json: bool,
    objective: str | None,
    sense: Literal["max", "min"],
    chosen: str,
    against: str | None,
    plays: int | None,
    seed: int,
    solver: str,
) -> None:
    """Play many times, and tell the mean with its confidence interval beside the exact value.

    Games that are too large to be explored are played as well, and then the exact value may not be known.

    Exit status: 0 done, 1 the exact value is not proved, 2 wrong usage.
    """
    with failures():
        from mdpdice.cli.answers import open_case
        from mdpdice.cli.simulations import simulated, simulated_text

        case = open_case(name, pairs, horizon, epsilon, objective, sense)
        data = simulated(case, chosen, against, solver, plays, seed)
        click.echo(json.dumps(data) if as_json else simulated_text(case, data))
    ctx.exit(data["value"] is None and data["status"] is not None)


@main.command(cls=GameCommand)
@on_game
@click.option("--monotone", is_flag=True, help="Search among thresholds that do not fall with the dice.")
@click.option(
    "--search",
    "draws",
    type=click.IntRange(min=0),
    metavar="N",
    help="Draw N vectors at random and refine the best one; with --monotone 1000 by default, else none.",
)
@_seed_option
def thresholds(
    name: str,
    pairs: tuple[str, ...],
    horizon: int | None,
    epsilon: float,
    as_json: bool,
    monotone: bool,
    draws: int | None,
    seed: int,
) -> None:
    """Tell the thresholds of the optimal policy, and search for good ones.

    Exit status: 0 done, 2 wrong usage or a game without thresholds.
    """
    with failures():
        from mdpdice.cli.answers import open_case
        from mdpdice.cli.experiments import threshold_text, thresholds_found

        case = open_case(name, pairs, horizon, epsilon)
        search = draws if draws is not None else 1000 if monotone else 0
        data = thresholds_found(case, monotone=monotone, search=search, seed=seed)
        click.echo(json.dumps(data) if as_json else threshold_text(case, data))


@main.command(cls=GameCommand)
@on_game
@click.option(
    "--seats",
    default="human",
    metavar="A[,B]",
    show_default=True,
    help="Who decides, one seat for all or one per player: human, optimal, random, lookahead:DEPTH, "
    "a policy that the game knows by name (threshold:250,200), or a file.",
)
@_seed_option
@click.option(
    "--record",
    type=NewFile(path_type=Path),
    metavar="FILE",
    help="Write all that happens to a file, too.",
)
@solver_option
def play(
    name: str,
    pairs: tuple[str, ...],
    horizon: int | None,
    epsilon: float,
    as_json: bool,
    seats: str,
    seed: int,
    record: Path | None,
    solver: str,
) -> None:
    """Play a game once; moves of a human are read from the standard input, line by line.

    At a choice ? tells what each action is worth, and q leaves.

    Exit status: 0 played or left, 2 wrong usage.
    """
    with failures():
        from mdpdice.cli.answers import open_case
        from mdpdice.cli.plays import played
        from mdpdice.cli.seats import split_seats

        case = open_case(name, pairs, horizon, epsilon)
        played(case, split_seats(seats), seed, solver, record, as_json=as_json)
