"""``mdpdice tree``: what may happen from a position on."""

from __future__ import annotations

import click

from mdpdice.cli.case import Case
from mdpdice.cli.game_command import Answer, game_command
from mdpdice.cli.options import json_option, parameters_option, sense_option

__all__ = ["tree"]


@game_command()
@click.argument("state", nargs=-1)
@parameters_option(" 'mdpdice tree NAME --help' describes them.")
@click.option(
    "-d",
    "--depth",
    type=click.IntRange(min=0),
    default=4,
    show_default=True,
    help="Decisions to look ahead, both players' counted.",
)
@sense_option
@click.option("--best", is_flag=True, help="Follow the best options only.")
@json_option
def tree(case: Case, state: tuple[str, ...], depth: int, best: bool) -> Answer:
    """Print what may be done and what may happen from a position on, and what it is worth.

    STATE may be several words, as in: mdpdice tree knucklebones -d 1 6 35_/___/___ __4/__4/___

    Without a STATE the tree begins at the start of the game.

    Every play is followed for some decisions; beyond them the estimate of the game counts. A game
    without one of its own counts half of its total there, which is 0 in most games, so a tree of such a
    game is right only where it reaches the ends. All values are those of the player to move at the
    top; * marks the best options.
    """
    from mdpdice.policies.game_tree import tree as grow

    position = case.position(" ".join(state)) if state else None
    grown = grow(case.game, position, depth=depth)
    return Answer({**case.data(), "depth": depth, "tree": grown.to_json()}, grown.lines(best=best))
