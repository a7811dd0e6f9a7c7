"""``mdpdice play``: a play or several in words, as JSON or as a record; whoever is human is asked."""

from __future__ import annotations

import functools
import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mdpdice.cli.case import Case
from mdpdice.cli.game_command import Answer, game_command
from mdpdice.cli.options import NewFile, question_options, sense_option, solver_option
from mdpdice.cli.seats import Left, Table, for_two, split_seats
from mdpdice.cli.text import action_data, short

if TYPE_CHECKING:
    from mdpdice.policies.playthrough import Event, Turn
    from mdpdice.policies.telling import Teller

_KEYS = {"state": "state", "choice": "action", "roll": "outcome", "reward": "reward", "end": "payoff"}


@game_command()
@question_options
@click.option(
    "--seats",
    default="human",
    metavar="A[,B]",
    help="Who decides, one seat for all or one per player: human, optimal, random, lookahead:DEPTH, "
    "a policy that the game knows by name (threshold:250,200), or a file. Two seats in a game of one player play "
    "side by side, and the better total wins.",
)
@sense_option
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="Equal seeds give equal dice; without one every play is new, and shows its seed at the end.",
)
@click.option(
    "--rounds", type=click.IntRange(1), default=1, metavar="N", help="Play N times; two seats take turns to begin."
)
@click.option("--review", is_flag=True, help="Show at the end what every decision of a human lost.")
@click.option("--record", type=NewFile(path_type=Path), metavar="FILE", help="Record all that happens in this file.")
@solver_option
def play(
    case: Case, seats: str, seed: int | None, rounds: int, review: bool, record: Path | None, solver: str
) -> Answer:
    """Play a game; moves of a human are read from the standard input, line by line.

    Write the number of an action, its words or their beginning, or the dice to take. At a choice, ? shows what each
    action is worth, best first, and q quits.

    Exit status: 0 played or left, 2 wrong usage.
    """
    names = split_seats(seats)
    seed = random.SystemRandom().randrange(10**6) if seed is None else seed
    match = Match(case, names, seed, rounds, lambda seats, say: Table(case, seats, solver, seed, None, say))
    left = False
    try:
        for at in range(rounds):
            match.play(at)
    except Left:
        left = True
        match.say("You left the table; the play is not over.")
    if rounds > 1 or (match.alone and len(names) == 2):
        for line in match.summary():
            match.tell(line)
    reviewed = {"review": list(match.review())} if review else {}
    match.say(f"(--seed {seed} gives the same dice again)")
    if record is not None and not left:
        record.write_text(match.record(), encoding="utf-8")
    total = None if left else match.events[-1]["total"]
    results = [[float(one) for one in each] for each in match.results]
    data = {**case.data(), "seats": names, "seed": seed, "total": total, "results": results}
    data |= {"over": not left, "events": match.events}
    return Answer(data | reviewed, ())  # people have read it during the play


class Match:
    """Plays of the same seats; `players` are those of the people who play just now, and `teller` tells of them."""

    def __init__(
        self,
        case: Case,
        names: list[str],
        seed: int,
        rounds: int,
        table: Callable[[list[str], Callable[[str], None]], Table],
        *,
        alone: bool | None = None,
    ) -> None:
        self.case, self.names, self.seed, self.rounds = case, names, seed, rounds
        self.alone = not for_two(case.game, sure=len(names) > 1) if alone is None else alone
        seats = names if self.alone or len(names) != 1 else names * 2
        self.table = table(seats, self.say)
        self.options: dict[str, Any] = {"horizon": case.horizon, "symmetric": self.table.symmetric}
        self.people = [name == "human" for name in seats]
        self.who = ["you" if name == "human" else name for name in seats]
        if len(set(seats)) < len(seats):
            self.who = ["player 1", "player 2"] if self.people[0] else ["first", "second"]
        elif len(seats) == 1:
            self.who = [""]
        self.told: list[str] = []
        self.events: list[dict[str, Any]] = []
        self.results: list[list[Fraction]] = []  # by seat
        self.decided: list[tuple[int, Turn, Any]] = []  # by people
        self.players: Sequence[int] = ()
        self.teller: Teller | None = None

    def say(self, line: str) -> None:
        """Show people something that is not an event of the play."""
        # What people read while a program reads the JSON goes to the other stream.
        click.echo(line, err=self.case.as_json)

    def tell(self, line: str) -> None:
        """Show what happens, and record it."""
        self.told.append(line)
        self.say(line)

    def play(self, at: int) -> None:
        """Play once; a game of one player is played by every seat, turn by turn."""
        from mdpdice.policies import playthrough
        from mdpdice.policies.telling import Teller

        table = self.table

        def begun(players: Sequence[int]) -> tuple[Sequence[int], Teller, Iterator[Event]]:
            seats = [table.seats[seat] for seat in dict.fromkeys(players)]
            who, people = [self.who[seat] for seat in players], [self.people[seat] for seat in players]
            events = playthrough.play(self.case.game, seats, table.generator, **self.options)
            return players, Teller(self.case.look, who, people), events

        if self.rounds > 1:
            self.tell(f"round {at + 1}")
        order = range(len(self.who))[:: -1 if at % 2 else 1]
        results = [Fraction(0)] * len(order)
        waiting = deque(map(begun, [(seat, seat) for seat in order] if self.alone else [order]))
        with table.playing():
            while waiting:
                players, teller, events = waiting.popleft()
                self.players, self.teller = players, teller
                table.before = functools.partial(self._before, teller, players)
                for event in events:
                    seat = players[event.player]
                    again = waiting and teller.turns and teller.begins(event)
                    for line in teller.lines(event, self._noted(event, seat, at)):
                        self.tell(line)
                    results[players[0]] = event.total
                    if not self.alone:
                        results[players[1]] = Fraction(self.case.game.total) - event.total
                    if again:  # it is the next one's turn
                        waiting.append((players, teller, events))
                        break
        self.results.append(results)

    def _before(self, teller: Teller, players: Sequence[int], turn: Turn) -> str:
        """Show what a person decides about; return the name where there are two."""
        for line in teller.flush():
            self.tell(line)
        self.say(teller.table(turn.seen, dice=True))
        return self.who[players[turn.player]] if all(self.people) else ""

    def _noted(self, event: Event, seat: int, at: int) -> str:
        """Note an event as data, and a decision of a person; what a player who computes values thinks of one."""
        kind, look = event.kind.value, self.case.look
        seen = None if event.seen is None else [action_data(face) for face in event.seen.faces]
        data: dict[str, Any] = {"event": kind, "player": event.player, "seat": seat, "seen": seen}
        self.events.append(data)
        if kind in _KEYS:
            as_data: dict[str, Any] = {"state": look.show_state, "reward": float, "end": float}
            data[_KEYS[kind]] = as_data.get(kind, action_data)(event.what)
        if kind in ("end", "cut off"):
            data["total"] = float(event.total)
        if self.rounds > 1:
            data["round"] = at + 1
        if kind != "choice":
            return ""
        data["actions"] = [action_data(action) for action in event.among]
        if self.people[seat] and self.table.turn is not None:
            self.decided.append((seat, self.table.turn, event.what))
        opinion = self.table.opinion(seat, event.what)
        return "" if opinion is None else f" (worth {opinion:.4g})"

    def summary(self) -> Iterator[str]:
        """Yield what the plays brought every seat, and who won them."""
        wanted, rounds = -1 if self.case.sense == "min" else 1, len(self.results)
        race = self.alone or all(abs(one) <= 1 for each in self.results for one in each)
        for seat, who in enumerate(self.who) if rounds else ():
            mean = short(float(sum(each[seat] for each in self.results) / rounds))
            won = sum(_best(each, seat, wanted) for each in self.results) if who else 0
            wins = f", {won} of {rounds} won" if rounds > 1 else ", wins" * won
            yield f"{who and f'{who}: '}{mean}{' on average' * (rounds > 1)}{wins if who and race else ''}"

    def review(self) -> Iterator[dict[str, Any]]:
        """Return what people lost by their decisions, in words and as data."""
        look, lost_by = self.case.look, dict.fromkeys((seat for seat, _, _ in self.decided), 0.0)
        for seat, turn, chosen in self.decided:
            if not (rows := self.table.ranked(turn)):
                return
            lost = next(row[2] for row in rows if row[0] == chosen)
            lost_by[seat] += lost
            words, best = (look.words(turn.state, action, turn.seen) for action in (chosen, rows[0][0]))
            told = f"-{lost:.6g}, best: {best}" if lost else "best"
            self.say(f"{self.who[seat] or 'you'}: {words}  {told}")
            state, action = look.show_state(turn.state), action_data(chosen)
            yield {"seat": seat, "state": state, "action": action, "lost": lost}
        for seat, lost in lost_by.items():
            self.say(f"{self.who[seat] or 'you'} lost {lost:.6g} in all")

    def record(self) -> str:
        """Return the question, and what happened."""
        return "\n".join([*self._head(), "", *self.told]) + "\n"

    def _head(self) -> Iterator[str]:
        from mdpdice.cli.game_parameters import show

        case = self.case
        yield "# Written by mdpdice play --record; the same call writes the same file again."
        yield f"game: {case.name}"
        for key, value in case.given.items():
            yield f"parameter: {key}={show(value)}"
        if case.horizon is not None:
            yield f"horizon: {case.horizon}"
        if case.objective is not None:
            yield f"sense: {case.sense}"
        yield f"seats: {','.join(self.names)}"
        yield f"seed: {self.seed}"
        if self.rounds > 1:
            yield f"rounds: {self.rounds}"


def _best(results: Sequence[Fraction], seat: int, wanted: int) -> bool:
    """Return whether no one else has done as well as this player."""
    return all(wanted * (results[seat] - one) > 0 for at, one in enumerate(results) if at != seat)
