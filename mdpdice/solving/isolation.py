"""Solvers in a process of their own, for those that are not trusted to come back.

What `isolate` gives is itself a solver: it hands the problem to a fresh Python process, waits, and takes the answer.
A solver that hangs, calls ``os._exit``, crashes the interpreter or eats all memory takes that process
with it and nothing else; what is left is a `PluginError` that says what became of it.

The process is a new one, not a copy: no lock, thread or open file of this program gets there, on any system.
So the solver has to be one that can be imported, and its parameters have to be data.  Problem and answer
go through sealed files; the answer is checked and certified like any other.  Nothing is pickled.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, cast

import attrs
import numpy as np

from mdpdice.archives import Archive, text_member, write_archive
from mdpdice.backend import Candidate, Feature, Run, Solver, calls_recorded, load_solver, needs, traced
from mdpdice.errors import CorruptFileError, NotConvergedError, PluginError, SolveInterrupted, UnsupportedError
from mdpdice.networks.files import read_network, write_network
from mdpdice.networks.network import Network

GRACE = 0.3
"""Seconds that the process has to return what it has; less than `mdpdice.solving.interruption.GRACE`."""
_PAUSE = 0.02
_DTYPES = {"header": ("|u1",), "value": ("<f8",), "policy": ("<i8",)}


def isolate(solver: str | Solver, *, time_limit: float | None = None, max_bytes: int | None = None) -> Solver:
    """Return a solver that has another one do the work in a process of its own.

    Parameters
    ----------
    solver : str or Solver
        The other solver, by name or with its parameters.
    time_limit : float, optional
        Seconds after which the process is ended; that is an error of the solver then.
    max_bytes : int, optional
        Address space that the process may have, where the system can limit it.  Python and
        what mdpdice needs take about 1.5 GB of it, most of which is never used.

    Returns
    -------
    Solver
        For `mdpdice.solve`, `mdpdice.cross_check` and all others that take solvers.  It raises `PluginError` if the
        solver crashes, hangs or breaks its contract, and `UnsupportedError` if it cannot be imported by another
        process, or if its parameters are not plain data.  It reports no progress and writes no checkpoints, and of
        the candidate's details only numbers and text arrive.

    Examples
    --------
    >>> isolate("value-iteration", time_limit=60).name
    'value-iteration'
    """
    inner = load_solver(solver)() if isinstance(solver, str) else solver
    # Its name is that of an object, not of a class, which is all that the protocol objects to.
    return cast("Solver", _Isolated(inner, time_limit, max_bytes))


_positive = attrs.validators.optional(needs("a number above 0", lambda x: x > 0))


@attrs.frozen
class _Isolated:
    """See `isolate`."""

    solver: Solver
    time_limit: float | None = attrs.field(validator=_positive)
    max_bytes: int | None = attrs.field(validator=_positive)

    @property
    def name(self) -> str:
        """Name of the solver."""
        return self.solver.name

    @property
    def features(self) -> frozenset[Feature]:
        """What the solver can do there."""
        return self.solver.features - {Feature.CHECKPOINT}

    @classmethod
    def available(cls) -> bool:
        """Return True."""
        return True

    @traced
    def solve(self, problem: Network, run: Run) -> Candidate:
        """Have the solver propose an answer."""
        with tempfile.TemporaryDirectory(prefix="mdpdice-") as name:
            folder = Path(name)
            # The names of states and actions stay here: a solver deals with arrays.
            states, actions = range(len(problem.states)), list(range(len(problem.actions)))
            write_network(attrs.evolve(problem, states=states, actions=actions), folder / "problem")
            left = None if run.deadline is None else run.deadline - time.monotonic()
            task: dict[str, Any] = {
                "tolerance": run.tolerance,
                "on_limit": run.on_limit,
                "seconds": left,
                "max_bytes": self.max_bytes,
            }
            (folder / "task").write_text(json.dumps(task | _recipe(self.solver)), encoding="ascii")
            return self._answer(folder, self._wait(folder, run), run)

    def _wait(self, folder: Path, run: Run) -> int:
        """Run the process; its exit status, negative for a signal."""
        path = os.pathsep.join(entry for entry in sys.path if entry)
        command = [sys.executable, "-m", "mdpdice.solving.isolation", str(folder)]
        limit = None if self.time_limit is None else time.monotonic() + self.time_limit
        with (
            (folder / "output").open("wb") as output,
            subprocess.Popen(  # noqa: S603 - this very Python, and a folder of ours
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,  # Ctrl-C is for us to pass on
            ) as child,
        ):
            assert child.stdin is not None
            try:
                while child.poll() is None:
                    late = run.deadline is not None and time.monotonic() > run.deadline
                    if late or run.cancel.is_set():
                        # It notices that its caller has gone, and returns what it has.
                        child.stdin.close()
                        with contextlib.suppress(subprocess.TimeoutExpired):
                            child.wait(GRACE)
                        break
                    if limit is not None and time.monotonic() > limit:
                        why = f"was still running after time_limit={self.time_limit} s and was ended"
                        msg = f"solver {self.name!r} {why}"
                        raise PluginError(msg, name=self.name, phase="solve", limit=self.time_limit)
                    time.sleep(_PAUSE)
            finally:
                _end(child)
            return child.wait()

    def _answer(self, folder: Path, status: int, run: Run) -> Candidate:
        try:
            file = Archive(str(folder / "answer"), _DTYPES, "ask for it again", dimensions=2)
            members = file.read()
            header = json.loads(members["header"].tobytes())
        except (FileNotFoundError, CorruptFileError) as error:
            run.check()
            how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
            if status == -9:
                how += " (out of memory, perhaps)"
            output = (folder / "output").read_bytes()[-2000:].decode("utf-8", "replace").strip()
            last = f": {output.splitlines()[-1]}" if output else ""
            msg = f"the process of solver {self.name!r} {how} without an answer{last}"
            raise PluginError(msg, name=self.name, phase="solve") from error
        candidate = None
        if header["candidate"]:
            details = {**header["details"], "called": header["called"]}
            candidate = Candidate(members["value"], members["policy"], header["iterations"], details)
        message, ended = header["message"], header["ended"]
        if ended == "SolveInterrupted":
            run.check(candidate)
            raise SolveInterrupted(message, partial=candidate)
        if ended == "NotConvergedError":
            after, width = header["after"], header["width"]
            raise NotConvergedError(message, iterations=after, width=width, partial=candidate)
        if ended == "UnsupportedError":
            raise UnsupportedError(message)
        if candidate is None:
            phase = "answer" if ended == "answer" else "solve"
            raise PluginError(f"solver {self.name!r} {message}", name=self.name, phase=phase)
        return candidate


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the process, and the processes that it has started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()
    # Leaving the block of a Popen with a KeyboardInterrupt does not wait.
    child.wait()


def _recipe(solver: Solver) -> dict[str, Any]:
    """How to make the solver again: where its class is, and its parameters."""
    cls = type(solver)
    remedy = f"solver {solver.name!r} cannot be isolated: "
    if cls.__module__ == "__main__" or "<" in cls.__qualname__:
        msg = f"{remedy}move its class {cls.__qualname__} to a module, so that another process can import it"
        raise UnsupportedError(msg, value=solver.name)
    if attrs.has(cls):
        given = (field for field in attrs.fields(cls) if field.init)
        fields = {field.alias or field.name: getattr(solver, field.name) for field in given}
    else:
        fields = dict(getattr(solver, "__dict__", {}))
    for name, value in fields.items():
        try:
            same = json.loads(json.dumps(value)) == value
        except (TypeError, ValueError):
            same = False
        if not same:
            msg = f"{remedy}its parameter {name}={value!r} is not a number, text, list or mapping of them"
            raise UnsupportedError(msg, value=solver.name)
    return {"module": cls.__module__, "class": cls.__qualname__, "parameters": fields}


# --- in the other process ------------------------------------------------------------


def _work(folder: Path) -> None:
    task = json.loads((folder / "task").read_text(encoding="ascii"))
    cancel = threading.Event()
    threading.Thread(target=_listen, args=(cancel,), daemon=True).start()
    if task["max_bytes"] is not None:
        with contextlib.suppress(ImportError):
            import resource

            resource.setrlimit(resource.RLIMIT_AS, (task["max_bytes"],) * 2)
    problem = read_network(folder / "problem")
    found: Any = importlib.import_module(task["module"])
    for name in task["class"].split("."):
        found = getattr(found, name)
    deadline = None if task["seconds"] is None else time.monotonic() + task["seconds"]
    run = Run(task["tolerance"], deadline=deadline, cancel=cancel, on_limit=task["on_limit"])
    answer: Any = None
    called: set[str] = set()
    ended, message, width, iterations = "answer", "", 0.0, 0
    try:
        with calls_recorded() as called:
            answer = found(**task["parameters"]).solve(problem, run)
        message = f"returned {answer!r:.500} instead of a Candidate with arrays of float64 and int64"
    except SolveInterrupted as error:
        answer = run.offered() if error.partial is None else error.partial
        ended, message = "SolveInterrupted", error.message
    except NotConvergedError as error:
        answer, width, iterations = error.partial, error.width, error.iterations
        ended, message = "NotConvergedError", error.message
    except UnsupportedError as error:
        ended, message = "UnsupportedError", str(error)
    except Exception as error:  # noqa: BLE001 - a plug-in can raise anything
        ended, message = "error", f"raised {type(error).__name__}: {error}"
    sound = isinstance(answer, Candidate) and all(
        isinstance(array, np.ndarray) and array.ndim in (1, 2) and array.dtype == dtype
        for array, dtype in ((answer.value, np.float64), (answer.policy, np.int64))
    )
    known = answer.details if sound else {}
    details = {key: value for key, value in known.items() if type(value) in (bool, int, float, str)}
    header: dict[str, Any] = {
        "candidate": sound,
        "iterations": int(answer.iterations) if sound else 0,
        "after": iterations,
    }
    header |= {"details": details, "called": sorted(called), "ended": ended, "message": message, "width": width}
    value, policy = (answer.value, answer.policy) if sound else (np.zeros(1), np.zeros(1, dtype=np.int64))
    arrays = {"value": np.ascontiguousarray(value), "policy": np.ascontiguousarray(policy)}
    write_archive(folder / "answer", {"header": text_member(header), **arrays})


def _listen(cancel: threading.Event) -> None:
    """Stop when the other side closes the pipe, or is no longer there."""
    sys.stdin.buffer.read()
    cancel.set()
    time.sleep(10)
    os._exit(1)


if __name__ == "__main__":
    _work(Path(sys.argv[1]))
