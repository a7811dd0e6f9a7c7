"""mdpdice: declare a game, solve it with interchangeable back-ends, certify the answer."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mdpdice.backend import Candidate, Feature, Run, Solver, load_solver, solver_names
    from mdpdice.counters import At, Counter, Flags
    from mdpdice.crosscheck import Report, cross_check
    from mdpdice.dice import d6, die, pool
    from mdpdice.dist import Dist, certainly, product, uniform
    from mdpdice.distributions import Outcomes, outcomes
    from mdpdice.enclosures import Enclosure
    from mdpdice.evaluation import Evaluation, evaluate
    from mdpdice.exploration import explore
    from mdpdice.expressions import Expr, least, most, table
    from mdpdice.formats.agents import to_gymnasium
    from mdpdice.game import (
        ClassicMDP,
        Edge,
        Game,
        Node,
        Option,
        chance,
        decide,
        end,
        go,
        pass_to,
        roll,
        when,
    )
    from mdpdice.isolation import isolate
    from mdpdice.lattice import Lattice, compile_lattice
    from mdpdice.lattice_solution import LatticeSolution
    from mdpdice.network import Kind, Network
    from mdpdice.objectives import (
        Discounted,
        Horizon,
        Objective,
        PayoffAtLeast,
        Reach,
        Total,
        UntilReward,
        Utility,
    )
    from mdpdice.policies import Policy
    from mdpdice.simulation import Simulation, simulate
    from mdpdice.solution import Solution, Status
    from mdpdice.solving import solve
    from mdpdice.tables import Table, Thresholds

    __version__: str
else:
    # Importing numpy, scipy and numba takes longer than "mdpdice --help" may, and a model that is only
    # declared needs none of the solvers, so a name is imported when it is first asked for.  This is
    # hidden from type checkers, which would otherwise take any name for one of the library.
    _HOMES = {
        "mdpdice.backend": ("Candidate", "Feature", "Run", "Solver", "load_solver", "solver_names"),
        "mdpdice.counters": ("At", "Counter", "Flags"),
        "mdpdice.crosscheck": ("Report", "cross_check"),
        "mdpdice.dice": ("d6", "die", "pool"),
        "mdpdice.dist": ("Dist", "certainly", "product", "uniform"),
        "mdpdice.distributions": ("Outcomes", "outcomes"),
        "mdpdice.enclosures": ("Enclosure",),
        "mdpdice.evaluation": ("Evaluation", "evaluate"),
        "mdpdice.exploration": ("explore",),
        "mdpdice.expressions": ("Expr", "least", "most", "table"),
        "mdpdice.game": (
            *("ClassicMDP", "Edge", "Game", "Node", "Option"),
            *("chance", "decide", "end", "go", "pass_to", "roll", "when"),
        ),
        "mdpdice.formats.agents": ("to_gymnasium",),
        "mdpdice.isolation": ("isolate",),
        "mdpdice.lattice": ("Lattice", "compile_lattice"),
        "mdpdice.lattice_solution": ("LatticeSolution",),
        "mdpdice.network": ("Kind", "Network"),
        "mdpdice.objectives": (
            *("Discounted", "Horizon", "Objective", "PayoffAtLeast"),
            *("Reach", "Total", "UntilReward", "Utility"),
        ),
        "mdpdice.policies": ("Policy",),
        "mdpdice.simulation": ("Simulation", "simulate"),
        "mdpdice.solution": ("Solution", "Status"),
        "mdpdice.solving": ("solve",),
        "mdpdice.tables": ("Table", "Thresholds"),
    }
    _HOME = {name: module for module, names in _HOMES.items() for name in names}

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name == "__version__":
            from importlib.metadata import version

            found = version("mdpdice")
        elif name in _HOME:
            found = getattr(import_module(_HOME[name]), name)
        elif name.startswith("_"):
            raise AttributeError(f"module 'mdpdice' has no attribute {name!r}")
        else:
            # `import mdpdice; mdpdice.errors.CycleError` works, as it does once anything else was used.
            try:
                return import_module(f"mdpdice.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"mdpdice.{name}":
                    raise
                raise AttributeError(f"module 'mdpdice' has no attribute {name!r}") from None
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, "__version__"})


__all__ = [
    "At",
    "Candidate",
    "ClassicMDP",
    "Counter",
    "Discounted",
    "Dist",
    "Edge",
    "Enclosure",
    "Evaluation",
    "Expr",
    "Feature",
    "Flags",
    "Game",
    "Horizon",
    "Kind",
    "Lattice",
    "LatticeSolution",
    "Network",
    "Node",
    "Objective",
    "Option",
    "Outcomes",
    "PayoffAtLeast",
    "Policy",
    "Reach",
    "Report",
    "Run",
    "Simulation",
    "Solution",
    "Solver",
    "Status",
    "Table",
    "Thresholds",
    "Total",
    "UntilReward",
    "Utility",
    "certainly",
    "chance",
    "compile_lattice",
    "cross_check",
    "d6",
    "decide",
    "die",
    "end",
    "evaluate",
    "explore",
    "go",
    "isolate",
    "least",
    "load_solver",
    "most",
    "outcomes",
    "pass_to",
    "pool",
    "product",
    "roll",
    "simulate",
    "solve",
    "solver_names",
    "table",
    "to_gymnasium",
    "uniform",
    "when",
]
