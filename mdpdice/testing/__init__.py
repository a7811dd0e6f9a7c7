"""Conformance kits: does a game, or a solver, keep what the rest of mdpdice relies on?

`check_game` examines one game, `check_same` compares two declarations of one, and `check_solver` puts a solver
through a battery of small models whose answers the kit holds as rationals.  All are plain functions: call them from any
test.  The first check that fails raises `mdpdice.errors.ConformanceError`, which is an `AssertionError` and says which
check failed, where, and what to do.  If none does, a `Conformance` is returned that lists what was checked and, apart
from that, what was not and why; name in `require` what must not be left out.
"""

from mdpdice.testing.games import GAME_CHECKS, check_game
from mdpdice.testing.known_models import MODELS, Model
from mdpdice.testing.reports import Check, Conformance
from mdpdice.testing.same_model import check_same
from mdpdice.testing.solvers import SOLVER_CHECKS, check_solver

__all__ = [
    "GAME_CHECKS", "MODELS", "SOLVER_CHECKS", "Check", "Conformance", "Model", "check_game", "check_same",
    "check_solver",
]  # fmt: skip
