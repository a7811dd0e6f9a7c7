"""Which loops there are on the routes of large games: small ones take them in plain Python, and give the types.

As a program it is a second process that compiles, from the end of its route on: numba has one lock for all threads.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import mdpdice
from mdpdice.cli.catalogue import load_game
from mdpdice.compilation import Loop

ROUTES: dict[str, tuple[Callable[[Any, Any], object], ...]] = {
    # Most large games have no cycles, so a turn comes after a race: what comes last is compiled first.
    "solve": (
        lambda turn, race: [mdpdice.solve(mdpdice.compile_lattice(game)) for game in (race, turn)],
        lambda turn, _: mdpdice.solve(turn),
    ),
    "crosscheck": (lambda turn, _: mdpdice.cross_check(turn),),
}
ROUTES["compile"] = (*ROUTES["solve"], *ROUTES["crosscheck"], lambda _, race: mdpdice.cross_check(race))


def recorded(run: Callable[[Any, Any], object]) -> list[tuple[Loop, tuple[Any, ...]]]:
    """Return the loops that large games need where `run` solves small ones, with the types of their arguments."""
    import numba  # noqa: F401 - where it is there, networks are made in loops

    from mdpdice.certification import residual_bounds
    from mdpdice.networks import arrays
    from mdpdice.solvers.policy_iteration import krylov
    from mdpdice.solvers.value_iteration import newton

    for module in (arrays, residual_bounds, krylov, newton):
        for name in vars(module).keys() & {"COMPILE_FROM_EDGES", "RESIDUALS_FROM_EDGES", "FAST_PATH_FROM_EDGES"}:
            setattr(module, name, 0)
    Loop.recorded = []
    run(load_game("farkle")(dice=1, cap=200), load_game("pig-race")(goal=3))
    return Loop.recorded


def main(route: str, first: str) -> None:
    """Compile the loops of a route, from the first run that needs a loop on, and say before which one it is."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process may go on
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    found = False
    for run in ROUTES[route]:
        calls = recorded(run)
        found = found or any(loop.name == first for loop, _ in calls)
        # The checkers come last on every way, so these first, and all from the end on.
        for loop, types in sorted(calls[::-1], key=lambda call: "checking" not in call[0].name) if found else ():
            os.write(1, f"{loop.name}\n".encode())
            loop.compiled.compile(types)


if __name__ == "__main__":
    main(*sys.argv[1:])
