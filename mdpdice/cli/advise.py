"""``mdpdice advise``: what to do in a state."""

from __future__ import annotations

import functools
import json
import math
import sys
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

import mdpdice
from mdpdice.cli.case import Case, solver_of
from mdpdice.cli.game_command import Answer, game_command
from mdpdice.cli.named_policies import known_names, players, rule_and_ratings
from mdpdice.cli.options import objective_options, solver_option
from mdpdice.cli.progress_bars import ProgressBars
from mdpdice.cli.text import action_data, aligned, json_number, named, short
from mdpdice.cli.values import after, meaning, proof_row, value_data
from mdpdice.errors import CounterRangeError, DeadEndError, GameError, MdpDiceError, UnknownStateError
from mdpdice.objectives.collected import COLLECTED

if TYPE_CHECKING:
    from mdpdice.looks import Rolled

Rule: TypeAlias = Callable[[Any], Any]
Ratings: TypeAlias = Callable[[Any], Mapping[Any, Any] | None]

SHOWN = 2
"""Moves that are shown without --all."""
MOST_RATED = 3
MOST_OUTCOMES = 5
"""Ratings of a policy that are shown, and outcomes of what it does."""


@game_command()
@objective_options
@click.argument("state", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Show all moves, not just the best two.")
@click.option("--policy", "chosen", metavar="POLICY", help="Show what a policy does there, and why.")
@solver_option
def advise(case: Case, state: tuple[str, ...], every: bool, chosen: str | None, solver: str) -> Answer:
    """Say what to do in a state, what the moves are worth, and how likely each is to lose the turn.

    STATE may be several words, as in: mdpdice advise farkle roll=1,1,5 points=300

    Without a STATE the game is solved once, and states are read from the standard input, one a line, until q or its
    end; with --json every answer is one line.

    Exit status: 0 proved, 1 not, 2 wrong usage or a state that does not exist.
    """
    from mdpdice.solving.estimate import game_solver

    if chosen is not None:
        rule, ratings = _rule_and_ratings(case, chosen)

        def tell(case: Case, text: str) -> Answer:
            return _by_policy(case, chosen, rule, ratings, text)
    else:
        case.refuse_infinite("every way to get there is as good as any other")
        # A search begins at the position itself.
        searched = game_solver(solver_of(solver)) is not None
        solved = functools.cache(lambda: case.answer(solver))

        def tell(case: Case, text: str) -> Answer:
            asked = case.position(text)
            solution = case.solve(solver, case.game.at(asked)) if searched else solved()
            position = asked if searched else case.game.canonical(asked)
            return _by_values(case, solution, solver, asked, position, text, every=every)

    return tell(case, " ".join(state)) if state else _each_line(case, tell)


def _each_line(case: Case, tell: Callable[[Case, str], Answer]) -> Answer:
    """Answer about the states of the standard input, one a line."""
    proved, ask = True, sys.stdin.isatty()
    while True:
        if ask:
            click.echo("state (q leaves): ", nl=False, err=True)
        line = sys.stdin.readline()
        text = line.strip()
        if not line or text in ("q", "quit"):
            return Answer({}, (), proved)
        if not text:
            continue
        try:
            with ProgressBars() as progress:
                answer = tell(case._replace(progress=progress), text)
        except (click.ClickException, MdpDiceError) as error:
            click.echo(f"Error: {error.message}", err=True)
            answer = Answer({"state": text, "error": error.message}, ())
        proved = proved and answer.ok
        told = json.dumps(answer.data) if case.as_json else "".join(f"{one}\n" for one in answer.lines)
        click.echo(told, nl=bool(told))
        sys.stdout.flush()


def _by_values(
    case: Case, solution: mdpdice.Solution, solver: str, asked: Hashable, position: Hashable, text: str, *, every: bool
) -> Answer:
    """Return what the moves in a position are worth; what is solved from the start knows representatives only."""
    solution, notes = _reaching(case, solution, solver, position, text)
    known = _known(solution, position)
    kind = solution.kind(known)
    notes += case.notes(solution)
    if position != asked:
        notes.append(f"by symmetry this is {case.look.show_state(position)}, whose actions are shown")
    data = {**case.data(), "state": case.look.show_state(position), "action": None}
    data |= {**value_data(solution, known), "actions": [], "ties": [], "notes": notes}
    if kind not in (mdpdice.Kind.MAX, mdpdice.Kind.MIN):
        notes.append("no decision here: chance moves, or the play is over")
    elif case.horizon == 0:
        notes.append("no decision is left")
    else:
        seen = case.look.seen(text) if position == asked else None
        minimise = (kind == mdpdice.Kind.MIN) != (solution.sense == "min")
        data |= _decision(case, solution, position, seen, minimise=minimise)
    return Answer(data, _lines(data, meaning(case, solution, known), every=every), data["value"] is not None)


def _known(solution: mdpdice.Solution, position: Hashable) -> Hashable:
    """Return a position as a solution knows it: what its objective collects is counted from there on."""
    if COLLECTED not in getattr(solution.start, "counters", ()):
        return position
    plain = position if isinstance(position, mdpdice.At) else mdpdice.At(position)
    return mdpdice.At(plain.state, **{COLLECTED: 0, **plain.counters})


def _reaching(
    case: Case, solution: mdpdice.Solution, solver: str, position: Hashable, text: str
) -> tuple[mdpdice.Solution, list[str]]:
    """Return a solution that knows a position, another one where play from the start misses it, and remarks."""
    try:
        solution.kind(_known(solution, position))
    except UnknownStateError:
        near = [case.look.show_state(state) for state in solution.nearest(position)]
    else:
        return solution, []
    try:
        found = case.solve_from(solver, position, solution)
    except (CounterRangeError, DeadEndError, GameError, UnknownStateError) as error:
        why = error.message.removeprefix(f"{position!r} is not a state of this game: ")
        like = "".join(f"\n  {state}" for state in near)
        raise click.UsageError(f"{text!r} is not a position of this game: {why}. Similar states:{like}") from error
    if near[0] == case.look.show_state(position):
        return found, []  # play comes here having collected something
    return found, [f"play from the start does not come here; it comes to {near[0]}, for example"]


def _decision(
    case: Case, solution: mdpdice.Solution, position: Hashable, seen: Rolled | None, *, minimise: bool
) -> dict[str, Any]:
    """Return the actions, best first."""
    from mdpdice.policies.telling import risk

    known = _known(solution, position)
    best, values = solution.action(known), solution.q(known)
    # The chosen action leads even where rounding puts a tied one above it.
    ordered = sorted(values, key=lambda action: (action != best, values[action] if minimise else -values[action]))
    actions = []
    for action in ordered:
        number, lost = json_number(values[action]), risk(case.game, position, action)
        told = {"action": action_data(action), "words": case.look.words(position, action, seen)}
        told |= {"value": number if solution.proved else None, "estimate": number}
        actions.append({**told, "risk": None if lost is None else float(lost)})
    ties = [action_data(action) for action in solution.ties(known)]
    return {"action": action_data(best), "actions": actions, "ties": ties}


def _lines(data: dict[str, Any], what: str, *, every: bool) -> list[str]:
    actions, lines = data["actions"], []
    if actions:
        words = actions[0]["words"]
        lines = [f"{words[:1].upper()}{words[1:]}.", "", *_moves(data, actions if every else actions[:SHOWN])]
        if len(actions) > SHOWN and not every:
            lines.append(f"  {len(actions) - SHOWN:,} more: --all")
        lines.append("")
    return [*lines, aligned([("value", f"{short(data['estimate'])} ({what})"), proof_row(data)]), *after(data)]


def _moves(data: dict[str, Any], moves: list[dict[str, Any]]) -> list[str]:
    """Return the moves, with what they are worth, what they lose against the best one, and their risk."""
    top = float(data["actions"][0]["estimate"])
    risky = any(0 < (move["risk"] or 0) < 1 for move in data["actions"])
    rows = []
    for move in moves:
        tied = len(data["ties"]) > 1 and move["action"] in data["ties"]
        mark = "*" if move is moves[0] else "=" if tied else " "
        loss = abs(float(move["estimate"]) - top)
        shown = float(f"{loss:.6g}") if mark == " " and math.isfinite(loss) else None
        lost = None if move["risk"] is None else f"{move['risk']:.2%}"
        rows.append((f"{mark} {move['words']}", move["estimate"], shown, *[lost] * risky))
    lines = _table(("", "value", "loss", *["risk of losing the turn"] * risky), rows)
    return [*lines, *["(= as good as the best, as far as was proved)"] * any(row[0][0] == "=" for row in rows)]


def _table(columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> list[str]:
    return mdpdice.Table("", "", columns, rows).text()[1:]


# --- what a policy does ---------------------------------------------------------------------------


def _rule_and_ratings(case: Case, name: str) -> tuple[Rule, Ratings]:
    """Return what a policy does, and how it rates the actions of a state, if it does."""
    if found := rule_and_ratings(case, name):
        return found
    if not Path(name).is_file():
        raise click.UsageError(f"{case.name} has no policy {name!r} to ask; write {known_names(case)}")
    (policy,) = players(case, [name], "auto")[1]

    def rule(state: Any) -> Any:
        chances = policy.probabilities(case.game.canonical(state))
        return mdpdice.Dist(chances) if len(chances) > 1 else next(iter(chances))

    return rule, lambda _: None


def _by_policy(case: Case, name: str, rule: Rule, ratings: Ratings, text: str) -> Answer:
    """Return what a policy does in a state, by its own ratings."""
    from mdpdice.modelling.asking import ask
    from mdpdice.modelling.game import Decide
    from mdpdice.policies.playthrough import plain

    state, seen = case.position(text), case.look.seen(text)
    game = plain(case.game)
    with named("", MdpDiceError):
        node = ask(game.node, state, what="node()", state=state)
        decides = isinstance(node, Decide)
        action = rule(state) if decides else None
        rated = _best_first(case, node, ratings(state) if decides else None)
        outcomes = _rolls(case, game, node, action, ratings) if rated else []
    if not math.isclose(sum(one["chance"] * one["rating"] for one in outcomes), rated.get(action, 0.0)):
        outcomes = []  # of a roll after what is rated, such as that of the next turn
    actions = action.outcomes if isinstance(action, mdpdice.Dist) else (action,) if decides else ()
    ordered = sorted(rated, key=lambda one: one not in actions)
    words = {one: case.look.words(state, one, seen) for one in [*ordered, *actions]}
    told = [{"action": action_data(one), "words": words[one], "rating": rated[one]} for one in ordered]
    data = {**case.data(), "state": case.look.show_state(state), "policy": name}
    data |= {"action": [action_data(one) for one in actions], "actions": told, "outcomes": outcomes}
    data["notes"] = [] if decides else ["no decision here: chance moves, or the play is over"]
    lines = [f"{name}: {' or '.join(words[one] for one in actions)}."] if decides else []
    if ordered:
        rows = [(f"{'*' if one in actions else ' '} {words[one]}", rated[one]) for one in ordered]
        lines += ["", *_table(("", "its rating"), rows[:MOST_RATED])]
    if outcomes:
        shown = [(one["words"], f"{one['chance']:.2%}", one["rating"], one["then"]) for one in outcomes[:MOST_OUTCOMES]]
        lines += ["", *_table(("what counts most", "chance", "its rating", "and then"), shown)]
    return Answer(data, [*lines, *after(data)])


def _best_first(case: Case, node: Any, rated: Mapping[Any, Any] | None) -> dict[Any, float]:
    """Ratings, those first that whoever decides at a node likes best."""
    small = bool(rated) and (node.player == 1) != (case.sense == "min")
    found = {action: float(rating) for action, rating in (rated or {}).items()}
    return dict(sorted(found.items(), key=lambda pair: pair[1] if small else -pair[1]))


def _rolls(case: Case, game: mdpdice.Game[Any, Any], node: Any, action: Any, ratings: Ratings) -> list[dict[str, Any]]:
    """List the rolls after an action with the best rating there; those that make most of the mean come first."""
    from mdpdice.looks import parted, spoken
    from mdpdice.modelling.game import Chance, Decide, Go

    edge: Any = dict(zip(node.actions, node.options, strict=True)).get(action)
    if not isinstance(edge, Go) or not isinstance(rolls := game.node(edge.state), Chance):
        return []
    core, counters = parted(edge.state)
    found = []
    for outcome, weight, to in zip(rolls.dist.outcomes, rolls.dist.weights, rolls.edges, strict=True):
        there: Any = game.node(to.state) if isinstance(to, Go) else None
        if not isinstance(to, Go) or not isinstance(there, Decide):
            return []
        if not (rated := _best_first(case, there, ratings(to.state))):
            return []
        then, rating = next(iter(rated.items()))
        words = spoken(case.look.heard(core, outcome, None, lost=False), counters)
        chance, next_words = weight / rolls.dist.total, case.look.words(to.state, then)
        found.append({"words": words, "chance": chance, "rating": rating, "then": next_words})
    return sorted(found, key=lambda one: -abs(one["chance"] * one["rating"]))
