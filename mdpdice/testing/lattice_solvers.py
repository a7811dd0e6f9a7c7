"""Games with counters on their lattices, for back-ends that declare `Feature.LATTICE`."""

from __future__ import annotations

from mdpdice.backend import Feature, Solver
from mdpdice.errors import MdpDiceError
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.exploration.to_network import explore
from mdpdice.lattices.reachable_layers import find_layers
from mdpdice.modelling.counters import Counter
from mdpdice.modelling.distribution import Dist
from mdpdice.modelling.game import Game, Node, decide, end, go, pass_to, roll, when
from mdpdice.solving.pipeline import solve
from mdpdice.testing.reports import Ledger

__all__ = ["check_lattices"]

COIN = Dist({0: 1, 1: 1})


class _Climb(Game[str, str]):
    """Points of one player never fall, so no layer leads to itself."""

    points = Counter(range(9), outside="clip")

    def start(self) -> str:
        return "play"

    def node(self, state: str) -> Node[str, str]:
        more = roll(COIN, lambda side: go(state, self.points.add(2), reward=1) if side else end(-self.points))
        return when(self.points == 8, end(3), decide({"stop": end(self.points), "more": more}))


class _Race(Game[str, str]):
    """Two sides swap their scores, so layers lead to themselves."""

    total = 1
    mine = Counter(range(3))
    theirs = Counter(range(3))
    turn = Counter(range(4))

    def start(self) -> str:
        return "play"

    def node(self, state: str) -> Node[str, str]:
        swap = (self.mine.set(self.theirs), self.turn.set(0))
        lost = pass_to(state, *swap, self.theirs.set(self.mine))
        more = roll(COIN, lambda side: go(state, self.turn.add(1)) if side else lost)
        hold = pass_to(state, *swap, self.theirs.set(self.mine + self.turn))
        return when(self.mine + self.turn >= 3, end(1), decide({"hold": hold, "roll": more}))


def check_lattices(ledger: Ledger, solver: Solver, epsilon: float) -> None:
    """Solve small games on their lattices, and compare every state with exact answers of their networks."""
    if Feature.LATTICE not in solver.features:
        return
    states = 0
    for model, game in (("climb", _Climb()), ("race", _Race())):
        lattice = compile_lattice(game)
        if Feature.CYCLIC not in solver.features and find_layers(lattice).cyclic:
            continue
        known = solve(explore(game), solver="exact")
        try:
            solution = solve(lattice, solver=solver, epsilon=epsilon)
            again = solve(lattice, solver=solver, epsilon=epsilon)
        except MdpDiceError as error:
            ledger.fail("lattice", error.message, model=model, cause=error)
        except Exception as error:  # noqa: BLE001 - the code of a plug-in
            ledger.fail("lattice", f"it raised {type(error).__name__}: {error}", model=model, cause=error)
        for state in known.network.states:
            value, truth = solution.estimate(state), float(known.exact(state))
            # Written so that NaN fails.
            if not abs(value - truth) <= epsilon * max(1.0, abs(truth)):
                msg = f"the value is {truth} and not {value!r}"
                ledger.fail("lattice", msg, model=model, state=state, value=value, limit=truth)
            if again.estimate(state) != value:
                msg = "asked a second time, it gives another answer"
                ledger.fail("determinism", msg, model=model, state=state)
        if not solution.proved:
            ledger.fail("lattice", f"the answer could not be certified: {solution.reason}", model=model)
        states += len(known.network.states)
    ledger.passed("lattice", states, "states of lattices")
