"""``mdpdice explain``: a rule of a few lines that a person can learn, and what it loses."""

from __future__ import annotations

import click

import mdpdice
from mdpdice.cli.case import Case
from mdpdice.cli.game_command import Answer, game_command
from mdpdice.cli.limits import most_states
from mdpdice.cli.objectives import refuse_valueless
from mdpdice.cli.options import objective_options, solver_option, to_option
from mdpdice.cli.routes import compiled
from mdpdice.cli.text import aligned, short
from mdpdice.cli.values import after, value_data, value_rows


@game_command()
@objective_options
@click.option("--size", type=click.IntRange(0, 12), default=3, help="Most lines before 'otherwise'.")
@click.option("--at", "position", metavar="STATE", help="Explain the play from this state on, not the start.")
@to_option("Write the rule as a policy, for --policy FILE.")
@solver_option
def explain(case: Case, size: int, position: str | None, path: str | None, solver: str) -> Answer:
    """Find a short rule close to optimal play, and compute exactly what it loses.

    The search adds lines by visits times loss, so a better list may exist; the loss of this one is proved.

    Exit status: 0 proved, 1 not, 2 wrong usage.
    """
    from mdpdice.policies.explanation import explain as explained

    if case.horizon is not None:
        raise click.UsageError("a rule has no stages: leave out --horizon")
    refuse_valueless(case.objective)
    case.refuse_infinite("every way to get there is as good as any other")
    if position is not None:
        case = case._replace(game=case.game.at(case.position(position)))
    lattice, large = compiled(case, case.objective)
    if large is not None:
        how = "explain what is ahead of one with --at STATE, as advise takes it"
        raise click.UsageError(f"{large.states:,} states are too many to be searched; {how}")
    network = mdpdice.explore(case.game, progress=case.progress, lattice=lattice, max_states=most_states())
    solution = case.answer(solver, lambda: case.solve(solver, network), network=True)
    found = explained(case.game, solution, size=size, progress=case.progress)
    if path is not None:
        found.policy.save(path)
    worth = found.evaluated
    data = {
        **case.data(), **value_data(solution), "at": position, "size": size, "lines": list(found.lines),
        "rule": value_data(worth), "loss": found.loss, "file": path, "notes": case.notes(solution),
    }  # fmt: skip
    rows = [*case.rows(), *value_rows(data)]
    told = [f"{number}. {line}" for number, line in enumerate(found.lines[:-1], start=1)]
    loss = f"{found.loss:.6g}" if found.loss > worth.width else f"0, up to {worth.width:.1g}"
    interval = f"[{short(worth.lower())}, {short(worth.upper())}]"
    below = [("rule", f"{short(worth.estimate())} in {interval}, {worth.status.value}")]
    below += [("loss", f"{loss} against the optimum")]
    if network.two_player:
        below.append(("against", "the optimal player; the rule is that of the one who starts"))
    lines = [aligned(rows), "", *told, f"   {found.lines[-1]}", "", aligned(below), *after(data)]
    return Answer(data, [*lines, f"{path}: the rule as a policy"] if path else lines, solution.proved and worth.proved)
