"""``mdpdice tree``: what may happen from a position on."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import click

import mdpdice
from mdpdice.cli.case import Case
from mdpdice.cli.game_command import Answer, game_command
from mdpdice.cli.limits import advised_up_to, limit_options
from mdpdice.cli.options import NewFile, cache_options, json_option, parameters_option, sense_option
from mdpdice.errors import StateLimitError

_COUNT = click.IntRange(1)


@game_command()
@click.argument("state", nargs=-1)
@parameters_option(" 'mdpdice tree NAME --help' describes them.")
@click.option("-d", "--depth", type=click.IntRange(0), default=4, help="Decisions to look ahead.")
@sense_option
@click.option("--best", is_flag=True, help="Follow the best options only.")
@click.option("--solve/--no-solve", default=True, show_default=False, help="Solve first, for values beyond the tree.")
@click.option("--max-outcomes", type=_COUNT, default=12, help="Likeliest outcomes of a roll to show.")
@click.option("--max-lines", type=_COUNT, default=100_000, help="Refuse a larger tree.")
@click.option("--to", "path", type=NewFile(path_type=Path), help="Write a page to fold out: tree.html.")
@limit_options
@cache_options
@json_option
def tree(
    case: Case, state: tuple[str, ...], depth: int, solve: bool, max_lines: int, path: Any, **shown: Any
) -> Answer:
    """Print the moves and outcomes that follow a position, and what they are worth.

    STATE may be several words, as in: mdpdice tree knucklebones -d 1 6 35_/___/___ __4/__4/___

    Without a STATE the tree begins at the start of the game.

    Every play is followed for some decisions; the values beyond are those of the solved game. With --no-solve, and in
    games that are too large to solve, they are the game's estimates. A game without estimates
    counts half of its total there, which is 0 in most games, so its tree is right only where it reaches
    the ends. All values are those of the player to move at the top; * marks the best options.
    """
    from mdpdice.cli.catalogue import summary
    from mdpdice.policies.game_tree import tree as grow
    from mdpdice.policies.tree_page import page

    position = case.position(" ".join(state)) if state else None
    solution, notes = _solved(case, position) if solve else (None, [])
    grown = grow(case.game, position, depth=depth, solution=solution, max_places=max_lines)
    proof = None if solution is None else solution.details.get("proof", "this run")
    data = {**case.data(), "depth": depth, "proof": proof, "tree": grown.to_json(), "notes": notes}
    if path is None:
        return Answer(data, (*grown.lines(**shown), *(f"note: {note}" for note in notes)))
    about = [text for label, text in case.rows() if label != "game"]
    path.write_text(page(grown.rows(**shown), case.name, [summary(case.found), *about], notes), encoding="utf-8")
    return Answer({**data, "file": str(path)}, [f"{path}: the tree as a page; open it in a browser"])


def _solved(case: Case, position: Hashable) -> tuple[mdpdice.Solution | None, list[str]]:
    """Return the solution for the values beyond a tree, and notes about it."""
    from mdpdice.modelling.counters import axes

    if reason := case.infinite():
        return None, [f"{reason}, so what lies beyond is estimated"]
    most = advised_up_to(case.game)
    try:
        # From the position on there is less to solve; but lattices are solved from the start.
        if position is None or axes(case.game):
            solution = case.answer(max_states=most)
        else:
            solution = case.kept() or case.solve("auto", case.game.at(position), max_states=most)
        if position is not None and not solution.reaches(case.game.canonical(position)):
            solution = case.solve_from("auto", position, solution, max_states=most)
    except StateLimitError:
        return None, ["the game is too large to be solved, so what lies beyond is estimated"]
    return solution, [] if solution.proved else [f"values beyond are not proved: {solution.reason}"]
