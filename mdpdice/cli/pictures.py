"""The command ``plot``: pictures of a game, its solution or its policies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import click

from mdpdice.cli.commands import main
from mdpdice.cli.shared import GameCommand, NewFile, failures, objective_options, on_game, solver_option

__all__ = ["KINDS", "plot"]

KINDS = {
    "policy": "what a policy does, over one or two dimensions of the state",
    "difference": "where --policy and --against differ",
    "thresholds": "the game's thresholds; or, with --x --y --over --action, from where on an action is taken",
    "values": "values over one dimension, of all actions with --actions; or over two with --y",
    "stages": "the value over the decisions left, with --horizon",
    "outcomes": "how the total of a play is distributed; also of the policy --against beside it",
    "convergence": "how the bounds of value iteration or policy iteration close in",
    "network": "the network of a small game",
}


@main.command(
    cls=GameCommand, epilog="Kinds: " + "; ".join(f"{kind} = {about}" for kind, about in KINDS.items())
)
@on_game
@objective_options
@click.option("--kind", type=click.Choice(list(KINDS)), required=True, help="What to draw; see below.")
@click.option(
    "--to",
    "path",
    metavar="FILE",
    type=NewFile(),
    required=True,
    help="The file to write, ending in .png, .svg or .pdf.",
)
@click.option("--x", metavar="NAME", help="A counter or field of the state, to the right.")
@click.option("--y", metavar="NAME", help="Another one, upwards.")
@click.option("--by", metavar="NAME", help="values: one curve for every number of this one.")
@click.option("--over", metavar="NAME", help="thresholds: the dimension that the threshold is about.")
@click.option("--action", metavar="ACTION", help="thresholds: the action, as 'mdpdice advise' prints it.")
@click.option("--largest", is_flag=True, help="thresholds: up to where, instead of from where on.")
@click.option(
    "--where",
    "conditions",
    metavar="NAME=VALUE",
    multiple=True,
    help="Draw only states where a counter or field has this value; may be repeated.",
)
@click.option(
    "--policy", "chosen", default="optimal", show_default=True, metavar="POLICY", help="As for evaluate."
)
@click.option("--against", metavar="POLICY", help="difference, outcomes: the policy to compare with.")
@click.option("--actions", is_flag=True, help="values: a curve for every action.")
@click.option("--at-least", is_flag=True, help="outcomes: the chance of at least so much.")
@click.option(
    "--steps-left", type=click.IntRange(min=0), metavar="N", help="With a horizon: the decisions left."
)
@click.option(
    "--title", metavar="TEXT", help="A title; by default the game with the parameters that are given."
)
@solver_option
def plot(
    name: str,
    pairs: tuple[str, ...],
    horizon: int | None,
    epsilon: float,
    as_json: bool,
    objective: str | None,
    sense: Literal["max", "min"],
    kind: str,
    path: str,
    solver: str,
    **wishes: Any,
) -> None:
    """Draw a picture of a game and write it to a file.

    Names of dimensions are the counters of the game and the fields of its states; a wrong one lists those
    that there are.

    Exit status: 0 drawn, 1 not, 2 wrong usage.
    """
    with failures():
        from mdpdice.plots import SUFFIXES, save_picture

        # Before an hour of solving, not after it.
        if Path(path).suffix.lower() not in SUFFIXES:
            raise click.UsageError(f"--to {path}: write a file that ends in {', '.join(SUFFIXES)}")
        from mdpdice.cli.answers import open_case
        from mdpdice.cli.pictured import Wishes, drawn

        case = open_case(name, pairs, horizon, epsilon, objective, sense)
        if wishes["title"] is None:
            wishes["title"] = " ".join([name, *pairs])
        ax = drawn(case, kind, solver, Wishes(**wishes))
        save_picture(ax, path)
        data = {**case.data(), "kind": kind, "file": path}
        click.echo(json.dumps(data) if as_json else f"{path}: {KINDS[kind].partition(';')[0]}")
