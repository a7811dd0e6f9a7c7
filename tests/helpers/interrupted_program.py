"""A program that solves something long; the tests interrupt it.

``interrupted_program.py BACKEND`` prints ``ready`` when the solver has something to hand over, and one line of
JSON when the solve is over.
"""

import contextlib
import json
import sys
import time

import numpy as np

from mdpdice import solve
from mdpdice.backend import Run, load_solver
from mdpdice.errors import NotConvergedError, SolveInterrupted
from mdpdice.networks.network import Kind, Network


def random_choices(n, seed=0):
    """States with four choices of five branches each, rewards from 0 to 1, discount 0.999."""
    rng = np.random.default_rng(seed)
    p = rng.random((4 * n, 5))
    return Network.from_choices(
        np.arange(n + 1) * 4,
        np.arange(4 * n + 1) * 5,
        rng.integers(0, n, 20 * n),
        (p / p.sum(axis=1, keepdims=True)).ravel(),
        rng.random(4 * n),
        discount="0.999",
    )


def gambler(n):
    """A fair game until the fortune is 0 or n + 1: from the middle the chance to win is 1/2."""
    inner = np.arange(1, n + 1)
    dst = np.column_stack((inner - 1, inner + 1)).ravel()
    return Network(
        kind=[Kind.END] + [Kind.CHANCE] * n + [Kind.END],
        indptr=np.concatenate(([0, 0], 2 * inner, [2 * n])),
        dst=dst,
        weight=np.full(2 * n, 0.5),
        reward=np.zeros(2 * n),
        sign=np.ones(2 * n),
        step=np.ones(2 * n),
        payoff=[0.0] * (n + 1) + [1.0],
        start=(n + 1) // 2,
    )


def stairs(n):
    """Stop for 0, or climb to the step with the next lower number, with a small chance to fall to the foot.

    The top is worth 1, so everybody is, but sweeps and new policies find that out step by step.
    """
    end = 2 * n
    climb = np.append(end + 1, np.arange(n - 1))
    options = np.column_stack((np.full(n, end), n + np.arange(n))).ravel()
    return Network(
        kind=[Kind.MAX] * n + [Kind.CHANCE] * n + [Kind.END] * 2,
        indptr=np.append(2 * np.arange(2 * n + 1), [4 * n] * 2),
        dst=np.concatenate((options, np.column_stack((climb, np.full(n, n - 1))).ravel())),
        weight=np.append(np.ones(2 * n), np.tile([1 - 1e-6, 1e-6], n)),
        reward=np.zeros(4 * n),
        sign=np.ones(4 * n),
        step=np.append(np.zeros(2 * n), np.ones(2 * n)),
        payoff=[0.0] * (2 * n + 1) + [1.0],
        start=n - 1,
    )


PROBLEMS = {
    "backward-induction": lambda: (random_choices(3000), 400, None),
    "exact": lambda: (random_choices(300), None, None),
    "linear-programming": lambda: (random_choices(3000), None, None),
    "policy-iteration": lambda: (stairs(20_000), None, 1.0),
    "value-iteration": lambda: (gambler(2001), None, 0.5),
}
PARAMETERS = {"policy-iteration": {"max_iterations": 10**9}, "value-iteration": {"max_sweeps": 10**15}}


def main(name):
    network, horizon, truth = PROBLEMS[name]()
    backend = load_solver(name)(**PARAMETERS.get(name, {}))
    if horizon is None and truth is None:
        truth = solve(network, solver="value-iteration").value()
    # The kernels are compiled and loaded: what is measured is the solve.
    solve(gambler(3), solver="value-iteration")
    if name == "policy-iteration":
        with contextlib.suppress(NotConvergedError):
            solve(network, solver=load_solver(name)(max_iterations=3))
    offer = Run.offer

    def announced(self, make):
        offer(self, make)
        Run.offer = offer
        print("ready", flush=True)

    Run.offer = announced
    try:
        solution = solve(network, solver=backend, horizon=horizon)
    except SolveInterrupted as stop:
        over = time.time()
        partial = stop.partial
        told = {"over": over, "message": stop.message, "partial": partial is not None, "truth": truth}
        if partial is not None:
            told |= {"status": partial.status.value, "lower": partial.lower(), "upper": partial.upper()}
            told["value"] = partial.estimate()
    else:
        told = {"finished": repr(solution)}
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
