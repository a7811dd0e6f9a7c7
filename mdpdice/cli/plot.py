"""``mdpdice plot``: pictures of a game, its solution or its policies."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

import mdpdice
from mdpdice.cli.case import Case, solver_of
from mdpdice.cli.game_command import Answer, game_command
from mdpdice.cli.limits import limits, most_states
from mdpdice.cli.named_policies import file_policy, policy_on
from mdpdice.cli.options import objective_options, solver_option, to_option
from mdpdice.cli.routes import compiled
from mdpdice.cli.text import named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    import mdpdice.plots  # which `mdpdice` imports when it is first used


def where_option(about: str) -> Callable[[Any], Any]:
    """Return the option ``--where``, which `read_where` reads."""
    return click.option("--where", "conditions", metavar="NAME=VALUE", multiple=True, help=about)


def read_where(texts: Sequence[str]) -> dict[str, Any]:
    """Conditions on states, by the names of counters and fields."""
    conditions = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise click.UsageError(f"--where {text}: write NAME=VALUE")
        conditions[name] = _value(value)
    return conditions


class _Desk:
    """What the kinds of pictures have in common: the network, its solution, and options that are checked."""

    def __init__(self, case: Case, solver: str, wishes: SimpleNamespace, kind: str) -> None:
        self.case, self.solver, self.wishes = case, solver, wishes
        # A solver that takes the game itself has no network to draw.
        solver_of(solver)
        self.whole, self.from_kept = kind in _WHOLE, kind != "convergence"
        # A policy in a file may be one of the whole network.
        self.flat = self.whole or any(name and Path(name).is_file() for name in (wishes.chosen, wishes.against))
        self._solution: mdpdice.Solution | None = None
        self._explored: mdpdice.Network | None = None

    @cached_property
    def network(self) -> mdpdice.Network:
        """The network of the game; of one whose grid is too large for that, the states that are drawn."""
        case, solver, lattice = self.case, self.solver, None
        solved = case.kept(solver, network=self.flat) if self.from_kept else None
        if self.whole and solved is not None and solved.lattice is not None:
            solved = None
        if solved is None and not self.whole and solver == "auto":
            lattice, large = compiled(case, case.objective, flat=self.flat)
            if lattice is not None and large is not None:
                solved = case.answer(solver, lambda: case.solve(solver, lattice))
        if solved is not None:
            with named("--where: "):
                self._solution = solved if solved.lattice is None else solved.excerpt(self.where())
            return self._solution.network
        return self.applied(self.explored(lattice=lattice))

    def explored(self, **more: Any) -> mdpdice.Network:
        """Return the network of the game alone."""
        return mdpdice.explore(self.case.game, progress=self.case.progress, max_states=most_states(), **more)

    def applied(self, network: mdpdice.Network) -> mdpdice.Network:
        """Return the network of the game with the horizon and the objective."""
        self._explored, network = self.case.under(network)
        return network

    def question(self) -> tuple[mdpdice.Network, mdpdice.Objective | None]:
        """Return what `mdpdice.solve` is asked."""
        network = self.network  # explores
        return (network if self._explored is None else self._explored), self.case.objective

    def solution(self) -> mdpdice.Solution:
        """Return the solved game, once."""
        question = self.question()  # a large grid comes with its solution
        if self._solution is None:
            case = self.case
            asked: dict[str, Any] = {"solver": solver_of(self.solver), "epsilon": case.epsilon, **limits()}
            solved = partial(mdpdice.solve, *question, progress=case.progress, **asked)
            # What is about all plays may stand on a network that is explored in another way.
            self._solution = solved() if self.whole else case.answer(self.solver, solved, network=True)
        return self._solution

    def policy(self, name: str) -> mdpdice.Policy:
        network, saved = self.network, partial(file_policy, self.case, self.network)
        return policy_on(self.case, name, network, lambda: self.solution().policy.on(network), saved)

    # --- options ------------------------------------------------------------

    def where(self) -> dict[str, Any]:
        return read_where(self.wishes.conditions)

    def shown(self, *, grouped: bool = False) -> dict[str, Any]:
        """Return what most pictures take: states to draw, decisions left, title, groups of actions."""
        taken = {"where": self.where(), "steps_left": self.wishes.steps_left, "title": self.wishes.title}
        return taken | {"group": self.group()} if grouped else taken

    def names(self, *, at_most: int) -> list[str]:
        """Return the dimensions x and y: the given ones, or all."""
        from mdpdice.modelling.text import fields_of
        from mdpdice.plots.coordinates import coordinate_names

        known = coordinate_names(self.network)
        for option in ("x", "y", "by", "over"):
            if (name := getattr(self.wishes, option)) is not None and name not in known:
                raise click.UsageError(f"--{option} {name}: {self._which(known)}")
        for name in self.where():
            if name not in known and not any(name in fields_of(state) for state in self.network.states[:5000]):
                raise click.UsageError(f"--where {name}=...: {self._which(known)}")
        if given := [name for name in (self.wishes.x, self.wishes.y) if name is not None]:
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

    def group(self) -> Callable[[Any], Hashable]:
        """Texts of actions, or of their classes where there are more actions than colours."""
        from mdpdice.looks.text import phrase
        from mdpdice.plots.canvas import PALETTE

        texts = dict.fromkeys(self.network.actions) if self.network.n_edges < 1_000_000 else {}
        classes = {type(action) for action in texts}
        if len(texts) > len(PALETTE) and str not in classes and 1 < len(classes) <= len(PALETTE):
            return lambda action: type(action).__name__
        return phrase


def _value(text: str) -> Any:
    """Return a number, a truth value or a text."""
    if text.casefold() in ("true", "false"):
        return text.casefold() == "true"
    try:
        number = Fraction(text)
    except ValueError:
        return text
    return int(number) if number.denominator == 1 else number


# --- kinds ---------------------------------------------------------------------------


def _policy(desk: _Desk) -> Axes:
    """Draw what a policy does, over one or two dimensions of the state."""
    names = desk.names(at_most=2)  # says what is missing before anything is solved
    return mdpdice.plots.policy_map(desk.policy(desk.wishes.chosen), *names, **desk.shown(grouped=True))


def _difference(desk: _Desk) -> Axes:
    """Where --policy and --against differ."""
    if desk.wishes.against is None:
        raise click.UsageError("--kind difference needs --against POLICY")
    names, pair = desk.names(at_most=2), (desk.wishes.chosen, desk.wishes.against)
    first, second = map(desk.policy, pair)
    return mdpdice.plots.policy_difference(first, second, *names, names=pair, **desk.shown(grouped=True))


def _thresholds(desk: _Desk) -> Axes:
    """Draw the game's thresholds; or, with --x --y --over --action, from where on an action is taken."""
    wishes = desk.wishes
    if wishes.over is None and wishes.action is None:
        plain = desk.case.horizon is None and desk.case.objective is None
        if not (found := desk.case.look.thresholds() if plain else []):
            raise click.UsageError(f"{desk.case.name} knows no thresholds of its own; say --x --y --over --action")
        return mdpdice.plots.threshold_bars(found, title=desk.wishes.title)
    if wishes.x is None or wishes.y is None or wishes.over is None or wishes.action is None:
        raise click.UsageError("thresholds on a map need --x, --y, --over and --action")
    (x, y), asked = desk.names(at_most=2), (wishes.over, wishes.action)
    policy, shown = desk.policy(wishes.chosen), desk.shown(grouped=True)
    return mdpdice.plots.threshold_map(policy, x, y, *asked, largest=wishes.largest, **shown)


def _values(desk: _Desk) -> Axes:
    """Values over one dimension, of all actions with --actions; or over two with --y."""
    wishes = desk.wishes
    if wishes.y is not None:
        if wishes.x is None:
            raise click.UsageError("--y goes with --x")
        x, y = desk.names(at_most=2)
        return mdpdice.plots.value_map(desk.solution(), x, y, **desk.shown())
    if wishes.by is not None and wishes.actions:
        raise click.UsageError("choose one of --by and --actions")
    (x,) = desk.names(at_most=1)
    return mdpdice.plots.value_curve(desk.solution(), x, by=wishes.by, actions=wishes.actions, **desk.shown())


def _stages(desk: _Desk) -> Axes:
    """Draw the value over the decisions left, with --horizon."""
    if desk.case.horizon is None:
        raise click.UsageError("--kind stages needs --horizon N")
    return mdpdice.plots.stage_curve(desk.solution(), title=desk.wishes.title)


def _outcomes(desk: _Desk) -> Axes:
    """How the total of a play is distributed; also of the policy --against beside it."""
    if desk.network.averaged:
        # Rewards that differ stay apart, so that the distribution of totals is right.
        desk.network = desk.applied(desk.explored(merge=False))
    names = [desk.wishes.chosen] + ([] if desk.wishes.against is None else [desk.wishes.against])
    found = {name: mdpdice.outcomes(desk.network, desk.policy(name)) for name in names}
    shown = found[names[0]] if len(found) == 1 else found
    return mdpdice.plots.outcome_chart(shown, at_least=desk.wishes.at_least, title=desk.wishes.title)


def _convergence(desk: _Desk) -> Figure:
    """How the bounds of value iteration or policy iteration close in."""
    from matplotlib.figure import Figure

    name = "value-iteration" if desk.solver == "auto" else desk.solver
    found = mdpdice.plots.capped_solutions(*desk.question(), solver=name)
    figure = Figure(figsize=(6.4, 6.4), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    mdpdice.plots.bound_chart(found, title=desk.wishes.title, ax=above)
    mdpdice.plots.bound_chart(found, width=True, ax=below)
    above.set_xlabel("")
    return figure


def _network(desk: _Desk) -> Axes:
    """Draw the network of a small game."""
    from mdpdice.plots.drawings import MAX_NODES

    if desk.network.n_nodes > MAX_NODES:
        # Before it is solved.
        return mdpdice.plots.draw_network(desk.network)
    wishes = desk.wishes
    policy = desk.solution() if wishes.chosen == "optimal" else desk.policy(wishes.chosen)
    return mdpdice.plots.draw_network(desk.network, policy, steps_left=wishes.steps_left, title=wishes.title)


_DRAWN: dict[str, Callable[[_Desk], Axes | Figure]] = {
    draw.__name__[1:]: draw
    for draw in (_policy, _difference, _thresholds, _values, _stages, _outcomes, _convergence, _network)
}
KINDS = {kind: f"{text[0].lower()}{text[1:-1]}" for kind, draw in _DRAWN.items() if (text := draw.__doc__)}
_WHOLE = ("stages", "outcomes", "convergence", "network")
"""Kinds that are about all plays, and not about some of the states."""


@game_command(epilog="Kinds: " + "; ".join(f"{kind} = {about}" for kind, about in KINDS.items()))
@objective_options
@click.option("--kind", type=click.Choice(list(KINDS)), required=True, help="What to draw; see below.")
@to_option("The file to write, ending in .png, .svg or .pdf.", required=True)
@click.option("--x", metavar="NAME", help="A counter or field of the state, to the right.")
@click.option("--y", metavar="NAME", help="Another one, upwards.")
@click.option("--by", metavar="NAME", help="values: one curve for every value of this dimension.")
@click.option("--over", metavar="NAME", help="thresholds: the dimension of the threshold.")
@click.option("--action", metavar="ACTION", help="thresholds: the action, as 'mdpdice advise' prints it.")
@click.option("--largest", is_flag=True, help="thresholds: show the largest value with the action, not the smallest.")
@where_option("Draw only states where a counter or field has this value; may be repeated.")
@click.option("--policy", "chosen", default="optimal", metavar="POLICY", help="As for evaluate.")
@click.option("--against", metavar="POLICY", help="difference, outcomes: the policy to compare with.")
@click.option("--actions", is_flag=True, help="values: a curve for every action.")
@click.option("--at-least", is_flag=True, help="outcomes: plot P(total >= x) instead of P(total = x).")
@click.option("--steps-left", type=click.IntRange(0), metavar="N", help="With a horizon: the decisions left.")
@click.option("--title", metavar="TEXT", help="By default the name of the game, with its parameters.")
@solver_option
def plot(case: Case, kind: str, path: str, solver: str, **wishes: Any) -> Answer:
    """Draw a picture of a game and write it to a file.

    Names of dimensions are the counters of the game and the fields of its states; a wrong name lists the known ones.

    Exit status: 0 drawn, 1 not, 2 wrong usage.
    """
    # Before an hour of solving, not after it.
    if Path(path).suffix.lower() not in mdpdice.plots.SUFFIXES:
        raise click.UsageError(f"--to {path}: write a file that ends in {', '.join(mdpdice.plots.SUFFIXES)}")
    case.refuse_infinite("there is no network that could be drawn")
    if wishes["title"] is None:
        wishes["title"] = " ".join([case.name, *case.pairs])
    if wishes["steps_left"] is not None and case.horizon is None:
        raise click.UsageError("--steps-left goes with --horizon")
    desk = _Desk(case, solver, SimpleNamespace(**wishes), kind)
    mdpdice.plots.save_picture(_DRAWN[kind](desk), path)
    return Answer({**case.data(), "kind": kind, "file": path}, [f"{path}: {KINDS[kind].partition(';')[0]}"])
