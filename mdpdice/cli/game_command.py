"""Commands: a function that gives an `Answer`, which is printed, with the exit status and messages of errors.

Exit statuses are 0 all is well, 1 it is not, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import functools
import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import click

from mdpdice import errors
from mdpdice.cli.case import open_case
from mdpdice.cli.limits import limits
from mdpdice.cli.objectives import known_targets
from mdpdice.cli.options import game_argument
from mdpdice.cli.progress_bars import ProgressBars

_NAME = "mdpdice.cli.name"
_INTERRUPTED = 130
_ASKED = ("name", "pairs", "horizon", "epsilon", "objective", "sense", "repeated", "no_cache", "prove")
"""Options that are read into a `Case`."""


class Answer(NamedTuple):
    """What a command has to say: for ``--json``, for people, and whether the exit status is 0."""

    data: dict[str, Any]
    lines: Iterable[str]
    ok: bool = True


def command(name: str | None = None, **more: Any) -> Callable[[Callable[..., Answer]], click.Command]:
    """Make a command of a function; `more` is for `click.command`."""

    def decorate(function: Callable[..., Answer]) -> click.Command:
        @functools.wraps(function)
        def run(*, as_json: bool, **options: Any) -> None:
            _tell(as_json, lambda: function(**options))

        return click.command(name, cls=click.Command, **more)(run)

    return decorate


def game_command(**more: Any) -> Callable[[Callable[..., Answer]], click.Command]:
    """Make a command on a game of a function that takes a `Case`, and those options that are not read into that."""

    def decorate(function: Callable[..., Answer]) -> click.Command:
        @game_argument
        @functools.wraps(function)
        def run(*, as_json: bool, **options: Any) -> None:
            asked = {key: options.pop(key) for key in _ASKED if key in options}

            def answer() -> Answer:
                with ProgressBars() as progress:
                    case = open_case(**asked, as_json=as_json, progress=progress)
                    with known_targets(case.objective, case.objective_text):
                        return function(case, **options)

            _tell(as_json, answer)

        return click.command(cls=_GameCommand, **more)(run)

    return decorate


def _tell(as_json: bool, ask: Callable[[], Answer]) -> None:
    with failures():
        answer = ask()
        if as_json and answer.data:
            click.echo(json.dumps(answer.data))
        elif not as_json:
            for line in answer.lines:
                click.echo(line)
    click.get_current_context().exit(not answer.ok)


@contextlib.contextmanager
def failures() -> Iterator[None]:
    """Turn errors of the library into messages with the right exit status, and warnings into lines."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_args, **_: click.echo(f"Warning: {message}", err=True)
        try:
            yield
        except (KeyboardInterrupt, errors.SolveInterrupted) as error:
            click.echo(_interrupted(error), err=True)
            raise SystemExit(_INTERRUPTED) from None
        except errors.HorizonRangeError as error:
            raise click.UsageError(str(error)) from error
        except BrokenPipeError:  # whoever reads has seen enough, as click knows
            raise
        except OSError as error:
            raise click.ClickException(f"{error.filename or 'a file'}: {error.strerror or error}") from error
        except (errors.MissingPackageError, errors.StateLimitError) as error:  # not a fault of anyone's code
            raise click.ClickException(command_words(str(error))) from error
        except errors.MdpDiceError as error:
            from mdpdice.cli.catalogue import blame

            place = "" if error.__cause__ is None else blame(error.__cause__)
            raise click.ClickException(f"{error}{place}") from error


def command_words(message: str) -> str:
    """Return a message with what to write on the command line in the place of what to write in Python."""
    words = {
        "such as max_states=": "such as --max-states ",
        " max_places=": " --max-lines ",
        "solver='lookahead'": "--solver lookahead:DEPTH of 'solve' and 'advise'",
        "solve(compile_lattice(game))": "'mdpdice solve' without --horizon",
    }
    for python, told in words.items():
        message = message.replace(python, told)
    return message


def _interrupted(error: BaseException) -> str:
    partial = getattr(error, "partial", None)
    text = "Out of time." if "time_limit" in limits() and not limits()["time_limit"] else "Interrupted."
    if partial is not None:
        text += f" The value lies in [{partial.lower():.6g}, {partial.upper():.6g}]."
    if (checkpoint := getattr(error, "checkpoint", None)) is not None:
        text += f" {checkpoint} holds what was done; the same call goes on from there."
    return text


class _GameCommand(click.Command):
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
            from mdpdice.cli.game_parameters import parameters_of

            found = find_game(name)
            with formatter.section(f"Parameters of {name} (-p key=value)"):
                if about := summary(found):
                    formatter.write_text(about)
                    formatter.write_paragraph()
                known = parameters_of(found)
                keys = (one.key if one.reader.unreadable else f"-p {one.key}=" for one in known)
                if rows := [(key, one.describe()) for key, one in zip(keys, known, strict=True)]:
                    formatter.write_dl(rows)
                else:
                    formatter.write_text("none")
