"""Programs that use checkpoints; the tests kill them.

``checkpoint_programs.py write PATH SIZE STEP`` writes one state, prints ``ready``, and writes others until
it is killed; with STEP > 0 it kills itself at that line of the library.
``checkpoint_programs.py hold PATH`` locks a checkpoint, prints ``ready``, and waits.
``checkpoint_programs.py solve PATH`` prints ``ready`` after the first checkpoint of a long solve, and goes on.
"""

import itertools
import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

KEY = {"problem": "a", "solver": "b"}


def arrays(n, size):
    """The n-th state: every number in it is n."""
    return {"count": np.full(3, n), "value": np.full((2, size), float(n)), "policy": np.full(size, n)}


def write(path, size, step):
    from mdpdice.solving.checkpoints import Checkpoint

    lines, armed = itertools.count(1), []

    def trace(frame, event, argument):
        if "mdpdice" not in frame.f_code.co_filename and "zipfile" not in frame.f_code.co_filename:
            return None
        if event == "line" and armed and next(lines) == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    if step:
        sys.settrace(trace)
        # And the thread that writes.
        threading.settrace(trace)
    with Checkpoint(path) as file:
        file.open(KEY, {})
        file.put("state", arrays(1, size))
        while not any(Path(path).glob("*.npz")):
            time.sleep(0.001)
        print("ready", flush=True)
        armed.append(True)
        for n in itertools.count(2):
            file.put("state", arrays(n, size))


def hold(path):
    from mdpdice.solving.checkpoints import Checkpoint

    with Checkpoint(path):
        print("ready", flush=True)
        time.sleep(600)


def problem():
    """A walk whose settling takes some seconds."""
    from mdpdice import Game, decide, end, go, roll, uniform

    def node(n):
        if n in {0, 200}:
            return end(n // 200)
        return decide({"fair": roll(uniform([-1, 1]), lambda k: go(n + k)), "stop": end(n / 401)})

    return Game.of(start=100, node=node)


def solve(path):
    from mdpdice import solve
    from mdpdice.solvers.value_iteration import solver as value_iteration

    value_iteration.BUDGET = 100_000

    def told(phase, numbers):
        if any(Path(path).glob("*.npz")):
            print("ready", flush=True)

    solve(problem(), solver="value-iteration", checkpoint=path, checkpoint_seconds=0, progress=told)
    print("over", flush=True)


if __name__ == "__main__":
    what, path, *numbers = sys.argv[1:]
    {"write": write, "hold": hold, "solve": solve}[what](path, *map(int, numbers))
