"""The solver `lookahead`: depth-limited search of games that are too large to explore."""

from mdpdice.solvers.lookahead.solver import Lookahead

__all__ = ["Lookahead"]
