"""Long-run averages: mdpdice, pymdptoolbox and Storm on the same seeded models, in one run.

Every tool gets the arrays of a model, builds its own form of them (`build`), and finds the best average reward per
step (`solve`), to six digits; seconds are CPU seconds, the fastest of some runs.  The answers are compared with the
interval that mdpdice certified.  A small model of the same kind is solved before, so that no compiling is measured.

    python benchmarks/averages.py [--quick]
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from contestants import DIGITS, Storm, Toolbox
from models import Model, discounted

from mdpdice import AverageReward, solve

RUNS = {100: 30, 1_000: 10, 10_000: 5, 100_000: 3}


class OwnAverage:
    """`mdpdice.solve`, with the certificate."""

    package = "mdpdice"

    def build(self, model: Model) -> None:
        self.network = model.network()

    def solve(self) -> float:
        self.solution = solve(self.network, AverageReward(), epsilon=DIGITS)
        return self.solution.value()


class ToolboxAverage(Toolbox):
    """Relative value iteration of `pymdptoolbox`."""

    largest = 50_000  # it checks larger ones for minutes

    def build(self, model: Model) -> None:
        import mdptoolbox.mdp

        super().build(model)
        self.solver = mdptoolbox.mdp.RelativeValueIteration(self.chances, self.rewards, DIGITS, max_iter=100_000)

    def solve(self) -> Any:
        self.solver.run()
        return float(self.solver.average_reward)


class StormAverage(Storm):
    """Long-run average of `stormpy`, with its default method."""

    def build(self, model: Model) -> None:
        import stormpy

        super().build(model)
        self.question = stormpy.parse_properties("Rmax=? [ LRA ]")[0]

    def solve(self) -> Any:
        super().solve()
        return float(self.result.get_value(0))


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a call, and what it returned."""
    started = time.process_time()
    found = function()
    return time.process_time() - started, found


def main() -> int:
    """Print a line per model and tool."""
    warnings.simplefilter("ignore")
    tools = [kind for kind in (OwnAverage, ToolboxAverage, StormAverage) if find_spec(kind.package)]
    wrong = False
    print(f"{'states':>8}  {'tool':<14}{'build':>9}{'solve':>9}{'both':>9}  average")
    for states in list(RUNS)[: 2 if "--quick" in sys.argv else None]:
        # No state may be closed to the others, since the toolbox knows one average only.
        small, model = (discounted(size, 8)._replace(discount="1") for size in (20, states))
        low, high = -np.inf, np.inf
        for kind in tools:
            if len(model.target) > getattr(kind, "largest", np.inf):
                continue
            times = []
            for one in (small, *[model] * RUNS[states]):
                tool = kind()
                built, _ = timed(lambda tool=tool, one=one: tool.build(one))
                taken, value = timed(tool.solve)
                times.append((built, taken, built + taken))
            build, spent, both = (min(column) for column in zip(*times[1:], strict=True))
            if isinstance(tool, OwnAverage):
                low, high = tool.solution.lower() - DIGITS, tool.solution.upper() + DIGITS
            right = low <= value <= high
            wrong |= not right
            seconds, verdict = f"{build:9.4f}{spent:9.4f}{both:9.4f}", "" if right else " WRONG"
            print(f"{states:>8,}  {kind.package:<14}{seconds}  {value:.9f}{verdict}")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
