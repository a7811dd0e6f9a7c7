"""Which loops there are on the routes of large games: small ones take them in plain Python, and give the types.

As a program it is a second process that compiles, from the end of its route on: numba has one lock for all threads.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from mdpdice import compile_lattice, cross_check, solve
from mdpdice.cli.catalogue import load_game
from mdpdice.compilation import Loop

ROUTES: dict[str, tuple[Callable[[Any, Any], object], ...]] = {
    # Most large games have no cycles, so the turn comes last here and is compiled first.
    "solve": (lambda turn, race: [solve(compile_lattice(game)) for game in (race, turn)], lambda turn, _: solve(turn)),
    "crosscheck": (lambda turn, _: cross_check(turn),),
}
ROUTES["compile"] = (*ROUTES["solve"], *ROUTES["crosscheck"], lambda _, race: cross_check(race))


def recorded(run: Callable[[Any, Any], object]) -> list[tuple[Loop, tuple[Any, ...]]]:
    """Return the loops that large games need where `run` solves small ones, with their types, as they are called."""
    from mdpdice.certification import residual_bounds
    from mdpdice.networks import arrays
    from mdpdice.solvers.policy_iteration import krylov
    from mdpdice.solvers.value_iteration import newton

    for module in (arrays, residual_bounds, krylov, newton):
        for name in [name for name in vars(module) if name.endswith("_FROM_EDGES")]:
            setattr(module, name, 0)
    load: Any = load_game
    Loop.recorded = []
    run(load("farkle")(dice=1, cap=200), load("pig-race")(goal=3))
    return Loop.recorded


def main(route: str, first: str) -> None:
    """Compile the loops of a route, from the first run that needs a loop on, and say before which one it is."""
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    found = False
    for calls in map(recorded, ROUTES[route]):
        found = found or any(loop.name == first for loop, _ in calls)
        calls.reverse()
        # The checkers come last on every way.
        for loop, types in sorted(calls, key=lambda call: "checking" not in call[0].name) if found else ():
            os.write(1, f"{loop.name}\n".encode())
            loop.compiled.compile(types)


if __name__ == "__main__":
    main(*sys.argv[1:])
