"""What ``mdpdice serve`` hands to its server: the games on offer, rooms in which one is played and solved, matches."""

from __future__ import annotations

import contextlib
import functools
import random
import re
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs
import click

import mdpdice
from mdpdice.cli.case import Case, open_case
from mdpdice.cli.catalogue import find_game, summary
from mdpdice.cli.game_parameters import parameters_of, plain, show
from mdpdice.cli.limits import MOST_STATES
from mdpdice.cli.named_policies import known_names, rule_and_ratings
from mdpdice.cli.play import Match
from mdpdice.cli.progress_bars import ProgressBars
from mdpdice.cli.seats import MOST_SEATS, Solved, Table, for_two
from mdpdice.cli.text import action_data, json_number
from mdpdice.errors import MdpDiceError
from mdpdice.modelling.asking import ask
from mdpdice.policies import playthrough
from mdpdice.spelling import title
from mdpdice.web.worker import Work, Working

if TYPE_CHECKING:
    from mdpdice.looks import Rolled
    from mdpdice.modelling.game import Chance
    from mdpdice.policies.playthrough import Event, Turn

DEEPEST = 5
"""Most decisions that a seat looks ahead: one more takes ten times as long."""
AT_ONCE = 2
"""Games that are solved at the same time."""
MOST_ROOMS = 64
TOLD_UP_TO = 50_000
"""States of a network up to which tables of the strategy are made: of twice as many that takes seconds."""
MOST_MOVES = 20_000
"""Most nodes in a round."""
LONG_NUMBER = re.compile(r"\d{8}")


class Hall:
    """The games on offer, by their names on the command line; solving one of them has a time limit."""

    def __init__(self, names: Sequence[str], seconds: float) -> None:
        self.names, self.seconds = names, seconds
        self.works: dict[str, Work] = {}
        self._told: list[dict[str, Any]] = []
        self.slots = threading.Semaphore(AT_ONCE)
        self.folder = tempfile.TemporaryDirectory(prefix="mdpdice-")
        self.lock, self._listing = threading.Lock(), threading.Lock()
        self._room = functools.lru_cache(MOST_ROOMS)(lambda name, pairs: Room(self, _case(name, pairs)))

    def close(self) -> None:
        """Stop all that is being solved, and leave nothing behind."""
        for work in self.works.values():
            work.cancel()
        self.folder.cleanup()

    def games(self) -> list[dict[str, Any]]:
        """Return what is said of each game."""
        with self._listing:
            self._told = self._told or [self._about(name) for name in self.names]
            return self._told

    def _about(self, name: str) -> dict[str, Any]:
        about: dict[str, Any] = {"name": name, "title": title(name), "players": None, "parameters": []}
        about["seats"] = ["optimal", "random", "lookahead"]
        try:
            found = find_game(name)
            about["description"], known = summary(found), parameters_of(found)
            for one in known:
                value = None if one.required else plain(one.default)
                told = {"name": one.key, "help": one.meaning, "allowed": one.reader.allowed, "value": value}
                about["parameters"] += [] if one.reader.unreadable else [told]
            if not any(one.required for one in known):
                room = self.room(name, ())
                with room.lock:
                    about["players"] = 2 if for_two(room.case.game, sure=False) else 1
                named = (policy.form for policy in room.case.look.policies())
                about["seats"] += [form for form in named if ":" not in form]
        except (MdpDiceError, click.ClickException) as error:  # it must not hide the others
            about["description"] = f"broken: {error}"
        return about

    def room(self, name: str, pairs: tuple[str, ...]) -> Room:
        """Return the one room for a game with these parameters."""
        with self.lock:
            return self._room(name, pairs)

    def open(self, name: str, parameters: Mapping[str, Any]) -> Room:
        """Return the room for a game with these parameters (JSON data); a `click.UsageError` if they are wrong."""
        if name not in self.names:
            raise click.UsageError(f"no game is called {name!r} here; there are {', '.join(self.names)}")
        pairs = tuple(f"{key}={show(value)}" for key, value in sorted(parameters.items()))
        if any(map(LONG_NUMBER.search, pairs)):
            raise click.UsageError("numbers in parameters have at most seven digits")
        return self.room(name, pairs)

    def match(self, room: Room, given: Mapping[str, Any]) -> Sitting:
        """Sit down in a room."""
        seed = random.SystemRandom().randrange(10**6) if given["seed"] is None else given["seed"]
        return Sitting(room, list(given["seats"]), seed, given["rounds"], mine=given["dice"] == "mine")


def _case(name: str, pairs: Sequence[str]) -> Case:
    return open_case(name, pairs, as_json=True, progress=ProgressBars())


class Room:
    """A game with its parameters: its answer once it has been asked for, and a lock shared by its players."""

    def __init__(self, hall: Hall, case: Case) -> None:
        self.hall, self.case, self.lock = hall, case, threading.RLock()
        self.found: mdpdice.Solution | None = None
        self.proof: dict[str, Any] = {}
        self._works: dict[int, Work] = {}
        self._tables: list[mdpdice.Table] | None = None

    @functools.cached_property
    def alone(self) -> bool:
        """Whether it is a game of one player."""
        return not for_two(self.case.game)

    def solution(self, most: int = MOST_STATES) -> mdpdice.Solution:
        """Return the answer; raise `Working` until it is there, or the reason why it was not found."""
        if self.found is not None:
            return self.found
        work, hall, case = self._works.get(most), self.hall, self.case
        if work is not None and work.error is not None and not work.cancelled:
            raise work.error
        if work is None or work.over.is_set():
            file = str(Path(hall.folder.name) / f"{id(self)}-{most}.npz")
            task: dict[str, Any] = {"name": case.name, "pairs": case.pairs, "file": file}
            task |= {"max_states": most, "seconds": hall.seconds}
            finish = functools.partial(self._load, file)
            work = self._works[most] = Work("mdpdice.cli.solve_worker", task, hall.slots, finish)
            with hall.lock:
                hall.works = {key: one for key, one in hall.works.items() if not one.over.is_set()} | {work.key: work}
        raise Working(work)

    def _load(self, file: str, proof: dict[str, Any]) -> None:
        # A game of its own: this one may be asked while the other one is explored.  The process has proved the answer.
        found = mdpdice.Solution.load(file, _case(self.case.name, self.case.pairs).game, prove=False)
        self.proof, self.found = proof, found
        Path(file).unlink()

    def followed(self, turn: Turn) -> mdpdice.Network | None:
        """Return the network on which best play of one player is followed from a turn; None where that is not known."""
        if self.found is None or self.found.lattice is not None or not self.alone:
            return None
        network, own = self.found.network, self.case.game.canonical(turn.state) == turn.state
        return network if own and not network.averaged and network.discount == 1 else None

    def goals(self, turn: Turn) -> dict[str, dict[Any, float]]:
        """Return the chances of the game's goals after every action, if best play is known and pays at the end."""
        if (network := self.followed(turn)) is None or network.reward.any():
            return {}
        with contextlib.suppress(MdpDiceError):
            return {name: chances.q(turn.state) for name, chances in self._met.items()}
        return {}

    @functools.cached_property
    def _met(self) -> dict[str, mdpdice.Solution]:
        found: dict[str, mdpdice.Solution] = {}
        for goal in self.case.look.goals():
            ends = mdpdice.PayoffAtLeast(goal.least) if goal.most is None else mdpdice.PayoffAtMost(goal.most)
            if goal.least is None or goal.most is None:
                network = ends.apply(self.solution().network)
                found[goal.name] = mdpdice.evaluate(network, self.solution().policy.on(network))
        return found

    def tables(self) -> list[mdpdice.Table]:
        """Return the strategy as the look of the game shows it, for a network that is not large."""
        found, known = self.found, self.proof.get("status", "estimate")
        if found is None or found.lattice is not None or found.n_states > TOLD_UP_TO:
            return []
        if self._tables is None:
            self._tables = []
            with contextlib.suppress(MdpDiceError):  # It was proved by the process that found it, or was not.
                self._tables = self.case.look.tables(attrs.evolve(found, status=mdpdice.Status(known)))
        return self._tables

    def decide(self, text: str, policy: str) -> dict[str, Any]:
        """Return what a policy does in the state of a text, and what it thinks of the actions there."""
        case, rules = self.case, playthrough.plain(self.case.game)
        state = case.position(text)
        if (turn := playthrough.turn_at(rules, state)) is None:
            raise click.UsageError(f"{text!r}: no decision here: chance moves, or the play is over")
        if policy == "optimal":
            solved = Solved(rules, self.solution())
            action = solved.best(turn)
            rated: Mapping[Any, Any] = solved.values(turn)
        else:
            _check_seat(case, policy)
            if (found := rule_and_ratings(case, policy)) is None:
                msg = f"{policy} has no rule to ask; write optimal, lookahead, or a policy of the game"
                raise click.UsageError(msg)
            # What comes to no state of a game may be too much for a policy.
            action = ask(found[0], state, what="the policy", state=state)
            rated = ask(found[1], state, what="the policy", state=state) or {}
        action = action.outcomes[0] if isinstance(action, mdpdice.Dist) else action  # others are as good
        ratings = {case.look.words(state, one): json_number(value) for one, value in rated.items()}
        words = case.look.words(state, action)
        told = {"action": words, "data": action_data(action)}
        return {**told, "value": ratings.get(words), "ratings": ratings or None}


def _check_seat(case: Case, name: str) -> None:
    """Reject an unknown name of a seat; files are not looked for."""
    head, _, depth = name.partition(":")
    plain_ones, known = ("human", "optimal", "random"), (form.form for form in case.look.policies())
    if name not in plain_ones and head not in ("lookahead", *(form.partition(":")[0] for form in known)):
        names = known_names(case).partition(", or a file")[0]
        raise click.UsageError(f"there is no seat {name!r}; write human, {names}")
    if head == "lookahead" and depth.isdecimal() and int(depth) > DEEPEST:
        raise click.UsageError(f"{name}: at most {DEEPEST} decisions are looked ahead here")


class _Awaited(NamedTuple):
    """What a round waits for: a decision, or dice."""

    turn: Turn | None = None
    node: Chance[Any] | None = None


class _Stop(BaseException):
    """Nobody has said more."""


class _Seating(Table):
    """A table whose people are not here: `human` knows what they said."""

    def __init__(self, room: Room, names: list[str], seed: int, human: playthrough.Seat) -> None:
        self.room, self.human, self.remark = room, human, ""
        super().__init__(room.case, names, "auto", seed, None, self._remark, MOST_SEATS)

    def _remark(self, line: str) -> None:
        self.remark = line.strip()

    def _seat(self, name: str) -> playthrough.Seat:
        _check_seat(self.case, name)
        return super()._seat(name)

    def _ruled(self, rule: Callable[[Any], Any]) -> playthrough.Seat:
        return super()._ruled(functools.lru_cache(100_000)(rule))  # rounds are played again and again

    def _ask(self, turn: Turn) -> Any:
        self.before(turn)
        return self.human(turn)

    def optimum(self, max_states: int = MOST_STATES) -> Solved:
        """Return the optimal play."""
        self._solved = self._solved or Solved(self.game, self.room.solution(max_states))
        return self._solved


class Sitting(Match):
    """A match that stops wherever a person has to decide, and goes on by playing the round again.

    `waiting` is what the round waits for, `said` what people said in it (actions, and outcomes with their dice), `seen`
    the dice that lie there, `total` what the round has brought so far, and `at` the number of rounds before it.
    """

    def __init__(self, room: Room, names: list[str], seed: int, rounds: int, *, mine: bool) -> None:
        self.room, self.mine, self.at, self.said, self.waiting = room, mine, 0, list[Any](), _Awaited()
        self.seen: Rolled | None = None
        self.total = Fraction(0)

        def seated(seats: list[str], _: object) -> Table:
            return _Seating(room, seats, seed, lambda turn: self._next(_Awaited(turn)))

        super().__init__(room.case, names, seed, rounds, seated, alone=room.alone)
        self.options |= {"max_moves": MOST_MOVES} | ({"throw": self._thrown} if mine else {})
        self._begin()

    @property
    def over(self) -> bool:
        """Whether the round is over."""
        return self.waiting == _Awaited()

    @property
    def standing(self) -> tuple[Any, Mapping[str, int]]:
        """The core state and the counters."""
        assert self.teller is not None
        return self.teller.core, self.teller.counters

    def say(self, line: str) -> None:
        """Nobody reads what is said on the way."""

    def again(self) -> None:
        """Begin the next round."""
        self.at += 1
        self._begin()

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
        lists: tuple[list[Any], ...] = self.told, self.events, self.results, self.decided
        for kept, mark in zip(lists, self.marks, strict=True):
            del kept[mark:]
        self.table.generator.setstate(self.state)
        self._script, self.waiting = iter(self.said), _Awaited()
        try:
            self.play(self.at)
        except _Stop:
            return
        if self.at + 1 == self.rounds and (self.rounds > 1 or (self.alone and len(self.who) > 1)):
            for line in self.summary():
                self.tell(line)

    def _next(self, awaited: _Awaited) -> Any:
        for one in self._script:
            return one
        self.waiting = awaited
        raise _Stop

    def _thrown(self, node: Chance[Any], generator: object) -> tuple[Any, Rolled]:
        from mdpdice.looks import Rolled

        if len(node.dist) > 1:
            return self._next(_Awaited(node=node))  # type: ignore[no-any-return]
        return (*node.dist, Rolled(()))

    def _noted(self, event: Event, seat: int, at: int) -> str:
        note = super()._noted(event, seat, at)
        assert self.teller is not None
        words = self.teller.words(event)
        if event.kind is playthrough.Happening.END:
            words = words.partition(";")[0]  # behind a semicolon stands what lies there, which is seen
        self.events[-1] |= {"words": words, "lost": event.lost}
        self.total = event.total
        if event.kind is playthrough.Happening.STATE or event.seen is not None:
            self.seen = event.seen
        return note

    def ranked(self, turn: Turn) -> list[tuple[Any, float, float]]:
        """Return the actions, best first, with values and losses; a `click.UsageError` if they are unknown."""
        if not (rows := self.table.ranked(turn)):
            assert isinstance(self.table, _Seating)
            raise click.UsageError(self.table.remark)
        return rows
