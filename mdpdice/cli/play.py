"""``mdpdice play``: every state, choice, roll and reward of one play, for people, as JSON or as a record.

A *record* is a text file with the question at its head and one line per event below it:
the same call writes the same file, on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mdpdice.cli.case import Case
from mdpdice.cli.game_command import Answer, game_command
from mdpdice.cli.options import NewFile, question_options, seed_option, sense_option, solver_option
from mdpdice.cli.seats import Left, Table, split_seats
from mdpdice.cli.text import action_data, figure, phrase

if TYPE_CHECKING:
    from mdpdice.policies.playthrough import Event

__all__ = ["event_lines", "play"]

_LONG = 100


@game_command()
@question_options
@click.option(
    "--seats",
    default="human",
    metavar="A[,B]",
    show_default=True,
    help="Who decides, one seat for all or one per player: human, optimal, random, lookahead:DEPTH, "
    "a policy that the game knows by name (threshold:250,200), or a file.",
)
@sense_option
@seed_option
@click.option(
    "--record",
    type=NewFile(path_type=Path),
    metavar="FILE",
    help="Write all that happens to a file, too.",
)
@solver_option
def play(case: Case, seats: str, seed: int, record: Path | None, solver: str) -> Answer:
    """Play a game once; moves of a human are read from the standard input, line by line.

    At a choice ? tells what each action is worth, and q leaves.

    Exit status: 0 played or left, 2 wrong usage.
    """
    from mdpdice.policies import playthrough

    names = split_seats(seats)

    def say(line: str) -> None:
        # What people read while a program reads the JSON goes to the other stream.
        click.echo(line, err=case.as_json)

    table = Table(case, names, solver, seed, f"--seats: {case.name} has one player, so name one seat", say)
    told: list[str] = []
    events: list[dict[str, Any]] = []
    left, two = False, len(names) == 2
    try:
        with table.playing():
            for event in playthrough.play(
                case.game, table.seats, table.generator, horizon=case.horizon, symmetric=table.symmetric
            ):
                # With one seat for all it shows only in the course of the play that there are two players.
                two = two or event.player == 1
                for line in event_lines(case, event, two=two):
                    told.append(line)
                    say(line)
                events.append(_data(case, event))
    except Left:
        left = True
        say("You left the table; the play is not over.")
    if record is not None and not left:
        record.write_text("\n".join([*_head(case, names, seed), "", *told]) + "\n", encoding="utf-8")
    data = {
        **case.data(),
        "seats": names,
        "seed": seed,
        "total": None if left else events[-1]["total"],
        "over": not left,
        "events": events,
    }
    return Answer(data, ())  # people were told on the way


def _head(case: Case, seats: list[str], seed: int) -> Iterator[str]:
    from mdpdice.cli.game_parameters import show

    yield "# Written by mdpdice play --record; the same call writes the same file again."
    yield f"game: {case.name}"
    for key, value in case.given.items():
        yield f"parameter: {key}={show(value)}"
    if case.horizon is not None:
        yield f"horizon: {case.horizon}"
    if case.objective is not None:
        yield f"sense: {case.sense}"
    yield f"seats: {','.join(seats)}"
    yield f"seed: {seed}"


def event_lines(case: Case, event: Event, *, two: bool) -> Iterator[str]:
    """What happened, for people; `two`: the game has two players."""
    from mdpdice.policies.playthrough import Happening

    who = f"player {event.player}: " if two else ""
    match event.kind:
        case Happening.STATE:
            yield f"{who}{case.look.show_state(event.what)}"
        case Happening.CHOICE:
            words = " | ".join(phrase(action_data(action)) for action in event.among)
            yield f"  chooses {phrase(action_data(event.what))} from {words}"
        case Happening.ROLL:
            yield f"  roll {_outcome(event.what)}"
        case Happening.REWARD:
            yield f"  {who}reward {_number(event.what)}"
        case Happening.END:
            yield f"  {who}the end pays {_number(event.what)}"
            yield f"total {_number(event.total)}{' for player 0' if two else ''}"
        case Happening.CUT:
            yield "  no decision is left"
            yield f"total {_number(event.total)}{' for player 0' if two else ''}"


def _outcome(outcome: Any) -> str:
    """An outcome in a few words; an edge as outcome (of ``chance``) says nothing that does not follow."""
    text = phrase(action_data(outcome))
    return text if len(text) <= _LONG else text[:_LONG] + "..."


def _number(number: Any) -> str:
    exact = Fraction(number)
    return str(exact) if exact.denominator == 1 else figure(float(exact))


def _data(case: Case, event: Event) -> dict[str, Any]:
    from mdpdice.policies.playthrough import Happening

    data: dict[str, Any] = {"event": event.kind.value, "player": event.player}
    match event.kind:
        case Happening.STATE:
            data["state"] = case.look.show_state(event.what)
        case Happening.CHOICE:
            data["action"] = action_data(event.what)
            data["actions"] = [action_data(action) for action in event.among]
        case Happening.ROLL:
            data["outcome"] = action_data(event.what)
        case Happening.REWARD:
            data["reward"] = float(event.what)
        case Happening.END:
            data["payoff"] = float(event.what)
            data["total"] = float(event.total)
        case Happening.CUT:
            data["total"] = float(event.total)
    return data
