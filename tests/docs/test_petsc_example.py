"""The hand-over to PETSc: both sides of examples/petsc, and PETSc's played by scipy where there is no petsc4py."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mdpdice import solve
from mdpdice.errors import PluginError

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "petsc"
OURS = runpy.run_path(str(FOLDER / "by_petsc.py"))
ByPetsc, Machine = OURS["ByPetsc"], OURS["Machine"]
SYSTEM = os.environ.get("PETSC_PYTHON", "/usr/bin/python3")

STAND_IN = """
import sys
import numpy as np
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import spsolve

def read(path):
    data = open(path, "rb").read()
    mark, rows, columns, entries = np.frombuffer(data, ">i4", 4)
    assert mark == 1211216
    widths = np.frombuffer(data, ">i4", rows, 16)
    at = np.frombuffer(data, ">i4", entries, 16 + 4 * rows)
    values = np.frombuffer(data, ">f8", entries, 16 + 4 * (rows + entries))
    return csr_array((values.astype(float), at.astype(int), [0, *np.cumsum(widths)]), shape=(rows, columns))

moves, paid, discount = read(sys.argv[1]), read(sys.argv[2]).toarray(), float(sys.argv[3])
n, actions = paid.shape
value = np.zeros(n)
for _ in range(100):
    best = (paid + discount * (moves @ value).reshape(n, actions)).argmax(axis=1)
    chosen = moves[np.arange(n) * actions + best]
    value = spsolve((eye_array(n) - discount * chosen).tocsc(), paid[np.arange(n), best])
with open(sys.argv[4], "wb") as file:
    file.write(np.array([1211214, n], ">i4").tobytes() + (value + FAULT).astype(">f8").tobytes())
print("stand-in")
"""


def by_stand_in(folder: Path, fault: float = 0.0):
    side = folder / "stand_in.py"
    side.write_text(STAND_IN.replace("FAULT", str(fault)), encoding="utf-8")
    return ByPetsc((sys.executable, "-P"), side)


def test_what_comes_back_is_certified(tmp_path: Path) -> None:
    solution = solve(Machine(worst=40), solver=by_stand_in(tmp_path))
    assert solution.proved
    assert (solution.solver, solution.details["petsc"]) == ("petsc", "stand-in")
    assert solution.value() == pytest.approx(solve(Machine(worst=40), solver="exact").value(), abs=1e-9)


def test_values_that_are_wrong_are_not(tmp_path: Path) -> None:
    assert not solve(Machine(worst=40), solver=by_stand_in(tmp_path, fault=0.5)).proved


def test_the_other_side_may_fail(tmp_path: Path) -> None:
    side = tmp_path / "side.py"
    side.write_text("raise SystemExit('no matrix')", encoding="utf-8")
    with pytest.raises(PluginError, match=r"side\.py failed: no matrix"):
        solve(Machine(worst=4), solver=ByPetsc((sys.executable, "-P"), side))


def test_a_file_that_is_no_vector_is_refused(tmp_path: Path) -> None:
    good = np.array([1211214, 1], ">i4").tobytes() + np.array([2.5], ">f8").tobytes()
    for data in (good[:-1], good[4:] + good[:4]):
        (tmp_path / "values").write_bytes(data)
        with pytest.raises(ValueError, match="not a vector of PETSc"):
            OURS["read_vector"](tmp_path / "values")
    (tmp_path / "values").write_bytes(good)
    assert OURS["read_vector"](tmp_path / "values").tolist() == [2.5]


def has_petsc(*command: str) -> bool:
    try:
        done = subprocess.run(
            [*command, "-c", "import petsc4py.PETSc"], env=OURS["environment"](), capture_output=True, check=False
        )
    except OSError:
        return False
    return done.returncode == 0


@pytest.mark.skipif(
    not has_petsc(SYSTEM), reason="needs a Python with petsc4py: python3-petsc4py of Debian, PETSC_PYTHON"
)
def test_petsc_itself() -> None:
    solution = solve(Machine(worst=200), solver=ByPetsc((SYSTEM,)))
    assert solution.proved
    assert solution.details["petsc"].startswith("201 states, 3 actions, 1 processes: ")
    assert solution.value() == pytest.approx(solve(Machine(worst=200), solver="policy-iteration").value(), abs=1e-8)
