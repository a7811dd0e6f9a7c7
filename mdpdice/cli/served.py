"""What ``mdpdice serve`` hands to its server: the games on offer, rooms in which one is played and solved, matches."""

from __future__ import annotations

import functools
import random
import re
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import mdpdice
from mdpdice.cli.case import Case, open_case
from mdpdice.cli.catalogue import find_game, summary
from mdpdice.cli.game_parameters import parameters_of, plain, show
from mdpdice.cli.limits import MOST_STATES
from mdpdice.cli.named_policies import known_names, rule_and_ratings
from mdpdice.cli.play import Match
from mdpdice.cli.progress_bars import ProgressBars
from mdpdice.cli.seats import Solved, Table, for_two
from mdpdice.cli.text import action_data, json_number
from mdpdice.errors import MdpDiceError
from mdpdice.policies import playthrough
from mdpdice.web.tables import title
from mdpdice.web.worker import Work, Working

if TYPE_CHECKING:
    from mdpdice.looks import Rolled
    from mdpdice.modelling.game import Chance
    from mdpdice.policies.playthrough import Event, Turn

__all__ = ["Hall", "Room", "Sitting", "Waiting"]

DEEPEST = 6
"""Most decisions that a seat looks ahead: one more takes ten times as long."""
AT_ONCE = 2
"""Games that are solved at the same time."""
MOST_ROOMS = 64
MOST_MOVES = 20_000
"""Most nodes in a round."""
LONG_NUMBER = re.compile(r"\d{8}")


class Hall:
    """The games on offer.

    Parameters
    ----------
    names : sequence of str
        As on the command line.
    seconds : float
        Time that solving one of them may take.
    """

    def __init__(self, names: Sequence[str], seconds: float) -> None:
        self.names, self.seconds = names, seconds
        self.works: dict[str, Work] = {}
        self.slots = threading.Semaphore(AT_ONCE)
        self.folder = tempfile.TemporaryDirectory(prefix="mdpdice-")
        self.lock = threading.RLock()
        self._room = functools.lru_cache(maxsize=MOST_ROOMS)(
            lambda name, pairs: Room(self, _case(name, pairs))
        )

    def close(self) -> None:
        """Stop all that is being solved, and leave nothing behind."""
        for work in self.works.values():
            work.cancel()
        self.folder.cleanup()

    def games(self) -> list[dict[str, Any]]:
        """What is said of each game."""
        with self.lock:
            return self._games

    @functools.cached_property
    def _games(self) -> list[dict[str, Any]]:
        return [self._about(name) for name in self.names]

    def _about(self, name: str) -> dict[str, Any]:
        about: dict[str, Any] = {"name": name, "title": title(name), "players": None, "parameters": []}
        about["seats"] = ["optimal", "random", "lookahead"]
        try:
            found = find_game(name)
            known = [one for one in parameters_of(found) if not one.reader.unreadable]
            about["description"] = summary(found)
            about["parameters"] = [
                {
                    "name": one.key,
                    "help": one.meaning,
                    "allowed": one.reader.allowed,
                    "value": None if one.required else plain(one.default),
                    "required": one.required,
                }
                for one in known
            ]
            if not any(one.required for one in known):
                case = self.room(name, ()).case
                about["players"] = 2 if for_two(case.game, sure=False) else 1
                about["seats"] += [policy.form for policy in case.look.policies()]
        except (MdpDiceError, click.ClickException) as error:  # it must not hide the others
            about["description"] = f"broken: {error}"
        return about

    def room(self, name: str, pairs: tuple[str, ...]) -> Room:
        """The one room for a game with these parameters."""
        with self.lock:
            return self._room(name, pairs)

    def open(self, name: str, parameters: Mapping[str, Any]) -> Room:
        """The room for a game with these parameters, which are JSON data.

        Raises
        ------
        click.UsageError
            There is no such game here, or a parameter is wrong.
        """
        if name not in self.names:
            raise click.UsageError(f"no game is called {name!r} here; there are {', '.join(self.names)}")
        pairs = tuple(f"{key}={show(value)}" for key, value in sorted(parameters.items()))
        if any(LONG_NUMBER.search(pair) for pair in pairs):
            raise click.UsageError("a parameter has a number of at most seven digits")
        return self.room(name, pairs)

    @staticmethod
    def match(room: Room, given: Mapping[str, Any]) -> Sitting:
        """Sit down in a room."""
        seed = random.SystemRandom().randrange(10**6) if given["seed"] is None else given["seed"]
        return Sitting(room, list(given["seats"]), seed, given["rounds"], mine=given["dice"] == "mine")

    def solve(self, room: Room, most: int, finish: Callable[[Any], None], file: str) -> Work:
        """Begin to solve the game of a room."""
        case = room.case
        task = {
            "name": case.name,
            "pairs": case.pairs,
            "max_states": most,
            "seconds": self.seconds,
            "file": file,
        }
        work = Work("mdpdice.cli.solve_worker", task, self.slots, finish)
        self.works = {key: one for key, one in self.works.items() if not one.over.is_set()} | {work.key: work}
        return work


def _case(name: str, pairs: Sequence[str]) -> Case:
    return open_case(name, pairs, None, 1e-6, None, None, as_json=True, progress=ProgressBars())


class Room:
    """A game with its parameters: its answer once somebody has asked for it, and a lock for all who play it."""

    def __init__(self, hall: Hall, case: Case) -> None:
        self.hall, self.case = hall, case
        self.lock = threading.RLock()
        self.found: mdpdice.Solution | None = None
        self.proof: dict[str, Any] = {}
        self._works: dict[int, Work] = {}

    @functools.cached_property
    def alone(self) -> bool:
        """Whether it is a game of one player."""
        return not for_two(self.case.game)

    def solution(self, most: int = MOST_STATES) -> mdpdice.Solution:
        """The answer.

        Raises
        ------
        Working
            It is being looked for.
        MdpDiceError
            It was not found.
        """
        if self.found is not None:
            return self.found
        work = self._works.get(most)
        if work is not None and work.over.is_set() and work.error is not None and not work.cancelled:
            raise work.error
        if work is None or work.over.is_set():
            file = str(Path(self.hall.folder.name) / f"{id(self)}-{most}.npz")
            work = self._works[most] = self.hall.solve(self, most, functools.partial(self._load, file), file)
        raise Working(work)

    def _load(self, file: str, proof: dict[str, Any]) -> None:
        # A game of its own: this one may be asked while the other one is explored.  The process has proved the answer.
        game = _case(self.case.name, self.case.pairs).game
        found = mdpdice.Solution.load(file, game, prove=False)
        self.proof, self.found = proof, found
        Path(file).unlink()

    def decide(self, text: str, policy: str) -> dict[str, Any]:
        """What a policy does in the state of a text, and what it thinks of the actions there."""
        case, rules = self.case, playthrough.plain(self.case.game)
        state = case.position(text)
        turn = playthrough.turn_at(rules, state)
        if turn is None:
            raise click.UsageError(f"{text!r}: nobody decides here: chance moves, or the play is over")
        if policy == "optimal":
            solved = Solved(rules, self.solution())
            rated: Mapping[Any, Any] | None = solved.values(turn)
            action = solved.best(turn)
        else:
            _check_seat(case, policy)
            found = rule_and_ratings(case, policy)
            if found is None:
                raise click.UsageError(
                    f"{policy} has no rule to ask; write optimal, lookahead, or a policy of the game"
                )
            action, rated = found[0](state), found[1](state)
        if isinstance(action, mdpdice.Dist):  # several are as good
            action = action.outcomes[0]
        words = {one: case.look.words(state, one) for one in turn.actions}
        ratings = None if rated is None else {words[one]: json_number(rated[one]) for one in rated}
        return {
            "action": words[action],
            "data": action_data(action),
            "value": None if ratings is None else ratings.get(words[action]),
            "ratings": ratings,
        }


def _check_seat(case: Case, name: str) -> None:
    """Refuse a seat that is none by name: no file is looked for."""
    head, _, depth = name.partition(":")
    known = {"human", "optimal", "random", "lookahead"}
    known |= {policy.form.partition(":")[0] for policy in case.look.policies()}
    if head not in known or (head in ("human", "optimal", "random") and name != head):
        names = known_names(case).partition(", or a file")[0]
        raise click.UsageError(f"there is no seat {name!r}; write human, {names}")
    if head == "lookahead" and depth.isdecimal() and int(depth) > DEEPEST:
        raise click.UsageError(f"{name}: at most {DEEPEST} decisions are looked ahead here")


class Waiting(BaseException):
    """Somebody has to decide at a turn, or to throw the dice of a node."""

    def __init__(self, turn: Turn | None = None, node: Chance[Any] | None = None) -> None:
        super().__init__()
        self.turn, self.node = turn, node


class _Seating(Table):
    """A table whose people are not here: `human` knows what they said."""

    most = 4

    def __init__(self, room: Room, names: list[str], seed: int) -> None:
        self.room, self.human, self.remark = room, _nobody, ""
        super().__init__(room.case, names, "auto", seed, None, self._remark)

    def _remark(self, line: str) -> None:
        self.remark = line.strip()

    def _seat(self, name: str) -> playthrough.Seat:
        _check_seat(self.case, name)
        return super()._seat(name)

    def _ruled(self, rule: Callable[[Any], Any]) -> playthrough.Seat:
        # Rounds are played again and again.
        return super()._ruled(functools.lru_cache(100_000)(rule))

    def _ask(self, turn: Turn) -> Any:
        self.before(turn)
        return self.human(turn)

    def optimum(self, max_states: int = MOST_STATES) -> Solved:
        """The optimal play."""
        if self._solved is None:
            self._solved = _Remembered(self.game, self.room.solution(max_states))
        return self._solved


class _Remembered(Solved):
    """The optimal play, which is asked about the same decisions again and again."""

    def __init__(self, game: mdpdice.Game[Any, Any], solution: mdpdice.Solution) -> None:
        super().__init__(game, solution)
        self._known: dict[Any, tuple[dict[Any, float], Any]] = {}

    def _both(self, turn: Turn) -> tuple[dict[Any, float], Any]:
        if turn.state not in self._known:
            self._known[turn.state] = super().values(turn), super().best(turn)
        return self._known[turn.state]

    def values(self, turn: Turn) -> dict[Any, float]:
        return self._both(turn)[0]

    def best(self, turn: Turn) -> Any:
        return self._both(turn)[1]


def _nobody(turn: Turn) -> Any:
    raise Waiting(turn)


class Sitting(Match):
    """A match that stops wherever somebody has to say something, and goes on by playing the round again.

    Parameters
    ----------
    room : Room
    names : list of str
        The seats.
    seed, rounds : int
    mine : bool
        Whether people throw the dice.

    Attributes
    ----------
    waiting : Waiting or None
        What the round waits for; None: it is over.
    said : list
        What was said in this round: an action, or an outcome with its dice.
    seen : Rolled or None
        The dice that lie there.
    at : int
        Rounds before this one.
    """

    def __init__(self, room: Room, names: list[str], seed: int, rounds: int, *, mine: bool) -> None:
        if len(names) > 2 and not room.alone:
            raise click.UsageError(f"{room.case.name} has two players, not {len(names)}")
        seating: list[_Seating] = []

        def seated(seats: list[str], _: object) -> Table:
            seating.append(_Seating(room, seats, seed))
            return seating[0]

        super().__init__(room.case, names, seed, rounds, seated, alone=room.alone)
        self.room, self.mine, self.at, self.seating = room, mine, 0, seating[0]
        self.said: list[Any] = []
        self.waiting: Waiting | None = None
        self.seen: Rolled | None = None
        self.seating.human = lambda turn: self._next(Waiting(turn))
        self.options["max_moves"] = MOST_MOVES
        if mine:
            self.options["throw"] = self._thrown
        self._begin()

    def say(self, line: str) -> None:
        """Nobody reads what is said on the way."""

    def _begin(self) -> None:
        self.marks = [len(one) for one in (self.told, self.events, self.results, self.decided)]
        self.state = self.table.generator.getstate()
        self.go([])

    def go(self, said: list[Any]) -> None:
        """Play the round with what people said; it is as it was where that fails."""
        before, self.said = self.said, said
        try:
            self._replay()
        except BaseException:
            self.said = before
            if said != before:
                self._replay()
            raise

    def _replay(self) -> None:
        for kept, mark in zip((self.told, self.events, self.results, self.decided), self.marks, strict=True):
            del kept[mark:]
        self.table.generator.setstate(self.state)
        self._script, self.waiting = iter(self.said), None
        try:
            self.play(self.at)
        except Waiting as waiting:
            self.waiting = waiting
        else:
            if self.at + 1 == self.rounds and (self.rounds > 1 or (self.alone and len(self.who) == 2)):
                for line in self.summary():
                    self.tell(line)

    def again(self) -> None:
        """Begin the next round."""
        self.at += 1
        self._begin()

    def _next(self, waiting: Waiting) -> Any:
        for one in self._script:
            return one
        raise waiting

    def _thrown(self, node: Chance[Any], generator: object) -> tuple[Any, Rolled]:
        from mdpdice.looks import Rolled

        if len(node.dist) == 1:
            return node.dist.outcomes[0], Rolled(())
        found: tuple[Any, Rolled] = self._next(Waiting(node=node))
        return found

    def _noted(self, event: Event, seat: int, at: int) -> str:
        note = super()._noted(event, seat, at)
        assert self.teller is not None
        self.events[-1] |= {"words": self.teller.words(event), "lost": event.lost}
        if event.kind is playthrough.Happening.STATE or event.seen is not None:
            self.seen = event.seen
        return note

    def ranked(self, turn: Turn) -> list[tuple[Any, float, float]]:
        """The actions, best first, with their values and losses.

        Raises
        ------
        click.UsageError
            They are not known.
        """
        rows = self.table.ranked(turn)
        if not rows:
            raise click.UsageError(self.seating.remark)
        return rows
