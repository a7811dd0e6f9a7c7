"""The solver `policy-iteration`: block by block, with direct and Krylov solutions of linear systems."""

from mdpdice.solvers.policy_iteration.solver import PolicyIteration

__all__ = ["PolicyIteration"]
