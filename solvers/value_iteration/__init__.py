"""The solver `value-iteration`: sweeps with bounds on both sides, and two faster methods for special structure."""

from mdpdice.solvers.value_iteration.solver import ValueIteration

__all__ = ["ValueIteration"]
