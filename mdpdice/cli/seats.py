"""Who sits at the table when ``mdpdice play`` plays: a person, or a policy."""

from __future__ import annotations

import contextlib
import math
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import click

from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution
from mdpdice.backend import Solver, load_solver
from mdpdice.cli.answers import Case, check_solver
from mdpdice.cli.chosen import Looking, known_names, large, policy_on, rule_of, search_of
from mdpdice.cli.progress import ProgressBars
from mdpdice.cli.text import action_data, figure, phrase
from mdpdice.errors import MdpDiceError, NotConvergedError, StateLimitError
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.exploration.to_network import explore
from mdpdice.modelling.counters import axes
from mdpdice.modelling.distribution import Dist
from mdpdice.modelling.game import Chance, End, Game, Go, PassTo
from mdpdice.networks.network import Kind
from mdpdice.objectives.objective import Horizon
from mdpdice.policies.playthrough import Seat, Turn, plain
from mdpdice.solving.lattice_solution import LatticeSolution
from mdpdice.solving.pipeline import solve

__all__ = ["Advisor", "Left", "Table", "going_round", "one_player", "split_seats"]

QUICK = 100_000
"""Most states of a game that is solved to tell the value of a choice, if it can be looked ahead in instead."""


GLANCE = 20_000
"""Most states that are explored to see how many players a game has."""


def one_player(game: Game[Any, Any]) -> bool | None:
    """Whether a game has one player; None where it is too large to see that at a glance."""
    try:
        if axes(game):
            lattice = compile_lattice(game, max_states=GLANCE)
            return not ((lattice.sign < 0).any() or (lattice.kind == Kind.MIN).any())
        return not explore(game, max_states=GLANCE).two_player
    except StateLimitError:
        return None


@contextlib.contextmanager
def going_round(names: Sequence[str]) -> Iterator[None]:
    """Say what helps players who look ahead and do not come to an end."""
    try:
        yield
    except NotConvergedError as error:
        if any(name.partition(":")[0] == "lookahead" for name in names):
            msg = (
                f"{error.message}. A player who looks ahead sees no reason to go on: look deeper, or let the "
                "game's estimate() prefer what brings the end nearer"
            )
            raise click.ClickException(msg) from error
        raise


class Left(Exception):  # noqa: N818 - nothing is wrong: a person left the table
    """Nobody is there to decide any more."""


class Advisor(Protocol):
    """Something that knows what the actions of a turn are worth."""

    def values(self, turn: Turn) -> dict[Any, float]:
        """Value of every action, to player 0 where the players have different aims, else to the mover."""
        ...


def split_seats(text: str) -> list[str]:
    """The seats of ``human,threshold:250,200``: numbers belong to what is before them."""
    return [one.strip() for one in re.split(r",(?=\s*[^\d\s])", text)]


class _Solved:
    """The optimal play."""

    def __init__(self, game: Game[Any, Any], solution: Solution | LatticeSolution) -> None:
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
        representative, solution = self.game.canonical(turn.state), self.solution
        if isinstance(solution, LatticeSolution):
            minimises = solution.kind(representative) == Kind.MIN
        else:
            minimises = solution.network.kind[solution.network.node_of(representative)] == Kind.MIN
        return min(values, key=lambda action: values[action] if minimises else -values[action])

    def _worth(self, edge: Any, turn: Turn) -> float:
        """Value of an edge; chance may stand in chance, as deep as the game has written it."""
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
        if isinstance(self.solution, LatticeSolution):  # which is not discounted
            return reward + ahead
        network = self.solution.network
        step = bool(network.decides[network.node_of(to)])
        return reward + (network.factor if step else 1.0) * ahead


class _Looking:
    """Some decisions looked ahead from every turn."""

    def __init__(self, game: Game[Any, Any], solver: Solver) -> None:
        self.looking = Looking(game, solver)

    def values(self, turn: Turn) -> dict[Any, float]:
        return self.looking.values(turn.state)


class Table:
    """A game, who plays it, and who can be asked for advice.

    Parameters
    ----------
    case : Case
        The game.
    names : list of str
        One seat for all decisions, or one per player.
    solver : str
        Back-end for the optimal play.
    generator : random.Random
        For seats that choose at random.
    say : callable
        Shows a line to people.

    Attributes
    ----------
    seats : list of Seat
        Who decides.
    second_moved : bool
        Whether the second seat was asked.
    """

    def __init__(
        self,
        case: Case,
        names: list[str],
        solver: str,
        generator: random.Random,
        say: Callable[[str], None],
    ) -> None:
        if not 1 <= len(names) <= 2:
            raise click.UsageError(f"--seats: a game has one or two players, not {len(names)}")
        check_solver(solver)
        self.case = case
        # States of games with counters hold the counters, as those of the solution do.
        self.game = plain(case.game)
        self.solver = solver
        self.generator = generator
        self.say = say
        self.lines = sys.stdin
        # A policy from a file answers for the states of a network, which are representatives.
        self.symmetric = False
        self._solved: _Solved | None = None
        self._advice: Advisor | None = None
        made = {name: self._seat(name) for name in names}
        self.seats: list[Seat] = [made[name] for name in names]
        self.second_moved = False
        if len(names) == 2:
            self.seats[1] = self._noted(self.seats[1])

    def _noted(self, seat: Seat) -> Seat:
        def act(turn: Turn) -> Any:
            self.second_moved = True
            return seat(turn)

        return act

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
            layers = large(self.case, progress)
        if layers is not None:
            saved = LatticeSolution.load(name, layers.lattice, epsilon=self.case.epsilon)
            return _Solved(self.game, saved).best
        self.symmetric = True
        network = explore(self.case.game)
        if self.case.horizon is not None:
            network = Horizon(self.case.horizon).apply(network)
        policy: Policy = policy_on(self.case, name, network, self.optimum_solution)

        def act(turn: Turn) -> Any:
            chances = policy.probabilities(turn.state, steps_left=turn.steps_left)
            return self._drawn(Dist(chances) if len(chances) > 1 else next(iter(chances)))

        return act

    def _drawn(self, action: Any) -> Any:
        if not isinstance(action, Dist):
            return action
        at = self.generator.randrange(action.total)
        for one, weight in zip(action.outcomes, action.weights, strict=True):
            at -= weight
            if at < 0:
                return one
        raise AssertionError

    # --- advice ---------------------------------------------------------------

    def optimum_solution(self) -> Solution:
        """The solution of the game, found when it is first asked for."""
        solution = self.optimum().solution
        if isinstance(solution, LatticeSolution):
            msg = f"this game has {solution.layers.states:,} states, too many for a policy in a file"
            raise click.UsageError(msg)
        return solution

    def optimum(self, max_states: int = 10_000_000) -> _Solved:
        """The optimal play, found when it is first asked for."""
        if self._solved is None:
            if reason := self.case.infinite():
                raise click.ClickException(f"{reason}: every way to get there is as good as any other")
            case = self.case
            with ProgressBars() as progress:
                solution = solve(
                    case.game,
                    solver=self.solver,
                    horizon=case.horizon,
                    epsilon=case.epsilon,
                    progress=progress,
                    max_states=max_states,
                )
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
            values = self._advisor().values(turn)
        except (MdpDiceError, click.ClickException) as error:
            self.say(f"  this is not known: {error}")
            return
        width = max(map(len, words))
        for action, word in zip(turn.actions, words, strict=True):
            self.say(f"  {word.ljust(width)}  {figure(float(f'{values[action]:.10g}'))}")

    def _advisor(self) -> Advisor:
        """The optimal play; in a game made to be looked ahead in, and too large to be solved at once, that."""
        if self._advice is None:
            looks = type(self.case.game).estimate is not Game.estimate
            try:
                self._advice = self.optimum(max_states=QUICK) if looks else self.optimum()
            except StateLimitError:
                self.say("  (the game is too large to be solved, so this is looked ahead)")
                self._advice = _Looking(self.game, load_solver("lookahead")())
        return self._advice


def _meant(given: str, words: list[str], numbered: bool) -> int | None:
    """Which action a text means."""
    if numbered and given.isdecimal():
        return int(given) - 1 if 1 <= int(given) <= len(words) else None
    squeezed = ["".join(word.split()).casefold() for word in words]
    wanted = "".join(given.split()).casefold()
    return squeezed.index(wanted) if squeezed.count(wanted) == 1 else None
