"""The command tree."""

from __future__ import annotations

import json

import click

from mdpdice.cli.commands import main
from mdpdice.cli.shared import GameCommand, failures, game_argument

__all__ = ["tree"]


@main.command(cls=GameCommand)
@game_argument
@click.argument("state", nargs=-1)
@click.option(
    "-p",
    "pairs",
    metavar="KEY=VALUE",
    multiple=True,
    help="A parameter of the game; may be repeated. 'mdpdice tree NAME --help' describes them.",
)
@click.option(
    "-d",
    "--depth",
    type=click.IntRange(min=0),
    default=4,
    show_default=True,
    help="Decisions to look ahead, both players' counted.",
)
@click.option("--best", is_flag=True, help="Follow the best options only.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def tree(
    name: str, state: tuple[str, ...], pairs: tuple[str, ...], depth: int, best: bool, as_json: bool
) -> None:
    """Print what may be done and what may happen from a position on, and what it is worth.

    STATE may be several words, as in: mdpdice tree knucklebones -d 1 6 35_/___/___ __4/__4/___

    Without a STATE the tree begins at the start of the game.

    Every play is followed for some decisions; beyond them the estimate of the game counts. A game
    without one of its own counts half of its total there, which is 0 in most games, so a tree of such a
    game is right only where it reaches the ends. All values are those of the player to move at the
    top; * marks the best options.
    """
    with failures():
        from mdpdice.cli.answers import open_case, read_position
        from mdpdice.policies.game_tree import tree as grow

        case = open_case(name, pairs, None, 1e-6)
        position = read_position(case, " ".join(state)) if state else None
        grown = grow(case.game, position, depth=depth)
        if as_json:
            click.echo(json.dumps({**case.data(), "depth": depth, "tree": grown.to_json()}))
            return
        for line in grown.lines(best=best):
            click.echo(line)
