"""mdpdice: declare a game, solve it with interchangeable back-ends, certify the answer."""

from mdpdice.backend import Candidate, Feature, Run, Solver, load_solver, solver_names
from mdpdice.crosscheck import Report, cross_check
from mdpdice.dice import d6, die, pool
from mdpdice.dist import Dist, certainly, product, uniform
from mdpdice.exploration import explore
from mdpdice.game import ClassicMDP, Edge, Game, Node, Option, chance, decide, end, go, pass_to, roll, when
from mdpdice.network import Kind, Network
from mdpdice.objectives import Discounted, Horizon, Objective, Total
from mdpdice.solution import Solution, Status
from mdpdice.solving import solve

__all__ = [
    "Candidate",
    "ClassicMDP",
    "Discounted",
    "Dist",
    "Edge",
    "Feature",
    "Game",
    "Horizon",
    "Kind",
    "Network",
    "Node",
    "Objective",
    "Option",
    "Report",
    "Run",
    "Solution",
    "Solver",
    "Status",
    "Total",
    "certainly",
    "chance",
    "cross_check",
    "d6",
    "decide",
    "die",
    "end",
    "explore",
    "go",
    "load_solver",
    "pass_to",
    "pool",
    "product",
    "roll",
    "solve",
    "solver_names",
    "uniform",
    "when",
]
