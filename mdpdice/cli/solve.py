"""``mdpdice solve``: the value of a game, proved."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from mdpdice.cli.case import Case
from mdpdice.cli.game_command import Answer, game_command
from mdpdice.cli.options import objective_options, solver_option
from mdpdice.cli.processes import communicator
from mdpdice.cli.text import aligned, short
from mdpdice.cli.values import after, infinite_data, value_data, value_rows, work_rows

if TYPE_CHECKING:
    from mdpdice.answers.solution import Solution

KEPT = "Keep what a long solve has done in this folder or URL; after a stop the same command continues from there."


@game_command()
@objective_options
@solver_option
@click.option("--checkpoint", metavar="DIR", help=KEPT)
def solve(case: Case, solver: str, checkpoint: str | None) -> Answer:
    """Solve a game and prove how far the answer can be off.

    Under mpiexec all processes share the layers of a game with many states (mdpdice[mpi]).

    Exit status: 0 proved, 1 not, 2 wrong usage.
    """
    summary: Iterable[str] = ()
    if reason := case.infinite():
        told, notes = {**infinite_data(reason), "ranks": 1, "values_digest": None}, case.notes(but=reason)
    else:
        comm = communicator(checkpoint)
        solution = case.solve(solver, checkpoint=checkpoint, comm=comm)
        if comm is None or comm.rank == 0:
            case.keep(solution, solver)
        told, notes = value_data(solution), case.notes(solution)
        if case.objective is None and solution.lattice is None and (network := solution.network).nature.any():
            least = min(len(network.edges(node)) for node in network.nature.nonzero()[0].tolist())
            each = (f"die {n} {short(case.solve(solver, network.fixed(n)).value())}" for n in range(1, 1 + least))
            notes.append(f"with the same every time, and known: {', '.join(each)}")
        told |= {"ranks": solution.details.get("ranks", 1), "values_digest": _digest(solution)}
        told |= {key: value for key, value in solution.details.items() if key == "resumed_layers"}
        # What a game says in its own words is about its total.
        if solution.proved and case.objective is None and not case.repeated:
            summary = case.look.summary(solution)
    data = {**case.data(), **told, "notes": notes, "summary": list(summary)}
    rows = [*case.rows(), *value_rows(data), *work_rows(data)]
    return Answer(data, [aligned(rows), *after(data)], data["value"] is not None)


def _digest(solution: Solution) -> str:
    """Return a digest of the values: where it is the same, all bits are."""
    from mdpdice.answers.grid_values import GridValues
    from mdpdice.solving.checkpoints import values_digest

    table = solution.table
    return values_digest(table.stored if isinstance(table, GridValues) else table.values)
