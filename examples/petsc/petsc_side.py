"""PETSc's side: read a decision process, iterate policies and values, write the values of its states.

    python3 petsc_side.py TRANSITIONS REWARDS DISCOUNT VALUES
    mpiexec -n 4 python3 petsc_side.py ...

It needs petsc4py and numpy, and nothing of mdpdice.  A round is a step of value iteration, by one product with the
stacked matrix of all actions, and the evaluation of the policy that is best there, by GMRES.  Rounds end when a step of
value iteration changes no value by more than `ENOUGH` of the largest.  Each process owns some states and their rows.
"""

import sys
from pathlib import Path

import numpy as np
import petsc4py
from petsc4py import PETSc

petsc4py.init()

ENOUGH = 1e-12


def shape(path: str) -> tuple[int, int]:
    """Rows and columns of a matrix in a file."""
    with Path(path).open("rb") as file:
        _, rows, columns, _ = np.frombuffer(file.read(16), dtype=">i4").tolist()
    return rows, columns


def load(path: str, rows: int, columns: int) -> PETSc.Mat:
    """Read a matrix of which this process owns so many rows and columns."""
    matrix = PETSc.Mat().create()
    whole = shape(path)
    matrix.setSizes(((rows, whole[0]), (columns, whole[1])))
    matrix.setType("aij")
    viewer = PETSc.Viewer().createBinary(path, "r")
    matrix.load(viewer)
    viewer.destroy()
    return matrix


def main(transitions: str, rewards: str, discount: float, to: str) -> None:
    n, actions = shape(rewards)
    ranks, rank = PETSc.COMM_WORLD.size, PETSc.COMM_WORLD.rank
    mine = n // ranks + (rank < n % ranks)
    moves = load(transitions, mine * actions, mine)
    first = moves.getOwnershipRangeColumn()[0]
    paid = np.zeros((mine, actions))
    table = load(rewards, mine, PETSc.DECIDE)
    for row in range(mine):
        at, values = table.getRow(first + row)
        paid[row, at] = values

    value, stacked = moves.createVecRight(), moves.createVecLeft()
    right = value.duplicate()
    solver = PETSc.KSP().create()
    solver.setType("gmres")
    solver.setTolerances(rtol=1e-13, max_it=10_000)
    solver.setInitialGuessNonzero(True)
    states = PETSc.IS().createStride(mine, first, 1, comm=PETSc.COMM_WORLD)
    rounds, change = 0, np.inf
    while change > ENOUGH * (1 + right.norm(PETSc.NormType.INFINITY)):
        rounds += 1
        moves.mult(value, stacked)
        worth = paid + discount * stacked.array.reshape(mine, actions)
        best = worth.argmax(axis=1)
        right.array[:] = worth.max(axis=1)
        step = right.copy()
        step.axpy(-1, value)
        change = step.norm(PETSc.NormType.INFINITY)
        rows = ((first + np.arange(mine)) * actions + best).astype(PETSc.IntType)
        equations = moves.createSubMatrix(PETSc.IS().createGeneral(rows, comm=PETSc.COMM_WORLD), states)
        for option in (PETSc.Mat.Option.NEW_NONZERO_LOCATION_ERR, PETSc.Mat.Option.NEW_NONZERO_ALLOCATION_ERR):
            equations.setOption(option, False)  # not every row has a place on the diagonal
        equations.scale(-discount)
        equations.shift(1)
        right.copy(value)  # where GMRES starts
        gains = right.copy()
        gains.array[:] = paid[np.arange(mine), best]
        solver.setOperators(equations)
        solver.solve(gains, value)
    viewer = PETSc.Viewer().createBinary(to, "w")
    right.view(viewer)
    viewer.destroy()
    PETSc.Sys.Print(f"{n} states, {actions} actions, {ranks} processes: {rounds} rounds")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4])
