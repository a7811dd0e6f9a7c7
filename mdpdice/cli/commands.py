"""The commands, their options and exit statuses: 0 all is well, 1 it is not, 2 wrong usage, 130 interrupted."""

from __future__ import annotations

import contextlib
import json
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import click

__all__ = ["main"]

F = TypeVar("F", bound=Callable[..., Any])
_NAME = "mdpdice.cli.name"
_INTERRUPTED = 130


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    """Turn errors of the library into messages with the right exit status, and warnings into lines."""
    from mdpdice.errors import HorizonRangeError, MdpDiceError, SolveInterrupted

    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_args, **_: click.echo(f"Warning: {message}", err=True)
        try:
            yield
        except (KeyboardInterrupt, SolveInterrupted) as error:
            click.echo(_interrupted(error), err=True)
            raise SystemExit(_INTERRUPTED) from None
        except HorizonRangeError as error:
            raise click.UsageError(str(error)) from error
        except MdpDiceError as error:
            from mdpdice.cli.catalogue import blame

            place = "" if error.__cause__ is None else blame(error.__cause__)
            raise click.ClickException(f"{error}{place}") from error


def _interrupted(error: BaseException) -> str:
    partial = getattr(error, "partial", None)
    text = "Interrupted."
    if partial is not None:
        text += f" The value lies in [{partial.lower():.6g}, {partial.upper():.6g}]."
    checkpoint = getattr(error, "checkpoint", None)
    if checkpoint is not None:
        text += f" {checkpoint} holds what was done; the same call goes on from there."
    return text


class _GameCommand(click.Command):
    """A command on a game, whose ``--help`` also tells the parameters of the game that is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # --help is answered before the arguments are read, so the name has to be found first.
        with contextlib.suppress(click.UsageError):
            asked, _, _ = self.make_parser(ctx).parse_args(list(args))
            ctx.meta[_NAME] = asked.get("name")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        name = ctx.meta.get(_NAME)
        if not isinstance(name, str):
            return
        with _failures():
            from mdpdice.cli.catalogue import find_game, summary
            from mdpdice.cli.parameters import parameters_of

            found = find_game(name)
            with formatter.section(f"Parameters of {name} (-p key=value)"):
                if about := summary(found):
                    formatter.write_text(about)
                    formatter.write_paragraph()
                rows = [(f"-p {parameter.key}=", parameter.describe()) for parameter in parameters_of(found)]
                if rows:
                    formatter.write_dl(rows)
                else:
                    formatter.write_text("none")


def _positive(_ctx: click.Context, _option: click.Parameter, value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise click.BadParameter("write a positive number, such as 1e-9")
    return value


def _on_game(command: F) -> F:
    """Add what all commands on a game take."""
    for decorate in reversed(
        (
            click.argument("name"),
            click.option(
                "-p",
                "pairs",
                metavar="KEY=VALUE",
                multiple=True,
                help="A parameter of the game; may be repeated. 'mdpdice solve NAME --help' describes them.",
            ),
            click.option(
                "--horizon",
                type=click.IntRange(min=0),
                metavar="N",
                help="At most N decisions in a play; one that is cut off there gets nothing more.",
            ),
            click.option(
                "--epsilon",
                type=float,
                default=1e-6,
                metavar="X",
                show_default=True,
                callback=_positive,
                help="Certified means that every interval is at most X * max(1, |value|) wide.",
            ),
            click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        )
    ):
        command = decorate(command)
    return command


_solver_option = click.option(
    "--solver",
    default="auto",
    metavar="NAME",
    show_default=True,
    help="The back-end that proposes the answer; 'mdpdice list' names them.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mdpdice")
def main() -> None:
    """Solve games declared as Markov decision processes, and prove the answers.

    NAME is a shipped game ('mdpdice list') or a class in a file of yours,
    path/to/file.py:ClassName.
    """


@main.command("list")
def list_() -> None:
    """List the shipped games and the solvers with what they can do."""
    with _failures():
        from mdpdice.cli.answers import listing

        click.echo(listing())


@main.command(cls=_GameCommand)
@_on_game
@_solver_option
@click.pass_context
def solve(
    ctx: click.Context,
    name: str,
    pairs: tuple[str, ...],
    horizon: int | None,
    epsilon: float,
    as_json: bool,
    solver: str,
) -> None:
    """Solve a game and prove how far the answer can be off.

    Exit status: 0 proved, 1 not, 2 wrong usage.
    """
    with _failures():
        from mdpdice.cli.answers import open_case, solved, solved_text

        case = open_case(name, pairs, horizon, epsilon)
        data = solved(case, solver)
        click.echo(json.dumps(data) if as_json else solved_text(case, data))
    ctx.exit(data["value"] is None)


@main.command(cls=_GameCommand)
@_on_game
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
    solvers: str | None,
) -> None:
    """Solve a game with several back-ends, certify each and compare all states.

    Exit status: 0 all agree and are certified, 1 not, 2 wrong usage.
    """
    with _failures():
        from mdpdice.cli.answers import checked, open_case

        chosen = None if solvers is None else [solver.strip() for solver in solvers.split(",")]
        case = open_case(name, pairs, horizon, epsilon)
        ok, data, text = checked(case, chosen)
        click.echo(json.dumps(data) if as_json else text)
    ctx.exit(not ok)


@main.command(cls=_GameCommand)
@_on_game
@click.argument("state", nargs=-1, required=True)
@_solver_option
@click.pass_context
def advise(
    ctx: click.Context,
    name: str,
    pairs: tuple[str, ...],
    horizon: int | None,
    epsilon: float,
    as_json: bool,
    state: tuple[str, ...],
    solver: str,
) -> None:
    """Tell the best action in a state, and the value of every action.

    STATE may be several words, as in: mdpdice advise farkle roll=1,1,5 points=300

    Exit status: 0 proved, 1 not, 2 wrong usage or a state that does not exist.
    """
    with _failures():
        from mdpdice.cli.answers import advise_text, advised, open_case

        case = open_case(name, pairs, horizon, epsilon)
        data = advised(case, " ".join(state), solver)
        click.echo(json.dumps(data) if as_json else advise_text(case, data))
    ctx.exit(data["value"] is None)
