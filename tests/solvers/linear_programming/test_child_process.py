import sys
import threading
import time

import numpy as np
import pytest
from scipy.sparse import csr_array

from mdpdice.errors import PluginError
from mdpdice.solvers.linear_programming import pulp_adapter
from mdpdice.solvers.linear_programming.child_process import leash
from mdpdice.solvers.linear_programming.pulp_adapter import Outcome, Program

PROGRAMS = [name for name in pulp_adapter.available_solvers() if name.endswith("_CMD")]


def small(n=40):
    rng = np.random.default_rng(1)
    return Program(
        maximise=False,
        cost=np.ones(n),
        nonnegative=np.ones(n, dtype=bool),
        matrix=csr_array(rng.random((n, n))),
        rhs=rng.random(n),
        equal=np.zeros(n, dtype=bool),
    )


@pytest.mark.skipif(not PROGRAMS, reason="PuLP finds no program to start here, only solvers inside Python")
@pytest.mark.parametrize("solver", PROGRAMS or ["none"])
def test_real_programs(solver, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    calm = pulp_adapter.solve(small(), solver)
    assert calm.outcome is Outcome.OPTIMAL
    np.testing.assert_allclose(calm.x.sum(), pulp_adapter.solve(small()).x.sum())
    large = small(700)
    began = time.monotonic()
    assert pulp_adapter.solve(large, solver, stop=lambda: True).outcome is Outcome.STOPPED
    print(f"{solver}: {time.monotonic() - began:.1f} s, building included")
    assert not list(tmp_path.iterdir())


class Fake:
    """As much of a PuLP solver as is needed: a program that sleeps."""

    name = "fake"
    path = sys.executable
    tmpDir = None  # noqa: N815

    def solve(self, problem=None, **_):
        import subprocess

        return subprocess.run([self.path, "-c", "import time; time.sleep(600)"], check=False).returncode


def test_stopped_in_time():
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    began = time.monotonic()
    fake = Fake()
    with leash(fake, stop.is_set) as stopped:
        assert fake.solve() == -9
    assert stopped.is_set()
    assert time.monotonic() - began < 5


def test_ended_with_the_block():
    import os
    from pathlib import Path

    fake = Fake()

    def broken():
        with leash(fake, lambda: False):
            worker = threading.Thread(target=lambda: codes.append(fake.solve()))
            worker.start()
            while not (Path(fake.tmpDir) / "pid").exists():
                time.sleep(0.01)
            time.sleep(0.2)
            workers.append(worker)
            raise KeyboardInterrupt

    codes, workers = [], []
    with pytest.raises(KeyboardInterrupt):
        broken()
    workers[0].join(10)
    assert codes == [-9]
    assert not os.path.exists(fake.tmpDir)  # noqa: PTH110


def test_a_solver_without_a_program():
    class Inside:
        path = None

    inside = Inside()
    with leash(inside, lambda: True) as stopped:
        assert stopped.wait(5)
        assert inside.path is None


def test_failures_that_nobody_asked_for_are_told(monkeypatch):
    class Broken(Fake):
        def available(self):
            return True

        def solve(self, problem=None, **_):  # asked by PuLP 4
            import pulp

            raise pulp.PulpSolverError("no")

        actualSolve = solve  # noqa: N815 - asked by PuLP 3

        def toDict(self):  # noqa: N802
            return {}

    monkeypatch.setattr(pulp_adapter, "_other", lambda *_: Broken())
    with pytest.raises(PluginError, match="failed: no"):
        pulp_adapter.solve(small(), "broken")
