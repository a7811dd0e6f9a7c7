"""What policy iteration keeps in a checkpoint: the values so far, and the current block as it was before an evaluation.

From there everything follows, so a solve that goes on comes to the same bits as one that was never stopped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdpdice.backend import Run
from mdpdice.errors import CorruptFileError
from mdpdice.networks.network import Floats, Ints, Network


class Kept:
    """The state of a solve, as arrays of a size that the problem alone decides, and the checkpoint of its `run`."""

    def __init__(self, problem: Network, run: Run) -> None:
        n = problem.n_nodes
        self.problem = problem
        self.run = run
        # First unfinished component, whether its block was entered, evaluations before the block, and of the block.
        self.counts = np.zeros(4, dtype=np.int64)
        self.value, self.policy = np.zeros(n), np.full(n, -1, dtype=np.int64)
        # A block with `pass_to` has a variable for either side.
        self.inner_value, self.inner_policy = np.zeros(2 * n), np.zeros(2 * n, dtype=np.int64)
        self.switched = np.ones(1)
        self.arrays: dict[str, NDArray[Any]] = {
            "counts": self.counts,
            "value": self.value,
            "policy": self.policy,
            "inner value": self.inner_value,
            "inner policy": self.inner_policy,
            "switched": self.switched,
        }
        self.resumed = run.resume(self.arrays)
        if self.resumed:
            self._require_numbers()
            run.tell("resume", iterations=int(self.counts[2] + self.counts[3]))

    def _require_numbers(self) -> None:
        """Refuse what would lead out of the arrays."""
        problem, policy = self.problem, self.policy
        wrong = [name for name, array in self.arrays.items() if not np.isfinite(array).all()]
        own = (problem.indptr[:-1] <= policy) & (policy < problem.indptr[1:]) & problem.decides
        if not (own | (policy == -1)).all():
            wrong.append("policy")
        if not ((self.counts >= 0) & (self.counts < 1 << 53)).all() or self.counts[1] > 1:
            wrong.append("counts")
        if wrong:
            raise self.corrupt(wrong[0])

    def corrupt(self, field: str) -> CorruptFileError:
        """Return the error about numbers that cannot be."""
        assert self.run.checkpoint is not None
        return self.run.checkpoint.corrupt(field, "its numbers are out of range")

    def at_component(self, first: int, value: Floats, policy: Ints, iterations: int) -> None:
        """Keep where the solve stands before a component, and write it down if it is time to."""
        self.counts[:] = first, 0, iterations, 0
        self.value[:], self.policy[:] = value, policy
        self.save()

    def enter(self, value: Floats, policy: Ints) -> None:
        """Keep what the current block was made from."""
        self.value[:], self.policy[:] = value, policy

    def at_evaluation(self, value: Floats, policy: Ints, switched: float, iterations: int) -> None:
        """Keep the current block before it is evaluated, and write it to the file if it is time to."""
        self.counts[1], self.counts[3] = 1, iterations
        self.inner_value[: len(value)], self.inner_policy[: len(policy)] = value, policy
        self.switched[0] = switched
        self.save()

    def inner(self, start: Ints) -> tuple[Floats, Ints, float, int]:
        """Return the block as it was kept: values and options of its variables, share that switched, evaluations."""
        size = len(start) - 1
        value, policy = self.inner_value[:size].copy(), self.inner_policy[:size].copy()
        if not ((start[:-1] <= policy) & (policy < start[1:])).all():
            raise self.corrupt("inner policy")
        return value, policy, float(self.switched[0]), int(self.counts[3])

    def save(self, *, now: bool = False) -> None:
        """Write the state down if it is time to, or `now`."""
        self.run.save(self.arrays, int(self.counts[2] + self.counts[3]), now=now)
