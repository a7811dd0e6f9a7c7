"""Options and arguments that several commands have, and what a shell completes for them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from mdpdice.cli.limits import limit_options
from mdpdice.cli.objectives import FORMS

F = TypeVar("F", bound=Callable[..., Any])


def _registered(group: str, beginning: str) -> list[str]:
    # Not by way of the catalogue, which imports more than a shell should wait for.
    from importlib.metadata import entry_points

    return sorted({point.name for point in entry_points(group=group) if point.name.startswith(beginning)})


def complete_game(_ctx: click.Context, _parameter: click.Parameter, beginning: str) -> list[CompletionItem]:
    """Games whose names begin so, or files."""
    names = _registered("mdpdice.games", beginning)
    return [CompletionItem(name) for name in names] or [CompletionItem(beginning, type="file")]


def _complete_solver(_ctx: click.Context, _parameter: click.Parameter, beginning: str) -> list[str]:
    names = _registered("mdpdice.solvers", beginning)
    return ["auto", *names] if "auto".startswith(beginning) else names


def _complete_objective(_ctx: click.Context, _parameter: click.Parameter, beginning: str) -> list[str]:
    names = [name if name in ("total", "average") else f"{name}:" for name in FORMS]
    return [name for name in names if name.startswith(beginning)]


class NewFile(click.Path):
    """A file to write; a place that will not do is rejected before anything is solved for it."""

    def __init__(self, **more: Any) -> None:
        super().__init__(dir_okay=False, writable=True, **more)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the folder, and the file if it already exists."""
        folder = Path(value).absolute().parent
        if not folder.is_dir():
            self.fail(f"there is no folder {str(folder)!r}", param, ctx)
        return super().convert(value, param, ctx)


def _positive(_ctx: click.Context, _option: click.Parameter, value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise click.BadParameter("write a positive number, such as 1e-9")
    return value


def parameters_option(more: str = "") -> Callable[[F], F]:
    """Return the option ``-p``; `more` is said behind its help."""
    told = f"A parameter of the game; may be repeated.{more}"
    return click.option("-p", "pairs", metavar="KEY=VALUE", multiple=True, help=told)


def to_option(about: str, *, required: bool = False) -> Callable[[F], F]:
    """Return the option ``--to``, a file to write."""
    return click.option("--to", "path", metavar="FILE", type=NewFile(), required=required, help=about)


game_argument = click.argument("name", shell_complete=complete_game)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
format_option = click.option("--format", "form", metavar="FORMAT", help="Needed if the ending does not say it.")
_SOLVER = "The solver that proposes the answer; 'mdpdice list' names them. lookahead:DEPTH looks that many "
_SOLVER += "decisions ahead, for an estimate."
solver_option = click.option("--solver", default="auto", metavar="NAME", shell_complete=_complete_solver, help=_SOLVER)
_POLICY = "optimal, random, lookahead:DEPTH, a policy that the game knows by name (hold-at:20), or a file."
_policy_option = click.option("--policy", "chosen", default="optimal", metavar="POLICY", help=_POLICY)
_against_option = click.option("--against", metavar="POLICY", help="Of the other player, by default the same.")
seed_option = click.option("--seed", type=click.IntRange(0), default=1, help="Equal seeds give equal dice.")
_horizon_option = click.option(
    "--horizon", type=click.IntRange(0), metavar="N", help="Stop a play after N decisions; it then earns no more."
)
_EPSILON = "Certified means that every interval is at most X * max(1, |value|) wide."
_epsilon_option = click.option("--epsilon", type=float, default=1e-6, metavar="X", callback=_positive, help=_EPSILON)
_OBJECTIVE = "What counts, by default the total: discounted:0.95, horizon:20, payoff-at-least:1000, reach:STATE, "
_OBJECTIVE += "until-reward:STATE, average or average:STATE; several states are separated by a semicolon."
_objective_option = click.option(
    "--objective", metavar="OBJECTIVE", shell_complete=_complete_objective, help=_OBJECTIVE
)
_SENSE = "Whether the player to move maximises or minimises; by default as the game says, max for a chance."
sense_option = click.option("--sense", type=click.Choice(["max", "min"]), help=_SENSE)


def cache_options(function: F) -> F:
    """Add ``--no-cache`` and ``--prove``, which are about kept answers."""
    told = "Neither read nor keep answers; see 'mdpdice cache'."
    unused = click.option("--no-cache", is_flag=True, help=told)
    return unused(click.option("--prove", is_flag=True, help="Certify a kept answer again.")(function))


def question_options(function: F) -> F:
    """Add the parameters of the game, the horizon, the precision, the limits, kept answers, and ``--json``."""
    parameters = parameters_option(" 'mdpdice solve NAME --help' describes them.")
    return parameters(_horizon_option(_epsilon_option(limit_options(cache_options(json_option(function))))))


def objective_options(function: F) -> F:
    """Add those of a question, what counts, whether much or little is wanted, and whether the game starts again."""
    told = "Start again wherever the game ends, with the payoff as a reward on the way: for --objective average."
    repeated = click.option("--repeated", is_flag=True, help=told)
    return question_options(_objective_option(sense_option(repeated(function))))


def policy_options(function: F) -> F:
    """Add those of a question, what counts, and the policies of the players."""
    return question_options(_objective_option(sense_option(_policy_option(_against_option(function)))))
