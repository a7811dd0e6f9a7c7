"""``mdpdice play``: a play or several in words, as JSON or as a record; whoever is human is asked."""

from __future__ import annotations

import functools
import json
import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from mdpdice.cli.case import Case
from mdpdice.cli.game_command import Answer, game_command
from mdpdice.cli.game_parameters import show
from mdpdice.cli.options import NewFile, question_options, sense_option, solver_option
from mdpdice.cli.seats import MOST_SEATS, Left, Say, Table, for_two, split_seats
from mdpdice.cli.text import action_data, short
from mdpdice.errors import MdpDiceError

if TYPE_CHECKING:
    from mdpdice.policies.playthrough import Event, Turn
    from mdpdice.policies.telling import Teller

Seating: TypeAlias = Callable[[list[str], Say], Table]
_KEYS = {"state": "state", "choice": "action", "nature": "dice", "roll": "outcome", "reward": "reward", "end": "payoff"}
SEATS = "Who decides, one seat for all or one per player: human, optimal, random, lookahead:DEPTH, a policy that the "
SEATS += "game knows by name (threshold:250,200), or a file. Two seats in a game of one player play side by side, and "
SEATS += "the better total wins."
SEED = "Equal seeds give equal dice; without one every play is new, and shows its seed at the end."


@game_command()
@question_options
@click.option("--seats", default="human", metavar="A[,B]", help=SEATS)
@sense_option
@click.option("--seed", type=click.IntRange(0), help=SEED)
@click.option(
    "--rounds", type=click.IntRange(1), default=1, metavar="N", help="Play N times; two seats take turns to begin."
)
@click.option("--review", is_flag=True, help="Show at the end what every decision of a human lost.")
@click.option("--record", type=NewFile(path_type=Path), metavar="FILE", help="Record all that happens in this file.")
@click.option(
    "--replay", type=click.Path(True, dir_okay=False), metavar="FILE", help="Play a record, also one of a page."
)
@solver_option
def play(
    case: Case, seats: str, seed: int | None, rounds: int, review: bool, record: Path | None, replay: Any, solver: str
) -> Answer:
    """Play a game; moves of a human are read from the standard input, line by line.

    Write the number of an action, its words or their beginning, or the dice to take. At a choice, ? shows what each
    action is worth, best first, and q quits.

    Exit status: 0 played or left, 2 wrong usage.
    """
    told: dict[str, Any] = {} if replay is None else _read(case, Path(replay))
    names, rounds = split_seats(told.get("seats", seats)), told.get("rounds", rounds)
    seed = random.SystemRandom().randrange(10**6) if seed is None else seed
    seed = int(told.get("seed", seed))
    most = MOST_SEATS if told else 2
    match = Match(case, names, seed, rounds, lambda seats, say: Table(case, seats, solver, seed, None, say, most))
    if told:
        match.follow(told["moves"], symmetric="# Written by a page" in told)
    left = False
    try:
        for at in range(rounds):
            match.play(at)
    except Left:
        left = True
        match.say("You left the table; the play is not over.")
    if rounds > 1 or (match.alone and len(names) > 1):
        for line in match.summary():
            match.tell(line)
    reviewed = {"review": list(match.review())} if review or told else {}
    if not told:
        match.say(f"(--seed {seed} gives the same dice again)")
    if record is not None and not left:
        record.write_text(match.record(), encoding="utf-8")
    total = None if left else match.events[-1]["total"]
    results = [[float(one) for one in each] for each in match.results]
    data = {**case.data(), "seats": names, "seed": seed, "total": total, "results": results, "over": not left}
    return Answer({**data, "events": match.events, **reviewed}, ())  # people have read it during the play


def _read(case: Case, path: Path) -> dict[str, Any]:
    """Return the head of a record, which is refused where a parameter, the horizon or the sense differs."""
    wrong = f"{path} is not a record of this game"
    try:
        head = path.read_text(encoding="utf-8").partition("\n\n")[0].splitlines()
        told: dict[str, Any] = {key: text for key, _, text in (line.partition(": ") for line in head)}
        told |= {"seed": int(told["seed"]), "rounds": int(told.get("rounds", 1)), "seats": str(told["seats"])}
        told["moves"] = iter(json.loads(told["moves"]))
    except (KeyError, TypeError, ValueError) as error:
        raise click.UsageError(wrong) from error
    given = {f"parameter: {key}={show(value)}" for key, value in case.given.items()}
    given |= {f"horizon: {show(case.horizon)}", f"sense: {case.sense}"}
    said = [line for line in head if line.startswith("parameter: ")]
    said += [f"horizon: {told.get('horizon', 'none')}", f"sense: {told.get('sense', case.game.sense)}"]
    if others := [line for line in said if line not in given]:
        raise click.UsageError("; it has ".join([wrong, *others]))
    return told


class Match:
    """Plays of the same seats; `players` are those of the people who play just now, and `teller` tells of them."""

    def __init__(
        self, case: Case, names: list[str], seed: int, rounds: int, table: Seating, *, alone: bool | None = None
    ) -> None:
        self.case, self.names, self.seed, self.rounds = case, names, seed, rounds
        self.alone = not for_two(case.game, sure=len(names) > 1) if alone is None else alone
        if len(names) > 2 and not self.alone:
            raise click.UsageError(f"{case.name} has two players, not {len(names)}")
        seats = names if self.alone or len(names) != 1 else names * 2
        self.table = table(seats, self.say)
        self.options: dict[str, Any] = {"horizon": case.horizon, "symmetric": self.table.symmetric}
        self.options["nature"] = lambda *asked: self.table.optimum().nature(*asked)
        self.people = [name == "human" for name in seats]
        self.who = ["you" if name == "human" else name for name in seats]
        if len(set(seats)) < len(seats):
            usual = ["first", "second", "third", "fourth"][: len(seats)]
            self.who = [f"player {at + 1}" for at in range(len(seats))] if any(self.people) else usual
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

    def follow(self, moves: Iterator[Any], *, symmetric: bool) -> None:
        """Have people do and dice show what a record says: places of actions, and faces or places of outcomes."""
        from mdpdice.looks.throw import Rolled, thrown

        def move(among: dict[str, Any]) -> Any:
            if (said := json.dumps(next(moves, None))) not in among:
                raise MdpDiceError(f"the record does not fit this game: there is no move {said} where it stands")
            return among[said]

        def decide(turn: Turn) -> Any:
            self.table.turn = turn
            return move({str(at): action for at, action in enumerate(turn.actions)})

        def throw(node: Any, _: object) -> Any:
            ways = {str(at): (one, Rolled(())) for at, one in enumerate(node.dist.outcomes)}
            if made := thrown(node.dist):
                rolls = ((made.outcome(faces), Rolled(faces, made.dice)) for faces, _ in made.rolls())
                ways |= {json.dumps(list(map(action_data, way[1].faces))): way for way in rolls}
            return move(ways) if len(node.dist) > 1 else ways["0"]

        self.table.seats = [decide] * len(self.table.seats)
        self.options |= {"throw": throw, "symmetric": symmetric or self.table.symmetric}

    def summary(self) -> Iterator[str]:
        """Yield what the plays brought every seat, and who won them."""
        wanted, rounds = -1 if self.case.sense == "min" else 1, len(self.results)
        race = self.alone or all(abs(one) <= 1 for each in self.results for one in each)
        for seat, who in enumerate(self.who) if rounds else ():
            mean = short(float(sum(each[seat] for each in self.results) / rounds))
            others = ([wanted * (each[seat] - one) for one in each[:seat] + each[seat + 1 :]] for each in self.results)
            won = sum(min(lead, default=1) > 0 for lead in others) if who else 0
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
        case, done = self.case, [one for one in self.events if one["event"] in ("choice", "roll")]
        moves = [one["actions"].index(one["action"]) if "actions" in one else one["seen"] for one in done]
        head: list[tuple[str, Any]] = [("game", case.name)]
        head += [("parameter", f"{key}={show(value)}") for key, value in case.given.items()]
        head += [("horizon", case.horizon), ("sense", None if case.objective is None else case.sense)]
        head += [("seats", ",".join(self.names)), ("seed", self.seed)]
        head += [("rounds", self.rounds if self.rounds > 1 else None)]
        head += [("moves", json.dumps([one for one in moves if one != []], separators=(",", ":")))]
        lines = [f"{key}: {value}" for key, value in head if value is not None]
        first = "# Written by mdpdice play --record; the same call writes the same file again."
        return "\n".join([first, *lines, "", *self.told]) + "\n"
