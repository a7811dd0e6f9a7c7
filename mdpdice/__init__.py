"""mdpdice: declare a game, solve it with interchangeable solvers, certify the answer."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # `Name as Name` tells type checkers that it is handed on.
    from mdpdice.answers.policy import Policy as Policy  # noqa: I001 - it would give every name a line
    from mdpdice.answers.solution import Solution as Solution, Status as Status
    from mdpdice.backend import (
        Candidate as Candidate,
        Feature as Feature,
        Run as Run,
        Solver as Solver,
        load_solver as load_solver,
        solver_names as solver_names,
    )
    from mdpdice.crosscheck.report import Report as Report, cross_check as cross_check
    from mdpdice.exploration.to_lattice import compile_lattice as compile_lattice
    from mdpdice.exploration.to_network import explore as explore
    from mdpdice.formats.gymnasium_toy_text import to_gymnasium as to_gymnasium
    from mdpdice.lattices.lattice import Lattice as Lattice
    from mdpdice.modelling.counters import At as At, Counter as Counter, Flags as Flags
    from mdpdice.modelling.dice import d6 as d6, die as die, explode as explode, highest as highest, pool as pool
    from mdpdice.modelling.distribution import (
        Dist as Dist,
        certainly as certainly,
        product as product,
        uniform as uniform,
    )
    from mdpdice.modelling.enclosure import Enclosure as Enclosure
    from mdpdice.modelling.expressions import Expr as Expr, least as least, most as most, table as table
    from mdpdice.modelling.game import (
        ClassicMDP as ClassicMDP,
        Edge as Edge,
        Game as Game,
        Node as Node,
        Option as Option,
        chance as chance,
        decide as decide,
        end as end,
        go as go,
        pass_to as pass_to,
        roll as roll,
        uncertain as uncertain,
        when as when,
    )
    from mdpdice.modelling.race import race as race
    from mdpdice.modelling.repeated import repeated as repeated
    from mdpdice.modelling.tables import Table as Table, Thresholds as Thresholds
    from mdpdice.networks.network import Kind as Kind, Network as Network
    from mdpdice.objectives.objective import (
        AverageReward as AverageReward,
        Discounted as Discounted,
        Horizon as Horizon,
        Objective as Objective,
        PayoffAtLeast as PayoffAtLeast,
        PayoffAtMost as PayoffAtMost,
        Reach as Reach,
        Total as Total,
        UntilReward as UntilReward,
        Utility as Utility,
        Win as Win,
    )
    from mdpdice.objectives.risk import CVaR as CVaR, Quantile as Quantile
    from mdpdice.policies.distribution import Outcomes as Outcomes, outcomes as outcomes
    from mdpdice.policies.evaluation import evaluate as evaluate
    from mdpdice.policies.markov_chain import markov_chain as markov_chain
    from mdpdice.policies.simulation import Simulation as Simulation, simulate as simulate
    from mdpdice.solving.isolation import isolate as isolate
    from mdpdice.solving.pipeline import solve as solve

    __version__: str
else:
    # Importing numpy, scipy and numba takes longer than "mdpdice --help" may, and a model that is only
    # declared needs none of the solvers, so a name is imported when it is first asked for.  This is
    # hidden from type checkers, which would otherwise take any name for one of the library.
    _HOMES = {
        "mdpdice.backend": ("Candidate", "Feature", "Run", "Solver", "load_solver", "solver_names"),
        "mdpdice.modelling.counters": ("At", "Counter", "Flags"),
        "mdpdice.crosscheck.report": ("Report", "cross_check"),
        "mdpdice.modelling.dice": ("d6", "die", "explode", "highest", "pool"),
        "mdpdice.modelling.distribution": ("Dist", "certainly", "product", "uniform"),
        "mdpdice.policies.distribution": ("Outcomes", "outcomes"),
        "mdpdice.modelling.enclosure": ("Enclosure",),
        "mdpdice.policies.evaluation": ("evaluate",),
        "mdpdice.policies.markov_chain": ("markov_chain",),
        "mdpdice.exploration.to_network": ("explore",),
        "mdpdice.modelling.expressions": ("Expr", "least", "most", "table"),
        "mdpdice.modelling.game": (
            *("ClassicMDP", "Edge", "Game", "Node", "Option"),
            *("chance", "decide", "end", "go", "pass_to", "roll", "uncertain", "when"),
        ),
        "mdpdice.modelling.race": ("race",),
        "mdpdice.formats.gymnasium_toy_text": ("to_gymnasium",),
        "mdpdice.solving.isolation": ("isolate",),
        "mdpdice.exploration.to_lattice": ("compile_lattice",),
        "mdpdice.lattices.lattice": ("Lattice",),
        "mdpdice.networks.network": ("Kind", "Network"),
        "mdpdice.objectives.objective": (
            *("AverageReward", "Discounted", "Horizon", "Objective", "PayoffAtLeast", "PayoffAtMost"),
            *("Reach", "Total", "UntilReward", "Utility", "Win"),
        ),
        "mdpdice.objectives.risk": ("CVaR", "Quantile"),
        "mdpdice.modelling.repeated": ("repeated",),
        "mdpdice.answers.policy": ("Policy",),
        "mdpdice.policies.simulation": ("Simulation", "simulate"),
        "mdpdice.answers.solution": ("Solution", "Status"),
        "mdpdice.solving.pipeline": ("solve",),
        "mdpdice.modelling.tables": ("Table", "Thresholds"),
    }
    _HOME = dict(sorted((name, module) for module, names in _HOMES.items() for name in names))
    __all__ = list(_HOME)

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
