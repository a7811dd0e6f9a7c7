"""The solver `linear-programming`, through PuLP."""

from mdpdice.solvers.linear_programming.solver import LinearProgramming

__all__ = ["LinearProgramming"]
