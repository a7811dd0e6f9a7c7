"""What the commands share: options of a game, messages of errors, exit statuses."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

__all__ = [
    "GameCommand",
    "NewFile",
    "command_words",
    "failures",
    "game_argument",
    "objective_options",
    "on_game",
    "solver_option",
]

F = TypeVar("F", bound=Callable[..., Any])
_NAME = "mdpdice.cli.name"
_INTERRUPTED = 130


@contextlib.contextmanager
def failures() -> Iterator[None]:
    """Turn errors of the library into messages with the right exit status, and warnings into lines."""
    from mdpdice.errors import (
        HorizonRangeError,
        MdpDiceError,
        MissingPackageError,
        SolveInterrupted,
        StateLimitError,
    )

    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_args, **_: click.echo(f"Warning: {message}", err=True)
        try:
            yield
        except (KeyboardInterrupt, SolveInterrupted) as error:
            click.echo(_interrupted(error), err=True)
            raise SystemExit(_INTERRUPTED) from None
        except HorizonRangeError as error:
            raise click.UsageError(str(error)) from error
        except MissingPackageError as error:  # nobody's code is to blame
            raise click.ClickException(str(error)) from error
        except BrokenPipeError:  # whoever reads has seen enough, as click knows
            raise
        except OSError as error:
            raise click.ClickException(f"{error.filename or 'a file'}: {error.strerror or error}") from error
        except StateLimitError as error:
            told = command_words(str(error))
            raise click.ClickException(told) from error
        except MdpDiceError as error:
            from mdpdice.cli.catalogue import blame

            place = "" if error.__cause__ is None else blame(error.__cause__)
            raise click.ClickException(f"{error}{place}") from error


def command_words(message: str) -> str:
    """A message with what to write on the command line in the place of what to write in Python."""
    words = {
        "solver='lookahead'": "--solver lookahead:DEPTH of 'solve' and 'advise'",
        "solve(compile_lattice(game))": "'mdpdice solve' without --horizon",
    }
    for python, command in words.items():
        message = message.replace(python, command)
    return message


def _interrupted(error: BaseException) -> str:
    partial = getattr(error, "partial", None)
    text = "Interrupted."
    if partial is not None:
        text += f" The value lies in [{partial.lower():.6g}, {partial.upper():.6g}]."
    checkpoint = getattr(error, "checkpoint", None)
    if checkpoint is not None:
        text += f" {checkpoint} holds what was done; the same call goes on from there."
    return text


class GameCommand(click.Command):
    """A command on a game, whose ``--help`` also tells the parameters of the game that is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Note the NAME, then parse as click does."""
        # --help is answered before the arguments are read, so the name has to be found first.
        with contextlib.suppress(click.UsageError):
            asked, _, _ = self.make_parser(ctx).parse_args(list(args))
            ctx.meta[_NAME] = asked.get("name")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, and the parameters of the game."""
        super().format_options(ctx, formatter)
        name = ctx.meta.get(_NAME)
        if not isinstance(name, str):
            return
        with failures():
            from mdpdice.cli.catalogue import find_game, summary
            from mdpdice.cli.parameters import parameters_of

            found = find_game(name)
            with formatter.section(f"Parameters of {name} (-p key=value)"):
                if about := summary(found):
                    formatter.write_text(about)
                    formatter.write_paragraph()
                rows = [
                    (
                        parameter.key if parameter.reader.unreadable else f"-p {parameter.key}=",
                        parameter.describe(),
                    )
                    for parameter in parameters_of(found)
                ]
                if rows:
                    formatter.write_dl(rows)
                else:
                    formatter.write_text("none")


def _registered(group: str, beginning: str) -> list[str]:
    # Not by way of the catalogue, which imports more than a shell should wait for.
    return sorted({point.name for point in entry_points(group=group) if point.name.startswith(beginning)})


def _complete_game(_ctx: click.Context, _parameter: click.Parameter, beginning: str) -> list[CompletionItem]:
    """Games whose names begin so, or files."""
    names = _registered("mdpdice.games", beginning)
    return [CompletionItem(name) for name in names] or [CompletionItem(beginning, type="file")]


def _complete_solver(_ctx: click.Context, _parameter: click.Parameter, beginning: str) -> list[str]:
    names = _registered("mdpdice.solvers", beginning)
    return ["auto", *names] if "auto".startswith(beginning) else names


# The keys of `mdpdice.cli.objectives.FORMS`, which a shell should not wait for either.
OBJECTIVES = ("total", "discounted", "horizon", "payoff-at-least", "payoff-at-most", "reach", "until-reward")


def _complete_objective(_ctx: click.Context, _parameter: click.Parameter, beginning: str) -> list[str]:
    names = [name if name == "total" else f"{name}:" for name in OBJECTIVES]
    return [name for name in names if name.startswith(beginning)]


game_argument = click.argument("name", shell_complete=_complete_game)


class NewFile(click.Path):
    """A file to write: what is wrong with its place is told before anything is solved for it."""

    def __init__(self, **more: Any) -> None:
        super().__init__(dir_okay=False, writable=True, **more)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the folder, and the file if it is there already."""
        folder = Path(value).absolute().parent
        if not folder.is_dir():
            self.fail(f"there is no folder {str(folder)!r}", param, ctx)
        return super().convert(value, param, ctx)


def _positive(_ctx: click.Context, _option: click.Parameter, value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise click.BadParameter("write a positive number, such as 1e-9")
    return value


def on_game(command: F) -> F:
    """Add what all commands on a game take."""
    for decorate in reversed(
        (
            game_argument,
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


def objective_options(command: F) -> F:
    """Add what counts, and whether much or little of it is wanted."""
    for decorate in (
        click.option(
            "--sense",
            type=click.Choice(["max", "min"]),
            default="max",
            show_default=True,
            help="Whether the player to move wants much of it or little.",
        ),
        click.option(
            "--objective",
            metavar="OBJECTIVE",
            shell_complete=_complete_objective,
            help="What counts, by default the total: discounted:0.95, horizon:20, payoff-at-least:1000, reach:STATE "
            "or until-reward:STATE; several states are separated by a semicolon.",
        ),
    ):
        command = decorate(command)
    return command


solver_option = click.option(
    "--solver",
    default="auto",
    metavar="NAME",
    show_default=True,
    shell_complete=_complete_solver,
    help="The back-end that proposes the answer; 'mdpdice list' names them. lookahead:DEPTH looks that many "
    "decisions ahead, for an estimate.",
)
