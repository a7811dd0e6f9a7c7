"""What ``mdpdice evaluate`` and ``thresholds`` answer: JSON data first, and from it the text."""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import click

from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution, Status
from mdpdice.cli.answers import Case, after, check_solver, figures, notes_of, question, value_rows
from mdpdice.cli.chosen import large, lattice_policy, policy_on, spread_out
from mdpdice.cli.objectives import evaluable, known_targets
from mdpdice.cli.progress import ProgressBars
from mdpdice.cli.shared import limits, most_states
from mdpdice.cli.text import aligned, figure, json_number
from mdpdice.errors import UnsupportedError
from mdpdice.exploration.to_network import explore
from mdpdice.lattices.reachable_layers import Layers
from mdpdice.modelling.enclosure import Enclosure
from mdpdice.networks.network import Network
from mdpdice.objectives.objective import Horizon
from mdpdice.policies.distribution import outcomes
from mdpdice.policies.evaluation import Evaluation, evaluate
from mdpdice.policies.totals import Outcomes
from mdpdice.solving.lattice_solution import LatticeSolution
from mdpdice.solving.pipeline import solve

__all__ = [
    "Setting",
    "asked",
    "enclosed",
    "evaluated",
    "evaluated_text",
    "evaluation_figures",
    "players",
    "refuse_infinite",
    "set_up",
    "short",
    "threshold_text",
    "thresholds_found",
]

LEVELS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""Levels of the quantiles."""
_FIGURES = ("value", "estimate", "lower", "upper", "width", "status", "reason", "states", "edges")
_MOMENTS = (("mean", "mean"), ("variance", "variance"), ("deviation", "sd"))


class Setting(NamedTuple):
    """A game with the policies of its players."""

    network: Network
    policies: list[Policy]


def set_up(
    case: Case, names: list[str], solver: str, progress: ProgressBars, max_states: int = 10_000_000
) -> Setting:
    """The network of a game, and the policies of its players by their names."""
    # Rewards that differ stay apart, so that the distribution of totals is right.
    max_states = most_states(max_states)
    network = explore(case.game, progress=progress, max_states=max_states)
    if network.averaged:
        network = explore(case.game, merge=False, progress=progress, max_states=max_states)
    if case.horizon is not None:
        network = Horizon(case.horizon).apply(network)
    if not evaluable(case.objective):
        msg = (
            f"policies have no value of their own under {case.objective_text}; write total, discounted, reach, or a "
            "payoff-at-least above 0"
        )
        raise click.UsageError(msg)
    whole = network
    if case.objective is not None:
        with known_targets(case.objective, case.objective_text):
            network = case.objective.apply(network)
    if len(names) == 2 and not network.two_player:
        raise click.UsageError(f"--against is for two players, and {case.name} has one")
    check_solver(solver)

    def optimum() -> Solution:
        return solve(
            whole, case.objective, solver=solver, epsilon=case.epsilon, progress=progress, **limits()
        )

    made: dict[str, Policy] = {}
    for one in names:
        if one not in made:
            made[one] = policy_on(case, one, network, optimum)
    return Setting(network, [made[one] for one in names])


def asked(case: Case, name: str, against: str | None) -> dict[str, Any]:
    """The question as JSON data."""
    return {**case.data(), "policy": name, "against": against}


def refuse_infinite(case: Case) -> None:
    """Refuse a game of infinite value, of which there is no network."""
    if reason := case.infinite():
        raise click.ClickException(f"{reason}: there is no network on which a policy could be evaluated")


# --- evaluate -----------------------------------------------------------------------------------


def evaluated(case: Case, name: str, against: str | None, solver: str) -> dict[str, Any]:
    """The answer of ``mdpdice evaluate`` as JSON data; its value is None unless it was proved."""
    refuse_infinite(case)
    check_solver(solver)
    began = time.perf_counter()
    spread = None
    with ProgressBars() as progress:
        known = None
        if against is None and case.horizon is None and case.objective is None:
            known = case.game.policy_value(name, progress=progress)
        if known is not None:
            told, notes = enclosed(case, known), [*notes_of(case), *([known.method] if known.method else [])]
        elif layers := large(case, progress):
            told, spread = _on_the_lattice(case, name, against, solver, layers, progress)
            notes = notes_of(case)
        else:
            setting = set_up(case, [name] if against is None else [name, against], solver, progress)
            told = evaluation_figures(
                evaluate(setting.network, setting.policies, epsilon=case.epsilon, progress=progress)
            )
            notes = notes_of(case)
            spread = _outcomes(setting, notes)
    return {
        **asked(case, name, against),
        **told,
        "seconds": time.perf_counter() - began,
        "outcomes": spread,
        "notes": notes,
    }


def _on_the_lattice(
    case: Case, name: str, against: str | None, solver: str, layers: Layers, progress: ProgressBars
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """What the optimal play is worth, and how it spreads; other policies cannot be evaluated there."""
    lattice = spread_out(case, layers.lattice, (name, against))

    def optimum() -> LatticeSolution:
        found = solve(lattice, solver=solver, epsilon=case.epsilon, progress=progress, **limits())
        assert isinstance(found, LatticeSolution)
        return found

    other = next((one for one in (name, against) if one not in ("optimal", None)), name)
    # A name that nobody knows is refused as such.
    solution = lattice_policy(case, other, lattice, optimum).solution
    if solution is None or (against is not None and against != name):
        msg = (
            f"this game has {layers.states:,} states, too many to evaluate {other!r} exactly; "
            f"mdpdice simulate {case.name} plays it"
        )
        raise click.UsageError(msg)
    told = figures(solution)
    if layers.cyclic or lattice.averaged:
        return {key: told[key] for key in _FIGURES}, None
    try:
        spread = _spread(outcomes(lattice, solution))
    except UnsupportedError:
        # Moments need less than a distribution does.
        deviation = solution.deviation()
        spread = {
            "mean": told["estimate"],
            "variance": deviation * deviation,
            "sd": deviation,
            "p_bust": None,
            "quantiles": {},
            "totals": None,
            "missing": None,
        }
    return {key: told[key] for key in _FIGURES}, spread


def evaluation_figures(found: Evaluation) -> dict[str, Any]:
    """The value of an evaluation as JSON data."""
    estimate, network = json_number(found.estimate()), found.network
    return {
        "value": estimate if found.proved else None,
        "estimate": estimate,
        "lower": json_number(found.lower()),
        "upper": json_number(found.upper()),
        "width": json_number(found.width),
        "status": found.status.value,
        "reason": found.reason,
        "states": network.n_states,
        "edges": network.n_edges,
    }


def enclosed(case: Case, known: Enclosure) -> dict[str, Any]:
    """A value that the game knows, as JSON data."""
    proved = known.width <= case.epsilon
    return {
        "value": known.value if proved else None,
        "estimate": known.value,
        "lower": known.lower,
        "upper": known.upper,
        "width": known.width,
        "status": (Status.CERTIFIED if proved else Status.UNCERTIFIED).value,
        "reason": "" if proved else f"the interval has relative width {known.width:.3g}",
        "states": None,
        "edges": None,
    }


def _outcomes(setting: Setting, notes: list[str]) -> dict[str, Any] | None:
    """The distribution of the total, where there is one."""
    if setting.network.discount != 1:
        notes.append("totals of a discounted game have no table of outcomes")
        return None
    return _spread(outcomes(setting.network, setting.policies))


def _spread(found: Outcomes) -> dict[str, Any]:
    """A distribution as JSON data."""
    return {
        "mean": json_number(found.mean),
        "variance": json_number(found.variance),
        "sd": json_number(math.sqrt(found.variance)),
        "p_bust": found.prob(0),
        "quantiles": {str(level): json_number(found.quantile(level)) for level in _levels(found)},
        "totals": len(found),
        "missing": found.missing,
    }


def _levels(found: Outcomes) -> list[float]:
    return [level for level in LEVELS if found.missing < min(level, 1 - level)]


def evaluated_text(case: Case, data: dict[str, Any]) -> str:
    """The answer of ``mdpdice evaluate`` for people."""
    rows = [*question(case), *players(data), *value_rows(data)]
    if data["states"] is not None:
        rows.append(("size", f"{data['states']:,} states, {data['edges']:,} edges"))
    rows.append(("time", f"{data['seconds']:.2f} s to explore and evaluate"))
    lines = [aligned(rows)]
    if (spread := data["outcomes"]) is not None:
        rows = [(label, short(spread[key])) for label, key in _MOMENTS]
        if spread["p_bust"] is not None:
            quantiles = (f"{100 * float(level):g} %: {figure(x)}" for level, x in spread["quantiles"].items())
            rows += [
                ("P(bust)", f"{short(spread['p_bust'])}, the chance of a total of 0"),
                ("quantiles", ", ".join(quantiles)),
            ]
        lines += ["", aligned(rows)]
    return "\n".join([*lines, *after(data)])


def short(number: float | str) -> str:
    """A number for people, to ten digits."""
    return number if isinstance(number, str) else f"{number:.10g}"


def players(data: dict[str, Any]) -> list[tuple[str, str]]:
    """The policies of the players, as rows for people."""
    rows = [("policy", data["policy"])]
    if data["against"] is not None:
        rows.append(("against", data["against"]))
    return rows


# --- thresholds ---------------------------------------------------------------------------------


def thresholds_found(case: Case, *, monotone: bool, search: int, seed: int) -> dict[str, Any]:
    """The answer of ``mdpdice thresholds`` as JSON data: the optimal thresholds first, then those of a search."""
    if case.horizon is not None:
        raise click.UsageError("thresholds are those of the game without --horizon")
    refuse_infinite(case)
    began = time.perf_counter()
    with ProgressBars() as progress:
        found = case.game.thresholds(monotone=monotone, search=search, seed=seed, progress=progress)
    if not found:
        raise click.UsageError(f"{case.name} has no thresholds, at least not with these parameters")
    return {
        **case.data(),
        "monotone": monotone,
        "search": search,
        "seed": seed,
        "value": found[0].value,
        "thresholds": [
            {
                "rule": one.rule,
                "policy": one.policy,
                "vector": list(one.vector),
                "value": one.value,
                "loss": found[0].value - one.value,
                "tried": one.tried,
                "bound": one.bound,
            }
            for one in found
        ],
        "seconds": time.perf_counter() - began,
        "notes": notes_of(case),
    }


def threshold_text(case: Case, data: dict[str, Any]) -> str:
    """The answer of ``mdpdice thresholds`` for people."""
    lines = [aligned(question(case))]
    for one in data["thresholds"]:
        rows = [("thresholds", one["rule"]), ("policy", one["policy"]), ("value", figure(one["value"]))]
        if one["tried"]:
            rows.append(("loss", f"{one['loss']:.6g} against the optimum"))
            rows.append(("tried", f"{one['tried']:,} vectors, seed {data['seed']}"))
        if one["bound"] is not None:
            proved = one["bound"] <= one["value"] + 1e-9 * max(1.0, abs(one["value"]))
            told = ": none is better" if proved else ""
            rows.append(("bound", f"no such vector is worth more than {figure(one['bound'])}{told}"))
        lines += ["", aligned(rows)]
    return "\n".join([*lines, *after(data)])
