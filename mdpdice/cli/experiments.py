"""What ``mdpdice evaluate``, ``simulate`` and ``thresholds`` answer: JSON data first, and from it the text."""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import click

from mdpdice.cli.answers import Case, after, check_solver, notes_of, question, value_rows
from mdpdice.cli.chosen import policy_on
from mdpdice.cli.progress import ProgressBars
from mdpdice.cli.text import aligned, figure, json_number
from mdpdice.distributions import outcomes
from mdpdice.enclosures import Enclosure
from mdpdice.evaluation import Evaluation, evaluate
from mdpdice.exploration import explore
from mdpdice.network import Network
from mdpdice.objectives import Horizon
from mdpdice.policies import Policy
from mdpdice.simulation import simulate
from mdpdice.solution import Solution, Status
from mdpdice.solving import solve
from mdpdice.totals import Outcomes

__all__ = [
    "evaluated",
    "evaluated_text",
    "simulated",
    "simulated_text",
    "threshold_text",
    "thresholds_found",
]

LEVELS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""Levels of the quantiles."""
CONFIDENCE = 0.95
"""Level of the confidence interval of a simulated mean."""


class _Setting(NamedTuple):
    """A game with the policies of its players."""

    network: Network
    policies: list[Policy]


def _set_up(case: Case, name: str, against: str | None, solver: str, progress: ProgressBars) -> _Setting:
    # Rewards that differ stay apart, so that the distribution of totals is right.
    network = explore(case.game, progress=progress)
    if network.averaged:
        network = explore(case.game, merge=False, progress=progress)
    if case.horizon is not None:
        network = Horizon(case.horizon).apply(network)
    if against is not None and not network.two_player:
        raise click.UsageError(f"--against is for two players, and {case.name} has one")
    check_solver(solver)

    def optimum() -> Solution:
        return solve(network, solver=solver, epsilon=case.epsilon, progress=progress)

    names = [name] if against is None else [name, against]
    made: dict[str, Policy] = {}
    for one in names:
        if one not in made:
            made[one] = policy_on(case, one, network, optimum)
    return _Setting(network, [made[one] for one in names])


def _asked(case: Case, name: str, against: str | None) -> dict[str, Any]:
    return {**case.data(), "policy": name, "against": against}


def _refuse_infinite(case: Case) -> None:
    if reason := case.infinite():
        raise click.ClickException(f"{reason}: there is no network on which a policy could be evaluated")


# --- evaluate -----------------------------------------------------------------------------------


def evaluated(case: Case, name: str, against: str | None, solver: str) -> dict[str, Any]:
    """The answer of ``mdpdice evaluate`` as JSON data; its value is None unless it was proved."""
    _refuse_infinite(case)
    began = time.perf_counter()
    if against is None and case.horizon is None:
        known = case.game.policy_value(name)
        if known is not None:
            return _enclosed(case, name, known, time.perf_counter() - began)
    with ProgressBars() as progress:
        setting = _set_up(case, name, against, solver, progress)
        found = evaluate(setting.network, setting.policies, epsilon=case.epsilon, progress=progress)
        notes = notes_of(case)
        spread = _outcomes(setting, notes)
    return {
        **_asked(case, name, against),
        **_figures(found),
        "seconds": time.perf_counter() - began,
        "outcomes": spread,
        "notes": notes,
    }


def _figures(found: Evaluation) -> dict[str, Any]:
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


def _enclosed(case: Case, name: str, known: Enclosure, seconds: float) -> dict[str, Any]:
    proved = known.width <= case.epsilon
    return {
        **_asked(case, name, None),
        "value": known.value if proved else None,
        "estimate": known.value,
        "lower": known.lower,
        "upper": known.upper,
        "width": known.width,
        "status": (Status.CERTIFIED if proved else Status.UNCERTIFIED).value,
        "reason": "" if proved else f"the interval has relative width {known.width:.3g}",
        "states": None,
        "edges": None,
        "seconds": seconds,
        "outcomes": None,
        "notes": [*notes_of(case), *([known.method] if known.method else [])],
    }


def _outcomes(setting: _Setting, notes: list[str]) -> dict[str, Any] | None:
    """The distribution of the total, where there is one."""
    if setting.network.discount != 1:
        notes.append("totals of a discounted game have no table of outcomes")
        return None
    found = outcomes(setting.network, setting.policies)
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
    rows = [*question(case), *_players(data), *value_rows(data)]
    if data["states"] is not None:
        rows.append(("size", f"{data['states']:,} states, {data['edges']:,} edges"))
    rows.append(("time", f"{data['seconds']:.2f} s to explore and evaluate"))
    lines = [aligned(rows)]
    if (spread := data["outcomes"]) is not None:
        quantiles = (f"{100 * float(level):g} %: {figure(x)}" for level, x in spread["quantiles"].items())
        lines += [
            "",
            aligned(
                [
                    ("mean", _short(spread["mean"])),
                    ("variance", _short(spread["variance"])),
                    ("deviation", _short(spread["sd"])),
                    ("P(bust)", f"{_short(spread['p_bust'])}, the chance of a total of 0"),
                    ("quantiles", ", ".join(quantiles)),
                ]
            ),
        ]
    return "\n".join([*lines, *after(data)])


def _short(number: float | str) -> str:
    return number if isinstance(number, str) else f"{number:.10g}"


def _players(data: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [("policy", data["policy"])]
    if data["against"] is not None:
        rows.append(("against", data["against"]))
    return rows


# --- simulate -----------------------------------------------------------------------------------


def simulated(
    case: Case, name: str, against: str | None, solver: str, plays: int, seed: int
) -> dict[str, Any]:
    """The answer of ``mdpdice simulate`` as JSON data, with the exact value beside the mean."""
    _refuse_infinite(case)
    with ProgressBars() as progress:
        setting = _set_up(case, name, against, solver, progress)
        found = simulate(setting.network, setting.policies, plays, seed, progress=progress)
        exact = evaluate(setting.network, setting.policies, epsilon=case.epsilon, progress=progress)
    low, high = found.interval(CONFIDENCE)
    error = found.standard_error
    away = (found.mean - exact.estimate()) / error if error > 0 and math.isfinite(exact.estimate()) else None
    return {
        **_asked(case, name, against),
        "plays": found.plays,
        "seed": seed,
        "mean": found.mean,
        "standard_error": None if math.isnan(error) else error,
        "sd": None if math.isnan(found.sd) else found.sd,
        "p_bust": found.frequency(0),
        "confidence": {"level": CONFIDENCE, "low": None, "high": None}
        if math.isnan(error)
        else {"level": CONFIDENCE, "low": low, "high": high},
        "errors_away": away,
        **_figures(exact),
        "moves": found.moves,
        "seconds": found.seconds,
        "notes": notes_of(case),
    }


def simulated_text(case: Case, data: dict[str, Any]) -> str:
    """The answer of ``mdpdice simulate`` for people."""
    rows = [*question(case), *_players(data), ("plays", f"{data['plays']:,}, seed {data['seed']}")]
    rows.append(("mean", _short(data["mean"])))
    if data["standard_error"] is not None:
        span = data["confidence"]
        rows += [
            (f"{100 * span['level']:g} % sure", f"[{_short(span['low'])}, {_short(span['high'])}]"),
            ("deviation", f"{_short(data['sd'])} per play, {data['standard_error']:.4g} of the mean"),
        ]
    rows.append(("P(bust)", f"{_short(data['p_bust'])}, the share of plays with a total of 0"))
    exact = [(label if label != "value" else "exact value", text) for label, text in value_rows(data)]
    rows += exact
    if data["errors_away"] is not None:
        rows.append(("mean - exact", f"{data['errors_away']:+.2f} standard errors"))
    rate = data["moves"] / data["seconds"] if data["seconds"] > 0 else math.inf
    rows.append(
        ("time", f"{data['seconds']:.2f} s for {data['moves']:,} moves, {rate / 1e6:.1f} million a second")
    )
    return "\n".join([aligned(rows), *after(data)])


# --- thresholds ---------------------------------------------------------------------------------


def thresholds_found(case: Case, *, monotone: bool, search: int, seed: int) -> dict[str, Any]:
    """The answer of ``mdpdice thresholds`` as JSON data: the optimal thresholds first, then those of a search."""
    if case.horizon is not None:
        raise click.UsageError("thresholds are those of the game without --horizon")
    _refuse_infinite(case)
    began = time.perf_counter()
    with ProgressBars() as progress:
        progress("search", {"vectors drawn": search})
        found = case.game.thresholds(monotone=monotone, search=search, seed=seed)
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
