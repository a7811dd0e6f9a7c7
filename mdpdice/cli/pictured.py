"""What ``mdpdice plot`` draws."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import click
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mdpdice import plots
from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution
from mdpdice.cli.answers import Case, solver_of
from mdpdice.cli.chosen import compiled, policy_on
from mdpdice.cli.objectives import known_targets
from mdpdice.cli.progress import ProgressBars
from mdpdice.cli.shared import limits, most_states
from mdpdice.cli.text import action_data, phrase
from mdpdice.errors import GameError
from mdpdice.exploration.to_network import explore
from mdpdice.modelling.text import fields_of
from mdpdice.networks.network import Network
from mdpdice.objectives.objective import Horizon, Objective
from mdpdice.plots.canvas import PALETTE
from mdpdice.plots.coordinates import coordinate_names
from mdpdice.plots.drawings import MAX_NODES
from mdpdice.policies.distribution import outcomes
from mdpdice.solving.pipeline import solve

__all__ = ["Wishes", "drawn"]


class Wishes(NamedTuple):
    """Options of the command; see its help."""

    x: str | None
    y: str | None
    by: str | None
    over: str | None
    action: str | None
    largest: bool
    conditions: tuple[str, ...]
    chosen: str
    against: str | None
    actions: bool
    at_least: bool
    steps_left: int | None
    title: str


def drawn(case: Case, kind: str, solver: str, wishes: Wishes) -> Axes | Figure:
    """The picture that is asked for."""
    if reason := case.infinite():
        raise click.ClickException(f"{reason}: there is no network that could be drawn")
    if wishes.steps_left is not None and case.horizon is None:
        raise click.UsageError("--steps-left goes with --horizon")
    with ProgressBars() as progress:
        desk = _Desk(case, solver, wishes, progress, whole=kind in _WHOLE)
        return _KINDS[kind](desk)


class _Desk:
    """What the kinds of pictures have in common: the network, its solution, and options that are checked."""

    def __init__(
        self, case: Case, solver: str, wishes: Wishes, progress: ProgressBars, *, whole: bool
    ) -> None:
        self.case, self.solver, self.wishes, self.progress = case, solver, wishes, progress
        # A solver that takes the game itself has no network to draw.
        solver_of(solver)
        self.whole = whole
        self._solution: Solution | None = None
        self._explored: Network | None = None

    @cached_property
    def network(self) -> Network:
        """The network of the game; of one whose grid is too large for that, the states that are drawn."""
        case, solver, lattice = self.case, solver_of(self.solver), None
        if not self.whole:
            lattice, large = compiled(case, case.objective, solver, self.progress)
            if lattice is not None and large is not None:
                solved = solve(
                    lattice,
                    case.objective,
                    solver=solver,
                    epsilon=case.epsilon,
                    progress=self.progress,
                    **limits(),
                )
                try:
                    self._solution = solved.excerpt(self.where())
                except GameError as error:
                    raise click.UsageError(f"--where: {error.message}") from error
                return self._solution.network
        return self.applied(
            explore(case.game, progress=self.progress, lattice=lattice, max_states=most_states())
        )

    def applied(self, network: Network) -> Network:
        """The network of the game with the horizon and the objective."""
        case = self.case
        if case.horizon is not None:
            network = Horizon(case.horizon).apply(network)
        self._explored = network
        if case.objective is None:
            return network
        with known_targets(case.objective, case.objective_text):
            return case.objective.apply(network)

    def question(self) -> tuple[Network, Objective | None]:
        """What `mdpdice.solve` is asked."""
        network = self.network  # explores
        return (network if self._explored is None else self._explored), self.case.objective

    def solution(self) -> Solution:
        """The solved game, once."""
        question = self.question()  # a large grid comes with its solution
        if self._solution is None:
            self._solution = solve(
                *question,
                solver=solver_of(self.solver),
                epsilon=self.case.epsilon,
                progress=self.progress,
                **limits(),
            )
        return self._solution

    def policy(self, name: str) -> Policy:
        return policy_on(self.case, name, self.network, self.solution)

    # --- options ------------------------------------------------------------

    def where(self) -> dict[str, Any]:
        conditions = {}
        for text in self.wishes.conditions:
            name, equals, value = (part.strip() for part in text.partition("="))
            if not equals:
                raise click.UsageError(f"--where {text}: write NAME=VALUE")
            conditions[name] = _value(value)
        return conditions

    def names(self, *, at_most: int) -> list[str]:
        """The dimensions x and y: those that are given, or those that there are."""
        known = coordinate_names(self.network)
        for option in ("x", "y", "by", "over"):
            name = getattr(self.wishes, option)
            if name is not None and name not in known:
                raise click.UsageError(f"--{option} {name}: {self._which(known)}")
        for name in self.where():
            if name not in known and not self._has(name):
                raise click.UsageError(f"--where {name}=...: {self._which(known)}")
        given = [name for name in (self.wishes.x, self.wishes.y) if name is not None]
        if given:
            return given
        # What is fixed is no dimension.
        free = [name for name in known if name not in self.where()]
        if 0 < len(free) <= at_most:
            return free
        wanted = "--x and --y" if at_most == 2 else "--x"
        raise click.UsageError(f"say with {wanted} what to draw it over; {self._which(known)}")

    def _which(self, known: list[str]) -> str:
        if not known:
            return f"states of {self.case.name} hold no numbers; draw it from Python, where functions are coordinates"
        return f"numbers in states of {self.case.name} are: {', '.join(known)}"

    def _has(self, name: str) -> bool:
        return any(name in fields_of(state) for state in self.network.states[:5000])

    def group(self) -> Callable[[Any], Hashable]:
        """Texts of actions, or of their classes where there are more actions than colours."""
        texts = dict.fromkeys(self.network.actions) if self.network.n_edges < 1_000_000 else {}
        classes = {type(action) for action in texts}
        if len(texts) > len(PALETTE) and str not in classes and 1 < len(classes) <= len(PALETTE):
            return lambda action: type(action).__name__
        return lambda action: phrase(action_data(action))


def _value(text: str) -> Any:
    """A number, a truth value or a text."""
    if text.casefold() in ("true", "false"):
        return text.casefold() == "true"
    try:
        number = Fraction(text)
    except ValueError:
        return text
    return int(number) if number.denominator == 1 else number


# --- kinds ---------------------------------------------------------------------------


def _policy(desk: _Desk) -> Axes:
    names = desk.names(at_most=2)
    return plots.policy_map(
        desk.policy(desk.wishes.chosen), *names, where=desk.where(), group=desk.group(),
        steps_left=desk.wishes.steps_left, title=desk.wishes.title,
    )  # fmt: skip


def _difference(desk: _Desk) -> Axes:
    if desk.wishes.against is None:
        raise click.UsageError("--kind difference needs --against POLICY")
    names = desk.names(at_most=2)
    pair = desk.wishes.chosen, desk.wishes.against
    first, second = (desk.policy(name) for name in pair)
    return plots.policy_difference(
        first, second, *names, names=pair, where=desk.where(), group=desk.group(),
        steps_left=desk.wishes.steps_left, title=desk.wishes.title,
    )  # fmt: skip


def _thresholds(desk: _Desk) -> Axes:
    wishes = desk.wishes
    if wishes.over is None and wishes.action is None:
        plain = desk.case.horizon is None and desk.case.objective is None
        found = desk.case.game.thresholds() if plain else []
        if not found:
            raise click.UsageError(
                f"{desk.case.name} knows no thresholds of its own; say --x, --y, --over and --action"
            )
        return plots.threshold_bars(found, title=desk.wishes.title)
    if wishes.x is None or wishes.y is None or wishes.over is None or wishes.action is None:
        raise click.UsageError("thresholds on a map need --x, --y, --over and --action")
    names = desk.names(at_most=2)
    return plots.threshold_map(
        desk.policy(wishes.chosen), names[0], names[1], wishes.over, wishes.action, largest=wishes.largest,
        where=desk.where(), group=desk.group(), steps_left=wishes.steps_left, title=desk.wishes.title,
    )  # fmt: skip


def _values(desk: _Desk) -> Axes:
    wishes = desk.wishes
    if wishes.y is not None:
        if wishes.x is None:
            raise click.UsageError("--y goes with --x")
        x, y = desk.names(at_most=2)
        return plots.value_map(
            desk.solution(), x, y, where=desk.where(), steps_left=wishes.steps_left, title=desk.wishes.title
        )
    if wishes.by is not None and wishes.actions:
        raise click.UsageError("choose one of --by and --actions")
    (x,) = desk.names(at_most=1)
    return plots.value_curve(
        desk.solution(), x, by=wishes.by, actions=wishes.actions, where=desk.where(),
        steps_left=wishes.steps_left, title=desk.wishes.title,
    )  # fmt: skip


def _stages(desk: _Desk) -> Axes:
    if desk.case.horizon is None:
        raise click.UsageError("--kind stages needs --horizon N")
    return plots.stage_curve(desk.solution(), title=desk.wishes.title)


def _outcomes(desk: _Desk) -> Axes:
    if desk.network.averaged:
        # Rewards that differ stay apart, so that the distribution of totals is right.
        desk.network = desk.applied(
            explore(desk.case.game, merge=False, progress=desk.progress, max_states=most_states())
        )
    names = [desk.wishes.chosen] + ([] if desk.wishes.against is None else [desk.wishes.against])
    found = {name: outcomes(desk.network, desk.policy(name)) for name in names}
    return plots.outcome_chart(
        found[names[0]] if len(found) == 1 else found, at_least=desk.wishes.at_least, title=desk.wishes.title
    )


def _convergence(desk: _Desk) -> Figure:
    name = "value-iteration" if desk.solver == "auto" else desk.solver
    found = plots.capped_solutions(*desk.question(), solver=name)
    figure = Figure(figsize=(6.4, 6.4), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    plots.bound_chart(found, title=desk.wishes.title, ax=above)
    plots.bound_chart(found, width=True, ax=below)
    above.set_xlabel("")
    return figure


def _network(desk: _Desk) -> Axes:
    if desk.network.n_nodes > MAX_NODES:
        # Before it is solved.
        return plots.draw_network(desk.network)
    policy: Solution | Policy = (
        desk.solution() if desk.wishes.chosen == "optimal" else desk.policy(desk.wishes.chosen)
    )
    return plots.draw_network(
        desk.network, policy, steps_left=desk.wishes.steps_left, title=desk.wishes.title
    )


_WHOLE = ("stages", "outcomes", "convergence", "network")
"""Kinds that are about all plays, and not about some of the states."""

_KINDS: dict[str, Callable[[_Desk], Axes | Figure]] = {
    "policy": _policy,
    "difference": _difference,
    "thresholds": _thresholds,
    "values": _values,
    "stages": _stages,
    "outcomes": _outcomes,
    "convergence": _convergence,
    "network": _network,
}
