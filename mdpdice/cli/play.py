"""``mdpdice play``: a play or several in words, as JSON or as a record; whoever is human is asked.

A *record* is a text file with the question at its head and what happened below it:
the same call writes the same file, on every machine.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mdpdice.cli.case import Case
from mdpdice.cli.game_command import Answer, game_command
from mdpdice.cli.options import NewFile, question_options, solver_option
from mdpdice.cli.seats import Left, Table, second_player, split_seats
from mdpdice.cli.text import action_data, short

if TYPE_CHECKING:
    from mdpdice.policies.playthrough import Event, Turn

__all__ = ["play"]


@game_command()
@question_options
@click.option(
    "--seats",
    default="human",
    metavar="A[,B]",
    show_default=True,
    help="Who decides, one seat for all or one per player: human, optimal, random, lookahead:DEPTH, "
    "a policy that the game knows by name (threshold:250,200), or a file. Two seats in a game of one player play "
    "side by side, and the better total wins.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    help="Equal seeds give equal dice; without one every play is new, and tells its seed at the end.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    show_default=True,
    help="Play N times; of two seats they begin in turns.",
)
@click.option("--review", is_flag=True, help="Tell at the end what every decision of a human lost.")
@click.option(
    "--record",
    type=NewFile(path_type=Path),
    metavar="FILE",
    help="Write all that happens to a file, too.",
)
@solver_option
def play(
    case: Case, seats: str, seed: int | None, rounds: int, review: bool, record: Path | None, solver: str
) -> Answer:
    """Play a game; moves of a human are read from the standard input, line by line.

    Write the number of an action, its words or their beginning, or the dice to take. At a choice ? tells what each
    action is worth, best first, and q leaves.

    Exit status: 0 played or left, 2 wrong usage.
    """
    names = split_seats(seats)
    seed = random.SystemRandom().randrange(10**6) if seed is None else seed
    match = _Match(case, names, seed, rounds, solver)
    left = False
    try:
        for at in range(rounds):
            match.play(at)
    except Left:
        left = True
        match.say("You left the table; the play is not over.")
    if rounds > 1 or (match.alone and len(match.names) == 2):
        for line in match.summary():
            match.tell(line)
    reviewed = list(match.review()) if review else None
    match.say(f"(--seed {seed} gives the same dice again)")
    if record is not None and not left:
        head = _head(case, names, seed, rounds)
        record.write_text("\n".join([*head, "", *match.told]) + "\n", encoding="utf-8")
    data = {
        **case.data(),
        "seats": names,
        "seed": seed,
        "rounds": rounds,
        "total": None if left else match.events[-1]["total"],
        "results": [[float(one) for one in each] for each in match.results],
        "over": not left,
        "events": match.events,
        **({} if reviewed is None else {"review": reviewed}),
    }
    return Answer(data, ())  # people were told on the way


class _Match:
    """Plays of the same seats, one after the other."""

    def __init__(self, case: Case, names: list[str], seed: int, rounds: int, solver: str) -> None:
        second = second_player(case.game, sure=len(names) > 1)
        self.case, self.rounds = case, rounds
        self.alone, self.passes = second is None, second == "pass"
        self.names = names if self.alone or len(names) != 1 else names * 2
        self.table = Table(case, self.names, solver, seed, None, self.say)
        self.people = [name == "human" for name in self.names]
        alike = len(set(self.names)) < len(self.names)
        self.who = ["you" if name == "human" else name for name in self.names]
        if alike:
            self.who = ["player 1", "player 2"] if self.people[0] else ["first", "second"]
        elif self.alone and len(names) == 1:
            self.who = [""]
        self.told: list[str] = []
        self.events: list[dict[str, Any]] = []
        self.results: list[list[Fraction]] = []  # by seat
        self.decided: list[tuple[int, Turn, Any]] = []  # by people

    def say(self, line: str) -> None:
        # What people read while a program reads the JSON goes to the other stream.
        try:
            click.echo(line, err=self.case.as_json)
        except BrokenPipeError as error:
            raise Left from error

    def tell(self, line: str) -> None:
        self.told.append(line)
        self.say(line)

    def play(self, at: int) -> None:
        """Play once; a game of one player is played by every seat, turn by turn."""
        from mdpdice.policies.playthrough import Happening, play
        from mdpdice.policies.telling import Teller

        def begin(players: list[int]) -> tuple[list[int], Teller, Iterator[Event]]:
            seats = [self.table.seats[seat] for seat in dict.fromkeys(players)]
            who, people = ([listed[seat] for seat in players] for listed in (self.who, self.people))
            events = play(
                self.case.game,
                seats,
                self.table.generator,
                horizon=self.case.horizon,
                symmetric=self.table.symmetric,
            )
            return players, Teller(self.case.look, who, alone=self.alone, people=people), events

        order = list(range(len(self.names)))
        order = order[at % len(order) :] + order[: at % len(order)]
        waiting = deque(begin([seat, seat]) for seat in order) if self.alone else deque([begin(order)])
        if self.rounds > 1:
            self.tell(f"round {at + 1}")
        results = [Fraction(0)] * len(order)
        with self.table.playing():
            while waiting:
                players, teller, events = waiting.popleft()
                self.table.before = lambda turn, teller=teller: self._before(teller, turn)
                for event in events:
                    seat = players[event.player]
                    data = {
                        **self._data(event),
                        "seat": seat,
                        **({"round": at + 1} if self.rounds > 1 else {}),
                    }
                    self.events.append(data)
                    again = waiting and teller.turns and teller.begins(event)
                    note = self._chosen(seat, event) if event.kind is Happening.CHOICE else ""
                    for line in teller.lines(event, note):
                        self.tell(line)
                    if event.kind in (Happening.END, Happening.CUT):
                        results[players[0]] = event.total
                        if not self.alone:
                            results[players[1]] = Fraction(self.case.game.total) - event.total
                    elif again:  # it is the next one's turn
                        waiting.append((players, teller, events))
                        break
        self.results.append(results)

    def _before(self, teller: Any, turn: Turn) -> None:
        for line in teller.flush():
            self.tell(line)
        self.say(teller.table(turn.seen, dice=True))

    def _chosen(self, seat: int, event: Event) -> str:
        """Note a decision of a person; what else is to be said of one."""
        if self.people[seat]:
            assert self.table.turn is not None
            self.decided.append((seat, self.table.turn, event.what))
            return ""
        opinion = self.table.opinion(seat, event.what)
        return "" if opinion is None else f" (worth {opinion:.4g})"

    def summary(self) -> Iterator[str]:
        """What the plays brought every seat, and who won them."""
        if not self.results:
            return
        rounds, wanted = len(self.results), -1 if self.case.sense == "min" else 1
        for seat, who in enumerate(self.who):
            mean = short(float(sum(each[seat] for each in self.results) / rounds))
            won = sum(wanted * (each[seat] - each[1 - seat]) > 0 for each in self.results)
            wins = f", {won} of {rounds} won" if len(self.who) == 2 and (self.alone or self.passes) else ""
            yield f"{who and f'{who}: '}{mean} on average{wins}"

    def review(self) -> Iterator[dict[str, Any]]:
        """What people lost by their decisions, told and as data."""
        lost_in_all = dict.fromkeys((seat for seat, _, _ in self.decided), 0.0)
        look = self.case.look
        for seat, turn, chosen in self.decided:
            rows = self.table.ranked(turn)
            if not rows:
                return
            lost = next(row[2] for row in rows if row[0] == chosen)
            lost_in_all[seat] += lost
            words, best = (look.words(turn.state, action, turn.seen) for action in (chosen, rows[0][0]))
            self.say(
                f"{self.who[seat] or 'you'}: {words}  {f'-{lost:.6g}, best is {best}' if lost else 'best'}"
            )
            yield {
                "seat": seat,
                "state": look.show_state(turn.state),
                "action": action_data(chosen),
                "lost": lost,
            }
        for seat, lost in lost_in_all.items():
            self.say(f"{self.who[seat] or 'you'} lost {lost:.6g} in all")

    def _data(self, event: Event) -> dict[str, Any]:
        from mdpdice.policies.playthrough import Happening

        seen = None if event.seen is None else [action_data(face) for face in event.seen.faces]
        data: dict[str, Any] = {"event": event.kind.value, "player": event.player, "seen": seen}
        match event.kind:
            case Happening.STATE:
                data["state"] = self.case.look.show_state(event.what)
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


def _head(case: Case, seats: list[str], seed: int, rounds: int) -> Iterator[str]:
    from mdpdice.cli.game_parameters import show

    yield "# Written by mdpdice play --record; the same call writes the same file again."
    yield f"game: {case.name}"
    for key, value in case.given.items():
        yield f"parameter: {key}={show(value)}"
    if case.horizon is not None:
        yield f"horizon: {case.horizon}"
    yield f"seats: {','.join(seats)}"
    yield f"seed: {seed}"
    if rounds > 1:
        yield f"rounds: {rounds}"
