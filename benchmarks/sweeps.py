"""What a sweep costs beside a product of a sparse matrix, on one thread and on two.

A backup of a discounted problem reads every probability once, as does the product of scipy's CSR matrix of the
same probabilities with a vector, which is about the least that any program needs.  Both are timed in turn, by the
clock, on the seeded model of 100,000 states with 4 actions of 10 successors; every round gives a ratio, and the
median is printed.  The sweeps are those of the solver, with its threads.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import models
import numpy as np

from mdpdice.backend import Run
from mdpdice.solvers.value_iteration.modified_policy_iteration import Sweeps, recognise

ROUNDS = 101
GOALS = {1: 1.2, 2: 1.0}
"""Products that a sweep may take, by threads."""


def clock(work: Callable[[], Any]) -> float:
    """Seconds of one call."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def main() -> int:
    """Print the ratios; the exit status says whether they are as small as they should be."""
    model = models.discounted(10**5, 10)
    network, matrix = model.network(), model.matrix()
    x = np.random.default_rng(1).random(matrix.shape[1])
    kind = recognise(network)
    assert kind is not None, "decisions and chance take turns in this model"
    print(f"{network!r}, {matrix.nnz:,} probabilities, {os.cpu_count()} cores")
    missed = 0
    for threads, goal in GOALS.items():
        with ThreadPoolExecutor(threads) as pool:
            sweeps = Sweeps(network, kind, Run(), pool if threads > 1 else None, 2 * threads)
            for _ in range(5):  # compiles, and settles most of the decisions
                sweeps.improve()
            times = [(clock(sweeps.improve), clock(lambda: matrix @ x)) for _ in range(ROUNDS)]
        ratio = statistics.median(mine / product for mine, product in times)
        print(f"{threads} thread{'s' * (threads > 1)}: a sweep takes {ratio:.2f} products (goal {goal:g})")
        missed += ratio > goal
    return min(1, missed)


if __name__ == "__main__":
    sys.exit(main())
