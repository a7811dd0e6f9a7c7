"""The commands, their options and exit statuses: 0 all is well, 1 it is not, 2 wrong usage, 130 interrupted."""

from __future__ import annotations

import atexit
import gc
import io
import json
import sys
from typing import Any, Literal

import click

from mdpdice.cli.shared import GameCommand, NewFile, failures, objective_options, on_game, solver_option

__all__ = ["main"]


class _Program(click.Group):
    """The commands; called, and not by way of `main()`, they are all that the process does."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command, with a collector of garbage that a short life suits."""
        # What numba, scipy and a game make stays until the end. To look through it for cycles again and again, and once
        # more when everything goes, takes up to half a second.
        gc.set_threshold(100_000, 50, 50)
        atexit.register(gc.freeze)
        return super().__call__(*args, **kwargs)


@click.group(cls=_Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mdpdice")
def main() -> None:
    """Solve games declared as Markov decision processes, and prove the answers.

    NAME is a shipped game ('mdpdice list') or a class in a file of yours,
    path/to/file.py:ClassName.
    """
    # A terminal may not know the letters of a name, and half of a surrogate pair is known to none.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@main.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_(*, as_json: bool) -> None:
    """List the shipped games and the solvers with what they can do."""
    with failures():
        from mdpdice.cli.answers import listed, listing

        click.echo(json.dumps(listed()) if as_json else listing())


@main.command(cls=GameCommand)
@on_game
@objective_options
@solver_option
@click.option(
    "--checkpoint",
    type=NewFile(),
    metavar="PATH",
    help="Keep the state of a long solve in this file; after a stop the same command goes on from there.",
)
@click.pass_context
def solve(
    ctx: click.Context,
    name: str,
    pairs: tuple[str, ...],
    horizon: int | None,
    epsilon: float,
    as_json: bool,
    objective: str | None,
    sense: Literal["max", "min"],
    solver: str,
    checkpoint: str | None,
) -> None:
    """Solve a game and prove how far the answer can be off.

    Exit status: 0 proved, 1 not, 2 wrong usage.
    """
    with failures():
        from mdpdice.cli.answers import open_case, solved, solved_text

        case = open_case(name, pairs, horizon, epsilon, objective, sense)
        data = solved(case, solver, checkpoint)
        click.echo(json.dumps(data) if as_json else solved_text(case, data))
    ctx.exit(data["value"] is None)


@main.command(cls=GameCommand)
@on_game
@objective_options
@click.option(
    "--solvers", metavar="A,B,C", help="The back-ends to compare, by default all; 'mdpdice list' names them."
)
@click.pass_context
def crosscheck(
    ctx: click.Context,
    name: str,
    pairs: tuple[str, ...],
    horizon: int | None,
    epsilon: float,
    as_json: bool,
    objective: str | None,
    sense: Literal["max", "min"],
    solvers: str | None,
) -> None:
    """Solve a game with several back-ends, certify each and compare all states.

    Exit status: 0 all agree and are certified, 1 not, 2 wrong usage.
    """
    with failures():
        from mdpdice.cli.answers import checked, open_case

        chosen = None if solvers is None else [solver.strip() for solver in solvers.split(",")]
        case = open_case(name, pairs, horizon, epsilon, objective, sense)
        ok, data, text = checked(case, chosen)
        click.echo(json.dumps(data) if as_json else text)
    ctx.exit(not ok)


@main.command(cls=GameCommand)
@on_game
@objective_options
@click.argument("state", nargs=-1, required=True)
@solver_option
@click.pass_context
def advise(
    ctx: click.Context,
    name: str,
    pairs: tuple[str, ...],
    horizon: int | None,
    epsilon: float,
    as_json: bool,
    objective: str | None,
    sense: Literal["max", "min"],
    state: tuple[str, ...],
    solver: str,
) -> None:
    """Tell the best action in a state, and the value of every action.

    STATE may be several words, as in: mdpdice advise farkle roll=1,1,5 points=300

    Exit status: 0 proved, 1 not, 2 wrong usage or a state that does not exist.
    """
    with failures():
        from mdpdice.cli.answers import advise_text, advised, open_case

        case = open_case(name, pairs, horizon, epsilon, objective, sense)
        data = advised(case, " ".join(state), solver)
        click.echo(json.dumps(data) if as_json else advise_text(case, data))
    ctx.exit(data["value"] is None)
