"""Which loops there are on the routes of large games: small ones take them in plain Python, and give the types.

As a program it is the process that compiles beside another one, from the end of its route on (`mdpdice.claims`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from mdpdice import Counter, Game, Node, claims, compile_lattice, cross_check, d6, decide, end, go, roll, solve, when
from mdpdice.certification import residual_bounds
from mdpdice.compilation import Loop
from mdpdice.networks import arrays
from mdpdice.solvers.policy_iteration import krylov
from mdpdice.solvers.value_iteration import newton


class _Climb(Game[str, str]):
    """Three steps up, or down by one; or else that loses."""

    total, payoff_range = 1, (0, 1)
    steps = Counter(range(4), outside="clip")

    def __init__(self, down: bool) -> None:
        self.down = down

    def start(self) -> str:
        return "climb"

    def node(self, state: str, /) -> Node[str, str]:
        def then(face: int) -> Any:
            if face > 1:
                return when(self.steps == 3, end(1), go(state, self.steps.add(1)))
            return go(state, self.steps.add(-1)) if self.down else end(0)

        return decide({"stop": end(0), "on": roll(d6, then)})


def _networks() -> None:
    solve(_Climb(False))


def _lattices() -> None:
    # Most large games cannot go down: what comes last is compiled first.
    for down in (True, False):
        solve(compile_lattice(_Climb(down)))


def _crosschecks() -> None:
    cross_check(_Climb(False))


def _all() -> None:
    _networks()
    _lattices()
    for down in (False, True):
        cross_check(_Climb(down))


ROUTES = {"solve": (_networks, _lattices), "crosscheck": (_crosschecks,), "compile": (_all,)}


def recorded(run: Callable[[], None]) -> list[tuple[Loop, tuple[Any, ...]]]:
    """Return the loops that large games need where `run` solves a small one, with the types of their arguments."""
    import numba  # noqa: F401 - networks are made in loops once it is there

    arrays.COMPILE_FROM_EDGES = residual_bounds.RESIDUALS_FROM_EDGES = 0
    newton.FAST_PATH_FROM_EDGES = krylov.FAST_PATH_FROM_EDGES = 0
    Loop.recorded = calls = []
    run()
    Loop.recorded = None
    return calls


def main(file: str, route: str, first: str) -> None:
    """Compile the loops of a route in which one comes first, the last ones first."""
    claims.join(int(file))
    for run in ROUTES[route]:
        calls = recorded(run)
        if any(loop.name == first for loop, _ in calls):
            for loop, types in reversed(calls):
                with claims.claimed(loop.name) as mine:
                    if mine:
                        loop.compiled.compile(types)
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
