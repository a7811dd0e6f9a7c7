"""Who sits at the table when a game is played by its rules: a person, or a policy."""

from __future__ import annotations

import bisect
import contextlib
import itertools
import math
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

import mdpdice
from mdpdice.cli.case import Case, check_solver
from mdpdice.cli.limits import MOST_STATES, advised_up_to, most_states
from mdpdice.cli.named_policies import Looking, file_policy, known_names, rule_of, search_of, two_players
from mdpdice.cli.progress_bars import ProgressBars
from mdpdice.cli.routes import large
from mdpdice.cli.text import short
from mdpdice.errors import MdpDiceError, NotConvergedError, StateLimitError

if TYPE_CHECKING:
    from mdpdice.modelling.game import Uncertain
    from mdpdice.policies.playthrough import Seat, Turn

Say: TypeAlias = Callable[[str], None]
MOST_SEATS = 4  # side by side at the server and in a page, whose records are played again
GLANCE = 20_000
"""Most states that are explored to see how many players a game has."""


def for_two(game: mdpdice.Game[Any, Any], *, sure: bool = True) -> bool:
    """Whether two play: random plays show it, or else, to be `sure`, the states of a game that is not large."""
    from mdpdice.modelling.counters import axes
    from mdpdice.policies.playthrough import Happening, play

    generator = random.Random(1)  # noqa: S311 - no secrets
    for _ in range(10):
        seen = [*itertools.islice(play(game, [lambda turn: generator.choice(turn.actions)], generator), 1000)]
        if any(event.player == 1 for event in seen):
            return True
        sure &= not any(event.kind is Happening.NATURE for event in seen)  # not a player
    try:
        if sure and axes(game):
            return two_players(mdpdice.compile_lattice(game, max_states=GLANCE))
        return sure and mdpdice.explore(game, max_states=GLANCE).two_player
    except StateLimitError:
        return False


class Left(BaseException):
    """Nobody is there to decide any more."""


def split_seats(text: str) -> list[str]:
    """Return the seats of ``human,threshold:250,200``: numbers belong to what is before them."""
    return [one.strip() for one in re.split(r",(?=\s*[^\d\s])", text)]


class Solved:
    """The optimal play: what every action is worth, and the best one."""

    def __init__(self, game: mdpdice.Game[Any, Any], solution: mdpdice.Solution) -> None:
        self.game = game
        self.solution = solution
        self._known: dict[Any, Any] = {}  # who plays rounds again asks about the same turns

    def values(self, turn: Turn) -> dict[Any, float]:
        """Value of every action."""
        return self._once(self._values, turn)  # type: ignore[no-any-return]

    def best(self, turn: Turn) -> Any:
        """Return the best action."""
        return self._once(self._best, turn)

    def _once(self, ask: Callable[[Turn], Any], turn: Turn) -> Any:
        key = ask.__name__, turn.state, turn.steps_left
        if key not in self._known:
            self._known[key] = ask(turn)
        return self._known[key]

    def _values(self, turn: Turn) -> dict[Any, float]:
        if self.game.canonical(turn.state) == turn.state:
            return self.solution.q(turn.state, steps_left=turn.steps_left)
        # The representative has actions of its own, so look where these ones lead.
        there = zip(turn.actions, turn.options, strict=True)
        left = None if turn.steps_left is None else turn.steps_left - 1
        return {action: self._worth(edge, left) for action, edge in there}

    def _best(self, turn: Turn) -> Any:
        if self.game.canonical(turn.state) == turn.state:
            return self.solution.action(turn.state, steps_left=turn.steps_left)
        values = self.values(turn)
        second = self.solution.kind(self.game.canonical(turn.state)) == mdpdice.Kind.MIN
        minimises = second != (self.solution.sense == "min")
        return min(values, key=lambda action: values[action] if minimises else -values[action])

    def nature(self, edge: Uncertain[Any], mover: int, left: int | None) -> int:
        """Place of the worst roll with so many decisions left."""
        return edge.pick([self._worth(roll, left, mover) for roll in edge.options], mover, self.solution.sense)

    def _worth(self, edge: Any, left: int | None, mover: int = 0) -> float:
        """Value of an edge; chance may stand in chance, as deep as the game has written it."""
        from mdpdice.modelling.game import Chance, End, Go, PassTo, Uncertain

        if isinstance(edge, End):
            return float(edge.payoff)
        reward = float(edge.reward)
        if isinstance(edge, Chance):
            total, parts = edge.dist.total, zip(edge.dist.weights, edge.edges, strict=True)
            return reward + math.fsum(weight / total * self._worth(to, left, mover) for weight, to in parts)
        if isinstance(edge, Uncertain):
            return self._worth(edge.options[self.nature(edge, mover, left)], left, mover)
        assert isinstance(edge, Go | PassTo)
        to = self.game.canonical(edge.state)
        ahead = self.solution.estimate(to, steps_left=left)
        if isinstance(edge, PassTo):
            ahead = float(self.game.total) - ahead
        if self.solution.lattice is None:  # games on a lattice are not discounted
            network = self.solution.network
            ahead *= network.factor if network.decides[network.node_of(to)] else 1.0
        return reward + ahead


class Table:
    """A game, who plays it (`seats`), and who can be asked for advice; all that is drawn comes from `generator`.

    There is one seat for all decisions, or one per player; `alone` refuses a second one in a game of one player,
    unless it is None.  `before` shows a person what the decision is about, and gives the name to ask by; `turn`
    is the last decision.
    """

    def __init__(
        self, case: Case, names: list[str], solver: str, seed: int, alone: str | None, say: Say, most: int = 2
    ) -> None:
        from mdpdice.policies.playthrough import plain

        if not 1 <= len(names) <= most:
            raise click.UsageError(f"--seats: a game has one or two players, not {len(names)}")
        if alone is not None and len(names) == 2 and not for_two(case.game):
            raise click.UsageError(alone)
        check_solver(solver)
        self.case = case
        # States of games with counters hold the counters, as those of the solution do.
        self.game = plain(case.game)
        self.solver = solver
        self.generator = random.Random(seed)  # noqa: S311 - no secrets
        self.names, self.say = names, say
        self.lines = sys.stdin
        self.turn: Turn | None = None
        self.before: Callable[[Turn], str] = lambda _: ""
        self._opinions: dict[str, Callable[[Turn], dict[Any, float]]] = {}
        # A policy from a file answers for the states of a network, which are representatives.
        self.symmetric = False
        self._solved: Solved | None = None
        self._advice: Callable[[Turn], dict[Any, float]] | None = None
        made = {name: self._noted(self._seat(name)) for name in names}
        self.seats: list[Seat] = [made[name] for name in names]

    def _noted(self, seat: Seat) -> Seat:
        def act(turn: Turn) -> Any:
            self.turn = turn
            try:
                return seat(turn)
            except BrokenPipeError as error:  # nobody reads what a person is asked
                raise Left from error

        return act

    @contextlib.contextmanager
    def playing(self) -> Iterator[None]:
        """Play: say what helps players who look ahead and do not come to an end."""
        try:
            yield
        except NotConvergedError as error:
            if not any(name.partition(":")[0] == "lookahead" for name in self.names):
                raise
            how = "look deeper, or let the game's estimate() prefer what brings the end nearer"
            raise click.ClickException(f"{error.message}. Looking ahead sees no reason to go on: {how}") from error

    # --- the seats ------------------------------------------------------------

    def _seat(self, name: str) -> Seat:
        if name == "human":
            return self._ask
        if name == "random":
            return lambda turn: turn.actions[self.generator.randrange(len(turn.actions))]
        if name == "optimal":
            self._opinions[name] = self.optimum().values
            return self.optimum().best
        if chosen := search_of(self.case, name):
            looking = Looking(self.case.game, chosen)
            self._opinions[name] = lambda turn: looking.values(turn.state)
            return self._ruled(looking.rule)
        if rule := rule_of(self.case, name):
            return self._ruled(rule)
        if Path(name).is_file():
            return self._of_file(name)
        raise click.UsageError(f"--seats: there is no seat {name!r}; write human, {known_names(self.case)}")

    def _ruled(self, rule: Callable[[Any], Any]) -> Seat:
        return lambda turn: self._drawn(rule(turn.state))

    def _of_file(self, name: str) -> Seat:
        with ProgressBars() as progress:
            layers = large(self.case._replace(progress=progress))
        if layers is not None:
            return Solved(self.game, mdpdice.Solution.load(name, layers.lattice, epsilon=self.case.epsilon)).best
        self.symmetric = True
        network, _ = self.case.under(mdpdice.explore(self.case.game, max_states=most_states()))
        policy = file_policy(self.case, network, Path(name))

        def act(turn: Turn) -> Any:
            chances = policy.probabilities(turn.state, steps_left=turn.steps_left)
            return self._drawn(mdpdice.Dist(chances) if len(chances) > 1 else next(iter(chances)))

        return act

    def _drawn(self, action: Any) -> Any:
        if not isinstance(action, mdpdice.Dist):
            return action
        at = self.generator.randrange(action.total)
        return action.outcomes[bisect.bisect(list(itertools.accumulate(action.weights)), at)]

    # --- advice ---------------------------------------------------------------

    def optimum(self, max_states: int = MOST_STATES) -> Solved:
        """Return the optimal play, found when it is first asked for."""
        if self._solved is None:
            self.case.refuse_infinite("every way to get there is as good as any other")
            with ProgressBars() as progress:
                solution = self.case.answer(self.solver, max_states=max_states, progress=progress)
            self._solved = Solved(self.game, solution)
        return self._solved

    def opinion(self, seat: int, action: Any) -> float | None:
        """Return what a player who computes values thinks of the action just taken; None where no value is known."""
        known = self._opinions.get(self.names[seat])
        return None if known is None or self.turn is None else known(self.turn)[action]

    def ranked(self, turn: Turn) -> list[tuple[Any, float, float]]:
        """Return the actions, best first, with their values and losses; nothing where they are unknown."""
        try:
            values = self._advisor()(turn)
        except (MdpDiceError, click.ClickException) as error:
            self.say(f"  this is not known: {error}")
            return []
        second = getattr(self.game.node(turn.state), "player", 0) == 1
        wanted = -1.0 if second != (self.case.sense == "min") else 1.0
        best = max(wanted * values[action] for action in turn.actions)
        rows = []
        for action in turn.actions:
            same = math.isclose(wanted * values[action], best, rel_tol=1e-9, abs_tol=1e-9)
            rows.append((action, values[action], 0.0 if same else best - wanted * values[action]))
        return sorted(rows, key=lambda row: row[2])

    # --- people ---------------------------------------------------------------

    def _ask(self, turn: Turn) -> Any:
        from mdpdice.policies.telling import paid

        name = self.before(turn)
        words = [self.case.look.words(turn.state, action, turn.seen) for action in turn.actions]
        for at, option in enumerate(turn.options):
            if reward := getattr(option, "reward", 0):
                words[at] = paid(words[at], reward)
        # Where actions are numbers themselves, numbers of the list would be confused with them.
        numbered = not any(type(action) is int for action in turn.actions)
        for at, word in enumerate(words, start=1):
            self.say(f"  {at}  {word}" if numbered else f"  {word}")
        self.say(f"{f'{name}, your' if name else 'Your'} choice (? shows the value of each, q quits):")
        while True:
            line = self.lines.readline()
            given = line.strip()
            if not line or given in ("q", "quit"):
                raise Left
            if given == "?":
                self._advise(turn)
            elif numbered and given.isdecimal() and 1 <= int(given) <= len(words):
                return turn.actions[int(given) - 1]
            else:
                with contextlib.suppress(MdpDiceError):
                    return self.case.look.read_action(turn.state, turn.actions, given, turn.seen)
                wanted = f"{'a number, ' if numbered else ''}words, their beginning, or what to take"
                self.say(f"{given!r} matches none of these, or several; write {wanted}:")

    def _advise(self, turn: Turn) -> None:
        rows = self.ranked(turn)
        words = [self.case.look.words(turn.state, action, turn.seen) for action, *_ in rows]
        for at, (word, (_, value, lost)) in enumerate(zip(words, rows, strict=True)):
            less = f"  -{lost:.6g}" if lost else ""
            self.say(f"{' ' if at else '*'} {word.ljust(max(map(len, words)))}  {short(value)}{less}")

    def _advisor(self) -> Callable[[Turn], dict[Any, float]]:
        """Values by the optimal play; by looking ahead in a game made for that, and too large to be solved at once."""
        if self._advice is None:
            try:
                self._advice = self.optimum(advised_up_to(self.case.game)).values
            except StateLimitError:
                self.say("  (the game is too large to be solved, so this is looked ahead)")
                looking = Looking(self.game, mdpdice.load_solver("lookahead")())
                self._advice = lambda turn: looking.values(turn.state)
        return self._advice
