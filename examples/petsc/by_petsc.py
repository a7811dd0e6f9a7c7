"""PETSc solves in a process of its own, joined by files, and the library proves what comes back.

    python examples/petsc/by_petsc.py [PYTHON]

PYTHON is one that has petsc4py; Debian's package python3-petsc4py belongs to ``/usr/bin/python3``.  `ByPetsc` is a
solver like any other: it writes the problem as PETSc's matrices, runs ``petsc_side.py``, reads the vector of values
and takes the best option everywhere.  `solve` certifies that, or says that it cannot: nothing of PETSc is trusted.
With ``command=("mpiexec", "-n", "4", "/usr/bin/python3")`` the rows are shared among four processes.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import ClassVar

import attrs
import numpy as np

from mdpdice import Candidate, ClassicMDP, Dist, Feature, Network, Run, solve
from mdpdice.backend import traced
from mdpdice.formats import write_petsc

SIDE = Path(__file__).with_name("petsc_side.py")
VECTOR = 1211214


def read_vector(path: Path) -> np.ndarray:
    """Read a vector that PETSc wrote: a mark, the length, and numbers with the most significant byte first."""
    data = path.read_bytes()
    mark, length = np.frombuffer(data[:8], dtype=">i4").tolist()
    if mark != VECTOR or len(data) != 8 + 8 * length:
        raise ValueError(f"{path} is not a vector of PETSc")
    return np.frombuffer(data, dtype=">f8", offset=8).astype(np.float64)


def environment() -> dict[str, str]:
    """Tell Debian's Python where its petsc4py is, unless PETSC_DIR does."""
    places = sorted(map(str, Path("/usr/lib/petscdir").glob("petsc*/*-real")))
    return {**({"PETSC_DIR": places[-1]} if places else {}), **os.environ}


@attrs.frozen
class ByPetsc:
    """Policy and value iteration by PETSc; `command` is the Python that runs the other side, and what starts it."""

    name: ClassVar[str] = "petsc"
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.CYCLIC, Feature.DISCOUNT})

    command: tuple[str, ...] = ("/usr/bin/python3",)
    side: Path = SIDE

    @classmethod
    def available(cls) -> bool:
        return True

    @traced
    def solve(self, problem: Network, run: Run) -> Candidate:
        with tempfile.TemporaryDirectory() as name:
            transitions, rewards, values = (Path(name) / file for file in ("transitions", "rewards", "values"))
            table = write_petsc(problem, transitions, rewards)
            files = map(str, (transitions, rewards, table.discount, values))
            done = subprocess.run(
                [*self.command, self.side, *files], env=environment(), capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise RuntimeError(f"{self.side.name} failed: {done.stderr.strip()[-500:]}")
            value = table.values(read_vector(values))
        factor = np.where(problem.step, float(problem.discount), 1.0)
        options = problem.reward + factor * problem.sign * value[problem.dst]
        policy = np.full(problem.n_nodes, -1)
        for node in np.flatnonzero(problem.decides):
            first, last = problem.indptr[node : node + 2]
            policy[node] = first + options[first:last].argmax()
        return Candidate(value, policy, details={"petsc": done.stdout.strip()})


@attrs.frozen
class Machine(ClassicMDP[int, str]):
    """A machine wears out by 0 to 3 a day, and is repaired or replaced; costs are negative rewards."""

    worst: int = 2_000
    discount: float = 0.99

    def initial(self) -> int:
        return 0

    def actions(self, wear: int) -> list[str]:
        return ["keep", "repair", "replace"]

    def transition(self, wear: int, action: str) -> Dist[int]:
        before = {"keep": wear, "repair": wear // 2, "replace": 0}[action]
        return Dist({min(before + more, self.worst): 4 - more for more in range(4)})

    def reward(self, wear: int, action: str, target: int) -> int:
        return {"keep": -wear, "repair": -30 - wear // 2, "replace": -200}[action]


def main() -> None:
    by_petsc = ByPetsc(tuple(sys.argv[1:]) or ("/usr/bin/python3",))
    solution = solve(Machine(), solver=by_petsc)
    print(solution)
    print("repair from wear", min(wear for wear in range(2_000) if solution.action(wear) == "repair"))
    print(solution.details["petsc"])


if __name__ == "__main__":
    main()
