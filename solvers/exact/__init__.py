"""The solver `exact`: rational numbers from end to end."""

from mdpdice.solvers.exact.solver import Exact

__all__ = ["Exact"]
