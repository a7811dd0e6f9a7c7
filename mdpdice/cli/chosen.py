"""Policies as they are named on the command line: ``optimal``, ``random``, one of the game, or a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import click

from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution
from mdpdice.backend import Run, Solver, load_solver
from mdpdice.cli.answers import Case
from mdpdice.cli.progress import ProgressBars
from mdpdice.cli.shared import most_states
from mdpdice.cli.text import action_data, phrase
from mdpdice.errors import GameError, MdpDiceError
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.lattices.lattice import Lattice
from mdpdice.lattices.reachable_layers import Layers
from mdpdice.modelling.distribution import Dist
from mdpdice.modelling.game import Game
from mdpdice.networks.network import Network
from mdpdice.objectives.objective import Objective
from mdpdice.policies.lattice_simulation import LatticePolicy
from mdpdice.policies.playthrough import plain
from mdpdice.solving.lattice_route import MOST_EDGES, fits_lattices, large_layers
from mdpdice.solving.lattice_solution import LatticeSolution

__all__ = [
    "Looking",
    "compiled",
    "known_names",
    "large",
    "lattice_policy",
    "policy_on",
    "rule_of",
    "search_of",
    "spread_out",
]


def known_names(case: Case) -> str:
    """What may be written for a policy of a game, for messages."""
    file = f"a file of 'mdpdice policy {case.name} --save FILE'"
    return ", ".join(["optimal", "random", "lookahead:DEPTH", *case.game.policy_names()]) + f", or {file}"


def compiled(
    case: Case,
    objective: Objective | None,
    solver: str | Solver,
    progress: ProgressBars,
    lattice: Lattice | None = None,
) -> tuple[Lattice | None, Layers | None]:
    """The lattice of a game, if this can be solved on one, and its layers, if it is too large to be written out.

    `lattice` is that of the game, if it was compiled already.
    """
    if case.horizon is not None or not fits_lattices(case.game, objective, solver):
        return lattice, None
    lattice = (
        compile_lattice(case.game, progress=progress, max_states=most_states())
        if lattice is None
        else lattice
    )
    return lattice, large_layers(lattice, objective, Run(progress=progress), edges=MOST_EDGES)


def large(case: Case, progress: ProgressBars, lattice: Lattice | None = None) -> Layers | None:
    """The lattice of a game that is too large to be written out, where it can be used instead; else None.

    `lattice` is that of the game, if it was compiled already.
    """
    _, layers = compiled(case, None, "auto", progress, lattice)
    if layers is not None and case.objective is not None:
        msg = (
            f"{case.name} has {layers.states:,} states, too many for a policy under an objective; 'mdpdice solve' and "
            "'mdpdice advise' take --objective there"
        )
        raise click.UsageError(msg)
    return layers


def spread_out(case: Case, lattice: Lattice, names: Sequence[str | None]) -> Lattice:
    """The lattice of a game with rewards that differ kept apart, so that totals spread as they do in play.

    A policy in a file belongs to the lattice as it was solved, and is left there.
    """
    if not lattice.averaged or any(name is not None and Path(name).is_file() for name in names):
        return lattice
    return compile_lattice(case.game, merge=False)


def rule_of(case: Case, name: str) -> Callable[[Any], Any] | None:
    """The rule of a name that the game knows.

    Raises
    ------
    click.UsageError
        What stands behind the name is wrong.
    """
    try:
        return case.game.named_policy(name)
    except GameError as error:
        raise click.UsageError(error.message) from error


def search_of(case: Case, name: str) -> Solver | None:
    """The back-end of ``lookahead:DEPTH``, which searches from every state that it is asked about; else None.

    Raises
    ------
    click.UsageError
        The depth is wrong, or there is a horizon.
    """
    key, _, depth = name.partition(":")
    if key != "lookahead":
        return None
    if case.horizon is not None:
        raise click.UsageError("lookahead knows no --horizon; ask the optimal player")
    if name != key and not (depth.isdecimal() and int(depth)):
        raise click.UsageError(f"{name}: write lookahead:DEPTH with a positive number of decisions")
    # What a back-end takes is its own; this one's parameter is known.
    chosen = cast("Any", load_solver(key))
    return chosen(depth=int(depth)) if depth else chosen()  # type: ignore[no-any-return]


class Looking:
    """Some decisions looked ahead from every state that is asked about, with one table for all.

    Parameters
    ----------
    game : Game
        The game.
    solver : Solver
        What `search_of` gives.
    """

    def __init__(self, game: Game[Any, Any], solver: Solver) -> None:
        self.game = plain(game)
        self.solver = cast("Any", solver)
        self._waiting: list[Any] = []
        self._rows: Iterator[dict[Any, float]] | None = None
        self._known: dict[Any, Any] = {}

    def values(self, state: Any) -> dict[Any, float]:
        """Estimate of every action."""
        rows: Iterator[dict[Any, float]] = (
            self.solver.options(self.game, iter(self._waiting.pop, _NOTHING))
            if self._rows is None
            else self._rows
        )
        self._rows = None
        self._waiting.append(state)
        found = next(rows)
        # Kept only if nothing was raised, which would have ended it.
        self._rows = rows
        return found

    def rule(self, state: Any) -> Any:
        """The best action, or a `Dist` of all that look equally good.

        Where no difference is seen the first of them would do as well, but two players who always prefer it may
        hand the turn to each other for ever.
        """
        if state not in self._known:
            values = self.values(state)
            node = cast("Any", self.game.node(state))
            turn = -1.0 if node.player == 1 else 1.0
            best = max(turn * value for value in values.values())
            room = _EQUAL * max(1.0, abs(best))
            equal = [action for action, value in values.items() if turn * value >= best - room]
            self._known[state] = equal[0] if len(equal) == 1 else Dist(dict.fromkeys(equal, 1))
        return self._known[state]


_NOTHING = object()
_EQUAL = 1e-9
"""Estimates that differ by less than this, relative to ``max(1, |value|)``, differ by rounding."""


def _acting(case: Case, name: str) -> Callable[[Any], Any] | None:
    """The rule of a name, of the game or of looking ahead."""
    chosen = search_of(case, name)
    return rule_of(case, name) if chosen is None else Looking(case.game, chosen).rule


def policy_on(case: Case, name: str, network: Network, optimum: Callable[[], Solution]) -> Policy:
    """The policy of a name.

    Parameters
    ----------
    case : Case
        The game.
    name : str
        As on the command line.
    network : Network
        Of the game, with its horizon.
    optimum : callable
        Solves the game; called for ``optimal`` only.

    Raises
    ------
    click.UsageError
        There is no such policy.
    """
    if name == "optimal":
        return Policy.from_solution(optimum()).on(network)
    if name == "random":
        return Policy.uniform(network)
    rule = _acting(case, name)
    if rule is not None:
        return Policy.of(network, rule)
    path = Path(name)
    if not path.is_file():
        raise click.UsageError(f"{case.name} has no policy {name!r}; write {known_names(case)}")
    return _listed(case, path, network) if path.suffix == ".csv" else Policy.load(path, network)


def lattice_policy(
    case: Case, name: str, lattice: Lattice, optimum: Callable[[], LatticeSolution]
) -> LatticePolicy:
    """The policy of a name, for a game that is too large to be written out.

    Raises
    ------
    click.UsageError
        There is no such policy.
    """
    if name == "optimal":
        return LatticePolicy.from_solution(optimum())
    if name == "random":
        return LatticePolicy.uniform(lattice)
    rule = _acting(case, name)
    if rule is not None:
        return LatticePolicy.of(lattice, rule)
    if Path(name).is_file():
        return LatticePolicy.from_solution(LatticeSolution.load(name, lattice, epsilon=case.epsilon))
    raise click.UsageError(f"{case.name} has no policy {name!r}; write {known_names(case)}")


def _listed(case: Case, path: Path, network: Network) -> Policy:
    """A policy from the table ``decisions`` of ``mdpdice policy``."""
    chosen: dict[Hashable, str] = {}
    try:
        # Spreadsheets begin their files with a mark.
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{path} is not UTF-8: {error.reason}, byte {error.start}") from error
    with io.StringIO(text, newline="") as file:
        reader = csv.DictReader(file)
        if not {"state", "action"} <= set(reader.fieldnames or ()):
            msg = f"{path} has no columns 'state' and 'action'; write it with mdpdice policy --table decisions --csv"
            raise click.UsageError(msg)
        for number, row in enumerate(reader, start=2):
            if row["state"] is None or row["action"] is None:
                raise click.UsageError(f"{path}, line {number}: it has too few entries")
            try:
                state = case.game.read_state(row["state"])
            except MdpDiceError as error:
                raise click.UsageError(f"{path}, line {number}: {error.message}") from error
            if chosen.setdefault(state, row["action"]) != row["action"]:
                raise click.UsageError(
                    f"{path}, line {number}: another action of {row['state']}, {row['action']}, after {chosen[state]}"
                )

    def rule(state: Hashable) -> Any:
        node = network.node_of(state)
        actions = {phrase(action_data(network.action_of(edge))): edge for edge in network.edges(node)}
        if chosen.get(state) not in actions:
            told = repr(chosen[state]) if state in chosen else "nothing"
            msg = f"{path} says {told} here; the actions are {', '.join(actions)}"
            raise GameError(msg, state=state)
        return network.action_of(actions[chosen[state]])

    return Policy.of(network, rule)
