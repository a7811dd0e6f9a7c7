"""Who sits at the table when a game is played by its rules: a person, or a policy."""

from __future__ import annotations

import contextlib
import math
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import mdpdice
from mdpdice.cli.case import Case, check_solver
from mdpdice.cli.limits import most_states
from mdpdice.cli.named_policies import Looking, file_policy, known_names, rule_of, search_of, two_players
from mdpdice.cli.progress_bars import ProgressBars
from mdpdice.cli.routes import large
from mdpdice.cli.text import action_data, figure, phrase
from mdpdice.errors import MdpDiceError, NotConvergedError, StateLimitError

if TYPE_CHECKING:
    from mdpdice.policies.playthrough import Seat, Turn

__all__ = ["Left", "Table", "split_seats"]

SOLVE_UP_TO = 100_000
"""States up to which a game made for looking ahead is solved for advice; in larger ones the advice looks ahead."""


GLANCE = 20_000
"""Most states that are explored to see how many players a game has."""


def _one_player(game: mdpdice.Game[Any, Any]) -> bool | None:
    """Whether a game has one player; None where it is too large to see that at a glance."""
    from mdpdice.modelling.counters import axes

    try:
        if axes(game):
            return not two_players(mdpdice.compile_lattice(game, max_states=GLANCE))
        return not mdpdice.explore(game, max_states=GLANCE).two_player
    except StateLimitError:
        return None


class Left(BaseException):
    """Nobody is there to decide any more."""


def split_seats(text: str) -> list[str]:
    """The seats of ``human,threshold:250,200``: numbers belong to what is before them."""
    return [one.strip() for one in re.split(r",(?=\s*[^\d\s])", text)]


class _Solved:
    """The optimal play."""

    def __init__(self, game: mdpdice.Game[Any, Any], solution: mdpdice.Solution) -> None:
        self.game = game
        self.solution = solution

    def values(self, turn: Turn) -> dict[Any, float]:
        if self.game.canonical(turn.state) == turn.state:
            return self.solution.q(turn.state, steps_left=turn.steps_left)
        # The representative has actions of its own, so look where these ones lead.
        return {
            action: self._worth(edge, turn) for action, edge in zip(turn.actions, turn.options, strict=True)
        }

    def best(self, turn: Turn) -> Any:
        if self.game.canonical(turn.state) == turn.state:
            return self.solution.action(turn.state, steps_left=turn.steps_left)
        values = self.values(turn)
        second = self.solution.kind(self.game.canonical(turn.state)) == mdpdice.Kind.MIN
        minimises = second != (self.solution.sense == "min")
        return min(values, key=lambda action: values[action] if minimises else -values[action])

    def _worth(self, edge: Any, turn: Turn) -> float:
        """Value of an edge; chance may stand in chance, as deep as the game has written it."""
        from mdpdice.modelling.game import Chance, End, Go, PassTo

        if isinstance(edge, End):
            return float(edge.payoff)
        reward = float(edge.reward)
        if isinstance(edge, Chance):
            parts = zip(edge.dist.weights, edge.edges, strict=True)
            return reward + math.fsum(
                weight / edge.dist.total * self._worth(to, turn) for weight, to in parts
            )
        assert isinstance(edge, Go | PassTo)
        to = self.game.canonical(edge.state)
        left = None if turn.steps_left is None else turn.steps_left - 1
        ahead = self.solution.estimate(to, steps_left=left)
        if isinstance(edge, PassTo):
            ahead = float(self.game.total) - ahead
        if self.solution.lattice is not None:  # which is not discounted
            return reward + ahead
        network = self.solution.network
        step = bool(network.decides[network.node_of(to)])
        return reward + (network.factor if step else 1.0) * ahead


class Table:
    """A game, who plays it (`seats`), and who can be asked for advice; all that is drawn comes from `generator`.

    There is one seat for all decisions, or one per player; `alone` is said of a second one in a game of one
    player.
    """

    def __init__(
        self,
        case: Case,
        names: list[str],
        solver: str,
        seed: int,
        alone: str,
        say: Callable[[str], None],
    ) -> None:
        from mdpdice.policies.playthrough import plain

        if not 1 <= len(names) <= 2:
            raise click.UsageError(f"--seats: a game has one or two players, not {len(names)}")
        self._single = _one_player(case.game) if len(names) == 2 else False
        if self._single:
            raise click.UsageError(alone)
        check_solver(solver)
        self.case = case
        # States of games with counters hold the counters, as those of the solution do.
        self.game = plain(case.game)
        self.solver = solver
        self.generator = random.Random(seed)  # noqa: S311 - no secrets
        self.names, self.alone, self.say = names, alone, say
        self.lines = sys.stdin
        # A policy from a file answers for the states of a network, which are representatives.
        self.symmetric = False
        self._solved: _Solved | None = None
        self._advice: Callable[[Turn], dict[Any, float]] | None = None
        made = {name: self._seat(name) for name in names}
        self.seats: list[Seat] = [made[name] for name in names]
        self._second_moved = False
        if len(names) == 2:
            self.seats[1] = self._noted(self.seats[1])

    def _noted(self, seat: Seat) -> Seat:
        def act(turn: Turn) -> Any:
            self._second_moved = True
            return seat(turn)

        return act

    @contextlib.contextmanager
    def playing(self) -> Iterator[None]:
        """Play: say what helps players who look ahead and do not come to an end; refuse a seat that nobody needs."""
        try:
            yield
        except NotConvergedError as error:
            if any(name.partition(":")[0] == "lookahead" for name in self.names):
                msg = (
                    f"{error.message}. A player who looks ahead sees no reason to go on: look deeper, or let the "
                    "game's estimate() prefer what brings the end nearer"
                )
                raise click.ClickException(msg) from error
            raise
        if self._single is None and not self._second_moved:
            raise click.UsageError(self.alone)

    # --- the seats ------------------------------------------------------------

    def _seat(self, name: str) -> Seat:
        if name == "human":
            return self._ask
        if name == "random":
            return lambda turn: turn.actions[self.generator.randrange(len(turn.actions))]
        if name == "optimal":
            return self.optimum().best
        if chosen := search_of(self.case, name):
            return self._ruled(Looking(self.case.game, chosen).rule)
        if rule := rule_of(self.case, name):
            return self._ruled(rule)
        if Path(name).is_file():
            return self._of_file(name)
        msg = f"--seats: nobody is called {name!r}; write human, {known_names(self.case)}"
        raise click.UsageError(msg)

    def _ruled(self, rule: Callable[[Any], Any]) -> Seat:
        return lambda turn: self._drawn(rule(turn.state))

    def _of_file(self, name: str) -> Seat:
        with ProgressBars() as progress:
            layers = large(self.case._replace(progress=progress))
        if layers is not None:
            saved = mdpdice.Solution.load(name, layers.lattice, epsilon=self.case.epsilon)
            return _Solved(self.game, saved).best
        self.symmetric = True
        network = mdpdice.explore(self.case.game, max_states=most_states())
        if self.case.horizon is not None:
            network = mdpdice.Horizon(self.case.horizon).apply(network)
        policy = file_policy(self.case, Path(name), network)

        def act(turn: Turn) -> Any:
            chances = policy.probabilities(turn.state, steps_left=turn.steps_left)
            return self._drawn(mdpdice.Dist(chances) if len(chances) > 1 else next(iter(chances)))

        return act

    def _drawn(self, action: Any) -> Any:
        if not isinstance(action, mdpdice.Dist):
            return action
        at = self.generator.randrange(action.total)
        for one, weight in zip(action.outcomes, action.weights, strict=True):
            at -= weight
            if at < 0:
                return one
        raise AssertionError

    # --- advice ---------------------------------------------------------------

    def optimum(self, max_states: int = 10_000_000) -> _Solved:
        """The optimal play, found when it is first asked for."""
        if self._solved is None:
            self.case.refuse_infinite("every way to get there is as good as any other")
            with ProgressBars() as progress:
                solution = self.case.solve(self.solver, max_states=max_states, progress=progress)
            self._solved = _Solved(self.game, solution)
        return self._solved

    # --- people ---------------------------------------------------------------

    def _ask(self, turn: Turn) -> Any:
        words = [phrase(action_data(action)) for action in turn.actions]
        # Where actions are numbers themselves, numbers of the list would be confused with them.
        numbered = not any(re.fullmatch(r"[+-]?\d+", word) for word in words)
        for at, word in enumerate(words, start=1):
            self.say(f"  {at}  {word}" if numbered else f"  {word}")
        self.say("Your choice (? tells what each is worth, q leaves):")
        while True:
            line = self.lines.readline()
            if not line or line.strip() in ("q", "quit"):
                raise Left
            given = line.strip()
            if given == "?":
                self._advise(turn, words)
                continue
            found = _meant(given, words, numbered)
            if found is not None:
                return turn.actions[found]
            self.say(
                f"{given!r} is none of these; write {'a number or ' if numbered else ''}one of the actions:"
            )

    def _advise(self, turn: Turn, words: list[str]) -> None:
        try:
            values = self._advisor()(turn)
        except (MdpDiceError, click.ClickException) as error:
            self.say(f"  this is not known: {error}")
            return
        width = max(map(len, words))
        for action, word in zip(turn.actions, words, strict=True):
            self.say(f"  {word.ljust(width)}  {figure(float(f'{values[action]:.10g}'))}")

    def _advisor(self) -> Callable[[Turn], dict[Any, float]]:
        """Values by the optimal play; by looking ahead in a game made for that, and too large to be solved at once."""
        if self._advice is None:
            looks = type(self.case.game).estimate is not mdpdice.Game.estimate
            try:
                self._advice = (self.optimum(max_states=SOLVE_UP_TO) if looks else self.optimum()).values
            except StateLimitError:
                self.say("  (the game is too large to be solved, so this is looked ahead)")
                looking = Looking(self.game, mdpdice.load_solver("lookahead")())
                self._advice = lambda turn: looking.values(turn.state)
        return self._advice


def _meant(given: str, words: list[str], numbered: bool) -> int | None:
    """Which action a text means."""
    if numbered and given.isdecimal():
        return int(given) - 1 if 1 <= int(given) <= len(words) else None
    squeezed = ["".join(word.split()).casefold() for word in words]
    wanted = "".join(given.split()).casefold()
    return squeezed.index(wanted) if squeezed.count(wanted) == 1 else None
