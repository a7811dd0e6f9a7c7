"""Objectives as they are written on the command line: ``discounted:0.95``, ``payoff-at-least:1000``.

The same words name the objective in JSON, in files and in `str` of an objective.  Whoever needs more,
a utility or targets by a predicate, calls `mdpdice.solve`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import click

import mdpdice
from mdpdice.cli.text import named
from mdpdice.errors import GameError, MdpDiceError, UnknownStateError
from mdpdice.spelling import did_you_mean

if TYPE_CHECKING:
    from mdpdice.modelling.sense import Sense

FORMS = {
    "total": "total",
    "discounted": "discounted:0.95 (or 19/20)",
    "horizon": "horizon:20",
    "payoff-at-least": "payoff-at-least:1000",
    "payoff-at-most": "payoff-at-most:5",
    "cvar": "cvar:0.1",
    "quantile": "quantile:0.5",
    "average": "average, or average:STATE (or the name of a class of states)",
    "reach": "reach:STATE or 'reach:STATE;STATE' (\\; where a state has one)",
    "until-reward": "until-reward:STATE",
    "win-within": "win-within:5",
}
"""How the kinds are written."""

Reading: TypeAlias = Callable[[str], Hashable]


class Asked(NamedTuple):
    """An objective that was asked for (None: the total of the game, by its own sense), its text, and the horizon."""

    objective: mdpdice.Objective | None
    text: str
    horizon: int | None


def read_objective(text: str | None, sense: Sense | None, usual: Sense, horizon: int | None, read: Reading) -> Asked:
    """Return the objective of a text, see `FORMS`, and a `click.UsageError` where it is none.

    The player to move wants `sense`, if that was said, and by the game what is `usual`; a `horizon` may be asked beside
    it, and states are read by `read`.
    """
    name, colon, value = (part.strip() for part in (text or "total").partition(":"))
    if (kind := name.lower().replace("_", "-")) not in FORMS:
        hint = did_you_mean(kind, FORMS)
        raise click.UsageError(f"--objective {text}: {hint}write {', '.join(FORMS.values())}")
    if bool(colon and value) == (kind == "total") and (colon or kind != "average"):
        raise click.UsageError(f"--objective {text}: write {FORMS[kind]}")
    with named(f"--objective {text}: ", MdpDiceError):
        if kind == "horizon":
            if horizon is not None:
                raise click.UsageError("the horizon is given twice: as --horizon and in --objective")
            horizon = mdpdice.Horizon(int(value) if value.isdecimal() else value).decisions
        if kind in ("total", "horizon"):
            return Asked(None if sense in (None, usual) else mdpdice.Total(sense), "total", horizon)
        try:
            objective = _made(kind, value, sense, read)
        except ValueError as error:
            raise click.UsageError(f"--objective {text}: {value!r} is not a number; write {FORMS[kind]}") from error
    # States are shown as they were written; numbers, as they were understood.
    told = f"{kind}:{value}" if value and kind in ("average", "reach", "until-reward") else str(objective)
    return Asked(objective, told, horizon)


def _made(kind: str, value: str, sense: Sense | None, read: Reading) -> mdpdice.Objective:
    if kind == "discounted":
        return mdpdice.Discounted(_number(value), sense)
    if kind == "payoff-at-least":
        return mdpdice.PayoffAtLeast(_number(value), sense)
    if kind == "payoff-at-most":
        return mdpdice.PayoffAtMost(_number(value), sense)
    if kind == "win-within":
        return mdpdice.Win(int(value), sense)
    if kind in ("cvar", "quantile"):
        return (mdpdice.CVaR if kind == "cvar" else mdpdice.Quantile)(_number(value), sense)
    parts = [part.strip().replace("\\;", ";") for part in re.split(r"(?<!\\);", value)]
    if kind == "average":
        return mdpdice.AverageReward(sense, _visited(parts, read) if value else None)
    targets = [read(part) for part in parts]
    return mdpdice.Reach(targets, sense=sense) if kind == "reach" else mdpdice.UntilReward(targets, sense)


def _visited(parts: list[str], read: Reading) -> Callable[[Any], bool]:
    """Return whether a state is one of those that are meant, or of a class of one of these names."""
    classes = {part for part in parts if re.fullmatch(r"[A-Z]\w*", part)}
    states = {read(part) for part in parts if part not in classes}
    return lambda state: state in states or type(getattr(state, "state", state)).__name__ in classes


def _number(text: str) -> Fraction:
    from mdpdice.modelling.number import own_number  # numpy: not for --help

    try:
        return Fraction(own_number(text, "number"))
    except (GameError, OverflowError) as error:
        raise ValueError(text) from error


@contextlib.contextmanager
def known_targets(objective: mdpdice.Objective | None, text: str) -> Iterator[None]:
    """Report a target that the game does not have as wrong usage: it comes from the command line."""
    try:
        yield
    except UnknownStateError as error:
        targets: Any = getattr(objective, "targets", ())
        if error.value in targets:
            raise click.UsageError(f"--objective {text}: {error.message}") from error
        raise


def refuse_valueless(objective: mdpdice.Objective | None) -> None:
    """Refuse an objective under which a policy has no value, as the total of the network of `Objective.apply`."""
    if isinstance(objective, mdpdice.PayoffAtLeast | mdpdice.PayoffAtMost):
        known = objective.worth(Fraction(0)) == 0
    else:
        known = objective is None or isinstance(objective, mdpdice.Total | mdpdice.Discounted | mdpdice.Reach)
    if not known:
        words = "write total, discounted, reach, or a payoff-at-least above 0"
        raise click.UsageError(f"policies have no value of their own under {objective}; {words}")
