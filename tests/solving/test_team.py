"""Several processes solve one lattice: the same bits whatever their number, and what one of them meets all do."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install mdpdice[mpi]")
# That of the environment, which belongs to the MPI of mpi4py there, before any other.
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="mpiexec is not installed: pip install mpich")
HELPERS = Path(__file__).parents[1] / "helpers"
SAME = ("values_digest", "lower", "upper", "value", "states", "edges", "status")


def words(count, *command):
    return [*([MPIEXEC, "-n", str(count)] if count else []), sys.executable, *command]


def mdpdice(count, *options):
    """Run a command in so many processes, 0 for one without mpiexec; what it prints as JSON."""
    done = subprocess.run(
        words(count, "-m", "mdpdice.cli", *options, "--json"), check=False, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def begun(folder, *options):
    """Start two processes; return the job once they have kept something in a folder."""
    command = words(2, "-m", "mdpdice.cli", *options, "--json", "--checkpoint", str(folder))
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    limit = time.monotonic() + 120
    while not list(folder.glob("*-steps-*.npz")):
        assert job.poll() is None, job.stderr.read()
        assert time.monotonic() < limit
        time.sleep(0.005)
    return job


@pytest.mark.slow
def test_three_processes_on_two_machines():
    # MPICH can be asked to take the processes of a machine for those of two.
    command = words(3, str(HELPERS / "team_program.py"))
    env = os.environ | {"MPIR_CVAR_NUM_CLIQUES": "2"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, env=env)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


@pytest.mark.parametrize(("count", "machines"), [(2, 1), pytest.param(3, 2, marks=pytest.mark.slow)])
def test_what_was_found_and_verified_is_kept(count, machines, tmp_path):
    command = words(count, str(HELPERS / "team_kept.py"), str(tmp_path))
    env = os.environ | {"PYTHONPATH": str(HELPERS.parent), "MPIR_CVAR_NUM_CLIQUES": str(machines)}
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, env=env)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are found in /proc")
def test_two_processes_of_which_one_is_killed_and_then_go_on(tmp_path):
    folder = tmp_path / "kept"
    with begun(folder, "solve", "yahtzee") as job:
        first = json.loads((folder / "lock").read_text())["pid"]
        parent = int(Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()[1])
        pids = [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
        (second,) = set(pids) - {first}
        os.kill(second, signal.SIGKILL)
        out, told = job.communicate(timeout=60)
        assert job.returncode != 0
        assert out == "" or "signal 9" in out
        assert f"The same command, with any number of them, goes on from what {folder} holds." in told
    alone = mdpdice(0, "solve", "yahtzee")
    found = mdpdice(2, "solve", "yahtzee", "--checkpoint", str(folder))
    assert (alone["ranks"], found["ranks"]) == (1, 2)
    assert 0 < found["resumed_layers"] < 14
    assert {key: found[key] for key in SAME} == {key: alone[key] for key in SAME}


def test_what_goes_wrong_is_said_once():
    done = subprocess.run(
        words(2, "-m", "mdpdice.cli", "solve", "nosuch"), check=False, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr.count("no game is called 'nosuch'")) == (2, 1)


def test_a_network_is_solved_by_each():
    found = mdpdice(2, "solve", "piglet")
    assert found["ranks"] == 1
    assert found["notes"] == ["each process solved it alone: only what is solved on a lattice is shared"]


def test_without_mpi4py():
    program = "import sys; sys.modules['mpi4py'] = None; from mdpdice.cli import main; main()"
    command = [sys.executable, "-c", program, "solve", "pig-turn"]
    env = os.environ | {"PMI_SIZE": "2", "PMI_RANK": "0"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, env=env)
    assert (done.returncode, done.stderr) == (
        1,
        "Error: 2 processes share a solve by mpi4py: pip install mdpdice[mpi]\n",
    )


@pytest.mark.slow
def test_ctrl_c_stops_all_and_is_said_once(tmp_path):
    with begun(tmp_path / "kept", "solve", "yatzy") as job:
        job.send_signal(signal.SIGINT)
        _, told = job.communicate(timeout=120)
    assert job.returncode == 130
    assert told.count("Interrupted. The value lies in [") == 1
    assert (tmp_path / "kept" / "manifest.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("options", ["yahtzee", "yatzy", "pig-race", "farkle-race -p target=1500"])
def test_any_number_of_processes_gives_the_same_bits(options):
    alone = mdpdice(0, "solve", *options.split())
    for count in (1, 2, 3):
        found = mdpdice(count, "solve", *options.split())
        assert found["ranks"] == count
        assert {key: found[key] for key in SAME} == {key: alone[key] for key in SAME}


@pytest.mark.slow
@pytest.mark.parametrize("count", [0, 3])
def test_another_number_of_processes_goes_on(count, tmp_path):
    folder = tmp_path / "kept"
    with begun(folder, "solve", "yatzy") as job:
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=120)
    found = mdpdice(count, "solve", "yatzy", "--checkpoint", str(folder))
    assert found["resumed_layers"] > 0
    alone = mdpdice(0, "solve", "yatzy")
    assert {key: found[key] for key in SAME} == {key: alone[key] for key in SAME}
