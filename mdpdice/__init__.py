"""mdpdice: declare a game, solve it with interchangeable back-ends, certify the answer."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mdpdice.answers.policy import Policy
    from mdpdice.answers.solution import Solution, Status
    from mdpdice.backend import Candidate, Feature, Run, Solver, load_solver, solver_names
    from mdpdice.crosscheck.report import Report, cross_check
    from mdpdice.exploration.to_lattice import compile_lattice
    from mdpdice.exploration.to_network import explore
    from mdpdice.formats.gymnasium_adapter import to_gymnasium
    from mdpdice.lattices.lattice import Lattice
    from mdpdice.modelling.counters import At, Counter, Flags
    from mdpdice.modelling.dice import d6, die, pool
    from mdpdice.modelling.distribution import Dist, certainly, product, uniform
    from mdpdice.modelling.enclosure import Enclosure
    from mdpdice.modelling.expressions import Expr, least, most, table
    from mdpdice.modelling.game import (
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
    from mdpdice.modelling.tables import Table, Thresholds
    from mdpdice.networks.network import Kind, Network
    from mdpdice.objectives.objective import (
        Discounted,
        Horizon,
        Objective,
        PayoffAtLeast,
        PayoffAtMost,
        Reach,
        Total,
        UntilReward,
        Utility,
    )
    from mdpdice.policies.distribution import Outcomes, outcomes
    from mdpdice.policies.evaluation import evaluate
    from mdpdice.policies.simulation import Simulation, simulate
    from mdpdice.solving.isolation import isolate
    from mdpdice.solving.pipeline import solve

    __version__: str
else:
    # Importing numpy, scipy and numba takes longer than "mdpdice --help" may, and a model that is only
    # declared needs none of the solvers, so a name is imported when it is first asked for.  This is
    # hidden from type checkers, which would otherwise take any name for one of the library.
    _HOMES = {
        "mdpdice.backend": ("Candidate", "Feature", "Run", "Solver", "load_solver", "solver_names"),
        "mdpdice.modelling.counters": ("At", "Counter", "Flags"),
        "mdpdice.crosscheck.report": ("Report", "cross_check"),
        "mdpdice.modelling.dice": ("d6", "die", "pool"),
        "mdpdice.modelling.distribution": ("Dist", "certainly", "product", "uniform"),
        "mdpdice.policies.distribution": ("Outcomes", "outcomes"),
        "mdpdice.modelling.enclosure": ("Enclosure",),
        "mdpdice.policies.evaluation": ("evaluate",),
        "mdpdice.exploration.to_network": ("explore",),
        "mdpdice.modelling.expressions": ("Expr", "least", "most", "table"),
        "mdpdice.modelling.game": (
            *("ClassicMDP", "Edge", "Game", "Node", "Option"),
            *("chance", "decide", "end", "go", "pass_to", "roll", "when"),
        ),
        "mdpdice.formats.gymnasium_adapter": ("to_gymnasium",),
        "mdpdice.solving.isolation": ("isolate",),
        "mdpdice.exploration.to_lattice": ("compile_lattice",),
        "mdpdice.lattices.lattice": ("Lattice",),
        "mdpdice.networks.network": ("Kind", "Network"),
        "mdpdice.objectives.objective": (
            *("Discounted", "Horizon", "Objective", "PayoffAtLeast", "PayoffAtMost"),
            *("Reach", "Total", "UntilReward", "Utility"),
        ),
        "mdpdice.answers.policy": ("Policy",),
        "mdpdice.policies.simulation": ("Simulation", "simulate"),
        "mdpdice.answers.solution": ("Solution", "Status"),
        "mdpdice.solving.pipeline": ("solve",),
        "mdpdice.modelling.tables": ("Table", "Thresholds"),
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
    "Expr",
    "Feature",
    "Flags",
    "Game",
    "Horizon",
    "Kind",
    "Lattice",
    "Network",
    "Node",
    "Objective",
    "Option",
    "Outcomes",
    "PayoffAtLeast",
    "PayoffAtMost",
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
